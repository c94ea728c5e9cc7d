//! What launcher, workers and writers tell each other in shared memory. Atomics only: a process may die anywhere.

use super::upkeep::STEPS;
use pgrx::prelude::*;
use pgrx::shmem::PGRXSharedMemory;
use pgrx::{PgAtomic, pg_shmem_init, pg_sys};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicUsize, Ordering};

/// How many databases are kept apart. The launcher looks at all databases when there are more.
const SLOTS: usize = 128;

static BOARD: PgAtomic<Board> = unsafe {
    // SAFETY: the name is ours.
    PgAtomic::new(c"memory_engine board")
};

static RESERVED: AtomicBool = AtomicBool::new(false);

/// The board.
pub struct Board {
    launcher: AtomicUsize,
    /// Raised when a database found no slot.
    pub overflow: AtomicBool,
    slots: [Slot; SLOTS],
}

/// One database.
pub struct Slot {
    database: AtomicU32,
    /// Raised by writers; lowered by the worker before it looks at the queue.
    pub wanted: AtomicBool,
    /// The process that works here, or 0.
    pub worker: AtomicI32,
    latch: AtomicUsize,
    /// When something has to be done here without anybody asking, in the server's microseconds; 0 for never.
    pub due: AtomicI64,
    /// When the worker shall look after what else is to be done, likewise.
    pub upkeep: AtomicI64,
    /// Before when each step of that has nothing to do, whoever writes.
    pub steps: [AtomicI64; STEPS],
}

// SAFETY: atomics only.
unsafe impl PGRXSharedMemory for Board {}

impl Default for Board {
    fn default() -> Self {
        Self {
            launcher: AtomicUsize::new(0),
            overflow: AtomicBool::new(false),
            slots: std::array::from_fn(|_| Slot {
                database: AtomicU32::new(0),
                wanted: AtomicBool::new(false),
                worker: AtomicI32::new(0),
                latch: AtomicUsize::new(0),
                due: AtomicI64::new(0),
                upkeep: AtomicI64::new(0),
                steps: [const { AtomicI64::new(0) }; STEPS],
            }),
        }
    }
}

/// Reserves the board; called while the server starts.
#[allow(unexpected_cfgs, reason = "the macro asks for features of its own crate")]
pub fn reserve() {
    RESERVED.store(true, Ordering::Relaxed);
    pg_shmem_init!(BOARD);
}

/// The board, if the library was loaded when the server started.
pub fn board() -> Option<&'static Board> {
    RESERVED.load(Ordering::Relaxed).then(|| BOARD.get())
}

/// The latch of this process. Latches live in shared memory as long as the server does: one that has passed to
/// another process is set for nothing, which does no harm.
fn my_latch() -> usize {
    // SAFETY: reads a pointer of this process.
    unsafe { pg_sys::MyLatch as usize }
}

fn set_latch(latch: usize) {
    if latch != 0 {
        // SAFETY: the address of a latch in shared memory, stored by the process that owned it.
        unsafe { pg_sys::SetLatch(latch as *mut pg_sys::Latch) };
    }
}

impl Board {
    /// Enters this process as the launcher.
    pub fn enter_launcher(&self) {
        self.launcher.store(my_latch(), Ordering::SeqCst);
    }

    /// Wakes the launcher.
    pub fn wake_launcher(&self) {
        set_latch(self.launcher.load(Ordering::SeqCst));
    }

    /// The slots that belong to a database, with its OID.
    pub fn databases(&self) -> impl Iterator<Item = (u32, &Slot)> {
        self.slots
            .iter()
            .map(|slot| (slot.database.load(Ordering::SeqCst), slot))
            .filter(|(database, _)| *database != 0)
    }

    /// The slot of a database, taken if it has none yet.
    pub fn slot(&self, database: u32) -> Option<&Slot> {
        if let Some((_, slot)) = self.databases().find(|(known, _)| *known == database) {
            return Some(slot);
        }
        self.slots.iter().find(|slot| {
            match slot.database.compare_exchange(0, database, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => true,
                // Another process was quicker, perhaps for this very database.
                Err(taken) => taken == database,
            }
        })
    }

    /// Says that a database has work, and wakes whoever does it.
    pub fn call(&self, database: u32) {
        let Some(slot) = self.slot(database) else {
            self.overflow.store(true, Ordering::SeqCst);
            return self.wake_launcher();
        };
        slot.wanted.store(true, Ordering::SeqCst);
        // A worker that is leaving either sees the flag or is gone before the launcher looks: it wakes the launcher.
        match slot.worker.load(Ordering::SeqCst) {
            0 => self.wake_launcher(),
            _ => set_latch(slot.latch.load(Ordering::SeqCst)),
        }
    }

    /// Says that a database wants to be looked after at an instant, if it does not want it sooner.
    pub fn look_at(&self, database: u32, at: i64) {
        if let Some(slot) = self.slot(database)
            && slot.look_at(at)
        {
            self.wake_launcher();
        }
    }
}

impl Slot {
    /// Lets the worker look here at an instant, unless it does so sooner; whether that is news.
    pub fn look_at(&self, at: i64) -> bool {
        let sooner = |known: i64| (known == 0 || at < known).then_some(at);
        self.upkeep.fetch_update(Ordering::SeqCst, Ordering::SeqCst, sooner).is_ok()
    }

    /// Has every step look again, whatever it knew.
    pub fn forget_steps(&self) {
        self.steps.iter().for_each(|step| step.store(0, Ordering::SeqCst));
    }

    /// When the worker has to be back, whoever calls: 0 for never.
    pub fn next(&self) -> i64 {
        match (self.due.load(Ordering::SeqCst), self.upkeep.load(Ordering::SeqCst)) {
            (0, next) | (next, 0) => next,
            (due, upkeep) => due.min(upkeep),
        }
    }

    /// Leaves the database alone until an instant, unless somebody calls.
    pub fn rest(&self, until: i64) {
        self.wanted.store(false, Ordering::SeqCst);
        self.due.store(0, Ordering::SeqCst);
        self.upkeep.store(until, Ordering::SeqCst);
    }

    /// Enters this process as the worker.
    pub fn enter(&self, pid: i32) {
        self.latch.store(my_latch(), Ordering::SeqCst);
        self.worker.store(pid, Ordering::SeqCst);
    }

    /// Gives the slot back: the database is gone, or has nothing of ours.
    pub fn free(&self) {
        self.due.store(0, Ordering::SeqCst);
        self.upkeep.store(0, Ordering::SeqCst);
        self.forget_steps();
        self.wanted.store(false, Ordering::SeqCst);
        self.worker.store(0, Ordering::SeqCst);
        self.database.store(0, Ordering::SeqCst);
    }
}
