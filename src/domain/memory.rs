//! What a memory is made of: content, name and metadata, each checked once and then known to be good.

use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::limits::{META_DEPTH, NAME_CHARS};
use std::fmt;

/// The text of a memory: at least one character, no U+0000, within the byte limit (CONT-1, CONT-4, LIM-1).
///
/// It is kept byte for byte: nothing is trimmed, normalized or converted (CONT-2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Content(String);

impl Content {
    /// Takes `text` as content of at most `max_bytes` bytes.
    ///
    /// # Errors
    /// Empty text is refused under `CONT-1`, longer text under `LIM-1`, U+0000 under `CONT-4`.
    pub fn parse(argument: &str, text: String, max_bytes: usize) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Err(Invalid::new(
                argument,
                "CONT-1",
                format!("argument \"{argument}\" is empty: \"\""),
                "Give at least one character; white space alone is accepted.",
            ));
        }
        if text.len() > max_bytes {
            return Err(Invalid::new(
                argument,
                "LIM-1",
                format!(
                    "argument \"{argument}\" has {} bytes, more than the limit of {max_bytes}: {}",
                    text.len(),
                    excerpt(&text)
                ),
                "Split the text over several memories, or have \"me.max_content_bytes\" raised.",
            ));
        }
        check_no_nul(argument, &text)?;
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, without a copy.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// The name of a memory within its tree (NAME-1): ASCII, so safe as a file name and in a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Reads a name: a letter or digit, then letters, digits, `.`, `_` and `-`, at most 128 characters.
    ///
    /// # Errors
    /// The empty name is refused under `NAME-5`, every other one that does not fit under `NAME-1`.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        let fault = match text.chars().next() {
            None => {
                return Err(Invalid::new(
                    argument,
                    "NAME-5",
                    format!("argument \"{argument}\" is empty: \"\""),
                    "Give the name at least one character, or leave it out for a memory without a name.",
                ));
            }
            Some(first) if !first.is_ascii_alphanumeric() => {
                format!("starts with {first:?}, not a letter or digit")
            }
            Some(_) => match text.chars().find(|&character| !in_name(character)) {
                Some(bad) => format!("contains {bad:?}, which no name may hold"),
                // Every character is ASCII by now, so bytes are characters.
                None if text.len() > NAME_CHARS => {
                    format!("has {} characters, more than the limit of {NAME_CHARS}", text.len())
                }
                None => return Ok(Self(text.to_owned())),
            },
        };
        Err(Invalid::new(
            argument,
            "NAME-1",
            format!("argument \"{argument}\" {fault}: {}", excerpt(text)),
            format!(
                "Start the name with a letter A–Z, a–z or a digit and go on with letters, digits, \".\", \"_\" or \
                 \"-\", at most {NAME_CHARS} characters in all."
            ),
        ))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn in_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-')
}

/// The metadata of a memory: the text of a JSON object as PostgreSQL's `jsonb` prints it (META-1, META-3).
///
/// It stays text, because every number in it keeps its digits that way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Meta(String);

impl Meta {
    /// Takes the output of `jsonb`, which is well-formed and free of duplicate keys.
    ///
    /// JSON `null` is refused like any other value that is no object: whether it means `{}` or "keep" is for the
    /// call to say (META-1).
    ///
    /// # Errors
    /// Anything but an object is refused under `META-1`, U+0000 under `CONT-4`, and nesting beyond 500 levels under
    /// `META-2`.
    pub fn from_canonical(argument: &str, text: String) -> Result<Self, Invalid> {
        let got = kind(&text);
        if got != OBJECT {
            return Err(Invalid::new(
                argument,
                "META-1",
                format!("argument \"{argument}\" must be a JSON object, got {got}: {}", excerpt(&text)),
                "Give an object such as {\"type\": \"note\"}; {} stands for no metadata.",
            ));
        }
        let found = scan(&text);
        if found.nul {
            return Err(nul(argument));
        }
        if found.depth > META_DEPTH {
            return Err(Invalid::new(
                argument,
                "META-2",
                format!(
                    "argument \"{argument}\" is nested {} levels deep, more than the limit of {META_DEPTH}: {}",
                    found.depth,
                    excerpt(&text)
                ),
                "Flatten the value, or store its deeper part as text.",
            ));
        }
        Ok(Self(text))
    }

    /// The same metadata, if its text has at most `max_bytes` bytes.
    ///
    /// # Errors
    /// Longer metadata is refused under `LIM-1`, like content: a limit on one alone would be none.
    pub fn within_bytes(self, argument: &str, max_bytes: usize) -> Result<Self, Invalid> {
        if self.0.len() <= max_bytes {
            return Ok(self);
        }
        Err(Invalid::new(
            argument,
            "LIM-1",
            format!("argument \"{argument}\" has {} bytes, more than the limit of {max_bytes}", self.0.len()),
            "Store the larger part as content, or have \"me.max_content_bytes\" raised.",
        ))
    }

    /// No metadata: `{}`.
    pub fn empty() -> Self {
        Self("{}".to_owned())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The JSON text, without a copy.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Default for Meta {
    fn default() -> Self {
        Self::empty()
    }
}

/// How deeply arrays and objects nest in well-formed JSON: 0 for a scalar, 1 for `{}`, 2 for `{"a":[]}`.
///
/// It walks the text without recursion, so it is the check to make before anything that recurses. On text that is no
/// JSON it returns some number and never panics.
pub fn depth(json: &str) -> usize {
    scan(json).depth
}

/// Refuses U+0000, which PostgreSQL's `text` cannot hold (CONT-4).
///
/// # Errors
/// Text with U+0000 anywhere is refused under `CONT-4`.
pub fn check_no_nul(argument: &str, text: &str) -> Result<(), Invalid> {
    if text.contains('\0') { Err(nul(argument)) } else { Ok(()) }
}

fn nul(argument: &str) -> Invalid {
    Invalid::new(
        argument,
        "CONT-4",
        format!("argument \"{argument}\" contains the character U+0000"),
        "Remove every U+0000 from the value; no text in PostgreSQL can hold it.",
    )
}

const OBJECT: &str = "an object";

/// What a JSON text is, by the first character that is no white space.
fn kind(json: &str) -> &'static str {
    match json.trim_start_matches([' ', '\t', '\n', '\r']).as_bytes().first() {
        Some(b'{') => OBJECT,
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => "no JSON",
    }
}

struct Scan {
    depth: usize,
    nul: bool,
}

/// One pass over JSON text; brackets inside strings do not count, and an escaped quote ends no string.
fn scan(json: &str) -> Scan {
    let mut found = Scan { depth: 0, nul: false };
    let mut open = 0_usize;
    let mut in_string = false;
    let mut rest = json.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (in_string, byte) {
            (_, 0) => found.nul = true,
            (true, b'\\') => {
                found.nul |= rest.starts_with(b"u0000");
                // The escaped byte is no delimiter, whatever it is.
                rest = rest.get(1..).unwrap_or_default();
            }
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[') => {
                open += 1;
                found.depth = found.depth.max(open);
            }
            (false, b'}' | b']') => open = open.saturating_sub(1),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn content(text: &str) -> Result<Content, Invalid> {
        Content::parse("content", text.to_owned(), 20)
    }

    fn meta(text: &str) -> Result<Meta, Invalid> {
        Meta::from_canonical("meta", text.to_owned())
    }

    #[test]
    fn white_space_alone_is_content_and_nothing_is_not() {
        for text in [" ", "\n", " \n\t", "x"] {
            assert_eq!(content(text).unwrap().as_str(), text);
        }
        assert_eq!(content("").unwrap_err().rule, "CONT-1");
    }

    #[test]
    fn content_is_kept_byte_for_byte() {
        for text in [" a\r\nb\n ", "e\u{301}", "\u{feff}x", "\u{e9}"] {
            assert_eq!(content(text).unwrap().into_string(), text);
        }
    }

    #[test]
    fn metadata_is_limited_in_bytes_and_the_refusal_states_both_sizes() {
        assert!(meta("{\"a\": \"é\"}").unwrap().within_bytes("meta", 11).is_ok());
        let refusal = meta("{\"a\": \"é\"}").unwrap().within_bytes("meta", 10).unwrap_err();
        assert_eq!((refusal.argument.as_str(), refusal.rule), ("meta", "LIM-1"));
        assert!(refusal.message.contains("11") && refusal.message.contains("10"), "{}", refusal.message);
    }

    #[test]
    fn content_is_limited_in_bytes_and_the_refusal_states_both_sizes() {
        assert!(content(&"x".repeat(20)).is_ok());
        let refusal = content(&"\u{e9}".repeat(11)).unwrap_err();
        assert_eq!(refusal.rule, "LIM-1");
        assert!(refusal.message.contains("22 bytes"), "{refusal}");
        assert!(refusal.message.contains("limit of 20"), "{refusal}");
    }

    #[test]
    fn the_character_zero_is_refused_in_content_name_and_meta() {
        assert_eq!(content("a\0b").unwrap_err().rule, "CONT-4");
        assert!(Name::parse("name", "a\0b").is_err());
        assert_eq!(meta("{\"a\":\"\\u0000\"}").unwrap_err().rule, "CONT-4");
        assert_eq!(meta("{\"a\\u0000\":1}").unwrap_err().rule, "CONT-4");
        assert!(meta(r#"{"a":"\\u0000"}"#).is_ok(), "an escaped backslash is no escape of U+0000");
        assert_eq!(check_no_nul("grep", "\0").unwrap_err().argument, "grep");
        assert!(check_no_nul("grep", "\u{1}").is_ok());
    }

    #[test]
    fn names_of_the_pattern_are_accepted() {
        for text in ["7", "a", "Z", "v1.2_notes-final.md", "a..b", "a.", "a-", "Doc", &"n".repeat(128)] {
            let name = Name::parse("name", text).unwrap();
            assert_eq!(name.as_str(), text);
            assert_eq!(name.to_string(), text);
        }
        assert_ne!(Name::parse("name", "Doc"), Name::parse("name", "doc"), "case counts");
    }

    #[test]
    fn names_with_a_foreign_character_are_refused() {
        for text in [
            "a/b",
            "two words",
            "\u{e9}t\u{e9}",
            "a\u{e9}",
            "a~",
            "a\\b",
            "a:b",
            "\u{661}",
            "a\u{661}",
            "a\tb",
        ] {
            assert_eq!(Name::parse("name", text).unwrap_err().rule, "NAME-1", "{text:?}");
        }
    }

    #[test]
    fn names_that_start_with_a_mark_are_refused() {
        for text in ["_lead", "-dash", ".hidden", "..", ".", "/a", " a"] {
            let refusal = Name::parse("name", text).unwrap_err();
            assert_eq!(refusal.rule, "NAME-1", "{text:?}");
            assert!(refusal.message.contains("starts with"), "{refusal}");
        }
    }

    #[test]
    fn a_trailing_newline_in_a_name_is_refused() {
        for text in ["a\n", "a\r\n", "a "] {
            assert_eq!(Name::parse("name", text).unwrap_err().rule, "NAME-1");
        }
    }

    #[test]
    fn a_name_beyond_128_characters_is_refused_with_both_lengths() {
        let refusal = Name::parse("name", &"n".repeat(129)).unwrap_err();
        assert_eq!(refusal.rule, "NAME-1");
        assert!(refusal.message.contains("129") && refusal.message.contains("128"), "{refusal}");
    }

    #[test]
    fn the_empty_name_is_refused() {
        assert_eq!(Name::parse("name", "").unwrap_err().rule, "NAME-5");
    }

    #[test]
    fn only_an_object_is_metadata_and_the_refusal_says_what_came() {
        for (text, got) in [
            ("[\"a\"]", "an array"),
            ("\"text\"", "a string"),
            ("7", "a number"),
            ("-1.5", "a number"),
            ("true", "a boolean"),
            ("false", "a boolean"),
            ("null", "null"),
            ("", "no JSON"),
        ] {
            let refusal = meta(text).unwrap_err();
            assert_eq!(refusal.rule, "META-1", "{text}");
            assert!(refusal.message.contains(&format!("object, got {got}")), "{refusal}");
        }
    }

    #[test]
    fn metadata_is_kept_as_it_is() {
        for text in [
            "{}",
            r#"{"": "empty key", "$x": 1, "a.b": true, "nil": null, "deep": {"c": [1, {"d": []}]}}"#,
            r#"{"n": 1.0, "big": 123456789012345678901234567890.10}"#,
        ] {
            assert_eq!(meta(text).unwrap().as_str(), text);
        }
        assert_eq!(Meta::empty().as_str(), "{}");
        assert_eq!(Meta::default().into_string(), "{}");
    }

    #[test]
    fn metadata_nests_500_levels_and_no_more() {
        let nested = |levels: usize| {
            let inner = levels - 1;
            format!("{{\"a\": {}{}}}", "[".repeat(inner), "]".repeat(inner))
        };
        assert!(meta(&nested(500)).is_ok());
        let refusal = meta(&nested(501)).unwrap_err();
        assert_eq!(refusal.rule, "META-2");
        assert!(refusal.message.contains("501") && refusal.message.contains("500"), "{refusal}");
        assert_eq!(depth(&nested(1_000_000)), 1_000_000);
    }

    #[test]
    fn depth_counts_arrays_and_objects_but_no_brackets_in_strings() {
        for (json, expected) in [
            ("7", 0),
            ("\"[[\"", 0),
            ("{}", 1),
            ("[[], []]", 2),
            (r#"{"a": {"b": []}, "c": {}}"#, 3),
            (r#"{"[{\"[": "]}\\"}"#, 1),
            (r#"["\\", [1]]"#, 2),
        ] {
            assert_eq!(depth(json), expected, "{json}");
        }
    }

    fn measured(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(measured).max().unwrap_or(0),
            Value::Object(members) => 1 + members.values().map(measured).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            r#"[\[\]{}"\\a\n]{0,6}"#.prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 40, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(r#"[\[{"\\a]{0,3}"#, inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn depth_agrees_with_a_parsed_value(value in json()) {
            prop_assert_eq!(depth(&value.to_string()), measured(&value));
        }

        #[test]
        fn arbitrary_text_never_panics(text: String) {
            let _ = meta(&text);
            let _ = content(&text);
            depth(&text);
            if let Ok(name) = Name::parse("name", &text) {
                prop_assert_eq!(name.as_str(), text);
            }
        }

        #[test]
        fn every_text_of_the_pattern_is_a_name(text in "[A-Za-z0-9][A-Za-z0-9._-]{0,127}") {
            let name = Name::parse("name", &text).unwrap();
            prop_assert_eq!(Name::parse("name", name.as_str()).unwrap(), name);
        }
    }
}
