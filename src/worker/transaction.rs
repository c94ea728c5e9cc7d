//! The transactions of a worker, and what `pg_stat_activity` shows of it.

use pgrx::pg_sys::panic::{CaughtError, ErrorReport, ErrorReportable};
use pgrx::prelude::*;
use pgrx::{PgTryBuilder, pg_sys};
use std::ffi::CString;
use std::panic::AssertUnwindSafe;

/// Runs `body` in a transaction. An error ends the process; the launcher starts another.
pub fn transaction<T>(body: impl FnOnce() -> Result<T, ErrorReport>) -> T {
    // SAFETY: paired; an error on the way ends the process.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::StartTransactionCommand();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let value = body().unwrap_or_report();
        pg_sys::PopActiveSnapshot();
        pg_sys::CommitTransactionCommand();
        pg_sys::pgstat_report_stat(false);
        value
    }
}

/// Runs `body` in a transaction of which nothing else depends: an error undoes it, is told to the log, and is over.
pub fn try_transaction<T>(what: &str, body: impl FnOnce() -> Result<T, ErrorReport>) -> Option<T> {
    let body = AssertUnwindSafe(body);
    let found = PgTryBuilder::new(move || {
        // The whole wrapper is captured, not the closure inside it.
        let body = body;
        Ok(transaction(body.0))
    })
    .catch_others(|error| {
        Err(match error {
            CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => {
                (report.sql_error_code(), report.message().to_owned())
            }
            CaughtError::RustPanic { ereport, .. } => {
                (ereport.sql_error_code(), ereport.message().to_owned())
            }
        })
    })
    .execute();
    match found {
        Ok(value) => Some(value),
        Err((code, message)) => {
            // SAFETY: ends what `transaction` began, and releases what it held.
            unsafe { pg_sys::AbortCurrentTransaction() };
            if code == PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE {
                // Somebody is at work there: the next time will do.
                log!("memory_engine: {what}: {message}; it is tried again later");
            } else {
                warning!("memory_engine: {what}: {message}; it is tried again later");
            }
            None
        }
    }
}

/// Shows in `pg_stat_activity` what the worker is at; nothing when it waits.
pub fn activity(what: Option<&str>) {
    let text = what.and_then(|what| CString::new(format!("memory_engine: {what}")).ok());
    let (state, text) = match &text {
        Some(text) => (pg_sys::BackendState::STATE_RUNNING, text.as_ptr()),
        None => (pg_sys::BackendState::STATE_IDLE, std::ptr::null()),
    };
    // SAFETY: the server copies the text.
    unsafe { pg_sys::pgstat_report_activity(state, text) };
}
