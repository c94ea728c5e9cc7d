//! `me.embedding_*`: models, and the queue protocol of workers outside the server.

use super::memory::id_argument;
use super::{given, required, result};
use crate::domain::embedding::{
    Claim, Dimensions, Model, ModelName, ModelOptions, Provider, Query, Seconds, parse_pending_limit,
};
use crate::domain::id::Id;
use crate::error::{Error, Forbidden, Result};
use crate::store::caller::{self, Intent};
use crate::store::embedding::{self as store};
use crate::store::embedding::{queue, sync};
use crate::store::jsonb::Jsonb;
use crate::store::session;
use crate::{guc, provider};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// How long entries with an outcome are kept when the caller does not say (EMB-16).
const RETENTION_SECONDS: f64 = 7.0 * 86_400.0;

fn add(
    name: Option<&str>,
    provider: Option<&str>,
    dimensions: Option<i32>,
    options: Option<Jsonb>,
) -> Answer {
    let (model, options) = parse_model(name, provider, dimensions, given(options))?;
    caller::call(Intent::Manage, |caller| {
        if model.options.reaches_out() && !caller.is_superuser() {
            // Where texts go, with the key, and which files are read is not for whoever may add a model.
            return Err(Error::Forbidden(Forbidden::Only {
                action: "give a model a path or url of its own",
                who: "superusers; the settings me.local_model_path and me.embedding_url serve everybody else",
            }));
        }
        store::add(caller, &model, options)
    })?;
    Ok(result(&json!({"added": model.name.as_str()}).to_string())?)
}

fn parse_model(
    name: Option<&str>,
    provider: Option<&str>,
    dimensions: Option<i32>,
    options: Option<Jsonb>,
) -> Result<(Model, Jsonb)> {
    let name = ModelName::parse("name", required("name", name)?)?;
    let provider = Provider::parse("provider", required("provider", provider)?)?;
    let dimensions = Dimensions::parse("dimensions", required("dimensions", dimensions)?)?;
    let text = options.map_or_else(|| "{}".to_owned(), Jsonb::text);
    let model =
        Model { name, provider, dimensions, options: ModelOptions::parse("options", provider, &text)? };
    Ok((model, options.map_or_else(|| result("{}"), Ok)?))
}

fn use_model(name: Option<&str>, space: Option<&str>) -> Answer {
    let name: Result<&str> = required("name", name);
    let name = name?;
    let used = session::serve(space, |session| store::use_model(session, name))?;
    Ok(result(&json!({"model": name, "state": used.state, "queued": used.queued}).to_string())?)
}

fn claim(
    batch: Option<i32>,
    lock: Option<f64>,
    max_attempts: Option<i32>,
    model: Option<&str>,
    space: Option<&str>,
) -> Answer {
    let claim = Claim::parse(batch, lock, max_attempts).map_err(Error::from)?;
    let jobs = session::serve(space, |session| queue::claim(session, &claim, model))?;
    let claimed: Vec<_> = jobs
        .iter()
        .map(|job| {
            json!({
                "queueId": uuid_text(job.id),
                "memoryId": uuid_text(job.memory),
                "contentVersion": job.content_version,
                "model": job.model,
                "attempts": job.attempts,
                "content": job.content,
            })
        })
        .collect();
    Ok(result(&json!({ "claimed": claimed }).to_string())?)
}

fn uuid_text(id: pgrx::Uuid) -> String {
    uuid::Uuid::from_bytes(*id.as_bytes()).to_string()
}

fn needed_id(argument: &str, id: Option<pgrx::Uuid>) -> Result<Id> {
    required(argument, id_argument(argument, id)?)
}

fn complete(
    queue_id: Option<pgrx::Uuid>,
    memory_id: Option<pgrx::Uuid>,
    content_version: Option<i64>,
    vectors: Option<Jsonb>,
    space: Option<&str>,
) -> Answer {
    let entry = needed_id("queue_id", queue_id)?;
    let memory = needed_id("memory_id", memory_id)?;
    let content_version: Result<i64> = required("content_version", content_version);
    let content_version = content_version?;
    let vectors = required("vectors", given(vectors))?.text();
    let outcome =
        session::serve(space, |session| queue::complete(session, entry, memory, content_version, &vectors))?;
    Ok(result(&json!({ "outcome": outcome }).to_string())?)
}

fn fail(queue_id: Option<pgrx::Uuid>, error: Option<&str>, space: Option<&str>) -> Answer {
    let entry = needed_id("queue_id", queue_id)?;
    let error: Result<&str> = required("error", error);
    let error = error?;
    let outcome = session::serve(space, |session| queue::fail(session, entry, error))?;
    Ok(result(&json!({ "outcome": outcome }).to_string())?)
}

fn release(queue_id: Option<pgrx::Uuid>, backoff: Option<f64>, space: Option<&str>) -> Answer {
    let entry = needed_id("queue_id", queue_id)?;
    let backoff =
        Seconds::parse("backoff_seconds", required("backoff_seconds", backoff)?).map_err(Error::from)?;
    let outcome = session::serve(space, |session| queue::release(session, entry, backoff))?;
    Ok(result(&json!({ "outcome": outcome }).to_string())?)
}

fn prune(retention: Option<f64>, space: Option<&str>) -> Answer {
    let retention =
        Seconds::parse("retention_seconds", retention.unwrap_or(RETENTION_SECONDS)).map_err(Error::from)?;
    let pruned = session::serve(space, |session| queue::prune(session, retention))?;
    Ok(result(&json!({ "pruned": pruned }).to_string())?)
}

fn set(id: Option<pgrx::Uuid>, vector: Option<Vec<Option<f32>>>, space: Option<&str>) -> Answer {
    let id = needed_id("id", id)?;
    let vector: Result<Vec<Option<f32>>> = required("vector", vector);
    let vector = vector?;
    session::write(space, |_| Ok(()), |session, ()| store::set_vector(session, id, &vector))?;
    Ok(result(r#"{"stored": true}"#)?)
}

/// How many entries `embed_pending` works on when the caller does not say.
const PENDING_LIMIT: i32 = 100;

fn embed_text(input: Option<&str>, space: Option<&str>) -> std::result::Result<Vec<f32>, ErrorReport> {
    let input: Result<&str> = required("input", input);
    let input = input?;
    let query = Query::parse("input", input).map_err(Error::from)?;
    let model = session::read(space, |_| Ok(()), |session, ()| store::current(session))?
        .ok_or(Error::EmbeddingNotConfigured)?
        .model;
    Ok(provider::embed_query(&model, query.as_str())?.as_slice().to_vec())
}

fn pending(limit: Option<i32>, space: Option<&str>) -> Answer {
    let limit = parse_pending_limit("limit", limit.unwrap_or(PENDING_LIMIT)).map_err(Error::from)?;
    let (mut embedded, mut failed, mut error) = (0, 0, None);
    for (registered, jobs) in session::write(space, |_| Ok(()), |session, ()| sync::waiting(session, limit))?
    {
        let texts: Vec<&str> = jobs.iter().map(|job| job.content.as_str()).collect();
        // No statement and no row lock is open meanwhile (CONC-6).
        let found = provider::embed_all(&registered.model, &texts);
        error = found.trouble.or(error);
        if found.decided.is_empty() {
            continue;
        }
        let most = guc::embedding::max_attempts();
        let (done, gone_wrong) = session::write(
            space,
            |_| Ok(()),
            |session, ()| sync::settle(session, &registered, &jobs, found.decided, most),
        )?;
        embedded += done;
        failed += gone_wrong;
    }
    Ok(result(&json!({"embedded": embedded, "failed": failed, "error": error}).to_string())?)
}

#[pg_extern(stable, parallel_restricted)]
fn embed(
    input: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> std::result::Result<Vec<f32>, ErrorReport> {
    embed_text(input, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embed_pending(limit: default!(Option<i32>, "NULL"), space: default!(Option<&str>, "NULL")) -> Answer {
    pending(limit, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_model_add(
    name: default!(Option<&str>, "NULL"),
    provider: default!(Option<&str>, "NULL"),
    dimensions: default!(Option<i32>, "NULL"),
    options: default!(Option<Jsonb>, "NULL"),
) -> Answer {
    add(name, provider, dimensions, options)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_model_use(
    name: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    use_model(name, space)
}

#[pg_extern(stable, parallel_restricted)]
fn embedding_model_list() -> Answer {
    caller::call(Intent::Read, store::list)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_model_drop(name: default!(Option<&str>, "NULL")) -> Answer {
    let name: Result<&str> = required("name", name);
    let name = name?;
    caller::call(Intent::Manage, |caller| store::drop(caller, name))?;
    Ok(result(r#"{"dropped": true}"#)?)
}

#[pg_extern(stable, parallel_restricted)]
fn embedding_status(space: default!(Option<&str>, "NULL")) -> Answer {
    session::read(space, |_| Ok(()), |session, ()| queue::status(session))
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_claim(
    batch_size: default!(Option<i32>, "NULL"),
    lock_seconds: default!(Option<f64>, "NULL"),
    max_attempts: default!(Option<i32>, "NULL"),
    model: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    claim(batch_size, lock_seconds, max_attempts, model, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_complete(
    queue_id: default!(Option<pgrx::Uuid>, "NULL"),
    memory_id: default!(Option<pgrx::Uuid>, "NULL"),
    content_version: default!(Option<i64>, "NULL"),
    vectors: default!(Option<Jsonb>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    complete(queue_id, memory_id, content_version, vectors, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_fail(
    queue_id: default!(Option<pgrx::Uuid>, "NULL"),
    error: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    fail(queue_id, error, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_release(
    queue_id: default!(Option<pgrx::Uuid>, "NULL"),
    backoff_seconds: default!(Option<f64>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    release(queue_id, backoff_seconds, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_prune(
    retention_seconds: default!(Option<f64>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    prune(retention_seconds, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_retry(space: default!(Option<&str>, "NULL")) -> Answer {
    let queued = session::serve(space, queue::retry)?;
    Ok(result(&json!({ "queued": queued }).to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn embedding_set(
    id: default!(Option<pgrx::Uuid>, "NULL"),
    vector: default!(Option<Vec<Option<f32>>>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    set(id, vector, space)
}
