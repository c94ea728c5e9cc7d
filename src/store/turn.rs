//! Locks of our own, which no caller of SQL can take: whoever held one of the server's advisory locks by the number that
//! we use would keep moves, seals and the worker waiting for as long as it likes.

use pgrx::pg_sys;

/// What is done by one at a time in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn<'a> {
    /// Being its worker.
    Worker,
    /// Sealing what belongs to no space.
    Outside,
    /// Changing subtrees of a space. Two spaces may share a number; they wait for each other then.
    Subtrees(&'a str),
}

/// The fourth field of the lock. `pg_advisory_lock` and its kin write 1 or 2 there, and nothing else.
const OURS: u16 = 0x6d65;

impl Turn<'_> {
    fn tag(self) -> pg_sys::LOCKTAG {
        let (what, which) = match self {
            Self::Worker => (1, 0),
            Self::Outside => (2, 0),
            Self::Subtrees(space) => (3, number(space)),
        };
        pg_sys::LOCKTAG {
            // SAFETY: a global of this backend, set when it connected.
            locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
            locktag_field2: what,
            locktag_field3: which,
            locktag_field4: OURS,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        }
    }

    /// Waits for the turn and keeps it until the transaction ends.
    pub fn wait(self) {
        let (tag, mode) = (self.tag(), pg_sys::ExclusiveLock as pg_sys::LOCKMODE);
        // SAFETY: the tag outlives the call; the transaction's end releases the lock.
        unsafe { pg_sys::LockAcquire(&raw const tag, mode, false, false) };
    }

    /// Takes the turn until the process ends, unless another one has it.
    pub fn take(self) -> bool {
        let (tag, mode) = (self.tag(), pg_sys::ExclusiveLock as pg_sys::LOCKMODE);
        // SAFETY: as above; the process's end releases it.
        let taken = unsafe { pg_sys::LockAcquire(&raw const tag, mode, true, true) };
        taken != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
    }
}

/// FNV-1a: the same in every process.
fn number(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
