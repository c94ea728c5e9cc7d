//! Endpoints of the OpenAI protocol: `POST {base}/embeddings` (EMB-24).
//!
//! The request runs on a thread of its own, so that the caller can stop waiting at any moment.

mod answer;
mod retry_after;

use super::{Embedded, Embedder, Fault};
use crate::domain::{limits, utf16};
use answer::Answer;
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use ureq::Agent;

/// Below this an endpoint that still finds a window too long means something else.
const SMALLEST_WINDOW: usize = 1_500;
/// Most units of one request.
const REQUEST_UNITS: usize = 400_000;
/// Longest answer that is read, in bytes.
const ANSWER_BYTES: u64 = 64 * 1024 * 1024;
/// How long an endpoint may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How often a waiting caller looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// An endpoint, and how it is asked.
#[derive(Clone)]
pub struct Endpoint {
    /// The address of the embeddings call.
    pub url: String,
    /// The name the endpoint knows the model by.
    pub model: String,
    /// The key, if it wants one. It goes into the request's header and nowhere else.
    pub key: Option<String>,
    /// The length of vectors to ask for, if the endpoint is to be asked.
    pub dimensions: Option<usize>,
    /// How long a request may take in all.
    pub timeout: Duration,
    /// Most texts of one request.
    pub batch: usize,
    /// Longest window of a text, in UTF-16 units, before the endpoint has said that it is too long.
    pub window: usize,
}

/// The address of the embeddings call below a base address; `/v1` is added where only a host is named.
pub fn embeddings_url(base: &str) -> String {
    let base = base.trim_end_matches('/');
    if base.ends_with("/embeddings") {
        return base.to_owned();
    }
    let host_only = base.split_once("://").is_none_or(|(_, rest)| !rest.contains('/'));
    format!("{base}{}/embeddings", if host_only { "/v1" } else { "" })
}

#[derive(serde::Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

impl Endpoint {
    /// Sends texts; the vectors that came, in the texts' order.
    fn ask(&self, texts: &[&str], interrupted: &dyn Fn() -> bool) -> Result<Vec<Embedded>, Refusal> {
        let request = Request { model: &self.model, input: texts, dimensions: self.dimensions };
        let body = serde_json::to_vec(&request).map_err(|error| {
            Refusal::Fault(Fault::Failed(format!("the request cannot be written: {error}")))
        })?;
        let endpoint = self.clone();
        let (tell, told) = channel();
        let started = spawn_deaf(move || {
            // Whoever asked may have gone.
            let _ = tell.send(answer::fetch(&endpoint, &body));
        });
        started.map_err(|error| {
            Refusal::Fault(Fault::Unavailable(format!("no thread could be started: {error}")))
        })?;
        loop {
            match told.recv_timeout(LOOK) {
                Ok(answer) => return self.read(answer, texts),
                Err(RecvTimeoutError::Timeout) if interrupted() => {
                    return Err(Refusal::Fault(Fault::Interrupted));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Refusal::Fault(Fault::Failed("the request ended without an answer".into())));
                }
            }
        }
    }

    fn read(&self, answer: Answer, texts: &[&str]) -> Result<Vec<Embedded>, Refusal> {
        match answer {
            Answer::Body(body) => {
                answer::vectors(&body, texts.len()).map_err(|reason| Refusal::Fault(Fault::Failed(reason)))
            }
            Answer::Status { code, after, message } => {
                let said = self.said(code, &message, texts);
                Err(match code {
                    400 | 413 | 422 => Refusal::TooLong(said),
                    429 => Refusal::Fault(Fault::RateLimited(after)),
                    503 if after.is_some() => Refusal::Fault(Fault::RateLimited(after)),
                    300..=399 | 401..=404 | 503 => Refusal::Fault(Fault::Unavailable(said)),
                    _ => Refusal::Fault(Fault::Failed(said)),
                })
            }
            Answer::Unreachable(reason) => Err(Refusal::Fault(Fault::Unavailable(reason))),
            Answer::Broken(reason) => Err(Refusal::Fault(Fault::Failed(reason))),
        }
    }

    /// What the endpoint said, as far as it may be repeated: not about keys, and not what we sent it.
    fn said(&self, code: u16, message: &str, texts: &[&str]) -> String {
        const SHOWN: usize = 200;
        const TELLTALE: usize = 16;
        let plain = format!("the provider answered {code}");
        if matches!(code, 300..=399 | 401 | 403) || message.is_empty() {
            return plain;
        }
        let shown: Vec<char> = message.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
        let repeats = |part: String| texts.iter().any(|text| text.contains(&part));
        let secret = self.key.as_deref().is_some_and(|key| message.contains(key));
        if secret || shown.windows(TELLTALE).any(|part| repeats(part.iter().collect())) {
            return plain;
        }
        format!("{plain}: {}", shown.into_iter().collect::<String>())
    }

    /// Embeds windows in requests of bounded size.
    fn ask_all(&self, windows: &[&str], interrupted: &dyn Fn() -> bool) -> Result<Vec<Embedded>, Refusal> {
        let mut found = Vec::with_capacity(windows.len());
        let mut rest = windows;
        while !rest.is_empty() {
            let mut units = 0;
            let fitting = rest
                .iter()
                .take(self.batch)
                .take_while(|window| {
                    units += utf16::len(window);
                    units <= REQUEST_UNITS
                })
                .count()
                .max(1);
            let (now, later) = rest.split_at(fitting);
            found.extend(self.ask(now, interrupted)?);
            rest = later;
        }
        Ok(found)
    }

    /// One text: where the endpoint finds it too long, in smaller windows.
    fn embed_alone(&self, text: &str, interrupted: &dyn Fn() -> bool) -> Result<Embedded, Fault> {
        let mut size = self.window.min(utf16::len(text));
        loop {
            let windows = windows(text, size);
            match self.ask_all(&windows, interrupted) {
                Ok(found) => return Ok(found.into_iter().map(one).collect()),
                Err(Refusal::Fault(fault)) => return Err(fault),
                Err(Refusal::TooLong(said)) if size <= SMALLEST_WINDOW => return Ok(Err(said)),
                Err(Refusal::TooLong(_)) => size = (size / 2).max(SMALLEST_WINDOW),
            }
        }
    }
}

/// The one vector of a window.
fn one(window: Embedded) -> Result<Vec<f32>, String> {
    window.and_then(|mut vectors| vectors.pop().ok_or_else(|| "the provider sent no vector".to_owned()))
}

/// Why a request has no vectors.
enum Refusal {
    /// The endpoint refused the texts, most likely for their length.
    TooLong(String),
    Fault(Fault),
}

/// The overlapping windows of a text, each of at most `size` units.
fn windows(text: &str, size: usize) -> Vec<&str> {
    let overlap = size / 12;
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let window = utf16::prefix(rest, size);
        found.push(window);
        if window.len() == rest.len() || window.is_empty() || found.len() == limits::WINDOWS {
            return found;
        }
        let step = utf16::prefix(window, size - overlap);
        rest = &rest[step.len().max(1)..];
    }
}

impl Embedder for Endpoint {
    fn embed(&self, texts: &[&str], interrupted: &dyn Fn() -> bool) -> Result<Vec<Embedded>, Fault> {
        if let [text] = texts {
            return Ok(vec![self.embed_alone(text, interrupted)?]);
        }
        let mut parts = Vec::with_capacity(texts.len());
        let mut all = Vec::new();
        for text in texts {
            let start = all.len();
            all.extend(windows(text, self.window));
            parts.push(start..all.len());
        }
        match self.ask_all(&all, interrupted) {
            Ok(mut found) => Ok(parts
                .into_iter()
                .map(|part| {
                    found[part]
                        .iter_mut()
                        .map(|window| one(std::mem::replace(window, Ok(Vec::new()))))
                        .collect()
                })
                .collect()),
            // Which text it was shows when each is sent alone.
            Err(Refusal::TooLong(said)) => Err(Fault::Failed(said)),
            Err(Refusal::Fault(fault)) => Err(fault),
        }
    }

    fn embed_query(&self, text: &str, interrupted: &dyn Fn() -> bool) -> Result<Vec<f32>, Fault> {
        let vectors = self.embed_alone(text, interrupted)?.map_err(Fault::Failed)?;
        vectors.into_iter().next().ok_or_else(|| Fault::Failed("the provider sent no vector".into()))
    }

    fn batch(&self) -> usize {
        self.batch
    }
}

/// One pool of connections for the process.
fn agent() -> &'static Agent {
    static AGENT: OnceLock<Agent> = OnceLock::new();
    AGENT.get_or_init(|| {
        Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would take the key and the texts elsewhere.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("memory_engine/", env!("CARGO_PKG_VERSION")))
            .build()
            .into()
    })
}

/// Starts a thread that gets no signals: those of a server process are for its main thread.
fn spawn_deaf(body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    // SAFETY: plain calls with sets on this stack. A thread inherits the mask it is started under; ours is put back.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let started = std::thread::Builder::new().name("memory_engine http".into()).spawn(body);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        started.map(|_| ())
    }
}

#[cfg(test)]
mod tests;
