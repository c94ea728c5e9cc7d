//! Runs the statements over whole subtrees.

use super::embedding;
use super::filter::Filter;
use super::operation::Operation;
use super::session::{Session, stored_tree};
use super::spi::arg;
use crate::domain::access::Level;
use crate::domain::filter::{Criteria, TreeFilter};
use crate::domain::nodes;
use crate::domain::path::TreePath;
use crate::error::{Error, Result};
use crate::{filtered, statement};
use pgrx::pg_sys::Datum;

filtered!(
    COUNT,
    [
        "select count(*) from (select from me.memory as m where ",
        include_str!("filter.sql"),
        " limit $18) as matching"
    ],
    [INT8OID]
);
filtered!(
    /// How many memories each tree holds.
    TREES,
    [
        "select m.tree::text, count(*) from me.memory as m where ",
        include_str!("filter.sql"),
        " group by m.tree order by m.tree"
    ],
    []
);

filtered!(
    /// Locks the rows in key order, as batches do: two calls over the same rows wait for each other.
    LOCK,
    [
        "select pg_catalog.array_agg(l.id), count(*)
         from (select m.id from me.memory as m where ",
        include_str!("filter.sql"),
        " order by m.tree, m.name, m.id for update) as l"
    ],
    []
);
statement!(
    DELETE,
    [
        include_str!("organise_delete.sql"),
        include_str!("event.sql"),
        include_str!("unqueue.sql"),
        "select 1 from changed"
    ],
    [TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDARRAYOID]
);

/// The number of readable memories that match, up to `max` (CNT-1, CNT-2).
pub fn count(session: &Session, tree: TreeFilter, max: Option<i64>) -> Result<i64> {
    count_rows(session, &Filter::readable(session, Criteria::on_tree(tree)), max)
}

fn count_rows(session: &Session, filter: &Filter, max: Option<i64>) -> Result<i64> {
    let rows = filter.run(session.db(), &COUNT, [max.and_then(arg)], 1)?;
    rows.into_iter()
        .next()
        .ok_or_else(|| Error::Internal("a count is missing".into()))
        .and_then(|row| row.need(1))
}

/// The trees below `root` with what the caller may read at or below each (TRE-1).
pub fn list_trees(session: &Session, root: &TreePath, levels: Option<usize>) -> Result<Vec<(String, i64)>> {
    let filter = Filter::readable(session, Criteria::on_tree(TreeFilter::Path(root.clone())));
    let counts = filter
        .run(session.db(), &TREES, [], 0)?
        .into_iter()
        .map(|row| Ok((stored_tree(row.need(1)?)?, row.need(2)?)))
        .collect::<Result<Vec<_>>>()?;
    Ok(nodes::nodes(root, levels, session.home(), counts))
}

/// Rows that were locked: their ids, and how many.
struct Locked {
    ids: Option<Datum>,
    count: i64,
}

fn lock(session: &Session, filter: &Filter) -> Result<Locked> {
    let row = filter.run(session.db(), &LOCK, [], 1)?.into_iter().next();
    let row = row.ok_or_else(|| Error::Internal("a lock has no answer".into()))?;
    Ok(Locked { ids: row.raw(1), count: row.need(2)? })
}

/// Deletes everything at or below a tree, and says how much that is (DTR-1).
pub fn delete_tree(session: &Session, operation: &Operation, tree: &TreePath, dry_run: bool) -> Result<i64> {
    session.require(Level::Write, tree)?;
    let filter = Filter::subtree(session, tree);
    if dry_run {
        return count_rows(session, &filter, None);
    }
    let locked = lock(session, &filter)?;
    if locked.count > 0 {
        session.db().run(&DELETE, &operation.args(session, [locked.ids]))?;
        embedding::remove_vectors(session, locked.ids)?;
    }
    Ok(locked.count)
}
