//! `me.capsule_adopt`: takes the content of a plain memory into trust.

use crate::domain::access::Level;
use crate::domain::id::Id;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::{Session, stored_tree};
use crate::store::spi::arg;

statement!(
    CONTENT,
    ["select m.tree::text, m.content from me.memory as m where m.space = $1 and m.id = $2"],
    [TEXTOID, UUIDOID]
);

/// The content of a memory the caller may read.
pub fn content(session: &Session, id: Id) -> Result<String> {
    let missing = || Error::NotFound { what: "memory", key: id.to_string() };
    let key = pgrx::Uuid::from_bytes(*id.as_bytes());
    let row = session.db().row(&CONTENT, &[arg(session.space()), arg(key)])?.ok_or_else(missing)?;
    if !session.rights().allow(Level::Read, &stored_tree(&row.need::<String>(1)?)?) {
        return Err(missing());
    }
    row.need(2)
}
