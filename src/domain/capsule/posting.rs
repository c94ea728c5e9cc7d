//! Which capsules hold a token, and how that is packed.
//!
//! A pack is a part of a list as bytes: of each capsule the distance of its number from the one before, and how often it
//! holds the token. Both lie in one byte where the distance is below 64 and the token is there once.

use crate::domain::lexical::Damaged;

/// Most capsules of a pack: so it fits a page of the server.
pub const PACK_MOST: usize = 1000;
/// Fewer are not packed: they are read one by one.
pub const PACK_LEAST: usize = 64;

/// The capsules that hold a token, and how often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Posting {
    /// Numbers, rising.
    pub seqs: Vec<i64>,
    /// Beside each, how often.
    pub counts: Vec<i32>,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// From this number on.
    pub first: i64,
    /// The last number.
    pub last: i64,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl Posting {
    /// How many capsules there are.
    pub fn len(&self) -> usize {
        self.seqs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.seqs.is_empty()
    }

    /// Adds a capsule behind the others.
    pub fn push(&mut self, seq: i64, count: i32) {
        self.seqs.push(seq);
        self.counts.push(count);
    }

    /// Leaves out some capsules.
    pub fn retain(&mut self, keep: impl Fn(i64) -> bool) {
        let kept = self.seqs.iter().zip(&self.counts).filter(|(seq, _)| keep(**seq));
        let (seqs, counts) = kept.map(|(seq, count)| (*seq, *count)).unzip();
        (self.seqs, self.counts) = (seqs, counts);
    }

    /// The list as packs of [`PACK_MOST`] capsules, and what is left over. The first one begins at `first`, if that is
    /// said: it replaces a pack that began there.
    pub fn packs(&self, first: Option<i64>) -> Vec<Pack> {
        let mut begins = first;
        let parts = self.seqs.chunks(PACK_MOST).zip(self.counts.chunks(PACK_MOST));
        parts
            .filter_map(|(seqs, counts)| {
                let (lowest, last) = (*seqs.first()?, *seqs.last()?);
                let first = begins.take().unwrap_or(lowest);
                Some(Pack { first, last, bytes: packed(first, seqs, counts) })
            })
            .collect()
    }

    /// Adds what a pack holds that begins at `first`.
    ///
    /// # Errors
    /// The bytes are none that [`packs`](Self::packs) makes, or do not go on behind what is there.
    pub fn unpack(&mut self, first: i64, bytes: &[u8]) -> Result<(), Damaged> {
        // Mostly a byte each.
        self.seqs.reserve(bytes.len());
        self.counts.reserve(bytes.len());
        let mut behind = self.seqs.last().copied().unwrap_or(0);
        let (mut seq, mut rest) = (first, bytes);
        while let Some((byte, after)) = rest.split_first() {
            let (distance, count);
            if byte & 0x81 == 0 {
                (distance, count, rest) = (i64::from(byte >> 1), 1, after);
            } else {
                let value = varint(&mut rest)?;
                distance = i64::try_from(value >> 1).map_err(|_| Damaged)?;
                count = match value & 1 {
                    0 => 1,
                    _ => i32::try_from(varint(&mut rest)?).map_err(|_| Damaged)?,
                };
            }
            seq = seq.checked_add(distance).ok_or(Damaged)?;
            if seq <= behind || count < 1 {
                return Err(Damaged);
            }
            behind = seq;
            self.push(seq, count);
        }
        Ok(())
    }
}

/// The bytes of a pack that begins at `first`, which is not above the first number.
fn packed(first: i64, seqs: &[i64], counts: &[i32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(seqs.len() * 2);
    let mut before = first;
    for (seq, count) in seqs.iter().zip(counts) {
        let is_more = *count != 1;
        put_varint(&mut bytes, seq.abs_diff(before) << 1 | u64::from(is_more));
        if is_more {
            put_varint(&mut bytes, u64::from(count.unsigned_abs()));
        }
        before = *seq;
    }
    bytes
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Damaged> {
    let mut value = 0u64;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(Damaged)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if *byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn posting(gaps: &[(i64, i32)]) -> Posting {
        let mut posting = Posting::default();
        let mut seq = 0;
        for (gap, count) in gaps {
            seq += gap;
            posting.push(seq, *count);
        }
        posting
    }

    #[test]
    fn a_frequent_token_takes_a_byte_for_each_capsule() {
        let every_tenth = posting(&vec![(10, 1); 2500]);
        let packs = every_tenth.packs(None);
        assert_eq!(packs.iter().map(|pack| pack.bytes.len()).collect::<Vec<_>>(), [1000, 1000, 500]);
        assert_eq!((packs[1].first, packs[1].last), (10_010, 20_000));
    }

    #[test]
    fn a_pack_that_lost_its_first_capsule_begins_where_it_began() {
        let mut list = posting(&[(7, 1), (1, 2), (500, 1)]);
        list.retain(|seq| seq != 7);
        let packs = list.packs(Some(7));
        assert_eq!((packs.len(), packs[0].first, packs[0].last), (1, 7, 508));
        let mut read = Posting::default();
        read.unpack(7, &packs[0].bytes).unwrap();
        assert_eq!(read, list);
        list.retain(|_| false);
        assert_eq!(list.packs(Some(7)), []);
    }

    #[test]
    fn what_is_no_pack_is_refused() {
        for (first, bytes) in [(1, &[0x80u8][..]), (1, &[1]), (1, &[1, 0]), (5, &[2, 0]), (i64::MAX, &[2])] {
            assert!(Posting::default().unpack(first, bytes).is_err(), "{first} {bytes:?}");
        }
        assert!(Posting::default().unpack(1, &[0xFF; 30]).is_err());
        let mut behind = posting(&[(9, 1)]);
        assert!(behind.unpack(9, &[0]).is_err());
        assert!(Posting::default().unpack(0, &[0]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_packed_is_read_again(
            gaps in proptest::collection::vec((prop_oneof![1i64..3, 1i64..200, 1i64..3_000_000_000], prop_oneof![Just(1), 1i32..i32::MAX]), 0..2500),
        ) {
            let list = posting(&gaps);
            let mut read = Posting::default();
            for pack in list.packs(None) {
                prop_assert!(pack.bytes.len() <= 8000 || gaps.iter().any(|(gap, count)| *gap > 1 << 20 || *count > 1 << 7));
                read.unpack(pack.first, &pack.bytes).unwrap();
                prop_assert_eq!(read.seqs.last(), Some(&pack.last));
            }
            prop_assert_eq!(read, list);
        }

        #[test]
        fn no_bytes_make_it_panic(first in any::<i64>(), bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut read = Posting::default();
            let _ = read.unpack(first, &bytes);
            prop_assert!(read.seqs.is_sorted());
        }
    }
}
