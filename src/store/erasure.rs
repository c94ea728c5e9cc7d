//! What erasing leaves behind in files, and how it goes: a vacuum removes the dead rows, and then the free space of pages
//! is overwritten, which still holds their bytes.
//!
//! The worker does both some moments after the erasing transaction; [`erasure_scrub`] does the second half for servers
//! without one.

use super::caller;
use super::session::Session;
use super::spi::{Db, Statement, arg};
use crate::domain::id::Id;
use crate::error::Result;
use crate::statement;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{check_for_interrupts, pg_sys};

statement!(
    NOTE,
    ["insert into me.erasure as e (space, memory_id, xid, at)
      values ($1, $2, pg_catalog.pg_current_xact_id()::text::int8, pg_catalog.transaction_timestamp())
      on conflict (space, memory_id) do update set xid = excluded.xid, at = excluded.at"],
    [TEXTOID, UUIDOID]
);
statement!(PENDING, ["select min(e.xid) from me.erasure as e"], []);
statement!(
    DONE,
    ["delete from me.erasure as e where e.xid < $1 and ($2 is null or e.at < $2)"],
    [INT8OID, TIMESTAMPTZOID]
);
/// Every table of ours that holds rows, those of the vectors among them: of one that is cut into partitions, these.
macro_rules! own {
    () => {
        "own as (
           select distinct l.oid, l.reltoastrelid
           from pg_catalog.pg_class as c
           left join lateral pg_catalog.pg_partition_tree(c.oid) as t on t.isleaf
           join pg_catalog.pg_class as l on l.oid = coalesce(t.relid, c.oid)
           where c.relnamespace = (select n.oid from pg_catalog.pg_namespace as n where n.nspname = 'me')
             and l.relkind = 'r' and l.relpersistence = 'p'
         )"
    };
}

statement!(TABLES, ["with ", own!(), " select o.oid from own as o order by o.oid"], []);
statement!(
    /// The same with what belongs to them: long values, and every index.
    FILES,
    [
        "with ",
        own!(),
        ", stored (oid) as (
          select o.oid from own as o union all select o.reltoastrelid from own as o where o.reltoastrelid <> 0
        )
        select s.oid from stored as s
        union all
        select i.indexrelid from stored as s join pg_catalog.pg_index as i on i.indrelid = s.oid
        order by 1"
    ],
    []
);
statement!(
    /// When the memories were vacuumed last, all of them.
    VACUUMED,
    ["select case when pg_catalog.bool_and(v.at is not null) then min(v.at) end
      from (
        select greatest(pg_catalog.pg_stat_get_last_vacuum_time(m.oid), pg_catalog.pg_stat_get_last_autovacuum_time(m.oid)) as at
        from (
          select 'me.memory'::pg_catalog.regclass::pg_catalog.oid as oid
          where not exists (select from pg_catalog.pg_partition_tree('me.memory'::pg_catalog.regclass))
          union all
          select t.relid from pg_catalog.pg_partition_tree('me.memory'::pg_catalog.regclass) as t where t.isleaf
        ) as m
      ) as v"],
    []
);

type Answer<T> = std::result::Result<T, ErrorReport>;

/// Notes that a memory was erased: when the transaction commits, the worker has something to do.
pub fn note(session: &Session, id: Id) -> Result<()> {
    let id = pgrx::Uuid::from_bytes(*id.as_bytes());
    session.db().run(&NOTE, &[arg(session.space()), arg(id)])?;
    crate::worker::note_work();
    Ok(())
}

/// The oldest transaction that erased something which may still be in the files.
pub fn pending() -> Answer<Option<i64>> {
    caller::background(|caller| Ok(caller.db().row(&PENDING, &[])?.and_then(|row| row.get(1))))
}

/// The tables that are to be vacuumed.
pub fn tables() -> Answer<Vec<pg_sys::Oid>> {
    caller::background(|caller| oids(caller.db(), &TABLES))
}

/// Forgets what was erased before a transaction: nothing of it is left.
pub fn done(before: i64) -> Answer<()> {
    caller::background(|caller| {
        caller.db().run(&DONE, &[arg(before), None])?;
        Ok(())
    })
}

/// The transaction before which nobody sees rows that are deleted now: a vacuum removes what was erased earlier.
pub fn horizon() -> Answer<i64> {
    caller::background(|caller| Ok(oldest_seen(caller.memory_oid())))
}

fn oldest_seen(memory: pg_sys::Oid) -> i64 {
    // SAFETY: the table is there while the call holds its lock on it; it is closed again.
    let (oldest, next) = unsafe {
        let relation = pg_sys::relation_open(memory, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        let oldest = pg_sys::GetOldestNonRemovableTransactionId(relation);
        pg_sys::relation_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);
        (oldest.into_inner(), pg_sys::ReadNextFullTransactionId().value)
    };
    let behind = (next as u32).wrapping_sub(oldest);
    i64::try_from(next - u64::from(behind)).unwrap_or(0)
}

/// The tables with what belongs to them: what is to be overwritten.
pub fn files() -> Answer<Vec<pg_sys::Oid>> {
    caller::background(|caller| oids(caller.db(), &FILES))
}

/// Overwrites the free space of one of them; how many pages had something in it.
pub fn scrub(file: pg_sys::Oid) -> Answer<i64> {
    caller::background(|_| Ok(scrub_file(file)))
}

fn oids(db: &Db, statement: &'static std::thread::LocalKey<Statement>) -> Result<Vec<pg_sys::Oid>> {
    db.run(statement, &[])?.into_iter().map(|row| row.need(1)).collect()
}

/// Overwrites the free space of pages, in which erased contents may still stand; answers with the number of pages. Run it
/// after a vacuum where no worker does both.
#[pg_extern(volatile, parallel_unsafe)]
fn erasure_scrub() -> Answer<i64> {
    caller::background(|caller| {
        let pages = oids(caller.db(), &FILES)?.into_iter().map(scrub_file).sum();
        let vacuumed: Option<TimestampWithTimeZone> =
            caller.db().row(&VACUUMED, &[])?.and_then(|row| row.get(1));
        if let Some(at) = vacuumed {
            caller.db().run(&DONE, &[arg(oldest_seen(caller.memory_oid())), arg(at)])?;
        }
        Ok(pages)
    })
}

/// Overwrites the free space in the pages of a table or an index.
fn scrub_file(file: pg_sys::Oid) -> i64 {
    let mut pages = 0;
    // SAFETY: the relation stays open, and locked against being cut off, while its blocks are read; each buffer is locked
    // before its page is looked at, and released.
    unsafe {
        let relation = pg_sys::try_relation_open(file, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        if relation.is_null() {
            return 0;
        }
        let main = pg_sys::ForkNumber::MAIN_FORKNUM;
        let blocks = pg_sys::RelationGetNumberOfBlocksInFork(relation, main);
        let ring = pg_sys::GetAccessStrategy(pg_sys::BufferAccessStrategyType::BAS_VACUUM);
        for block in 0..blocks {
            check_for_interrupts!();
            let buffer =
                pg_sys::ReadBufferExtended(relation, main, block, pg_sys::ReadBufferMode::RBM_NORMAL, ring);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let found = has_remains(pg_sys::BufferGetPage(buffer));
            if found {
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
                overwrite(relation, buffer);
                pages += 1;
            }
            pg_sys::UnlockReleaseBuffer(buffer);
        }
        pg_sys::FreeAccessStrategy(ring);
        pg_sys::relation_close(relation, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
    }
    pages
}

/// The free space between the line pointers and the rows of a page of the usual layout; of any other page nothing.
///
/// # Safety
/// The page must be that of a locked buffer.
unsafe fn free_space(page: pg_sys::Page) -> std::ops::Range<usize> {
    // SAFETY: every page begins with this header, whatever follows it.
    let (lower, upper, special) = unsafe {
        let header = page.cast::<pg_sys::PageHeaderData>();
        (usize::from((*header).pd_lower), usize::from((*header).pd_upper), usize::from((*header).pd_special))
    };
    let header = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
    let is_usual =
        header <= lower && lower <= upper && upper <= special && special <= pg_sys::BLCKSZ as usize;
    if is_usual { lower..upper } else { 0..0 }
}

/// Whether anything stands in the free space of a page.
///
/// # Safety
/// The page must be that of a locked buffer.
unsafe fn has_remains(page: pg_sys::Page) -> bool {
    // SAFETY: the range lies inside the page.
    unsafe {
        let free = free_space(page);
        let bytes = std::slice::from_raw_parts(page.cast::<u8>().add(free.start), free.len());
        bytes.iter().any(|byte| *byte != 0)
    }
}

/// Overwrites the free space of a page; the write-ahead log says so, so that replicas do the same.
///
/// # Safety
/// The buffer must be locked for writing, and be one of the relation.
unsafe fn overwrite(relation: pg_sys::Relation, buffer: pg_sys::Buffer) {
    // SAFETY: the image is a copy of the page, which the log puts in its place.
    unsafe {
        let state = pg_sys::GenericXLogStart(relation);
        let image = pg_sys::GenericXLogRegisterBuffer(state, buffer, 0);
        let free = free_space(image);
        image.cast::<u8>().add(free.start).write_bytes(0, free.len());
        pg_sys::GenericXLogFinish(state);
    }
}
