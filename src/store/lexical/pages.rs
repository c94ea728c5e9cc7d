//! Reads and writes the pages of segments.

use super::Segment;
use crate::domain::lexical::Damaged;
use crate::domain::lexical::dictionary::Lists;
use crate::domain::lexical::merge::{Members, Stored};
use crate::domain::lexical::page::{self, IDS, Kind, Sink};
use crate::domain::lexical::topk::Source;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::{Rows, arg};
use std::collections::HashMap;

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
    /// For each key and segment the page that holds the key, if one does.
    FIND,
    ["select (k.place - 1)::int4, s.segment, p.number, p.body
      from unnest($2::bytea[]) with ordinality as k (key, place)
      cross join unnest($3::int8[]) as s (segment)
      cross join lateral (
        select p.number, p.body from me.lexical_page as p
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

fn int(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn bodies(rows: Rows, into: &mut HashMap<u32, Vec<u8>>) -> Result<()> {
    for row in rows {
        into.insert(u32::try_from(row.need::<i32>(1)?).map_err(|_| Damaged)?, row.need(2)?);
    }
    Ok(())
}

/// A page that was looked up.
pub struct Hit {
    /// Place of the key among those that were looked up.
    pub place: usize,
    /// The segment.
    pub segment: i64,
    /// The number of the page.
    pub number: u32,
    /// The page.
    pub body: Vec<u8>,
}

/// For each key and segment the page that holds the key, if one does.
pub fn find(
    session: &Session,
    kind: Kind,
    keys: Vec<Option<Vec<u8>>>,
    segments: Vec<i64>,
) -> Result<Vec<Hit>> {
    let args = [arg(session.space()), arg(keys), arg(segments), arg(kind.code())];
    session
        .db()
        .run(&FIND, &args)?
        .into_iter()
        .map(|row| {
            Ok(Hit {
                place: row.need::<i32>(1)? as usize,
                segment: row.need(2)?,
                number: row.need::<i32>(3)? as u32,
                body: row.need(4)?,
            })
        })
        .collect()
}

/// The pages of one segment. Those that were read for a search are kept as long as this is.
pub struct Reader<'a> {
    session: &'a Session<'a>,
    segment: i64,
    postings: HashMap<u32, Vec<u8>>,
    lengths: HashMap<u32, Vec<u8>>,
    dictionary: HashMap<u32, Vec<u8>>,
}

impl<'a> Reader<'a> {
    /// Of a segment of the session's space.
    pub fn new(session: &'a Session<'a>, segment: i64) -> Self {
        Self {
            session,
            segment,
            postings: HashMap::new(),
            lengths: HashMap::new(),
            dictionary: HashMap::new(),
        }
    }

    fn some(&self, kind: Kind, first: u32, last: u32) -> Result<Rows> {
        let args =
            [arg(self.session.space()), arg(self.segment), arg(kind.code()), arg(int(first)), arg(int(last))];
        self.session.db().run(&SOME, &args)
    }

    /// The ids of memories, by their numbers.
    pub fn ids(&self, ordinals: &[u32]) -> Result<Vec<[u8; 16]>> {
        let mut numbers: Vec<u32> = ordinals.iter().map(|ordinal| ordinal / IDS as u32).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let numbers: Vec<i32> = numbers.into_iter().map(int).collect();
        let args = [arg(self.session.space()), arg(self.segment), arg(Kind::Ids.code()), arg(numbers)];
        let mut pages = HashMap::new();
        bodies(self.session.db().run(&CHOSEN, &args)?, &mut pages)?;
        ordinals
            .iter()
            .map(|ordinal| {
                let page = pages.get(&(ordinal / IDS as u32)).ok_or(Damaged)?;
                page::ids(page)?.get(*ordinal as usize % IDS).copied().ok_or_else(|| Damaged.into())
            })
            .collect()
    }

    /// All its memories.
    pub fn members(&self, dead: Vec<u32>) -> Result<Members> {
        let mut members = Members { dead, ..Members::default() };
        for row in self.some(Kind::Ids, 0, u32::MAX)? {
            members.ids.extend_from_slice(page::ids(&row.need::<Vec<u8>>(2)?)?);
        }
        for row in self.some(Kind::Lengths, 0, u32::MAX)? {
            members.lengths.extend(page::lengths(&row.need::<Vec<u8>>(2)?)?);
        }
        if members.ids.len() == members.lengths.len() { Ok(members) } else { Err(Damaged.into()) }
    }
}

impl Lists for Reader<'_> {
    type Error = Error;

    fn postings(&mut self, number: u32, last: u32) -> Result<Vec<u8>> {
        if !self.postings.contains_key(&number) {
            let last = last.min(number.saturating_add(AHEAD - 1));
            bodies(self.some(Kind::Postings, number, last)?, &mut self.postings)?;
        }
        self.postings.get(&number).cloned().ok_or_else(|| Damaged.into())
    }
}

impl Source for Reader<'_> {
    fn lengths(&mut self, window: u32) -> Result<Vec<u32>> {
        if !self.lengths.contains_key(&window) {
            bodies(self.some(Kind::Lengths, window, window.saturating_add(AHEAD - 1))?, &mut self.lengths)?;
        }
        Ok(page::lengths(self.lengths.get(&window).ok_or(Damaged)?)?)
    }
}

/// The pages of a segment that is read once, from its front: none is kept.
pub struct Stream<'a>(Reader<'a>);

impl<'a> Stream<'a> {
    /// Of a segment of the session's space.
    pub fn new(session: &'a Session<'a>, segment: i64) -> Self {
        Self(Reader::new(session, segment))
    }
}

impl Lists for Stream<'_> {
    type Error = Error;

    fn postings(&mut self, number: u32, last: u32) -> Result<Vec<u8>> {
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
        bodies(
            self.0.some(Kind::Dictionary, number, number.saturating_add(AHEAD - 1))?,
            &mut self.0.dictionary,
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
pub fn locate(session: &Session, segments: &[Segment], ids: &[[u8; 16]]) -> Result<Vec<(usize, u32)>> {
    let mut found = Vec::new();
    for (place, segment) in segments.iter().enumerate() {
        let here: Vec<&[u8; 16]> = ids.iter().filter(|id| segment.may_hold(id)).collect();
        if here.is_empty() {
            continue;
        }
        let keys = here.iter().map(|id| Some(id.to_vec())).collect();
        for hit in find(session, Kind::Ids, keys, vec![segment.number])? {
            let id = here.get(hit.place).ok_or(Damaged)?;
            if let Some(ordinal) = page::ordinal_of(&hit.body, hit.number, id)? {
                found.push((place, ordinal));
            }
        }
    }
    Ok(found)
}
