//! Every setting of the extension, its bounds and context, behind typed accessors.

pub mod embedding;

use crate::domain::limits;
use crate::domain::retention::Retention;
use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::{CStr, CString, c_char, c_void};

static SPACE: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static SPACE_LOCKED: GucSetting<bool> = GucSetting::<bool>::new(false);
static PRINCIPAL: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static API_KEY: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static ACTOR: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static PROJECT: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static CAPSULE_KEY_FILE: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static CAPSULE_FILE_ROOT: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static HISTORY_RETENTION: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static ERASURE_VACUUM: GucSetting<bool> = GucSetting::<bool>::new(true);
static MAX_CONTENT_BYTES: GucSetting<i32> = GucSetting::<i32>::new(limits::CONTENT_BYTES_DEFAULT as i32);

/// The space a call works in when its argument names none (design §4): `me.space`, else `default`.
pub fn space() -> String {
    non_empty(&SPACE).unwrap_or_else(|| "default".to_owned())
}

/// Whether calls are held to [`space`] (`me.space_locked`): a guard against mistakes, not a boundary.
pub fn space_locked() -> bool {
    SPACE_LOCKED.get()
}

/// Whom a gateway acts for (`me.principal`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acting {
    /// Nobody but itself.
    AsItself,
    /// The application user of this name.
    For(String),
    /// The holder of a key that was proven: what stands for it.
    WithKey(String),
    /// An application user and the holder of a key at once.
    Ambiguous,
    /// A name that was set before this transaction: it has ended, and acting for it would be a mistake.
    Outlived,
}

/// Whom the caller acts for. A value counts in the transaction that set it, and no longer.
pub fn principal() -> Acting {
    match (non_empty(&PRINCIPAL), non_empty(&API_KEY)) {
        (None, None) => Acting::AsItself,
        (Some(name), None) if set_in_this_transaction(c"me.principal") => Acting::For(name),
        (None, Some(token)) if set_in_this_transaction(c"me.api_key") => Acting::WithKey(token),
        (Some(_), Some(_)) => Acting::Ambiguous,
        (Some(_), None) | (None, Some(_)) => Acting::Outlived,
    }
}

/// Notes a proven key until the transaction ends, as `SET LOCAL` would.
pub fn set_api_key(token: &str) {
    // A token of ours holds no zero byte.
    let Ok(token) = CString::new(token) else { return };
    // SAFETY: the setting is defined by this library; both strings outlive the call.
    unsafe {
        pg_sys::set_config_option(
            c"me.api_key".as_ptr(),
            token.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_LOCAL,
            true,
            0,
            false,
        );
    }
}

/// Whether the value of a setting comes from the transaction that runs now: only then the server keeps a value to go
/// back to.
fn set_in_this_transaction(name: &CStr) -> bool {
    // SAFETY: the record of a setting lives as long as the backend.
    unsafe {
        let record = pg_sys::find_option(name.as_ptr(), false, true, 0);
        !record.is_null() && !(*record).stack.is_null()
    }
}

/// How long history is kept (`me.history_retention`); `None` means for ever.
pub fn history_retention() -> Option<Retention> {
    non_empty(&HISTORY_RETENTION).and_then(|text| Retention::parse(&text).ok().flatten())
}

/// Refuses a text that is no length of time when it is set.
#[pg_guard]
unsafe extern "C-unwind" fn check_retention(
    new: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: the server passes the address of a NUL-terminated string, or of null.
    let text = unsafe { new.as_ref().filter(|text| !text.is_null()).map(|text| CStr::from_ptr(*text)) };
    text.is_none_or(|text| text.to_str().is_ok_and(|text| Retention::parse(text).is_ok()))
}

/// Whether the worker vacuums and overwrites what was erased (`me.erasure_vacuum`).
pub fn erasure_vacuum() -> bool {
    ERASURE_VACUUM.get()
}

/// The largest content and the largest metadata of one memory, and the largest argument object of `me.mcp_call`, in
/// bytes.
pub fn max_content_bytes() -> usize {
    usize::try_from(MAX_CONTENT_BYTES.get()).unwrap_or(limits::CONTENT_BYTES_DEFAULT)
}

/// The name a client gives itself (`me.actor`): recorded in the capsule journal, never trusted.
pub fn actor() -> Option<String> {
    non_empty(&ACTOR)
}

/// The project of a capsule that names none (`me.project`), else `default`.
pub fn project() -> String {
    non_empty(&PROJECT).unwrap_or_else(|| "default".to_owned())
}

/// The file that holds the key of capsule fingerprints (`me.capsule_key_file`).
pub fn capsule_key_file() -> Option<String> {
    non_empty(&CAPSULE_KEY_FILE)
}

/// The folder that anchors and imports are looked up in (`me.capsule_file_root`); without it no file is read.
pub fn capsule_file_root() -> Option<String> {
    non_empty(&CAPSULE_FILE_ROOT)
}

fn non_empty(setting: &GucSetting<Option<CString>>) -> Option<String> {
    let text = setting.get()?.to_string_lossy().into_owned();
    (!text.is_empty()).then_some(text)
}

/// Defines the settings; called once, when the library is loaded.
pub fn register() {
    embedding::register();
    GucRegistry::define_string_guc(
        c"me.space",
        c"The space a call works in when it names none.",
        c"Empty means the space \"default\".",
        &SPACE,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"me.space_locked",
        c"Holds every call to the space of me.space.",
        c"A guard against mistakes, not a boundary: the session can switch it off.",
        &SPACE_LOCKED,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_string_guc(
        c"me.principal",
        c"The application user a gateway acts for, in the transaction that sets it.",
        c"Only gateways may set it; see me.gateway_add().",
        &PRINCIPAL,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_string_guc(
        c"me.api_key",
        c"What stands for an API key that was proven in this transaction.",
        c"me.api_key_authenticate() sets it; a value of one's own proves nothing.",
        &API_KEY,
        GucContext::Userset,
        GucFlags::NO_SHOW_ALL,
    );
    GucRegistry::define_string_guc(
        c"me.actor",
        c"The name a client gives itself in the capsule journal.",
        c"Empty means the name of the principal. It decides nothing.",
        &ACTOR,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_string_guc(
        c"me.project",
        c"The project of a capsule that names none.",
        c"Empty means the project \"default\".",
        &PROJECT,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_string_guc(
        c"me.capsule_key_file",
        c"The file that holds the key of the fingerprints of forgotten capsules.",
        c"Empty means a random key for each space, made at its first forgetting.",
        &CAPSULE_KEY_FILE,
        GucContext::Suset,
        GucFlags::SUPERUSER_ONLY | GucFlags::NO_SHOW_ALL,
    );
    GucRegistry::define_string_guc(
        c"me.capsule_file_root",
        c"The folder on the server that capsule anchors and imports are looked up in.",
        c"Empty means that the server reads no file.",
        &CAPSULE_FILE_ROOT,
        GucContext::Suset,
        GucFlags::SUPERUSER_ONLY | GucFlags::NO_SHOW_ALL,
    );
    GucRegistry::define_bool_guc(
        c"me.erasure_vacuum",
        c"Whether the worker vacuums the tables after something was erased, and overwrites free space.",
        c"Switch it off where that is done at other times: VACUUM, then me.erasure_scrub().",
        &ERASURE_VACUUM,
        GucContext::Sighup,
        GucFlags::default(),
    );
    // SAFETY: the hook is guarded against panics.
    unsafe {
        GucRegistry::define_string_guc_with_hooks(
            c"me.history_retention",
            c"How long history is kept, for instance \"30 days\" or \"1 year 6 months\".",
            c"Empty or 0 means for ever. me.history_prune() removes what is older.",
            &HISTORY_RETENTION,
            GucContext::Suset,
            GucFlags::default(),
            Some(check_retention),
            None,
            None,
        );
    }
    GucRegistry::define_int_guc(
        c"me.max_content_bytes",
        c"The largest content of one memory.",
        c"Also bounds its metadata, and the argument object of me.mcp_call().",
        &MAX_CONTENT_BYTES,
        1024,
        256 * 1024 * 1024,
        GucContext::Suset,
        GucFlags::UNIT_BYTE,
    );
    // Last: from now on a misspelt name is an error, not a setting that nobody reads.
    // SAFETY: the server copies the prefix.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"me".as_ptr()) };
}
