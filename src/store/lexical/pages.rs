//! Reads and writes the pages of segments.

use super::Segment;
use super::kept::{Guides, Kept};
use crate::domain::lexical::Damaged;
use crate::domain::lexical::dictionary::Lists;
use crate::domain::lexical::guide::{first_key, page_of};
use crate::domain::lexical::merge::{Members, Stored};
use crate::domain::lexical::page::{self, IDS, Ids, Kind, Lengths, Sink};
use crate::domain::lexical::place::Place;
use crate::domain::lexical::topk::Source;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::keyed::{Key, Keyed, Kind as Column, need};
use crate::store::places;
use crate::store::reading::{Asked, From, Is, Reading, Table, require};
use crate::store::session::Session;
use crate::store::spi::arg;
use std::collections::HashMap;
use std::rc::Rc;

statement!(
    SOME,
    [
        "select p.number, p.body from me.lexical_page as p
      where p.space = $1 and p.segment = $2 and p.kind = $3 and p.number between $4 and $5 order by p.number"
    ],
    [TEXTOID, INT8OID, INT2OID, INT4OID, INT4OID],
    planned_once
);
statement!(
    CHOSEN,
    ["select p.number, p.body from unnest($4::int4[]) as w (number)
      join me.lexical_page as p on p.space = $1 and p.segment = $2 and p.kind = $3 and p.number = w.number"],
    [TEXTOID, INT8OID, INT2OID, INT4ARRAYOID],
    planned_once
);
statement!(
    /// For each key and segment the page of a kind that begins with the key or last before it, if one does.
    FIND,
    ["select (k.place - 1)::int4, s.segment, p.body
      from unnest($2::bytea[]) with ordinality as k (key, place)
      cross join unnest($3::int8[]) as s (segment)
      cross join lateral (
        select p.body from me.lexical_page as p
        where p.space = $1 and p.segment = s.segment and p.kind = $4 and p.first <= k.key
        order by p.first desc limit 1
      ) as p"],
    [TEXTOID, BYTEAARRAYOID, INT8ARRAYOID, INT2OID],
    planned_once
);
statement!(
    ADD,
    ["insert into me.lexical_page (space, segment, kind, number, first, body)
      select $1, $2, p.kind, p.number, p.first, p.body
      from unnest($3::int2[], $4::int4[], $5::bytea[], $6::bytea[]) as p (kind, number, first, body)"],
    [TEXTOID, INT8OID, INT2ARRAYOID, INT4ARRAYOID, BYTEAARRAYOID, BYTEAARRAYOID]
);

/// Pages that are read at once where the next ones are likely to be wanted too.
const AHEAD: u32 = 16;
/// Pages that are written at once.
const BEHIND: usize = 64;
/// Of pages that are wanted, one in so many: rather than looking each up, all between them are read.
const DENSE: u32 = 3;

fn int(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

static BY_NUMBER: Keyed = Keyed {
    table: c"lexical_page",
    index: c"lexical_page_pkey",
    keys: &[0, 1, 2, 3],
    columns: &[
        (c"space", Column::Text),
        (c"segment", Column::Int8),
        (c"kind", Column::Int2),
        (c"number", Column::Int4),
        (c"body", Column::Bytea),
    ],
};
static BY_FIRST: Keyed = Keyed {
    table: c"lexical_page",
    index: c"lexical_page_first_idx",
    keys: &[0, 1, 2, 3],
    columns: &[
        (c"space", Column::Text),
        (c"segment", Column::Int8),
        (c"kind", Column::Int2),
        (c"first", Column::Bytea),
        (c"body", Column::Bytea),
    ],
};

/// A page that was looked up.
pub struct Hit {
    /// Place of the key among those that were looked up.
    pub place: usize,
    /// The segment.
    pub segment: i64,
    /// The number of the page.
    pub number: u32,
}

/// Where pages come from: tables that are open, or statements.
pub struct Pages<'a> {
    session: &'a Session<'a>,
    open: Option<(Table, Table)>,
    /// What earlier calls have read, and later ones may need.
    kept: Rc<Kept>,
}

impl<'a> Pages<'a> {
    /// By statements, each under a snapshot of its own: for what writes.
    pub fn by_statement(session: &'a Session<'a>) -> Self {
        Self { session, open: None, kept: Rc::default() }
    }

    /// By key, under the one snapshot of a call that reads; none where that cannot be. What is kept was read under a snapshot
    /// that saw the same.
    pub fn by_key(session: &'a Session<'a>, reading: Reading, kept: Rc<Kept>) -> Option<Self> {
        let open = reading.open(&BY_FIRST).zip(reading.open(&BY_NUMBER))?;
        kept.begin();
        Some(Self { session, open: Some(open), kept })
    }

    /// Whether they are read by key.
    pub fn are_open(&self) -> bool {
        self.open.is_some()
    }

    /// Shows, for each key and segment, the page that holds the key, if one does.
    pub fn find(
        &self,
        kind: Kind,
        keys: &[&[u8]],
        segments: &[i64],
        mut each: impl FnMut(&Hit, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut hits = Vec::with_capacity(keys.len() * segments.len());
        self.guides(kind, keys, segments, |segment, place, guide| {
            let number = page_of(guide, keys.get(place).ok_or(Damaged)?)?;
            hits.extend(number.map(|number| Hit { place, segment, number }));
            Ok(())
        })?;
        hits.sort_unstable_by_key(|hit| (hit.segment, hit.number));
        for hits in hits.chunk_by(|a, b| a.segment == b.segment) {
            let Some(first) = hits.first() else { continue };
            let mut numbers: Vec<u32> = hits.iter().map(|hit| hit.number).collect();
            numbers.dedup();
            let mut rest = hits;
            self.chosen(first.segment, kind, &numbers, |number, page| {
                let (here, after) = rest.split_at(rest.partition_point(|hit| hit.number <= number));
                rest = after;
                here.iter().filter(|hit| hit.number == number).try_for_each(|hit| each(hit, page))
            })?;
        }
        Ok(())
    }

    /// Shows, for each key and segment, the page that guides to it.
    fn guides(
        &self,
        kind: Kind,
        keys: &[&[u8]],
        segments: &[i64],
        mut each: impl FnMut(i64, usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let kind = kind.guide();
        let Some((by_first, _)) = &self.open else {
            let keys: Vec<Option<Vec<u8>>> = keys.iter().map(|key| Some(key.to_vec())).collect();
            let args = [arg(self.session.space()), arg(keys), arg(segments.to_vec()), arg(kind.code())];
            for row in self.session.db().run(&FIND, &args)? {
                each(row.need(2)?, row.need::<i32>(1)? as usize, &row.need::<Vec<u8>>(3)?)?;
            }
            return Ok(());
        };
        for segment in segments {
            if self.kept.is_settled() {
                let guides = self.all_guides(*segment, kind)?;
                for (place, key) in keys.iter().enumerate() {
                    if let Some(guide) = guide_of(&guides, key) {
                        each(*segment, place, guide)?;
                    }
                }
                continue;
            }
            for (place, key) in keys.iter().enumerate() {
                let mut asked = self.asked(*segment, kind);
                asked.push(Asked { column: 3, is: Is::AtMost, key: Key::Bytes(key) });
                let readable = by_first.look(&asked, From::Last, |found| {
                    each(*segment, place, need(found.bytea(4))?)?;
                    Ok(false)
                })?;
                require(readable)?;
            }
        }
        Ok(())
    }

    /// All guides of a kind that a segment has: they are few.
    fn all_guides(&self, segment: i64, kind: Kind) -> Result<Guides> {
        if let Some(guides) = self.kept.guides(segment, kind) {
            return Ok(guides);
        }
        let mut guides: Vec<Vec<u8>> = Vec::new();
        self.some(segment, kind, 0, u32::MAX, |_, page| {
            guides.push(page.to_vec());
            Ok(())
        })?;
        let guides = Guides::from(guides);
        self.kept.keep_guides(segment, kind, guides.clone());
        Ok(guides)
    }

    /// Shows the pages from one number to another, in order.
    fn some(
        &self,
        segment: i64,
        kind: Kind,
        first: u32,
        last: u32,
        mut each: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (first, last) = (int(first), int(last));
        let Some((_, by_number)) = &self.open else {
            let args = [arg(self.session.space()), arg(segment), arg(kind.code()), arg(first), arg(last)];
            for row in self.session.db().run(&SOME, &args)? {
                each(row.need::<i32>(1)? as u32, &row.need::<Vec<u8>>(2)?)?;
            }
            return Ok(());
        };
        let mut asked = self.asked(segment, kind);
        asked.push(Asked { column: 3, is: Is::AtLeast, key: Key::Int4(first) });
        asked.push(Asked { column: 3, is: Is::AtMost, key: Key::Int4(last) });
        let readable = by_number.look_through(&asked, |found| {
            each(need(found.int4(3))? as u32, need(found.bytea(4))?)?;
            Ok(true)
        })?;
        require(readable)
    }

    /// Shows some pages, of which the numbers rise; nothing of those that are not there.
    fn chosen(
        &self,
        segment: i64,
        kind: Kind,
        numbers: &[u32],
        mut each: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return Ok(()) };
        if numbers.len() as u32 > (last - first) / DENSE {
            let mut wanted = numbers.iter().peekable();
            return self.some(segment, kind, *first, *last, |number, body| {
                if wanted.peek().is_some_and(|next| **next == number) {
                    wanted.next();
                    each(number, body)?;
                }
                Ok(())
            });
        }
        let Some((_, by_number)) = &self.open else {
            let numbers: Vec<i32> = numbers.iter().map(|number| int(*number)).collect();
            let args = [arg(self.session.space()), arg(segment), arg(kind.code()), arg(numbers)];
            for row in self.session.db().run(&CHOSEN, &args)? {
                each(row.need::<i32>(1)? as u32, &row.need::<Vec<u8>>(2)?)?;
            }
            return Ok(());
        };
        // From where they were seen before, or else by their keys.
        let space = self.session.space();
        let key = |number: u32| places::page_key(space, segment, kind.code(), number);
        let mut rest = numbers;
        while !rest.is_empty() {
            let guesses: Vec<Place> = rest.iter().map_while(|number| places::page(key(*number))).collect();
            let shown = by_number.at(&guesses, |at, found| {
                let number = rest[at];
                let is_it = found.int4(3) == Some(int(number))
                    && found.int2(2) == Some(kind.code())
                    && found.int8(1) == Some(segment)
                    && found.text(0) == Some(space);
                if is_it {
                    each(number, need(found.bytea(4))?)?;
                }
                Ok(is_it)
            })?;
            rest = &rest[shown..];
            let [number, after @ ..] = rest else { break };
            let keys =
                [Key::Text(space), Key::Int8(segment), Key::Int2(kind.code()), Key::Int4(int(*number))];
            let readable = by_number.rows(&keys, |found| {
                places::note_page(key(*number), found.place());
                each(*number, need(found.bytea(4))?)?;
                Ok(false)
            })?;
            require(readable)?;
            rest = after;
        }
        Ok(())
    }

    fn asked(&self, segment: i64, kind: Kind) -> Vec<Asked<'_>> {
        let mut asked = Vec::with_capacity(5);
        let keys = [Key::Text(self.session.space()), Key::Int8(segment), Key::Int2(kind.code())];
        asked.extend(keys.into_iter().enumerate().map(|(column, key)| Asked { column, is: Is::Equal, key }));
        asked
    }
}

/// The pages of one segment. Those that were read for a search are kept as long as this is.
pub struct Reader<'a> {
    pages: Rc<Pages<'a>>,
    segment: i64,
    postings: HashMap<u32, Rc<[u8]>>,
    lengths: HashMap<u32, Lengths>,
    dictionary: HashMap<u32, Vec<u8>>,
}

impl<'a> Reader<'a> {
    /// Of a segment of the session's space.
    pub fn new(pages: &Rc<Pages<'a>>, segment: i64) -> Self {
        Self {
            pages: pages.clone(),
            segment,
            postings: HashMap::new(),
            lengths: HashMap::new(),
            dictionary: HashMap::new(),
        }
    }

    /// The ids of memories, by their numbers.
    pub fn ids(&self, ordinals: &[u32]) -> Result<Vec<[u8; 16]>> {
        let mut order: Vec<usize> = (0..ordinals.len()).collect();
        order.sort_unstable_by_key(|place| ordinals[*place]);
        let mut numbers: Vec<u32> = order.iter().map(|place| ordinals[*place] / IDS as u32).collect();
        numbers.dedup();
        let mut found = vec![[0; 16]; ordinals.len()];
        let mut rest = &order[..];
        self.pages.chosen(self.segment, Kind::Ids, &numbers, |number, page| {
            let ids = Ids::open(page)?;
            while let [place, after @ ..] = rest
                && ordinals[*place] / IDS as u32 == number
            {
                let (id, row) = ids.get(ordinals[*place] as usize % IDS)?;
                places::hint_memory(&id, row);
                found[*place] = id;
                rest = after;
            }
            Ok(())
        })?;
        if rest.is_empty() { Ok(found) } else { Err(Damaged.into()) }
    }

    /// The numbers of those of some memories, whose ids rise, that the segment holds, dead or alive; they rise too.
    pub fn ordinals(&self, segment: &Segment, ids: &[[u8; 16]]) -> Result<Vec<u32>> {
        let from = ids.partition_point(|id| *id < segment.first_id);
        let to = ids.partition_point(|id| *id <= segment.last_id);
        let here = ids.get(from..to).unwrap_or_default();
        if here.is_empty() {
            return Ok(Vec::new());
        }
        let guides = self.pages.all_guides(self.segment, Kind::IdsGuide)?;
        let mut numbers = Vec::with_capacity(here.len());
        let mut at = 0;
        for id in here {
            while guides.get(at + 1).and_then(|next| first_key(next)).is_some_and(|first| first <= &id[..]) {
                at += 1;
            }
            numbers.extend(page_of(guides.get(at).ok_or(Damaged)?, id)?);
        }
        numbers.dedup();
        let mut found = Vec::with_capacity(here.len());
        let mut rest = here;
        self.pages.chosen(self.segment, Kind::Ids, &numbers, |number, page| {
            rest = take_here(number, Ids::open(page)?.ids, rest, &mut found);
            Ok(())
        })?;
        Ok(found)
    }

    /// All its memories.
    pub fn members(&self, dead: Vec<u32>) -> Result<Members> {
        let mut members = Members { dead, ..Members::default() };
        self.pages.some(self.segment, Kind::Ids, 0, u32::MAX, |_, page| {
            for (id, place) in Ids::open(page)?.all() {
                members.ids.push(id);
                members.places.push(place);
            }
            Ok(())
        })?;
        self.pages.some(self.segment, Kind::Lengths, 0, u32::MAX, |_, page| {
            members.lengths.extend(Lengths::open(page.into())?.all()?);
            Ok(())
        })?;
        if members.ids.len() == members.lengths.len() { Ok(members) } else { Err(Damaged.into()) }
    }
}

/// Takes from the front of some ids, which rise, those that the page reaches; what is left comes after it.
fn take_here<'b>(
    number: u32,
    page: &[[u8; 16]],
    ids: &'b [[u8; 16]],
    found: &mut Vec<u32>,
) -> &'b [[u8; 16]] {
    let Some(last) = page.last() else { return ids };
    let (here, rest) = ids.split_at(ids.partition_point(|id| id <= last));
    let places = here.iter().filter_map(|id| page::position(page, id).ok());
    found.extend(places.map(|at| number * IDS as u32 + at as u32));
    rest
}

impl Lists for Reader<'_> {
    type Error = Error;

    fn postings(&mut self, number: u32, last: u32) -> Result<Rc<[u8]>> {
        if !self.postings.contains_key(&number) {
            let last = last.min(number.saturating_add(AHEAD - 1));
            let postings = &mut self.postings;
            self.pages.some(self.segment, Kind::Postings, number, last, |number, page| {
                postings.insert(number, page.into());
                Ok(())
            })?;
        }
        self.postings.get(&number).cloned().ok_or_else(|| Damaged.into())
    }
}

impl Source for Reader<'_> {
    fn lengths(&mut self, window: u32) -> Result<Lengths> {
        if let Some(lengths) = self.pages.kept.lengths(self.segment, window) {
            return Ok(lengths);
        }
        if !self.lengths.contains_key(&window) {
            let (lengths, last) = (&mut self.lengths, window.saturating_add(AHEAD - 1));
            let kept = &self.pages.kept;
            self.pages.some(self.segment, Kind::Lengths, window, last, |number, page| {
                let page = Lengths::open(page.into())?;
                kept.keep_lengths(self.segment, number, &page);
                lengths.insert(number, page);
                Ok(())
            })?;
        }
        self.lengths.get(&window).cloned().ok_or_else(|| Damaged.into())
    }
}

/// The one of some guides that guides to a key, if one does.
fn guide_of<'b>(guides: &'b [Vec<u8>], key: &[u8]) -> Option<&'b Vec<u8>> {
    let after = guides.partition_point(|guide| first_key(guide).is_none_or(|first| first <= key));
    guides.get(after.checked_sub(1)?)
}

/// The pages of a segment that is read once, from its front: none is kept.
pub struct Stream<'a>(Reader<'a>);

impl<'a> Stream<'a> {
    /// Of a segment of the session's space.
    pub fn new(pages: &Rc<Pages<'a>>, segment: i64) -> Self {
        Self(Reader::new(pages, segment))
    }
}

impl Lists for Stream<'_> {
    type Error = Error;

    fn postings(&mut self, number: u32, last: u32) -> Result<Rc<[u8]>> {
        let page = self.0.postings(number, last)?;
        self.0.postings.remove(&number);
        Ok(page)
    }
}

impl Stored for Stream<'_> {
    fn dictionary(&mut self, number: u32) -> Result<Option<Vec<u8>>> {
        if let Some(page) = self.0.dictionary.remove(&number) {
            return Ok(Some(page));
        }
        let Reader { pages, segment, dictionary, .. } = &mut self.0;
        pages.some(
            *segment,
            Kind::Dictionary,
            number,
            number.saturating_add(AHEAD - 1),
            |number, page| {
                dictionary.insert(number, page.to_vec());
                Ok(())
            },
        )?;
        Ok(self.0.dictionary.remove(&number))
    }
}

/// Stores the pages of a new segment, some at a time.
pub struct Writer<'a> {
    session: &'a Session<'a>,
    segment: i64,
    kinds: Vec<i16>,
    numbers: Vec<i32>,
    firsts: Vec<Option<Vec<u8>>>,
    bodies: Vec<Option<Vec<u8>>>,
}

impl<'a> Writer<'a> {
    /// Of a segment of the session's space.
    pub fn new(session: &'a Session<'a>, segment: i64) -> Self {
        Self {
            session,
            segment,
            kinds: Vec::new(),
            numbers: Vec::new(),
            firsts: Vec::new(),
            bodies: Vec::new(),
        }
    }

    /// Stores what is left.
    pub fn flush(&mut self) -> Result<()> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let args = [
            arg(self.session.space()),
            arg(self.segment),
            arg(std::mem::take(&mut self.kinds)),
            arg(std::mem::take(&mut self.numbers)),
            arg(std::mem::take(&mut self.firsts)),
            arg(std::mem::take(&mut self.bodies)),
        ];
        self.session.db().run(&ADD, &args)?;
        Ok(())
    }
}

impl Sink for Writer<'_> {
    type Error = Error;

    fn page(&mut self, kind: Kind, number: u32, first: Option<&[u8]>, body: Vec<u8>) -> Result<()> {
        self.kinds.push(kind.code());
        self.numbers.push(int(number));
        self.firsts.push(first.map(<[u8]>::to_vec));
        self.bodies.push(Some(body));
        if self.kinds.len() >= BEHIND { self.flush() } else { Ok(()) }
    }
}

/// Where memories are: segment by place in `segments`, and number. One that is dead is where it was.
pub fn locate(pages: &Pages, segments: &[Segment], ids: &[[u8; 16]]) -> Result<Vec<(usize, u32)>> {
    let mut found = Vec::new();
    for (place, segment) in segments.iter().enumerate() {
        let here: Vec<&[u8]> = ids.iter().filter(|id| segment.may_hold(id)).map(|id| &id[..]).collect();
        if here.is_empty() {
            continue;
        }
        pages.find(Kind::Ids, &here, &[segment.number], |hit, page| {
            let id = here.get(hit.place).and_then(|id| id.first_chunk::<16>()).ok_or(Damaged)?;
            found.extend(page::ordinal_of(page, hit.number, id)?.map(|ordinal| (place, ordinal)));
            Ok(())
        })?;
    }
    Ok(found)
}
