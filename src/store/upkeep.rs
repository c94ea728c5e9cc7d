//! What the worker does now and then besides embedding: where there is something to do, and a small piece of it.
//!
//! A step has two functions: one that looks, under one snapshot and cheaply, and one that works on a place in a
//! transaction of its own. Both are here or in the module of what they care for; the list is in `worker::upkeep`.

use super::caller;
use crate::error::Result;
use crate::guc;
use crate::statement;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;

/// What a step of the worker answers with.
pub type Answer<T> = std::result::Result<T, ErrorReport>;

/// Where a step has something to do.
#[derive(Debug, Default)]
pub struct Look {
    /// The spaces; the empty one stands for what belongs to none, or for the database as a whole.
    pub places: Vec<String>,
    /// When there will be something to do without anybody writing, in the server's microseconds; it is not looked at
    /// again before that.
    pub next: Option<i64>,
}

/// What a piece of work came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// There is nothing left to do here.
    Done,
    /// There is more: from this place on, which only the step itself understands.
    More(u128),
    /// What is left cannot be done now: somebody is at work there.
    Later,
}

/// The server's clock, in its microseconds.
pub fn now() -> i64 {
    // SAFETY: reads the clock.
    unsafe { pg_sys::GetCurrentTimestamp() }
}

/// When a place that could not be finished now is tried again.
pub fn soon() -> i64 {
    now().saturating_add(i64::try_from(guc::embedding::upkeep_delay().as_micros()).unwrap_or(i64::MAX / 4))
}

statement!(SPACES, ["select 1 from me.space as s limit 1"], []);
statement!(
    /// The index is looked up: whatever became of it, the rest of the upkeep goes on.
    TIDY,
    ["select pg_catalog.gin_clean_pending_list(i.oid) from pg_catalog.pg_class as i
      where i.oid = pg_catalog.to_regclass('me.memory_lexeme_lexemes_idx')"],
    []
);

/// The text index keeps what was written last in a list that every search reads: whether there are spaces at all.
pub fn has_text() -> Answer<Look> {
    caller::background(|caller| {
        let places = caller.db().row(&SPACES, &[])?.map(|_| String::new()).into_iter().collect();
        Ok(Look { places, next: None })
    })
}

/// Moves that list into the index.
pub fn tidy_text(_place: &str, _from: u128) -> Answer<Piece> {
    caller::background(|caller| -> Result<Piece> {
        caller.db().run(&TIDY, &[])?;
        Ok(Piece::Done)
    })
}
