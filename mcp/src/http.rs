//! The protocol over HTTP (Streamable HTTP, without sessions): every request brings an API key, and runs as whoever
//! holds it.

use crate::arguments::lift;
use crate::db::{Asker, Database, Key};
use crate::log;
use crate::options::{Listen, Options};
use crate::outcome::{Failure, Refusal};
use crate::server::MemoryServer;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER, TRANSFER_ENCODING, WWW_AUTHENTICATE,
};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Where the protocol is spoken.
const PATH: &str = "/mcp";

/// A client that is slower than this with its headers or its body, or than a call may take, is let go.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most connections at once.
const CONNECTIONS: usize = 1024;

const AUTHENTICATE: &str = "select me.api_key_authenticate($1::text)::text";

const SET_UP: &str = "\
The role that this server connects as has to be a gateway. A superuser makes it one:
    select me.gateway_add('ROLE'); grant execute on function me.api_key_authenticate to \"ROLE\";";

type Answer = Response<BoxBody<Bytes, Infallible>>;

struct Gateway {
    database: Arc<Database>,
    protocol: StreamableHttpService<MemoryServer, NeverSessionManager>,
    limits: Limits,
    max_body: usize,
    deadline: Duration,
    patience: Duration,
}

/// Serves until the process is told to stop.
pub async fn serve(server: MemoryServer, options: &Options, listen: &Listen) -> Result<(), String> {
    let database = server.database();
    check(&database).await?;
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(listen.max_body)
        .with_allowed_hosts(
            ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter().chain(listen.hosts.clone()),
        )
        .with_allowed_origins(listen.origins.iter().map(|origin| with_port(origin)))
        .enforce_origin_validation();
    let gateway = Arc::new(Gateway {
        database,
        protocol: StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config),
        limits: Limits::new(listen.calls_per_key),
        max_body: listen.max_body,
        deadline: options.timeout + Duration::from_secs(5),
        patience: PATIENCE.min(options.timeout),
    });
    let listener = TcpListener::bind(listen.address)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", listen.address))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    log::line(&format!("listening on http://{address}{PATH}"));
    if !address.ip().is_loopback() {
        log::line("keys travel unencrypted: put a proxy with TLS in front when others can listen");
    }
    accept(gateway, listener).await
}

/// An origin with its port: the SDK takes one without for any port.
fn with_port(origin: &str) -> String {
    let origin = origin.trim_end_matches('/');
    let port = match origin.split_once("://") {
        Some(("https", host)) if !has_port(host) => ":443",
        Some(("http", host)) if !has_port(host) => ":80",
        _ => "",
    };
    format!("{origin}{port}")
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Looks whether the server's role may prove keys. A database that does not answer may come.
async fn check(database: &Database) -> Result<(), String> {
    match prove(database, &Key::new("")).await {
        Err(Denied::NotValid) | Ok(_) => Ok(()),
        Err(Denied::Failed(failure @ Failure::Refused(_))) => Err(format!("{}\n{SET_UP}", failure.text())),
        Err(Denied::Failed(failure)) => {
            log::line(&failure.text());
            Ok(())
        }
    }
}

async fn accept(gateway: Arc<Gateway>, listener: TcpListener) -> Result<(), String> {
    let (open, room) = (GracefulShutdown::new(), Arc::new(Semaphore::new(CONNECTIONS)));
    let mut stop = std::pin::pin!(told_to_stop());
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, for one: others end and make room.
                    log::line(&format!("a connection was not taken: {error}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        let gateway = Arc::clone(&gateway);
        let patience = gateway.patience;
        let service = service_fn(move |request| {
            let gateway = Arc::clone(&gateway);
            async move { Ok::<_, Infallible>(gateway.answer(request, peer).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(patience)
            .serve_connection(TokioIo::new(stream), service);
        let connection = open.watch(connection);
        tokio::spawn(async move {
            // A client that hangs up is no event.
            let _ = connection.await;
            drop(permit);
        });
    }
    let _ = tokio::time::timeout(Duration::from_secs(10), open.shutdown()).await;
    Ok(())
}

async fn told_to_stop() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut terminated) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = interrupted => {}
            _ = terminated.recv() => {}
        }
        return;
    }
    let _ = interrupted.await;
}

/// Why a request goes no further.
enum Denied {
    NotValid,
    Failed(Failure),
}

/// Proves a key; its id.
async fn prove(database: &Database, key: &Key) -> Result<String, Denied> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Proven {
        key_id: String,
    }
    let row =
        database.read_row(&Asker::default(), AUTHENTICATE, &[&key.proof()]).await.map_err(|failure| {
            match failure {
                Failure::Refused(refusal) if is_about_the_key(&refusal) => Denied::NotValid,
                other => Denied::Failed(other),
            }
        })?;
    let text: String = crate::db::value(&row, 0).map_err(Denied::Failed)?;
    let proven: Proven = serde_json::from_str(&text).map_err(|error| {
        Denied::Failed(Failure::Internal(format!("a key was proven in other words: {error}")))
    })?;
    Ok(proven.key_id)
}

/// A refusal names the action when it is the gateway that may not; a key that does not count has no particulars.
fn is_about_the_key(refusal: &Refusal) -> bool {
    refusal.sqlstate == "42501"
        && refusal.detail.contains_key("code")
        && !refusal.detail.contains_key("action")
}

impl Gateway {
    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Answer {
        // Where such a message ends is told by one server thus and by another otherwise: what follows it is not read.
        let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
        if codings.next().is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
            || codings.next().is_some()
        {
            let mut answer = plain(StatusCode::BAD_REQUEST, "Transfer-Encoding may be chunked, once.");
            answer.headers_mut().insert(CONNECTION, http::HeaderValue::from_static("close"));
            return answer;
        }
        if request.uri().path() != PATH {
            return plain(StatusCode::NOT_FOUND, "The protocol is spoken at /mcp.");
        }
        // One of two could be what is checked, and the other what counts further on.
        if [HOST, ORIGIN].iter().any(|name| request.headers().get_all(name).iter().nth(1).is_some()) {
            return plain(StatusCode::BAD_REQUEST, "Host and Origin may stand in a request once.");
        }
        let Some(key) = bearer(&request) else {
            return unauthorized();
        };
        let id = match prove(&self.database, &key).await {
            Ok(id) => id,
            Err(Denied::NotValid) => return unauthorized(),
            Err(Denied::Failed(failure)) => {
                log::line(&format!("a request from {} could not be judged: {}", peer.ip(), failure.text()));
                return plain(StatusCode::SERVICE_UNAVAILABLE, "The database cannot be reached. Try again.");
            }
        };
        let Some(_permit) = self.limits.take(&id) else {
            let mut answer = plain(StatusCode::TOO_MANY_REQUESTS, "This key has too many requests at once.");
            answer.headers_mut().insert(RETRY_AFTER, http::HeaderValue::from_static("1"));
            return answer;
        };
        let request = match tokio::time::timeout(self.patience, self.read(request, key)).await {
            Ok(Ok(request)) => request,
            Ok(Err(answer)) => return *answer,
            Err(_) => return plain(StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time."),
        };
        match tokio::time::timeout(self.deadline, self.protocol.handle(request)).await {
            Ok(answer) => answer,
            Err(_) => plain(StatusCode::GATEWAY_TIMEOUT, "The call took too long and was stopped."),
        }
    }

    /// The request with its whole body, from which the arguments of a call have been lifted.
    async fn read(&self, request: Request<Incoming>, key: Key) -> Result<Request<Full<Bytes>>, Box<Answer>> {
        let (mut parts, body) = request.into_parts();
        let body = match Limited::new(body, self.max_body).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let message = format!("The body has more than {} bytes.", self.max_body);
                return Err(Box::new(plain(StatusCode::PAYLOAD_TOO_LARGE, &message)));
            }
            Err(_) => return Err(Box::new(plain(StatusCode::BAD_REQUEST, "The body did not arrive."))),
        };
        parts.headers.remove(AUTHORIZATION);
        parts.extensions.insert(key);
        let body = match std::str::from_utf8(&body).map(lift) {
            Ok((rest, Some(arguments))) => {
                parts.extensions.insert(arguments);
                Bytes::from(rest.into_owned())
            }
            _ => body,
        };
        parts.headers.remove(http::header::CONTENT_LENGTH);
        Ok(Request::from_parts(parts, Full::new(body)))
    }
}

/// The key that a request brings.
fn bearer<B>(request: &Request<B>) -> Option<Key> {
    let mut values = request.headers().get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Key::new(key.trim()))
}

/// No key, a wrong one, one that has expired or was revoked: the same words.
fn unauthorized() -> Answer {
    let mut answer = plain(StatusCode::UNAUTHORIZED, "A valid API key is needed: Authorization: Bearer me.…");
    answer.headers_mut().insert(WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
    answer
}

fn plain(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(format!("{text}\n"))).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

/// How many requests each key has running.
struct Limits {
    most: usize,
    keys: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Limits {
    fn new(most: usize) -> Self {
        Self { most, keys: Mutex::default() }
    }

    fn take(&self, key: &str) -> Option<OwnedSemaphorePermit> {
        let mut keys = self.keys.lock().ok()?;
        // Keys that rest are forgotten, so that their number is bounded by that of the requests.
        keys.retain(|_, room| room.available_permits() < self.most);
        let room = keys.entry(key.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.most)));
        Arc::clone(room).try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_without_a_port_has_that_of_its_scheme() {
        for (origin, expected) in [
            ("https://app.example", "https://app.example:443"),
            ("http://app.example/", "http://app.example:80"),
            ("https://app.example:8443", "https://app.example:8443"),
            ("http://[::1]", "http://[::1]:80"),
            ("http://[::1]:3000", "http://[::1]:3000"),
        ] {
            assert_eq!(with_port(origin), expected);
        }
    }

    #[test]
    fn a_key_comes_as_a_bearer() {
        let of = |value: &str| {
            let request = Request::builder().header(AUTHORIZATION, value).body(()).unwrap();
            bearer(&request).map(|key| key.proof().to_owned())
        };
        let proof = Some(Key::new("me.a.b").proof().to_owned());
        assert_eq!(of("Bearer me.a.b"), proof);
        assert_eq!(of("bearer  me.a.b "), proof);
        assert_eq!(of("Basic bWU6"), None);
        assert_eq!(of("me.a.b"), None);
        assert!(bearer(&Request::new(())).is_none());
    }

    #[test]
    fn a_key_has_a_number_of_requests_at_once() {
        let limits = Limits::new(2);
        let first = limits.take("a").unwrap();
        let _second = limits.take("a").unwrap();
        assert!(limits.take("a").is_none());
        assert!(limits.take("b").is_some());
        drop(first);
        assert!(limits.take("a").is_some());
        assert_eq!(limits.keys.lock().unwrap().len(), 1, "keys that rest are forgotten");
    }
}
