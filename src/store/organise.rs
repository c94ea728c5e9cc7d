//! Runs the statements over whole subtrees.

use super::capsule::guard;
use super::embedding;
use super::entries::Indexing;
use super::filter::Filter;
use super::operation::Operation;
use super::owner;
use super::session::{Session, stored_tree};
use super::spi::{Row, Rows, arg, unique_violation_as};
use super::turn::Turn;
use crate::domain::access::Level;
use crate::domain::filter::{Criteria, Scope, TreeFilter};
use crate::domain::memory::{Meta, Name};
use crate::domain::nodes;
use crate::domain::path::{MemoryPath, TreePath};
use crate::error::{Error, Result, Taken};
use crate::{filtered, statement, writing};
use pgrx::FromDatum;
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
        "select pg_catalog.array_agg(l.id), pg_catalog.array_agg(l.tree), pg_catalog.array_agg(l.name), count(*),
           max(pg_catalog.length(l.tree)), max(l.depth)
         from (select m.id, m.tree::text, m.name, {ltree}.nlevel(m.tree) as depth from me.memory as m where ",
        include_str!("filter.sql"),
        " order by m.tree, m.name, m.id for update) as l"
    ],
    []
);
filtered!(
    /// How many rows, the bytes of the longest tree and the labels of the deepest.
    EXTENT,
    [
        "select count(*), max(pg_catalog.length(m.tree::text)), max({ltree}.nlevel(m.tree)) from me.memory as m where ",
        include_str!("filter.sql")
    ],
    []
);
filtered!(
    DISTINCT_TREES,
    ["select distinct m.tree::text from me.memory as m where ", include_str!("filter.sql")],
    []
);
writing!(
    DELETE,
    [
        include_str!("organise_delete.sql"),
        include_str!("event.sql"),
        include_str!("unqueue.sql"),
        "select 1 from changed"
    ],
    [UUIDARRAYOID]
);
statement!(
    CLASH,
    [include_str!("organise_clash.sql")],
    [TEXTOID, UUIDARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTOID, TEXTOID]
);
statement!(
    /// Frees the slots of rows that move within their own subtree.
    UNNAME,
    ["update me.memory as m set name = null where m.space = $1 and m.id = any ($2) and m.name is not null"],
    [TEXTOID, UUIDARRAYOID]
);
writing!(
    MOVE,
    [include_str!("organise_move.sql"), include_str!("event.sql"), "select 1 from changed"],
    [UUIDARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTOID, TEXTOID]
);
statement!(
    TOUCH,
    ["update me.memory as m set updated_at = pg_catalog.transaction_timestamp()
      where m.space = $1 and m.id = any ($2)"],
    [TEXTOID, UUIDARRAYOID]
);
writing!(
    per call COPY,
    [include_str!("organise_copy.sql"), include_str!("event.sql"), include_str!("organise_copied.sql")],
    [TEXTOID, TEXTOID, TEXTOID, TEXTOID, BOOLOID]
);
filtered!(
    /// Named rows that no entry of the keep list ($18 trees, $19 names) names, in the order of TREE-11.
    ORPHANS,
    [
        "select pg_catalog.array_agg(l.id), pg_catalog.array_agg(l.tree::text), pg_catalog.array_agg(l.name)
         from (select m.id, m.tree, m.name from me.memory as m where ",
        include_str!("filter.sql"),
        include_str!("organise_orphans.sql"),
        ") as l"
    ],
    [TEXTARRAYOID, TEXTARRAYOID]
);
filtered!(
    LOCK_ORPHANS,
    [
        "select pg_catalog.array_agg(l.id), pg_catalog.array_agg(l.tree::text), pg_catalog.array_agg(l.name)
         from (select m.id, m.tree, m.name from me.memory as m where ",
        include_str!("filter.sql"),
        include_str!("organise_orphans.sql"),
        " for update) as l"
    ],
    [TEXTARRAYOID, TEXTARRAYOID]
);

/// The number of readable memories that match, up to `max` (CNT-1, CNT-2).
pub fn count(session: &Session, tree: TreeFilter, max: Option<i64>) -> Result<i64> {
    count_rows(session, &Filter::readable(session, Criteria::on_tree(tree)), max)
}

fn count_rows(session: &Session, filter: &Filter, max: Option<i64>) -> Result<i64> {
    first(filter.run(session.db(), &COUNT, [max.and_then(arg)], 1)?)?.need(1)
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

/// Rows that were locked: their ids, trees and names, how many, and how large their trees are.
struct Locked {
    ids: Option<Datum>,
    trees: Option<Datum>,
    names: Option<Datum>,
    count: i64,
    extent: [usize; 2],
}

/// One change of subtrees at a time in a space, until the transaction ends. Two moves that go each to where the other
/// comes from hold the rows of the one's slots and want the other's: no order of rows keeps them from a deadlock.
fn in_turn(session: &Session) {
    Turn::Subtrees(session.space()).wait();
}

fn lock(session: &Session, filter: &Filter) -> Result<Locked> {
    in_turn(session);
    let row = first(filter.run(session.db(), &LOCK, [], 1)?)?;
    Ok(Locked {
        ids: row.raw(1),
        trees: row.raw(2),
        names: row.raw(3),
        count: row.need(4)?,
        extent: extent(&row, 5),
    })
}

/// The elements of an array of ids.
fn uuids(ids: Option<Datum>) -> Vec<pgrx::Uuid> {
    // SAFETY: the datum is an array of ids, which are never null.
    ids.and_then(|ids| unsafe { Vec::from_datum(ids, false) }).unwrap_or_default()
}

fn first(rows: Rows) -> Result<Row> {
    rows.into_iter().next().ok_or_else(|| Error::Internal("an aggregate has no answer".into()))
}

/// Bytes of the longest tree and labels of the deepest, from two columns.
fn extent(row: &Row, column: i32) -> [usize; 2] {
    let size =
        |column| row.get::<i32>(column).and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
    [size(column), size(column + 1)]
}

/// Deletes everything at or below a tree, and says how much that is (DTR-1).
pub fn delete_tree(session: &Session, operation: &Operation, tree: &TreePath, dry_run: bool) -> Result<i64> {
    session.require(Level::Write, tree)?;
    guard::refuse_subtree(session, tree)?;
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

/// The two ends of a copy or a move.
pub struct Ends {
    /// What is copied or moved, with everything below it.
    pub source: TreePath,
    /// Where it goes.
    pub destination: TreePath,
}

impl Ends {
    fn args(&self) -> [Option<Datum>; 2] {
        [arg(self.source.as_dotted()), arg(self.destination.as_dotted())]
    }

    /// Whether rows may take slots that other rows of the same move leave.
    fn overlap(&self) -> bool {
        self.source.contains(&self.destination) || self.destination.contains(&self.source)
    }

    fn taken(&self, session: &Session, detail: &str) -> Error {
        let path = slot_of(detail).map(|path| path.display(session.home()));
        Error::KeyTaken(Taken::Path(path.unwrap_or_else(|| self.destination.display(session.home()))))
    }
}

/// The memory path in the DETAIL of a violation of the unique index over (space, tree, name), which ends its key with
/// `=(space, tree, name)` and something in the server's language.
fn slot_of(detail: &str) -> Option<MemoryPath> {
    let (key, _) = detail.split_once(")=(")?.1.split_once(')')?;
    let (tree, name) = key.split_once(", ")?.1.split_once(", ")?;
    Some(MemoryPath::new(TreePath::from_dotted(tree)?, Name::parse("name", name).ok()?))
}

/// Refuses a destination below which a tree of the source would be too large (TREE-3).
fn check_room(session: &Session, filter: &Filter, extent: [usize; 2], ends: &Ends) -> Result<()> {
    let [bytes, labels] = extent;
    if TreePath::surely_fits(bytes, labels, &ends.source, &ends.destination) {
        return Ok(());
    }
    for row in filter.run(session.db(), &DISTINCT_TREES, [], 0)? {
        let tree = stored_tree(&row.need::<String>(1)?)?;
        if let Some(tree) = tree.rebase(&ends.source, &ends.destination) {
            tree.check_size("destination")?;
        }
    }
    Ok(())
}

fn clash_at(session: &Session, tree: &str, name: &str) -> Result<Error> {
    let name =
        Name::parse("name", name).map_err(|invalid| Error::Internal(format!("stored name: {invalid}")))?;
    Ok(Error::KeyTaken(Taken::Path(MemoryPath::new(stored_tree(tree)?, name).display(session.home()))))
}

/// Moves everything at or below the source, and says how much that is (MV-1).
pub fn move_tree(session: &Session, operation: &Operation, ends: &Ends, dry_run: bool) -> Result<i64> {
    session.require(Level::Write, &ends.source)?;
    session.require(Level::Write, &ends.destination)?;
    guard::refuse_subtree(session, &ends.source)?;
    let filter = Filter::subtree(session, &ends.source);
    if dry_run {
        return count_rows(session, &filter, None);
    }
    let Locked { ids, trees, names, count, extent } = lock(session, &filter)?;
    if count == 0 {
        return Ok(0);
    }
    if ends.source == ends.destination {
        session.db().run(&TOUCH, &[arg(session.space()), ids])?;
        return Ok(count);
    }
    check_room(session, &filter, extent, ends)?;
    let [source, destination] = ends.args();
    owner::use_bulk_plans();
    // Where nothing is, nothing is taken.
    if ends.overlap() || count_rows(session, &Filter::subtree(session, &ends.destination), Some(1))? > 0 {
        let args = [arg(session.space()), ids, trees, names, source, destination];
        if let Some(row) = session.db().row(&CLASH, &args)? {
            return Err(clash_at(session, &row.need::<String>(1)?, &row.need::<String>(2)?)?);
        }
    }
    if ends.overlap() {
        session.db().run(&UNNAME, &[arg(session.space()), ids])?;
    }
    let args = operation.args(session, [ids, trees, names, source, destination]);
    // Another session may take a slot after the look above.
    unique_violation_as(|detail| ends.taken(session, detail), || session.db().run(&MOVE, &args).map(|_| ()))?;
    let indexing = Indexing::of(session)?;
    if !indexing.is_of_content_alone() {
        indexing.refresh(session, &uuids(ids))?;
    }
    Ok(count)
}

/// Copies everything at or below the source, and says how much that is (CPY-1).
pub fn copy_tree(session: &Session, operation: &Operation, ends: &Ends, dry_run: bool) -> Result<i64> {
    session.require(Level::Read, &ends.source)?;
    session.require(Level::Write, &ends.destination)?;
    guard::refuse_subtree(session, &ends.source)?;
    let filter = Filter::subtree(session, &ends.source);
    let found = first(filter.run(session.db(), &EXTENT, [], 1)?)?;
    let count: i64 = found.need(1)?;
    if dry_run || count == 0 {
        return Ok(count);
    }
    check_room(session, &filter, extent(&found, 2), ends)?;
    let scope = Scope::subtree(&ends.source);
    let [source, destination] = ends.args();
    let indexing = Indexing::of(session)?;
    let along = arg(indexing.is_of_content_alone());
    let own = [scope.from().and_then(arg), scope.to().and_then(arg), source, destination, along];
    owner::use_bulk_plans();
    let row = first(session.db().run(&COPY, &operation.args(session, own))?)?;
    if let Some((tree, name)) = row.get::<String>(2).zip(row.get::<String>(3)) {
        return Err(clash_at(session, &tree, &name)?);
    }
    if let Some(ids) = row.raw(4) {
        embedding::copy_vectors(session, [Some(ids), row.raw(5), row.raw(6)])?;
    }
    indexing.refresh(session, &row.get::<Vec<pgrx::Uuid>>(7).unwrap_or_default())?;
    row.need(1)
}

/// Deletes the named memories at or below `root` whose metadata contains `meta` and whose path is not kept; answers
/// with their paths (ORPH-1, ORPH-2).
pub fn delete_orphans(
    session: &Session,
    operation: &Operation,
    root: &TreePath,
    meta: Meta,
    keep: &[MemoryPath],
    dry_run: bool,
) -> Result<Vec<String>> {
    session.require(Level::Write, root)?;
    guard::refuse_subtree(session, root)?;
    let trees: Vec<&str> = keep.iter().map(|path| path.tree().as_dotted()).collect();
    let names: Vec<&str> = keep.iter().map(|path| path.name().as_str()).collect();
    let statement = if dry_run {
        &ORPHANS
    } else {
        in_turn(session);
        &LOCK_ORPHANS
    };
    let filter = Filter::subtree(session, root).with_meta(meta);
    let row = first(filter.run(session.db(), statement, [arg(trees), arg(names)], 1)?)?;
    let Some(ids) = row.raw(1) else {
        return Ok(Vec::new());
    };
    let (trees, names): (Vec<String>, Vec<String>) = (row.need(2)?, row.need(3)?);
    let mut paths = trees
        .iter()
        .zip(&names)
        .map(|(tree, name)| {
            let name = Name::parse("name", name)
                .map_err(|invalid| Error::Internal(format!("stored name: {invalid}")))?;
            Ok(MemoryPath::new(stored_tree(tree)?, name))
        })
        .collect::<Result<Vec<_>>>()?;
    paths.sort_unstable();
    if !dry_run {
        session.db().run(&DELETE, &operation.args(session, [Some(ids)]))?;
        embedding::remove_vectors(session, Some(ids))?;
    }
    Ok(paths.iter().map(|path| path.display(session.home())).collect())
}
