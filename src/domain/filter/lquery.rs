//! `lquery`: a pattern over the labels of a whole path, from first to last (LQ-1 to LQ-6).
//!
//! The grammar accepted here lies within PostgreSQL's own, and so do the sizes: its input function never fails on
//! what [`Lquery::as_str`] returns.

use super::label::Pattern;
use crate::domain::invalid::excerpt;
use crate::domain::path::TreePath;
use std::fmt::{self, Write as _};

/// Most labels a path or an item's bounds can count: what PostgreSQL stores in 16 bits.
const LEVELS: u32 = 65_535;
/// Longest label of a pattern, in characters (TREE-2).
const LABEL_CHARS: usize = crate::domain::limits::LABEL_CHARS;
/// PostgreSQL keeps the size of one item, in bytes, in 16 bits, and not every release checks that it fits.
const ITEM_BYTES: usize = 65_535;
/// The input function reserves a slot for every alternative of the whole text in every item: 24 bytes each.
const SLOTS: usize = 1_000_000;

/// A checked lquery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lquery {
    text: String,
    items: Vec<Item>,
}

/// One item of the list: between `low` and `high` consecutive labels.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    /// `None` is `*`: any label.
    label: Option<Alternatives>,
    low: u32,
    high: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Alternatives {
    negated: bool,
    any_of: Vec<Pattern>,
}

impl Lquery {
    /// Reads a list of items joined by single dots.
    ///
    /// # Errors
    /// What is wrong, as the rest of a sentence that starts with the filter.
    pub(super) fn parse(source: &str) -> Result<Self, String> {
        let levels = source.split('.').count();
        if levels > LEVELS as usize {
            return Err(format!("it has {levels} items, more than the limit of {LEVELS}"));
        }
        let alternatives = source.matches('|').count() + 1;
        if levels.saturating_mul(alternatives) > SLOTS {
            return Err(format!(
                "it has {levels} items and {alternatives} alternatives; their product may not exceed {SLOTS}"
            ));
        }
        let items = source.split('.').map(item).collect::<Result<Vec<_>, _>>()?;
        let mut text = String::with_capacity(source.len());
        for (at, item) in items.iter().enumerate() {
            // Writing into a string cannot fail.
            let _ = write!(text, "{}{item}", if at == 0 { "" } else { "." });
        }
        Ok(Self { text, items })
    }

    /// Reads the text of a checked one again.
    pub fn from_checked(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }

    /// Whether a tree matches (Appendix B).
    pub fn matches_tree(&self, tree: &TreePath) -> bool {
        self.matches(&tree.labels().collect::<Vec<_>>())
    }

    /// The text to hand to PostgreSQL as `lquery`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The subtree named by the labels in front that match one label only.
    pub(super) fn fixed_start(&self) -> TreePath {
        let labels: Vec<&str> = self.items.iter().map_while(Item::only).collect();
        TreePath::from_dotted(&labels.join(".")).unwrap_or_else(TreePath::root)
    }

    /// Whether PostgreSQL's own matcher may be trusted with it.
    ///
    /// That one tries every way of dividing the labels among the items that take a varying number of them. With two
    /// such items the ways are as many as pairs of labels; each further one multiplies them by up to the depth of a
    /// tree, and both pattern and trees are a caller's to choose.
    pub fn is_cheap(&self) -> bool {
        const VARYING: usize = 2;
        self.items.iter().filter(|item| item.low != item.high).count() <= VARYING
    }

    /// Whether a path of these labels matches from its first label to its last.
    ///
    /// Takes time proportional to items × labels, whatever the pattern: `ends[n]` says whether the items so far can
    /// cover exactly the first n labels.
    fn matches(&self, labels: &[&str]) -> bool {
        let mut ends = vec![false; labels.len() + 1];
        if let Some(start) = ends.first_mut() {
            *start = true;
        }
        for item in &self.items {
            ends = item.advance(&ends, labels);
        }
        ends.last().copied().unwrap_or(false)
    }
}

impl Item {
    fn advance(&self, ends: &[bool], labels: &[&str]) -> Vec<bool> {
        // before[n] counts the reachable ends among 0..n, so that a window of starts is one subtraction.
        let mut before = Vec::with_capacity(ends.len() + 1);
        let mut count = 0_usize;
        before.push(count);
        for &reachable in ends {
            count += usize::from(reachable);
            before.push(count);
        }
        let at = |index: usize| before.get(index).copied().unwrap_or(count);
        let (low, high) = (self.low as usize, self.high as usize);
        // The labels run_start..end all match this item.
        let mut run_start = 0;
        let mut next = Vec::with_capacity(ends.len());
        for end in 0..ends.len() {
            if end > 0 && labels.get(end - 1).is_some_and(|label| !self.takes(label)) {
                run_start = end;
            }
            let first = run_start.max(end.saturating_sub(high));
            next.push(match end.checked_sub(low) {
                Some(last) if last >= first => at(last + 1) > at(first),
                _ => false,
            });
        }
        next
    }

    /// The one label it matches, if it matches exactly one.
    fn only(&self) -> Option<&str> {
        let of = self.label.as_ref().filter(|of| !of.negated && (self.low, self.high) == (1, 1))?;
        match of.any_of.as_slice() {
            [pattern] => pattern.only(),
            _ => None,
        }
    }

    fn takes(&self, label: &str) -> bool {
        match &self.label {
            None => true,
            Some(of) => of.any_of.iter().any(|pattern| pattern.matches(label)) != of.negated,
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = match &self.label {
            None => {
                f.write_str("*")?;
                (0, LEVELS)
            }
            Some(of) => {
                f.write_str(if of.negated { "!" } else { "" })?;
                for (at, pattern) in of.any_of.iter().enumerate() {
                    write!(f, "{}{pattern}", if at == 0 { "" } else { "|" })?;
                }
                (1, 1)
            }
        };
        match (self.low, self.high) {
            bounds if bounds == default => Ok(()),
            (low, high) if low == high => write!(f, "{{{low}}}"),
            (low, LEVELS) => write!(f, "{{{low},}}"),
            (0, high) => write!(f, "{{,{high}}}"),
            (low, high) => write!(f, "{{{low},{high}}}"),
        }
    }
}

fn item(source: &str) -> Result<Item, String> {
    let (head, bounds) = match source.find('{') {
        Some(at) => {
            let (head, bounds) = source.split_at(at);
            (head, Some(self::bounds(bounds)?))
        }
        None => (source, None),
    };
    if head == "*" {
        let (low, high) = bounds.unwrap_or((0, LEVELS));
        return Ok(Item { label: None, low, high });
    }
    let (negated, alternatives) = match head.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, head),
    };
    let any_of = alternatives.split('|').map(Pattern::parse).collect::<Result<Vec<_>, _>>()?;
    if let Some(long) = any_of.iter().find(|pattern| pattern.len() > LABEL_CHARS) {
        return Err(format!(
            "it has a label of {} characters, more than the limit of {LABEL_CHARS}",
            long.len()
        ));
    }
    // 16 bytes for the item and 8 for each alternative, everything padded to 8.
    let bytes = any_of.iter().fold(16, |sum, pattern| sum + 8 + pattern.len().next_multiple_of(8));
    if bytes > ITEM_BYTES {
        return Err(format!(
            "one item has {} alternatives that take {bytes} bytes, more than the limit of {ITEM_BYTES}",
            any_of.len()
        ));
    }
    let (low, high) = bounds.unwrap_or((1, 1));
    Ok(Item { label: Some(Alternatives { negated, any_of }), low, high })
}

/// Reads `{n}`, `{n,}`, `{n,m}`, `{,m}` or `{,}` to the end of the item.
fn bounds(source: &str) -> Result<(u32, u32), String> {
    let inner = source
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .ok_or_else(|| format!("the bounds {} do not end with \"}}\"", excerpt(source)))?;
    let (low, high) = match inner.split_once(',') {
        None => {
            let exactly = number(inner, source)?;
            (exactly, exactly)
        }
        Some((low, high)) => (
            if low.is_empty() { 0 } else { number(low, source)? },
            if high.is_empty() { LEVELS } else { number(high, source)? },
        ),
    };
    if low > high {
        return Err(format!("the bounds {} have a lower number above the upper one", excerpt(source)));
    }
    Ok((low, high))
}

fn number(digits: &str, source: &str) -> Result<u32, String> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!(
            "the bounds {} are not of the form {{n}}, {{n,}}, {{n,m}} or {{,m}}",
            excerpt(source)
        ));
    }
    match digits.parse::<u32>() {
        Ok(number) if number <= LEVELS => Ok(number),
        _ => Err(format!("the bounds {} go beyond {LEVELS}", excerpt(source))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(query: &str, path: &str) -> bool {
        let labels: Vec<&str> = path.split('.').filter(|label| !label.is_empty()).collect();
        Lquery::parse(query).unwrap().matches(&labels)
    }

    #[test]
    fn the_table_of_appendix_b_holds() {
        for (query, yes, no) in [
            ("a.*", "a a.b a.b.c", "b"),
            ("a.*{1}", "a.b", "a a.b.c"),
            ("a.*{1,2}", "a.b a.b.c", "a a.b.c.d"),
            ("*.x.*", "x a.x x.b a.x.b", "a.b"),
            ("*.!x.*", "a a.x x.a", "x x.x"),
            ("a.!x.*", "a.b a.b.x", "a a.x a.x.b"),
            ("a|b.*", "a b.c", "c"),
            ("pre*.*", "prefix pre.q", "xpre"),
            ("a{2}.b", "a.a.b", "a.b a.a.a.b"),
            ("a{,2}.b", "b a.b a.a.b", "a.a.a.b c.b"),
            ("!a{2,}", "b.c b.c.d", "b a.b b.a b.c.a"),
            ("*{2}", "a.b", "a a.b.c"),
            ("*{,1}", "a", "a.b"),
            ("*{2,}", "a.b a.b.c", "a"),
        ] {
            for path in yes.split(' ') {
                assert!(matches(query, path), "{query} should match {path}");
            }
            for path in no.split(' ') {
                assert!(!matches(query, path), "{query} should not match {path}");
            }
        }
    }

    #[test]
    fn the_root_has_no_labels() {
        assert!(matches("*", "") && matches("*{0}", "") && matches("a{0}", "") && matches("*{,}", ""));
        assert!(!matches("*{1}", "") && !matches("*.!x.*", "") && !matches("a", ""));
    }

    #[test]
    fn faulty_syntax_is_refused() {
        for text in [
            "",
            "a..b",
            ".a",
            "a.",
            "!",
            "a.!",
            "!.a",
            "!!a",
            "!|a",
            "a|",
            "|a",
            "a||b",
            "*|a",
            "a|*",
            "!*",
            "*a",
            "**",
            "a b",
            " a",
            "a{",
            "a{}",
            "a{1",
            "a{1}b",
            "a{1}*",
            "a{-1}",
            "a{ 1}",
            "a{3,1}",
            "a{1,2,3}",
            "a{x}",
            "*{3,1}",
            "*{65536}",
            "*{1,65536}",
            "*{99999999999999999999}",
            "a{1}{2}",
            "a}",
            "a&b",
            "a|!b",
            "~|~",
            "*.~.x",
            "a@b",
            "é",
            "a\0",
            "a/b",
        ] {
            assert!(Lquery::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn sizes_postgres_cannot_hold_are_refused() {
        assert!(Lquery::parse(&"a".repeat(1000)).is_ok());
        assert!(Lquery::parse(&"a".repeat(1001)).is_err());
        assert!(Lquery::parse(&vec!["a"; 65_535].join(".")).is_ok());
        assert!(Lquery::parse(&vec!["a"; 65_536].join(".")).is_err());
        assert!(Lquery::parse(&vec!["a"; 4094].join("|")).is_ok());
        assert!(Lquery::parse(&vec!["a"; 4096].join("|")).is_err());
        assert!(Lquery::parse(&vec!["a|b"; 1001].join(".")).is_err());
        assert!(Lquery::parse("*{65535}").is_ok());
    }

    #[test]
    fn many_stars_on_a_long_path_take_no_exponential_time() {
        let query = format!("{}b", "*.a.".repeat(200));
        assert!(!matches(&query, &vec!["a"; 1000].join(".")));
    }

    #[test]
    fn a_pattern_is_cheap_up_to_two_items_that_vary() {
        for (query, cheap) in [
            ("a.b{3}.*{2}", true),
            ("*.a.*", true),
            ("*.a{1,2}", true),
            ("*.a.*.b.*", false),
            ("a{,3}.b{,3}.c{,3}", false),
        ] {
            assert_eq!(Lquery::parse(query).unwrap().is_cheap(), cheap, "{query}");
        }
    }

    #[test]
    fn bounds_are_printed_in_their_shortest_form() {
        for (text, printed) in [
            ("*{0,}", "*"),
            ("a{01}", "a"),
            ("a{1,1}", "a"),
            ("*{,}", "*"),
            ("a{,}", "a{0,}"),
            ("a*@%", "a%@*"),
        ] {
            assert_eq!(Lquery::parse(text).unwrap().as_str(), printed);
        }
    }

    proptest! {
        #[test]
        fn print_then_parse_is_the_same(text in r"(\*|!?[ab_]{1,2}[*@%]?(\|[ab]\*?)?)(\{[0-3]?,?[3-5]?\})?(\.(\*|!?[ab]{1,2})(\{,[0-3]\})?){0,4}") {
            if let Ok(query) = Lquery::parse(&text) {
                prop_assert_eq!(Lquery::parse(query.as_str()).unwrap(), query);
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text: String, path in "[ab.]{0,9}") {
            if let Ok(query) = Lquery::parse(&text) {
                query.matches(&path.split('.').collect::<Vec<_>>());
            }
        }
    }
}
