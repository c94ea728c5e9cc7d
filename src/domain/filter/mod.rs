//! Tree filters: a subtree, an lquery or an ltxtquery, told apart by the text (FILT-1 to FILT-14).
//!
//! Everything is checked here, sizes included, so that PostgreSQL's own input functions never fail on what leaves this
//! module. [`TreeFilter::matches`] implements Appendix B and is the reference that the server's answers are held
//! against.

mod label;
mod lquery;
mod ltxtquery;
mod predicate;
mod scope;
mod temporal;

pub use lquery::Lquery;
pub use ltxtquery::Ltxtquery;
pub use predicate::MetaPredicate;
pub use scope::{Scope, end};
pub use temporal::{TemporalFilter, Window};

use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::memory::Meta;
use crate::domain::path::{Home, TreePath};
use std::borrow::Cow;

/// What a row must satisfy to be searched, counted or exported; all parts hold together (SRCH-4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criteria {
    /// Where it is.
    pub tree: TreeFilter,
    /// What its metadata contains (META-7, SRCH-21).
    pub meta: Option<Meta>,
    /// What is true of its metadata (SRCH-22).
    pub meta_predicate: Option<MetaPredicate>,
    /// When it is about (SRCH-26).
    pub temporal: Option<TemporalFilter>,
}

impl Criteria {
    /// A filter on the tree alone.
    pub fn on_tree(tree: TreeFilter) -> Self {
        Self { tree, meta: None, meta_predicate: None, temporal: None }
    }

    /// Whether they ask for nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::on_tree(TreeFilter::None)
    }

    /// Whether they narrow the rows enough for a regular expression over them; a predicate on the metadata is itself
    /// a look at every row (SRCH-24, SRCH-25).
    pub fn narrow(&self) -> bool {
        self.tree != TreeFilter::None || self.meta.is_some() || self.temporal.is_some()
    }
}

/// Which trees a search, count or export looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeFilter {
    /// No filter: every tree, the root included (FILT-3).
    None,
    /// The tree itself and everything below it (FILT-5).
    Path(TreePath),
    /// A pattern over the labels from first to last.
    Lquery(Lquery),
    /// A Boolean expression over labels, wherever they stand.
    Ltxtquery(Ltxtquery),
}

impl TreeFilter {
    /// Reads a filter; blanks, `/`, `.` and the empty string are [`TreeFilter::None`] (FILT-2 to FILT-4).
    ///
    /// What the empty string means depends on the call (FILT-1): export takes it as no filter through this function,
    /// search and count refuse it through [`TreeFilter::parse_given`] and [`TreeFilter::parse_required`].
    ///
    /// # Errors
    /// `~` without a `home` is refused under `TREE-6`, a path that is too long under `TREE-2` or `TREE-3`, and a text
    /// that does not parse in its class, or that PostgreSQL could not hold, under `FILT-7`.
    pub fn parse(argument: &str, raw: &str, home: Option<&Home>) -> Result<Self, Invalid> {
        let text = normalize(&expand(argument, raw.trim(), home)?);
        let refuse = |class: &str, fault: String, hint: &str| {
            Invalid::new(
                argument,
                "FILT-7",
                format!("argument \"{argument}\" is no valid {class}: {fault}: {}", excerpt(raw)),
                hint,
            )
        };
        if text.is_empty() {
            return Ok(Self::None);
        }
        if is_path(&text) {
            return TreePath::parse(argument, &text, None).map(Self::Path);
        }
        if text.contains('&') {
            return Ltxtquery::parse(&text).map(Self::Ltxtquery).map_err(|fault| {
                refuse(
                    "Boolean filter (ltxtquery)",
                    fault,
                    "Join single labels with \"&\", \"|\" and \"!\", as in \"share & !draft\"; a path may not stand inside.",
                )
            });
        }
        Lquery::parse(&text).map(Self::Lquery).map_err(|fault| {
            refuse(
                "tree pattern (lquery)",
                fault,
                "Give a path such as \"share/notes\", a pattern without blanks such as \"share/*/draft|old/*{1,2}\", or \
                 labels joined with \"&\".",
            )
        })
    }

    /// Reads a filter that, once given, may not be the empty string: that of a search (FILT-1).
    ///
    /// # Errors
    /// `""` is refused under `FILT-1`, and everything that [`TreeFilter::parse`] refuses.
    pub fn parse_given(argument: &str, raw: &str, home: Option<&Home>) -> Result<Self, Invalid> {
        if raw.is_empty() {
            return Err(empty(argument, "FILT-1", raw));
        }
        Self::parse(argument, raw, home)
    }

    /// Reads a filter that must say something: that of a count (CNT-3).
    ///
    /// # Errors
    /// `""` is refused under `FILT-1`, a text that amounts to no filter under `CNT-3`, and everything that
    /// [`TreeFilter::parse`] refuses.
    pub fn parse_required(argument: &str, raw: &str, home: Option<&Home>) -> Result<Self, Invalid> {
        match Self::parse_given(argument, raw, home)? {
            Self::None => Err(empty(argument, "CNT-3", raw)),
            filter => Ok(filter),
        }
    }

    /// The smallest subtree that holds everything the filter can match.
    pub fn subtree(&self) -> TreePath {
        match self {
            Self::None | Self::Ltxtquery(_) => TreePath::root(),
            Self::Path(tree) => tree.clone(),
            Self::Lquery(query) => query.fixed_start(),
        }
    }

    /// Whether a tree passes: Appendix B, in time proportional to the sizes of filter and tree multiplied.
    pub fn matches(&self, tree: &TreePath) -> bool {
        match self {
            Self::None => true,
            Self::Path(root) => root.contains(tree),
            Self::Lquery(query) => query.matches_tree(tree),
            Self::Ltxtquery(query) => query.matches(&tree.labels().collect::<Vec<_>>()),
        }
    }
}

/// Whether a filter text is empty or white space alone.
pub fn is_blank(raw: &str) -> bool {
    raw.trim().is_empty()
}

fn empty(argument: &str, rule: &'static str, raw: &str) -> Invalid {
    Invalid::new(
        argument,
        rule,
        format!("argument \"{argument}\" names no tree: {}", excerpt(raw)),
        "Name a tree such as \"share/notes\"; \"*\" stands for everything.",
    )
}

/// Puts the caller's home in the place of a `~` in front; elsewhere no `~` is a label character (FILT-2, FILT-8).
fn expand<'a>(argument: &str, text: &'a str, home: Option<&Home>) -> Result<Cow<'a, str>, Invalid> {
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '.']) => {
            let home = TreePath::parse(argument, "~", home)?;
            Ok(Cow::Owned(format!("{}{rest}", home.as_dotted())))
        }
        _ => Ok(Cow::Borrowed(text)),
    }
}

/// Turns slashes to dots, runs of dots to one, and strips dots at both ends (FILT-2).
fn normalize(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    for piece in text.split(['/', '.']).filter(|piece| !piece.is_empty()) {
        if !normalized.is_empty() {
            normalized.push('.');
        }
        normalized.push_str(piece);
    }
    normalized
}

/// Whether a normalized text consists of labels alone (FILT-4); their length is for [`TreePath`] to judge.
fn is_path(normalized: &str) -> bool {
    normalized.chars().all(|found| found == '.' || label::is_label_character(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn home() -> Home {
        Home::of([0x01; 16])
    }

    fn parse(raw: &str) -> Result<TreeFilter, Invalid> {
        TreeFilter::parse("tree", raw, Some(&home()))
    }

    fn tree(dotted: &str) -> TreePath {
        TreePath::from_dotted(dotted).unwrap()
    }

    #[test]
    fn a_text_is_classified_by_its_characters() {
        assert!(matches!(parse(" share/p. "), Ok(TreeFilter::Path(path)) if path == tree("share.p")));
        assert!(
            matches!(parse("/share//p*/"), Ok(TreeFilter::Lquery(query)) if query.as_str() == "share.p*")
        );
        assert!(
            matches!(parse("api & !v2"), Ok(TreeFilter::Ltxtquery(query)) if query.as_str() == "api&!v2")
        );
        assert!(matches!(parse("a*&b"), Ok(TreeFilter::Ltxtquery(_))), "& outweighs *");
    }

    #[test]
    fn a_text_without_labels_is_no_filter() {
        for raw in ["", "/", ".", "   ", "//", "./.", "\t\n", " / "] {
            assert_eq!(parse(raw), Ok(TreeFilter::None), "{raw:?}");
        }
        assert!(is_blank(" \n") && !is_blank("/"));
    }

    #[test]
    fn the_empty_string_is_refused_where_a_filter_is_given_and_blanks_where_one_is_required() {
        assert_eq!(TreeFilter::parse_given("tree", "", None).unwrap_err().rule, "FILT-1");
        assert_eq!(TreeFilter::parse_given("tree", " ", None), Ok(TreeFilter::None));
        for raw in ["/", "   ", "."] {
            assert_eq!(TreeFilter::parse_required("tree", raw, None).unwrap_err().rule, "CNT-3", "{raw:?}");
        }
        assert!(TreeFilter::parse_required("tree", "*", None).is_ok());
    }

    #[test]
    fn the_home_is_expanded_in_front_alone() {
        let own = home().tree();
        for raw in ["~", " ~ ", "~/", "~."] {
            assert_eq!(parse(raw), Ok(TreeFilter::Path(own.clone())), "{raw:?}");
        }
        assert!(parse("~/notes/*").unwrap().matches(&tree(&format!("{}.notes", own.as_dotted()))));
        for raw in ["*/~/x", "a/~", "/~", "~a", "~|~", "~*", "~ & a", "~ "] {
            assert_eq!(parse(raw).is_err(), raw.trim() != "~", "{raw:?}");
        }
    }

    #[test]
    fn a_tilde_without_a_home_is_refused() {
        for raw in ["~", "~/x", "~.*"] {
            assert_eq!(TreeFilter::parse("tree", raw, None).unwrap_err().rule, "TREE-6", "{raw:?}");
        }
    }

    #[test]
    fn what_does_not_parse_in_its_class_is_refused_with_its_argument_and_text() {
        for raw in
            ["~|~", "share/a&&b", "a b", "!", "a/*{3,1}", "api | v2", "share/a & b", "/ /", "é", "a\0b"]
        {
            let refusal = parse(raw).unwrap_err();
            assert_eq!((refusal.rule, refusal.argument.as_str()), ("FILT-7", "tree"), "{raw:?}");
            assert!(refusal.message.contains(&excerpt(raw)), "{refusal}");
        }
    }

    #[test]
    fn a_path_beyond_the_limits_is_refused() {
        assert_eq!(parse(&"a".repeat(1001)).unwrap_err().rule, "TREE-2");
        assert_eq!(parse(&"a/".repeat(1001)).unwrap_err().rule, "TREE-3");
    }

    /// The trees and counts of the conformance cases.
    #[test]
    fn the_counts_of_the_conformance_cases_hold() {
        let trees = [
            "share.p",
            "share.p.a",
            "share.p.a.deep",
            "share.px",
            "share.q.api",
            "share.q.api.v2",
            "share.q.draft",
            "other",
        ]
        .map(tree);
        for (raw, expected) in [
            ("share.p", 3),
            ("share/p", 3),
            ("share/p/*{1}", 1),
            ("share/p/*{0}", 1),
            ("share/p/*", 3),
            ("share/p/*{1,}", 2),
            ("*/api/*", 2),
            ("api & !v2", 1),
            ("share/p*/*", 4),
            ("SHARE@/*{1}", 2),
            ("other|none", 1),
            ("*/!draft/*", 8),
            ("share/p|q/*{1}", 3),
            ("share & !draft", 6),
            ("share/!p/*", 4),
            ("Share", 0),
            ("*", 8),
            ("/", 8),
        ] {
            let filter = parse(raw).unwrap();
            assert_eq!(trees.iter().filter(|tree| filter.matches(tree)).count(), expected, "{raw}");
        }
    }

    #[test]
    fn the_root_is_matched_by_filters_that_ask_for_no_label() {
        for (raw, expected) in [
            ("*", true),
            ("*{0}", true),
            ("*{1}", false),
            ("*/!x/*", false),
            ("!a & !b", true),
            ("a & !b", false),
        ] {
            assert_eq!(parse(raw).unwrap().matches(&TreePath::root()), expected, "{raw}");
        }
        assert!(TreeFilter::None.matches(&TreePath::root()));
        assert!(!parse("share").unwrap().matches(&TreePath::root()));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics_and_what_is_printed_reads_the_same(raw in r"(?s).{0,20}|[ab.*!{}0-9,|&()@%_ /~]{0,20}") {
            match parse(&raw) {
                Ok(TreeFilter::Path(path)) => {
                    prop_assert_eq!(parse(path.as_dotted()), Ok(TreeFilter::Path(path.clone())));
                }
                Ok(TreeFilter::Lquery(query)) => {
                    let printed = Lquery::parse(query.as_str());
                    prop_assert_eq!(printed, Ok(query));
                }
                Ok(TreeFilter::Ltxtquery(query)) => {
                    let printed = Ltxtquery::parse(query.as_str());
                    prop_assert_eq!(printed, Ok(query));
                }
                _ => {}
            }
        }

        #[test]
        fn a_path_and_its_pattern_with_a_star_match_the_same(path in "[ab]{1,2}(\\.[ab]{1,2}){0,2}", other in "[ab]{1,2}(\\.[ab]{1,2}){0,4}") {
            let pattern = parse(&format!("{path}.*")).unwrap();
            prop_assert_eq!(parse(&path).unwrap().matches(&tree(&other)), pattern.matches(&tree(&other)));
        }
    }
}
