//! The pages a segment is stored in: some kilobytes each, two to a page of the server.

use super::Damaged;
use super::bits::{Reader, at, pack, packed_bytes, put_varint, width};
use super::guide::Guide;
use super::place::{PLACE, Place};
use std::rc::Rc;

/// Bytes of a page before another is begun.
pub const PAGE_BYTES: usize = 3900;
/// Memories in a page of ids: an id of sixteen bytes each, and a place.
pub const IDS: usize = 177;
/// Lengths in a page, and memories of one window of a search.
pub const WINDOW: usize = 2048;

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Lexemes, in order, with what is known of their lists, or the list itself where it is short.
    Dictionary,
    /// A part of a long list.
    Postings,
    /// The ids of the memories, in order of their numbers, which is their own; behind them where their rows were.
    Ids,
    /// The lengths of the memories, in order of their numbers.
    Lengths,
    /// Which page of the dictionary a lexeme is in.
    DictionaryGuide,
    /// Which page of ids an id is in.
    IdsGuide,
}

impl Kind {
    /// How it is stored.
    #[must_use]
    pub fn code(self) -> i16 {
        match self {
            Self::Dictionary => 0,
            Self::Postings => 1,
            Self::Ids => 2,
            Self::Lengths => 3,
            Self::DictionaryGuide => 4,
            Self::IdsGuide => 5,
        }
    }

    /// What guides to a page of this kind by what is in it.
    #[must_use]
    pub fn guide(self) -> Self {
        match self {
            Self::Ids => Self::IdsGuide,
            _ => Self::DictionaryGuide,
        }
    }
}

/// Where the pages of a segment go.
pub trait Sink {
    /// What may go wrong.
    type Error: From<Damaged>;

    /// Takes a page. `first` is the first key in it, where pages are looked for by that.
    ///
    /// # Errors
    /// The page could not be stored.
    fn page(
        &mut self,
        kind: Kind,
        number: u32,
        first: Option<&[u8]>,
        body: Vec<u8>,
    ) -> Result<(), Self::Error>;
}

/// Writes the pages that say which memories a segment holds. They are in order of their ids.
///
/// # Errors
/// A page could not be stored.
pub fn write_documents<S: Sink>(
    sink: &mut S,
    ids: &[[u8; 16]],
    places: &[Place],
    lengths: &[u32],
) -> Result<(), S::Error> {
    let mut guide = Guide::new(Kind::IdsGuide);
    for ((number, some), places) in (0u32..).zip(ids.chunks(IDS)).zip(places.chunks(IDS)) {
        if let Some(first) = some.first() {
            guide.add(sink, first)?;
        }
        let mut body = some.concat();
        body.extend(places.iter().flat_map(|place| place.to_bytes()));
        sink.page(Kind::Ids, number, None, body)?;
    }
    guide.flush(sink)?;
    for (number, some) in (0u32..).zip(lengths.chunks(WINDOW)) {
        let mut body = Vec::new();
        put_varint(&mut body, some.len() as u32);
        let width = width(some);
        body.push(width);
        pack(&mut body, some, width);
        sink.page(Kind::Lengths, number, None, body)?;
    }
    Ok(())
}

/// The lengths in a page, each looked up where it stands.
#[derive(Debug, Clone)]
pub struct Lengths {
    page: Rc<[u8]>,
    /// Where they begin, how many there are, and how many bits each has.
    from: usize,
    count: usize,
    width: u8,
}

impl Lengths {
    /// Those of a page.
    ///
    /// # Errors
    /// The page is damaged.
    pub fn open(page: Rc<[u8]>) -> Result<Self, Damaged> {
        let mut reader = Reader::new(&page);
        let count = reader.varint()? as usize;
        let width = reader.byte()?;
        if count > WINDOW || width > 32 {
            return Err(Damaged);
        }
        let from = page.len() - reader.rest().len();
        reader.take(packed_bytes(count, width))?;
        Ok(Self { page, from, count, width })
    }

    /// That of the memory with this place in the window.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, place: usize) -> Result<u32, Damaged> {
        if place >= self.count {
            return Err(Damaged);
        }
        at(self.page.get(self.from..).ok_or(Damaged)?, self.width, place)
    }

    /// All of them.
    ///
    /// # Errors
    /// The page is damaged.
    pub fn all(&self) -> Result<Vec<u32>, Damaged> {
        (0..self.count).map(|place| self.get(place)).collect()
    }
}

/// The ids in a page, and where the row of each was.
#[derive(Debug, Clone, Copy)]
pub struct Ids<'a> {
    /// The ids, rising.
    pub ids: &'a [[u8; 16]],
    places: &'a [[u8; PLACE]],
}

impl<'a> Ids<'a> {
    /// Those of a page.
    ///
    /// # Errors
    /// The page is damaged.
    pub fn open(page: &'a [u8]) -> Result<Self, Damaged> {
        let count = page.len() / (16 + PLACE);
        let (ids, places) = page.split_at_checked(count * 16).ok_or(Damaged)?;
        let ((ids, _), (places, rest)) = (ids.as_chunks::<16>(), places.as_chunks::<PLACE>());
        if rest.is_empty() && places.len() == ids.len() { Ok(Self { ids, places }) } else { Err(Damaged) }
    }

    /// The memory at a place of the page, and where its row was.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, at: usize) -> Result<([u8; 16], Place), Damaged> {
        let (id, place) = self.ids.get(at).zip(self.places.get(at)).ok_or(Damaged)?;
        Ok((*id, Place::from_bytes(*place)))
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = ([u8; 16], Place)> + use<'a> {
        self.ids.iter().zip(self.places).map(|(id, place)| (*id, Place::from_bytes(*place)))
    }
}

/// Where an id stands among some that rise, or would stand, as a binary search says it. Ids are made of the time: where one is, is
/// known about, and few of the others are looked at.
///
/// # Errors
/// It does not stand there: where it would.
pub fn position(ids: &[[u8; 16]], id: &[u8; 16]) -> Result<usize, usize> {
    let front = |id: &[u8; 16]| id.first_chunk::<8>().map_or(0, |front| u64::from_be_bytes(*front));
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Err(0) };
    let (low, high, wanted) = (front(first), front(last), front(id));
    if wanted <= low || wanted >= high {
        return ids.binary_search(id);
    }
    let guess = (u128::from(wanted - low) * (ids.len() as u128 - 1) / u128::from(high - low)) as usize;
    let (mut from, mut to, mut step) = (guess, guess, NEAR);
    while from > 0 && ids[from] > *id {
        from = from.saturating_sub(step);
        step *= 2;
    }
    step = NEAR;
    while to < ids.len() && ids[to] < *id {
        to += step;
        step *= 2;
    }
    let here = &ids[from..ids.len().min(to + 1)];
    here.binary_search(id).map(|at| from + at).map_err(|at| from + at)
}

/// How far from where an id is expected it is looked for first.
const NEAR: usize = 4;

/// The number of the memory with this id, which is in the page if it is in the segment.
///
/// # Errors
/// The page is damaged.
pub fn ordinal_of(page: &[u8], number: u32, id: &[u8; 16]) -> Result<Option<u32>, Damaged> {
    Ok(position(Ids::open(page)?.ids, id).ok().map(|at| number * IDS as u32 + at as u32))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::guide::page_of;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Pages in memory.
    #[derive(Debug, Default, Clone)]
    pub struct Pages {
        /// The bodies.
        pub bodies: BTreeMap<(Kind, u32), Vec<u8>>,
        /// The first key of those that have one.
        pub firsts: BTreeMap<(Kind, Vec<u8>), u32>,
    }

    impl Sink for Pages {
        type Error = Damaged;

        fn page(
            &mut self,
            kind: Kind,
            number: u32,
            first: Option<&[u8]>,
            body: Vec<u8>,
        ) -> Result<(), Damaged> {
            if let Some(first) = first {
                assert!(self.firsts.insert((kind, first.to_vec()), number).is_none());
            }
            assert!(self.bodies.insert((kind, number), body).is_none());
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn positions_are_those_of_a_binary_search(
            fronts in prop::collection::btree_set((0u64..2000, any::<u8>()), 0..300), scale in 0u32..50, wanted in (0u64..2100, any::<u8>()),
        ) {
            let id = |(front, end): (u64, u8)| (u128::from(front << scale) << 64 | u128::from(end)).to_be_bytes();
            let ids: Vec<[u8; 16]> = fronts.iter().map(|front| id(*front)).collect();
            for wanted in ids.iter().copied().chain([id(wanted)]) {
                prop_assert_eq!(position(&ids, &wanted), ids.binary_search(&wanted));
            }
        }

        #[test]
        fn memories_are_found_by_id(count in 0usize..1000, longest in any::<u32>()) {
            let ids: Vec<[u8; 16]> = (0..count).map(|n| (n as u128 * 7 + 3).to_be_bytes()).collect();
            let all: Vec<u32> = (0..count).map(|n| if n == 5 { longest } else { n as u32 * 31 % 911 }).collect();
            let places: Vec<Place> = (0..count as u32).map(|n| Place { block: n * 65_537, line: n as u16 + 1 }).collect();
            let mut pages = Pages::default();
            write_documents(&mut pages, &ids, &places, &all).unwrap();
            for (n, id) in ids.iter().enumerate() {
                let number = (n / IDS) as u32;
                let page = &pages.bodies[&(Kind::Ids, number)];
                prop_assert_eq!(ordinal_of(page, number, id), Ok(Some(n as u32)));
                prop_assert_eq!(ordinal_of(page, number, &[0xFF; 16]), Ok(None));
                prop_assert_eq!(Ids::open(page).unwrap().get(n % IDS), Ok((*id, places[n])));
                let page = pages.bodies[&(Kind::Lengths, (n / WINDOW) as u32)][..].into();
                prop_assert_eq!(Lengths::open(page).unwrap().get(n % WINDOW), Ok(all[n]));
                let guide = &pages.bodies[&(Kind::IdsGuide, (n / IDS / 216) as u32)];
                prop_assert_eq!(page_of(guide, id), Ok(Some(number)));
            }
        }
    }
}
