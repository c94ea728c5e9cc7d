//! Where to look: the trees a caller may read, cut down to those that a tree filter can match.
//!
//! A subtree is an interval in the order of trees (TREE-11), so one ordinary index over (space, tree) finds it.

use super::TreeFilter;
use crate::domain::limits::LABEL_CHARS;
use crate::domain::path::TreePath;

/// The characters of labels in the order of their bytes.
const SMALLEST: char = '-';

/// A set of disjoint subtrees, none inside another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// `None` is everything.
    subtrees: Option<Vec<TreePath>>,
}

impl Scope {
    /// The subtrees at or below the readable `roots` (`None`: everything is readable) that `filter` can match in.
    ///
    /// Rows in them still have to pass a pattern; a path is used up by the scope.
    pub fn of(roots: Option<&[&TreePath]>, filter: &TreeFilter) -> Self {
        let wanted = filter.subtree();
        let Some(roots) = roots else {
            return Self { subtrees: (!wanted.is_root()).then(|| vec![wanted]) };
        };
        if roots.iter().any(|root| root.contains(&wanted)) {
            return Self { subtrees: (!wanted.is_root()).then(|| vec![wanted]) };
        }
        let inside = roots.iter().filter(|root| wanted.contains(root)).map(|root| (*root).clone()).collect();
        Self { subtrees: Some(inside) }
    }

    /// One subtree, readable as a whole.
    pub fn subtree(tree: &TreePath) -> Self {
        Self { subtrees: (!tree.is_root()).then(|| vec![tree.clone()]) }
    }

    /// Whether it is everything.
    pub fn is_everything(&self) -> bool {
        self.subtrees.is_none()
    }

    /// The subtrees, each as its first tree and the first tree after it, if there is one; `None` is everything.
    pub fn intervals(&self) -> Option<impl Iterator<Item = (&str, Option<String>)>> {
        self.subtrees.as_ref().map(|trees| trees.iter().map(|tree| (tree.as_dotted(), end(tree))))
    }

    /// Whether a tree lies in it.
    pub fn contains(&self, tree: &TreePath) -> bool {
        self.subtrees.as_ref().is_none_or(|subtrees| subtrees.iter().any(|subtree| subtree.contains(tree)))
    }

    /// The subtrees; `None` is everything.
    pub fn subtrees(&self) -> Option<&[TreePath]> {
        self.subtrees.as_deref()
    }

    /// The smallest tree of the smallest interval around the scope; `None` when it is open below.
    pub fn from(&self) -> Option<&str> {
        self.subtrees.as_ref()?.iter().min().map(TreePath::as_dotted)
    }

    /// The first tree after that interval; `None` when it is open above.
    pub fn to(&self) -> Option<String> {
        self.subtrees.as_ref()?.iter().max().and_then(end)
    }

    /// The subtrees, if the interval alone does not say it all: when they are several, or none.
    pub fn list(&self) -> Option<Vec<String>> {
        let subtrees = self.subtrees.as_ref().filter(|subtrees| subtrees.len() != 1)?;
        Some(subtrees.iter().map(|tree| tree.as_dotted().to_owned()).collect())
    }
}

/// The first tree after a tree and everything below it, in dotted form; `None` when nothing can follow.
pub fn end(tree: &TreePath) -> Option<String> {
    let dotted = tree.as_dotted();
    if dotted.is_empty() {
        return None;
    }
    let label_at = dotted.rfind('.').map_or(0, |at| at + 1);
    let (above, label) = dotted.split_at(label_at);
    if label.len() < LABEL_CHARS {
        return Some(format!("{dotted}{SMALLEST}"));
    }
    // Nothing longer exists: the next label is the one whose last character that can rise does.
    match label.char_indices().rev().find_map(|(at, found)| Some((at, next(found)?))) {
        Some((at, risen)) => Some(format!("{above}{}{risen}", label.get(..at)?)),
        None => tree.parent().and_then(|parent| end(&parent)),
    }
}

/// The label character after this one.
fn next(character: char) -> Option<char> {
    Some(match character {
        '-' => '0',
        '9' => 'A',
        'Z' => '_',
        '_' => 'a',
        'z' => return None,
        other => char::from_u32(u32::from(other) + 1)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(dotted: &str) -> TreePath {
        TreePath::from_dotted(dotted).unwrap()
    }

    fn filter(raw: &str) -> TreeFilter {
        TreeFilter::parse("tree", raw, None).unwrap()
    }

    fn parts(scope: &Scope) -> (Option<&str>, Option<String>, Option<Vec<String>>) {
        (scope.from(), scope.to(), scope.list())
    }

    #[test]
    fn without_a_filter_and_with_all_rights_the_scope_is_everything() {
        assert_eq!(parts(&Scope::of(None, &TreeFilter::None)), (None, None, None));
        assert_eq!(parts(&Scope::of(Some(&[&TreePath::root()]), &filter("*"))), (None, None, None));
        assert_eq!(parts(&Scope::subtree(&TreePath::root())), (None, None, None));
    }

    #[test]
    fn a_path_inside_a_readable_root_is_the_scope() {
        let expected = (Some("a.b"), Some("a.b-".to_owned()), None);
        assert_eq!(parts(&Scope::of(None, &filter("a/b"))), expected);
        assert_eq!(parts(&Scope::of(Some(&[&tree("a"), &tree("c")]), &filter("a/b"))), expected);
        assert_eq!(parts(&Scope::subtree(&tree("a.b"))), expected);
    }

    #[test]
    fn readable_roots_inside_a_path_are_the_scope() {
        let roots = [&tree("a.b"), &tree("a.c"), &tree("d")];
        assert_eq!(
            parts(&Scope::of(Some(&roots), &filter("a"))),
            (Some("a.b"), Some("a.c-".to_owned()), Some(vec!["a.b".to_owned(), "a.c".to_owned()]))
        );
    }

    #[test]
    fn a_path_that_nothing_readable_meets_leaves_nothing() {
        assert_eq!(parts(&Scope::of(Some(&[&tree("a")]), &filter("ab"))), (None, None, Some(Vec::new())));
        assert_eq!(parts(&Scope::of(Some(&[]), &TreeFilter::None)), (None, None, Some(Vec::new())));
    }

    #[test]
    fn the_fixed_labels_in_front_of_a_pattern_narrow_the_scope() {
        for (raw, from) in [
            ("a/b/*", Some("a.b")),
            ("a/b*/c", Some("a")),
            ("a/b|c", Some("a")),
            ("a/b{2}", Some("a")),
            ("a/!b", Some("a")),
            ("a/b@", Some("a")),
            ("*/a", None),
            ("a & b", None),
        ] {
            assert_eq!(Scope::of(None, &filter(raw)).from(), from, "{raw}");
        }
    }

    #[test]
    fn the_longest_label_has_an_end_too() {
        let long = "a".repeat(LABEL_CHARS);
        assert_eq!(end(&tree(&long)).unwrap(), format!("{}b", "a".repeat(LABEL_CHARS - 1)));
        let last = format!("{}9zz", "a".repeat(LABEL_CHARS - 3));
        assert_eq!(end(&tree(&last)).unwrap(), format!("{}A", "a".repeat(LABEL_CHARS - 3)));
        let top = "z".repeat(LABEL_CHARS);
        assert_eq!(end(&tree(&top)), None);
        assert_eq!(end(&tree(&format!("b.{top}"))).unwrap(), "b-");
    }

    proptest! {
        #[test]
        fn an_interval_holds_a_subtree_and_nothing_else(root in "[-0Az_]{1,3}(\\.[-0z]{1,2}){0,2}", other in "[-0Az_]{1,3}(\\.[-0z]{1,2}){0,3}") {
            let (root, other) = (tree(&root), tree(&other));
            let end = tree(&end(&root).unwrap());
            prop_assert_eq!(root <= other && other < end, root.contains(&other));
        }

        #[test]
        fn the_scope_holds_what_is_readable_and_matches(roots in prop::collection::vec("[ab](\\.[ab]){0,2}", 0..3), raw in "[ab*](/[ab*]){0,2}", other in "[ab](\\.[ab]){0,3}") {
            let mut roots: Vec<TreePath> = roots.iter().map(|root| tree(root)).collect();
            roots.sort();
            let mut topmost: Vec<&TreePath> = Vec::new();
            for root in &roots {
                if !topmost.iter().any(|top| top.contains(root)) {
                    topmost.push(root);
                }
            }
            let (filter, other) = (filter(&raw), tree(&other));
            let scope = Scope::of(Some(&topmost), &filter);
            let inside = scope.subtrees.as_ref().is_none_or(|list| list.iter().any(|tree| tree.contains(&other)));
            let readable = topmost.iter().any(|root| root.contains(&other));
            prop_assert_eq!(inside && filter.matches(&other), readable && filter.matches(&other));
            prop_assert!(!inside || readable);
        }
    }
}
