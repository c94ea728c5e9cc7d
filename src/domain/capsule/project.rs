//! Projects: fences for reading, and where their capsules stand in the tree (CAP-MODEL-8, CAP-ENV-15).

use super::fault::{Fault, Result};
use super::seal::sha256_hex;
use super::text::is_blank;
use crate::domain::invalid::excerpt;
use crate::domain::limits::LABEL_CHARS;
use crate::domain::path::TreePath;

/// The label below which all capsules stand.
pub const ROOT: &str = "capsules";

/// Where the capsules of a project stand: one label for each piece of its name. A piece that is no label stands as
/// `p-` and a hash, and so does a name that is too long as a whole.
pub fn tree_of(project: &str) -> TreePath {
    let labels: Vec<String> = project.split('/').map(label).collect();
    let dotted = format!("{ROOT}.{}", labels.join("."));
    TreePath::from_dotted(&dotted)
        .or_else(|| TreePath::from_dotted(&format!("{ROOT}.{}", hashed(project))))
        .unwrap_or_else(TreePath::root)
}

fn label(piece: &str) -> String {
    let plain = (1..=LABEL_CHARS).contains(&piece.len())
        && piece.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    // A piece that looks like a hash of another one is hashed too.
    if plain && !piece.starts_with("p-") { piece.to_owned() } else { hashed(piece) }
}

fn hashed(text: &str) -> String {
    format!("p-{}", &sha256_hex(text.as_bytes())[..32])
}

/// Whether a tree is the root of all capsules or below it.
pub fn is_capsule_tree(tree: &TreePath) -> bool {
    tree.labels().next() == Some(ROOT)
}

/// Which projects a call looks at: both conditions hold where both are given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fence {
    /// Exactly this project.
    pub project_id: Option<String>,
    /// This project and those below it.
    pub prefix: Option<String>,
}

impl Fence {
    /// Checks a prefix: not blank, not ending in `/`.
    pub fn new(project_id: Option<String>, prefix: Option<String>) -> Result<Self> {
        if let Some(text) = &prefix
            && (is_blank(text) || text.ends_with('/'))
        {
            return Err(Fault::value(
                "project_prefix",
                format!("project_prefix {} is blank or ends in \"/\"", excerpt(text)),
            ));
        }
        Ok(Self { project_id, prefix })
    }

    /// Whether a project is inside: character-exact, no wildcards.
    pub fn admits(&self, project: &str) -> bool {
        let exact = self.project_id.as_deref().is_none_or(|id| id == project);
        let below = self.prefix.as_deref().is_none_or(|prefix| {
            project.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        exact && below
    }

    /// The conditions in words, for messages.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        if let Some(id) = &self.project_id {
            text.push_str(&format!(" in project {}", excerpt(id)));
        }
        if let Some(prefix) = &self.prefix {
            text.push_str(&format!(" at or below project {}", excerpt(prefix)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_become_labels_and_odd_ones_hashes() {
        assert_eq!(tree_of("demo/channel").as_dotted(), "capsules.demo.channel");
        let odd = tree_of("a b/x");
        assert!(odd.as_dotted().starts_with("capsules.p-") && odd.as_dotted().ends_with(".x"), "{odd:?}");
        assert_ne!(tree_of(""), TreePath::root());
        assert_eq!(tree_of(&"x/".repeat(3000)).depth(), 2);
        assert!(tree_of("p-1").as_dotted().len() > 20);
    }

    #[test]
    fn a_prefix_ends_at_a_slash() {
        let fence = Fence::new(None, Some("bay".into())).unwrap();
        assert!(fence.admits("bay") && fence.admits("bay/north"));
        assert!(!fence.admits("bayou") && !fence.admits("Bay"));
        for prefix in ["", " ", "a/"] {
            assert!(Fence::new(None, Some(prefix.into())).is_err(), "{prefix:?}");
        }
    }

    proptest! {
        #[test]
        fn every_project_has_a_place_among_the_capsules(name in ".{0,40}", other in ".{0,40}") {
            prop_assert!(is_capsule_tree(&tree_of(&name)));
            prop_assert!(name == other || tree_of(&name) != tree_of(&other));
        }
    }
}
