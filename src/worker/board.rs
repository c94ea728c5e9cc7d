//! What launcher, workers and writers tell each other in shared memory. Atomics only: a process may die anywhere.

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
}

impl Slot {
    /// Enters this process as the worker.
    pub fn enter(&self, pid: i32) {
        self.latch.store(my_latch(), Ordering::SeqCst);
        self.worker.store(pid, Ordering::SeqCst);
    }

    /// Gives the slot back: the database is gone, or has nothing of ours.
    pub fn free(&self) {
        self.due.store(0, Ordering::SeqCst);
        self.wanted.store(false, Ordering::SeqCst);
        self.worker.store(0, Ordering::SeqCst);
        self.database.store(0, Ordering::SeqCst);
    }
}
