//! What full text search sees of a memory beside its content.

use crate::domain::instant::Instant;
use serde_json::Value;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Most months of a period that are named one by one.
const MONTHS_NAMED: usize = 24;

/// The fields a space adds to the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fields {
    /// The leaf name.
    pub name: bool,
    /// The labels of the tree.
    pub tree: bool,
    /// The strings in the metadata.
    pub meta: bool,
    /// Year, month and day.
    pub temporal: bool,
}

impl Fields {
    /// The fields as a space stores them; words that are none of ours are ignored.
    #[must_use]
    pub fn stored(words: &[Option<String>]) -> Self {
        let has = |word: &str| words.iter().flatten().any(|stored| stored == word);
        Self { name: has("name"), tree: has("tree"), meta: has("meta"), temporal: has("temporal") }
    }

    /// Whether there is any beside the content.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// A number that changes when rows have to be indexed anew. Stored with the rows: it may never be computed
    /// otherwise.
    #[must_use]
    pub fn fingerprint(self, text_config: &str) -> i32 {
        let flags =
            [self.name, self.tree, self.meta, self.temporal].map(|flag| if flag { b'1' } else { b'0' });
        let mut hash: u32 = 0x811c_9dc5;
        for byte in text_config.bytes().chain(flags) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        hash.cast_signed()
    }

    /// The texts of the fields. `meta` is JSON text; `when` is start and end, equal for a point.
    #[must_use]
    pub fn texts(
        self,
        name: Option<&str>,
        tree: &str,
        meta: &str,
        when: Option<(Instant, Instant)>,
    ) -> Vec<String> {
        let mut texts = Vec::new();
        if let Some(name) = name.filter(|_| self.name) {
            texts.push(words_of(name));
        }
        if self.tree {
            texts.push(words_of(tree));
        }
        if self.meta
            && let Ok(value) = serde_json::from_str(meta)
        {
            strings(&value, &mut texts);
        }
        if let Some((start, end)) = when.filter(|_| self.temporal) {
            texts.push(days(start, end));
        }
        texts
    }
}

/// A name or path as words: what joins them becomes blanks, or the parser would take `notes.md` for a host.
fn words_of(text: &str) -> String {
    text.replace(['.', '_', '-'], " ")
}

fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, texts)),
        _ => {}
    }
}

/// `7 May 2023` for a point; for a period its first and last day and the months between, in UTC.
fn days(start: Instant, end: Instant) -> String {
    let (first, last) = (date(start), date(end));
    let mut text = day(first);
    if first == last {
        return text;
    }
    let (mut year, mut month) = (first.0, first.1);
    for _ in 0..MONTHS_NAMED {
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        if (year, month) >= (last.0, last.1) {
            break;
        }
        text.push_str(&format!(" {} {year}", MONTHS[month - 1]));
    }
    text.push(' ');
    text.push_str(&day(last));
    text
}

fn day((year, month, day): (i32, usize, u32)) -> String {
    format!("{day} {} {year}", MONTHS[month - 1])
}

/// Year, month (1 to 12) and day of an instant in UTC.
fn date(at: Instant) -> (i32, usize, u32) {
    let text = at.to_iso_millis();
    let number = |from: usize, to: usize| text.get(from..to).and_then(|digits| digits.parse::<u32>().ok());
    let year = text.get(..4).and_then(|digits| digits.parse().ok()).unwrap_or(1);
    let month = number(5, 7).filter(|month| (1..=12).contains(month)).unwrap_or(1);
    (year, month as usize, number(8, 10).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Fields {
        Fields { name: true, tree: true, meta: true, temporal: true }
    }

    fn at(text: &str) -> Instant {
        Instant::parse("t", text).unwrap()
    }

    #[test]
    fn names_and_trees_are_taken_apart_and_metadata_gives_its_strings() {
        let texts = all().texts(
            Some("release-plan.md"),
            "share.my_project",
            r#"{"a": "x y", "n": 7, "list": [{"b": "z"}, null]}"#,
            None,
        );
        assert_eq!(texts, ["release plan md", "share my project", "x y", "z"]);
    }

    #[test]
    fn a_time_is_found_by_year_month_and_day() {
        let point = at("2023-05-07T23:30:00Z");
        assert_eq!(all().texts(None, "", "{}", Some((point, point))).last().unwrap(), "7 May 2023");
        let period = (at("2022-11-30T00:00:00Z"), at("2023-02-01T00:00:00Z"));
        assert_eq!(
            all().texts(None, "", "{}", Some(period)).last().unwrap(),
            "30 November 2022 December 2022 January 2023 1 February 2023"
        );
    }

    #[test]
    fn only_chosen_fields_are_seen() {
        let now = at("2023-05-07T00:00:00Z");
        assert!(Fields::default().texts(Some("n"), "t", r#"{"a":"b"}"#, Some((now, now))).is_empty());
        assert!(!Fields::default().any());
    }

    #[test]
    fn the_fingerprint_tells_configurations_apart_and_never_changes() {
        let content = Fields::stored(&[Some("content".into())]);
        assert_eq!(content, Fields::default());
        assert_ne!(content.fingerprint("english"), content.fingerprint("german"));
        assert_ne!(content.fingerprint("english"), all().fingerprint("english"));
        assert_eq!(content.fingerprint("english"), -1_713_142_389);
    }
}
