//! The connections, and the statements that run on them.

use crate::options::Options;
use crate::outcome::{Failure, Refusal};
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts,
};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::sync::CancellationToken;

/// Runs a tool: its answer as JSON in the specification's order of keys, and as the text asked for.
const CALL: &str = "\
with answer as materialized (select me.mcp_call($1::text, $2::text::jsonb) as value)
select me.format(value, 'json'), case when $3::text is not null then me.format(value, $3::text) end from answer";

const TOOLS: &str = "select me.mcp_tools($1::text)::text";

const TIMEOUT: &str = "select set_config('statement_timeout', $1::text, false)";

const LOCK: &str =
    "select set_config('me.space', $1::text, false), set_config('me.space_locked', 'on', false)";

/// What a statement may be given.
pub type Parameter<'a> = &'a (dyn ToSql + Sync);

/// An answer of a tool.
pub struct Answer {
    /// JSON.
    pub json: String,
    /// The text for the model, when one was asked for.
    pub text: Option<String>,
}

const AUTHENTICATE: &str = "select me.api_key_authenticate($1::text)";

/// What proves an API key. The secret itself stays here: a database may log what it is given.
#[derive(Clone)]
pub struct Key(Arc<str>);

impl Key {
    /// Of the text that a request brings, whatever that is: one that is no key proves none.
    pub fn new(text: &str) -> Self {
        let (lookup, secret) =
            text.strip_prefix("me.").and_then(|rest| rest.split_once('.')).unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let lookup = if lookup.len() <= 16 && lookup.bytes().all(is_plain) { lookup } else { "" };
        let digest = Sha256::digest(secret.as_bytes());
        let hex = digest.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        Self(format!("me.{lookup}.sha256:{hex}").into())
    }

    /// As the database takes it.
    pub fn proof(&self) -> &str {
        &self.0
    }
}

/// On whose behalf a statement runs.
#[derive(Clone, Default)]
pub struct Asker {
    /// The key of whoever asks; without one the server's own role does.
    pub key: Option<Key>,
    /// Ends when the answer is not wanted any more: then the statement is stopped, in the database as well.
    pub stop: CancellationToken,
}

/// The database, through a bounded number of connections.
pub struct Database {
    pool: Pool,
    tls: MakeRustlsConnect,
    timeout: Duration,
}

impl Database {
    /// Connects nothing yet: a server that is down now may be up at the first call.
    pub fn new(options: &Options) -> Result<Self, String> {
        let manager = Manager::from_config(
            options.config.clone(),
            options.tls.clone(),
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let space = options.space.clone();
        let statement_timeout = options.timeout.as_millis().to_string();
        let pool = Pool::builder(manager)
            .max_size(options.connections)
            .runtime(Runtime::Tokio1)
            .timeouts(Timeouts {
                wait: Some(options.timeout),
                create: Some(options.timeout.min(Duration::from_secs(15))),
                recycle: Some(Duration::from_secs(5)),
            })
            .post_create(Hook::async_fn(move |client, _| {
                let (space, statement_timeout) = (space.clone(), statement_timeout.clone());
                Box::pin(async move {
                    client.query_one(TIMEOUT, &[&statement_timeout]).await.map_err(HookError::Backend)?;
                    if let Some(space) = space {
                        client.query_one(LOCK, &[&space]).await.map_err(HookError::Backend)?;
                    }
                    Ok(())
                })
            }))
            .build()
            .map_err(|error| format!("no connections: {error}"))?;
        Ok(Self { pool, tls: options.tls.clone(), timeout: options.timeout })
    }

    /// The definitions of the tools, a JSON array.
    pub async fn tools(&self, toolset: Option<&str>) -> Result<String, Failure> {
        value(&self.read_row(&Asker::default(), TOOLS, &[&toolset]).await?, 0)
    }

    /// Runs a tool that may write.
    pub async fn call(
        &self,
        asker: &Asker,
        tool: &str,
        arguments: &str,
        text: Option<&str>,
    ) -> Result<Answer, Failure> {
        Answer::of(&one(self.rows(asker, CALL, &[&tool, &arguments, &text]).await?)?)
    }

    /// Runs a tool that only reads: once more when its connection turns out to be dead (MCP-8).
    pub async fn read(
        &self,
        asker: &Asker,
        tool: &str,
        arguments: &str,
        text: Option<&str>,
    ) -> Result<Answer, Failure> {
        Answer::of(&self.read_row(asker, CALL, &[&tool, &arguments, &text]).await?)
    }

    /// The one row of a statement that only reads.
    pub async fn read_row(
        &self,
        asker: &Asker,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Row, Failure> {
        one(self.read_rows(asker, sql, parameters).await?)
    }

    /// The rows of a statement that only reads.
    pub async fn read_rows(
        &self,
        asker: &Asker,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        match self.rows(asker, sql, parameters).await {
            Err(Failure::Unavailable(_)) => self.rows(asker, sql, parameters).await,
            other => other,
        }
    }

    /// The rows of a statement.
    pub async fn rows(
        &self,
        asker: &Asker,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let mut client = tokio::select! {
            client = self.pool.get() => client.map_err(not_connected)?,
            () = asker.stop.cancelled() => return Err(Failure::Cancelled),
        };
        let token = client.cancel_token();
        let stopped = tokio::select! {
            result = run(&mut client, asker.key.as_ref(), sql, parameters) => {
                return result.map_err(|error| self.failed(client, &error));
            }
            () = asker.stop.cancelled() => Failure::Cancelled,
            // The server's own limit comes first; this one is for a server that does not answer at all.
            () = tokio::time::sleep(self.timeout + Duration::from_secs(2)) => Failure::TooSlow,
        };
        // The connection is in the middle of something: it is given up, and the server told to stop.
        drop(Object::take(client));
        let _ = tokio::time::timeout(Duration::from_secs(2), token.cancel_query(self.tls.clone())).await;
        Err(stopped)
    }

    fn failed(&self, client: Object, error: &tokio_postgres::Error) -> Failure {
        let failure = match error.as_db_error().map(Refusal::from) {
            Some(refusal) if refusal.ends_connection() => Failure::Unavailable(refusal.message),
            Some(refusal) => return Failure::Refused(Box::new(refusal)),
            None if error.is_closed() || client.is_closed() => Failure::Unavailable(chain(error)),
            None => return Failure::Internal(chain(error)),
        };
        // The others are of the same server: the next call makes a new one.
        drop(Object::take(client));
        self.pool.retain(|_, _| false);
        failure
    }
}

/// Runs a statement: with a key in a transaction of its own, which the key's holder lasts no longer than.
async fn run(
    client: &mut Object,
    key: Option<&Key>,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let statement = client.prepare_cached(sql).await?;
    let Some(key) = key else {
        return client.query(&statement, parameters).await;
    };
    let authenticate = client.prepare_cached(AUTHENTICATE).await?;
    // Dropped before its end, it is rolled back before anything else runs on the connection.
    let transaction = client.transaction().await?;
    transaction.query(&authenticate, &[&key.proof()]).await?;
    let rows = transaction.query(&statement, parameters).await?;
    transaction.commit().await?;
    Ok(rows)
}

impl Answer {
    fn of(row: &Row) -> Result<Self, Failure> {
        Ok(Self { json: value(row, 0)?, text: value(row, 1)? })
    }
}

fn not_connected(error: PoolError) -> Failure {
    Failure::Unavailable(match error {
        PoolError::Timeout(_) => "no connection became free in time".into(),
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            error.as_db_error().map_or_else(|| chain(&error), |refusal| refusal.message().to_owned())
        }
        other => other.to_string(),
    })
}

fn one(rows: Vec<Row>) -> Result<Row, Failure> {
    rows.into_iter().next().ok_or_else(|| Failure::Internal("the database answered without a row".into()))
}

/// A column of a row.
pub fn value<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Failure> {
    row.try_get(column).map_err(|error| Failure::Internal(chain(&error)))
}

/// An error with its causes: what the driver says first is often only that something failed.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text = format!("{text}: {next_text}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_secret_goes_on() {
        let digest = |proof: &Key| proof.proof().split_once(".sha256:").map(|(_, hex)| hex.len());
        let key = Key::new("me.abcdefghijklmnop.secret");
        assert_eq!(
            key.proof(),
            "me.abcdefghijklmnop.sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
        );
        for text in ["", "secret", "me.secret", "me.a'b.secret", "me.secret-that-stands-in-the-wrong-place.x"]
        {
            let key = Key::new(text);
            assert_eq!(digest(&key), Some(64), "{text}");
            assert!(!key.proof().contains("secret"), "{text}");
        }
        // What the database was given is no key.
        assert_ne!(Key::new(key.proof()).proof(), key.proof());
    }
}
