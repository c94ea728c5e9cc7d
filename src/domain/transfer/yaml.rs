//! YAML imports: one mapping or a sequence of mappings, by the core schema of YAML 1.2 (IMP-9).
//!
//! The parser library delivers events; this module writes them down as JSON text. So numbers keep their digits, a
//! repeated key is seen, and neither depth nor aliases can exhaust the server: nothing recurses, depth is bounded, and
//! what aliases repeat is counted. `<<` is a key like any other, and an unquoted date is a string.

use super::core_schema::resolve;
use super::record::{ImportRecord, Place};
use super::{ARGUMENT, json, nothing};
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::limits::META_DEPTH;
use crate::domain::version::write_json_string;
use granit_parser::{Event, Options, Parser, ScalarStyle, StrInput, Tag};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Deepest nesting that is read; deeper metadata is refused anyway, other fields may be a little deeper.
const DEPTH: usize = META_DEPTH + 100;
/// Longest key written without `?`, in characters. YAML says 1024; metadata may have longer keys.
const KEY_CHARS: usize = 65_536;
/// What anchors and aliases may repeat, in bytes of JSON: this much, and ten times the text on top of it.
const REPEATED_BYTES: usize = 1 << 20;

/// Reads the records of a YAML text.
///
/// # Errors
/// Text that is no YAML or no single document, an empty document or sequence, and records that break a rule.
pub(super) fn parse(text: &str) -> Result<Vec<ImportRecord>, Invalid> {
    let mut reader = Reader::new(text, 0);
    let mut records = Vec::new();
    let Some((root, line)) = reader.root()? else {
        return Err(nothing("is an empty document"));
    };
    if let Event::SequenceStart(..) = root {
        loop {
            reader.record = records.len() + 1;
            let (event, line) = reader.next()?;
            if matches!(event, Event::SequenceEnd) {
                break;
            }
            let item = reader.value(event)?;
            let place = Place { record: reader.record, line: Some(line) };
            records.push(json::record(&item, place)?);
        }
        reader.record = 0;
        if records.is_empty() {
            return Err(nothing("is an empty sequence"));
        }
    } else {
        let item = reader.value(root)?;
        records.push(json::record(&item, Place { record: 1, line: Some(line) })?);
    }
    reader.end()?;
    Ok(records)
}

/// Reads front matter as the JSON text of one mapping, or `None` if it holds no value; `above` lines precede it.
///
/// # Errors
/// Text that is no YAML, no single document, or another value than a mapping.
pub(super) fn mapping(text: &str, above: usize) -> Result<Option<String>, Invalid> {
    let mut reader = Reader::new(text, above);
    let Some((root, line)) = reader.root()? else {
        return Ok(None);
    };
    if !matches!(root, Event::MappingStart(..)) {
        return Err(reader.refuse(line, "the front matter is no mapping"));
    }
    let value = reader.value(root)?;
    reader.end()?;
    Ok(Some(value))
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// The JSON of every anchored node that is complete.
    anchors: HashMap<usize, String>,
    /// Bytes that anchors and aliases may still copy.
    repeatable: usize,
    /// Lines before the text.
    above: usize,
    /// The record being read, or 0.
    record: usize,
    line: usize,
}

/// A collection that is open.
struct Frame {
    kind: Kind,
    anchor: usize,
    /// Where its JSON starts.
    start: usize,
    empty: bool,
}

enum Kind {
    Sequence,
    Mapping {
        keys: HashSet<String>,
        /// A key is written and its value is due.
        value_due: bool,
    },
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, above: usize) -> Self {
        let mut options = Options::default();
        options.set_emit_comments(false);
        options.flow_nesting_limit = DEPTH;
        options.block_nesting_limit = DEPTH;
        options.simple_key_max_lookahead = KEY_CHARS;
        Self {
            parser: Parser::new_from_str_with_options(text, options),
            anchors: HashMap::new(),
            repeatable: text.len().saturating_mul(10).saturating_add(REPEATED_BYTES),
            above,
            record: 0,
            line: above + 1,
        }
    }

    /// The next event and the line where it begins.
    fn next(&mut self) -> Result<(Event<'a>, usize), Invalid> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.line = self.above + span.start.line();
                // The library shows an absent value as `~`; as a key the two differ.
                let event = match event {
                    Event::Scalar(text, style, anchor, tag) if text == "~" && span.is_empty() => {
                        Event::Scalar(Cow::Borrowed(""), style, anchor, tag)
                    }
                    event => event,
                };
                Ok((event, self.line))
            }
            Some(Err(fault)) => {
                let marker = fault.marker();
                let place = format!("column {}: {}", marker.col() + 1, fault.info());
                Err(self.refuse(self.above + marker.line(), &place))
            }
            None => Ok((Event::StreamEnd, self.line)),
        }
    }

    /// The first event of the document's value, or `None` where there is none.
    fn root(&mut self) -> Result<Option<(Event<'a>, usize)>, Invalid> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(..), _) => {}
                (Event::StreamEnd, _) => return Ok(None),
                (Event::Scalar(text, ScalarStyle::Plain, 0, None), _) if text.is_empty() => {
                    self.end()?;
                    return Ok(None);
                }
                found => return Ok(Some(found)),
            }
        }
    }

    /// Refuses anything behind the one document.
    fn end(&mut self) -> Result<(), Invalid> {
        loop {
            match self.next()? {
                (Event::DocumentEnd, _) => {}
                (Event::StreamEnd, _) => return Ok(()),
                (_, line) => return Err(self.refuse(line, "a second document begins here; only one is read")),
            }
        }
    }

    /// The JSON text of the value that begins with `event`.
    fn value(&mut self, event: Event<'a>) -> Result<String, Invalid> {
        let mut out = String::new();
        let mut open: Vec<Frame> = Vec::new();
        let mut event = event;
        loop {
            if open.len() > DEPTH {
                return Err(self.refuse(self.line, &format!("nested deeper than the limit of {DEPTH}")));
            }
            let closes = matches!(event, Event::SequenceEnd | Event::MappingEnd);
            let mut complete = true;
            match open.last_mut() {
                Some(Frame { kind: Kind::Mapping { keys, value_due }, empty, .. })
                    if !*value_due && !closes =>
                {
                    let key = self.key(event)?;
                    separate(&mut out, empty);
                    push_string(&mut out, &key);
                    out.push(':');
                    *value_due = true;
                    if keys.contains(&key) {
                        return Err(
                            self.refuse(self.line, &format!("the key {} stands twice", excerpt(&key)))
                        );
                    }
                    keys.insert(key);
                    event = self.next()?.0;
                    continue;
                }
                Some(Frame { kind: Kind::Sequence, empty, .. }) if !closes => separate(&mut out, empty),
                _ => {}
            }
            match event {
                Event::Scalar(text, style, anchor, tag) => {
                    let start = out.len();
                    self.scalar(&mut out, &text, style, tag.as_deref())?;
                    self.keep(anchor, out.get(start..).unwrap_or_default())?;
                }
                Event::Alias(anchor) => {
                    let copied = self.alias(anchor)?;
                    out.push_str(copied);
                }
                Event::SequenceStart(_, anchor, tag) => {
                    self.check_collection_tag(tag.as_deref(), "seq")?;
                    open.push(Frame { kind: Kind::Sequence, anchor, start: out.len(), empty: true });
                    out.push('[');
                    complete = false;
                }
                Event::MappingStart(_, anchor, tag) => {
                    self.check_collection_tag(tag.as_deref(), "map")?;
                    let kind = Kind::Mapping { keys: HashSet::new(), value_due: false };
                    open.push(Frame { kind, anchor, start: out.len(), empty: true });
                    out.push('{');
                    complete = false;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    out.push(if matches!(event, Event::SequenceEnd) { ']' } else { '}' });
                    if let Some(frame) = open.pop() {
                        self.keep(frame.anchor, out.get(frame.start..).unwrap_or_default())?;
                    }
                }
                _ => return Err(self.refuse(self.line, "a value is missing")),
            }
            if complete {
                match open.last_mut() {
                    None => return Ok(out),
                    Some(Frame { kind: Kind::Mapping { value_due, .. }, .. }) => *value_due = false,
                    Some(_) => {}
                }
            }
            event = self.next()?.0;
        }
    }

    /// The text of a key: that of a string, or a number, word or empty key as it is written.
    fn key(&mut self, event: Event<'a>) -> Result<String, Invalid> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let mut value = String::new();
                self.scalar(&mut value, &text, style, tag.as_deref())?;
                self.keep(anchor, &value)?;
                Ok(text.into_owned())
            }
            Event::Alias(anchor) => {
                let copied = self.alias(anchor)?.to_owned();
                match serde_json::from_str::<String>(&copied) {
                    Ok(key) => Ok(key),
                    Err(_) if !copied.starts_with(['[', '{']) => Ok(copied),
                    Err(_) => Err(self.refuse(self.line, "a key is no scalar")),
                }
            }
            _ => Err(self.refuse(self.line, "a key is no scalar")),
        }
    }

    fn alias(&mut self, anchor: usize) -> Result<&str, Invalid> {
        let length = self.anchors.get(&anchor).map(String::len);
        let Some(length) = length else {
            return Err(self.refuse(self.line, "an alias stands inside the value it repeats"));
        };
        self.spend(length)?;
        Ok(self.anchors.get(&anchor).map_or("", String::as_str))
    }

    fn keep(&mut self, anchor: usize, json: &str) -> Result<(), Invalid> {
        // 0 is no anchor.
        if anchor != 0 {
            self.spend(json.len())?;
            self.anchors.insert(anchor, json.to_owned());
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Invalid> {
        match self.repeatable.checked_sub(bytes) {
            Some(left) => {
                self.repeatable = left;
                Ok(())
            }
            None => Err(self.refuse(self.line, "anchors and aliases repeat too much")),
        }
    }

    fn check_collection_tag(&self, tag: Option<&Tag>, wanted: &str) -> Result<(), Invalid> {
        match tag {
            Some(tag) if !is_unspecific(tag) && tag.core_suffix() != Some(wanted) => {
                Err(self.foreign_tag(tag))
            }
            _ => Ok(()),
        }
    }

    /// Appends the JSON of a scalar.
    fn scalar(
        &self,
        out: &mut String,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
    ) -> Result<(), Invalid> {
        let wanted = match tag {
            None if style == ScalarStyle::Plain => None,
            None => Some("str"),
            Some(tag) if is_unspecific(tag) => Some("str"),
            Some(tag) => match tag.core_suffix() {
                Some(kind @ ("str" | "int" | "float" | "bool" | "null")) => Some(kind),
                _ => return Err(self.foreign_tag(tag)),
            },
        };
        if wanted == Some("str") {
            push_string(out, text);
            return Ok(());
        }
        let (kind, value) = match resolve(text) {
            Ok(resolved) => resolved,
            Err(fault) => return Err(self.refuse(self.line, &format!("{fault}: {}", excerpt(text)))),
        };
        match wanted {
            Some(wanted) if wanted != kind && (wanted, kind) != ("float", "int") => {
                Err(self.refuse(self.line, &format!("{} is no {wanted}", excerpt(text))))
            }
            _ if kind == "str" => {
                push_string(out, &value);
                Ok(())
            }
            _ => {
                out.push_str(&value);
                Ok(())
            }
        }
    }

    fn foreign_tag(&self, tag: &Tag) -> Invalid {
        self.refuse(self.line, &format!("the tag {} has no meaning here", excerpt(&tag.original())))
    }

    fn refuse(&self, line: usize, fault: &str) -> Invalid {
        let record = match self.record {
            0 => String::new(),
            record => format!(", record {record}"),
        };
        Invalid::new(
            ARGUMENT,
            "IMP-9",
            format!(
                "argument \"{ARGUMENT}\"{record} is no YAML that can be imported, at line {line}: {fault}"
            ),
            "Give one document of YAML 1.2 that holds a mapping or a sequence of mappings.",
        )
    }
}

/// The tag `!`, which makes a string of any scalar.
fn is_unspecific(tag: &Tag) -> bool {
    tag.original() == "!"
}

/// Appends the comma before every item of a collection but its first.
fn separate(out: &mut String, empty: &mut bool) {
    if !std::mem::replace(empty, false) {
        out.push(',');
    }
}

/// Appends a JSON string. The pieces end between characters, so each is UTF-8.
fn push_string(out: &mut String, text: &str) {
    write_json_string(&mut |piece| out.push_str(std::str::from_utf8(piece).unwrap_or_default()), text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn meta(yaml: &str) -> Result<String, Invalid> {
        let text = format!("content: x\nmeta:\n  k: {yaml}\n");
        let meta = parse(&text)?.remove(0).meta.unwrap().into_string();
        Ok(meta.strip_prefix("{\"k\":").unwrap().strip_suffix('}').unwrap().to_owned())
    }

    fn refusal(text: &str) -> Invalid {
        let refusal = parse(text).unwrap_err();
        assert_eq!(refusal.argument, "content");
        refusal
    }

    #[test]
    fn a_sequence_and_one_mapping_are_read() {
        let records =
            parse("- content: y1\n  tree: share/i\n- content: y2\n  temporal: 2025-01-01T00:00:00Z\n")
                .unwrap();
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].tree.as_deref(), Some("share/i"));
        assert!(records[1].temporal.is_some());
        assert_eq!(parse("content: |\n  a\n  b\nname: n").unwrap()[0].content, "a\nb\n");
        assert_eq!(parse("---\n[{content: a}, {\"content\": 'b'}]\n...\n").unwrap().len(), 2);
        assert_eq!(parse("{\"content\": \"json is yaml\"}").unwrap().len(), 1);
    }

    #[test]
    fn tags_of_the_core_schema_decide_and_others_are_refused() {
        for (yaml, json) in [
            ("7", "7"),
            ("", "null"),
            ("no", "\"no\""),
            ("2025-01-01", "\"2025-01-01\""),
            ("'7'", "\"7\""),
            ("\"true\"", "\"true\""),
            ("!!str 7", "\"7\""),
            ("! 7", "\"7\""),
            ("!!int 7", "7"),
            ("!!float 7", "7"),
            ("!!null ''", "null"),
            ("!!seq []", "[]"),
            ("!!map {}", "{}"),
        ] {
            assert_eq!(meta(yaml).unwrap(), json, "{yaml}");
        }
        for yaml in [
            ".inf",
            "!!int x",
            "!!bool 1",
            "!!binary aGk=",
            "!custom x",
            "!!timestamp 2025-01-01",
            "!!set {}",
            "!!map []",
        ] {
            assert_eq!(meta(yaml).unwrap_err().rule, "IMP-9", "{yaml}");
        }
    }

    #[test]
    fn only_strings_are_content_and_names() {
        assert_eq!(refusal("content: 7").rule, "IMP-7");
        assert_eq!(parse("content: no").unwrap()[0].content, "no");
        assert_eq!(refusal("content: x\nname: 7").rule, "IMP-7");
        assert_eq!(
            parse("content: x\nname: 2025-01-01").unwrap()[0].name.as_ref().unwrap().as_str(),
            "2025-01-01"
        );
        assert_eq!(refusal("content: x\nmeta:\n").rule, "META-1");
    }

    #[test]
    fn nothing_is_refused() {
        for text in ["", " \n", "# comment\n", "---\n", "---\n...\n", "[]", "--- []"] {
            assert_eq!(refusal(text).rule, "IMP-9", "{text:?}");
        }
        for text in ["x", "7", "- 7", "- []", "null", "- content: a\n- null"] {
            assert!(refusal(text).message.contains("record"), "{text:?}");
        }
    }

    #[test]
    fn a_second_document_is_refused() {
        for text in ["content: a\n---\ncontent: b\n", "content: a\n...\n---\nx\n", "- content: a\n--- \n"] {
            assert!(refusal(text).message.contains("second document"), "{text:?}");
        }
    }

    #[test]
    fn a_repeated_key_is_refused_and_a_merge_key_is_a_key() {
        assert!(refusal("content: a\ncontent: b\n").message.contains("twice"));
        assert!(meta("{a: 1, \"a\": 2}").unwrap_err().message.contains("twice"));
        assert_eq!(meta("{<<: {a: 1}, b: 2}").unwrap(), r#"{"<<":{"a":1},"b":2}"#);
    }

    #[test]
    fn keys_are_scalars_as_they_are_written() {
        assert_eq!(
            meta("{1: a, true: b, ~: c, 0x1f: d, ? e : f, : g}").unwrap(),
            r#"{"1":"a","true":"b","~":"c","0x1f":"d","e":"f","":"g"}"#
        );
        for yaml in ["{[a]: 1}", "{{a: 1}: 1}", "{? [a] : 1}"] {
            assert!(meta(yaml).unwrap_err().message.contains("key"), "{yaml}");
        }
        let long = "k".repeat(5000);
        assert_eq!(meta(&format!("{{{long}: 1}}")).unwrap(), format!("{{\"{long}\":1}}"));
    }

    #[test]
    fn aliases_repeat_values_and_whole_records() {
        assert_eq!(
            meta("[&a {x: [1, 2]}, *a, &b s, *b, {*b : 1}]").unwrap(),
            r#"[{"x":[1,2]},{"x":[1,2]},"s","s",{"s":1}]"#
        );
        let records = parse("- &r\n  content: a\n- *r\n").unwrap();
        assert_eq!(records[0], records[1]);
        let shared = format!(
            "- content: x\n  meta: &m {{k: {}}}\n{}",
            "v".repeat(100),
            "- content: y\n  meta: *m\n".repeat(10_000)
        );
        assert_eq!(parse(&shared).unwrap().len(), 10_001);
    }

    #[test]
    fn aliases_that_grow_without_bound_or_lead_nowhere_are_refused() {
        let mut bomb =
            "content: x\nmeta:\n  a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..30 {
            let line = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("  a{level}: &a{level} [{line}]\n"));
        }
        assert!(refusal(&bomb).message.contains("repeat too much"));
        assert!(meta("&a [*a]").unwrap_err().message.contains("inside the value"));
        assert!(meta("*nowhere").is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let flow = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(meta(&flow(499)).is_ok());
        assert!(meta(&flow(500)).is_err());
        assert!(meta(&flow(100_000)).is_err());
        let block: String = (0..400).map(|at| format!("{}- \n", " ".repeat(at + 2))).collect();
        assert!(parse(&format!("content: x\nmeta:\n a:\n{block}")).is_ok());
        let block = "- ".repeat(100_000);
        assert!(parse(&block).is_err());
    }

    #[test]
    fn the_character_zero_and_half_surrogates_are_refused() {
        assert_eq!(refusal("- content: a\n- content: \"b\\0\"").rule, "CONT-4");
        assert_eq!(refusal("content: x\nmeta: {a: \"\\x00\"}").rule, "CONT-4");
        for text in ["content: \"\\ud800\"", "content: a\0b"] {
            parse(text).unwrap_err();
        }
        assert_eq!(parse("content: \"\\U0001F600\"").unwrap()[0].content, "😀");
    }

    #[test]
    fn a_fault_is_told_with_its_record_and_line() {
        let found = refusal("- content: a\n- content: b\n  name: .x\n");
        assert!(found.message.contains("record 2 (line 2)"), "{found}");
        let found = refusal("- content: a\n- content: [b\n");
        assert!(found.message.contains("record 2") && found.message.contains("line 2"), "{found}");
        let found = refusal("- content: a\n- content: b\n  content: c\n");
        assert!(found.message.contains("record 2") && found.message.contains("line 3"), "{found}");
    }

    proptest! {
        #[test]
        fn json_read_as_yaml_is_the_same(text in r#"[^\x00-\x1f"\\\x7f-\x9f\u{feff}\u{fffe}\u{ffff}\u{2028}\u{2029}]{0,12}"#, number in -1_000_000_i64..1_000_000) {
            let json = format!(r#"[{{"{text}":[{number},null,true,"{text}"]}}]"#);
            prop_assert_eq!(meta(&json).unwrap(), json);
        }
    }
}
