//! Erases the content of a capsule: its history never held it, so the memory and what was made of it is all there is.

use crate::domain::id::Id;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::change;
use crate::store::erase::erase_everywhere;
use crate::store::operation::Operation;
use crate::store::session::Session;
use crate::store::spi::arg;

statement!(
    NOTE,
    [
        include_str!("memory_erase.sql"),
        include_str!("event.sql"),
        include_str!("../unqueue.sql"),
        "select 1 from stamped"
    ],
    [TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID]
);

/// Erases a memory from every table, and records that it went.
pub fn everywhere(session: &Session, operation: &Operation, memory_id: pgrx::Uuid) -> Result<()> {
    let id = Id::from_bytes("id", *memory_id.as_bytes())
        .map_err(|invalid| Error::Internal(format!("stored id: {invalid}")))?;
    // The memory first, then its place in the queue: in the order in which whoever embeds it takes them.
    change::lock(session, id)?;
    session.db().run(&NOTE, &operation.args(session, [arg(memory_id)]))?;
    erase_everywhere(session, id)
}
