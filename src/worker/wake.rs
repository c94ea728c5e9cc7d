//! Writers wake the worker when, and only when, they commit something for it.

use super::board::board;
use pgrx::{pg_guard, pg_sys};
use std::cell::Cell;

thread_local! {
    static WORK: Cell<bool> = const { Cell::new(false) };
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Remembers that this transaction leaves work behind.
pub fn note_work() {
    if board().is_none() || WORK.replace(true) {
        return;
    }
    if !REGISTERED.replace(true) {
        // SAFETY: the callback lives as long as the library, which is never unloaded.
        unsafe { pg_sys::RegisterXactCallback(Some(at_end), std::ptr::null_mut()) };
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_end(event: pg_sys::XactEvent::Type, _argument: *mut std::ffi::c_void) {
    match event {
        pg_sys::XactEvent::XACT_EVENT_COMMIT => {
            if WORK.take()
                && let Some(board) = board()
            {
                // SAFETY: reads the database of this backend.
                board.call(unsafe { pg_sys::MyDatabaseId }.to_u32());
            }
        }
        pg_sys::XactEvent::XACT_EVENT_ABORT | pg_sys::XactEvent::XACT_EVENT_PREPARE => WORK.set(false),
        _ => {}
    }
}
