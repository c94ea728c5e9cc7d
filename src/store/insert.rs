//! New rows, one at a time or as many as a batch has: the row, its event, its entry in the text index.

use super::array::array;
use super::entries::{Indexing, Text};
use super::event::{self, Event};
use super::jsonb::Jsonb;
use super::operation::Operation;
use super::payload::{Payload, State, record, transaction_start};
use super::session::Session;
use super::spi::arg;
use crate::error::Result;
use crate::statement;
use pgrx::pg_sys::{BuiltinOid, Datum};
use std::collections::{HashMap, HashSet};

statement!(
    INSERT,
    [include_str!("memory_insert.sql")],
    [TEXTOID, UUIDOID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, TIMESTAMPTZOID, TIMESTAMPTZOID, UUIDOID, TEXTOID]
);
statement!(
    INSERT_MANY,
    [include_str!("memory_insert_many.sql")],
    [
        TEXTOID,
        UUIDARRAYOID,
        TEXTARRAYOID,
        TEXTARRAYOID,
        TEXTARRAYOID,
        JSONBARRAYOID,
        TIMESTAMPTZARRAYOID,
        TIMESTAMPTZARRAYOID,
        UUIDARRAYOID,
        TEXTOID
    ]
);
statement!(PAST, [include_str!("memory_past.sql")], [TEXTOID, UUIDARRAYOID]);
statement!(
    /// Lets a new row go on with the version numbers its id had come to.
    GO_ON,
    ["update me.memory as m set version = $3, content_version = $4 where m.space = $1 and m.id = $2"],
    [TEXTOID, UUIDOID, INT8OID, INT8OID]
);

/// A row to be.
pub struct New<'a> {
    /// Its id.
    pub id: pgrx::Uuid,
    /// Whether the caller chose the id: then it may have lived before.
    pub chosen: bool,
    /// What it says.
    pub payload: Payload<'a>,
}

/// Inserts a row; its record, or `None` when a key is taken.
pub fn one(session: &Session, operation: &Operation, new: &New) -> Result<Option<Jsonb>> {
    let payload = &new.payload;
    let version_hash = payload.version_hash();
    let args = [
        arg(session.space()),
        arg(new.id),
        arg(payload.tree),
        payload.name.and_then(arg),
        arg(payload.content),
        payload.meta_arg(),
        payload.start(),
        payload.end(),
        arg(version_hash),
        arg(session.actor_name()),
    ];
    if session.db().run(&INSERT, &args)?.count() == 0 {
        return Ok(None);
    }
    let (version, content_version) = go_on(session, [new])?.get(new.id.as_bytes()).copied().unwrap_or((1, 1));
    event::record(
        session,
        operation,
        "insert",
        &[Event { id: new.id, version, content_version, version_hash, payload }],
    )?;
    Indexing::of(session)?.created(session, &[Text { id: new.id, content_version, payload }])?;
    let state = State {
        id: new.id,
        version,
        version_hash,
        has_embedding: false,
        created_at: transaction_start(),
        created_by: session.actor_name(),
        updated_at: None,
    };
    record(session, payload, &state).map(Some)
}

/// Inserts rows that are in key order; the ids of those that were.
pub fn many(session: &Session, operation: &Operation, rows: &[New]) -> Result<HashSet<[u8; 16]>> {
    if rows.is_empty() {
        return Ok(HashSet::new());
    }
    let hashes: Vec<pgrx::Uuid> = rows.iter().map(|row| row.payload.version_hash()).collect();
    let column = |kind, value: fn(&New) -> Option<Datum>| array(kind, rows.iter().map(value));
    let args = [
        arg(session.space()),
        column(BuiltinOid::UUIDOID, |row| arg(row.id)),
        column(BuiltinOid::TEXTOID, |row| arg(row.payload.tree)),
        column(BuiltinOid::TEXTOID, |row| row.payload.name.and_then(arg)),
        column(BuiltinOid::TEXTOID, |row| arg(row.payload.content)),
        column(BuiltinOid::JSONBOID, |row| row.payload.meta_arg()),
        column(BuiltinOid::TIMESTAMPTZOID, |row| row.payload.start()),
        column(BuiltinOid::TIMESTAMPTZOID, |row| row.payload.end()),
        array(BuiltinOid::UUIDOID, hashes.iter().copied().map(arg)),
        arg(session.actor_name()),
    ];
    let inserted: HashSet<[u8; 16]> = session
        .db()
        .run(&INSERT_MANY, &args)?
        .into_iter()
        .map(|row| row.need::<pgrx::Uuid>(1).map(|id| *id.as_bytes()))
        .collect::<Result<_>>()?;
    let new: Vec<(&New, pgrx::Uuid)> =
        rows.iter().zip(hashes).filter(|(row, _)| inserted.contains(row.id.as_bytes())).collect();
    if new.is_empty() {
        return Ok(inserted);
    }
    let lives = go_on(session, new.iter().map(|(row, _)| *row))?;
    let events: Vec<Event> = new
        .iter()
        .map(|(row, version_hash)| {
            let (version, content_version) = lives.get(row.id.as_bytes()).copied().unwrap_or((1, 1));
            Event { id: row.id, version, content_version, version_hash: *version_hash, payload: &row.payload }
        })
        .collect();
    event::record(session, operation, "insert", &events)?;
    let texts: Vec<Text> = events
        .iter()
        .map(|event| Text { id: event.id, content_version: event.content_version, payload: event.payload })
        .collect();
    Indexing::of(session)?.created(session, &texts)?;
    Ok(inserted)
}

/// Lets those of the rows that were inserted go on with their version numbers whose ids lived before: their
/// versions and content versions. Asked when the rows are there: from then on nobody else can make an event of these ids.
fn go_on<'a>(
    session: &Session,
    rows: impl IntoIterator<Item = &'a New<'a>>,
) -> Result<HashMap<[u8; 16], (i64, i64)>> {
    let mut lives = HashMap::new();
    let chosen: Vec<pgrx::Uuid> = rows.into_iter().filter(|row| row.chosen).map(|row| row.id).collect();
    if chosen.is_empty() {
        return Ok(lives);
    }
    for past in session.db().run(&PAST, &[arg(session.space()), arg(chosen)])? {
        let id: pgrx::Uuid = past.need(1)?;
        let (version, content_version) = (past.need::<i64>(2)? + 1, past.need::<i64>(3)? + 1);
        session.db().run(&GO_ON, &[arg(session.space()), arg(id), arg(version), arg(content_version)])?;
        lives.insert(*id.as_bytes(), (version, content_version));
    }
    Ok(lives)
}
