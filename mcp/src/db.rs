//! The connections, and the statements that run on them.

use crate::arguments::Arguments;
use crate::options::Options;
use crate::outcome::{Failure, Refusal};
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts,
};
use std::future::Future;
use std::time::Duration;
use tokio_postgres::types::ToSql;
use tokio_postgres::{NoTls, Row};

/// Runs a tool: its answer as JSON in the specification's order of keys, and as the text asked for.
const CALL: &str = "\
with answer as materialized (select me.mcp_call($1::text, $2::text::jsonb) as value)
select me.format(value, 'json'), case when $3::text is not null then me.format(value, $3::text) end from answer";

const TOOLS: &str = "select me.mcp_tools($1::text)::text";

const PREPARE: &str = "\
select set_config('statement_timeout', $1::text, false),
       set_config('me.space', $2::text, false),
       set_config('me.space_locked', $3::text, false)";

/// What a statement may be given.
pub type Parameter<'a> = &'a (dyn ToSql + Sync);

/// An answer of a tool.
pub struct Answer {
    /// JSON.
    pub json: String,
    /// The text for the model, unless JSON was asked for.
    pub text: Option<String>,
}

/// The database, through a bounded number of connections.
pub struct Database {
    pool: Pool,
    timeout: Duration,
}

impl Database {
    /// Connects nothing yet: a server that is down now may be up at the first call.
    pub fn new(options: &Options) -> Result<Self, String> {
        let manager = Manager::from_config(
            options.config.clone(),
            NoTls,
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
                    let locked = if space.is_some() { "on" } else { "off" };
                    let parameters: [Parameter; 3] =
                        [&statement_timeout, &space.unwrap_or_default(), &locked];
                    client.query_one(PREPARE, &parameters).await.map_err(HookError::Backend)?;
                    Ok(())
                })
            }))
            .build()
            .map_err(|error| format!("no connections: {error}"))?;
        Ok(Self { pool, timeout: options.timeout })
    }

    /// The definitions of the tools, a JSON array.
    pub async fn tools(&self, toolset: Option<&str>) -> Result<String, Failure> {
        let row = self.query_again_if_dead(TOOLS, &[&toolset]).await?;
        value(&row, 0)
    }

    /// Runs a tool. One that only reads is run again, once, when its connection turns out to be dead (MCP-8).
    /// A call whose client has cancelled it is stopped in the database as well.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &Arguments,
        text: Option<&str>,
        reads: bool,
        cancelled: impl Future<Output = ()>,
    ) -> Result<Answer, Failure> {
        let parameters: [Parameter; 3] = [&tool, &&*arguments.0, &text];
        let mut cancelled = std::pin::pin!(cancelled);
        let row = match self.query(CALL, &parameters, cancelled.as_mut()).await {
            Err(Failure::Unavailable(_)) if reads => self.query(CALL, &parameters, cancelled).await?,
            other => other?,
        };
        Ok(Answer { json: value(&row, 0)?, text: value(&row, 1)? })
    }

    async fn query_again_if_dead(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Row, Failure> {
        match self.query(sql, parameters, std::future::pending()).await {
            Err(Failure::Unavailable(_)) => self.query(sql, parameters, std::future::pending()).await,
            other => other,
        }
    }

    async fn query(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
        cancelled: impl Future<Output = ()>,
    ) -> Result<Row, Failure> {
        let mut cancelled = std::pin::pin!(cancelled);
        let client = tokio::select! {
            client = self.pool.get() => client.map_err(|error| self.not_connected(error))?,
            () = &mut cancelled => return Err(Failure::Cancelled),
        };
        let work = async {
            let statement = client.prepare_cached(sql).await?;
            client.query_one(&statement, parameters).await
        };
        let stopped = tokio::select! {
            result = work => return result.map_err(|error| self.failed(client, error)),
            () = cancelled => Failure::Cancelled,
            // The server's own limit comes first; this one is for a server that does not answer at all.
            () = tokio::time::sleep(self.timeout + Duration::from_secs(2)) => Failure::TooSlow,
        };
        // The connection is in the middle of something: it is given up, and the server told to stop.
        let token = client.cancel_token();
        drop(Object::take(client));
        let _ = tokio::time::timeout(Duration::from_secs(2), token.cancel_query(NoTls)).await;
        Err(stopped)
    }

    fn not_connected(&self, error: PoolError) -> Failure {
        match error {
            PoolError::Timeout(_) => Failure::Unavailable("no connection became free in time".into()),
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                match error.as_db_error() {
                    Some(refusal) => Failure::Unavailable(refusal.message().to_owned()),
                    None => Failure::Unavailable(chain(&error)),
                }
            }
            other => Failure::Unavailable(other.to_string()),
        }
    }

    fn failed(&self, client: Object, error: tokio_postgres::Error) -> Failure {
        let failure = match error.as_db_error().map(Refusal::from) {
            Some(refusal) if refusal.ends_connection() => Failure::Unavailable(refusal.message),
            Some(refusal) => return Failure::Refused(Box::new(refusal)),
            None if error.is_closed() || client.is_closed() => Failure::Unavailable(chain(&error)),
            None => return Failure::Internal(chain(&error)),
        };
        // Its brothers are of the same server: the next call makes a new one.
        drop(Object::take(client));
        self.pool.retain(|_, _| false);
        failure
    }
}

fn value<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Failure> {
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
