//! Whether the objects of this database are of the same version as this library.
//!
//! A new library meets old objects after every upgrade of the package, until somebody runs ALTER EXTENSION … UPDATE.
//! Reading goes on as far as the old objects allow. Writing waits: what the library writes relies on objects of its own
//! version.

use super::spi::Db;
use crate::domain::release::LIBRARY;
use crate::error::{Error, Result};
use crate::statement;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::cell::{Cell, RefCell};

statement!(
    INSTALLED,
    ["select e.extversion from pg_catalog.pg_extension as e where e.extname = 'memory_engine'"],
    []
);

enum State {
    Unknown,
    Fits,
    /// The version that is installed here.
    Other(String),
}

thread_local! {
    static STATE: RefCell<State> = const { RefCell::new(State::Unknown) };
    static WATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Looks once per backend, and again after functions were changed in the catalogue; refuses a call that may write
/// when the versions differ.
pub fn check(db: &Db) -> Result<()> {
    if STATE.with_borrow(|state| matches!(state, State::Unknown)) {
        look(db)?;
    }
    match other() {
        Some(installed) if !db.is_read_only() => Err(Error::OtherVersion { installed }),
        _ => Ok(()),
    }
}

/// The version that is installed here, when it is known to be another one than the library's.
pub fn other() -> Option<String> {
    STATE.with_borrow(|state| match state {
        State::Other(installed) => Some(installed.clone()),
        State::Unknown | State::Fits => None,
    })
}

fn look(db: &Db) -> Result<()> {
    watch();
    let row = db.row(&INSTALLED, &[])?;
    let installed = row.and_then(|row| row.get::<String>(1)).unwrap_or_default();
    let state = if installed == LIBRARY { State::Fits } else { State::Other(installed) };
    STATE.set(state);
    Ok(())
}

/// ALTER EXTENSION, DROP EXTENSION and the undoing of either change entries of this cache.
fn watch() {
    if WATCHING.replace(true) {
        return;
    }
    // SAFETY: registered once in a backend; the function lives as long as the process.
    unsafe {
        pg_sys::CacheRegisterSyscacheCallback(
            pg_sys::SysCacheIdentifier::PROCOID as i32,
            Some(forget),
            pg_sys::Datum::from(0),
        );
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn forget(_argument: pg_sys::Datum, _cache: std::ffi::c_int, _hash: pg_sys::uint32) {
    // The state is never borrowed while the server runs.
    STATE.set(State::Unknown);
}
