//! What maintenance leaves in files: rows that are dead, of the tail and of segments that were merged. A vacuum gives
//! their room to what is written next.
//!
//! Autovacuum comes too late: until it does, every merge makes the files longer, and searches go through entries of the
//! tail that are gone.

use crate::statement;
use crate::store::caller;
use crate::store::upkeep::Answer;
use pgrx::pg_sys::Oid;
use std::cell::Cell;

/// So many dead entries of the tail are worth a vacuum.
const ENTRIES: usize = 1000;
/// So many dead pages of segments are, if they are this share of the file.
const PAGES: usize = 128;
const SHARE: usize = 4;
/// Pages of segments to a page of the server.
const TO_A_BLOCK: i64 = 2;

statement!(
    TABLES,
    ["select 'me.lexical_tail'::pg_catalog.regclass::oid, 'me.lexical_page'::pg_catalog.regclass::oid,
        pg_catalog.pg_relation_size('me.lexical_page'::pg_catalog.regclass)
          / pg_catalog.current_setting('block_size')::int8"],
    []
);

thread_local! {
    static DEAD_ENTRIES: Cell<usize> = const { Cell::new(0) };
    static DEAD_PAGES: Cell<usize> = const { Cell::new(0) };
}

/// Counts entries of the tail that this session deletes.
pub fn entries(count: usize) {
    DEAD_ENTRIES.set(DEAD_ENTRIES.get() + count);
}

/// Counts pages of segments that it deletes.
pub fn pages(count: usize) {
    DEAD_PAGES.set(DEAD_PAGES.get() + count);
}

/// Whether there may be enough for a vacuum.
pub fn may_be_enough() -> bool {
    DEAD_ENTRIES.get() >= ENTRIES || DEAD_PAGES.get() >= PAGES
}

/// The tables that are to be vacuumed now; what they had is counted no more.
pub fn tables() -> Answer<Vec<Oid>> {
    caller::background(|caller| {
        let mut tables = Vec::new();
        let Some(row) = caller.db().row(&TABLES, &[])? else { return Ok(tables) };
        if DEAD_ENTRIES.get() >= ENTRIES {
            DEAD_ENTRIES.set(0);
            tables.push(row.need(1)?);
        }
        let room = (row.need::<i64>(3)? * TO_A_BLOCK) as usize;
        if DEAD_PAGES.get() >= PAGES && DEAD_PAGES.get() * SHARE >= room {
            DEAD_PAGES.set(0);
            tables.push(row.need(2)?);
        }
        Ok(tables)
    })
}
