//! The order of calls on one pipe: a call sees what the calls before it have written, though answers come as they are
//! ready. Reads run side by side; a write waits for what was asked before it, and what is asked after it waits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// What is known of a call that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unknown,
    Reads,
    Writes,
}

/// Hands out turns in the order of arrival.
#[derive(Default)]
pub struct Turns {
    next: u64,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    open: Mutex<BTreeMap<u64, Kind>>,
    changed: Notify,
}

impl Turns {
    /// The turn of the call that has just arrived; it ends when its last copy is dropped.
    pub fn take(&mut self) -> Turn {
        let number = self.next;
        self.next += 1;
        self.shared.put(number, Kind::Unknown);
        Turn(Arc::new(Place { number, shared: Arc::clone(&self.shared) }))
    }
}

impl Shared {
    fn put(&self, number: u64, kind: Kind) {
        if let Ok(mut open) = self.open.lock() {
            open.insert(number, kind);
        }
        self.changed.notify_waiters();
    }

    async fn until(&self, ready: impl Fn(&BTreeMap<u64, Kind>) -> bool) {
        loop {
            let changed = self.changed.notified();
            if self.open.lock().map_or(true, |open| ready(&open)) {
                return;
            }
            changed.await;
        }
    }
}

/// The place of a call in the order.
#[derive(Clone)]
pub struct Turn(Arc<Place>);

struct Place {
    number: u64,
    shared: Arc<Shared>,
}

impl Turn {
    /// Waits until a call that only reads may run.
    pub async fn to_read(&self) {
        let Place { number, shared } = &*self.0;
        shared.put(*number, Kind::Reads);
        shared.until(|open| open.range(..number).all(|(_, kind)| *kind == Kind::Reads)).await;
    }

    /// Waits until a call that may write may run.
    pub async fn to_write(&self) {
        let Place { number, shared } = &*self.0;
        shared.put(*number, Kind::Writes);
        shared.until(|open| open.range(..number).next().is_none()).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Ok(mut open) = self.shared.open.lock() {
            open.remove(&self.number);
        }
        self.shared.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    fn is_ready(future: impl Future<Output = ()>) -> bool {
        let mut future = std::pin::pin!(future);
        future.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn reads_run_side_by_side() {
        let mut turns = Turns::default();
        let (one, two) = (turns.take(), turns.take());
        assert!(!is_ready(two.to_read()), "the first may be a write");
        assert!(is_ready(one.to_read()));
        assert!(is_ready(two.to_read()));
    }

    #[test]
    fn a_write_waits_for_all_before_it_and_is_waited_for() {
        let mut turns = Turns::default();
        let (read, write, late) = (turns.take(), turns.take(), turns.take());
        assert!(is_ready(read.to_read()));
        assert!(!is_ready(write.to_write()));
        assert!(!is_ready(late.to_read()));
        drop(read);
        assert!(is_ready(write.to_write()));
        assert!(!is_ready(late.to_read()));
        drop(write);
        assert!(is_ready(late.to_read()));
    }

    #[test]
    fn a_turn_lasts_until_its_last_copy_is_gone() {
        let mut turns = Turns::default();
        let (write, late) = (turns.take(), turns.take());
        let copy = write.clone();
        assert!(is_ready(write.to_write()));
        drop(write);
        assert!(!is_ready(late.to_write()));
        drop(copy);
        assert!(is_ready(late.to_write()));
    }
}
