//! Events of rows that were put together here: created, or changed one at a time. The events of whole subtrees are made
//! where their rows are, by `event.sql`.

use super::array::array;
use super::digest::{self, Said, Sha};
use super::operation::Operation;
use super::payload::Payload;
use super::session::Session;
use super::spi::arg;
use super::{random, uuid_v7};
use crate::error::Result;
use pgrx::pg_sys::{self, BuiltinOid, Datum};
use pgrx::prelude::*;

/// Declares a kept statement that writes for a call: its name, its text, and the types of its parameters from $8 on.
/// Those before are the shared ones of [`Operation::args`].
#[macro_export]
macro_rules! writing {
    ($(#[$doc:meta])* per call $vis:vis $name:ident, [$($part:expr),+ $(,)?], [$($ty:ident),* $(,)?]) => {
        $crate::statement!(
            $(#[$doc])* per call $vis $name,
            [$($part),+],
            [TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, $($ty),*]
        );
    };
    ($(#[$doc:meta])* $vis:vis $name:ident, [$($part:expr),+ $(,)?], [$($ty:ident),* $(,)?]) => {
        $crate::statement!(
            $(#[$doc])* $vis $name,
            [$($part),+],
            [TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, $($ty),*]
        );
    };
}

writing!(
    EVENT,
    [include_str!("event_insert.sql")],
    [
        UUIDOID,
        TIMESTAMPTZOID,
        TEXTOID,
        UUIDOID,
        TEXTOID,
        INT8OID,
        INT8OID,
        TEXTOID,
        JSONBOID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        TEXTOID,
        UUIDOID,
        BYTEAOID,
        BYTEAOID,
        BYTEAOID
    ]
);
writing!(
    EVENTS,
    [include_str!("event_insert_many.sql")],
    [
        UUIDARRAYOID,
        TIMESTAMPTZARRAYOID,
        TEXTOID,
        UUIDARRAYOID,
        TEXTARRAYOID,
        INT8ARRAYOID,
        INT8ARRAYOID,
        TEXTARRAYOID,
        JSONBARRAYOID,
        TIMESTAMPTZARRAYOID,
        TIMESTAMPTZARRAYOID,
        TEXTARRAYOID,
        UUIDARRAYOID,
        BYTEAARRAYOID,
        BYTEAARRAYOID,
        BYTEAARRAYOID
    ]
);

/// A row as it is after what happened to it.
pub struct Event<'a> {
    /// The memory.
    pub id: pgrx::Uuid,
    /// Its version.
    pub version: i64,
    /// Its content version.
    pub content_version: i64,
    /// Its version hash.
    pub version_hash: pgrx::Uuid,
    /// What it says.
    pub payload: &'a Payload<'a>,
}

/// What an event is besides: the moment, and what proves it.
struct Mark {
    at: TimestampWithTimeZone,
    event_id: pgrx::Uuid,
    salt: [u8; 16],
    payload_digest: Sha,
    digest: Sha,
}

/// Writes the events of rows to which the same happened (insert, update).
pub fn record(session: &Session, operation: &Operation, what: &str, events: &[Event]) -> Result<()> {
    hold_seals();
    match events {
        [] => Ok(()),
        [event] => {
            let mark = mark(session, operation, what, event)?;
            let args = operation.args(session, columns(&mark, event, what));
            session.db().run(&EVENT, &args).map(|_| ())
        }
        _ => {
            let marks = events
                .iter()
                .map(|event| mark(session, operation, what, event))
                .collect::<Result<Vec<_>>>()?;
            // One column after the other, each with the values of all rows.
            let mut rows: Vec<_> =
                marks.iter().zip(events).map(|(mark, event)| columns(mark, event, what)).collect();
            let mut args = [None; COLUMNS];
            for (column, (arg, kind)) in args.iter_mut().zip(ELEMENTS).enumerate() {
                *arg = array(kind, rows.iter_mut().map(|row| row[column].take()));
            }
            args[OPERATION] = arg(what);
            session.db().run(&EVENTS, &operation.args(session, args)).map(|_| ())
        }
    }
}

const COLUMNS: usize = 16;
/// Where the operation stands among them.
const OPERATION: usize = 2;
const ELEMENTS: [BuiltinOid; COLUMNS] = [
    BuiltinOid::UUIDOID,
    BuiltinOid::TIMESTAMPTZOID,
    BuiltinOid::TEXTOID,
    BuiltinOid::UUIDOID,
    BuiltinOid::TEXTOID,
    BuiltinOid::INT8OID,
    BuiltinOid::INT8OID,
    BuiltinOid::TEXTOID,
    BuiltinOid::JSONBOID,
    BuiltinOid::TIMESTAMPTZOID,
    BuiltinOid::TIMESTAMPTZOID,
    BuiltinOid::TEXTOID,
    BuiltinOid::UUIDOID,
    BuiltinOid::BYTEAOID,
    BuiltinOid::BYTEAOID,
    BuiltinOid::BYTEAOID,
];

fn columns(mark: &Mark, event: &Event, what: &str) -> [Option<Datum>; COLUMNS] {
    let payload = event.payload;
    [
        arg(mark.event_id),
        arg(mark.at),
        arg(what),
        arg(event.id),
        arg(payload.tree),
        arg(event.version),
        arg(event.content_version),
        payload.name.and_then(arg),
        payload.meta_arg(),
        payload.start(),
        payload.end(),
        arg(payload.content),
        arg(event.version_hash),
        arg(&mark.salt[..]),
        arg(&mark.payload_digest[..]),
        arg(&mark.digest[..]),
    ]
}

fn mark(session: &Session, operation: &Operation, what: &str, event: &Event) -> Result<Mark> {
    // The clock is read before the id is made, so that no event is older than the time in its id.
    // SAFETY: reads the clock.
    let at = unsafe { pg_sys::GetCurrentTimestamp() };
    let event_id = uuid_v7::next();
    let salt = random::bytes();
    let payload_digest = digest::of_payload(&salt, event.payload);
    let key = session.key();
    let said = Said {
        space: session.space(),
        event_id: event_id.as_bytes(),
        at,
        operation: what,
        operation_id: operation.id(),
        cause: Some(operation.cause()),
        actor_id: session.principal().map(|principal| &principal.id),
        actor_name: Some(session.actor_name()),
        api_key_id: key.map(|key| key.id.as_bytes()),
        api_key_name: key.map(|key| key.name.as_str()),
        memory_id: event.id.as_bytes(),
        tree: event.payload.tree,
        version: event.version,
        content_version: event.content_version,
    };
    let digest = said.digest(&payload_digest);
    let at = TimestampWithTimeZone::try_from(at)
        .map_err(|_| crate::error::Error::Internal("the clock is out of range".into()))?;
    Ok(Mark { at, event_id, salt, payload_digest, digest })
}

/// Keeps seals from closing over the ids that are about to be made: they ask who holds this lock (`audit_horizon.sql`),
/// which the insert would take too late.
fn hold_seals() {
    // SAFETY: catalogue look-ups by constant names; the lock ends with the transaction.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"me".as_ptr(), true);
        let table = pg_sys::get_relname_relid(c"memory_event".as_ptr(), schema);
        if table != pg_sys::Oid::INVALID {
            pg_sys::LockRelationOid(table, pg_sys::RowExclusiveLock as i32);
        }
    }
}
