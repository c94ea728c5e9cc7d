//! The lexical index in its tables: which segments there are, and their pages. What is in them is the domain's.

pub mod erase;
mod kept;
pub mod litter;
pub mod maintain;
pub mod pages;
pub mod read;
pub mod status;
pub mod upkeep;

use super::keyed::{Key, Keyed, Kind as Column, need};
use super::reading::{Table, require};
use super::session::Session;
use super::spi::{Row, arg};
use crate::domain::lexical::Damaged;
use crate::domain::lexical::bits::{Reader, put_varint};
use crate::error::{Error, Result};
use crate::statement;

statement!(
    /// The segments, in order of their memories' ids; beside each, how long the tail is, counted as far as it matters.
    SEGMENTS,
    ["select s.segment, s.memories, s.length, s.first_id, s.last_id, s.dead_memories, s.dead_length, s.dead,
        (select count(*) from (select from me.lexical_tail as t where t.space = $1 limit $2) as t)
      from me.lexical_segment as s where s.space = $1 order by s.first_id, s.segment"],
    [TEXTOID, INT8OID]
);

static BY_SPACE: Keyed = Keyed {
    table: c"lexical_segment",
    index: c"lexical_segment_pkey",
    keys: &[0],
    columns: &[
        (c"space", Column::Text),
        (c"segment", Column::Int8),
        (c"memories", Column::Int4),
        (c"length", Column::Int8),
        (c"first_id", Column::Uuid),
        (c"last_id", Column::Uuid),
        (c"dead_length", Column::Int8),
        (c"dead", Column::Bytea),
    ],
};

impl From<Damaged> for Error {
    fn from(_: Damaged) -> Self {
        Self::Internal(
            "the lexical index is damaged: me.lexical_maintain(rebuild => true) makes it anew".into(),
        )
    }
}

/// A segment.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Its number.
    pub number: i64,
    /// How many memories it was made of.
    pub memories: u32,
    /// Their length together, in halves of a word.
    pub length: i64,
    /// The lowest id.
    pub first_id: [u8; 16],
    /// The highest id.
    pub last_id: [u8; 16],
    /// The length of the dead, in halves.
    pub dead_length: i64,
    /// The numbers of the dead, in order.
    pub dead: Vec<u32>,
}

impl Segment {
    fn of(row: &Row) -> Result<Self> {
        let id = |column| row.need::<pgrx::Uuid>(column).map(|id| *id.as_bytes());
        let dead_memories: i32 = row.need(6)?;
        let dead = if dead_memories == 0 { Vec::new() } else { numbers(&row.need::<Vec<u8>>(8)?)? };
        Ok(Self {
            number: row.need(1)?,
            memories: u32::try_from(row.need::<i32>(2)?).map_err(|_| Damaged)?,
            length: row.need(3)?,
            first_id: id(4)?,
            last_id: id(5)?,
            dead_length: row.need(7)?,
            dead,
        })
    }

    /// How many of its memories live.
    #[must_use]
    pub fn living(&self) -> u64 {
        u64::from(self.memories).saturating_sub(self.dead.len() as u64)
    }

    /// Whether the id is among those that it may hold.
    fn may_hold(&self, id: &[u8; 16]) -> bool {
        (self.first_id..=self.last_id).contains(id)
    }
}

/// The segments of the space, and how long its tail is, counted up to `most`; that is not known without a segment.
fn segments(session: &Session, most: i64) -> Result<(Vec<Segment>, u64)> {
    let mut waiting = 0;
    let mut segments = Vec::new();
    for row in session.db().run(&SEGMENTS, &[arg(session.space()), arg(most)])? {
        segments.push(Segment::of(&row)?);
        waiting = row.need::<i64>(9)?.unsigned_abs();
    }
    Ok((segments, waiting))
}

/// The segments of the space, in order of their memories' ids, by key.
fn segments_by_key(session: &Session, directory: &Table) -> Result<Vec<Segment>> {
    let mut segments = Vec::new();
    let readable = directory.rows(&[Key::Text(session.space())], |found| {
        segments.push(Segment {
            number: need(found.int8(1))?,
            memories: u32::try_from(need(found.int4(2))?).map_err(|_| Damaged)?,
            length: need(found.int8(3))?,
            first_id: need(found.uuid(4))?,
            last_id: need(found.uuid(5))?,
            dead_length: need(found.int8(6))?,
            dead: numbers(need(found.bytea(7))?)?,
        });
        Ok(true)
    })?;
    require(readable)?;
    segments.sort_unstable_by_key(|segment| (segment.first_id, segment.number));
    Ok(segments)
}

/// Rising numbers as bytes.
fn distances(numbers: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut from = 0;
    for number in numbers {
        put_varint(&mut bytes, number - from);
        from = *number;
    }
    bytes
}

/// What [`distances`] wrote.
fn numbers(bytes: &[u8]) -> std::result::Result<Vec<u32>, Damaged> {
    let mut reader = Reader::new(bytes);
    let (mut numbers, mut from) = (Vec::new(), 0u32);
    while !reader.is_empty() {
        from = from.checked_add(reader.varint()?).ok_or(Damaged)?;
        numbers.push(from);
    }
    Ok(numbers)
}
