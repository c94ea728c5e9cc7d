//! Erases memories everywhere: the row, what follows from it, and what its history says of it.

use crate::error::Result;
use crate::statement;
use crate::store::embedding;
use crate::store::operation::Operation;
use crate::store::session::Session;
use crate::store::spi::arg;

statement!(
    ROW,
    [
        include_str!("memory_erase.sql"),
        include_str!("event.sql"),
        include_str!("../unqueue.sql"),
        "select 1 from stamped"
    ],
    [TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDARRAYOID]
);
statement!(
    EVENTS,
    ["update me.memory_event set meta = null, content = null, version_hash = null, salt = null
      where space = $1 and memory_id = any ($2)
        and (meta is not null or content is not null or version_hash is not null or salt is not null)"],
    [TEXTOID, UUIDARRAYOID]
);

/// Erases the content of memories from every table. The event that says so keeps the digest alone.
pub fn everywhere(session: &Session, operation: &Operation, ids: &[pgrx::Uuid]) -> Result<()> {
    session.db().run(&EVENTS, &[arg(session.space()), arg(ids.to_vec())])?;
    session.db().run(&ROW, &operation.args(session, [arg(ids.to_vec())]))?;
    embedding::remove_vectors(session, arg(ids.to_vec()))
}
