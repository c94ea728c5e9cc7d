//! Chooses what computes the vectors of a registered model, and keeps it for the life of the process.

use crate::domain::embedding::Vector;
use crate::domain::embedding::{Model, Provider};
use crate::domain::limits;
use crate::embed::fair::{Decided, embed_each};
use crate::embed::http::{Endpoint, embeddings_url};
use crate::embed::local::LocalModel;
use crate::embed::{Embedder, Fault};
use crate::error::Error;
use crate::guc;
use pgrx::{check_for_interrupts, pg_sys};
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The model that is used when nothing names another.
const DEFAULT_MODEL: &str = "all-MiniLM-L6-v2";

/// Models this process has read. What the postmaster reads before it forks, every backend shares.
static MODELS: Mutex<Vec<(PathBuf, &'static LocalModel)>> = Mutex::new(Vec::new());

/// Why there is nothing that computes a model's vectors.
pub type Unavailable = String;

/// What computes the vectors of a model.
///
/// # Errors
/// A model that cannot be read, or whose vectors have another length than the registered one.
pub fn embedder(model: &Model) -> Result<Box<dyn Embedder>, Unavailable> {
    match model.provider {
        Provider::Local => Ok(Box::new(local(model)?)),
        Provider::OpenAi => Ok(Box::new(endpoint(model)?)),
        Provider::Manual => Err(format!("callers bring the vectors of model \"{}\"", model.name.as_str())),
    }
}

/// Texts of one request when nothing says otherwise.
const BATCH: usize = 32;

fn endpoint(model: &Model) -> Result<Endpoint, Unavailable> {
    let options = &model.options;
    let base = options
        .url
        .clone()
        .or_else(guc::embedding::url)
        .ok_or("neither the model nor the setting me.embedding_url names an endpoint")?;
    Ok(Endpoint {
        url: embeddings_url(&base),
        model: options.model.clone().unwrap_or_else(|| model.name.as_str().to_owned()),
        key: guc::embedding::api_key_file().map(|path| read_key(&path)).transpose()?,
        dimensions: (options.send_dimensions == Some(true)).then(|| model.dimensions.get()),
        timeout: guc::embedding::timeout(),
        batch: options.batch.map_or(BATCH, usize::from),
        window: usize::from(options.window.unwrap_or(*limits::ENDPOINT_WINDOW.end())),
    })
}

/// The key, which is read anew each time: a changed one counts at once, and none stays in memory.
fn read_key(path: &Path) -> Result<String, Unavailable> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("the file of me.embedding_api_key_file cannot be read: {}", error.kind()))?;
    let key = text.trim();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the file of me.embedding_api_key_file holds no key".into());
    }
    Ok(key.to_owned())
}

/// What is wrong with the file of the endpoint's key.
pub enum KeyFault {
    /// It holds no key for us; why.
    Unreadable(String),
    /// Others on this machine can read it.
    ReadByOthers,
}

/// What is wrong with the file of the endpoint's key, if anything.
pub fn key_file_fault(path: &Path) -> Option<KeyFault> {
    use std::os::unix::fs::PermissionsExt;
    if let Err(reason) = read_key(path) {
        return Some(KeyFault::Unreadable(reason));
    }
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    (mode & 0o004 != 0).then_some(KeyFault::ReadByOthers)
}

/// Whether what is sent to an address leaves the machine unencrypted.
pub fn is_sent_in_the_clear(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let name = host.strip_prefix('[').map_or_else(
        || host.split(':').next().unwrap_or_default(),
        |bracketed| bracketed.split(']').next().unwrap_or_default(),
    );
    !(name == "localhost" || name == "::1" || name.starts_with("127."))
}

/// The local model behind a registered one.
pub fn local(model: &Model) -> Result<&'static LocalModel, Unavailable> {
    let path = match model.options.path.as_deref() {
        Some(path) => models_directory().join(path),
        None => default_path(),
    };
    // Where the server keeps its files is nothing for whoever asks for a vector.
    let local = read(&path).map_err(|reason| {
        let reason = reason.replace(&format!("{}/", path.display()), "");
        format!("model \"{}\" cannot be read: {reason}", model.name.as_str())
    })?;
    if local.dimensions() != model.dimensions.get() {
        return Err(format!(
            "model \"{}\" is registered with {} dimensions, but has {}",
            model.name.as_str(),
            model.dimensions.get(),
            local.dimensions()
        ));
    }
    Ok(local)
}

/// Reads the default model, if it is installed: called by the postmaster, so that backends share the pages.
///
/// # Errors
/// Says why an installed model cannot be used.
pub fn preload() -> Result<(), Unavailable> {
    let path = default_path();
    if !path.exists() {
        return Ok(());
    }
    read(&path).map(|_| ())
}

fn default_path() -> PathBuf {
    guc::embedding::local_model_path().unwrap_or_else(|| models_directory().join(DEFAULT_MODEL))
}

/// Where `make install` puts models.
fn models_directory() -> PathBuf {
    let mut buffer = [0 as std::ffi::c_char; pg_sys::MAXPGPATH as usize];
    // SAFETY: the buffer has the length the server writes to at most; the path of the executable is set at start.
    let share = unsafe {
        pg_sys::get_share_path((&raw const pg_sys::my_exec_path).cast(), buffer.as_mut_ptr());
        CStr::from_ptr(buffer.as_ptr())
    };
    Path::new(&*share.to_string_lossy()).join("extension/memory_engine_models")
}

fn read(path: &Path) -> Result<&'static LocalModel, Unavailable> {
    let mut models = MODELS.lock().map_err(|_| "a model could not be read before".to_owned())?;
    if let Some((_, model)) = models.iter().find(|(known, _)| known == path) {
        return Ok(model);
    }
    let model: &'static LocalModel = Box::leak(Box::new(LocalModel::open(path)?));
    models.push((path.to_owned(), model));
    Ok(model)
}

/// Asked by an embedder now and then: a cancel of the query raises its error here.
fn interrupted() -> bool {
    check_for_interrupts!();
    false
}

fn told(fault: Fault) -> String {
    match fault {
        Fault::Failed(reason) | Fault::Unavailable(reason) => reason,
        Fault::RateLimited(Some(after)) => {
            format!("the provider asks to wait {} s", after.as_secs_f64().ceil())
        }
        Fault::RateLimited(None) => "the provider asks to wait".into(),
        Fault::Interrupted => "the work was interrupted".into(),
    }
}

/// The vector of a query (SRCH-11).
///
/// # Errors
/// EMBEDDING_NOT_CONFIGURED when callers bring the model's vectors; EMBEDDING_FAILED with what the provider said.
pub fn embed_query(model: &Model, text: &str) -> Result<Vector, Error> {
    if model.provider == Provider::Manual {
        return Err(Error::EmbeddingNotConfigured);
    }
    let failed = |reason| Error::EmbeddingFailed { reason };
    let numbers = embedder(model)
        .map_err(failed)?
        .embed_query(text, &interrupted)
        .map_err(|fault| failed(told(fault)))?;
    Vector::new(&numbers, model.dimensions).map_err(|fault| failed(format!("the vector {fault}")))
}

/// What came of texts.
pub struct Embeddings {
    /// The vectors of a text, or why it has none, with its place.
    pub decided: Decided<Vec<Vector>>,
    /// Why nothing is known of the others.
    pub trouble: Option<String>,
}

/// The vectors of texts, batch by batch, until the provider serves nobody.
pub fn embed_all(model: &Model, texts: &[&str]) -> Embeddings {
    let mut decided = Vec::with_capacity(texts.len());
    let embedder = match embedder(model) {
        Ok(embedder) => embedder,
        Err(reason) => return Embeddings { decided, trouble: Some(reason) },
    };
    let size = embedder.batch();
    for (number, batch) in texts.chunks(size).enumerate() {
        let ended =
            embed_each(&*embedder, batch, &interrupted, &|found| vectors(model, found), &mut |some| {
                decided.extend(some.into_iter().map(|(place, outcome)| (number * size + place, outcome)));
            });
        if let Err(undecided) = ended {
            return Embeddings { decided, trouble: Some(told(undecided.fault)) };
        }
    }
    Embeddings { decided, trouble: None }
}

/// Vectors of a model, out of what a provider sent.
pub fn vectors(model: &Model, embedded: crate::embed::Embedded) -> Result<Vec<Vector>, String> {
    embedded?
        .iter()
        .map(|window| Vector::new(window, model.dimensions).map_err(|fault| format!("the vector {fault}")))
        .collect()
}
