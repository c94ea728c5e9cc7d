//! The version hash: MD5 over bytes that we define, never over text that a session setting can change.
//!
//! The canonical text is PostgreSQL's `jsonb` rendering of the payload (HASH-4, HASH-5), so that it can be checked
//! in plain SQL. MD5 tells versions apart here; nothing rests on its strength.

use std::fmt;

use md5::{Digest, Md5};

use super::invalid::{Invalid, excerpt};
use super::temporal::Temporal;

/// Length of a version hash in characters (HASH-4, UPD-4).
const HEX_CHARS: usize = 32;

/// Writes the canonical bytes of a payload to `sink`, piece by piece, so that large content is never copied.
///
/// `tree` is the internal dotted form, `meta` is PostgreSQL's own `jsonb` text, whose key order and numbers are
/// already those of HASH-5. The outer keys stand in the order of their length in bytes.
pub fn write_canonical(
    sink: &mut impl FnMut(&[u8]),
    tree: &str,
    name: Option<&str>,
    meta: &str,
    temporal: Option<&Temporal>,
    content: &str,
) {
    sink(b"{\"meta\": ");
    sink(meta.as_bytes());
    sink(b", \"name\": ");
    write_json_string_or_null(sink, name);
    sink(b", \"tree\": ");
    write_json_string(sink, tree);
    sink(b", \"content\": ");
    write_json_string(sink, content);
    sink(b", \"temporal\": ");
    write_json_string_or_null(sink, temporal.map(Temporal::range_text).as_deref());
    sink(b"}");
}

/// The canonical bytes of a payload in one piece. See [`write_canonical`].
#[must_use]
pub fn canonical(
    tree: &str,
    name: Option<&str>,
    meta: &str,
    temporal: Option<&Temporal>,
    content: &str,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len() + meta.len() + tree.len() + 128);
    write_canonical(&mut |piece| bytes.extend_from_slice(piece), tree, name, meta, temporal, content);
    bytes
}

/// Writes `text` as a JSON string exactly as `jsonb` prints it (HASH-5), quotes included.
pub fn write_json_string(sink: &mut impl FnMut(&[u8]), text: &str) {
    let bytes = text.as_bytes();
    let mut written = 0;
    sink(b"\"");
    for (at, &byte) in bytes.iter().enumerate() {
        let numbered;
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 => b"\\b",
            0x0c => b"\\f",
            0x00..0x20 => {
                numbered = format!("\\u{byte:04x}");
                numbered.as_bytes()
            }
            _ => continue,
        };
        sink(bytes.get(written..at).unwrap_or_default());
        sink(escape);
        written = at + 1;
    }
    sink(bytes.get(written..).unwrap_or_default());
    sink(b"\"");
}

fn write_json_string_or_null(sink: &mut impl FnMut(&[u8]), text: Option<&str>) {
    match text {
        Some(text) => write_json_string(sink, text),
        None => sink(b"null"),
    }
}

/// The hash of one payload (HASH-4). Equal payloads have equal hashes, whatever id, time or space they have (HASH-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionHash([u8; 16]);

impl VersionHash {
    /// Hashes a payload; the arguments are those of [`write_canonical`].
    #[must_use]
    pub fn of(
        tree: &str,
        name: Option<&str>,
        meta: &str,
        temporal: Option<&Temporal>,
        content: &str,
    ) -> Self {
        let mut digest = Md5::new();
        write_canonical(&mut |piece| digest.update(piece), tree, name, meta, temporal, content);
        Self(digest.finalize().into())
    }

    /// The hash as stored.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The hash that was stored as these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Whether `expected` is this hash to the letter; upper case is another text (UPD-4).
    #[must_use]
    pub fn matches(&self, expected: &str) -> bool {
        self.to_string() == expected
    }
}

impl fmt::Display for VersionHash {
    /// 32 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Checks the shape of the hash a caller expects (UPD-4). What has the length but matches nothing is a conflict,
/// found later.
///
/// # Errors
/// UPD-4 unless the text has exactly 32 characters.
pub fn check_expected(argument: &str, expected: &str) -> Result<(), Invalid> {
    if expected.chars().take(HEX_CHARS + 1).count() == HEX_CHARS {
        return Ok(());
    }
    Err(Invalid::new(
        argument,
        "UPD-4",
        format!("argument \"{argument}\" must have {HEX_CHARS} characters: {}", excerpt(expected)),
        "Pass the \"versionHash\" of the record as it was read.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Payload, hashed text, its length in bytes, hash: the worked examples of HASH-9.
    struct Example {
        tree: &'static str,
        name: Option<&'static str>,
        meta: &'static str,
        temporal: &'static str,
        content: &'static str,
        text: &'static str,
        bytes: usize,
        hash: &'static str,
    }

    const EXAMPLES: [Example; 12] = [
        Example {
            tree: "share",
            name: None,
            meta: "{}",
            temporal: "null",
            content: "alpha",
            text: r#"{"meta": {}, "name": null, "tree": "share", "content": "alpha", "temporal": null}"#,
            bytes: 81,
            hash: "d9ca8a3a3e290e2763042d90f4eca6af",
        },
        Example {
            tree: "",
            name: None,
            meta: "{}",
            temporal: "null",
            content: "root note",
            text: r#"{"meta": {}, "name": null, "tree": "", "content": "root note", "temporal": null}"#,
            bytes: 80,
            hash: "aec7360ae8d1132b096dabec5f9a080c",
        },
        Example {
            tree: "share.ops",
            name: Some("backup-plan"),
            meta: r#"{"owner": {"id": 7, "team": "infra"}, "topic": "backup"}"#,
            temporal: "null",
            content: "Copy snapshots off site every night.",
            text: r#"{"meta": {"owner": {"id": 7, "team": "infra"}, "topic": "backup"}, "name": "backup-plan", "tree": "share.ops", "content": "Copy snapshots off site every night.", "temporal": null}"#,
            bytes: 179,
            hash: "c5243191b5913a3726ad327eb3cd4209",
        },
        Example {
            tree: "share.num",
            name: None,
            meta: r#"{"a": 100, "b": 2.50, "c": 0, "zz": 1, "big": 12345678901234567890}"#,
            temporal: "null",
            content: "numbers",
            text: r#"{"meta": {"a": 100, "b": 2.50, "c": 0, "zz": 1, "big": 12345678901234567890}, "name": null, "tree": "share.num", "content": "numbers", "temporal": null}"#,
            bytes: 152,
            hash: "6644c5aac634c6fd52b5ef338d58ebf1",
        },
        Example {
            tree: "share.esc",
            name: None,
            meta: "{}",
            temporal: "null",
            content: "q\"b\\s/\t\n\u{7}\u{7f}é😀",
            text: "{\"meta\": {}, \"name\": null, \"tree\": \"share.esc\", \"content\": \"q\\\"b\\\\s/\\t\\n\\u0007\u{7f}é😀\", \"temporal\": null}",
            bytes: 105,
            hash: "1105458b0234156f87a56ca6059e20f2",
        },
        Example {
            tree: "share.t",
            name: None,
            meta: "{}",
            temporal: r#"{"start":"2025-03-04T05:06:07.5Z"}"#,
            content: "point",
            text: r#"{"meta": {}, "name": null, "tree": "share.t", "content": "point", "temporal": "[\"2025-03-04 05:06:07.5+00\",\"2025-03-04 05:06:07.5+00\"]"}"#,
            bytes: 140,
            hash: "16441328a341a522b4854aa7142a3d8c",
        },
        Example {
            tree: "share.t",
            name: None,
            meta: "{}",
            temporal: r#"{"start":"2024-01-01T00:00:00+02:00","end":"2024-12-31T23:59:59.123456-05:00"}"#,
            content: "period",
            text: r#"{"meta": {}, "name": null, "tree": "share.t", "content": "period", "temporal": "[\"2023-12-31 22:00:00+00\",\"2025-01-01 04:59:59.123456+00\")"}"#,
            bytes: 144,
            hash: "a902990559cbedeb9e99375ef6b99025",
        },
        Example {
            tree: "share.my-project.git_history",
            name: Some("a1b2c3.md"),
            meta: r#"{"tags": ["x", true, null], "$prev": "/share/x/y", "$thread": null}"#,
            temporal: "null",
            content: "commit body",
            text: r#"{"meta": {"tags": ["x", true, null], "$prev": "/share/x/y", "$thread": null}, "name": "a1b2c3.md", "tree": "share.my-project.git_history", "content": "commit body", "temporal": null}"#,
            bytes: 182,
            hash: "7965ced39e0827e373d1e4b741a3b9fc",
        },
        Example {
            tree: "home.0192f0aa11b27c3d8e4f5a6b7c8d9e0f.notes",
            name: None,
            meta: "{}",
            temporal: "null",
            content: "private",
            text: r#"{"meta": {}, "name": null, "tree": "home.0192f0aa11b27c3d8e4f5a6b7c8d9e0f.notes", "content": "private", "temporal": null}"#,
            bytes: 121,
            hash: "fcf797d5df5c4c750f07ca4a8fe76eda",
        },
        Example {
            tree: "share",
            name: None,
            meta: r#"{"": 0, "a": {"x": 2, "y": 1}, "bb": ""}"#,
            temporal: r#"{"start":"2024-02-29T12:00:00Z","end":"2024-03-01T12:00:00Z"}"#,
            content: "keys",
            text: r#"{"meta": {"": 0, "a": {"x": 2, "y": 1}, "bb": ""}, "name": null, "tree": "share", "content": "keys", "temporal": "[\"2024-02-29 12:00:00+00\",\"2024-03-01 12:00:00+00\")"}"#,
            bytes: 171,
            hash: "ad44ab70104cf8a7e9652df0de42c09b",
        },
        Example {
            tree: "share",
            name: None,
            meta: r#"{"Z": 4, "a": 3, "zz": 2, "é": 1}"#,
            temporal: "null",
            content: "bytes",
            text: r#"{"meta": {"Z": 4, "a": 3, "zz": 2, "é": 1}, "name": null, "tree": "share", "content": "bytes", "temporal": null}"#,
            bytes: 113,
            hash: "9cef2c8f7014bd6ed07a6e295aa6bd10",
        },
        Example {
            tree: "share",
            name: Some("n.1"),
            meta: r#"{"s": "a/b\"c", "list": [[], {}, [{"k": "v"}], 1.0, false]}"#,
            temporal: "null",
            content: "nested",
            text: r#"{"meta": {"s": "a/b\"c", "list": [[], {}, [{"k": "v"}], 1.0, false]}, "name": "n.1", "tree": "share", "content": "nested", "temporal": null}"#,
            bytes: 140,
            hash: "c80e5421c42749c832ed0c9c6260e69f",
        },
    ];

    #[test]
    fn the_worked_examples_are_reproduced() {
        for example in EXAMPLES {
            let temporal = Temporal::parse("temporal", example.temporal).expect(example.temporal);
            let bytes =
                canonical(example.tree, example.name, example.meta, temporal.as_ref(), example.content);
            assert_eq!(String::from_utf8_lossy(&bytes), example.text);
            assert_eq!(bytes.len(), example.bytes);
            let hash =
                VersionHash::of(example.tree, example.name, example.meta, temporal.as_ref(), example.content);
            assert_eq!(hash.to_string(), example.hash);
            assert_eq!(VersionHash::from_bytes(*hash.as_bytes()), hash);
        }
    }

    fn escaped(text: &str) -> String {
        let mut bytes = Vec::new();
        write_json_string(&mut |piece| bytes.extend_from_slice(piece), text);
        String::from_utf8(bytes).expect("UTF-8 in, UTF-8 out")
    }

    #[test]
    fn strings_are_escaped_as_jsonb_prints_them() {
        assert_eq!(
            escaped("\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\"\\/\u{7f}\u{85}\u{2028}é"),
            "\"\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\u{7f}\u{85}\u{2028}é\""
        );
    }

    #[test]
    fn an_expected_hash_has_exactly_32_characters() {
        assert_eq!(check_expected("version_hash", &"0".repeat(32)), Ok(()));
        assert_eq!(check_expected("version_hash", &"é".repeat(32)), Ok(()));
        for wrong in ["", "abc", &"0".repeat(31), &"0".repeat(33), &"é".repeat(16)] {
            let refusal = check_expected("version_hash", wrong).expect_err(wrong);
            assert_eq!((refusal.argument.as_str(), refusal.rule), ("version_hash", "UPD-4"));
        }
    }

    #[test]
    fn an_expected_hash_in_upper_case_does_not_match() {
        let hash = VersionHash::of("share", None, "{}", None, "alpha");
        assert!(hash.matches("d9ca8a3a3e290e2763042d90f4eca6af"));
        assert!(!hash.matches("D9CA8A3A3E290E2763042D90F4ECA6AF"));
    }

    proptest! {
        #[test]
        fn an_escaped_string_parses_back(text in proptest::collection::vec(any::<char>(), 0..60), low in "[\u{1}-\u{7f}]*") {
            for text in [text.into_iter().collect::<String>(), low] {
                let back: String = serde_json::from_str(&escaped(&text)).expect("valid JSON");
                prop_assert_eq!(back, text);
            }
        }
    }
}
