//! Seals over the history: what a seal hashes, and how sealed events are held against those that are there.
//!
//! An event carries a digest of itself. A seal hashes the digests of the events between two ids, in order, and the
//! seal before it, so that nothing sealed can change, go or come without a trace.

use super::instant::Instant;
use sha2::{Digest as _, Sha256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// Most events of one seal: what is held in memory at once.
pub const SEAL_EVENTS: usize = 10_000;
/// Most differences that a report names.
pub const PROBLEMS: usize = 100;

/// What a seal stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealKind {
    /// These events are there.
    Events,
    /// These events were pruned.
    Prune,
}

impl SealKind {
    /// The word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Prune => "prune",
        }
    }

    /// The kind of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Events, Self::Prune].into_iter().find(|kind| kind.word() == word)
    }
}

/// One link of the chain of a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// Counted from 1.
    pub number: i64,
    /// What it stands for.
    pub kind: SealKind,
    /// When it was made.
    pub sealed_at: Instant,
    /// The events lie at or after this id …
    pub first: u128,
    /// … and before this one.
    pub end: u128,
    /// Their ids, in order.
    pub ids: Vec<u128>,
    /// Their digests one after another; none for a pruning.
    pub digests: Vec<u8>,
    /// The hash of the seal before.
    pub previous: Option<Hash>,
}

impl Seal {
    /// What the next seal, and whoever pins this one, holds on to.
    pub fn hash(&self, space: &str) -> Hash {
        let mut entries = Sha256::new();
        for id in &self.ids {
            entries.update(id.to_be_bytes());
        }
        entries.update(&self.digests);
        let mut hasher = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_be_bytes());
            hasher.update(bytes);
        };
        field(space.as_bytes());
        field(&self.number.to_be_bytes());
        field(self.kind.word().as_bytes());
        field(&self.sealed_at.micros().to_be_bytes());
        field(&self.first.to_be_bytes());
        field(&self.end.to_be_bytes());
        field(&(self.ids.len() as u64).to_be_bytes());
        field(&entries.finalize());
        field(self.previous.as_ref().map_or(&[][..], |hash| &hash[..]));
        hasher.finalize().into()
    }
}

/// An event that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Its id.
    pub id: u128,
    /// The digest it carries.
    pub digest: Vec<u8>,
    /// What is wrong within the event itself, if anything.
    pub fault: Option<Fault>,
}

/// What is wrong with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Its columns do not give its digest.
    Columns,
    /// Its payload does not give its payload digest.
    Payload,
    /// Its payload is gone, and no purge says so.
    PayloadGone,
    /// Its version hash is not that of its payload.
    VersionHash,
    /// It was sealed, and is gone without having been pruned.
    Missing,
    /// It carries another digest than was sealed.
    Digest,
    /// It lies among sealed events, and was not there when they were sealed.
    Inserted,
    /// It was pruned, and is there again.
    Back,
}

impl Fault {
    /// The fault the checking statement found, by its word.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "columns" => Self::Columns,
            "payload" => Self::Payload,
            "payload_gone" => Self::PayloadGone,
            "version_hash" => Self::VersionHash,
            _ => return None,
        })
    }

    /// What a report says.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Columns => "the event does not give its digest: a column was changed",
            Self::Payload => {
                "the payload does not give its digest: name, meta, temporal, content or salt was changed"
            }
            Self::PayloadGone => "the payload is gone, and no purge of the memory is recorded",
            Self::VersionHash => "the version hash is not that of the payload",
            Self::Missing => "the event was sealed and is gone",
            Self::Digest => "the event carries another digest than was sealed",
            Self::Inserted => "the event was inserted among sealed ones, or the clock was set back",
            Self::Back => "the event was pruned and is there again",
        }
    }
}

/// Holds what a seal says against what is there; both are in the order of ids. Answers the differences in that order.
pub fn compare(seal: &Seal, present: &[Present], pruned: &impl Fn(u128) -> bool) -> Vec<(u128, Fault)> {
    let mut found = Vec::new();
    let mut there = present.iter().peekable();
    let digests = seal.digests.chunks(32).map(Some).chain(std::iter::repeat(None));
    for (&id, digest) in seal.ids.iter().zip(digests) {
        while let Some(event) = there.next_if(|event| event.id < id) {
            found.push((event.id, Fault::Inserted));
        }
        match (there.next_if(|event| event.id == id), pruned(id)) {
            (None, true) => {}
            (None, false) => found.push((id, Fault::Missing)),
            (Some(_), true) => found.push((id, Fault::Back)),
            (Some(event), false) => {
                if let Some(fault) = event.fault {
                    found.push((id, fault));
                } else if Some(&event.digest[..]) != digest {
                    found.push((id, Fault::Digest));
                }
            }
        }
    }
    found.extend(there.map(|event| (event.id, Fault::Inserted)));
    found
}

/// What is wrong with a seal itself, beside the seal before it.
pub fn chain_fault(
    seal: &Seal,
    stored: &[u8],
    space: &str,
    before: Option<(&Seal, &[u8])>,
) -> Option<&'static str> {
    let (number, end, hash) = before.map_or((0, 0, None), |(seal, hash)| (seal.number, seal.end, Some(hash)));
    if seal.number != number + 1 {
        return Some("a seal before this one is gone");
    }
    if seal.previous.as_ref().map(|hash| &hash[..]) != hash {
        return Some("the seal does not follow the one before it");
    }
    if seal.first != end || seal.end < seal.first {
        return Some("the seal does not begin where the one before it ends");
    }
    if seal.hash(space)[..] != *stored {
        return Some("the seal does not give its hash: a column was changed");
    }
    None
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        text.push_str(&format!("{byte:02x}"));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seal(ids: &[u128]) -> Seal {
        Seal {
            number: 1,
            kind: SealKind::Events,
            sealed_at: Instant::from_micros(5),
            first: 0,
            end: 100,
            ids: ids.to_vec(),
            digests: ids.iter().flat_map(|id| [*id as u8; 32]).collect(),
            previous: None,
        }
    }

    fn present(ids: &[u128]) -> Vec<Present> {
        ids.iter().map(|id| Present { id: *id, digest: vec![*id as u8; 32], fault: None }).collect()
    }

    fn kept(_: u128) -> bool {
        false
    }

    #[test]
    fn what_was_sealed_and_is_there_is_no_difference() {
        assert_eq!(compare(&seal(&[1, 2, 3]), &present(&[1, 2, 3]), &kept), []);
        assert_eq!(compare(&seal(&[]), &present(&[]), &kept), []);
    }

    #[test]
    fn what_went_came_or_changed_is_named_in_order() {
        let found = compare(&seal(&[2, 4, 6]), &present(&[1, 4, 5, 9]), &kept);
        let expected = [
            (1, Fault::Inserted),
            (2, Fault::Missing),
            (5, Fault::Inserted),
            (6, Fault::Missing),
            (9, Fault::Inserted),
        ];
        assert_eq!(found, expected);
        let mut changed = present(&[1, 2, 3]);
        changed[0].digest[31] = 0xff;
        changed[1].fault = Some(Fault::Payload);
        let found = compare(&seal(&[1, 2, 3]), &changed, &kept);
        assert_eq!(found, [(1, Fault::Digest), (2, Fault::Payload)]);
    }

    #[test]
    fn what_was_pruned_is_gone_and_stays_gone() {
        let pruned = |id| id == 2;
        assert_eq!(compare(&seal(&[1, 2, 3]), &present(&[1, 3]), &pruned), []);
        assert_eq!(compare(&seal(&[1, 2, 3]), &present(&[1, 2, 3]), &pruned), [(2, Fault::Back)]);
    }

    #[test]
    fn a_chain_is_whole_or_the_broken_link_is_named() {
        let first = seal(&[1, 2]);
        let hash = first.hash("s");
        let second = Seal { number: 2, first: 100, end: 200, previous: Some(hash), ..seal(&[101]) };
        let next = second.hash("s");
        assert_eq!(chain_fault(&first, &hash, "s", None), None);
        assert_eq!(chain_fault(&second, &next, "s", Some((&first, &hash))), None);
        assert!(chain_fault(&second, &next, "s", None).is_some());
        assert!(chain_fault(&second, &hash, "s", Some((&first, &hash))).is_some());
        assert!(chain_fault(&second, &next, "t", Some((&first, &hash))).is_some());
        assert!(chain_fault(&second, &next, "s", Some((&first, &next))).is_some());
    }

    #[test]
    fn every_field_of_a_seal_is_in_its_hash() {
        let plain = seal(&[1, 2]);
        let others = [
            Seal { number: 2, ..plain.clone() },
            Seal { kind: SealKind::Prune, ..plain.clone() },
            Seal { sealed_at: Instant::from_micros(6), ..plain.clone() },
            Seal { first: 1, ..plain.clone() },
            Seal { end: 101, ..plain.clone() },
            Seal { ids: vec![1, 3], ..plain.clone() },
            Seal { digests: vec![0; 64], ..plain.clone() },
            Seal { previous: Some([0; 32]), ..plain.clone() },
        ];
        for other in others {
            assert_ne!(other.hash("s"), plain.hash("s"), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn a_comparison_is_empty_iff_nothing_differs(
            sealed in proptest::collection::btree_set(0u128..30, 0..12),
            there in proptest::collection::btree_set(0u128..30, 0..12),
            pruned in proptest::collection::btree_set(0u128..30, 0..6),
        ) {
            let ids: Vec<u128> = sealed.iter().copied().collect();
            let events = present(&there.iter().copied().collect::<Vec<_>>());
            let found = compare(&seal(&ids), &events, &|id| pruned.contains(&id));
            let whole = (0..30).all(|id| {
                match (sealed.contains(&id), there.contains(&id), pruned.contains(&id)) {
                    (true, there, pruned) => there != pruned,
                    (false, there, _) => !there,
                }
            });
            prop_assert_eq!(found.is_empty(), whole);
            prop_assert!(found.is_sorted_by_key(|(id, _)| *id));
        }
    }
}
