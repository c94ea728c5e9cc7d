//! Neighbours in a thread: a memory names the one before it (`$prev`) or after it (`$next`) by path (META-5, META-6).

use crate::domain::path::MemoryPath;

/// What a memory says of its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The memory.
    pub id: [u8; 16],
    /// Its tree, dotted.
    pub tree: String,
    /// Its leaf name.
    pub name: Option<String>,
    /// `$thread`.
    pub thread: Option<String>,
    /// `$prev`.
    pub prev: Option<String>,
    /// `$next`.
    pub next: Option<String>,
}

impl Member {
    /// The path that links name it by, if it has a name.
    #[must_use]
    pub fn path(&self) -> Option<String> {
        let name = self.name.as_ref()?;
        Some(match self.tree.as_str() {
            "" => format!("/{name}"),
            tree => format!("/{}/{name}", tree.replace('.', "/")),
        })
    }

    /// Whether the other one stands right before or after it, in one thread.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        let points = |from: &Self, to: &Self| {
            to.path()
                .is_some_and(|path| from.prev.as_ref() == Some(&path) || from.next.as_ref() == Some(&path))
        };
        self.id != other.id
            && self.thread.is_some()
            && self.thread == other.thread
            && (points(self, other) || points(other, self))
    }
}

/// Where neighbours are looked up.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Trees of the paths linked to.
    pub trees: Vec<String>,
    /// Their names.
    pub names: Vec<String>,
    /// What the metadata of memories contains that link to one of these.
    pub objects: Vec<String>,
}

impl Links {
    /// The links of some members; none when there is nothing to look up.
    #[must_use]
    pub fn of(members: &[Member]) -> Option<Self> {
        let mut links = Self::default();
        for member in members {
            for path in [&member.prev, &member.next].into_iter().flatten() {
                if let Ok(path) = MemoryPath::parse("$prev", path, None) {
                    links.trees.push(path.tree().as_dotted().to_owned());
                    links.names.push(path.name().as_str().to_owned());
                }
            }
            if let Some((path, thread)) = member.path().zip(member.thread.as_ref()) {
                for key in ["$prev", "$next"] {
                    links.objects.push(serde_json::json!({"$thread": thread, key: path}).to_string());
                }
            }
        }
        (links != Self::default()).then_some(links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(n: u8, thread: Option<&str>, name: Option<&str>, prev: Option<&str>) -> Member {
        Member {
            id: [n; 16],
            tree: "share.log".into(),
            name: name.map(str::to_owned),
            thread: thread.map(str::to_owned),
            prev: prev.map(str::to_owned),
            next: None,
        }
    }

    #[test]
    fn a_link_makes_two_memories_of_one_thread_neighbours_both_ways() {
        let first = member(1, Some("t"), Some("m1"), None);
        let second = member(2, Some("t"), None, Some("/share/log/m1"));
        assert!(first.is_beside(&second) && second.is_beside(&first));
        let elsewhere = member(3, Some("u"), None, Some("/share/log/m1"));
        assert!(!first.is_beside(&elsewhere));
        assert!(!first.is_beside(&first));
        assert!(!member(4, None, Some("m1"), None).is_beside(&member(5, None, None, Some("/share/log/m1"))));
    }

    #[test]
    fn links_are_looked_up_by_path_and_by_metadata() {
        let links = Links::of(&[member(1, Some("t"), Some("m2"), Some("/share/log/m1"))]).unwrap();
        assert_eq!((links.trees, links.names), (vec!["share.log".to_owned()], vec!["m1".to_owned()]));
        assert_eq!(links.objects[0], r#"{"$prev":"/share/log/m2","$thread":"t"}"#);
        assert_eq!(Links::of(&[member(1, Some("t"), None, Some("no path at / all/"))]), None);
    }

    #[test]
    fn the_path_of_the_root_has_no_tree() {
        let root = Member { tree: String::new(), ..member(1, None, Some("x"), None) };
        assert_eq!(root.path().unwrap(), "/x");
    }
}
