//! JSON imports: one object, an array of objects, or one object a line (IMP-9).

use super::record::{Fields, ImportRecord, Place};
use super::{ARGUMENT, nothing};
use crate::domain::invalid::{Invalid, excerpt};
use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Reads the records of a JSON text.
///
/// # Errors
/// Text that is neither JSON nor lines of JSON, an empty text or array, and records that break a rule.
pub(super) fn parse(text: &str) -> Result<Vec<ImportRecord>, Invalid> {
    if text.trim().is_empty() {
        return Err(nothing("is empty"));
    }
    let lines = lines(text);
    let several = lines.clone().nth(1).is_some();
    if several && lines.clone().all(|(_, line)| line.starts_with('{')) {
        // An object broken over lines that all begin with a brace is rare, but it is no list of lines.
        return by_line(text).or_else(|fault| match whole(text) {
            Ok(records) => Ok(records),
            Err(_) => Err(fault),
        });
    }
    match whole(text) {
        Ok(records) => Ok(records),
        Err(Fault::Record(refusal)) => Err(refusal),
        Err(Fault::Syntax(refusal)) if several => by_line(text).map_err(|by_line| {
            // Where the first line is a value of its own, lines were meant.
            let first = lines.clone().next().map(|(_, line)| serde_json::from_str::<&RawValue>(line));
            if matches!(first, Some(Ok(_))) { by_line } else { refusal }
        }),
        Err(Fault::Syntax(refusal)) => Err(refusal),
    }
}

/// Reads one record from the text of a JSON object.
///
/// # Errors
/// Text that is no object, and as [`Fields::check`], with the place in front.
pub(super) fn record(json: &str, place: Place) -> Result<ImportRecord, Invalid> {
    fields(json).and_then(|fields| fields.check(None)).map_err(|refusal| place.refuse(refusal))
}

/// Splits the text of a JSON object into the fields of a record, unchecked.
///
/// # Errors
/// Text that is no object.
pub(super) fn fields(json: &str) -> Result<Fields<'_>, Invalid> {
    if !json.trim_start().starts_with('{') {
        return Err(no_object(json));
    }
    serde_json::from_str::<Fields>(json).map_err(|fault| syntax(&fault, true))
}

enum Fault {
    /// The text as a whole is no JSON.
    Syntax(Invalid),
    /// It is, and a record in it breaks a rule.
    Record(Invalid),
}

/// The lines that are not blank, from their first character on, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> + Clone {
    text.split('\n').enumerate().map(|(at, line)| (at + 1, line.trim())).filter(|(_, line)| !line.is_empty())
}

fn by_line(text: &str) -> Result<Vec<ImportRecord>, Invalid> {
    lines(text)
        .enumerate()
        .map(|(at, (number, line))| record(line, Place { record: at + 1, line: Some(number) }))
        .collect()
}

fn whole(text: &str) -> Result<Vec<ImportRecord>, Fault> {
    let trimmed = text.trim_start();
    if trimmed.starts_with('[') {
        return array(text);
    }
    let raw =
        serde_json::from_str::<&RawValue>(text).map_err(|fault| Fault::Syntax(syntax(&fault, false)))?;
    record(raw.get(), Place { record: 1, line: None }).map(|record| vec![record]).map_err(Fault::Record)
}

fn array(text: &str) -> Result<Vec<ImportRecord>, Fault> {
    let mut records = Vec::new();
    let mut refused = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let outcome = Collector { records: &mut records, refused: &mut refused }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    match (refused, outcome) {
        (Some(refusal), _) => Err(Fault::Record(refusal)),
        (None, Err(fault)) => {
            let refusal = syntax(&fault, false);
            Err(Fault::Syntax(Invalid {
                message: format!("{}, at or after record {}", refusal.message, records.len() + 1),
                ..refusal
            }))
        }
        (None, Ok(())) if records.is_empty() => Err(Fault::Record(nothing("is an empty array"))),
        (None, Ok(())) => Ok(records),
    }
}

/// Reads the items of an array one by one, so that no list of them stands beside the records.
struct Collector<'s> {
    records: &'s mut Vec<ImportRecord>,
    refused: &'s mut Option<Invalid>,
}

impl<'de> DeserializeSeed<'de> for Collector<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Collector<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&RawValue>()? {
            match record(item.get(), Place { record: self.records.len() + 1, line: None }) {
                Ok(record) => self.records.push(record),
                Err(refusal) => {
                    *self.refused = Some(refusal);
                    return Err(A::Error::custom("a record was refused"));
                }
            }
        }
        Ok(())
    }
}

fn no_object(json: &str) -> Invalid {
    Invalid::new(
        ARGUMENT,
        "IMP-7",
        format!("a record must be an object: {}", excerpt(json)),
        "Give records as objects with at least the field \"content\".",
    )
}

/// The refusal of text that is no JSON. Within a record its line is counted elsewhere, so only the column is told.
fn syntax(fault: &serde_json::Error, in_record: bool) -> Invalid {
    let full = fault.to_string();
    let message = full.split(" at line ").next().unwrap_or(&full);
    let place = if in_record {
        format!("column {}", fault.column())
    } else {
        format!("line {}, column {}", fault.line(), fault.column())
    };
    let subject = if in_record { String::new() } else { format!("argument \"{ARGUMENT}\" ") };
    Invalid::new(
        ARGUMENT,
        "IMP-9",
        format!("{subject}is not valid JSON at {place}: {message}"),
        "Give one JSON object, an array of objects, or one object a line.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(text: &str) -> Vec<String> {
        parse(text).unwrap().into_iter().map(|record| record.content).collect()
    }

    fn refusal(text: &str) -> Invalid {
        let refusal = parse(text).unwrap_err();
        assert_eq!(refusal.argument, "content");
        refusal
    }

    #[test]
    fn an_object_an_array_and_lines_are_read() {
        for (text, expected) in [
            (r#"{"content":"a"}"#, vec!["a"]),
            ("{\n \"content\": \"a\",\n \"tree\": \"share/i\"\n}", vec!["a"]),
            (r#"[{"content":"a"}, {"content":"b"}]"#, vec!["a", "b"]),
            ("[\n{\"content\":\"a\"},\n{\"content\":\"b\"}\n]", vec!["a", "b"]),
            ("{\"content\":\"a\"}\n{\"content\":\"b\"}", vec!["a", "b"]),
            ("\n {\"content\":\"a\"}\r\n\r\n{\"content\":\"b\"}\r\n", vec!["a", "b"]),
            ("{\"content\":\"a\"}\n", vec!["a"]),
            ("{\"meta\":\n{\"x\":1},\"content\":\"a\"}", vec!["a"]),
            ("{\"content\":\"a\u{2028}b\"}\n{\"content\":\"c\u{85}d\"}", vec!["a\u{2028}b", "c\u{85}d"]),
        ] {
            assert_eq!(contents(text), expected, "{text:?}");
        }
    }

    #[test]
    fn nothing_is_refused() {
        for text in ["", " \n", "[]", "[ ]\n"] {
            assert_eq!(refusal(text).rule, "IMP-9", "{text:?}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in [
            "[1,2]",
            "[[]]",
            "[null]",
            "7",
            "\"x\"",
            "null",
            "[{\"content\":\"a\"},\"b\"]",
            "{\"content\":\"a\"}\n[]",
        ] {
            let refusal = refusal(text);
            assert_eq!(refusal.rule, "IMP-7", "{text:?}");
            assert!(refusal.message.contains("record"), "{refusal}");
        }
    }

    #[test]
    fn a_fault_is_told_with_its_record_and_line() {
        let text = "{\"content\":\"a\"}\n\n{\"content\":\"b\\u0000\"}\n";
        let found = refusal(text);
        assert!(found.message.contains("record 2 (line 3)") && found.message.contains("U+0000"), "{found}");
        let found = refusal(r#"[{"content":"a"},{"content":"b","name":".x"}]"#);
        assert!(found.message.contains("record 2") && found.rule == "NAME-1", "{found}");
        let found = refusal("{\"content\":\"a\"}\n{\"content\":\"b\"");
        assert!(found.message.contains("record 2 (line 2)"), "{found}");
        let found = refusal("{\"content\":\"a\"}\nnot json\n");
        assert!(found.message.contains("record 2 (line 2)"), "{found}");
        let found = refusal("[{\"content\":\"a\"},\n{\"content\":}]");
        assert!(found.message.contains("line 2") && found.message.contains("record 2"), "{found}");
        let found = refusal("{\n\"content\": oops\n}");
        assert!(found.message.contains("line 2, column"), "{found}");
    }

    #[test]
    fn a_bad_record_in_an_array_is_not_tried_as_lines() {
        let found = refusal("[\n{\"content\":\"\"}\n]");
        assert_eq!(found.rule, "IMP-5");
    }

    #[test]
    fn text_after_the_end_is_refused() {
        for text in [
            r#"{"content":"a"} x"#,
            r#"[{"content":"a"}] []"#,
            "[{\"content\":\"a\"}]\n[{\"content\":\"b\"}]",
        ] {
            parse(text).unwrap_err();
        }
    }
}
