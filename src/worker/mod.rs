//! The background: a launcher for the cluster, and a worker for each database that has something to do.
//!
//! Nobody polls. Writers raise a flag at commit and set the launcher's or the worker's latch; a worker that found
//! nothing for a few seconds leaves its database, and says when it wants to be back. What need not be done at once
//! (seals, retention, indexes) is done some time after a write, in small steps: see `upkeep`.

mod board;
mod embedding;
mod erasure;
mod launcher;
mod prepared;
mod transaction;
mod upkeep;
mod wake;

pub use wake::{note_change, note_upkeep, note_work};

use pgrx::bgworkers::{BackgroundWorkerBuilder, BgWorkerStartTime};
use pgrx::pg_sys;
use std::time::Duration;

/// Whether the server loaded the library when it started: only then is there a worker.
pub fn is_preloaded() -> bool {
    board::board().is_some()
}

/// Reserves shared memory and registers the launcher; called while the server starts.
pub fn register() {
    board::reserve();
    // SAFETY: a flag of this process.
    if unsafe { pg_sys::IsBinaryUpgrade } {
        return;
    }
    prepared::watch();
    BackgroundWorkerBuilder::new("memory_engine launcher")
        .set_type("memory_engine launcher")
        .set_library("memory_engine")
        .set_function("memory_engine_launcher_main")
        .enable_spi_access()
        .set_start_time(BgWorkerStartTime::RecoveryFinished)
        .set_restart_time(Some(Duration::from_secs(5)))
        .load();
}
