//! The tree of trees: how many memories lie at or below each (TRE-1 to TRE-9).

use super::invalid::Invalid;
use super::limits::TREE_LEVELS;
use super::path::{Home, TreePath};

/// How many labels below its root a listing goes; `None` is all the way (TRE-4).
///
/// # Errors
/// More than 100 is refused under `TRE-9`.
pub fn parse_levels(argument: &str, levels: Option<i64>) -> Result<Option<usize>, Invalid> {
    match levels {
        Some(levels) if levels > TREE_LEVELS => Err(Invalid::new(
            argument,
            "TRE-9",
            format!("argument \"{argument}\" is {levels}, more than the limit of {TREE_LEVELS}"),
            "Ask for fewer levels, or leave them out for all.",
        )),
        Some(levels) => Ok(usize::try_from(levels).ok().filter(|levels| *levels > 0)),
        None => Ok(None),
    }
}

/// Builds the listing below `root` from the number of memories in each tree, given in the order of TREE-11.
///
/// Every tree between `root` and one that holds memories is a node, in the order of TREE-11, shown as its reader
/// writes it. What lies in the reader's home is not counted under `/home` (TRE-6).
pub fn nodes(
    root: &TreePath,
    levels: Option<usize>,
    home: Option<&Home>,
    counts: impl IntoIterator<Item = (TreePath, i64)>,
) -> Vec<(String, i64)> {
    let own = home.map(Home::tree);
    let above = root.depth();
    let deepest = levels.map_or(usize::MAX, |levels| above + levels);
    let mut listed: Vec<(TreePath, i64)> = Vec::new();
    // Indexes of the nodes on the way from the root to the last tree.
    let mut open: Vec<usize> = Vec::new();
    let mut at_home = 0;
    for (tree, count) in counts {
        if own.as_ref().is_some_and(|own| own.contains(&tree)) {
            at_home += count;
        }
        while let Some(last) = open.last() {
            if listed.get(*last).is_some_and(|(node, _)| node.contains(&tree)) {
                break;
            }
            open.pop();
        }
        for depth in above + open.len() + 1..=tree.depth().min(deepest) {
            open.push(listed.len());
            listed.push((tree.first(depth), 0));
        }
        for index in &open {
            if let Some((_, total)) = listed.get_mut(*index) {
                *total += count;
            }
        }
    }
    let homes = own.as_ref().and_then(TreePath::parent);
    listed
        .into_iter()
        .map(|(node, total)| {
            let shared = if homes.as_ref() == Some(&node) { total - at_home } else { total };
            (node, shared)
        })
        .filter(|(_, total)| *total > 0)
        .map(|(node, total)| (node.display(home), total))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn tree(dotted: &str) -> TreePath {
        TreePath::from_dotted(dotted).unwrap()
    }

    fn list(
        root: &str,
        levels: Option<usize>,
        home: Option<&Home>,
        counts: &[(&str, i64)],
    ) -> Vec<(String, i64)> {
        let mut counts: Vec<_> = counts.iter().map(|(dotted, count)| (tree(dotted), *count)).collect();
        counts.sort();
        nodes(&tree(root), levels, home, counts)
    }

    fn shown(nodes: &[(String, i64)]) -> Vec<(&str, i64)> {
        nodes.iter().map(|(path, count)| (path.as_str(), *count)).collect()
    }

    #[test]
    fn trees_without_memories_of_their_own_are_listed_and_the_root_is_not() {
        let counts = [("", 7), ("a.b.c", 2), ("a", 1), ("a-b", 1), ("d", 4)];
        assert_eq!(
            shown(&list("", None, None, &counts)),
            [("/a", 3), ("/a/b", 2), ("/a/b/c", 2), ("/a-b", 1), ("/d", 4)]
        );
        assert_eq!(shown(&list("a", None, None, &[("a", 1), ("a.b.c", 2)])), [("/a/b", 2), ("/a/b/c", 2)]);
        assert_eq!(list("x", None, None, &[]), []);
    }

    #[test]
    fn levels_cut_the_nodes_and_not_the_counts() {
        let counts = [("a.b.c", 2), ("a.b.d", 3), ("a", 1)];
        assert_eq!(shown(&list("", Some(1), None, &counts)), [("/a", 6)]);
        assert_eq!(shown(&list("a", Some(1), None, &counts)), [("/a/b", 5)]);
    }

    #[test]
    fn the_own_home_is_a_tilde_and_not_counted_among_homes() {
        let home = Home::of([1; 16]);
        let own = home.tree();
        let notes = format!("{}.notes", own.as_dotted());
        let other = Home::of([2; 16]).tree();
        let mine = [(own.as_dotted(), 2), (notes.as_str(), 1)];
        assert_eq!(shown(&list("", None, Some(&home), &mine)), [("~", 3), ("~/notes", 1)]);
        assert_eq!(list("", Some(1), Some(&home), &mine), []);
        let both = [mine[0], mine[1], (other.as_dotted(), 5)];
        let listed = list("", None, Some(&home), &both);
        assert_eq!(
            shown(&listed),
            [("/home", 5), ("~", 3), ("~/notes", 1), (other.display(None).as_str(), 5)]
        );
        assert_eq!(shown(&list(own.as_dotted(), None, Some(&home), &mine)), [("~/notes", 1)]);
    }

    #[test]
    fn levels_are_bounded_and_nothing_or_less_is_all() {
        assert_eq!(parse_levels("levels", None), Ok(None));
        assert_eq!(parse_levels("levels", Some(0)), Ok(None));
        assert_eq!(parse_levels("levels", Some(-5)), Ok(None));
        assert_eq!(parse_levels("levels", Some(100)), Ok(Some(100)));
        assert_eq!(parse_levels("levels", Some(101)).unwrap_err().rule, "TRE-9");
    }

    proptest! {
        #[test]
        fn every_node_counts_what_lies_at_or_below_it(trees in prop::collection::btree_map("[ab](\\.[abc-]){0,3}", 1i64..9, 0..12), levels in prop::option::of(1usize..4)) {
            let trees: BTreeMap<TreePath, i64> = trees.iter().map(|(dotted, count)| (tree(dotted), *count)).collect();
            let root = tree("a");
            let below = trees.iter().filter(|(tree, _)| root.contains(tree)).map(|(tree, count)| (tree.clone(), *count));
            let mut expected: BTreeMap<TreePath, i64> = BTreeMap::new();
            for (tree, count) in &trees {
                for depth in 2..=tree.depth() {
                    let node = tree.first(depth);
                    if root.contains(&node) && levels.is_none_or(|levels| depth <= 1 + levels) {
                        *expected.entry(node).or_default() += count;
                    }
                }
            }
            let expected: Vec<_> = expected.into_iter().map(|(node, count)| (node.display(None), count)).collect();
            prop_assert_eq!(nodes(&root, levels, None, below), expected);
        }
    }
}
