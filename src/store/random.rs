//! Random bytes of the server's own strong source.

use std::cell::RefCell;

/// How many are asked for at once: one question to the source costs more than a kilobyte of its answer.
const AT_ONCE: usize = 1024;

/// Bytes that nobody has been given yet, up to `left`. Those that were given are erased.
struct Pool {
    bytes: [u8; AT_ONCE],
    left: usize,
}

thread_local! {
    // Empty until a backend asks: what the postmaster drew would be drawn again by every backend it forks.
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { bytes: [0; AT_ONCE], left: 0 }) };
}

/// Sixteen of them; all zero when the server has no source of randomness, which it refuses to start without.
pub fn bytes() -> [u8; 16] {
    POOL.with_borrow_mut(|pool| {
        if pool.left < 16 {
            // SAFETY: fills exactly the buffer it is given.
            unsafe { pgrx::pg_sys::pg_strong_random(pool.bytes.as_mut_ptr().cast(), AT_ONCE) };
            pool.left = AT_ONCE;
        }
        let mut given = [0u8; 16];
        let from = pool.left - given.len();
        given.copy_from_slice(&pool.bytes[from..pool.left]);
        pool.bytes[from..pool.left].fill(0);
        pool.left = from;
        given
    })
}
