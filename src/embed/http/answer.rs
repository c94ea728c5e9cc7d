//! What came back.

use super::{ANSWER_BYTES, Endpoint, agent, retry_after};
use crate::embed::Embedded;
use serde::Deserialize;
use std::io::ErrorKind;
use std::time::{Duration, SystemTime};

/// The outcome of one request.
pub enum Answer {
    /// A success with a body.
    Body(Vec<u8>),
    /// Another status, what it says about waiting, and the provider's own message.
    Status {
        /// The number.
        code: u16,
        /// How long to wait.
        after: Option<Duration>,
        /// Out of the body.
        message: String,
    },
    /// The request did not get to the provider.
    Unreachable(String),
    /// It got there, and no whole answer came.
    Broken(String),
}

#[derive(Deserialize)]
struct Success {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f64>,
}

/// Sends a request and reads the answer.
pub fn fetch(endpoint: &Endpoint, body: &[u8]) -> Answer {
    let mut request = agent()
        .post(&endpoint.url)
        .config()
        .timeout_global(Some(endpoint.timeout))
        .build()
        .header("content-type", "application/json")
        .header("accept", "application/json");
    if let Some(key) = &endpoint.key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let response = match request.send(body) {
        Ok(response) => response,
        Err(error) => return failure(&error),
    };
    let code = response.status().as_u16();
    let header =
        |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (millis, after) = (header("retry-after-ms"), header("retry-after"));
    let read = response.into_body().into_with_config().limit(ANSWER_BYTES).read_to_vec();
    if (200..300).contains(&code) {
        return match read {
            Ok(body) => Answer::Body(body),
            Err(error) => failure(&error),
        };
    }
    Answer::Status {
        code,
        after: retry_after::parse(millis.as_deref(), after.as_deref(), SystemTime::now()),
        message: read.map(|body| message(&body)).unwrap_or_default(),
    }
}

/// In words of our own: the library's name addresses.
fn failure(error: &ureq::Error) -> Answer {
    use ureq::{Error, Timeout};
    let refused = |kind| {
        matches!(
            kind,
            ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable
        )
    };
    match error {
        Error::HostNotFound => Answer::Unreachable("the provider's host is not known".into()),
        Error::ConnectionFailed => Answer::Unreachable("the provider cannot be reached".into()),
        Error::Io(error) if refused(error.kind()) => {
            Answer::Unreachable("the provider refuses connections".into())
        }
        Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            Answer::Unreachable("the provider cannot be reached in time".into())
        }
        Error::Tls(_) | Error::Rustls(_) | Error::Pem(_) => {
            Answer::Unreachable("no secure connection to the provider".into())
        }
        Error::BadUri(_) | Error::RequireHttpsOnly(_) => {
            Answer::Unreachable("the provider's address is not valid".into())
        }
        Error::Timeout(_) => Answer::Broken("the provider did not answer in time".into()),
        Error::BodyExceedsLimit(_) => Answer::Broken("the provider's answer is too long".into()),
        _ => Answer::Broken("the provider's answer broke off".into()),
    }
}

/// The message inside an error's body: `{"error": {"message": …}}`, `{"error": …}` or `{"message": …}`.
fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Told {
        Text(String),
        Nested { message: String },
    }
    #[derive(Deserialize)]
    struct Body {
        error: Option<Told>,
        message: Option<String>,
    }
    let Ok(body) = serde_json::from_slice::<Body>(body) else { return String::new() };
    match body.error {
        Some(Told::Text(message) | Told::Nested { message }) => message,
        None => body.message.unwrap_or_default(),
    }
}

/// The vectors of an answer, in the order of the texts: items may come in any order. Where some are missing, or two are for
/// one text, nobody knows whose the others are, whatever their numbers say.
pub fn vectors(body: &[u8], count: usize) -> Result<Vec<Embedded>, String> {
    let success: Success = serde_json::from_slice(body)
        .map_err(|_| "the provider's answer is not a list of vectors".to_owned())?;
    if success.data.len() != count {
        return Err(format!("the provider sent {} vectors for {count} texts", success.data.len()));
    }
    let numbered = success.data.iter().any(|item| item.index.is_some());
    let mut found: Vec<Option<Vec<f32>>> = vec![None; count];
    for (place, item) in success.data.into_iter().enumerate() {
        let place = if numbered { item.index } else { Some(place) };
        match place.and_then(|place| found.get_mut(place)) {
            Some(slot @ None) => *slot = Some(item.embedding.iter().map(|number| *number as f32).collect()),
            _ => return Err("the provider's vectors are not numbered one for each text".into()),
        }
    }
    // As many as texts, no two in one place: none is missing.
    Ok(found.into_iter().map(|vector| Ok(vec![vector.unwrap_or_default()])).collect())
}
