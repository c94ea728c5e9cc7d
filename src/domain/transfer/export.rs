//! Writing memories as text that an import reads back (EXP-3 to EXP-7).

use super::TransferFormat;
use super::record::Fields;
use crate::domain::format::{Format, render};
use crate::domain::invalid::{Invalid, excerpt};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;

/// The argument that chose what is written.
const ARGUMENT: &str = "format";

/// A memory as a Markdown file (EXP-6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownFile {
    /// The place below the directory, with `/` between its parts.
    pub path: String,
    /// The text, as [`export`] writes it.
    pub text: String,
}

/// Writes records, each the JSON text of an object with `id`, `content`, `tree` and perhaps `meta`, `name`, `temporal`.
///
/// Keys come out in the order of EXP-5; empty metadata and a null name or time are left out, as are other keys. JSON is
/// an array indented by two spaces, YAML a sequence, both `[]` without records and without a newline at the end.
/// Markdown is one memory at most, and empty text without one. Numbers keep their digits.
///
/// # Errors
/// More than one memory as Markdown is refused under `EXP-4`. Text that is no such record is refused under `EXP-5`.
pub fn export(records: &[&str], format: TransferFormat) -> Result<String, Invalid> {
    match (format, records) {
        (TransferFormat::Markdown, []) => Ok(String::new()),
        (TransferFormat::Markdown, [record]) => markdown(record),
        (TransferFormat::Markdown, _) => Err(Invalid::new(
            ARGUMENT,
            "EXP-4",
            format!(
                "argument \"{ARGUMENT}\" is \"md\", which holds one memory, but {} matched",
                records.len()
            ),
            "Narrow the filters to one memory, or export as \"json\" or \"yaml\".",
        )),
        (_, []) => Ok("[]".to_owned()),
        (TransferFormat::Json, _) => json(records),
        (TransferFormat::Yaml, _) => yaml(records),
    }
}

/// Writes each record as a file of its own: `<tree>/<name or id>.md` below a directory (EXP-6).
///
/// A name that ends in `.md` gets no second one. Where two paths differ at most in case, the later one is
/// `<stem>.<id>.md`, so that no file overwrites another on any file system.
///
/// # Errors
/// Text that is no record is refused under `EXP-5`.
pub fn markdown_files(records: &[&str]) -> Result<Vec<MarkdownFile>, Invalid> {
    let mut taken = HashSet::new();
    records
        .iter()
        .map(|record| {
            let fields = read(record)?;
            let id = decoded(record, fields.id)?;
            let tree = decoded(record, fields.tree)?;
            let name = present(fields.name).map(|name| decoded(record, Some(name))).transpose()?;
            let folder = match tree.trim_start_matches('/') {
                "" => String::new(),
                labels => format!("{labels}/"),
            };
            let stem = name.as_deref().unwrap_or(&id);
            let stem = stem.strip_suffix(".md").filter(|stem| !stem.is_empty()).unwrap_or(stem);
            let mut path = format!("{folder}{stem}.md");
            if !taken.insert(path.to_ascii_lowercase()) {
                path = format!("{folder}{stem}.{id}.md");
                taken.insert(path.to_ascii_lowercase());
            }
            Ok(MarkdownFile { path, text: markdown(record)? })
        })
        .collect()
}

fn json(records: &[&str]) -> Result<String, Invalid> {
    let mut out = String::from("[");
    for (at, record) in records.iter().enumerate() {
        out.push_str(if at == 0 { "\n  " } else { ",\n  " });
        let object = object(&members(&read(record)?, true));
        indent(&mut out, &object, 1);
    }
    out.push_str("\n]");
    Ok(out)
}

/// Record by record, so that only one of them stands in memory as a tree.
fn yaml(records: &[&str]) -> Result<String, Invalid> {
    let mut out = String::new();
    for (at, record) in records.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let object = object(&members(&read(record)?, true));
        out.push_str(&rendered(record, &format!("[{object}]"))?);
    }
    Ok(out)
}

/// Front matter, an empty line, the content and a newline (EXP-4).
///
/// An import trims what stands below the front matter. Content that trimming would change goes into the front matter,
/// and nothing below it: there it could be edited without effect.
fn markdown(record: &str) -> Result<String, Invalid> {
    let fields = read(record)?;
    let content = decoded(record, fields.content)?;
    let inside = content.trim().len() != content.len() || content.is_empty();
    let front = rendered(record, &object(&members(&fields, inside)))?;
    Ok(if inside { format!("---\n{front}\n---\n") } else { format!("---\n{front}\n---\n\n{content}\n") })
}

fn read(record: &str) -> Result<Fields<'_>, Invalid> {
    serde_json::from_str(record).map_err(|fault| no_record(record, &fault.to_string()))
}

/// The members that an exported record shows, in the order of EXP-5.
fn members<'a>(fields: &Fields<'a>, with_content: bool) -> Vec<(&'static str, &'a str)> {
    let meta = fields.meta.filter(|meta| !is_empty_object(meta.get()));
    [
        ("id", fields.id),
        ("content", fields.content.filter(|_| with_content)),
        ("meta", present(meta)),
        ("tree", fields.tree),
        ("name", present(fields.name)),
        ("temporal", present(fields.temporal)),
    ]
    .into_iter()
    .filter_map(|(key, value)| value.map(|value| (key, value.get())))
    .collect()
}

fn is_empty_object(json: &str) -> bool {
    let inside = json.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

/// A value that is not null.
fn present(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|value| value.get() != "null")
}

fn object(members: &[(&str, &str)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(key, value)| match *key {
            "temporal" => format!("\"{key}\":{}", start_first(value)),
            _ => format!("\"{key}\":{value}"),
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

/// A time with its start in front of its end: `jsonb` sorts keys by length.
fn start_first(time: &str) -> Cow<'_, str> {
    #[derive(Deserialize)]
    struct Time<'a> {
        #[serde(borrow)]
        start: &'a RawValue,
        end: &'a RawValue,
    }
    match serde_json::from_str::<Time>(time) {
        Ok(Time { start, end }) => Cow::Owned(format!("{{\"start\":{start},\"end\":{end}}}")),
        Err(_) => Cow::Borrowed(time),
    }
}

fn decoded(record: &str, value: Option<&RawValue>) -> Result<String, Invalid> {
    let value = value.ok_or_else(|| no_record(record, "id, content or tree is missing"))?;
    serde_json::from_str(value.get()).map_err(|fault| no_record(record, &fault.to_string()))
}

fn rendered(record: &str, json: &str) -> Result<String, Invalid> {
    render(json, Format::Yaml).map_err(|fault| no_record(record, &fault.to_string()))
}

fn no_record(record: &str, fault: &str) -> Invalid {
    Invalid::new(
        ARGUMENT,
        "EXP-5",
        format!("a memory cannot be exported: {fault}: {}", excerpt(record)),
        "Export the other memories, and have this one looked at.",
    )
}

/// Appends well-formed JSON with two spaces a level, its scalars as they are; the first line is not indented.
fn indent(out: &mut String, json: &str, outer: usize) {
    let mut level = outer;
    let mut rest = json;
    // Set after an opening bracket, until it is known whether anything stands inside.
    let mut opened = false;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            ' ' | '\t' | '\r' | '\n' | ':' | ',' | '[' | ']' | '{' | '}' => 1,
            _ => rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        if matches!(first, ' ' | '\t' | '\r' | '\n') {
            continue;
        }
        let closes = matches!(first, ']' | '}');
        if closes {
            level = level.saturating_sub(1);
        }
        if opened != closes && (opened || closes) {
            new_line(out, level);
        }
        opened = matches!(first, '[' | '{');
        level += usize::from(opened);
        out.push_str(token);
        match first {
            ':' => out.push(' '),
            ',' => new_line(out, level),
            _ => {}
        }
    }
}

fn new_line(out: &mut String, level: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level));
}

/// The length of the string token in front, both quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::super::{ImportRecord, parse};
    use super::*;
    use crate::domain::memory::Meta;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const FORMATS: [TransferFormat; 3] =
        [TransferFormat::Json, TransferFormat::Yaml, TransferFormat::Markdown];
    const ID: &str = "0190a1b2-0000-7000-8000-000000000061";

    fn record(content: &str) -> String {
        json!({"id": ID, "content": content, "meta": {"k": 1}, "tree": "/share/x", "name": "one"}).to_string()
    }

    #[test]
    fn json_is_an_array_indented_by_two_spaces_with_keys_in_order() {
        let first = r#"{"name": "one", "tree": "/share/x", "meta": {"a": [], "b": [1.50, {"c": null}], "d": {}}, "content": "e\"1", "id": "i", "version": 3}"#;
        let second = r#"{"id":"j","content":"e2","meta":{ },"tree":"/","name":null,"temporal":null}"#;
        let expected = "[\n  {\n    \"id\": \"i\",\n    \"content\": \"e\\\"1\",\n    \"meta\": {\n      \"a\": [],\n      \"b\": [\n        1.50,\n        {\n          \"c\": null\n        }\n      ],\n      \"d\": {}\n    },\n    \"tree\": \"/share/x\",\n    \"name\": \"one\"\n  },\n  {\n    \"id\": \"j\",\n    \"content\": \"e2\",\n    \"tree\": \"/\"\n  }\n]";
        assert_eq!(export(&[first, second], TransferFormat::Json).unwrap(), expected);
    }

    #[test]
    fn yaml_is_a_sequence_with_keys_in_order() {
        let text = export(&[&record("a\nb"), &record("c")], TransferFormat::Yaml).unwrap();
        let expected = format!(
            "- id: {ID}\n  content: |-\n    a\n    b\n  meta:\n    k: 1\n  tree: /share/x\n  name: one\n\
             - id: {ID}\n  content: c\n  meta:\n    k: 1\n  tree: /share/x\n  name: one"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn a_time_starts_with_its_start() {
        let time = r#"{"content":"x","id":"i","tree":"/","temporal":{"end":"b", "start":"a"}}"#;
        let text = export(&[time], TransferFormat::Json).unwrap();
        assert!(text.contains("\"start\": \"a\",\n      \"end\": \"b\""), "{text}");
    }

    #[test]
    fn markdown_is_front_matter_and_content() {
        let text = export(&[&record("# Title\n\ntext")], TransferFormat::Markdown).unwrap();
        assert_eq!(
            text,
            format!("---\nid: {ID}\nmeta:\n  k: 1\ntree: /share/x\nname: one\n---\n\n# Title\n\ntext\n")
        );
    }

    #[test]
    fn nothing_is_an_empty_list_or_an_empty_text() {
        assert_eq!(export(&[], TransferFormat::Json).unwrap(), "[]");
        assert_eq!(export(&[], TransferFormat::Yaml).unwrap(), "[]");
        assert_eq!(export(&[], TransferFormat::Markdown).unwrap(), "");
    }

    #[test]
    fn several_memories_are_no_markdown() {
        let refusal = export(&[&record("a"), &record("b")], TransferFormat::Markdown).unwrap_err();
        assert_eq!((refusal.argument.as_str(), refusal.rule), ("format", "EXP-4"));
    }

    #[test]
    fn what_is_no_record_is_refused_without_a_panic() {
        for text in ["", "7", "[]", "{", "{\"id\":\"x\"}", "{\"content\":1,\"id\":2}"] {
            assert_eq!(export(&[text], TransferFormat::Markdown).unwrap_err().rule, "EXP-5", "{text:?}");
        }
    }

    #[test]
    fn files_are_named_by_tree_and_name_and_never_collide() {
        let named = |name: Value, tree: &str| {
            json!({"id": ID, "content": "x", "tree": tree, "name": name}).to_string()
        };
        let records = [
            named(json!("Note"), "/share/x"),
            named(json!("note.md"), "/share/x"),
            named(Value::Null, "~/y"),
            named(json!("top"), "/"),
            named(json!("note"), "/share/X"),
        ];
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        let paths: Vec<String> =
            markdown_files(&records).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(
            paths,
            [
                "share/x/Note.md".to_owned(),
                format!("share/x/note.{ID}.md"),
                format!("~/y/{ID}.md"),
                "top.md".to_owned(),
                format!("share/X/note.{ID}.md")
            ]
        );
    }

    fn reads_back(content: &str, meta: &str, extra: &str) -> Result<(), TestCaseError> {
        let content_json = serde_json::to_string(content).unwrap();
        let text =
            format!(r#"{{"id":"{ID}","content":{content_json},"meta":{meta},"tree":"~/x-1/y"{extra}}}"#);
        let expected = parse(&format!("[{text}]"), Some(TransferFormat::Json)).unwrap();
        let expected: Vec<ImportRecord> = expected
            .into_iter()
            .map(|record| ImportRecord { meta: record.meta.filter(|meta| *meta != Meta::empty()), ..record })
            .collect();
        for format in FORMATS {
            let exported = export(&[&text], format).unwrap();
            let mut found = parse(&exported, Some(format))
                .map_err(|fault| TestCaseError::fail(format!("{fault}\n{exported}")))?;
            for (found, expected) in found.iter_mut().zip(&expected) {
                let value = |meta: &Meta| serde_json::from_str::<Value>(meta.as_str()).unwrap();
                let same = |a: &Option<Meta>, b: &Option<Meta>| match (a, b) {
                    (Some(a), Some(b)) => value(a) == value(b),
                    (a, b) => a == b,
                };
                prop_assert!(same(&found.meta, &expected.meta), "{:?} {}", format, exported);
                found.meta.clone_from(&expected.meta);
            }
            prop_assert_eq!(&found, &expected, "{:?} {}", format, exported);
            if format != TransferFormat::Json {
                prop_assert_eq!(TransferFormat::detect(&exported), format);
            }
        }
        Ok(())
    }

    #[test]
    fn awkward_content_reads_back_in_every_format() {
        for content in [
            " ",
            "\n",
            "a\n",
            " a",
            "a \n\n",
            "\ta",
            "---",
            "---\nid: x\n---\n",
            "a\n---\nb",
            "a\r\nb\r\n",
            "a\rb",
            "\u{2028}",
            "a\u{2028}b\u{2029}c",
            "\u{85}a\u{85}",
            "\u{feff}a",
            "😀",
            "\u{1}\u{7f}\u{9b}",
            "null",
            "~",
            "7",
            "- a\n- b",
            "a: b",
            "# c",
            "...",
            "a\n...\nb",
            "|",
            "\"",
            "'",
            "\u{a0}x\u{a0}",
            "\u{fffe}\u{ffff}",
            "{}",
            "[]",
            "%a",
            "a #b",
            "\\",
            "\\n",
            "a\n b\n  c\n",
            "  a\n b",
            "\n\n a\n",
            "x\n \n",
            "x\n\t\n",
            "---\n---\n",
        ] {
            reads_back(content, "{}", "").unwrap();
            let inside = serde_json::to_string(content).unwrap();
            reads_back(
                content,
                &format!(r#"{{"k":{inside},{inside}:[{inside},{{"l":{inside}}}]}}"#),
                r#","name":"n.md""#,
            )
            .unwrap();
        }
    }

    #[test]
    fn exact_numbers_times_and_deep_metadata_read_back() {
        let meta = r#"{"n":1.0,"big":123456789012345678901234567890.10,"tiny":-0.00000000000000000000000001,"exp":1e400,"$serde_json::private::Number":"1"}"#;
        let time = r#","temporal":{"start":"2025-01-01T00:00:00.000Z","end":"2025-01-02T00:00:00.123Z"}"#;
        let text = format!(r#"{{"id":"{ID}","content":"x","meta":{meta},"tree":"/"{time}}}"#);
        for format in FORMATS {
            let found = parse(&export(&[&text], format).unwrap(), Some(format)).unwrap().remove(0);
            let blanks_gone: String = found.meta.unwrap().as_str().split_whitespace().collect();
            assert_eq!(blanks_gone, meta);
            assert!(!found.temporal.unwrap().is_point());
        }
        let lists = format!(r#"{{"a":{}"x"{}}}"#, "[".repeat(499), "]".repeat(499));
        let objects = format!(r#"{{"a":{}1{}}}"#, "{\"b\":".repeat(499), "}".repeat(499));
        for (deep, format) in
            [&lists, &objects].into_iter().flat_map(|deep| FORMATS.map(|format| (deep, format)))
        {
            let text = format!(r#"{{"id":"{ID}","content":"x","meta":{deep},"tree":"/"}}"#);
            let found = parse(&export(&[&text], format).unwrap(), Some(format)).unwrap().remove(0);
            assert_eq!(&found.meta.unwrap().as_str().split_whitespace().collect::<String>(), deep);
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            r"(?s)[^\x00]{1,30}",
            r"[ab \n\r\t:#\-'|>\x{2028}\x{85}\x{feff}\x{1}😀]{1,20}",
            r"(a|---|\n|\.\.\.| |\r\n|: |- |\t){1,12}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn every_export_reads_back_in_every_format(content in text(), key in text(), value in text(), number in r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?", name in proptest::option::of("[A-Za-z0-9][A-Za-z0-9._-]{0,8}")) {
            let mut meta = format!(r#"{{"n":{number}"#);
            if key != "n" {
                let key = serde_json::to_string(&key).unwrap();
                let value = serde_json::to_string(&value).unwrap();
                meta.push_str(&format!(",{key}:[{value},{{{value}:{value}}}]"));
            }
            meta.push('}');
            let name = name.map(|name| format!(r#","name":"{name}""#)).unwrap_or_default();
            reads_back(&content, &meta, &name)?;
        }

        #[test]
        fn indented_json_means_the_same(value in r#"(\[|\{|\]|\}|"a\\""|,|:|1| ){0,20}"#) {
            let mut out = String::new();
            indent(&mut out, &value, 0);
            if let Ok(parsed) = serde_json::from_str::<Value>(&value) {
                prop_assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), parsed);
            }
        }
    }
}
