//! Starts a worker for each database that has something to do. Connected to no database: it keeps none from being
//! dropped.

use super::board::{Board, board};
use crate::guc;
use crate::store::upkeep::{now, soon};
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BackgroundWorkerStatus, DynamicBackgroundWorker,
    SignalWakeFlags,
};
use pgrx::prelude::*;
use pgrx::{pg_guard, pg_sys};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Most workers at a time: databases take turns.
const WORKERS: usize = 4;
/// How long a database waits whose worker could not be started.
const RETRY: Duration = Duration::from_secs(10);

/// A worker that runs, or the failures of the last ones.
#[derive(Default)]
struct Post {
    worker: Option<DynamicBackgroundWorker>,
    failures: u32,
    not_before: Option<Instant>,
}

/// The launcher's process.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn memory_engine_launcher_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGHUP | SignalWakeFlags::SIGTERM);
    BackgroundWorker::connect_worker_to_spi(None, None);
    let Some(board) = board() else { return };
    board.enter_launcher();
    let mut posts: HashMap<u32, Post> = HashMap::new();
    // Each database is looked at once: what was queued before the server stopped is found then.
    call_all(board);
    loop {
        if BackgroundWorker::sighup_received() {
            reload();
            call_all(board);
        }
        if board.overflow.swap(false, Ordering::SeqCst) {
            call_all(board);
        }
        collect(board, &mut posts);
        let wait = if guc::embedding::worker() { dispatch(board, &mut posts) } else { None };
        if !BackgroundWorker::wait_latch(wait) {
            return;
        }
    }
}

/// Reads the changed configuration file.
pub(super) fn reload() {
    // SAFETY: the flag is ours to lower; called outside any transaction.
    unsafe {
        pg_sys::ConfigReloadPending = 0;
        pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP);
    }
}

/// Raises the flag of every database one can connect to, and has each looked after in a while: settings may be others.
fn call_all(board: &Board) {
    let soon = soon();
    for database in databases() {
        if let Some(slot) = board.slot(database) {
            slot.wanted.store(true, Ordering::SeqCst);
            slot.forget_steps();
            slot.look_at(soon);
        }
    }
}

/// Notices workers that ended.
fn collect(board: &Board, posts: &mut HashMap<u32, Post>) {
    let mut lost = false;
    for (database, slot) in board.databases() {
        let Some(post) = posts.get_mut(&database) else { continue };
        let ended = post.worker.as_ref().is_some_and(|worker| {
            matches!(
                worker.pid(),
                Err(BackgroundWorkerStatus::Stopped | BackgroundWorkerStatus::PostmasterDied)
            )
        });
        if !ended {
            continue;
        }
        post.worker = None;
        if slot.worker.swap(0, Ordering::SeqCst) == 0 {
            post.failures = 0;
            post.not_before = None;
            continue;
        }
        // It did not take leave. It comes back, more slowly each time (EMB-19).
        lost = true;
        post.failures += 1;
        let seconds = (10u64 << (post.failures - 1).min(3)).min(60);
        post.not_before = Some(Instant::now() + Duration::from_secs(seconds));
        slot.wanted.store(true, Ordering::SeqCst);
        slot.look_at(soon());
    }
    if lost {
        let known = databases();
        for (database, slot) in board.databases() {
            if !known.contains(&database) {
                slot.free();
                posts.remove(&database);
            }
        }
    }
    posts.retain(|_, post| post.worker.is_some() || post.failures > 0);
}

/// Starts what is wanted or due; how long nothing will be, unless somebody calls.
fn dispatch(board: &Board, posts: &mut HashMap<u32, Post>) -> Option<Duration> {
    let now = now();
    let mut wait: Option<Duration> = None;
    let mut sooner = |other: Duration| wait = Some(wait.map_or(other, |wait| wait.min(other)));
    let mut running = posts.values().filter(|post| post.worker.is_some()).count();
    for (database, slot) in board.databases() {
        let due = slot.next();
        let waiting = !slot.wanted.load(Ordering::SeqCst);
        if waiting && (due == 0 || due > now) {
            if due != 0 {
                sooner(
                    Duration::from_micros(u64::try_from(due - now).unwrap_or(0)) + Duration::from_millis(1),
                );
            }
            continue;
        }
        let post = posts.entry(database).or_default();
        if post.worker.is_some() {
            continue;
        }
        if let Some(left) = post.not_before.map(|at| at.saturating_duration_since(Instant::now()))
            && !left.is_zero()
        {
            sooner(left);
            continue;
        }
        if running >= WORKERS {
            // The end of another one wakes us.
            continue;
        }
        match start(database) {
            Some(worker) => {
                // Until the worker says otherwise it counts as one that did not take leave.
                slot.worker.store(-1, Ordering::SeqCst);
                post.worker = Some(worker);
                running += 1;
            }
            None => {
                post.failures = post.failures.max(1);
                post.not_before = Some(Instant::now() + RETRY);
                sooner(RETRY);
            }
        }
    }
    wait
}

fn start(database: u32) -> Option<DynamicBackgroundWorker> {
    // SAFETY: reads the number of this process.
    let pid = unsafe { pg_sys::MyProcPid };
    let worker = BackgroundWorkerBuilder::new(&format!("memory_engine worker for database {database}"))
        .set_type("memory_engine worker")
        .set_library("memory_engine")
        .set_function("memory_engine_worker_main")
        .enable_spi_access()
        .set_argument(Some(pg_sys::Datum::from(database)))
        .set_notify_pid(pid)
        .load_dynamic();
    match worker {
        Ok(worker) => Some(worker),
        Err(_) => {
            ereport!(
                PgLogLevel::LOG,
                PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                "memory_engine: no background worker could be started",
                "Raise max_worker_processes."
            );
            None
        }
    }
}

/// The OIDs of the databases one can connect to. Without a database of its own, the launcher reads the shared
/// catalogue as autovacuum's launcher does.
fn databases() -> Vec<u32> {
    let mut found = Vec::new();
    // SAFETY: inside a transaction; the scan and the relation are closed before it ends, and tuples are read only
    // while the scan stands on them.
    unsafe {
        pg_sys::StartTransactionCommand();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let relation = pg_sys::table_open(pg_sys::DatabaseRelationId, pg_sys::AccessShareLock as i32);
        let scan = pg_sys::table_beginscan_catalog(relation, 0, std::ptr::null_mut());
        loop {
            let tuple = pg_sys::heap_getnext(scan, pg_sys::ScanDirection::ForwardScanDirection);
            if tuple.is_null() {
                break;
            }
            let database: *const pg_sys::FormData_pg_database = pg_sys::GETSTRUCT(tuple).cast();
            // A database whose DROP was interrupted has -2 for its limit.
            if (*database).datallowconn && !(*database).datistemplate && (*database).datconnlimit != -2 {
                found.push((*database).oid.to_u32());
            }
        }
        pg_sys::heap_endscan(scan);
        pg_sys::table_close(relation, pg_sys::AccessShareLock as i32);
        pg_sys::PopActiveSnapshot();
        pg_sys::CommitTransactionCommand();
    }
    found
}
