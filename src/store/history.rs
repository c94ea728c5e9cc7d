//! Reads the history: pages of events, and the state a memory had at an instant.

use super::jsonb::Jsonb;
use super::memory::{find_path, no_memory, readable, record, stored_id, uuid};
use super::payload::{self, Payload, State, temporal};
use super::session::Session;
use super::spi::arg;
use crate::domain::access::Level;
use crate::domain::filter::{Scope, TreeFilter};
use crate::domain::history::{Cursor, Filter, Order};
use crate::domain::id::Id;
use crate::domain::instant::Instant;
use crate::domain::path::MemoryPath;
use crate::error::{Error, Result};
use crate::statement;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;

statement!(
    per call NEWEST_FIRST,
    [include_str!("history.sql"), " desc limit $13"],
    [
        TEXTOID,
        TEXTOID,
        TEXTARRAYOID,
        UUIDOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        UUIDOID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        UUIDOID,
        UUIDOID,
        INT8OID
    ]
);
statement!(
    per call OLDEST_FIRST,
    [include_str!("history.sql"), " limit $13"],
    [
        TEXTOID,
        TEXTOID,
        TEXTARRAYOID,
        UUIDOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        UUIDOID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        UUIDOID,
        UUIDOID,
        INT8OID
    ]
);
statement!(
    /// The memory last seen at a path (HIST-7).
    LAST_SEEN,
    ["select e.memory_id from me.memory_event as e
      where e.space = $1 and e.tree operator({ltree}.=) $2::{ltree}.ltree and e.name = $3
      order by e.event_id desc limit 1"],
    [TEXTOID, TEXTOID, TEXTOID]
);
statement!(AS_OF, [include_str!("memory_as_of.sql")], [TEXTOID, UUIDOID, TIMESTAMPTZOID]);
statement!(PATH_AS_OF, [include_str!("path_as_of.sql")], [TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID]);

/// One page of events.
pub struct Page {
    /// The events, as JSON text.
    pub events: Vec<String>,
    /// Where the next page begins, if this one is full (HIST-8).
    pub next: Option<Cursor>,
}

/// Which memory a call is about.
pub enum Target {
    /// The one with this id.
    Id(Id),
    /// The one at this path, or the one last seen there.
    Path(MemoryPath),
}

/// An instant as a parameter, the infinite ones included.
pub(super) fn instant(at: Instant) -> Option<Datum> {
    Some(Datum::from(at.micros()))
}

/// The topmost trees the caller may read, as a parameter; null for one who may read all.
pub(super) fn readable_roots(session: &Session) -> Option<Datum> {
    let roots = session.rights().roots(Level::Read)?;
    arg(roots.into_iter().map(|tree| tree.as_dotted().to_owned()).collect::<Vec<_>>())
}

/// The events a filter asks for and the caller may read, each by its own tree (HIST-4…6).
pub fn page(
    session: &Session,
    filter: &Filter,
    order: Order,
    cursor: Option<Cursor>,
    limit: i64,
) -> Result<Page> {
    let (above, below) = filter.ids(order, cursor);
    let id = |bits: u128| arg(pgrx::Uuid::from_bytes(bits.to_be_bytes()));
    let tree = filter.tree.clone().map_or(TreeFilter::None, TreeFilter::Path);
    let scope = Scope::of(session.rights().roots(Level::Read).as_deref(), &tree);
    let statement = match order {
        Order::Newest => &NEWEST_FIRST,
        Order::Oldest => &OLDEST_FIRST,
    };
    let rows = session.db().run(
        statement,
        &[
            arg(session.space()),
            session.home_label(),
            scope.list().and_then(arg),
            filter.memory.and_then(|id| arg(uuid(id))),
            scope.from().and_then(arg),
            scope.to().and_then(arg),
            filter.kind.and_then(|kind| arg(kind.word())),
            filter.operation.and_then(|id| arg(uuid(id))),
            filter.since.and_then(instant),
            filter.until.and_then(instant),
            id(above),
            id(below),
            arg(limit),
        ],
    )?;
    let mut events = Vec::with_capacity(rows.count());
    let mut last = None;
    for row in rows {
        last = Some(Cursor::behind(*row.need::<pgrx::Uuid>(1)?.as_bytes()));
        events.push(record(&row, 2)?.text());
    }
    let full = events.len() as i64 == limit;
    Ok(Page { events, next: last.filter(|_| full) })
}

/// The memory a call is about: the live one at a path, else the one last seen there (HIST-7).
pub fn resolve(session: &Session, target: &Target) -> Result<Id> {
    let path = match target {
        Target::Id(id) => return Ok(*id),
        Target::Path(path) => path,
    };
    if let Some(row) = find_path(session, path)? {
        return stored_id(&row, 3);
    }
    let seen = match session.rights().allow(Level::Read, path.tree()) {
        true => session.db().row(&LAST_SEEN, &path_args(session, path))?,
        false => None,
    };
    match seen {
        Some(row) => stored_id(&row, 1),
        None => Err(no_memory(path.display(session.home()))),
    }
}

fn path_args(session: &Session, path: &MemoryPath) -> [Option<Datum>; 3] {
    [arg(session.space()), arg(path.tree().as_dotted()), arg(path.name().as_str())]
}

/// The record of an id as it was at an instant.
pub fn get_as_of(session: &Session, id: Id, at: Instant) -> Result<Jsonb> {
    find_as_of(session, id, at)?.ok_or_else(|| no_memory(id))
}

/// The record of a path as it was at an instant.
pub fn get_by_path_as_of(session: &Session, path: &MemoryPath, at: Instant) -> Result<Jsonb> {
    let not_found = || no_memory(path.display(session.home()));
    if !session.rights().allow(Level::Read, path.tree()) {
        return Err(not_found());
    }
    let [space, tree, name] = path_args(session, path);
    let row = session.db().row(&PATH_AS_OF, &[space, tree, name, instant(at)])?.ok_or_else(not_found)?;
    find_as_of(session, stored_id(&row, 1)?, at)?.ok_or_else(not_found)
}

fn find_as_of(session: &Session, id: Id, at: Instant) -> Result<Option<Jsonb>> {
    let args = [arg(session.space()), arg(uuid(id)), instant(at)];
    let Some(row) = session.db().row(&AS_OF, &args)? else { return Ok(None) };
    if !readable(session, &row)? {
        return Ok(None);
    }
    let (tree, name, content): (String, Option<String>, String) = (row.need(1)?, row.get(2), row.need(3)?);
    let time = |column| row.get(column).map(|at: TimestampWithTimeZone| Instant::from_micros(i64::from(at)));
    let payload = Payload {
        tree: &tree,
        name: name.as_deref(),
        content: &content,
        meta: "".into(),
        stored_meta: row.raw(4).map(Jsonb::from_raw),
        temporal: temporal(row.get(5), row.get(6)),
    };
    let created_by: String = row.need(11)?;
    let state = State {
        id: uuid(id),
        version: row.need(7)?,
        version_hash: row.need(8)?,
        has_embedding: row.need(9)?,
        created_at: time(10).ok_or_else(|| Error::Internal("a past state has no beginning".into()))?,
        created_by: &created_by,
        updated_at: time(12),
    };
    payload::record(session, &payload, &state).map(Some)
}

/// What is wrong when no version can be found: the same words whether memory, version or right is missing (ERR-4).
pub(super) fn no_version(version: i64, key: impl std::fmt::Display) -> Error {
    Error::NotFound { what: "version", key: format!("{version} of memory {key}") }
}
