//! Timestamps as the server reads them, whatever the session's settings.

use crate::domain::instant::Instant;
use crate::domain::invalid::{Invalid, excerpt};
use pgrx::pg_sys;
use std::ffi::CString;

unsafe extern "C-unwind" {
    /// The server's own: the bindings know it as a function of Rust, which it does not take back.
    fn timestamptz_in(call: pg_sys::FunctionCallInfo) -> pg_sys::Datum;
}

/// `DATEORDER_MDY` of the server's headers: how `1/2/2025` is read by default.
const MONTH_DAY_YEAR: i32 = 2;

/// The session as if TimeZone were UTC and DateStyle MDY, until it is dropped.
struct Utc {
    zone: *mut pg_sys::pg_tz,
    order: i32,
}

impl Utc {
    fn enter() -> Self {
        // SAFETY: globals of this backend, put back in `drop`; UTC is always known.
        unsafe {
            let kept = Self { zone: pg_sys::session_timezone, order: pg_sys::DateOrder };
            let utc = pg_sys::pg_tzset(c"UTC".as_ptr());
            if !utc.is_null() {
                pg_sys::session_timezone = utc;
            }
            pg_sys::DateOrder = MONTH_DAY_YEAR;
            kept
        }
    }
}

impl Drop for Utc {
    fn drop(&mut self) {
        // SAFETY: what `enter` found.
        unsafe {
            pg_sys::session_timezone = self.zone;
            pg_sys::DateOrder = self.order;
        }
    }
}

/// Reads any text the server accepts as `timestamptz` under TimeZone UTC (HIST-9).
pub fn parse(argument: &str, text: &str) -> Result<Instant, Invalid> {
    read(text).ok_or_else(|| {
        Invalid::new(
            argument,
            "HIST-9",
            format!("argument \"{argument}\" is no timestamp: {}", excerpt(text)),
            "Write for instance \"2025-02-01T10:00:00Z\", or any text that PostgreSQL reads as timestamptz; \
             without a zone it is UTC.",
        )
    })
}

fn read(text: &str) -> Option<Instant> {
    let text = CString::new(text).ok()?;
    let _utc = Utc::enter();
    let mut context = pg_sys::ErrorSaveContext {
        type_: pg_sys::NodeTag::T_ErrorSaveContext,
        error_occurred: false,
        details_wanted: false,
        error_data: std::ptr::null_mut(),
    };
    let mut datum = pg_sys::Datum::from(0);
    // SAFETY: the input function reads a NUL-terminated string and reports bad text into the context, which
    // outlives the call.
    let read = unsafe {
        pg_sys::DirectInputFunctionCallSafe(
            Some(timestamptz_in),
            text.as_ptr().cast_mut(),
            pg_sys::Oid::INVALID,
            -1,
            (&raw mut context).cast(),
            &raw mut datum,
        )
    };
    read.then(|| Instant::from_micros(datum.value() as i64))
}
