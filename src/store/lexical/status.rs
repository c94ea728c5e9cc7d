//! What the lexical index of a space holds.

use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;

statement!(
    STATUS,
    ["select
        (select count(*) from me.lexical_segment as s where s.space = $1),
        (select coalesce(sum(s.memories - s.dead_memories), 0) from me.lexical_segment as s where s.space = $1)::int8,
        (select coalesce(sum(s.dead_memories), 0) from me.lexical_segment as s where s.space = $1)::int8,
        (select count(*) from (select from me.lexical_tail as t where t.space = $1 group by t.memory_id) as w),
        me._lexical_bytes($1)"],
    [TEXTOID]
);

/// What there is.
#[derive(Debug)]
pub struct Status {
    /// Segments.
    pub segments: i64,
    /// Memories that live in them.
    pub memories: i64,
    /// Memories in them that changed or went since.
    pub dead: i64,
    /// Memories that wait to be taken in.
    pub waiting: i64,
    /// Bytes of its rows.
    pub bytes: i64,
}

/// Looks at the index of the session's space.
pub fn status(session: &Session) -> Result<Status> {
    let row = session
        .db()
        .row(&STATUS, &[arg(session.space())])?
        .ok_or_else(|| Error::Internal("a status has no answer".into()))?;
    Ok(Status {
        segments: row.need(1)?,
        memories: row.need(2)?,
        dead: row.need(3)?,
        waiting: row.need(4)?,
        bytes: row.need(5)?,
    })
}
