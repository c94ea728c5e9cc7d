//! Guides: which page of a dictionary, or of ids, holds a key, if any does. They say what each of some hundred pages
//! begins with, so that two pages lead to every lexeme.

use super::Damaged;
use super::page::{Kind, PAGE_BYTES, Sink};

/// Bytes before the ends of the keys: the number of the first page, and how many there are.
const HEAD: usize = 6;
/// Bytes of an end.
const END: usize = 2;

/// Writes the guide of some pages.
#[derive(Debug)]
pub struct Guide {
    kind: Kind,
    /// Guide pages that are written.
    written: u32,
    /// Pages that are in them.
    guided: u32,
    /// What the pages begin with that are not yet.
    keys: Vec<Vec<u8>>,
    bytes: usize,
}

impl Guide {
    /// Of pages that are guided to by pages of this kind.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { kind, written: 0, guided: 0, keys: Vec::new(), bytes: HEAD }
    }

    /// Adds the next page, which begins with this key.
    ///
    /// # Errors
    /// A page could not be stored.
    pub fn add<S: Sink>(&mut self, sink: &mut S, key: &[u8]) -> Result<(), S::Error> {
        if self.bytes + END + key.len() > PAGE_BYTES {
            self.flush(sink)?;
        }
        self.bytes += END + key.len();
        self.keys.push(key.to_vec());
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// A page could not be stored.
    pub fn flush<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let Some(first) = self.keys.first() else { return Ok(()) };
        let mut body = Vec::with_capacity(self.bytes);
        body.extend_from_slice(&self.guided.to_le_bytes());
        body.extend_from_slice(&(self.keys.len() as u16).to_le_bytes());
        let mut end = 0u16;
        for key in &self.keys {
            end += key.len() as u16;
            body.extend_from_slice(&end.to_le_bytes());
        }
        body.extend_from_slice(&self.keys.concat());
        sink.page(self.kind, self.written, Some(first), body)?;
        self.written += 1;
        self.guided += self.keys.len() as u32;
        self.keys.clear();
        self.bytes = HEAD;
        Ok(())
    }
}

/// The number of the page that holds a key, if any does that this page guides to.
///
/// # Errors
/// The page is damaged.
pub fn page_of(guide: &[u8], key: &[u8]) -> Result<Option<u32>, Damaged> {
    let (base, rest) = guide.split_first_chunk::<4>().ok_or(Damaged)?;
    let (count, rest) = rest.split_first_chunk::<2>().ok_or(Damaged)?;
    let (base, count) = (u32::from_le_bytes(*base), usize::from(u16::from_le_bytes(*count)));
    let (ends, keys) = rest.split_at_checked(count * END).ok_or(Damaged)?;
    let end = |at: usize| match ends.get(at * END..).and_then(<[u8]>::first_chunk::<END>) {
        Some(end) => Ok(usize::from(u16::from_le_bytes(*end))),
        None => Err(Damaged),
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        let from = if middle == 0 { 0 } else { end(middle - 1)? };
        if keys.get(from..end(middle)?).ok_or(Damaged)? <= key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low.checked_sub(1).map(|at| base.saturating_add(at as u32)))
}

/// What the first of the pages that this page guides to begins with.
#[must_use]
pub fn first_key(guide: &[u8]) -> Option<&[u8]> {
    let count = usize::from(u16::from_le_bytes(*guide.get(HEAD - 2..)?.first_chunk::<2>()?));
    let end = usize::from(u16::from_le_bytes(*guide.get(HEAD..)?.first_chunk::<END>()?));
    guide.get(HEAD + count * END..)?.get(..end)
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::Pages;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn keys_are_found_in_the_pages_that_begin_before_them(
            keys in prop::collection::btree_set(prop::collection::vec(any::<u8>(), 1..300), 1..200),
            wanted in prop::collection::vec(any::<u8>(), 0..4),
        ) {
            let mut pages = Pages::default();
            let mut guide = Guide::new(Kind::DictionaryGuide);
            for key in &keys {
                guide.add(&mut pages, key).unwrap();
            }
            guide.flush(&mut pages).unwrap();
            let sorted: Vec<&Vec<u8>> = keys.iter().collect();
            let some: BTreeSet<Vec<u8>> = keys.iter().cloned().chain([wanted]).collect();
            for key in some {
                let from = (Kind::DictionaryGuide, Vec::new());
                let guide = pages.firsts.range(from..=(Kind::DictionaryGuide, key.clone())).next_back();
                let found = guide.and_then(|(_, number)| page_of(&pages.bodies[&(Kind::DictionaryGuide, *number)], &key).unwrap());
                let expected = sorted.partition_point(|first| **first <= key).checked_sub(1);
                prop_assert_eq!(found, expected.map(|at| at as u32));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = page_of(&bytes, b"word");
        }
    }
}
