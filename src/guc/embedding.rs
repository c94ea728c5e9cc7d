//! Settings of embedding: where models and endpoints are, and how the worker goes about it.

use super::non_empty;
use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use std::ffi::CString;
use std::path::PathBuf;
use std::time::Duration;

static LOCAL_MODEL_PATH: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static URL: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c"https://api.openai.com/v1"));
static API_KEY_FILE: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static TIMEOUT: GucSetting<i32> = GucSetting::<i32>::new(30);
static EMBED_SYNC: GucSetting<bool> = GucSetting::<bool>::new(false);
static WORKER: GucSetting<bool> = GucSetting::<bool>::new(true);
static WORKER_IDLE: GucSetting<i32> = GucSetting::<i32>::new(3);
static UPKEEP_DELAY: GucSetting<i32> = GucSetting::<i32>::new(60);
static MAX_ATTEMPTS: GucSetting<i32> = GucSetting::<i32>::new(3);
static NOTIFY: GucSetting<bool> = GucSetting::<bool>::new(false);

/// The directory of the local model of models that name none (`me.local_model_path`).
pub fn local_model_path() -> Option<PathBuf> {
    non_empty(&LOCAL_MODEL_PATH).map(PathBuf::from)
}

/// The endpoint of models that name none (`me.embedding_url`).
pub fn url() -> Option<String> {
    non_empty(&URL)
}

/// The file that holds the endpoint's key (`me.embedding_api_key_file`).
pub fn api_key_file() -> Option<PathBuf> {
    non_empty(&API_KEY_FILE).map(PathBuf::from)
}

/// How long a request to an endpoint may take (`me.embedding_timeout`).
pub fn timeout() -> Duration {
    Duration::from_secs(u64::try_from(TIMEOUT.get()).unwrap_or(30))
}

/// Whether writers embed in their own transaction (`me.embed_sync`).
pub fn embed_sync() -> bool {
    EMBED_SYNC.get()
}

/// Whether the worker runs (`me.worker`).
pub fn worker() -> bool {
    WORKER.get()
}

/// How long a worker without work stays (`me.worker_idle`).
pub fn worker_idle() -> Duration {
    Duration::from_secs(u64::try_from(WORKER_IDLE.get()).unwrap_or(3))
}

/// How long after a write the worker looks after what is left of it (`me.upkeep_delay`).
pub fn upkeep_delay() -> Duration {
    Duration::from_secs(u64::try_from(UPKEEP_DELAY.get()).unwrap_or(60))
}

/// How often the worker tries an entry (`me.embedding_max_attempts`, LIM-11).
pub fn max_attempts() -> i32 {
    MAX_ATTEMPTS.get()
}

/// Whether the worker notifies `me_embedded` (`me.notify_embedded`).
pub fn notify() -> bool {
    NOTIFY.get()
}

/// Defines the settings.
pub fn register() {
    GucRegistry::define_string_guc(
        c"me.local_model_path",
        c"Directory of the local embedding model.",
        c"Empty means the one that came with the extension. The server must be able to read it.",
        &LOCAL_MODEL_PATH,
        GucContext::Sighup,
        GucFlags::SUPERUSER_ONLY,
    );
    GucRegistry::define_string_guc(
        c"me.embedding_url",
        c"Address of the endpoint that embeds for models of provider openai.",
        c"Texts and the key are sent there: whoever sets it can read every memory.",
        &URL,
        GucContext::Sighup,
        GucFlags::SUPERUSER_ONLY,
    );
    GucRegistry::define_string_guc(
        c"me.embedding_api_key_file",
        c"File that holds the key of the embedding endpoint.",
        c"Read at each request by the worker, and by a backend that embeds a query.",
        &API_KEY_FILE,
        GucContext::Sighup,
        GucFlags::SUPERUSER_ONLY | GucFlags::NO_SHOW_ALL,
    );
    GucRegistry::define_int_guc(
        c"me.embedding_timeout",
        c"How long a request to an embedding endpoint may take.",
        c"A waiting query can be cancelled at any time.",
        &TIMEOUT,
        1,
        3600,
        GucContext::Sighup,
        GucFlags::UNIT_S,
    );
    GucRegistry::define_bool_guc(
        c"me.embed_sync",
        c"Embeds what a transaction writes before the call returns.",
        c"Only for local models; other content is queued as always.",
        &EMBED_SYNC,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"me.worker",
        c"Lets the background worker work.",
        c"Off: content waits in the queue.",
        &WORKER,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"me.worker_idle",
        c"How long a worker without work stays connected to its database.",
        c"A connected worker delays DROP DATABASE.",
        &WORKER_IDLE,
        0,
        3600,
        GucContext::Sighup,
        GucFlags::UNIT_S,
    );
    // Writers read it, each for its own database; so it may differ between databases.
    GucRegistry::define_int_guc(
        c"me.upkeep_delay",
        c"How long after a write the worker seals the history, prunes it and tidies the text index.",
        c"Everything that is written meanwhile is cared for at once.",
        &UPKEEP_DELAY,
        1,
        86_400,
        GucContext::Suset,
        GucFlags::UNIT_S,
    );
    GucRegistry::define_int_guc(
        c"me.embedding_max_attempts",
        c"How often the worker tries to embed a content.",
        c"Then its entry fails; me.embedding_retry() queues it again.",
        &MAX_ATTEMPTS,
        1,
        100,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"me.notify_embedded",
        c"Notifies channel me_embedded, with the space as payload, when memories got vectors.",
        c"For clients that wait for the queue.",
        &NOTIFY,
        GucContext::Sighup,
        GucFlags::default(),
    );
}
