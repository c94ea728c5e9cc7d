//! What a caller may do where (spec §9): levels, grants, and the arithmetic over them.

use super::invalid::{Invalid, excerpt};
use super::path::TreePath;

/// A level of access; each includes the lower ones (ACC-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// May see memories.
    Read = 1,
    /// May also create, change and delete them.
    Write = 2,
    /// May also manage the grants of the subtree.
    Owner = 3,
}

impl Level {
    const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Owner];

    /// Reads `read`, `write` or `owner`.
    ///
    /// # Errors
    /// Anything else is refused under `GRA-5`.
    pub fn parse(argument: &str, word: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|level| level.word() == word).ok_or_else(|| {
            Invalid::new(
                argument,
                "GRA-5",
                format!("argument \"{argument}\" has unknown value {}", excerpt(word)),
                "Use one of \"read\", \"write\" or \"owner\".",
            )
        })
    }

    /// The level stored as `1`, `2` or `3`.
    pub fn from_number(number: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|level| *level as i16 == number)
    }

    /// `read`, `write` or `owner`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Owner => "owner",
        }
    }
}

/// A level at a tree and everything below it (ACC-4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Where it begins.
    pub tree: TreePath,
    /// How far it goes.
    pub level: Level,
}

impl Grant {
    /// What two sets of grants have in common (PRIN-16): of each pair whose trees are related, the deeper tree at the
    /// lower level.
    pub fn ceiling(held: &[Self], declared: &[Self]) -> Vec<Self> {
        let mut common: Vec<Self> = Vec::new();
        for (one, other) in held.iter().flat_map(|one| declared.iter().map(move |other| (one, other))) {
            let deeper = match (one.tree.contains(&other.tree), other.tree.contains(&one.tree)) {
                (true, _) => &other.tree,
                (_, true) => &one.tree,
                _ => continue,
            };
            let grant = Self { tree: deeper.clone(), level: one.level.min(other.level) };
            if !common.contains(&grant) {
                common.push(grant);
            }
        }
        common
    }
}

/// The effective grants of a caller in one space, as they stood when the call began (ACC-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rights {
    /// Everything: a superuser (design §4).
    All,
    /// What the grants say; they only add up (ACC-4).
    Grants(Vec<Grant>),
}

impl Rights {
    /// Whether some grant of at least this level covers the tree.
    pub fn allow(&self, level: Level, tree: &TreePath) -> bool {
        match self {
            Self::All => true,
            Self::Grants(grants) => {
                grants.iter().any(|grant| grant.level >= level && grant.tree.contains(tree))
            }
        }
    }

    /// The topmost trees at which the caller has the level, in dotted form; `None` means everywhere.
    ///
    /// A row is covered iff its tree is at or below one of them, so these are what a query filters by.
    pub fn roots(&self, level: Level) -> Option<Vec<&TreePath>> {
        let Self::Grants(grants) = self else {
            return None;
        };
        let mut trees: Vec<&TreePath> =
            grants.iter().filter(|grant| grant.level >= level).map(|grant| &grant.tree).collect();
        trees.sort();
        trees.dedup();
        let mut roots: Vec<&TreePath> = Vec::with_capacity(trees.len());
        for tree in trees {
            // An ancestor sorts before its descendants (TREE-11), so only the last root can cover this one.
            if !roots.last().is_some_and(|root| root.contains(tree)) {
                roots.push(tree);
            }
        }
        Some(roots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(list: &[(&str, Level)]) -> Rights {
        Rights::Grants(
            list.iter()
                .map(|(tree, level)| Grant { tree: TreePath::from_dotted(tree).unwrap(), level: *level })
                .collect(),
        )
    }

    fn tree(dotted: &str) -> TreePath {
        TreePath::from_dotted(dotted).unwrap()
    }

    #[test]
    fn levels_are_three_words_and_three_numbers() {
        for level in Level::ALL {
            assert_eq!(Level::parse("access", level.word()), Ok(level));
            assert_eq!(Level::from_number(level as i16), Some(level));
        }
        for bad in ["", "Read", "admin", "1", "none"] {
            assert_eq!(Level::parse("access", bad).unwrap_err().rule, "GRA-5", "{bad:?}");
        }
        assert_eq!(Level::from_number(0), None);
        assert_eq!(Level::from_number(4), None);
    }

    #[test]
    fn a_grant_covers_its_tree_and_what_lies_below_and_nothing_else() {
        let rights = grants(&[("a.b", Level::Write)]);
        assert!(rights.allow(Level::Read, &tree("a.b")));
        assert!(rights.allow(Level::Write, &tree("a.b.c")));
        assert!(!rights.allow(Level::Owner, &tree("a.b")));
        assert!(!rights.allow(Level::Read, &tree("a")));
        assert!(!rights.allow(Level::Read, &tree("a.bc")));
    }

    /// Small trees, so that they are often related.
    fn some_grants() -> impl proptest::strategy::Strategy<Value = Vec<Grant>> {
        use proptest::prelude::*;
        let tree = prop::collection::vec(prop::sample::select(vec!["a", "b", "ab"]), 0..4);
        let grant = (tree, prop::sample::select(Level::ALL.to_vec()))
            .prop_map(|(labels, level)| Grant { tree: super::tests::tree(&labels.join(".")), level });
        prop::collection::vec(grant, 0..6)
    }

    proptest::proptest! {
        #[test]
        fn under_a_ceiling_is_allowed_exactly_what_both_sides_allow(
            held in some_grants(),
            declared in some_grants(),
            at in some_grants(),
        ) {
            let common = Rights::Grants(Grant::ceiling(&held, &declared));
            let (held, declared) = (Rights::Grants(held), Rights::Grants(declared));
            for Grant { tree, level } in &at {
                let both = held.allow(*level, tree) && declared.allow(*level, tree);
                proptest::prop_assert_eq!(common.allow(*level, tree), both);
            }
        }
    }

    #[test]
    fn the_root_grant_covers_everything() {
        assert!(grants(&[("", Level::Read)]).allow(Level::Read, &tree("home.x")));
    }

    #[test]
    fn grants_on_all_children_do_not_add_up_to_the_parent() {
        assert!(!grants(&[("a.b", Level::Write), ("a.c", Level::Write)]).allow(Level::Write, &tree("a")));
    }

    #[test]
    fn roots_leave_out_what_another_root_covers_and_what_is_too_low() {
        let rights = grants(&[
            ("a.b", Level::Read),
            ("a", Level::Read),
            ("a-b", Level::Read),
            ("a.c", Level::Write),
            ("b", Level::Owner),
        ]);
        let dotted = |level| -> Vec<String> {
            rights.roots(level).unwrap().iter().map(|tree| tree.as_dotted().to_owned()).collect()
        };
        assert_eq!(dotted(Level::Read), ["a", "a-b", "b"]);
        assert_eq!(dotted(Level::Write), ["a.c", "b"]);
        assert_eq!(Rights::All.roots(Level::Read), None);
    }
}
