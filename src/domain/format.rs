//! A response as text to read: compact JSON, or YAML in the style of FMT-3, keys in the spec's order.
//!
//! The YAML is written here because it takes exact numbers and block literals that any YAML 1.2 reader reads back,
//! and no emitter we know gives both. Libraries judge it in the tests.

use std::borrow::Cow;

use super::invalid::{Invalid, excerpt};
use super::patch::{Json, listed, nearest};

/// How a response is written (FMT-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// YAML 1.2, for reading.
    #[default]
    Yaml,
    /// JSON without white space between tokens.
    Json,
    /// The same as [`Format::Json`] (FMT-2).
    Compact,
}

impl Format {
    /// Reads the argument `format`; absent means YAML (FMT-1).
    ///
    /// # Errors
    /// FMT-1 for another word, with the nearest known one.
    pub fn parse(argument: &str, word: Option<&str>) -> Result<Self, Invalid> {
        const WORDS: [&str; 3] = ["yaml", "json", "compact"];
        match word {
            None | Some("yaml") => Ok(Self::Yaml),
            Some("json") => Ok(Self::Json),
            Some("compact") => Ok(Self::Compact),
            Some(other) => Err(Invalid::new(
                argument,
                "FMT-1",
                format!("argument \"{argument}\" is no known format: {}", excerpt(other)),
                format!("Did you mean \"{}\"? The formats are {}.", nearest(other, &WORDS), listed(&WORDS)),
            )),
        }
    }
}

/// Writes a response, given as `jsonb` text, in `format`. No line is folded and no newline ends the text (FMT-3).
///
/// Known keys stand in the spec's order, others after them as they came; metadata is left in the order it has.
///
/// # Errors
/// When the text is no JSON, or nests a hundred levels deeper than metadata may.
pub fn render(json: &str, format: Format) -> Result<String, serde_json::Error> {
    let mut value = Json::parse(json)?;
    arrange(&mut value, Part::Response);
    let mut out = String::with_capacity(json.len() + json.len() / 4);
    match format {
        Format::Yaml => write_document(&mut out, &value),
        Format::Json | Format::Compact => value.write_compact(&mut out),
    }
    Ok(out)
}

/// Which part of a response a value is: that decides the order of its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// An envelope, a record or an event, told apart by their keys.
    Response,
    Temporal,
    Actor,
    Meta,
}

/// REC-2 and SEL-15.
const RECORD: &[&str] = &[
    "id",
    "content",
    "contentLength",
    "meta",
    "tree",
    "name",
    "temporal",
    "version",
    "versionHash",
    "hasEmbedding",
    "createdAt",
    "createdBy",
    "updatedAt",
    "score",
];
/// HIST-3.
const EVENT: &[&str] = &[
    "eventId",
    "at",
    "operation",
    "operationId",
    "cause",
    "actor",
    "memoryId",
    "tree",
    "name",
    "meta",
    "temporal",
    "content",
    "contentLength",
    "version",
    "versionHash",
];
const RESULTS: &[&str] = &["results", "total", "limit"];
const EVENTS: &[&str] = &["events", "limit", "nextCursor"];
const TEMPORAL: &[&str] = &["start", "end"];
const ACTOR: &[&str] = &["principalId", "principalName", "apiKeyId", "apiKeyName"];

fn arrange(value: &mut Json<'_>, part: Part) {
    match value {
        _ if part == Part::Meta => {}
        Json::Bare(_) | Json::Text(_) => {}
        Json::Array(items) => items.iter_mut().for_each(|item| arrange(item, part)),
        Json::Object(members) => {
            let order = order_of(members, part);
            // A stable sort: keys without a rank keep the order they came in.
            members.sort_by_key(|(key, _)| order.iter().position(|known| known == key).unwrap_or(usize::MAX));
            for (key, member) in members {
                let part = match key.as_ref() {
                    "meta" => Part::Meta,
                    "temporal" => Part::Temporal,
                    "actor" => Part::Actor,
                    _ => Part::Response,
                };
                arrange(member, part);
            }
        }
    }
}

fn order_of(members: &[(Cow<'_, str>, Json<'_>)], part: Part) -> &'static [&'static str] {
    let has = |wanted: &str| members.iter().any(|(key, _)| key == wanted);
    match part {
        Part::Temporal => TEMPORAL,
        Part::Actor => ACTOR,
        Part::Meta => &[],
        Part::Response if has("eventId") => EVENT,
        Part::Response if has("results") => RESULTS,
        Part::Response if has("events") => EVENTS,
        Part::Response => RECORD,
    }
}

/// Blanks a level is indented by.
const STEP: usize = 2;
/// Collections deeper than this are written in flow style, on one line. Indentation grows with depth: without an end,
/// 500 levels would turn a megabyte of metadata into hundreds.
const BLOCK_DEPTH: usize = 24;
/// Longest key, in characters, that a YAML reader must take before a plain `:` (YAML 1.2, §7.4.2), quotes and escapes
/// included. A longer one is announced by `?`.
const IMPLICIT_KEY_CHARS: usize = 1000;

/// Where a value stands.
#[derive(Clone, Copy)]
struct Place {
    /// Blanks before the lines of the collection that holds the value.
    indent: usize,
    /// Collections around it.
    depth: usize,
    /// Nothing follows it in the document.
    last: bool,
}

impl Place {
    /// The place of a member of a collection whose own lines start at `indent`.
    fn inside(self, indent: usize, last: bool) -> Self {
        Self { indent, depth: self.depth + 1, last: self.last && last }
    }
}

fn write_document(out: &mut String, value: &Json<'_>) {
    let place = Place { indent: 0, depth: 0, last: true };
    match value {
        Json::Object(members) if !members.is_empty() => write_mapping(out, members, place),
        Json::Array(items) if !items.is_empty() => write_sequence(out, items, place),
        // How far an indentation indicator reaches at the top of a document is read differently by readers.
        Json::Text(text) if text.starts_with([' ', '\t', '\n']) => write_quoted(out, text),
        Json::Text(text) => write_text(out, text, place),
        Json::Bare(text) => out.push_str(text),
        Json::Object(_) | Json::Array(_) => write_flow(out, value),
    }
}

/// Writes members from the place where the cursor stands, each further one on a line of its own.
fn write_mapping(out: &mut String, members: &[(Cow<'_, str>, Json<'_>)], place: Place) {
    for (at, (key, value)) in members.iter().enumerate() {
        if at > 0 {
            new_line(out, place.indent);
        }
        let inner = place.inside(place.indent, at + 1 == members.len());
        let written = key_text(key);
        if written.chars().take(IMPLICIT_KEY_CHARS + 1).count() > IMPLICIT_KEY_CHARS {
            out.push_str("? ");
            out.push_str(&written);
            new_line(out, place.indent);
            out.push(':');
            write_after_dash(out, value, inner);
        } else {
            out.push_str(&written);
            out.push(':');
            write_after_key(out, value, inner);
        }
    }
}

fn write_sequence(out: &mut String, items: &[Json<'_>], place: Place) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            new_line(out, place.indent);
        }
        out.push('-');
        write_after_dash(out, item, place.inside(place.indent, at + 1 == items.len()));
    }
}

/// Writes the value after `key:`; a collection begins on the next line.
fn write_after_key(out: &mut String, value: &Json<'_>, place: Place) {
    if is_block(value, place) {
        new_line(out, place.indent + STEP);
    } else {
        out.push(' ');
    }
    write_value(out, value, place);
}

/// Writes the value after `-` (or the `:` of an announced key); a collection begins on the same line.
fn write_after_dash(out: &mut String, value: &Json<'_>, place: Place) {
    out.push(' ');
    write_value(out, value, place);
}

fn write_value(out: &mut String, value: &Json<'_>, place: Place) {
    let inner = Place { indent: place.indent + STEP, ..place };
    match value {
        Json::Bare(text) => out.push_str(text),
        Json::Text(text) => write_text(out, text, place),
        Json::Object(members) if is_block(value, place) => write_mapping(out, members, inner),
        Json::Array(items) if is_block(value, place) => write_sequence(out, items, inner),
        Json::Object(_) | Json::Array(_) => write_flow(out, value),
    }
}

/// Whether a value is a collection written over several lines.
fn is_block(value: &Json<'_>, place: Place) -> bool {
    let filled = match value {
        Json::Array(items) => !items.is_empty(),
        Json::Object(members) => !members.is_empty(),
        Json::Bare(_) | Json::Text(_) => false,
    };
    filled && place.depth < BLOCK_DEPTH
}

fn write_flow(out: &mut String, value: &Json<'_>) {
    match value {
        Json::Bare(text) => out.push_str(text),
        Json::Text(text) => write_quoted(out, text),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_flow(out, item);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                let start = out.len();
                write_quoted(out, key);
                if out.get(start..).is_some_and(|written| written.chars().count() > IMPLICIT_KEY_CHARS) {
                    out.insert_str(start, "? ");
                }
                out.push_str(": ");
                write_flow(out, value);
            }
            out.push('}');
        }
    }
}

fn new_line(out: &mut String, indent: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

fn key_text(key: &str) -> Cow<'_, str> {
    if is_plain(key) {
        return Cow::Borrowed(key);
    }
    let mut quoted = String::with_capacity(key.len() + 2);
    write_quoted(&mut quoted, key);
    Cow::Owned(quoted)
}

fn write_text(out: &mut String, text: &str, place: Place) {
    if is_plain(text) {
        out.push_str(text);
    } else if is_literal(text, place.last) {
        write_literal(out, text, place.indent + STEP);
    } else {
        write_quoted(out, text);
    }
}

/// Whether `text` keeps its value as a block literal with every reader.
fn is_literal(text: &str, last: bool) -> bool {
    let body = text.trim_end_matches('\n');
    let last_line = body.rsplit('\n').next().unwrap_or_default();
    text.contains('\n')
        // The document ends without a newline, so nothing could keep the literal's own.
        && !(last && text.ends_with('\n'))
        // Blanks alone on the last line look like indentation.
        && !last_line.trim_matches([' ', '\t']).is_empty()
        && text.chars().all(|c| matches!(c, '\n' | '\t') || !needs_escape(c))
}

fn write_literal(out: &mut String, text: &str, indent: usize) {
    out.push('|');
    // Without the indicator a reader takes the indentation from the first line.
    if text.starts_with([' ', '\t', '\n']) {
        out.push_str(&STEP.to_string());
    }
    let body = match text.strip_suffix('\n') {
        None => {
            out.push('-');
            text
        }
        Some(body) => {
            if body.ends_with('\n') {
                out.push('+');
            }
            body
        }
    };
    for line in body.split('\n') {
        new_line(out, if line.is_empty() { 0 } else { indent });
        out.push_str(line);
    }
}

/// Writes a double-quoted scalar on one line. The escapes are those that JSON has too.
fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if needs_escape(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// What YAML does not print, and what some readers take for a line break or a byte order mark.
fn needs_escape(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether `text` reads back as the same string without quotes, as a value and as a key.
fn is_plain(text: &str) -> bool {
    const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`";
    !text.is_empty()
        && !text.starts_with(|c| INDICATORS.contains(c))
        && !text.starts_with(char::is_whitespace)
        && !text.ends_with(char::is_whitespace)
        && !text.ends_with(':')
        && !text.starts_with("...")
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.chars().any(needs_escape)
        && !is_keyword(text)
        && !is_number(text)
}

/// Words that the core schema, or readers of YAML 1.1, take for something else than a string.
fn is_keyword(text: &str) -> bool {
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", ".inf", ".nan"];
    matches!(text, "~" | "=" | "<<")
        || (text.len() <= 6 && {
            let word = text.strip_prefix(['+', '-']).unwrap_or(text);
            WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
        })
}

/// Numbers of the core schema, and those of YAML 1.1: `1_000`, `0b11` and `1:30:00`.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !text.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
        return false;
    }
    let text = text.replace('_', "");
    let all = |digits: &str, radix: u32| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    let prefixed = |prefix: &str, radix| text.strip_prefix(prefix).is_some_and(|digits| all(digits, radix));
    prefixed("0x", 16) || prefixed("0o", 8) || prefixed("0b", 2) || is_sexagesimal(&text) || is_decimal(&text)
}

fn is_decimal(text: &str) -> bool {
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.map(|exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent))
}

fn is_sexagesimal(text: &str) -> bool {
    let text = text.split_once('.').map_or(text, |(whole, _)| whole);
    text.contains(':')
        && text.split(':').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::limits::META_DEPTH;
    use proptest::prelude::*;
    use saphyr::{Scalar, ScalarStyle, Yaml, YamlLoader};
    use saphyr_parser::Parser;

    fn yaml(json: &str) -> String {
        render(json, Format::Yaml).expect(json)
    }

    /// The JSON value that a YAML library reads from `text`; plain scalars follow its core schema.
    fn read_back(text: &str) -> Json<'static> {
        let mut loader = YamlLoader::<Yaml<'_>>::default();
        loader.early_parse(false);
        Parser::new_from_str(text).load(&mut loader, true).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let documents = loader.into_documents();
        assert_eq!(documents.len(), 1, "{text}");
        to_json(&documents[0])
    }

    fn to_json(node: &Yaml<'_>) -> Json<'static> {
        match node {
            Yaml::Representation(text, ScalarStyle::Plain, _) => match Scalar::parse_from_cow(text.clone()) {
                Scalar::String(text) => Json::Text(Cow::Owned(text.into_owned())),
                _ => Json::Bare(text.to_string().leak()),
            },
            Yaml::Representation(text, ..) => Json::Text(Cow::Owned(text.to_string())),
            Yaml::Sequence(items) => Json::Array(items.iter().map(to_json).collect()),
            Yaml::Mapping(members) => Json::Object(
                members
                    .iter()
                    .map(|(key, value)| match to_json(key) {
                        Json::Text(key) => (key, to_json(value)),
                        other => panic!("key {other:?} is no string"),
                    })
                    .collect(),
            ),
            other => panic!("unexpected node {other:?}"),
        }
    }

    fn json_of(value: &Json<'_>) -> String {
        let mut text = String::new();
        value.write_compact(&mut text);
        text
    }

    /// `text` at every place a string can stand: alone, as a member, last, as an item, as a key.
    fn placed(text: &str) -> Vec<String> {
        let quoted = serde_json::to_string(text).expect("a string");
        [
            "@",
            "[@,@]",
            r#"{"k":@,"l":@}"#,
            r#"[[@],{"k":@,"l":[@]}]"#,
            r#"{@:1}"#,
            r#"[{@:@},{@:[@,{"k":@}]}]"#,
        ]
        .iter()
        .map(|form| form.replace('@', &quoted))
        .collect()
    }

    #[test]
    fn a_format_is_one_of_three_words_and_yaml_when_absent() {
        for (word, format) in [
            (None, Format::Yaml),
            (Some("yaml"), Format::Yaml),
            (Some("json"), Format::Json),
            (Some("compact"), Format::Compact),
        ] {
            assert_eq!(Format::parse("format", word), Ok(format));
        }
        for word in ["", "YAML", "yml", "json\n"] {
            let refusal = Format::parse("format", Some(word)).expect_err(word);
            assert_eq!((refusal.argument.as_str(), refusal.rule), ("format", "FMT-1"));
        }
        assert!(Format::parse("format", Some("compat")).expect_err("typo").hint.contains("mean \"compact\""));
    }

    #[test]
    fn json_and_compact_have_no_white_space_between_tokens() {
        let json = r#"{"id": "a b", "meta": {"n": [1.0, {}, []]}, "tree": "/", "content": "x: \"y\"\n"}"#;
        let expected = r#"{"id":"a b","content":"x: \"y\"\n","meta":{"n":[1.0,{},[]]},"tree":"/"}"#;
        assert_eq!(render(json, Format::Json).expect("valid"), expected);
        assert_eq!(render(json, Format::Compact).expect("valid"), expected);
    }

    #[test]
    fn a_search_result_reads_in_the_reference_style() {
        let json = r#"{"limit": 10, "total": 1, "results": [{"id": "0190", "meta": {"zz": [], "b": {"tree": 1, "id": [2, [3]]}}, "name": null, "tree": "/share", "extra": true, "score": 0.50, "content": "one\n two\n", "temporal": {"end": "2025-03-04T05:06:07.500Z", "start": "2025-03-04T05:06:07.500Z"}}]}"#;
        let expected = "\
results:
  - id: \"0190\"
    content: |
      one
       two
    meta:
      zz: []
      b:
        tree: 1
        id:
          - 2
          - - 3
    tree: /share
    name: null
    temporal:
      start: 2025-03-04T05:06:07.500Z
      end: 2025-03-04T05:06:07.500Z
    score: 0.50
    extra: true
total: 1
limit: 10";
        assert_eq!(yaml(json), expected);
    }

    #[test]
    fn keys_stand_in_the_order_of_the_spec() {
        for (wanted, part) in [
            (RECORD, "@"),
            (EVENT, "@"),
            (RESULTS, "@"),
            (EVENTS, "@"),
            (TEMPORAL, r#"{"temporal":@}"#),
            (ACTOR, r#"{"actor":@}"#),
        ] {
            let object = |keys: Vec<&str>| {
                let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":1")).collect();
                part.replace('@', &format!("{{{}}}", members.join(",")))
            };
            let reversed = object(wanted.iter().rev().copied().chain(["zz", "aa"]).collect());
            let ordered = object(wanted.iter().copied().chain(["zz", "aa"]).collect());
            assert_eq!(render(&reversed, Format::Json).expect("valid"), ordered);
        }
    }

    #[test]
    fn metadata_keeps_its_own_order_in_every_response() {
        let json = r#"{"events":[{"eventId":"e","meta":{"score":1,"id":2,"temporal":{"end":1,"start":2}}}]}"#;
        assert_eq!(render(json, Format::Json).expect("valid"), json);
    }

    #[test]
    fn strings_are_quoted_only_where_a_reader_would_take_them_for_something_else() {
        #[rustfmt::skip]
        let texts = [
            "plain", "two words", "2024-01-01", "2025-02-01T10:00:00.000Z", "a:b", "a#b", "/share/x", "$prev", "é😀",
            "it's", "say \"x\"", "a, b", "1.2.3", "nulls", "x{}", "back\\slash", "0190c0de-0000", "e3", "(x)", "1e",
            "~/notes",
        ];
        for text in texts {
            assert_eq!(yaml(&serde_json::to_string(text).expect("a string")), text);
        }
        #[rustfmt::skip]
        let texts = [
            "", "true", "False", "NULL", "~", "no", "Off", "123", "-1", "+1.5", ".5", "5.", "0x1f", "0o17", "1e3",
            "1E-3", ".inf", "-.INF", ".NaN", "1_000", "0b1", "10:30", "12345678901234567890.50", "@a", "*a", "&a",
            "!a", "%a", "-", "- a", "-a", "#a", "{a}", "[a]", "a: b", "a #b", "a:", " a", "a ", "?", ": a", "|", ">",
            "'a'", "\"a\"", "`a`", ",", "---", "...", "a\tb", "a\rb", "a\u{85}b", "a\u{2028}b", "\u{feff}a",
            "a\u{7}b", "a\u{7f}", "a\r\nb", "<<", "=", "a\u{a0}",
        ];
        for text in texts {
            assert!(yaml(&serde_json::to_string(text).expect("a string")).starts_with('"'), "{text:?}");
        }
    }

    #[test]
    fn every_troublesome_string_reads_back_at_every_place() {
        #[rustfmt::skip]
        let texts = [
            "true", "no", "~", "0x1f", "1e3", "2024-01-01", "a #b", "a: b", "a\r\nb", "a\u{85}b", "a\u{2028}b\n",
            "\u{feff}", "\u{0}\u{1b}", "\n", "\n\n", " \n", "\n ", "a\n", "a\n\n", "a\n\n\n", "\na", "\n\na\n",
            "  a\nb", "\ta\nb", "a\n\tb\n", "a\n  ", "a\n  \n", "a\n\t\nb", "  \n a\nb", "a \nb ", "a  \n\n  b",
            "# a\n# b", "---\na\n---\nb", "...\na", "- a\n- b: c", "|\na", "a:\n", "key: |\n  x\n\n", "%a\nb",
            "\u{fffe}\n",
        ];
        for text in texts {
            for json in placed(text) {
                let read = read_back(&yaml(&json));
                assert_eq!(json_of(&read), json, "{}", yaml(&json));
            }
        }
    }

    #[test]
    fn multi_line_text_is_a_block_literal() {
        assert_eq!(
            yaml(r#"{"content":"a\n\n b","x":"a\nb\n\n","y":"  a\nb\n","z":1}"#),
            "content: |-\n  a\n\n   b\nx: |+\n  a\n  b\n\ny: |2\n    a\n  b\nz: 1"
        );
        assert_eq!(
            yaml(r#"{"content":"a\nb\n"}"#),
            "content: \"a\\nb\\n\"",
            "a last newline cannot be kept without one at the end"
        );
        assert_eq!(
            yaml(r#"[["a\nb\n"],1]"#),
            "- - |\n    a\n    b\n- 1",
            "last of its list, not of the text"
        );
        let long = "word ".repeat(5_000) + "end";
        assert_eq!(yaml(&format!("[\"{long}\"]")), format!("- {long}"), "never folded");
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(
            yaml("[12345678901234567890.50, 1.0, 0, -7]"),
            "- 12345678901234567890.50\n- 1.0\n- 0\n- -7"
        );
    }

    #[test]
    fn a_key_too_long_to_be_implicit_is_announced() {
        for json in [
            format!(r#"{{"{0}":[1,{{"{0}":"a\nb"}}]}}"#, "k".repeat(5_000)),
            format!(r#"[[{{"a":1,"{0}":{{"b":{{"{0}":{{}}}}}},"c":2}}]]"#, "\\n".repeat(501)),
        ] {
            assert!(yaml(&json).contains("? "));
            assert_eq!(json_of(&read_back(&yaml(&json))), json);
        }
    }

    fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
        std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(test)
            .expect("thread")
            .join()
            .expect("no overflow");
    }

    #[test]
    fn the_deepest_metadata_is_rendered_in_a_small_stack_without_swelling() {
        on_a_small_stack(|| {
            for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[{"a\nb":"#, "}]")] {
                let levels = META_DEPTH / open.matches(['[', '{']).count();
                let meta = format!("{}\"x\\ny\"{}", open.repeat(levels), close.repeat(levels));
                let json = format!(r#"{{"results":[{{"id":"a","meta":{meta}}}]}}"#);
                assert_eq!(render(&json, Format::Json).expect("within the limit"), json);
                assert!(yaml(&json).len() < 3 * json.len() + 2_000);
            }
            assert!(render(&format!("{}{}", "[".repeat(50_000), "]".repeat(50_000)), Format::Yaml).is_err());
        });
    }

    #[test]
    fn depth_beyond_the_block_style_reads_back() {
        for levels in [BLOCK_DEPTH - 1, BLOCK_DEPTH, BLOCK_DEPTH + 1, 60] {
            for (open, close) in [("[1,", ",2]"), (r#"{"a":"#, r#","true":"1"}"#), (r#"[{"a":"#, "}]")] {
                let json = format!("{}\"x\\ny\u{85}\"{}", open.repeat(levels), close.repeat(levels));
                assert_eq!(json_of(&read_back(&yaml(&json))), json);
            }
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ab\n\t :#-]{0,8}",
            "[-+0-9.eExob_:nulTfasiy~]{1,6}",
            "\\PC{0,4}",
            proptest::collection::vec(any::<char>(), 0..5).prop_map(String::from_iter),
            Just("id".to_owned()),
            Just("meta".to_owned()),
        ]
    }

    fn value() -> impl Strategy<Value = Json<'static>> {
        let leaf = prop_oneof![
            proptest::sample::select(vec![
                "null",
                "true",
                "false",
                "0",
                "-1.50",
                "12345678901234567890.5",
                "1e5"
            ])
            .prop_map(Json::Bare),
            text().prop_map(|text| Json::Text(text.into())),
        ];
        leaf.prop_recursive(5, 30, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
                proptest::collection::btree_map(text(), inner, 0..4).prop_map(|members| {
                    Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn any_value_reads_back_from_yaml(value in value()) {
            let json = json_of(&value);
            let text = yaml(&json);
            prop_assert!(!text.ends_with('\n'));
            // Only the order of keys may differ, and that is the one compact JSON has.
            prop_assert_eq!(json_of(&read_back(&text)), render(&json, Format::Json).expect("valid"), "{}", text);
        }

        #[test]
        fn compact_json_has_the_same_value(value in value()) {
            let json = json_of(&value);
            let compact = render(&json, Format::Compact).expect("valid");
            let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("valid");
            prop_assert_eq!(parse(&compact), parse(&json));
        }

        #[test]
        fn no_text_panics(text in ".*", almost in "[\\[\\]{},:\"\\\\0-9a ue.-]{0,20}") {
            let _ = (render(&text, Format::Yaml), render(&almost, Format::Yaml));
        }
    }
}
