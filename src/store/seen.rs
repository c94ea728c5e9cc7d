//! What a snapshot sees, so that two can be compared.
//!
//! Whoever has read something may keep it as long as the snapshots are equal: equal ones see the same rows, whoever
//! wrote others meanwhile and by whatever means. A transaction that writes has rows of its own, which no snapshot
//! tells of: nothing is kept for it.

use pgrx::pg_sys;
use std::rc::Rc;

/// A snapshot's view of the transactions of the cluster.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    xmin: pg_sys::TransactionId,
    xmax: pg_sys::TransactionId,
    running: Vec<pg_sys::TransactionId>,
    running_below: Vec<pg_sys::TransactionId>,
    overflowed: bool,
    in_recovery: bool,
}

/// After how many microseconds equal numbers are no longer taken to be the same transactions. The server can number four
/// thousand million of them before it begins anew, which takes it hours.
const OLDEST: i64 = 60 * 1_000_000;

/// Something that was read, and what was seen then.
#[derive(Debug)]
pub struct Kept<T> {
    seen: Seen,
    at: i64,
    what: T,
}

impl<T> Kept<T> {
    /// Keeps what was read under a snapshot; not in a transaction that writes.
    pub fn new(snapshot: pg_sys::Snapshot, what: T) -> Option<Self> {
        let parts = Parts::of(snapshot)?;
        let seen = Seen {
            xmin: parts.snapshot.xmin,
            xmax: parts.snapshot.xmax,
            running: parts.running.to_vec(),
            running_below: parts.running_below.to_vec(),
            overflowed: parts.snapshot.suboverflowed,
            in_recovery: parts.snapshot.takenDuringRecovery,
        };
        Some(Self { seen, at: now(), what })
    }

    /// What was kept, if another look under this snapshot would find the same.
    pub fn get(&mut self, snapshot: pg_sys::Snapshot) -> Option<&mut T> {
        let parts = Parts::of(snapshot)?;
        let seen = &self.seen;
        let same = seen.xmin == parts.snapshot.xmin
            && seen.xmax == parts.snapshot.xmax
            && seen.running == parts.running
            && seen.running_below == parts.running_below
            && seen.overflowed == parts.snapshot.suboverflowed
            && seen.in_recovery == parts.snapshot.takenDuringRecovery
            && (0..OLDEST).contains(&(now() - self.at));
        same.then_some(&mut self.what)
    }
}

/// Most spaces of which something is kept on a shelf.
const SPACES_MOST: usize = 8;

/// What was read of some spaces, and what was seen then.
#[derive(Debug)]
pub struct Shelf<T>(Vec<(String, Kept<Rc<T>>)>);

impl<T> Shelf<T> {
    /// An empty one.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// What was kept of a space, as [`Kept::get`].
    pub fn get(&mut self, space: &str, snapshot: pg_sys::Snapshot) -> Option<Rc<T>> {
        let (_, kept) = self.0.iter_mut().find(|(name, _)| name == space)?;
        kept.get(snapshot).map(|what| what.clone())
    }

    /// Keeps what was read of a space, as [`Kept::new`].
    pub fn put(&mut self, space: &str, snapshot: pg_sys::Snapshot, what: Rc<T>) {
        let Some(kept) = Kept::new(snapshot, what) else { return };
        match self.0.iter_mut().find(|(name, _)| name == space) {
            Some((_, place)) => *place = kept,
            None => {
                if self.0.len() >= SPACES_MOST {
                    self.0.clear();
                }
                self.0.push((space.to_owned(), kept));
            }
        }
    }
}

/// When the present statement or transaction began, whichever was later: it costs nothing to ask.
fn now() -> i64 {
    // SAFETY: reads the backend's own state.
    unsafe { pg_sys::GetCurrentStatementStartTimestamp().max(pg_sys::GetCurrentTransactionStartTimestamp()) }
}

/// A snapshot, taken apart without copying.
struct Parts<'a> {
    snapshot: &'a pg_sys::SnapshotData,
    running: &'a [pg_sys::TransactionId],
    running_below: &'a [pg_sys::TransactionId],
}

impl Parts<'_> {
    /// `None` when the transaction has written something or is serializable, or when the snapshot is of another sort.
    fn of<'a>(snapshot: pg_sys::Snapshot) -> Option<Parts<'a>> {
        // SAFETY: the snapshot is active; its arrays have as many elements as it says.
        unsafe {
            let snapshot = snapshot.as_ref()?;
            let ordinary = snapshot.snapshot_type == pg_sys::SnapshotType::SNAPSHOT_MVCC;
            let writes = pg_sys::GetTopTransactionIdIfAny() != pg_sys::InvalidTransactionId;
            // What a serializable transaction reads, the server must see it read.
            let serializable = pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32;
            if !ordinary || writes || serializable {
                return None;
            }
            Some(Parts {
                snapshot,
                running: slice(snapshot.xip, snapshot.xcnt as usize),
                running_below: slice(snapshot.subxip, usize::try_from(snapshot.subxcnt).unwrap_or(0)),
            })
        }
    }
}

/// # Safety
/// There are `count` elements, which outlive the answer.
unsafe fn slice<'a>(first: *const pg_sys::TransactionId, count: usize) -> &'a [pg_sys::TransactionId] {
    if count == 0 || first.is_null() {
        return &[];
    }
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(first, count) }
}
