//! Values that were fine and are a little wrong now.

use super::dice::Dice;
use serde_json::{Map, Value, json};

/// Texts that have broken parsers before: of paths, patterns, times, numbers, identifiers, query languages.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\n",
    "\u{7f}",
    "\u{feff}",
    "\u{202e}abc",
    "e\u{301}\u{301}\u{301}",
    "👩‍👩‍👧‍👦",
    "部署方案",
    "~",
    "~/",
    "/",
    "//",
    "share",
    "/share/../x",
    "share.a.b",
    "share/*",
    "*{1,}.a|b@*",
    "a & !b | (c",
    "!(!(!a",
    "%",
    "_\\",
    "'; select pg_sleep(1) --",
    "$1",
    "$$",
    "{}",
    "[[[[",
    "null",
    "NaN",
    "-0",
    "1e400",
    "99999999999999999999999999",
    "0x7fffffff",
    "0190a1b2-0000-7000-8000-000000000051",
    "{0190a1b2-0000-7000-8000-000000000051}",
    "0190a1b2",
    "cap-1",
    "cap-0",
    "cap-99999999999999999999",
    "2025-02-30T00:00:00Z",
    "2025-01-01T00:00:00Z",
    "2025-01-01T00:00:00+99:99",
    "-4713-01-01T00:00:00Z",
    "infinity",
    "P1Y2M3DT4H",
    "(a+)+$",
    "(?<n>.)\\k<n>",
    "[[:<:]]",
    "[z-a]",
    "a{1,99999}",
    "\\",
    "$.a ? (@ like_regex \"(\")",
    "$.** ? (@.x > 1)",
    "strict $[*].datetime()",
    "---\ntree: a\n---\nx",
    "- {a: &x [*x]}",
    "\"open",
    "a,b\n\"c",
    "content:0:5",
    "content:9999999999:1",
    "meta.a.b",
    "..",
    "../../etc/passwd",
    "file:///etc/passwd",
    "pg_catalog.english",
    "public",
    "me",
];

/// A value that has nothing to do with what stood there.
fn other(dice: &mut Dice) -> Value {
    match dice.below(16) {
        0 => Value::Null,
        1 => json!(dice.below(2) == 0),
        2 => json!(dice.below(200)),
        3 => json!(-(dice.below(100) as i64)),
        4 => json!(i64::MAX - dice.below(3) as i64),
        5 => json!(i64::MIN),
        6 => json!(dice.below(1000) as f64 / 7.0),
        7 => json!(1e308),
        8 => json!({}),
        9 => json!([]),
        10 => json!([null, dice.pick(TEXTS)]),
        11 => json!({*dice.pick(TEXTS): dice.pick(TEXTS)}),
        12 => json!("x".repeat(dice.place(70_000))),
        13 => (0..1 + dice.below(700)).fold(json!(1), |inner, _| json!([inner])),
        _ => json!(dice.pick(TEXTS)),
    }
}

/// The text, with a piece cut, doubled, turned round or put in.
pub fn text(text: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = text.chars().take(5000).collect();
    for _ in 0..1 + dice.below(3) {
        let at = dice.place(chars.len() + 1);
        let end = at + dice.place(chars.len() - at + 1).min(8);
        match dice.below(5) {
            0 => drop(chars.drain(at..end)),
            1 => chars.splice(at..at, dice.pick(TEXTS).chars()).for_each(drop),
            2 => {
                let piece: Vec<char> = chars[at..end].repeat(1 + dice.place(40));
                chars.splice(at..at, piece).for_each(drop);
            }
            3 => chars[at..end].reverse(),
            _ => {
                let odd = *dice.pick(&[
                    '"',
                    '\\',
                    '\'',
                    '/',
                    '.',
                    '*',
                    '{',
                    '[',
                    ':',
                    '\n',
                    'é',
                    '\u{10ffff}',
                    '0',
                    '-',
                ]);
                chars.splice(at..end, [odd]).for_each(drop);
            }
        }
    }
    chars.into_iter().collect()
}

/// Changes the value somewhere in it.
pub fn value(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(fields) if !fields.is_empty() && dice.below(5) > 0 => object(fields, dice),
        Value::Array(items) if !items.is_empty() && dice.below(5) > 0 => {
            let at = dice.place(items.len());
            match dice.below(6) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                2 => items.insert(at, other(dice)),
                _ => self::value(&mut items[at], dice),
            }
        }
        Value::String(was) if dice.below(3) > 0 => *was = text(was, dice),
        _ => *value = other(dice),
    }
}

fn object(fields: &mut Map<String, Value>, dice: &mut Dice) {
    let keys: Vec<String> = fields.keys().cloned().collect();
    let key = dice.pick(&keys);
    match dice.below(10) {
        0 => drop(fields.remove(key)),
        1 => drop(fields.insert(text(key, dice), other(dice))),
        2 => {
            let with = fields[dice.pick(&keys)].clone();
            fields.insert(key.clone(), with);
        }
        _ => value(&mut fields[key], dice),
    }
}
