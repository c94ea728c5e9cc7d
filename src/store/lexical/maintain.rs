//! Keeps the lexical index: takes in what changed, and merges segments.

use super::pages::{Pages, Reader, Stream, Writer, locate};
use super::read::length_of;
use super::{Segment, distances, litter, segments};
use crate::domain::lexical::build::Builder;
use crate::domain::lexical::merge::{Joined, Members, due, merge};
use crate::domain::lexical::page::Sink;
use crate::domain::lexical::place::Place;
use crate::domain::search::lexeme::TAG_BYTES;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::keyed::{Key, Open, Tables};
use crate::store::owner;
use crate::store::point::BY_ID;
use crate::store::session::Session;
use crate::store::spi::arg;
use crate::store::tsvector::TsVector;
use pgrx::check_for_interrupts;
use std::rc::Rc;

/// Memories that one call takes in, unless it says otherwise: as many as become one segment at once, which then is not
/// written again soon.
pub const AT_ONCE: i64 = 100_000;
/// Memories that are read at once.
const PORTION: i64 = 1000;
/// A segment that has so many postings is written, whatever else waits: until then it is held in memory.
const POSTINGS_MOST: usize = 4_000_000;

statement!(
    BEGIN,
    ["insert into me.lexical_state (space, turn) values ($1, 0) on conflict (space) do nothing"],
    [TEXTOID]
);
statement!(
    /// Whoever writes the index of a space holds this row: others do not wait for it.
    LOCK_NOW,
    ["select 1 from me.lexical_state as s where s.space = $1 for update skip locked"],
    [TEXTOID]
);
statement!(
    /// Numbers a segment, and holds the row until the transaction ends. Under one snapshot for the whole transaction it
    /// fails when somebody has written the index since.
    TURN,
    ["update me.lexical_state as s set turn = s.turn + 1 where s.space = $1 returning s.turn"],
    [TEXTOID]
);
statement!(
    /// Some memories of the tail behind an id, with all of its entries about each and with what they are found by now: under
    /// one snapshot, so that an entry is taken only together with the lexemes it announced.
    TAKE,
    ["select w.memory_id, w.fresh, l.lexemes, l.length, w.entries
      from (
        select t.memory_id, bool_and(t.fresh) as fresh, pg_catalog.array_agg(t.entry) as entries
        from me.lexical_tail as t where t.space = $1 and t.memory_id > $3
        group by t.memory_id order by t.memory_id limit $2
      ) as w
      left join lateral (
        select l.lexemes, l.length, l.piece from me.memory_lexeme as l
        where l.space = $1 and l.memory_id = w.memory_id order by l.piece limit 32767
      ) as l on true
      order by w.memory_id, l.piece"],
    [TEXTOID, INT8OID, UUIDOID]
);
statement!(
    /// Deletes entries, of which the memories rise: those of the tail between them are gone through once.
    TAKEN,
    ["delete from me.lexical_tail as t using unnest($2::uuid[], $3::uuid[]) as e (memory_id, entry)
      where t.space = $1 and t.memory_id between $4 and $5 and t.memory_id = e.memory_id and t.entry = e.entry"],
    [TEXTOID, UUIDARRAYOID, UUIDARRAYOID, UUIDOID, UUIDOID]
);
statement!(
    ADD,
    ["insert into me.lexical_segment (
        space, segment, memories, length, first_id, last_id, dead_memories, dead_length, dead)
      values ($1, $2, $3, $4, $5, $6, 0, 0, '')"],
    [TEXTOID, INT8OID, INT4OID, INT8OID, UUIDOID, UUIDOID]
);
statement!(
    BURY,
    [
        "update me.lexical_segment set dead_memories = $3, dead_length = $4, dead = $5 where space = $1 and segment = $2"
    ],
    [TEXTOID, INT8OID, INT4OID, INT8OID, BYTEAOID]
);
statement!(
    DROP_SEGMENTS,
    ["delete from me.lexical_segment where space = $1 and segment = any ($2)"],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    DROP_PAGES,
    ["delete from me.lexical_page where space = $1 and segment = any ($2)"],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    /// Everything of the index is thrown away, and everything waits for it again.
    CLEAR,
    ["with segments as (delete from me.lexical_segment where space = $1),
      pages as (delete from me.lexical_page where space = $1)
      insert into me.lexical_tail (space, memory_id, entry, fresh)
      select $1, l.memory_id, me._uuid_v7(), false from me.memory_lexeme as l where l.space = $1 and l.piece = 0"],
    [TEXTOID]
);
statement!(WAITS, ["select exists (select from me.lexical_tail as t where t.space = $1)"], [TEXTOID]);

/// What a turn did.
#[derive(Debug, Default)]
pub struct Turn {
    /// Memories whose lexemes were taken in.
    pub indexed: u64,
    /// Memories of which nothing is left but what the index still had.
    pub removed: u64,
    /// Segments that became one.
    pub merged: u64,
    /// Whether there is nothing left to do.
    pub complete: bool,
    /// Whether somebody else is at it, so that nothing was done.
    pub busy: bool,
}

/// Takes in up to `most` memories of the tail, and merges what is due; with `rebuild`, after throwing all away.
pub fn maintain(session: &Session, most: i64, rebuild: bool) -> Result<Turn> {
    owner::by_index(|| {
        session.db().run(&BEGIN, &[arg(session.space())])?;
        if session.db().row(&LOCK_NOW, &[arg(session.space())])?.is_none() {
            return Ok(Turn { busy: true, ..Turn::default() });
        }
        if rebuild {
            session.db().run(&CLEAR, &[arg(session.space())])?;
        }
        let mut turn = Turn::default();
        take_in(session, most, &mut turn)?;
        let (segments, _) = segments(session, 0)?;
        let sizes: Vec<(u64, u64)> =
            segments.iter().map(|segment| (segment.living(), segment.dead.len() as u64)).collect();
        let wanted: Vec<Segment> =
            due(&sizes).into_iter().filter_map(|at| segments.get(at).cloned()).collect();
        if !wanted.is_empty() {
            turn.merged = wanted.len() as u64;
            rewrite(session, wanted)?;
        }
        let waits = session.db().row(&WAITS, &[arg(session.space())])?;
        turn.complete =
            turn.merged == 0 && !waits.map(|row| row.need::<bool>(1)).transpose()?.unwrap_or(false);
        Ok(turn)
    })
}

/// Waits until nobody else writes the index of the space, and keeps others from it until the transaction ends.
pub fn hold(session: &Session) -> Result<()> {
    session.db().run(&BEGIN, &[arg(session.space())])?;
    next_number(session).map(|_| ())
}

fn next_number(session: &Session) -> Result<i64> {
    let row = session.db().row(&TURN, &[arg(session.space())])?;
    row.ok_or_else(|| Error::Internal("the lexical index has no state".into()))?.need(1)
}

fn take_in(session: &Session, most: i64, turn: &mut Turn) -> Result<()> {
    let mut taken = Taken::default();
    let mut left = most;
    while left > 0 && taken.builder.postings() < POSTINGS_MOST {
        let portion = left.min(PORTION);
        let count = taken.portion(session, portion, turn)?;
        left -= count;
        if count < portion {
            break;
        }
    }
    let Taken { builder, ids, entries, changed, .. } = taken;
    if entries.is_empty() {
        return Ok(());
    }
    bury(session, &changed)?;
    turn.indexed = builder.ids().len() as u64;
    add(session, builder.ids(), builder.lengths(), |writer| builder.write(writer))?;
    litter::entries(entries.len());
    let bounds =
        [ids.first(), ids.last()].map(|id| id.and_then(|id| arg(pgrx::Uuid::from_bytes(*id.as_bytes()))));
    let [first, last] = bounds;
    owner::hashing(|| {
        session.db().run(&TAKEN, &[arg(session.space()), arg(ids), arg(entries), first, last]).map(|_| ())
    })
}

/// What was taken from the tail.
#[derive(Default)]
struct Taken {
    builder: Builder,
    /// The entries: of which memory, and which.
    ids: Vec<pgrx::Uuid>,
    entries: Vec<pgrx::Uuid>,
    /// Memories that some segment may hold as they were.
    changed: Vec<[u8; 16]>,
    last: [u8; 16],
}

impl Taken {
    /// Takes up to `most` memories more; how many there were.
    fn portion(&mut self, session: &Session, most: i64, turn: &mut Turn) -> Result<i64> {
        let behind = self.last;
        let mut count = 0;
        let memories = Tables::here().and_then(|tables| tables.open(&BY_ID));
        let args = [arg(session.space()), arg(most), arg(pgrx::Uuid::from_bytes(behind))];
        let rows = session.db().run(&TAKE, &args)?;
        for row in rows.iter() {
            let id = *row.need::<pgrx::Uuid>(1)?.as_bytes();
            let lexemes: Option<TsVector> = row.get(3);
            if self.last != id {
                check_for_interrupts!();
                self.last = id;
                count += 1;
                for entry in row.need::<Vec<pgrx::Uuid>>(5)? {
                    self.ids.push(pgrx::Uuid::from_bytes(id));
                    self.entries.push(entry);
                }
                if !row.need::<bool>(2)? {
                    self.changed.push(id);
                }
                match row.get::<i64>(4) {
                    Some(length) => {
                        let place = match &memories {
                            Some(memories) => place_of(session, memories, &id)?,
                            None => Place::NOWHERE,
                        };
                        self.builder.memory(id, place, u32::try_from(length).unwrap_or(u32::MAX));
                    }
                    None => turn.removed += 1,
                }
            }
            if let Some(lexemes) = lexemes {
                let builder = &mut self.builder;
                lexemes.open().each(|lexeme, halves| {
                    builder.lexeme(lexeme.get(TAG_BYTES..).unwrap_or_default(), halves);
                });
            }
        }
        rows.free();
        Ok(count)
    }
}

/// Where the row of a memory is now.
fn place_of(session: &Session, memories: &Open, id: &[u8; 16]) -> Result<Place> {
    let mut place = Place::NOWHERE;
    session.db().under_snapshot(|snapshot| {
        memories.rows(snapshot, &[Key::Text(session.space()), Key::Uuid(id)], |found| {
            place = found.place();
            Ok(false)
        })
    })?;
    Ok(place)
}

/// Marks memories as dead in the segments that hold them as they were.
fn bury(session: &Session, changed: &[[u8; 16]]) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let (segments, _) = segments(session, 0)?;
    let pages = Rc::new(Pages::by_statement(session));
    let mut found = locate(&pages, &segments, changed)?;
    found.retain(|(place, ordinal)| segments[*place].dead.binary_search(ordinal).is_err());
    found.sort_unstable();
    for group in found.chunk_by(|a, b| a.0 == b.0) {
        let Some(segment) = group.first().and_then(|(place, _)| segments.get(*place)) else { continue };
        let ordinals: Vec<u32> = group.iter().map(|(_, ordinal)| *ordinal).collect();
        let length = segment.dead_length + length_of(&pages, segment.number, &ordinals)?;
        let mut dead = segment.dead.clone();
        dead.extend(ordinals);
        dead.sort_unstable();
        let args = [
            arg(session.space()),
            arg(segment.number),
            arg(i32::try_from(dead.len()).unwrap_or(i32::MAX)),
            arg(length),
            arg(&distances(&dead)[..]),
        ];
        session.db().run(&BURY, &args)?;
    }
    Ok(())
}

/// Stores a new segment, unless it is empty.
fn add(
    session: &Session,
    ids: &[[u8; 16]],
    lengths: &[u32],
    write: impl FnOnce(&mut Writer) -> Result<()>,
) -> Result<()> {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(()) };
    let number = next_number(session)?;
    let mut writer = Writer::new(session, number);
    write(&mut writer)?;
    writer.flush()?;
    let args = [
        arg(session.space()),
        arg(number),
        arg(i32::try_from(ids.len()).unwrap_or(i32::MAX)),
        arg(lengths.iter().map(|length| i64::from(*length)).sum::<i64>()),
        arg(pgrx::Uuid::from_bytes(*first)),
        arg(pgrx::Uuid::from_bytes(*last)),
    ];
    session.db().run(&ADD, &args)?;
    Ok(())
}

/// Makes one segment of some, without what is dead.
pub(super) fn rewrite(session: &Session, wanted: Vec<Segment>) -> Result<()> {
    let numbers: Vec<i64> = wanted.iter().map(|segment| segment.number).collect();
    let pages = Rc::new(Pages::by_statement(session));
    let parts: Vec<Members> = wanted
        .into_iter()
        .map(|segment| Reader::new(&pages, segment.number).members(segment.dead))
        .collect::<Result<_>>()?;
    let joined = Joined::of(&parts);
    drop(parts);
    add(session, &joined.ids, &joined.lengths, |writer| {
        let mut streams: Vec<Stream> = numbers.iter().map(|number| Stream::new(&pages, *number)).collect();
        merge(&mut streams, &joined, &mut Watched(writer))
    })?;
    session.db().run(&DROP_SEGMENTS, &[arg(session.space()), arg(numbers.clone())])?;
    litter::pages(session.db().run(&DROP_PAGES, &[arg(session.space()), arg(numbers)])?.count());
    Ok(())
}

/// Looks, at each page, whether the call was cancelled.
struct Watched<'a, 'b>(&'a mut Writer<'b>);

impl Sink for Watched<'_, '_> {
    type Error = Error;

    fn page(
        &mut self,
        kind: crate::domain::lexical::page::Kind,
        number: u32,
        first: Option<&[u8]>,
        body: Vec<u8>,
    ) -> Result<()> {
        check_for_interrupts!();
        self.0.page(kind, number, first, body)
    }
}
