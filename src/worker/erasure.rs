//! What the worker does for what was erased: vacuums, overwrites, and tries again while somebody still sees the time before.

use super::transaction::{activity, try_transaction};
use crate::guc;
use crate::store::erasure as store;
use crate::store::upkeep::now;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;
use pgrx::{PgTryBuilder, pg_sys};
use std::time::{Duration, Instant};

/// How long the first and the longest pause is between two tries: each reads every table.
const PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

/// What it is at, as the log and `pg_stat_activity` say it.
const WHAT: &str = "clean up after erasing";

/// When the next try may begin.
pub struct Erasure {
    not_before: Instant,
    pause: Duration,
}

impl Erasure {
    /// The first try may begin at once.
    pub fn new() -> Self {
        Self { not_before: Instant::now(), pause: PAUSE.0 }
    }

    /// Does what is to be done; when to come back for what is left, in the server's microseconds.
    pub fn round(&mut self) -> Option<i64> {
        if !guc::erasure_vacuum() {
            return None;
        }
        try_transaction(WHAT, store::pending).flatten()?;
        if Instant::now() < self.not_before {
            return Some(self.due());
        }
        activity(Some(WHAT));
        let left = self.work().unwrap_or(true);
        activity(None);
        self.not_before = Instant::now() + self.pause;
        self.pause = if left { (self.pause * 2).min(PAUSE.1) } else { PAUSE.0 };
        left.then(|| self.due())
    }

    /// Vacuums and overwrites; whether something is left, because somebody's snapshot is older or it happened meanwhile.
    fn work(&self) -> Option<bool> {
        let horizon = try_transaction(WHAT, store::horizon)?;
        vacuum(WHAT, &try_transaction(WHAT, store::tables)?, false)?;
        for file in try_transaction(WHAT, store::files)? {
            try_transaction(WHAT, || store::scrub(file))?;
        }
        try_transaction(WHAT, || store::done(horizon))?;
        Some(try_transaction(WHAT, store::pending)?.is_some())
    }

    fn due(&self) -> i64 {
        let wait = self.not_before.saturating_duration_since(Instant::now());
        now() + i64::try_from(wait.as_micros()).unwrap_or(0)
    }
}

/// Vacuums some tables, and shortens their files where `truncate` says so; nothing when that fails, which is told to the log
/// and tried again.
pub(super) fn vacuum(what: &str, tables: &[pg_sys::Oid], truncate: bool) -> Option<()> {
    // SAFETY: a memory context of our own, which outlives the transactions inside; it is deleted below.
    let memory = unsafe {
        pg_sys::AllocSetContextCreateInternal(
            pg_sys::TopMemoryContext,
            c"memory_engine vacuum".as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        )
    };
    let outcome = PgTryBuilder::new(|| {
        run_vacuum(tables, truncate, memory);
        Ok(())
    })
    .catch_others(|error| {
        Err(match error {
            CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => {
                report.message().to_owned()
            }
            CaughtError::RustPanic { ereport, .. } => ereport.message().to_owned(),
        })
    })
    .execute();
    // SAFETY: a transaction in which it failed is ended first; then nothing points to the memory any more.
    unsafe {
        if outcome.is_err() {
            pg_sys::AbortCurrentTransaction();
        }
        pg_sys::PortalContext = std::ptr::null_mut();
        pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
        pg_sys::MemoryContextDelete(memory);
    }
    match outcome {
        Ok(()) => Some(()),
        Err(message) => {
            log!("memory_engine: {what}: {message}; it is tried again later");
            None
        }
    }
}

/// `VACUUM (INDEX_CLEANUP ON, TRUNCATE …)` of some tables, as a client would send it: it runs in transactions of its own.
fn run_vacuum(tables: &[pg_sys::Oid], truncate: bool, memory: pg_sys::MemoryContext) {
    // SAFETY: outside any transaction, in a process that is connected to a database; what the command reads lives in the
    // memory of the caller.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::StartTransactionCommand();
        let before = pg_sys::MemoryContextSwitchTo(memory);
        // Where a client's command keeps what has to outlive its transactions.
        pg_sys::PortalContext = memory;
        let option = |name: &std::ffi::CStr, value: &std::ffi::CStr| {
            let value = pg_sys::makeString(pg_sys::pstrdup(value.as_ptr()));
            pg_sys::makeDefElem(pg_sys::pstrdup(name.as_ptr()), value.cast(), -1)
        };
        let mut options = std::ptr::null_mut();
        let truncate = if truncate { c"on" } else { c"off" };
        for (name, value) in [(c"index_cleanup", c"on"), (c"truncate", truncate)] {
            options = pg_sys::lappend(options, option(name, value).cast());
        }
        let mut relations = std::ptr::null_mut();
        for table in tables {
            let relation = pg_sys::makeVacuumRelation(std::ptr::null_mut(), *table, std::ptr::null_mut());
            relations = pg_sys::lappend(relations, relation.cast());
        }
        let mut statement = pg_sys::VacuumStmt {
            type_: pg_sys::NodeTag::T_VacuumStmt,
            options,
            rels: relations,
            is_vacuumcmd: true,
        };
        pg_sys::MemoryContextSwitchTo(before);
        pg_sys::ExecVacuum(std::ptr::null_mut(), &raw mut statement, true);
        pg_sys::CommitTransactionCommand();
        pg_sys::pgstat_report_stat(false);
    }
}
