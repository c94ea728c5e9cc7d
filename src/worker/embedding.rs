//! The worker of a database: claims, embeds outside any transaction, finishes.

use super::board::{Slot, board};
use super::erasure::Erasure;
use super::launcher::reload;
use super::transaction::{activity, transaction, try_transaction};
use super::upkeep::Upkeep;
use crate::domain::embedding::{Claim, Seconds};
use crate::embed::fair::embed_each;
use crate::embed::{Embedder, Fault};
use crate::store::embedding::Registered;
use crate::store::embedding::background::{self as store, Outcome, Work};
use crate::store::embedding::queue::Job;
use crate::store::upkeep::now;
use crate::{guc, provider};
use pgrx::bgworkers::{BackgroundWorker, SignalWakeFlags};
use pgrx::prelude::*;
use pgrx::{check_for_interrupts, pg_guard, pg_sys};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a database is left alone in which no worker can begin, in microseconds.
const REST_MICROS: i64 = 60_000_000;
/// How long claimed entries are the worker's, in seconds.
const LOCK_SECONDS: f64 = 300.0;
/// How often finishing is tried again for a memory that somebody is changing, and how long it waits between.
const BUSY_TRIES: u32 = 40;
const BUSY_WAIT: Duration = Duration::from_millis(50);

/// The worker's process; the argument is the OID of its database.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn memory_engine_worker_main(argument: pg_sys::Datum) {
    let database = argument.value() as u32;
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGHUP | SignalWakeFlags::SIGTERM);
    BackgroundWorker::connect_worker_to_spi_by_oid(Some(pg_sys::Oid::from(database)), None);
    let Some(board) = board() else { return };
    let Some(slot) = board.slot(database) else { return };
    // SAFETY: reads the number of this process.
    slot.enter(unsafe { pg_sys::MyProcPid });
    // A statement of ours that waits for a lock this long gives up, and the worker begins anew.
    set("lock_timeout", "5s");
    if !transaction(|| Ok(is_installed())) {
        return slot.free();
    }
    match try_transaction("start", store::alone) {
        Some(true) => {
            let orphans = transaction(store::adopt_orphans);
            let careful = if orphans > 1 { orphans } else { 0 };
            Worker {
                slot,
                pauses: HashMap::new(),
                careful,
                upkeep: Upkeep::new(slot),
                erasure: Erasure::new(),
            }
            .run();
        }
        // The objects are those of another version, or another worker is still here. What called is still wanted, but
        // the launcher would start the next worker at once.
        _ => slot.rest(now().saturating_add(REST_MICROS)),
    }
    slot.worker.store(0, Ordering::SeqCst);
    if slot.wanted.load(Ordering::SeqCst) {
        board.wake_launcher();
    }
}

fn set(name: &str, value: &str) {
    let (Ok(name), Ok(value)) = (std::ffi::CString::new(name), std::ffi::CString::new(value)) else { return };
    // SAFETY: a setting of this session, by a process that may.
    unsafe {
        pg_sys::SetConfigOption(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_SESSION,
        );
    }
}

fn is_installed() -> bool {
    // SAFETY: catalogue lookups inside a transaction.
    unsafe { pg_sys::get_extension_oid(c"memory_engine".as_ptr(), true) != pg_sys::Oid::INVALID }
}

fn is_told_to_stop() -> bool {
    // SAFETY: a flag that the signal handler sets.
    unsafe { (&raw const pg_sys::ShutdownRequestPending).read_volatile() != 0 }
}

/// Asked by an embedder now and then: takes part in what the server asks of every process.
fn interrupted() -> bool {
    check_for_interrupts!();
    is_told_to_stop()
}

struct Pause {
    until: Instant,
    failures: u32,
}

struct Worker {
    slot: &'static Slot,
    /// Models whose provider is to be left alone for a while.
    pauses: HashMap<String, Pause>,
    /// How many entries still go one by one, because one of them may have killed the last worker.
    careful: usize,
    upkeep: Upkeep,
    erasure: Erasure,
}

impl Worker {
    fn run(mut self) {
        // Whoever was woken and finds nothing leaves at once; after work some more may come.
        let mut idle_since: Option<Instant> = None;
        let mut due = None;
        while !is_told_to_stop() {
            if BackgroundWorker::sighup_received() {
                reload();
            }
            if !guc::embedding::worker() {
                return self.leave(None);
            }
            self.slot.wanted.store(false, Ordering::SeqCst);
            if !transaction(|| Ok(is_installed())) {
                return self.slot.free();
            }
            let (worked, next) = self.round();
            due = next;
            if worked {
                idle_since = Some(Instant::now());
            }
            // One piece at a time, so that what is written meanwhile does not wait for the rest.
            if self.upkeep.turn() || worked || self.slot.wanted.load(Ordering::SeqCst) {
                continue;
            }
            due = [due, self.erasure.round()].into_iter().flatten().min();
            if self.slot.wanted.load(Ordering::SeqCst) {
                continue;
            }
            activity(None);
            let idle = idle_since.map_or(Duration::MAX, |since| since.elapsed());
            let left = guc::embedding::worker_idle().saturating_sub(idle);
            if left.is_zero() {
                break;
            }
            let due = [due, self.upkeep.due()].into_iter().flatten().min();
            if !BackgroundWorker::wait_latch(Some(due.map_or(left, |due| left.min(until(due))))) {
                break;
            }
        }
        self.leave(due);
    }

    fn leave(&mut self, due: Option<i64>) {
        self.upkeep.leave();
        self.slot.due.store(due.unwrap_or(0), Ordering::SeqCst);
    }

    /// Works on everything that is due, once; whether there was anything, and when there will be.
    fn round(&mut self) -> (bool, Option<i64>) {
        let mut work = transaction(store::work);
        // Spaces in random order (EMB-18): none has to wait for the others.
        if work.len() > 1 {
            let turn = now().unsigned_abs() as usize % work.len();
            work.rotate_left(turn);
        }
        let mut worked = false;
        let mut next: Option<i64> = None;
        for item in work {
            let due = item.due.max(self.paused_until(&item.model));
            if due <= now() {
                worked |= self.work_on(&item);
            } else {
                next = Some(next.map_or(due, |next| next.min(due)));
            }
            if is_told_to_stop() {
                break;
            }
        }
        (worked, next)
    }

    fn paused_until(&self, model: &str) -> i64 {
        self.pauses.get(model).map_or(0, |pause| {
            let left = pause.until.saturating_duration_since(Instant::now());
            if left.is_zero() { 0 } else { now() + i64::try_from(left.as_micros()).unwrap_or(i64::MAX / 2) }
        })
    }

    /// Claims, embeds and finishes one batch; whether there was one.
    fn work_on(&mut self, work: &Work) -> bool {
        let Some(registered) = transaction(|| store::model(&work.model)) else { return false };
        let embedder = provider::embedder(&registered.model);
        let most = match (&embedder, self.careful) {
            (Ok(embedder), 0) => embedder.batch(),
            _ => 1,
        };
        let claim = Claim {
            batch: i32::try_from(most).unwrap_or(1),
            lock: Seconds::from(Duration::from_secs_f64(LOCK_SECONDS)),
            max_attempts: guc::embedding::max_attempts(),
        };
        let jobs = transaction(|| store::claim(&work.space, &work.model, &claim));
        if jobs.is_empty() {
            return false;
        }
        self.careful = self.careful.saturating_sub(jobs.len());
        activity(Some(&format!("embed {} texts by {}, space {}", jobs.len(), work.model, work.space)));
        let all: Vec<&Job> = jobs.iter().collect();
        match embedder {
            Ok(embedder) => self.embed(work, &registered, &*embedder, &all),
            Err(reason) => self.postpone(work, &all, None, Some(&reason)),
        }
        true
    }

    fn embed(&mut self, work: &Work, registered: &Registered, embedder: &dyn Embedder, jobs: &[&Job]) {
        let texts: Vec<&str> = jobs.iter().map(|job| job.content.as_str()).collect();
        let mut served = false;
        let ended = embed_each(
            embedder,
            &texts,
            &interrupted,
            &|found| provider::vectors(&registered.model, found),
            &mut |decided| {
                served |= decided.iter().any(|(_, outcome)| outcome.is_ok());
                let outcomes = decided
                    .into_iter()
                    .map(|(place, found)| (jobs[place], found.map_or_else(Outcome::Failed, Outcome::Vectors)))
                    .collect();
                self.finish(work, registered, outcomes);
            },
        );
        if served {
            self.pauses.remove(&work.model);
        }
        if let Err(undecided) = ended {
            let left: Vec<&Job> = undecided.places.iter().map(|place| jobs[*place]).collect();
            self.give_up(work, &left, undecided.fault);
        }
    }

    /// It is not the texts' fault: they are given back.
    fn give_up(&mut self, work: &Work, jobs: &[&Job], fault: Fault) {
        match fault {
            Fault::RateLimited(after) => {
                self.postpone(work, jobs, Some(after.unwrap_or(Duration::from_secs(30))), None);
            }
            Fault::Unavailable(reason) | Fault::Failed(reason) => {
                self.postpone(work, jobs, None, Some(&reason))
            }
            Fault::Interrupted => {
                transaction(|| store::release(&work.space, jobs, Seconds::from(Duration::ZERO), None));
            }
        }
    }

    /// Leaves a provider alone: for as long as it said, or longer each time (EMB-19, EMB-20).
    fn postpone(&mut self, work: &Work, jobs: &[&Job], pause: Option<Duration>, reason: Option<&str>) {
        let failures = self.pauses.get(&work.model).map_or(0, |pause| pause.failures) + 1;
        let pause = pause.unwrap_or_else(|| Duration::from_secs((5u64 << (failures - 1).min(4)).min(60)));
        self.pauses.insert(work.model.clone(), Pause { until: Instant::now() + pause, failures });
        if let Some(reason) = reason {
            warning!("memory_engine: model \"{}\" waits {} s: {reason}", work.model, pause.as_secs());
        }
        transaction(|| store::release(&work.space, jobs, Seconds::from(pause), reason));
    }

    fn finish(&self, work: &Work, registered: &Registered, results: Vec<(&Job, Outcome)>) {
        let (most, notify) = (guc::embedding::max_attempts(), guc::embedding::notify());
        let mut rest: Vec<(&Job, &Outcome)> = results.iter().map(|(job, outcome)| (*job, outcome)).collect();
        for _ in 0..BUSY_TRIES {
            let busy = transaction(|| store::finish(&work.space, registered, &rest, most, notify));
            rest = busy.into_iter().map(|place| rest[place]).collect();
            if rest.is_empty() || is_told_to_stop() {
                break;
            }
            BackgroundWorker::wait_latch(Some(BUSY_WAIT));
        }
        if !rest.is_empty() {
            let jobs: Vec<&Job> = rest.iter().map(|(job, _)| *job).collect();
            transaction(|| store::release(&work.space, &jobs, Seconds::from(Duration::from_secs(1)), None));
        }
    }
}

fn until(due: i64) -> Duration {
    Duration::from_micros(u64::try_from(due - now()).unwrap_or(0)) + Duration::from_millis(1)
}
