//! Changing a memory field by field: keep, clear or set, the merge of metadata, and the JSON tree that merging needs.
//!
//! JSON is kept as its own text here. `serde_json::Value` would do, were it not that with exact numbers it takes an
//! object whose only key is `$serde_json::private::Number` for a number; metadata may hold any key.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::{Error as _, IgnoredAny};

use super::invalid::{Invalid, excerpt};
use super::limits::META_DEPTH;
use super::version::write_json_string;

/// Deepest JSON that is read, in nested arrays and objects: metadata of the deepest kind inside any response.
const DEPTH: usize = META_DEPTH + 100;

/// What an update does to one field (UPD-5, UPD-6).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Leave it as it is.
    #[default]
    Keep,
    /// Remove its value.
    Clear,
    /// Give it this value.
    Set(T),
}

impl<T> Patch<T> {
    /// The field after the patch, from the field before it.
    pub fn apply(self, current: Option<T>) -> Option<T> {
        match self {
            Self::Keep => current,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }

    /// Whether the field is left alone.
    pub fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

/// The fields an update clears, from its argument `clear`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClearSet {
    /// The memory loses its name.
    pub name: bool,
    /// The memory loses its time.
    pub temporal: bool,
    /// The metadata becomes `{}`.
    pub meta: bool,
}

impl ClearSet {
    /// Whether nothing is cleared.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// Reads the argument `clear`: an array of `name`, `temporal` and `meta`. Absent means none; naming one twice is harmless.
///
/// # Errors
/// CALL-4 for a null element, CALL-3 for an unknown word.
pub fn parse_clear(argument: &str, items: Option<Vec<Option<String>>>) -> Result<ClearSet, Invalid> {
    const WORDS: [&str; 3] = ["name", "temporal", "meta"];
    let mut set = ClearSet::default();
    for (at, item) in items.unwrap_or_default().into_iter().enumerate() {
        let place = format!("{argument}[{at}]");
        let Some(word) = item else {
            return Err(Invalid::new(
                place.as_str(),
                "CALL-4",
                format!("argument \"{place}\" is null, not the name of a field"),
                format!("List only fields to clear: {}.", listed(&WORDS)),
            ));
        };
        match word.as_str() {
            "name" => set.name = true,
            "temporal" => set.temporal = true,
            "meta" => set.meta = true,
            _ => {
                return Err(Invalid::new(
                    place.as_str(),
                    "CALL-3",
                    format!("argument \"{place}\" is no field that can be cleared: {}", excerpt(&word)),
                    format!(
                        "Did you mean \"{}\"? The fields are {}.",
                        nearest(&word, &WORDS),
                        listed(&WORDS)
                    ),
                ));
            }
        }
    }
    Ok(set)
}

/// Merges `patch` into `target` as RFC 7396 says: objects are merged key by key, `null` removes a key, all else
/// replaces. Numbers keep their digits. Both are JSON text as `jsonb` prints it; the result has no blanks.
///
/// # Errors
/// When a text is no JSON, or nests deeper than a hundred levels beyond [`META_DEPTH`].
pub fn merge_patch(target: &str, patch: &str) -> Result<String, serde_json::Error> {
    let merged = merge(Json::parse(target)?, Json::parse(patch)?);
    let mut text = String::with_capacity(target.len() + patch.len());
    merged.write_compact(&mut text);
    Ok(text)
}

fn merge<'a>(target: Json<'a>, patch: Json<'a>) -> Json<'a> {
    let Json::Object(changes) = patch else {
        return patch;
    };
    let members = match target {
        Json::Object(members) => members,
        _ => Vec::new(),
    };
    let mut places: HashMap<Cow<'a, str>, usize> =
        members.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
    let mut members: Vec<_> = members.into_iter().map(Some).collect();
    for (key, change) in changes {
        let place = places.get(&key).copied();
        let slot = place.and_then(|at| members.get_mut(at));
        if change == Json::NULL {
            if let Some(slot) = slot {
                *slot = None;
            }
            continue;
        }
        match slot {
            Some(slot) => {
                let current = slot.take().map_or(Json::NULL, |(_, value)| value);
                *slot = Some((key, merge(current, change)));
            }
            None => {
                places.insert(key.clone(), members.len());
                members.push(Some((key, merge(Json::NULL, change))));
            }
        }
    }
    Json::Object(members.into_iter().flatten().collect())
}

/// A JSON value that keeps key order and the exact text of its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json<'a> {
    /// A number, `true`, `false` or `null`, as written.
    Bare(&'a str),
    /// A string, decoded.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object. A key written twice stands here twice; `jsonb` never does that.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    pub(crate) const NULL: Self = Self::Bare("null");

    /// Reads one JSON value.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        // This pass checks the whole text without recursion; the reader below only has to find its way.
        serde_json::from_str::<IgnoredAny>(text)?;
        Reader { text, at: 0 }.value(0)
    }

    /// What the value is, for messages: `a number`, `null`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Bare("null") => "null",
            Self::Bare("true" | "false") => "a boolean",
            Self::Bare(_) => "a number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// Appends JSON without white space between tokens (FMT-2).
    pub(crate) fn write_compact(&self, out: &mut String) {
        match self {
            Self::Bare(text) => out.push_str(text),
            Self::Text(text) => push_json_string(out, text),
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write_compact(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    push_json_string(out, key);
                    out.push(':');
                    value.write_compact(out);
                }
                out.push('}');
            }
        }
    }
}

/// Escapes ASCII bytes only and between them passes whole runs on, so every piece is UTF-8.
fn push_json_string(out: &mut String, text: &str) {
    write_json_string(&mut |piece| out.push_str(std::str::from_utf8(piece).unwrap_or_default()), text);
}

/// Splits JSON text that is known to be valid.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += blanks;
        rest.get(blanks).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, serde_json::Error> {
        if depth > DEPTH {
            return Err(serde_json::Error::custom(format!("nested deeper than {DEPTH} levels")));
        }
        match self.peek() {
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'[') => self.array(depth),
            Some(b'{') => self.object(depth),
            _ => Ok(Json::Bare(self.bare())),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, serde_json::Error> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.take(b']') {
            items.push(self.value(depth + 1)?);
            if !self.take(b',') && self.peek() != Some(b']') {
                return Err(serde_json::Error::custom("array without end"));
            }
        }
        Ok(Json::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, serde_json::Error> {
        self.at += 1;
        let mut members = Vec::new();
        while !self.take(b'}') {
            let key = self.string()?;
            self.take(b':');
            members.push((key, self.value(depth + 1)?));
            if !self.take(b',') && self.peek() != Some(b'}') {
                return Err(serde_json::Error::custom("object without end"));
            }
        }
        Ok(Json::Object(members))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, serde_json::Error> {
        self.peek();
        let start = self.at;
        let rest = self.text.as_bytes().get(start + 1..).unwrap_or_default();
        let (mut length, mut escaped) = (0, false);
        loop {
            match rest.get(length) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    length += 2;
                }
                Some(_) => length += 1,
                None => return Err(serde_json::Error::custom("string without end")),
            }
        }
        self.at = start + length + 2;
        if escaped {
            let token = self.text.get(start..self.at).unwrap_or_default();
            return serde_json::from_str(token).map(Cow::Owned);
        }
        let inner = self.text.get(start + 1..self.at - 1).unwrap_or_default();
        Ok(Cow::Borrowed(inner))
    }

    fn bare(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest
            .find(|c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }
}

/// The option that `word` most resembles, letter case aside: what the caller probably meant (CALL-3).
///
/// Ties go to the earlier option; without options the answer is empty.
#[must_use]
pub fn nearest<'a>(word: &str, options: &[&'a str]) -> &'a str {
    // A word longer than this resembles nothing; the cut bounds the work.
    const COMPARED: usize = 64;
    let fold =
        |text: &str| -> Vec<char> { text.chars().take(COMPARED).flat_map(char::to_lowercase).collect() };
    let word = fold(word);
    options.iter().copied().min_by_key(|option| edits(&word, &fold(option))).unwrap_or_default()
}

/// Levenshtein distance.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, a) in from.iter().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        let mut next = vec![left];
        for (b, &above) in to.iter().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(a != b)).min(above + 1).min(left + 1);
            next.push(left);
            diagonal = above;
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// Words for a message: `"name", "temporal", "meta"`.
pub(crate) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn a_field_is_kept_cleared_or_set() {
        assert_eq!(Patch::Keep.apply(Some(1)), Some(1));
        assert_eq!(Patch::Clear.apply(Some(1)), None);
        assert_eq!(Patch::Set(2).apply(Some(1)), Some(2));
        assert!(Patch::<i32>::default().is_keep());
    }

    #[test]
    fn clear_takes_the_three_fields_and_repeats() {
        let words = |list: &[&str]| Some(list.iter().map(|word| Some((*word).to_owned())).collect());
        assert_eq!(parse_clear("clear", None), Ok(ClearSet::default()));
        assert!(parse_clear("clear", words(&[])).expect("empty").is_empty());
        let set = parse_clear("clear", words(&["meta", "name", "meta"])).expect("known words");
        assert_eq!(set, ClearSet { name: true, temporal: false, meta: true });
        let set = parse_clear("clear", words(&["temporal"])).expect("known word");
        assert_eq!(set, ClearSet { name: false, temporal: true, meta: false });
    }

    #[test]
    fn clear_refuses_null_and_names_the_nearest_word() {
        let refusal = parse_clear("clear", Some(vec![Some("name".into()), None])).expect_err("null");
        assert_eq!(refusal.argument, "clear[1]");
        for (word, meant) in [("metadata", "meta"), ("Name", "name"), ("temporary", "temporal"), ("", "name")]
        {
            let refusal = parse_clear("clear", Some(vec![Some(word.into())])).expect_err(word);
            assert_eq!((refusal.argument.as_str(), refusal.rule), ("clear[0]", "CALL-3"));
            assert!(refusal.hint.contains(&format!("mean \"{meant}\"")), "{word}: {}", refusal.hint);
        }
    }

    #[test]
    fn the_examples_of_rfc_7396_are_reproduced() {
        for (target, patch, result) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ] {
            assert_eq!(merge_patch(target, patch).expect(target), result, "{target} and {patch}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let merged = merge_patch(
            r#"{"big": 12345678901234567890.50, "one": 1.0}"#,
            r#"{"tiny": 0.00000000000000000000000000000000001}"#,
        );
        assert_eq!(
            merged.expect("valid"),
            r#"{"big":12345678901234567890.50,"one":1.0,"tiny":0.00000000000000000000000000000000001}"#
        );
    }

    #[test]
    fn keys_that_serde_json_keeps_for_itself_are_ordinary_keys() {
        let odd = r#"{"$serde_json::private::Number":"1","n":{"$serde_json::private::RawValue":"2"}}"#;
        assert_eq!(merge_patch(odd, "{}").expect("valid"), odd);
    }

    #[test]
    fn a_text_that_is_no_json_is_refused() {
        for text in ["", "{", "[1,]", "{\"a\" 1}", "{} {}", "nul", "\"\\ud800\"", "\"a"] {
            assert!(merge_patch(text, "{}").is_err(), "{text}");
            assert!(merge_patch("{}", text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_deepest_metadata_merges_in_a_small_stack() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(META_DEPTH), "}".repeat(META_DEPTH));
        let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
            assert_eq!(merge_patch(&deep, &deep).expect("within the limit"), deep);
            assert!(merge_patch(&"[".repeat(100_000), "{}").is_err());
            let far = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            assert!(merge_patch(&far, "{}").is_err());
        });
        worker.expect("thread").join().expect("no overflow");
    }

    #[test]
    fn the_nearest_option_ignores_letter_case_and_long_words() {
        assert_eq!(nearest("METAPREDICATE", &["meta", "metaPredicate"]), "metaPredicate");
        assert_eq!(nearest(&"x".repeat(1_000_000), &["start", "end"]), "start");
        assert_eq!(nearest("x", &[]), "");
    }

    /// The RFC's own pseudo-code, over `serde_json::Value`.
    fn reference(target: Value, patch: Value) -> Value {
        let Value::Object(changes) = patch else {
            return patch;
        };
        let mut members = match target {
            Value::Object(members) => members,
            _ => serde_json::Map::new(),
        };
        for (key, change) in changes {
            if change.is_null() {
                members.remove(&key);
            } else {
                let current = members.remove(&key).unwrap_or(Value::Null);
                members.insert(key, reference(current, change));
            }
        }
        Value::Object(members)
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[abc\\\\\"\n]{0,1}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn merging_follows_the_rfc_for_any_values(target in value(), patch in value()) {
            let merged = merge_patch(&format!("{target:#}"), &patch.to_string()).expect("valid JSON");
            prop_assert_eq!(serde_json::from_str::<Value>(&merged).expect("JSON out"), reference(target, patch));
        }

        #[test]
        fn no_text_panics(text in ".*", almost in "[\\[\\]{},:\"\\\\0-9a ue.-]{0,20}") {
            let _ = (merge_patch(&text, "{}"), merge_patch(&almost, "{}"), nearest(&text, &["name", "meta"]));
        }
    }
}
