//! What a batch of memories must be, before anything is looked up (BAT-3…5).

use super::id::Id;
use super::invalid::Invalid;
use super::limits;
use super::memory::Name;
use super::path::TreePath;
use std::collections::HashMap;

/// Checks the number of memories (BAT-3).
pub fn check_size(argument: &str, count: usize) -> Result<(), Invalid> {
    if (1..=limits::BATCH_ITEMS).contains(&count) {
        return Ok(());
    }
    Err(Invalid::new(
        argument,
        "BAT-3",
        format!("argument \"{argument}\" holds {count} memories"),
        format!("Give 1 to {} memories; split larger batches.", limits::BATCH_ITEMS),
    ))
}

/// Refuses the same id, and the same tree and name, twice (BAT-4, BAT-5).
pub fn check_keys<'a>(
    argument: &str,
    memories: impl Iterator<Item = (Option<Id>, &'a TreePath, Option<&'a Name>)>,
) -> Result<(), Invalid> {
    let Some(Repeat { key, first, second }) = first_repeat(memories) else {
        return Ok(());
    };
    let place = format!("{argument}[{second}].{}", key.field());
    Err(Invalid::new(
        place.as_str(),
        key.rule(),
        format!("argument \"{place}\" repeats the {} of item {first}", key.words()),
        "Submit each memory of a batch once.",
    ))
}

/// A key that two memories of a batch share; their indexes count from 0.
pub struct Repeat {
    /// Which key.
    pub key: Key,
    /// The first memory that has it.
    pub first: usize,
    /// The second.
    pub second: usize,
}

/// What addresses a memory of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Its id.
    Id,
    /// Its tree and name.
    Slot,
}

impl Key {
    fn field(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Slot => "name",
        }
    }

    /// The rule that a repeated one breaks.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Id => "BAT-4",
            Self::Slot => "BAT-5",
        }
    }

    /// The key in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Slot => "tree and name",
        }
    }
}

/// The first key that an earlier memory of the batch has too.
pub fn first_repeat<'a>(
    memories: impl Iterator<Item = (Option<Id>, &'a TreePath, Option<&'a Name>)>,
) -> Option<Repeat> {
    let mut ids: HashMap<Id, usize> = HashMap::new();
    let mut slots: HashMap<(&str, &str), usize> = HashMap::new();
    for (second, (id, tree, name)) in memories.enumerate() {
        if let Some(first) = id.and_then(|id| ids.insert(id, second)) {
            return Some(Repeat { key: Key::Id, first, second });
        }
        if let Some(first) = name.and_then(|name| slots.insert((tree.as_dotted(), name.as_str()), second)) {
            return Some(Repeat { key: Key::Slot, first, second });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0192f0aa-11b2-7c3d-8e4f-5a6b7c8d9e0f";

    fn id() -> Id {
        Id::parse("id", A).unwrap()
    }

    #[test]
    fn an_empty_batch_and_one_above_the_limit_are_refused() {
        assert_eq!(check_size("memories", 0).unwrap_err().rule, "BAT-3");
        assert!(check_size("memories", 1).is_ok());
        assert!(check_size("memories", 1000).is_ok());
        assert!(check_size("memories", 1001).unwrap_err().message.contains("1001"));
    }

    #[test]
    fn an_id_twice_is_refused_whether_named_or_not() {
        let (tree, name) = (TreePath::root(), Name::parse("name", "n").unwrap());
        let refusal =
            check_keys("memories", [(Some(id()), &tree, Some(&name)), (Some(id()), &tree, None)].into_iter())
                .unwrap_err();
        assert_eq!((refusal.rule, refusal.argument.as_str()), ("BAT-4", "memories[1].id"));
    }

    #[test]
    fn a_slot_twice_is_refused_and_unnamed_memories_never_clash() {
        let (tree, other) = (TreePath::root(), TreePath::from_dotted("a").unwrap());
        let name = Name::parse("name", "n").unwrap();
        let refusal =
            check_keys("memories", [(None, &tree, Some(&name)), (None, &tree, Some(&name))].into_iter());
        assert_eq!(refusal.unwrap_err().rule, "BAT-5");
        assert!(
            check_keys(
                "memories",
                [
                    (None, &tree, Some(&name)),
                    (None, &other, Some(&name)),
                    (None, &tree, None),
                    (None, &tree, None)
                ]
                .into_iter()
            )
            .is_ok()
        );
    }
}
