//! Whose rights a statement has: the extension's owner inside the guard, the caller everywhere else.

use pgrx::pg_sys;

/// Runs what follows as the extension's owner, with a search path that holds nothing of the caller's,
/// until it is dropped, on every way out (return, error, panic).
pub struct AsOwner {
    caller: pg_sys::Oid,
    context: i32,
    guc_nest: i32,
}

impl AsOwner {
    /// Switches to `owner`.
    pub fn enter(owner: pg_sys::Oid) -> Self {
        let (mut caller, mut context) = (pg_sys::Oid::INVALID, 0);
        // SAFETY: plain reads and writes of the backend's own identity; undone in `drop`.
        unsafe {
            pg_sys::GetUserIdAndSecContext(&raw mut caller, &raw mut context);
            let guard = Self { caller, context, guc_nest: pg_sys::NewGUCNestLevel() };
            pg_sys::SetUserIdAndSecContext(owner, context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32);
            restrict_search_path();
            say_nothing_of_plans();
            guard
        }
    }
}

/// Settings that anybody may switch on show whole plans to the client, with the values of their parameters: in here that
/// would be the key of a space's fingerprints, or what the planner believes of rows that the caller may not read.
///
/// # Safety
/// Called inside the GUC nest level that `enter` opened.
unsafe fn say_nothing_of_plans() {
    // SAFETY: plain reads of the backend's settings.
    let shown = unsafe {
        [
            (pg_sys::Debug_print_parse, c"debug_print_parse"),
            (pg_sys::Debug_print_rewritten, c"debug_print_rewritten"),
            (pg_sys::Debug_print_plan, c"debug_print_plan"),
            (pg_sys::trace_sort, c"trace_sort"),
        ]
    };
    for (on, setting) in shown {
        if on {
            set_until_dropped(setting, c"off");
        }
    }
}

impl Drop for AsOwner {
    fn drop(&mut self) {
        // SAFETY: restores exactly what `enter` read; the nest level is the one it opened.
        unsafe {
            pg_sys::AtEOXact_GUC(false, self.guc_nest);
            pg_sys::SetUserIdAndSecContext(self.caller, self.context);
        }
    }
}

#[cfg(not(feature = "pg16"))]
unsafe fn restrict_search_path() {
    // SAFETY: called inside the GUC nest level that `enter` opened.
    unsafe { pg_sys::RestrictSearchPath() };
}

/// What `RestrictSearchPath` of 17 does: without it a kept plan is parsed anew under the caller's search path.
#[cfg(feature = "pg16")]
unsafe fn restrict_search_path() {
    set_until_dropped(c"search_path", c"pg_catalog, pg_temp");
}

/// Settings that hold until this is dropped, on every way out.
struct Level(i32);

impl Level {
    fn open() -> Self {
        // SAFETY: closed when it is dropped.
        Self(unsafe { pg_sys::NewGUCNestLevel() })
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        // SAFETY: the level that `open` opened.
        unsafe { pg_sys::AtEOXact_GUC(false, self.0) };
    }
}

/// Runs `body` without the server's notices.
pub fn without_notices<T>(body: impl FnOnce() -> T) -> T {
    let _level = Level::open();
    set_until_dropped(c"client_min_messages", c"warning");
    body()
}

/// Runs `body` so that what is planned in it reaches rows by their indexes: plans that are kept are made when tables may
/// still be empty.
pub fn by_index<T>(body: impl FnOnce() -> T) -> T {
    let _level = Level::open();
    for setting in [c"enable_seqscan", c"enable_bitmapscan", c"enable_hashjoin", c"enable_mergejoin"] {
        set_until_dropped(setting, c"off");
    }
    body()
}

/// Runs `body` so that what is planned in it joins by hashing: neither side is gone through more than once, however few rows
/// the planner believes there to be.
pub fn hashing<T>(body: impl FnOnce() -> T) -> T {
    let _level = Level::open();
    set_until_dropped(c"enable_hashjoin", c"on");
    set_until_dropped(c"enable_nestloop", c"off");
    body()
}

/// Runs `body`, whose statements look rows up by an index, one by one and in its order, whatever the planner believes of
/// the tables: before they are analyzed it takes them for small and reads them whole.
pub fn looking_up<T>(body: impl FnOnce() -> T) -> T {
    let _level = Level::open();
    for setting in
        [c"enable_seqscan", c"enable_bitmapscan", c"enable_sort", c"enable_hashjoin", c"enable_mergejoin"]
    {
        set_until_dropped(setting, c"off");
    }
    body()
}

/// Sets the time zone to UTC until the guard is dropped.
pub fn use_utc() {
    set_until_dropped(c"TimeZone", c"UTC");
}

/// Plans for statements over many rows, until the guard is dropped.
///
/// Joins go row by row, in the order of the outer side: rows are written, and keys waited for, in that order, and what
/// is looked up for them is looked up by key, where a hash join would read the whole space. And the rows that pass from
/// one part of a statement to the next stay in memory.
pub fn use_bulk_plans() {
    const WORK_MEM_KB: i32 = 64 * 1024;
    set_until_dropped(c"enable_hashjoin", c"off");
    set_until_dropped(c"enable_mergejoin", c"off");
    // SAFETY: reads a setting of the backend.
    if unsafe { pg_sys::work_mem } < WORK_MEM_KB {
        set_until_dropped(c"work_mem", c"64MB");
    }
}

/// Sets a setting until the guard is dropped.
pub fn set_until_dropped(setting: &std::ffi::CStr, value: &std::ffi::CStr) {
    // SAFETY: called inside the GUC nest level that `enter` opened; the arguments are the ones the server itself uses
    // to restrict the search path.
    unsafe {
        pg_sys::set_config_option(
            setting.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
    }
}
