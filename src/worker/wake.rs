//! Writers wake the worker when, and only when, they commit something for it.

use super::board::board;
use crate::store::upkeep::{now, soon};
use pgrx::{pg_guard, pg_sys};
use std::cell::Cell;

/// Content waits for its vectors.
const WORK: u8 = 1;
/// Something was written that has to be looked after in a while.
const CHANGE: u8 = 2;
/// Something is left to be done, at once.
const UPKEEP: u8 = 4;

thread_local! {
    static NOTED: Cell<u8> = const { Cell::new(0) };
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Remembers that this transaction leaves content to be embedded.
pub fn note_work() {
    note(WORK);
}

/// Remembers that this transaction leaves events: they are sealed in a while, with what else wants to be looked after.
pub fn note_change() {
    note(CHANGE);
}

/// Remembers that this transaction leaves something to one of the steps of upkeep, which need not wait.
pub fn note_upkeep() {
    note(UPKEEP);
}

fn note(what: u8) {
    let noted = NOTED.get();
    if noted & what != 0 || board().is_none() {
        return;
    }
    NOTED.set(noted | what);
    if !REGISTERED.replace(true) {
        // SAFETY: the callback lives as long as the library, which is never unloaded.
        unsafe { pg_sys::RegisterXactCallback(Some(at_end), std::ptr::null_mut()) };
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_end(event: pg_sys::XactEvent::Type, _argument: *mut std::ffi::c_void) {
    match event {
        pg_sys::XactEvent::XACT_EVENT_COMMIT => {
            let noted = NOTED.take();
            if noted != 0
                && let Some(board) = board()
            {
                // SAFETY: reads the database of this backend.
                let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
                if noted & UPKEEP != 0 {
                    board.look_at(database, now());
                } else if noted & CHANGE != 0 {
                    board.look_at(database, soon());
                }
                if noted & WORK != 0 {
                    board.call(database);
                }
            }
        }
        pg_sys::XactEvent::XACT_EVENT_ABORT | pg_sys::XactEvent::XACT_EVENT_PREPARE => NOTED.set(0),
        _ => {}
    }
}
