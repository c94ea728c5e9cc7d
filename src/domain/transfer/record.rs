//! One record of an import: which fields it has and what each must be (IMP-5 to IMP-8).

use super::ARGUMENT;
use crate::domain::id::Id;
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::memory::{Meta, Name, check_no_nul};
use crate::domain::temporal::Temporal;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A memory as an import brings it. Its tree is still a text: only the caller knows its home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRecord {
    /// The content: not empty, without U+0000.
    pub content: String,
    /// The id.
    pub id: Option<Id>,
    /// The name.
    pub name: Option<Name>,
    /// The metadata, every number as it was written; keys may repeat, the last one counts (META-3).
    pub meta: Option<Meta>,
    /// The tree as it was written, not empty; without one the record goes to `share` (IMP-6).
    pub tree: Option<String>,
    /// The time.
    pub temporal: Option<Temporal>,
}

impl ImportRecord {
    /// The record as JSON that an import reads to the same record, in the order of EXP-5; nothing is filled in.
    #[must_use]
    pub fn to_json(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let temporal = self.temporal.as_ref().map(|temporal| {
            let start = temporal.start().to_iso_micros();
            match temporal.end() {
                Some(end) => format!("[\"{start}\",\"{}\"]", end.to_iso_micros()),
                None => format!("\"{start}\""),
            }
        });
        let members = [
            ("id", self.id.as_ref().map(|id| quoted(&id.to_string()))),
            ("content", Some(quoted(&self.content))),
            ("meta", self.meta.as_ref().map(|meta| meta.as_str().to_owned())),
            ("tree", self.tree.as_deref().map(quoted)),
            ("name", self.name.as_ref().map(|name| quoted(name.as_str()))),
            ("temporal", temporal),
        ];
        let members: Vec<String> = members
            .into_iter()
            .filter_map(|(key, value)| value.map(|value| format!("\"{key}\":{value}")))
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

/// Where a record stands in the text of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the record, from 1.
    pub(super) record: usize,
    /// The line where it begins, from 1, if the format counts lines.
    pub(super) line: Option<usize>,
}

impl Place {
    /// Puts the place in front of a refusal, and the argument `content` in the place of the field's name.
    pub(super) fn refuse(self, inner: Invalid) -> Invalid {
        let line = self.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        Invalid {
            argument: ARGUMENT.to_owned(),
            message: format!("argument \"{ARGUMENT}\", record {}{line}: {}", self.record, inner.message),
            ..inner
        }
    }
}

/// The fields of a record as raw JSON; a repeated key counts the last time, unknown keys are ignored (IMP-5).
#[derive(Default)]
pub(super) struct Fields<'a> {
    pub(super) content: Option<&'a RawValue>,
    pub(super) id: Option<&'a RawValue>,
    pub(super) name: Option<&'a RawValue>,
    pub(super) meta: Option<&'a RawValue>,
    pub(super) tree: Option<&'a RawValue>,
    pub(super) temporal: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Content,
    Id,
    Name,
    Meta,
    Tree,
    Temporal,
    #[serde(other)]
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a record, which is an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Fields::default();
                while let Some(key) = map.next_key::<Key>()? {
                    // A raw value is skipped without recursion, however deep it is.
                    let value = Some(map.next_value::<&RawValue>()?);
                    match key {
                        Key::Content => fields.content = value,
                        Key::Id => fields.id = value,
                        Key::Name => fields.name = value,
                        Key::Meta => fields.meta = value,
                        Key::Tree => fields.tree = value,
                        Key::Temporal => fields.temporal = value,
                        Key::Other => {}
                    }
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

impl Fields<'_> {
    /// Checks every field; `body` is the content of a record that has no field of that name (IMP-9).
    ///
    /// # Errors
    /// The refusal names the field; [`Place::refuse`] adds where the record is.
    pub(super) fn check(&self, body: Option<&str>) -> Result<ImportRecord, Invalid> {
        let content = match (self.content, body) {
            (Some(raw), _) if raw.get() == "null" => return Err(Invalid::missing("content")),
            (Some(raw), _) => text("content", raw)?,
            (None, Some(body)) => body.to_owned(),
            (None, None) => return Err(Invalid::missing("content")),
        };
        if content.is_empty() {
            return Err(empty("content", "IMP-5", "Give at least one character."));
        }
        check_no_nul("content", &content)?;
        let id = match self.id {
            Some(raw) => Some(Id::parse("id", &text("id", raw)?)?),
            None => None,
        };
        let name = match self.name {
            Some(raw) if raw.get() != "null" => Some(Name::parse("name", &text("name", raw)?)?),
            _ => None,
        };
        let tree = self.tree.map(|raw| text("tree", raw)).transpose()?;
        if tree.as_deref() == Some("") {
            return Err(empty(
                "tree",
                "IMP-6",
                "Leave the tree out for \"share\"; the root is written \"/\".",
            ));
        }
        let temporal = match self.temporal {
            Some(raw) => {
                check_escapes("temporal", raw.get())?;
                Temporal::parse_import("temporal", raw.get())?
            }
            None => None,
        };
        let meta = match self.meta {
            Some(raw) => {
                check_escapes("meta", raw.get())?;
                Some(Meta::from_canonical("meta", raw.get().to_owned())?)
            }
            None => None,
        };
        Ok(ImportRecord { content, id, name, meta, tree, temporal })
    }
}

/// Decodes a field that must be a string; no other kind is taken for one (CALL-4).
fn text(field: &str, raw: &RawValue) -> Result<String, Invalid> {
    if !raw.get().starts_with('"') {
        return Err(Invalid::new(
            field,
            "IMP-7",
            format!("argument \"{field}\" must be a string: {}", excerpt(raw.get())),
            format!("Write {field} as a string, in quotes where the format needs them."),
        ));
    }
    serde_json::from_str(raw.get()).map_err(|_| surrogate(field))
}

fn empty(field: &str, rule: &'static str, hint: &str) -> Invalid {
    Invalid::new(field, rule, format!("argument \"{field}\" is empty: \"\""), hint)
}

fn surrogate(field: &str) -> Invalid {
    Invalid::new(
        field,
        "CONT-4",
        format!("argument \"{field}\" contains half of a surrogate pair, which is no character"),
        "Write characters beyond U+FFFF as themselves or as two \\u escapes, high half first.",
    )
}

/// Refuses a surrogate escape without its other half, in well-formed JSON (CONT-4): a raw value is not decoded, so
/// nothing else has looked at its escapes.
fn check_escapes(field: &str, json: &str) -> Result<(), Invalid> {
    let mut rest = json;
    let mut high = false;
    while let Some(at) = rest.find('\\') {
        let escape = rest.get(at..).unwrap_or_default();
        let unit = escape
            .strip_prefix("\\u")
            .and_then(|digits| digits.get(..4))
            .and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let low = matches!(unit, Some(0xdc00..=0xdfff));
        // The low half must follow the high one at once, and may stand nowhere else.
        if low != (high && at == 0) || (high && at > 0) {
            return Err(surrogate(field));
        }
        high = matches!(unit, Some(0xd800..=0xdbff));
        rest = escape.get(if unit.is_some() { 6 } else { 2 }..).unwrap_or_default();
    }
    if high { Err(surrogate(field)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(json: &str) -> Result<ImportRecord, Invalid> {
        serde_json::from_str::<Fields>(json).unwrap().check(None)
    }

    fn refused(json: &str) -> (String, &'static str) {
        let refusal = record(json).unwrap_err();
        (refusal.argument, refusal.rule)
    }

    #[test]
    fn every_field_arrives_and_unknown_ones_are_ignored() {
        let json = r#"{"content":"a\nb","id":"0190A1B2-0000-7000-8000-000000000051","name":"n.md","version":3,
            "meta":{"n":1.0,"big":123456789012345678901234567890.10},"tree":"~/x","temporal":"2025-01-01T00:00:00Z","x":[{}]}"#;
        let record = record(json).unwrap();
        assert_eq!(record.content, "a\nb");
        assert_eq!(record.id.unwrap().to_string(), "0190a1b2-0000-7000-8000-000000000051");
        assert_eq!(record.name.unwrap().as_str(), "n.md");
        assert_eq!(record.meta.unwrap().as_str(), r#"{"n":1.0,"big":123456789012345678901234567890.10}"#);
        assert_eq!(record.tree.unwrap(), "~/x");
        assert!(record.temporal.unwrap().is_point());
    }

    #[test]
    fn a_record_written_as_json_reads_back_as_it_was() {
        for json in [
            r#"{"content":"a"}"#,
            r#"{"id":"0190a1b2-0000-7000-8000-000000000051","content":"\"a\\\n\ud83d\ude00","meta":{"n":1.10,"b":[{}]},"tree":"~/x y","name":"n.md","temporal":["2025-01-01T00:00:00.000001Z","2025-01-02T00:00:00Z"]}"#,
            r#"{"content":" ","temporal":"0001-01-01T00:00:00Z"}"#,
        ] {
            let read = record(json).unwrap();
            assert_eq!(record(&read.to_json()).unwrap(), read);
        }
    }

    #[test]
    fn content_is_required_and_not_empty() {
        assert_eq!(refused("{}").0, "content");
        assert_eq!(refused(r#"{"content":null}"#).0, "content");
        assert_eq!(refused(r#"{"content":""}"#), ("content".into(), "IMP-5"));
        assert_eq!(refused(r#"{"content":5}"#), ("content".into(), "IMP-7"));
        assert_eq!(record(r#"{"content":" "}"#).unwrap().content, " ");
    }

    #[test]
    fn fields_of_another_kind_are_refused() {
        for (json, field, rule) in [
            (r#"{"content":"x","id":"abc"}"#, "id", "ID-1"),
            (r#"{"content":"x","id":null}"#, "id", "IMP-7"),
            (r#"{"content":"x","id":7}"#, "id", "IMP-7"),
            (r#"{"content":"x","id":"0190a1b2-0000-4000-8000-000000000051"}"#, "id", "ID-2"),
            (r#"{"content":"x","name":".x"}"#, "name", "NAME-1"),
            (r#"{"content":"x","name":"a\n"}"#, "name", "NAME-1"),
            (r#"{"content":"x","name":""}"#, "name", "NAME-5"),
            (r#"{"content":"x","name":7}"#, "name", "IMP-7"),
            (r#"{"content":"x","meta":null}"#, "meta", "META-1"),
            (r#"{"content":"x","meta":[]}"#, "meta", "META-1"),
            (r#"{"content":"x","tree":5}"#, "tree", "IMP-7"),
            (r#"{"content":"x","tree":null}"#, "tree", "IMP-7"),
            (r#"{"content":"x","tree":""}"#, "tree", "IMP-6"),
            (r#"{"content":"x","temporal":7}"#, "temporal", "IMP-8"),
            (r#"{"content":"x","temporal":[]}"#, "temporal", "IMP-8"),
        ] {
            assert_eq!(refused(json), (field.to_owned(), rule), "{json}");
        }
        assert_eq!(record(r#"{"content":"x","name":null}"#).unwrap().name, None);
    }

    #[test]
    fn a_time_may_be_a_text_a_list_or_an_object() {
        for (temporal, point) in [
            (r#""2025-01-01T00:00:00Z""#, true),
            (r#"["2025-01-01T00:00:00Z"]"#, true),
            (r#"["2025-01-01T00:00:00Z","2025-01-02T00:00:00Z"]"#, false),
            (r#"{"start":"2025-01-01T00:00:00Z"}"#, true),
            (r#"{"start":"2025-01-01T00:00:00Z","end":"2025-01-02T00:00:00Z"}"#, false),
        ] {
            let record = record(&format!(r#"{{"content":"x","temporal":{temporal}}}"#)).unwrap();
            assert_eq!(record.temporal.unwrap().is_point(), point, "{temporal}");
        }
        assert!(record(r#"{"content":"x","temporal":"2025-01-01"}"#).is_err());
    }

    #[test]
    fn the_character_zero_and_half_surrogates_are_refused_in_every_field() {
        for json in [
            r#"{"content":"a\u0000b"}"#,
            r#"{"content":"\ud800"}"#,
            r#"{"content":"x","meta":{"a":"\u0000"}}"#,
            r#"{"content":"x","meta":{"a\u0000":1}}"#,
            r#"{"content":"x","meta":{"a":"\ud83d"}}"#,
            r#"{"content":"x","meta":{"a":"\ud83d x"}}"#,
            r#"{"content":"x","meta":{"a":"\ude00"}}"#,
            r#"{"content":"x","meta":{"a":"\ude00\ud83d"}}"#,
            r#"{"content":"x","meta":{"a":"\ud83d\ud83d\ude00"}}"#,
            r#"{"content":"x","meta":{"a":"\ud83d","b":"\ude00"}}"#,
            r#"{"content":"x","meta":{"a":"\ud83d\n\ude00"}}"#,
        ] {
            assert_eq!(refused(json).1, "CONT-4", "{json}");
        }
        for json in [
            r#"{"content":"\ud83d\ude00","meta":{"a":"\ud83d\ude00\uD83D\uDE00","b":"\\ud83d","c":"\\\\u0000 \u00e9é\n"}}"#,
            r#"{"content":"x","meta":{"\\":"\""}}"#,
        ] {
            assert!(record(json).is_ok(), "{json}");
        }
    }

    #[test]
    fn deep_metadata_is_refused_without_recursion() {
        let nested = |levels: usize| {
            format!(r#"{{"content":"x","meta":{{"a":{}{}}}}}"#, "[".repeat(levels), "]".repeat(levels))
        };
        assert!(record(&nested(499)).is_ok());
        assert_eq!(refused(&nested(500)).1, "META-2");
        assert_eq!(refused(&nested(1_000_000)).1, "META-2");
        let elsewhere = nested(100_000).replace("meta", "other");
        assert!(record(&elsewhere).is_ok());
        let time = nested(100_000).replace("meta", "temporal");
        assert_eq!(refused(&time).0, "temporal");
    }

    #[test]
    fn the_last_of_repeated_keys_counts() {
        assert_eq!(record(r#"{"content":"a","content":"b"}"#).unwrap().content, "b");
        assert_eq!(record(r#"{"con\u0074ent":"a"}"#).unwrap().content, "a");
    }

    #[test]
    fn a_refusal_says_where_the_record_is() {
        let refusal =
            Place { record: 2, line: Some(5) }.refuse(record(r#"{"content":"a\u0000b"}"#).unwrap_err());
        assert_eq!((refusal.argument.as_str(), refusal.rule), ("content", "CONT-4"));
        assert!(
            refusal.message.contains("record 2 (line 5)") && refusal.message.contains("U+0000"),
            "{refusal}"
        );
    }
}
