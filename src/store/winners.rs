//! The rows that won a search, read by their keys: a statement that fetches ten rows takes longer to start than to run.
//!
//! Where the tables are not read by key, nothing is read here, and the statements of [`search`](super::search) answer.

use super::jsonb::Jsonb;
use super::keyed::{Found, Key, Open, Tables, need};
use super::places;
use super::point::{self, BY_ID, EMBEDDED, column};
use super::reading::{Table, require};
use super::search::Hit;
use super::session::{Session, stored_tree};
use super::spi::in_memory_above;
use super::standing;
use crate::domain::search::bm25::Scored;
use crate::error::{Error, Result};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// The rows of `me.search`; `None` where they cannot be read so.
pub fn hits(session: &Session, rows: &[Scored]) -> Result<Option<Vec<Hit>>> {
    let Some(memories) = Tables::here().and_then(|tables| tables.open(&BY_ID)) else { return Ok(None) };
    let time = |micros: i64| {
        TimestampWithTimeZone::try_from(micros).map_err(|_| Error::Internal("a stored time".into()))
    };
    let mut hits = Vec::with_capacity(rows.len());
    session.db().under_snapshot(|snapshot| {
        each(session, &Table::under(memories, snapshot), rows, |found, score| {
            let temporal = found.tstzrange(column::TEMPORAL);
            hits.push(Hit {
                id: pgrx::Uuid::from_bytes(need(found.uuid(column::ID))?),
                tree: tree(session, found)?,
                name: found.text(column::NAME).map(str::to_owned),
                content: need(found.text(column::CONTENT))?.to_owned(),
                meta: in_memory_above(|| need(found.jsonb_copy(column::META)))?,
                start: temporal.map(|(start, _)| time(start)).transpose()?,
                end: temporal.map(|(_, end)| time(end)).transpose()?,
                score,
            });
            Ok(())
        })
    })?;
    Ok(Some(hits))
}

/// The records with their scores; `None` where they cannot be read so, or one is longer than a `jsonb` can be.
pub fn records(session: &Session, rows: &[Scored]) -> Result<Option<Vec<Jsonb>>> {
    let Some(tables) = Tables::here() else { return Ok(None) };
    let Some(memories) = tables.open(&BY_ID) else { return Ok(None) };
    let mut records = Vec::with_capacity(rows.len());
    let complete = session.db().under_snapshot(|snapshot| {
        let Some(embedded) = Embedded::open(session, tables, snapshot)? else { return Ok(false) };
        let mut complete = true;
        each(session, &Table::under(memories, snapshot), rows, |found, score| {
            let has_embedding = embedded.has(session.space(), snapshot, found)?;
            let record = point::record(found, &tree(session, found)?, has_embedding)?.scored(score);
            complete &= record.is_some();
            records.extend(record);
            Ok(())
        })?;
        Ok(complete)
    })?;
    Ok(complete.then_some(records))
}

/// Shows each row with its score, in their order; those that are gone are left out.
fn each(
    session: &Session,
    memories: &Table,
    rows: &[Scored],
    mut show: impl FnMut(&Found, f64) -> Result<()>,
) -> Result<()> {
    let ids: Vec<[u8; 16]> = rows.iter().map(|row| row.id).collect();
    require(places::memories(memories, session.space(), &ids, |at, found| {
        show(found, rows[at].score)?;
        Ok(true)
    })?)
}

/// The tree as the caller sees it.
fn tree(session: &Session, found: &Found) -> Result<String> {
    Ok(stored_tree(need(found.output(column::TREE))?)?.display(session.home()))
}

/// Which content the model of the space has vectors of.
enum Embedded {
    NoModel,
    Of(String, Open),
}

impl Embedded {
    /// `None` when that cannot be read by key.
    fn open(session: &Session, tables: Tables, snapshot: pg_sys::Snapshot) -> Result<Option<Self>> {
        Ok(match standing::current_model(session.space(), tables, snapshot)? {
            None => None,
            Some(None) => Some(Self::NoModel),
            Some(Some(model)) => tables.open(&EMBEDDED).map(|open| Self::Of(model, open)),
        })
    }

    fn has(&self, space: &str, snapshot: pg_sys::Snapshot, memory: &Found) -> Result<bool> {
        let Self::Of(model, open) = self else { return Ok(false) };
        let (id, version) = (need(memory.uuid(column::ID))?, need(memory.int8(column::CONTENT_VERSION))?);
        let mut has = false;
        open.rows(snapshot, &[Key::Text(space), Key::Uuid(&id), Key::Text(model)], |found| {
            has = found.int8(3) == Some(version);
            Ok(false)
        })?;
        Ok(has)
    }
}
