//! Where a memory is: tree paths, homes and memory paths, parsed from what callers write and printed for them again.
//!
//! A tree has three spellings. The *internal* form joins labels by dots and is what tables, hashes and access checks
//! hold (TREE-8). The *display* form joins them by slashes and abbreviates the caller's home (TREE-9). The *input* form
//! takes both separators, mixed (TREE-5).

use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::limits::{LABEL_CHARS, TREE_BYTES, TREE_STORED_BYTES};
use crate::domain::memory::Name;
use std::cmp::Ordering;
use std::fmt::Write;

/// The first label of every home (HOME-1).
const HOME: &str = "home";
/// What abbreviates the caller's home, on input and output (HOME-1).
const TILDE: &str = "~";

/// The home of a principal: the tree `home.<32 hex digits of its id>` (HOME-1).
///
/// A service account and a reader without registration have none, so functions take `Option<&Home>` (HOME-2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Home {
    label: String,
}

impl Home {
    /// The home of the principal with this id.
    pub fn of(id: [u8; 16]) -> Self {
        Self { label: format!("{:032x}", u128::from_be_bytes(id)) }
    }

    /// The home of this label; only its right form is one.
    pub fn from_label(label: &str) -> Option<Self> {
        let right = label.len() == 32 && label.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        right.then(|| Self { label: label.to_owned() })
    }

    /// The label below `home`: 32 lower-case hexadecimal digits.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The home as a tree.
    pub fn tree(&self) -> TreePath {
        TreePath(format!("{HOME}.{}", self.label))
    }
}

/// A concrete tree path in its internal form (TREE-1, TREE-8).
///
/// The order is TREE-11: label by label, so that a tree comes right before what is below it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TreePath(String);

impl TreePath {
    /// The root: no labels.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Reads a tree where the root may be written `""`, `/` or `.` (TREE-4, TREE-5, TREE-6).
    ///
    /// # Errors
    /// A foreign character is refused under `TREE-4`, a misplaced `~` or one without a `home` under `TREE-6`, a label
    /// that is too long under `TREE-2`, and a dotted form that is too long under `TREE-3`.
    pub fn parse(argument: &str, raw: &str, home: Option<&Home>) -> Result<Self, Invalid> {
        check_characters(argument, raw)?;
        Self::normalize(argument, raw, home)
    }

    /// Reads a tree where one must be given: `""` is refused, and the root is written `/` (TREE-7).
    ///
    /// # Errors
    /// `""` is refused under `TREE-7`, and everything that [`TreePath::parse`] refuses.
    pub fn parse_required(argument: &str, raw: &str, home: Option<&Home>) -> Result<Self, Invalid> {
        if raw.is_empty() {
            return Err(Invalid::new(
                argument,
                "TREE-7",
                format!("argument \"{argument}\" is empty: \"\""),
                "Name a tree such as \"share/notes\"; the root is written \"/\".",
            ));
        }
        Self::parse(argument, raw, home)
    }

    /// Takes an internal form as it is stored, or `None` if it is not exactly one, limits included.
    pub fn from_dotted(dotted: &str) -> Option<Self> {
        let valid = dotted.is_empty()
            || dotted.len() <= TREE_BYTES
                && stored_bytes(dotted) <= TREE_STORED_BYTES
                && dotted
                    .split('.')
                    .all(|label| (1..=LABEL_CHARS).contains(&label.len()) && label.chars().all(in_label));
        valid.then(|| Self(dotted.to_owned()))
    }

    /// The internal form: labels joined by `.`, the root as `""` (TREE-8).
    pub fn as_dotted(&self) -> &str {
        &self.0
    }

    /// The display form for a caller with this home (TREE-9).
    ///
    /// Without a home it never uses `~`, which makes it the form for links that any reader follows (META-6).
    pub fn display(&self, home: Option<&Home>) -> String {
        let own = home.and_then(|home| self.below(&home.tree()));
        let (start, labels) = match own {
            Some("") => return TILDE.to_owned(),
            Some(rest) => ("~/", rest),
            None => ("/", self.0.as_str()),
        };
        format!("{start}{}", labels.replace('.', "/"))
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The tree one label up, or `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let above = self.0.rsplit_once('.').map_or("", |(above, _)| above);
        Some(Self(above.to_owned()))
    }

    /// The labels from the top; the root has none.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        // Only the root yields an empty piece: labels are never empty.
        self.0.split('.').filter(|label| !label.is_empty())
    }

    /// The number of labels.
    pub fn depth(&self) -> usize {
        self.labels().count()
    }

    /// The tree of the first `depth` labels, or this one if it has no more.
    pub fn first(&self, depth: usize) -> Self {
        let end = match depth.checked_sub(1) {
            None => 0,
            Some(dots) => self.0.match_indices('.').nth(dots).map_or(self.0.len(), |(at, _)| at),
        };
        Self(self.0.get(..end).unwrap_or_default().to_owned())
    }

    /// Whether `other` is this tree or lies below it.
    pub fn contains(&self, other: &Self) -> bool {
        other.below(self).is_some()
    }

    /// The same place below `to` that this tree has below `from`, or `None` if it does not lie there.
    ///
    /// The result may be longer than a tree may be: [`TreePath::check_size`] it before it is stored.
    pub fn rebase(&self, from: &Self, to: &Self) -> Option<Self> {
        let rest = self.below(from)?;
        let dot = if rest.is_empty() || to.is_root() { "" } else { "." };
        Some(Self(format!("{}{dot}{rest}", to.0)))
    }

    /// Refuses a tree that is too long to be stored and indexed: in its internal form, or in labels.
    ///
    /// # Errors
    /// The refusal, under `TREE-3`, states the size and the limit.
    pub fn check_size(&self, argument: &str) -> Result<(), Invalid> {
        let bytes = self.0.len();
        if bytes > TREE_BYTES {
            return Err(Invalid::new(
                argument,
                "TREE-3",
                format!(
                    "argument \"{argument}\" makes a tree of {bytes} bytes, more than the limit of {TREE_BYTES}: {}",
                    excerpt(&self.0)
                ),
                "Use fewer or shorter labels.",
            ));
        }
        let stored = stored_bytes(&self.0);
        if stored > TREE_STORED_BYTES {
            return Err(Invalid::new(
                argument,
                "TREE-3",
                format!(
                    "argument \"{argument}\" makes a tree of {} labels that takes {stored} bytes, more than the limit of \
                     {TREE_STORED_BYTES}: {}",
                    self.depth(),
                    excerpt(&self.0)
                ),
                "Use fewer labels: each takes its length and 2 bytes, rounded up to 8.",
            ));
        }
        Ok(())
    }

    /// Whether every tree of up to `bytes` bytes and `labels` labels below `source` surely fits below `destination`.
    ///
    /// A no is no refusal yet: each tree has to be looked at.
    pub fn surely_fits(bytes: usize, labels: usize, source: &Self, destination: &Self) -> bool {
        let bytes = (bytes + 1 + destination.0.len()).saturating_sub(source.0.len());
        let labels = (labels + destination.depth()).saturating_sub(source.depth());
        // Rounding adds up to 7 bytes a label.
        bytes <= TREE_BYTES && STORED_HEADER + bytes + 9 * labels <= TREE_STORED_BYTES
    }

    /// The labels of this tree under `ancestor`, dotted; `""` if the two are the same.
    fn below(&self, ancestor: &Self) -> Option<&str> {
        if ancestor.is_root() {
            return Some(&self.0);
        }
        match self.0.strip_prefix(&ancestor.0)? {
            "" => Some(""),
            rest => rest.strip_prefix('.'),
        }
    }

    /// Splits, expands `~` and measures text that passed the gate.
    fn normalize(argument: &str, raw: &str, home: Option<&Home>) -> Result<Self, Invalid> {
        let mut dotted = String::new();
        let pieces = raw.split(['/', '.']).filter(|piece| !piece.is_empty());
        for (at, piece) in pieces.enumerate() {
            if at > 0 {
                dotted.push('.');
            }
            if piece == TILDE && at == 0 {
                let home = home.ok_or_else(|| homeless(argument, raw))?;
                // Writing to a string cannot fail.
                let _ = write!(dotted, "{HOME}.{}", home.label);
                continue;
            }
            if piece.contains(TILDE) {
                return Err(Invalid::new(
                    argument,
                    "TREE-6",
                    format!(
                        "argument \"{argument}\" has \"~\" elsewhere than as its first label: {}",
                        excerpt(raw)
                    ),
                    "Write \"~\" only in front, as in \"~\" or \"~/notes\".",
                ));
            }
            // The gate left only ASCII, so bytes are characters.
            if piece.len() > LABEL_CHARS {
                return Err(Invalid::new(
                    argument,
                    "TREE-2",
                    format!(
                        "argument \"{argument}\" has a label of {} characters, more than the limit of {LABEL_CHARS}: {}",
                        piece.len(),
                        excerpt(piece)
                    ),
                    "Shorten the label.",
                ));
            }
            dotted.push_str(piece);
        }
        let tree = Self(dotted);
        tree.check_size(argument)?;
        Ok(tree)
    }
}

/// What `ltree` keeps besides the labels.
const STORED_HEADER: usize = 8;

/// The size of a dotted tree as `ltree` stores it.
fn stored_bytes(dotted: &str) -> usize {
    let labels = dotted.split('.').filter(|label| !label.is_empty());
    STORED_HEADER + labels.map(|label| (label.len() + 2).next_multiple_of(8)).sum::<usize>()
}

impl Ord for TreePath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.labels().cmp(other.labels())
    }
}

impl PartialOrd for TreePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The human address of a memory: a tree and a name in it (PATH-1, NAME-6).
///
/// The order is by tree (TREE-11), then by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryPath {
    tree: TreePath,
    name: Name,
}

impl MemoryPath {
    /// The address of `name` in `tree`.
    pub fn new(tree: TreePath, name: Name) -> Self {
        Self { tree, name }
    }

    /// Reads `tree/name`, split at the last `/`; without one, the whole is a name in the root (PATH-1 to PATH-4).
    ///
    /// # Errors
    /// `""` is refused under `PATH-1`, a foreign character under `TREE-4`, a last part that is no name under `PATH-2`,
    /// and a tree as [`TreePath::parse`] refuses it.
    pub fn parse(argument: &str, raw: &str, home: Option<&Home>) -> Result<Self, Invalid> {
        if raw.is_empty() {
            return Err(Invalid::new(
                argument,
                "PATH-1",
                format!("argument \"{argument}\" is empty: \"\""),
                "Give the tree and the name of a memory, as in \"share/notes/plan.md\".",
            ));
        }
        check_characters(argument, raw)?;
        let (tree, leaf) = raw.rsplit_once('/').unwrap_or(("", raw));
        let Ok(name) = Name::parse(argument, leaf) else {
            return Err(Invalid::new(
                argument,
                "PATH-2",
                format!("argument \"{argument}\" does not end in the name of a memory: {}", excerpt(raw)),
                "End the path with \"/\" and a name that starts with a letter or digit and has at most 128 characters.",
            ));
        };
        let tree = TreePath::normalize(argument, tree, home)?;
        Ok(Self { tree, name })
    }

    /// The tree the memory is in.
    pub fn tree(&self) -> &TreePath {
        &self.tree
    }

    /// The name of the memory.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The display form for a caller with this home: `/share/plan.md`, `~/todo`, `/readme` in the root.
    ///
    /// Without a home it is the canonical link form of META-6.
    pub fn display(&self, home: Option<&Home>) -> String {
        let tree = self.tree.display(home);
        let slash = if tree.ends_with('/') { "" } else { "/" };
        format!("{tree}{slash}{}", self.name)
    }
}

/// The shape gate that trees and memory paths share (TREE-4).
fn check_characters(argument: &str, raw: &str) -> Result<(), Invalid> {
    match raw.chars().find(|&character| !in_label(character) && !matches!(character, '~' | '.' | '/')) {
        None => Ok(()),
        Some(bad) => Err(Invalid::new(
            argument,
            "TREE-4",
            format!("argument \"{argument}\" contains {bad:?}, which no path may hold: {}", excerpt(raw)),
            "Use letters A–Z and a–z, digits, \"_\" and \"-\", with \"/\" or \".\" between labels and \"~\" for your home.",
        )),
    }
}

fn in_label(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn homeless(argument: &str, raw: &str) -> Invalid {
    Invalid::new(
        argument,
        "TREE-6",
        format!("argument \"{argument}\" uses \"~\", but the caller has no home: {}", excerpt(raw)),
        "Write the tree in full: a service account or a reader without registration has no home.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEX: &str = "0190a1b200007000800000000000000f";

    fn home() -> Home {
        Home::of(0x0190_a1b2_0000_7000_8000_0000_0000_000f_u128.to_be_bytes())
    }

    fn tree(raw: &str) -> TreePath {
        TreePath::parse("tree", raw, Some(&home())).unwrap()
    }

    fn refused(raw: &str) -> &'static str {
        TreePath::parse("tree", raw, Some(&home())).unwrap_err().rule
    }

    fn path(raw: &str) -> Result<MemoryPath, Invalid> {
        MemoryPath::parse("path", raw, Some(&home()))
    }

    #[test]
    fn slashes_and_dots_are_one_separator_in_any_number() {
        for raw in ["/a/b", "a/b", "a.b", "a//b", "/a.b/", ".a..b.", "/a/./b/"] {
            assert_eq!(tree(raw).as_dotted(), "a.b", "{raw}");
            assert_eq!(tree(raw).display(None), "/a/b", "{raw}");
        }
        assert_eq!(tree("/a.b/c").as_dotted(), "a.b.c");
        assert_eq!(tree("b/a").as_dotted(), "b.a", "order is kept");
    }

    #[test]
    fn nothing_but_separators_is_the_root() {
        for raw in ["", "/", ".", "//", "..", "/.//"] {
            assert_eq!(tree(raw), TreePath::root(), "{raw:?}");
            assert!(tree(raw).is_root());
        }
        assert_eq!(TreePath::root().display(Some(&home())), "/");
        assert_eq!(TreePath::root().as_dotted(), "");
    }

    #[test]
    fn a_required_tree_is_a_string_that_is_not_empty() {
        let refusal = TreePath::parse_required("tree", "", None).unwrap_err();
        assert_eq!(refusal.rule, "TREE-7");
        for raw in ["/", ".", "//"] {
            assert!(TreePath::parse_required("tree", raw, None).unwrap().is_root());
        }
        assert_eq!(TreePath::parse_required("source", "a b", None).unwrap_err().rule, "TREE-4");
    }

    #[test]
    fn labels_hold_ascii_letters_digits_underscores_and_hyphens_in_their_case() {
        for (raw, shown) in
            [("my-proj/notes_2", "/my-proj/notes_2"), ("_x/-y", "/_x/-y"), ("A/a", "/A/a"), ("7", "/7")]
        {
            assert_eq!(tree(raw).display(None), shown);
        }
        assert_ne!(tree("A"), tree("a"));
    }

    #[test]
    fn foreign_characters_are_refused_and_named() {
        for raw in [
            "a b",
            "a/*",
            "a,b",
            "\u{e9}t\u{e9}",
            "a&b",
            "a\\b",
            "a@",
            "a\n",
            "\0",
            "a!",
            "a|b",
            "a{1}",
            "\u{ff0f}a",
        ] {
            assert_eq!(refused(raw), "TREE-4", "{raw:?}");
        }
        let refusal = TreePath::parse("destination", "a/*", None).unwrap_err();
        assert_eq!(refusal.argument, "destination");
        assert!(refusal.message.contains("'*'") && refusal.message.contains("\"a/*\""), "{refusal}");
    }

    #[test]
    fn a_label_holds_1000_characters() {
        assert!(TreePath::parse("tree", &"x".repeat(1000), None).is_ok());
        assert_eq!(refused(&"x".repeat(1001)), "TREE-2");
        assert_eq!(refused(&format!("a/{}", "x".repeat(1001))), "TREE-2");
    }

    #[test]
    fn the_dotted_form_holds_2000_bytes_and_the_refusal_states_size_and_limit() {
        let label = "a".repeat(999);
        assert_eq!(tree(&format!("{label}/{label}")).as_dotted().len(), 1999);
        assert!(TreePath::parse("tree", &format!("{label}/{label}b"), None).is_ok());
        let refusal = TreePath::parse("tree", &format!("{label}b/{label}b"), None).unwrap_err();
        assert_eq!(refusal.rule, "TREE-3");
        assert!(refusal.message.contains("2001") && refusal.message.contains("2000"), "{refusal}");
        assert_eq!(refused(&"a/".repeat(65_536)), "TREE-3");
        assert_eq!(tree(&"/".repeat(100_000)), TreePath::root(), "separators take no room");
    }

    #[test]
    fn the_size_is_that_of_the_expanded_home() {
        let rest = "/abc".repeat(495);
        assert_eq!(refused(&format!("~{rest}")), "TREE-3");
    }

    #[test]
    fn the_tilde_is_the_whole_first_label_or_refused() {
        for (raw, dotted) in [
            ("~", format!("home.{HEX}")),
            ("~/x", format!("home.{HEX}.x")),
            ("~.x", format!("home.{HEX}.x")),
            ("/~/deep", format!("home.{HEX}.deep")),
        ] {
            assert_eq!(tree(raw).as_dotted(), dotted);
        }
        for raw in ["a/~", "a/~/b", "~a", "a~b", "~~", "~/~", "~x/y", "a.~"] {
            assert_eq!(refused(raw), "TREE-6", "{raw}");
        }
    }

    #[test]
    fn a_caller_without_a_home_has_no_tilde() {
        for raw in ["~", "~/x", "~.x", "a/~"] {
            assert_eq!(TreePath::parse("tree", raw, None).unwrap_err().rule, "TREE-6", "{raw}");
        }
        let refusal = TreePath::parse("tree", "~/x", None).unwrap_err();
        assert!(refusal.message.contains("no home"), "{refusal}");
        assert!(refusal.hint.contains("registration"), "{}", refusal.hint);
        assert_eq!(home().tree().display(None), format!("/home/{HEX}"));
    }

    #[test]
    fn a_home_is_named_by_32_lower_case_digits() {
        assert_eq!(home().label(), HEX);
        assert_eq!(home().tree().as_dotted(), format!("home.{HEX}"));
        assert_eq!(Home::of([0; 16]).label().len(), 32);
    }

    #[test]
    fn the_own_home_is_displayed_as_a_tilde_and_no_other() {
        let own = home();
        assert_eq!(tree("~").display(Some(&own)), "~");
        assert_eq!(tree("~/x.y").display(Some(&own)), "~/x/y");
        assert_eq!(tree(&format!("home/{HEX}/x")).display(Some(&own)), "~/x");
        assert_eq!(tree(&format!("home/{HEX}0/x")).display(Some(&own)), format!("/home/{HEX}0/x"));
        assert_eq!(tree("home/someone/x").display(Some(&own)), "/home/someone/x");
        assert_eq!(tree("home").display(Some(&own)), "/home");
        let upper = HEX.to_uppercase();
        assert_eq!(tree(&format!("home/{upper}")).display(Some(&own)), format!("/home/{upper}"));
        let stranger = Home::of([7; 16]);
        assert_eq!(tree("~/x").display(Some(&stranger)), format!("/home/{HEX}/x"));
    }

    #[test]
    fn home_is_an_ordinary_label() {
        assert_eq!(tree("home/x").as_dotted(), "home.x");
        assert_eq!(tree("share").as_dotted(), "share");
    }

    #[test]
    fn trees_are_ordered_label_by_label() {
        let ordered = ["/", "/A", "/a", "/a/b", "/a/b/c", "/a/ba", "/a-b", "/a_b", "/ab", "/b"];
        let mut trees: Vec<TreePath> = ordered.iter().rev().map(|raw| tree(raw)).collect();
        trees.sort();
        let shown: Vec<String> = trees.iter().map(|tree| tree.display(None)).collect();
        assert_eq!(shown, ordered);
    }

    #[test]
    fn only_a_stored_form_is_taken_as_one() {
        for dotted in ["", "a", "a.b-c._d", &"x".repeat(1000)] {
            assert_eq!(TreePath::from_dotted(dotted).unwrap().as_dotted(), dotted);
        }
        for dotted in
            [".", "a.", ".a", "a..b", "a/b", "~", "a b", "\u{e9}", &"x".repeat(1001), &"ab.".repeat(667)]
        {
            assert_eq!(TreePath::from_dotted(dotted), None, "{dotted:?}");
        }
        let longest = vec!["a".repeat(999); 2].join(".");
        assert!(TreePath::from_dotted(&longest).is_some());
        assert_eq!(TreePath::from_dotted(&format!("{longest}.a")), None);
    }

    #[test]
    fn parents_lead_to_the_root() {
        assert_eq!(tree("a/b/c").parent(), Some(tree("a/b")));
        assert_eq!(tree("a").parent(), Some(TreePath::root()));
        assert_eq!(TreePath::root().parent(), None);
    }

    #[test]
    fn depth_is_the_number_of_labels() {
        assert_eq!(TreePath::root().depth(), 0);
        assert_eq!(tree("a/b").labels().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(tree("a/b").depth(), 2);
    }

    #[test]
    fn a_tree_contains_itself_and_what_is_below_it() {
        assert!(tree("a").contains(&tree("a")));
        assert!(tree("a").contains(&tree("a/b/c")));
        assert!(!tree("a").contains(&tree("ab")));
        assert!(!tree("a").contains(&tree("a-b")));
        assert!(!tree("a/b").contains(&tree("a")));
        assert!(TreePath::root().contains(&tree("a")));
        assert!(TreePath::root().contains(&TreePath::root()));
        assert!(!tree("a").contains(&TreePath::root()));
    }

    #[test]
    fn rebasing_keeps_the_place_below() {
        let moved = |what: &str, from: &str, to: &str| {
            tree(what).rebase(&tree(from), &tree(to)).map(|tree| tree.display(None))
        };
        assert_eq!(moved("a/x/y", "a", "b/c").as_deref(), Some("/b/c/x/y"));
        assert_eq!(moved("a", "a", "b").as_deref(), Some("/b"));
        assert_eq!(moved("a/b", "a", "a/b").as_deref(), Some("/a/b/b"));
        assert_eq!(moved("a/x", "a", "/").as_deref(), Some("/x"));
        assert_eq!(moved("a", "a", "/").as_deref(), Some("/"));
        assert_eq!(moved("x", "/", "a").as_deref(), Some("/a/x"));
        assert_eq!(moved("/", "/", "a").as_deref(), Some("/a"));
        assert_eq!(moved("ab", "a", "b"), None);
        assert_eq!(moved("/", "a", "b"), None);
    }

    #[test]
    fn a_rebased_tree_that_grew_too_long_is_refused_by_its_size_check() {
        let long = tree(&format!("{}/", "a".repeat(999)).repeat(2));
        let grown = long.rebase(&TreePath::root(), &tree("b")).unwrap();
        assert_eq!(grown.check_size("destination").unwrap_err().rule, "TREE-3");
        assert!(long.check_size("destination").is_ok());
    }

    #[test]
    fn a_memory_path_splits_at_its_last_slash() {
        for (raw, dotted, name) in [
            ("/share/ops/backup-plan", "share.ops", "backup-plan"),
            ("share.ops/x", "share.ops", "x"),
            ("share//ops/x", "share.ops", "x"),
            ("share/ops//x", "share.ops", "x"),
            ("share/ops/v1.2.md", "share.ops", "v1.2.md"),
            ("/x", "", "x"),
            ("readme.txt", "", "readme.txt"),
            ("a.b.c", "", "a.b.c"),
            ("a.b./c", "a.b", "c"),
        ] {
            let found = path(raw).unwrap();
            assert_eq!((found.tree().as_dotted(), found.name().as_str()), (dotted, name), "{raw}");
        }
        assert_eq!(path("~/todo").unwrap().tree(), &home().tree());
    }

    #[test]
    fn a_memory_path_ends_in_a_name() {
        for raw in ["share/ops/", "/", "share/.x", "share/-x", "share/_x", "share/~x", "~", "a/~", ".x", ".."]
        {
            assert_eq!(path(raw).unwrap_err().rule, "PATH-2", "{raw}");
        }
        assert_eq!(path(&format!("a/{}", "n".repeat(129))).unwrap_err().rule, "PATH-2");
    }

    #[test]
    fn a_memory_path_passes_the_gate_and_is_not_empty() {
        assert_eq!(path("").unwrap_err().rule, "PATH-1");
        for raw in ["share/a b", "share/*", "\u{e9}/x", "a/x\n"] {
            assert_eq!(path(raw).unwrap_err().rule, "TREE-4", "{raw:?}");
        }
        assert_eq!(path("a/~/x").unwrap_err().rule, "TREE-6");
        assert_eq!(MemoryPath::parse("path", "~/x", None).unwrap_err().rule, "TREE-6");
        assert_eq!(path(&format!("{}x", "a/".repeat(1001))).unwrap_err().rule, "TREE-3");
    }

    #[test]
    fn a_memory_path_is_displayed_with_one_slash_before_the_name() {
        let own = home();
        for (raw, shown) in [("a.b/n", "/a/b/n"), ("n", "/n"), ("~/n", "~/n"), ("~/x/n.md", "~/x/n.md")] {
            assert_eq!(path(raw).unwrap().display(Some(&own)), shown);
        }
        assert_eq!(path("~/n").unwrap().display(None), format!("/home/{HEX}/n"), "links never use ~");
        let name = Name::parse("name", "n").unwrap();
        assert_eq!(MemoryPath::new(tree("a"), name), path("a/n").unwrap());
    }

    #[test]
    fn many_short_labels_take_more_room_than_their_characters() {
        let labels = |count: usize| vec!["a"; count].join("/");
        assert!(TreePath::parse("tree", &labels(252), None).is_ok());
        let refusal = TreePath::parse("tree", &labels(253), None).unwrap_err();
        assert_eq!(refusal.rule, "TREE-3");
        assert!(refusal.message.contains("253 labels") && refusal.message.contains("2032"), "{refusal}");
        assert_eq!(TreePath::from_dotted(&labels(253).replace('/', ".")), None);
    }

    #[test]
    fn the_first_labels_of_a_tree_are_a_tree() {
        let tree = TreePath::from_dotted("a.bb.c").unwrap();
        for (depth, dotted) in [(0, ""), (1, "a"), (2, "a.bb"), (3, "a.bb.c"), (9, "a.bb.c")] {
            assert_eq!(tree.first(depth).as_dotted(), dotted);
        }
        assert!(TreePath::root().first(2).is_root());
    }

    fn labels() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec("[A-Za-z0-9_-]{1,5}", 0..6)
    }

    /// Trees in which a home is likely, the caller's or another.
    fn trees() -> impl Strategy<Value = TreePath> {
        (prop_oneof![Just(""), Just("~/"), Just("home/")], labels())
            .prop_map(|(start, labels)| tree(&format!("{start}{}", labels.join("/"))))
    }

    proptest! {
        #[test]
        fn what_surely_fits_fits(tree in trees(), source_depth in 0usize..4, destination in "[a-z]{1,3}(\\.[a-z]{1,9}){0,290}") {
            let (source, destination) = (tree.first(source_depth), TreePath(destination));
            if TreePath::surely_fits(tree.as_dotted().len(), tree.depth(), &source, &destination) {
                prop_assert!(tree.rebase(&source, &destination).unwrap().check_size("t").is_ok());
            }
        }

        #[test]
        fn what_is_displayed_parses_to_the_same_tree(tree in trees()) {
            let own = home();
            for home in [Some(&own), None] {
                let shown = tree.display(home);
                prop_assert_eq!(&TreePath::parse("tree", &shown, home).unwrap(), &tree);
                prop_assert!(!shown.contains("//") && !shown.contains('.'));
                prop_assert!(shown == "/" || !shown.ends_with('/'));
            }
            prop_assert_eq!(TreePath::from_dotted(tree.as_dotted()).unwrap(), tree);
        }

        #[test]
        fn a_displayed_memory_path_parses_to_the_same_path(tree in trees(), name in "[A-Za-z0-9][A-Za-z0-9._-]{0,9}") {
            let own = home();
            let path = MemoryPath::new(tree, Name::parse("name", &name).unwrap());
            for home in [Some(&own), None] {
                prop_assert_eq!(MemoryPath::parse("path", &path.display(home), home).unwrap(), path.clone());
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text: String) {
            let own = home();
            for home in [Some(&own), None] {
                let _ = MemoryPath::parse("path", &text, home);
                if let Ok(tree) = TreePath::parse("tree", &text, home) {
                    prop_assert_eq!(TreePath::from_dotted(tree.as_dotted()), Some(tree));
                }
            }
            let _ = TreePath::from_dotted(&text);
        }

        #[test]
        fn text_that_passes_the_gate_never_panics(text in "[Aa1_~./-]{0,12}") {
            let _ = path(&text);
            if let Ok(tree) = TreePath::parse("tree", &text, Some(&home())) {
                prop_assert!(TreePath::from_dotted(tree.as_dotted()).is_some());
            }
        }

        #[test]
        fn the_order_is_that_of_the_labels_and_agrees_with_containment(a in trees(), b in trees()) {
            let (left, right): (Vec<_>, Vec<_>) = (a.labels().collect(), b.labels().collect());
            prop_assert_eq!(a.cmp(&b), left.cmp(&right));
            prop_assert_eq!(a.contains(&b), right.starts_with(&left));
            prop_assert_eq!(a.cmp(&b) == Ordering::Equal, a == b);
        }

        #[test]
        fn rebasing_there_and_back_changes_nothing(rest in labels(), from in trees(), to in trees()) {
            let inside = tree(&rest.join("/")).rebase(&TreePath::root(), &from).unwrap();
            let moved = inside.rebase(&from, &to).unwrap();
            prop_assert!(to.contains(&moved));
            prop_assert_eq!(moved.rebase(&to, &from).unwrap(), inside);
        }
    }
}
