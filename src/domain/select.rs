//! Which parts of a record an answer carries: the grammar of `select` and its projection (SEL-1 to SEL-16).
//!
//! Projection works on JSON text. What is selected as a whole is copied byte for byte, so numbers keep their digits;
//! only a content slice and the object around `meta.KEY` selectors are written anew.

use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::limits::SAFE_INTEGER;
use crate::domain::utf16;
use serde_json::Error;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The members of a JSON object, values unparsed.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// The names that select a whole value (SEL-2), in the key order of a projection (SEL-15).
const NAMES: [&str; 13] = [
    "id",
    "content",
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
/// The keys every event shows, in their order (SEL-13).
const ENVELOPE: [&str; 7] = ["eventId", "at", "operation", "operationId", "cause", "actor", "memoryId"];
/// The keys of an event that `select` governs (SEL-13), in the key order of a projection.
const SNAPSHOT: [&str; 7] = ["content", "meta", "tree", "name", "temporal", "version", "versionHash"];

/// A checked selection (SEL-1); its absence means the full record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Select {
    names: BTreeSet<&'static str>,
    meta_keys: BTreeSet<String>,
    slice: Option<Slice>,
}

/// Code units `[start, end)` of the content, or up to its end (SEL-4, SEL-6).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slice {
    /// As the caller wrote it: two spellings of one range are two slices (SEL-9).
    spelled: String,
    start: usize,
    end: Option<usize>,
}

impl Select {
    /// Checks a list of selectors; `None` in, `None` out.
    ///
    /// # Errors
    /// An empty list or a null element is refused under `SEL-1`, a malformed slice under `SEL-4`, a second slice under
    /// `SEL-9`, `meta.` under `SEL-3`, and any other word under `SEL-5`. Elements are placed from 0: `select[1]` is the second.
    pub fn parse(argument: &str, items: Option<Vec<Option<String>>>) -> Result<Option<Self>, Invalid> {
        let Some(items) = items else { return Ok(None) };
        if items.is_empty() {
            return Err(Invalid::new(
                argument,
                "SEL-1",
                format!("argument \"{argument}\" is an empty list: []"),
                format!("Name at least one part, or leave \"{argument}\" out for the full record."),
            ));
        }
        let mut select = Self::default();
        for (at, item) in items.into_iter().enumerate() {
            let place = format!("{argument}[{at}]");
            match item {
                Some(item) => select.add(&place, item)?,
                None => {
                    return Err(Invalid::new(
                        place.as_str(),
                        "SEL-1",
                        format!("argument \"{place}\" is null"),
                        "Remove the null element from the list, or name a part in its place.",
                    ));
                }
            }
        }
        Ok(Some(select))
    }

    /// Whether the answer needs the record's value of `key`, for instance `content`.
    pub fn needs(&self, key: &str) -> bool {
        self.names.contains(key)
            || key == "content" && self.slice.is_some()
            || key == "meta" && !self.meta_keys.is_empty()
    }

    /// Projects the JSON text of a full record; exactly the selected keys appear, in the order of SEL-15 (SEL-11).
    ///
    /// # Errors
    /// Only text that is no record: no JSON object, content that is neither string nor null, or meta that is neither
    /// object nor null.
    pub fn project(&self, record_json: &str) -> Result<String, Error> {
        let record: Members = serde_json::from_str(record_json)?;
        let mut out = Writer::new();
        self.write(&mut out, &record, &NAMES)?;
        Ok(out.finish())
    }

    /// Projects the JSON text of an event: the envelope whole, then what is selected of the snapshot (SEL-13).
    ///
    /// # Errors
    /// As for [`Select::project`].
    pub fn project_event(&self, event_json: &str) -> Result<String, Error> {
        let event: Members = serde_json::from_str(event_json)?;
        let mut out = Writer::new();
        for key in ENVELOPE {
            if let Some(value) = event.get(key) {
                out.member(key, value.get())?;
            }
        }
        self.write(&mut out, &event, &SNAPSHOT)?;
        Ok(out.finish())
    }

    fn write(&self, out: &mut Writer, record: &Members, keys: &[&str]) -> Result<(), Error> {
        for &key in keys {
            let Some(value) = record.get(key) else {
                continue;
            };
            match &self.slice {
                Some(slice) if key == "content" => slice.write(out, value)?,
                _ if self.names.contains(key) => out.member(key, value.get())?,
                _ if key == "meta" && !self.meta_keys.is_empty() => {
                    out.member(key, &self.pick(value)?)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The selected top-level keys of `meta`, as an object (SEL-3, SEL-11).
    fn pick(&self, meta: &RawValue) -> Result<String, Error> {
        let members: Option<Members> = serde_json::from_str(meta.get())?;
        let mut out = Writer::new();
        for (key, value) in members.unwrap_or_default() {
            if self.meta_keys.contains(&key) {
                out.member(&key, value.get())?;
            }
        }
        Ok(out.finish())
    }

    fn add(&mut self, place: &str, item: String) -> Result<(), Invalid> {
        if let Some(name) = NAMES.iter().find(|&&name| name == item) {
            self.names.insert(name);
            return Ok(());
        }
        if let Some(key) = item.strip_prefix("meta.") {
            if key.is_empty() {
                return Err(Invalid::new(
                    place,
                    "SEL-3",
                    format!("argument \"{place}\" names no key of meta: {}", excerpt(&item)),
                    "Put a top-level key behind the dot, as in \"meta.type\", or select \"meta\" as a whole.",
                ));
            }
            self.meta_keys.insert(key.to_owned());
            return Ok(());
        }
        if let Some(range) = item.strip_prefix("content:") {
            let Some((start, end)) = bounds(range) else {
                return Err(Invalid::new(
                    place,
                    "SEL-4",
                    format!("argument \"{place}\" is no slice of content: {}", excerpt(&item)),
                    format!(
                        "Write \"content:N\", \"content:M:N\" or \"content:M:\" with whole numbers from 0 to \
                         {SAFE_INTEGER}."
                    ),
                ));
            };
            return match &self.slice {
                Some(first) if first.spelled != item => Err(Invalid::new(
                    place,
                    "SEL-9",
                    format!(
                        "argument \"{place}\" is a second slice of content: {} after {}",
                        excerpt(&item),
                        excerpt(&first.spelled)
                    ),
                    "Select one slice per call.",
                )),
                _ => {
                    self.slice = Some(Slice { spelled: item, start, end });
                    Ok(())
                }
            };
        }
        Err(unknown(place, &item))
    }
}

impl Slice {
    /// Writes the slice and the length of the whole content (SEL-8); both are null where the content is gone.
    fn write(&self, out: &mut Writer, content: &RawValue) -> Result<(), Error> {
        let content: Option<Cow<str>> = serde_json::from_str(content.get())?;
        let Some(content) = content else {
            out.member("content", "null")?;
            return out.member("contentLength", "null");
        };
        let part = utf16::slice(&content, self.start, self.end);
        out.member("content", &serde_json::to_string(&part)?)?;
        out.member("contentLength", &utf16::len(&content).to_string())
    }
}

/// Reads `N`, `M:N` or `M:` (SEL-4).
fn bounds(range: &str) -> Option<(usize, Option<usize>)> {
    match range.split_once(':') {
        None => Some((0, Some(position(range)?))),
        Some((start, "")) => Some((position(start)?, None)),
        Some((start, end)) => Some((position(start)?, Some(position(end)?))),
    }
}

/// A non-negative decimal integer up to 2^53 - 1, leading zeros allowed, no sign and no blanks (SEL-4).
fn position(digits: &str) -> Option<usize> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: i64 = digits.parse().ok()?;
    if value > SAFE_INTEGER {
        return None;
    }
    // On a small machine no text is that long, so the end of the text is meant all the same.
    Some(usize::try_from(value).unwrap_or(usize::MAX))
}

fn unknown(place: &str, item: &str) -> Invalid {
    let plain = |name: &str| name.replace(['_', '-', ' '], "").to_ascii_lowercase();
    // An over-long word is near no name, and is not worth a copy.
    let near = (item.len() <= 40).then(|| NAMES.iter().find(|name| plain(name) == plain(item))).flatten();
    let hint = match near {
        Some(name) => format!("Write \"{name}\"."),
        None => format!(
            "Use one of {}, a key such as \"meta.type\", or a slice such as \"content:200\".",
            NAMES.join(", ")
        ),
    };
    Invalid::new(
        place,
        "SEL-5",
        format!("argument \"{place}\" names no part of a record: {}", excerpt(item)),
        hint,
    )
}

/// Writes a JSON object member by member; the values are JSON text already.
struct Writer(String);

impl Writer {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn member(&mut self, key: &str, json: &str) -> Result<(), Error> {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&serde_json::to_string(key)?);
        self.0.push(':');
        self.0.push_str(json);
        Ok(())
    }

    fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    const RECORD: &str = concat!(
        r#"{"id": "0190a1b2-0000-7000-8000-000000000001", "content": "ab😀cdefghij", "#,
        r#""meta": {"src": "x", "$thread": "t1", "build-id": 42, "a.b": true, "nil": null, "a": {"b": 1}}, "#,
        r#""tree": "/share/s", "name": "proj", "temporal": null, "version": 1, "#,
        r#""versionHash": "00112233445566778899aabbccddeeff", "hasEmbedding": false, "#,
        r#""createdAt": "2025-01-01T00:00:00.000Z", "createdBy": "ada", "updatedAt": null}"#
    );
    const EVENT: &str = concat!(
        r#"{"eventId": "e1", "at": "2025-01-01T00:00:00.000Z", "operation": "insert", "operationId": "o1", "#,
        r#""cause": null, "actor": {"principalId": null}, "memoryId": "m1", "tree": "/s", "name": null, "#,
        r#""meta": {"k": 1.0}, "temporal": null, "content": "a😀c", "version": 3, "versionHash": "h"}"#
    );

    fn parse(items: &[&str]) -> Result<Option<Select>, Invalid> {
        Select::parse("select", Some(items.iter().map(|item| Some((*item).to_owned())).collect()))
    }

    fn project(items: &[&str]) -> String {
        parse(items).unwrap().unwrap().project(RECORD).unwrap()
    }

    fn event(items: &[&str]) -> String {
        parse(items).unwrap().unwrap().project_event(EVENT).unwrap()
    }

    fn refused(item: &str) -> &'static str {
        parse(&[item]).unwrap_err().rule
    }

    #[test]
    fn no_list_is_the_full_record_and_an_empty_list_is_refused() {
        assert_eq!(Select::parse("select", None).unwrap(), None);
        let refusal = parse(&[]).unwrap_err();
        assert_eq!((refusal.argument.as_str(), refusal.rule), ("select", "SEL-1"));
    }

    #[test]
    fn a_null_element_is_refused_with_its_place() {
        let items = vec![Some("id".to_owned()), None];
        let refusal = Select::parse("select", Some(items)).unwrap_err();
        assert_eq!((refusal.argument.as_str(), refusal.rule), ("select[1]", "SEL-1"));
        assert!(refusal.message.contains("select[1]"), "{refusal}");
    }

    #[test]
    fn every_plain_name_is_accepted_and_only_as_it_is_spelled() {
        for name in NAMES {
            assert!(parse(&[name]).is_ok(), "{name}");
            let upper = name.to_uppercase();
            assert_eq!(refused(&upper), "SEL-5", "{upper}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for item in [
            "",
            "created_at",
            "foo",
            "Meta",
            "ID",
            "content ",
            " content",
            "contentLength",
            "eventId",
            "actor",
            "meta/",
            "Content:5",
            "metaa",
            "id\n",
            "*",
            "name.x",
        ] {
            assert_eq!(refused(item), "SEL-5", "{item:?}");
        }
        for item in [
            "content:",
            "content::",
            "content::5",
            "content:-1",
            "content:1:x",
            "content:x",
            "content:1:2:3",
            "content:+1",
            "content: 1",
            "content:1 ",
            "content:1.0",
            "content:1:-2",
            "content:\u{661}",
            "content:0x1",
            "content:9007199254740992",
            "content:0:9007199254740992",
            "content:99999999999999999999999",
        ] {
            assert_eq!(refused(item), "SEL-4", "{item:?}");
        }
        assert_eq!(refused("meta."), "SEL-3");
    }

    #[test]
    fn a_refusal_names_the_place_the_word_and_the_nearest_name() {
        let refusal = parse(&["id", "created_at"]).unwrap_err();
        assert_eq!(refusal.argument, "select[1]");
        assert!(refusal.message.contains("\"created_at\""), "{refusal}");
        assert_eq!(refusal.hint, "Write \"createdAt\".");
        assert!(parse(&["bogus"]).unwrap_err().hint.contains("versionHash"));
        assert!(parse(&[&"x".repeat(10_000)]).unwrap_err().message.len() < 200);
    }

    #[test]
    fn exactly_the_selected_keys_appear() {
        assert_eq!(project(&["tree", "version"]), r#"{"tree":"/share/s","version":1}"#);
        assert_eq!(project(&["id"]), r#"{"id":"0190a1b2-0000-7000-8000-000000000001"}"#);
        assert_eq!(project(&["content"]), r#"{"content":"ab😀cdefghij"}"#, "no contentLength");
    }

    #[test]
    fn selected_nullable_fields_appear_with_null() {
        assert_eq!(project(&["updatedAt", "temporal"]), r#"{"temporal":null,"updatedAt":null}"#);
    }

    #[test]
    fn slices_count_code_units_and_add_the_whole_length() {
        for (item, part) in [
            ("content:4", "ab😀"),
            ("content:0:2", "ab"),
            ("content:2:5", "😀c"),
            ("content:10:", "ij"),
            ("content:0:", "ab😀cdefghij"),
            ("content:500", "ab😀cdefghij"),
            ("content:9007199254740991", "ab😀cdefghij"),
            ("content:99:", ""),
            ("content:12:13", ""),
            ("content:0", ""),
            ("content:5:5", ""),
            ("content:5:2", ""),
            ("content:0000000000000000000000002", "ab"),
            ("content:3", "ab\u{fffd}"),
            ("content:3:5", "\u{fffd}c"),
        ] {
            let expected = format!("{{\"content\":\"{part}\",\"contentLength\":12}}");
            assert_eq!(project(&[item]), expected, "{item}");
        }
    }

    #[test]
    fn a_slice_is_cut_from_the_text_not_from_its_json_escapes() {
        let select = parse(&["content:1:4"]).unwrap().unwrap();
        let projected = select.project(r#"{"content": "a\"\n\u00e9\ud83d\ude00z"}"#).unwrap();
        assert_eq!(projected, "{\"content\":\"\\\"\\n\u{e9}\",\"contentLength\":7}");
    }

    #[test]
    fn one_slice_string_may_repeat_and_two_are_refused_even_for_one_range() {
        assert_eq!(
            project(&["content:2:5", "content:2:5", "name", "name"]),
            r#"{"content":"😀c","contentLength":12,"name":"proj"}"#
        );
        for second in ["content:0:5", "content:05", "content:6"] {
            let refusal = parse(&["content:5", second]).unwrap_err();
            assert_eq!((refusal.argument.as_str(), refusal.rule), ("select[1]", "SEL-9"), "{second}");
        }
    }

    #[test]
    fn a_slice_beats_plain_content_in_any_order() {
        for items in [["content", "content:2"], ["content:2", "content"]] {
            assert_eq!(project(&items), r#"{"content":"ab","contentLength":12}"#);
        }
    }

    #[test]
    fn a_meta_key_is_the_whole_rest_and_never_a_path() {
        assert_eq!(project(&["meta.a.b"]), r#"{"meta":{"a.b":true}}"#);
        assert_eq!(
            project(&["meta.src", "meta.$thread", "meta.build-id"]),
            r#"{"meta":{"$thread":"t1","build-id":42,"src":"x"}}"#
        );
        let select = parse(&["meta. ", "meta.\"", "meta.."]).unwrap().unwrap();
        let projected = select.project(r#"{"meta": {" ": 1, "\"": 2, ".": 3, "x": 4}}"#).unwrap();
        assert_eq!(projected, r#"{"meta":{" ":1,"\"":2,".":3}}"#);
    }

    #[test]
    fn meta_is_present_even_when_no_selected_key_is_in_it() {
        assert_eq!(project(&["meta.nope"]), r#"{"meta":{}}"#);
        assert_eq!(project(&["meta.nil", "meta.nope"]), r#"{"meta":{"nil":null}}"#);
    }

    #[test]
    fn plain_meta_beats_its_keys_in_any_order() {
        let whole = project(&["meta"]);
        assert!(whole.contains(r#""build-id": 42"#), "{whole}");
        assert_eq!(project(&["meta", "meta.src"]), whole);
        assert_eq!(project(&["meta.src", "meta"]), whole);
    }

    #[test]
    fn score_appears_only_where_the_record_has_one() {
        assert_eq!(project(&["score"]), "{}");
        let select = parse(&["score", "id"]).unwrap().unwrap();
        let projected = select.project(r#"{"score": 0.10, "id": "i", "name": null}"#).unwrap();
        assert_eq!(projected, r#"{"id":"i","score":0.10}"#);
    }

    #[test]
    fn the_key_order_is_fixed_whatever_the_caller_wrote() {
        let mut items: Vec<&str> = NAMES.iter().rev().copied().collect();
        items.push("content:1");
        let scored = RECORD.replacen('{', "{\"score\": 1, ", 1);
        let projected = parse(&items).unwrap().unwrap().project(&scored).unwrap();
        let places: Vec<usize> = [
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
        ]
        .iter()
        .map(|key| projected.find(&format!("\"{key}\":")).unwrap())
        .collect();
        assert!(places.is_sorted(), "{projected}");
    }

    #[test]
    fn numbers_pass_through_digit_for_digit() {
        let record =
            r#"{"meta": {"n": 1.0, "big": 123456789012345678901234567890.10, "e": [1e400]}, "version": 1}"#;
        let whole = parse(&["meta"]).unwrap().unwrap().project(record).unwrap();
        assert_eq!(whole, r#"{"meta":{"n": 1.0, "big": 123456789012345678901234567890.10, "e": [1e400]}}"#);
        let keys = parse(&["meta.big", "meta.e"]).unwrap().unwrap().project(record).unwrap();
        assert_eq!(keys, r#"{"meta":{"big":123456789012345678901234567890.10,"e":[1e400]}}"#);
    }

    #[test]
    fn deeply_nested_meta_is_copied_without_recursion() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let record = format!("{{\"meta\": {{\"a\": {deep}, \"b\": 1}}, \"content\": \"x\"}}");
        for (items, expected) in [
            (["meta.a"], format!("{{\"meta\":{{\"a\":{deep}}}}}")),
            (["meta.b"], "{\"meta\":{\"b\":1}}".to_owned()),
            (["content"], "{\"content\":\"x\"}".to_owned()),
        ] {
            assert_eq!(parse(&items).unwrap().unwrap().project(&record).unwrap(), expected);
        }
    }

    #[test]
    fn text_that_is_no_record_is_an_error() {
        let select = parse(&["content:1", "meta.a"]).unwrap().unwrap();
        for json in ["", "[]", "{", r#"{"content": 7}"#, r#"{"meta": []}"#] {
            assert!(select.project(json).is_err(), "{json}");
        }
    }

    #[test]
    fn an_event_keeps_its_envelope_and_only_the_selected_snapshot() {
        let envelope = concat!(
            r#"{"eventId":"e1","at":"2025-01-01T00:00:00.000Z","operation":"insert","operationId":"o1","#,
            r#""cause":null,"actor":{"principalId": null},"memoryId":"m1""#
        );
        assert_eq!(
            event(&["content:2", "version"]),
            format!("{envelope},\"content\":\"a\u{fffd}\",\"contentLength\":4,\"version\":3}}")
        );
        assert_eq!(event(&["meta.k", "name"]), format!("{envelope},\"meta\":{{\"k\":1.0}},\"name\":null}}"));
        let ignored = ["id", "score", "hasEmbedding", "createdAt", "createdBy", "updatedAt"];
        assert_eq!(event(&ignored), format!("{envelope}}}"));
        assert_eq!(
            event(&NAMES),
            format!(
                "{envelope},\"content\":\"a😀c\",\"meta\":{{\"k\": 1.0}},\"tree\":\"/s\",\"name\":null,\"temporal\":null,\
                 \"version\":3,\"versionHash\":\"h\"}}"
            )
        );
    }

    #[test]
    fn an_event_whose_content_is_gone_says_null() {
        let select = parse(&["content:5", "meta.k"]).unwrap().unwrap();
        let projected = select.project_event(r#"{"eventId": "e", "content": null, "meta": null}"#).unwrap();
        assert_eq!(projected, r#"{"eventId":"e","content":null,"contentLength":null,"meta":{}}"#);
    }

    #[test]
    fn what_a_selection_needs_is_known_before_the_read() {
        let select = parse(&["content:5", "meta.k", "id"]).unwrap().unwrap();
        assert!(select.needs("content") && select.needs("meta") && select.needs("id"));
        assert!(!select.needs("tree"));
        assert!(!parse(&["id"]).unwrap().unwrap().needs("content"));
    }

    proptest! {
        #[test]
        fn arbitrary_selectors_and_records_never_panic(items: Vec<Option<String>>, json: String) {
            if let Ok(Some(select)) = Select::parse("select", Some(items)) {
                let _ = select.project(&json);
                let _ = select.project_event(&json);
            }
        }

        #[test]
        fn text_near_a_selector_never_panics(item in "(content|meta|id)?[:.0-9a-z-]{0,8}", json in r#"[{}:,"\\a1 ]{0,12}"#) {
            if let Ok(Some(select)) = parse(&[&item]) {
                let _ = select.project(&json);
            }
        }

        #[test]
        fn any_rest_behind_meta_and_a_dot_is_a_key(key in ".{1,20}", value: i64) {
            let select = parse(&[&format!("meta.{key}")]).unwrap().unwrap();
            let record = serde_json::json!({"meta": {&key: value, format!("{key}+"): 0}});
            let projected: Value = serde_json::from_str(&select.project(&record.to_string()).unwrap()).unwrap();
            prop_assert_eq!(projected, serde_json::json!({"meta": {&key: value}}));
        }

        #[test]
        fn a_projection_holds_the_values_of_the_record(chosen in proptest::sample::subsequence(&NAMES, 1..13)) {
            let projected: Value = serde_json::from_str(&project(&chosen)).unwrap();
            let record: Value = serde_json::from_str(RECORD).unwrap();
            let members = projected.as_object().unwrap();
            let expected = chosen.iter().filter(|&&name| name != "score").count();
            prop_assert_eq!(members.len(), expected);
            for (key, value) in members {
                prop_assert_eq!(value, &record[key]);
            }
        }

        #[test]
        fn slices_agree_with_an_array_of_code_units(content: String, start in 0_usize..40, end in 0_usize..40) {
            let units: Vec<u16> = content.encode_utf16().collect();
            let select = parse(&[&format!("content:{start}:{end}")]).unwrap().unwrap();
            let record = serde_json::json!({"content": content}).to_string();
            let projected: Value = serde_json::from_str(&select.project(&record).unwrap()).unwrap();
            let to = end.min(units.len());
            let part = String::from_utf16_lossy(&units[start.min(to)..to]);
            prop_assert_eq!(projected, serde_json::json!({"content": part, "contentLength": units.len()}));
        }
    }
}
