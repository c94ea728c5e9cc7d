//! What a batch that ignores clashes does with its clashing items: finds their holders, all in one statement.

use super::memory::{NewMemory, taken};
use super::session::Session;
use super::spi::arg;
use crate::domain::conflict::{Clash, OnConflict, Settlement, settle};
use crate::domain::id::Id;
use crate::error::{Error, Result};
use crate::statement;

statement!(HOLDERS, [include_str!("skip.sql")], [TEXTOID, TEXTARRAYOID, TEXTARRAYOID, UUIDARRAYOID]);

/// The stored ids of the items that are there already; an item is absent when what held its key has been deleted since.
///
/// Rows are not locked: two imports of the same memories in any order never wait for each other here.
pub fn holders(session: &Session, memories: &[NewMemory], items: &[usize]) -> Result<Vec<(usize, Id)>> {
    let given: Vec<&NewMemory> = items.iter().filter_map(|item| memories.get(*item)).collect();
    let trees: Vec<&str> = given.iter().map(|memory| memory.tree.as_dotted()).collect();
    let names: Vec<Option<&str>> =
        given.iter().map(|memory| memory.name.as_ref().map(|name| name.as_str())).collect();
    let ids: Vec<Option<pgrx::Uuid>> =
        given.iter().map(|memory| memory.id.map(|id| pgrx::Uuid::from_bytes(*id.as_bytes()))).collect();
    session
        .db()
        .run(&HOLDERS, &[arg(session.space()), arg(trees), arg(names), arg(ids)])?
        .into_iter()
        .map(|row| {
            let at = usize::try_from(row.need::<i64>(1)? - 1).unwrap_or(usize::MAX);
            let (Some(memory), Some(item)) = (given.get(at), items.get(at)) else {
                return Err(Error::Internal("an item of a batch is missing".into()));
            };
            let id: pgrx::Uuid = row.need(2)?;
            let id = Id::from_bytes("id", *id.as_bytes())
                .map_err(|invalid| Error::Internal(format!("stored id: {invalid}")))?;
            let clash = match (row.need::<bool>(3)?, memory.name.is_some()) {
                (true, _) => Clash::Slot,
                (false, true) => Clash::StrayId,
                (false, false) => Clash::Id,
            };
            match settle(clash, OnConflict::Ignore) {
                Settlement::Skip => Ok((*item, id)),
                Settlement::Refuse | Settlement::Replace => Err(taken(session, memory, clash, id)),
            }
        })
        .collect()
}
