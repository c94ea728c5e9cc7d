//! Erases a memory for good: its row, the payload of its history, and whatever else was made of its content.

use super::change;
use super::embedding;
use super::erasure;
use super::lexical;
use super::memory::{no_memory, uuid};
use super::operation::Operation;
use super::session::{Session, stored_tree};
use super::spi::arg;
use crate::domain::access::Level;
use crate::domain::history::Reason;
use crate::domain::id::Id;
use crate::error::{Error, Forbidden, Result};
use crate::{statement, writing};

statement!(
    /// The trees at which the history of a memory still has its payload.
    TREES,
    ["select distinct e.tree::text from me.memory_event as e
      where e.space = $1 and e.memory_id = $2 and e.operation <> 'purge' and e.content is not null order by 1"],
    [TEXTOID, UUIDOID]
);
statement!(ERASE_ROW, ["delete from me.memory as m where m.space = $1 and m.id = $2"], [TEXTOID, UUIDOID]);
statement!(
    ERASE_LEXEMES,
    ["delete from me.memory_lexeme as l where l.space = $1 and l.memory_id = $2"],
    [TEXTOID, UUIDOID]
);
writing!(
    /// Records the purge and empties the events; the queue forgets the memory.
    PURGE,
    [
        include_str!("memory_purge.sql"),
        include_str!("event.sql"),
        include_str!("unqueue.sql"),
        "select count(*) from emptied"
    ],
    [UUIDOID, TEXTOID]
);

/// Erases a memory, live or deleted, with the payload of its history; answers how many events lost theirs.
///
/// The caller needs write wherever something is erased: where the memory is, and where it has been.
pub fn purge(session: &Session, operation: &Operation, id: Id, reason: &Reason) -> Result<i64> {
    let live = change::lock(session, id)?;
    let mut trees = Vec::new();
    for row in session.db().run(&TREES, &[arg(session.space()), arg(uuid(id))])? {
        trees.push(stored_tree(&row.need::<String>(1)?)?);
    }
    let rights = session.rights();
    let seen = match &live {
        Some(live) => rights.allow(Level::Read, &live.tree),
        None => trees.iter().any(|tree| rights.allow(Level::Read, tree)),
    };
    if !seen {
        return Err(no_memory(id));
    }
    if let Some(live) = &live {
        session.require(Level::Write, &live.tree)?;
    }
    for tree in &trees {
        if !rights.allow(Level::Read, tree) {
            return Err(Error::Forbidden(Forbidden::Only {
                action: "purge this memory",
                who: "callers who may write wherever the memory has been",
            }));
        }
        session.require(Level::Write, tree)?;
    }
    let row = session
        .db()
        .row(&PURGE, &operation.args(session, [arg(uuid(id)), arg(reason.as_str())]))?
        .ok_or_else(|| Error::Internal("a purge has no answer".into()))?;
    erase_everywhere(session, id)?;
    row.need(1)
}

/// Erases a memory's row with everything that was made of its content: whatever keeps a part of a content anywhere
/// has its line here.
pub(super) fn erase_everywhere(session: &Session, id: Id) -> Result<()> {
    for statement in [&ERASE_ROW, &ERASE_LEXEMES] {
        session.db().run(statement, &[arg(session.space()), arg(uuid(id))])?;
    }
    lexical::erase::erase(session, uuid(id))?;
    embedding::remove_vectors(session, arg(vec![uuid(id)]))?;
    erasure::note(session, id)
}
