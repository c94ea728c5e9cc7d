//! UUIDv7s that rise strictly within a backend (ID-3, EVT-7).

use uuid::{ContextV7, Timestamp, Uuid};

thread_local! {
    // Made in each backend on first use; one made in the postmaster would be shared by every fork.
    static CONTEXT: ContextV7 = const { ContextV7::new() };
}

/// The next id of this backend.
pub fn next() -> pgrx::Uuid {
    pgrx::Uuid::from_bytes(CONTEXT.with(|context| Uuid::new_v7(Timestamp::now(context)).into_bytes()))
}
