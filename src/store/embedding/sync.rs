//! Embedding in the caller's own transaction: what it just wrote, or what waits.

use super::background::{Outcome, complete};
use super::queue::{self, Job};
use super::{Registered, find};
use crate::domain::embedding::Provider;
use crate::domain::embedding::Vector;
use crate::embed::fair::Decided;
use crate::error::Result;
use crate::store::session::Session;
use crate::store::spi::{Row, arg};
use crate::{provider, statement};
use pgrx::pg_sys::Datum;

statement!(
    /// What waits for the local models: of some memories.
    OF_MEMORIES,
    ["select q.id, q.memory_id, q.content_version, q.model, q.attempts + 1, m.content
      from me.embedding_queue as q
      join me.embedding_model as e on e.name = q.model and e.provider = 'local'
      join me.memory as m on m.space = q.space and m.id = q.memory_id and m.content_version = q.content_version
      where q.space = $1 and q.memory_id = any ($2) and q.outcome is null
      order by q.model, q.id"],
    [TEXTOID, UUIDARRAYOID]
);
statement!(
    /// What waits for any model that is not the callers' to serve. Nothing is locked: that would last as long as the
    /// provider takes.
    WAITING,
    ["select q.id, q.memory_id, q.content_version, q.model, q.attempts + 1, m.content
      from me.embedding_queue as q
      join me.embedding_model as e on e.name = q.model and e.provider <> 'manual'
      join me.memory as m on m.space = q.space and m.id = q.memory_id and m.content_version = q.content_version
      where q.space = $1 and q.outcome is null and q.vt <= pg_catalog.clock_timestamp()
      order by q.vt, q.id
      limit $2"],
    [TEXTOID, INT4OID]
);

fn job(row: &Row) -> Result<Job> {
    Ok(Job {
        id: row.need(1)?,
        memory: row.need(2)?,
        content_version: row.need(3)?,
        model: row.need(4)?,
        attempts: row.need(5)?,
        content: row.need(6)?,
    })
}

/// Embeds what this transaction has just written, if the session asks for it and a local model is used; whether
/// anything was. What fails stays in the queue: a write never fails because of it (EMB-1).
pub fn after_write(session: &Session, memories: Option<Datum>) -> Result<bool> {
    if !crate::guc::embedding::embed_sync() {
        return Ok(false);
    }
    let jobs: Vec<Job> = session
        .db()
        .run(&OF_MEMORIES, &[arg(session.space()), memories])?
        .into_iter()
        .map(|row| job(&row))
        .collect::<Result<_>>()?;
    let mut embedded = false;
    for of_model in jobs.chunk_by(|a, b| a.model == b.model) {
        let Some(registered) = find(session.db(), &of_model[0].model)? else { continue };
        let texts: Vec<&Job> = of_model.iter().collect();
        for (place, outcome) in provider::embed_all(&registered.model, &contents(&texts)).decided {
            if let Ok(vectors) = outcome {
                embedded |= complete(session, &registered, &of_model[place], &vectors)?.unwrap_or(false);
            }
        }
    }
    Ok(embedded)
}

fn contents<'a>(jobs: &[&'a Job]) -> Vec<&'a str> {
    jobs.iter().map(|job| job.content.as_str()).collect()
}

/// What waits now, at most `limit` entries.
pub fn waiting(session: &Session, limit: i32) -> Result<Vec<(Registered, Vec<Job>)>> {
    let mut models: Vec<(Registered, Vec<Job>)> = Vec::new();
    for row in session.db().run(&WAITING, &[arg(session.space()), arg(limit)])? {
        let job = job(&row)?;
        if let Some((_, jobs)) = models.iter_mut().find(|(known, _)| known.model.name.as_str() == job.model) {
            jobs.push(job);
            continue;
        }
        if let Some(registered) = find(session.db(), &job.model)? {
            debug_assert_ne!(registered.model.provider, Provider::Manual);
            models.push((registered, vec![job]));
        }
    }
    Ok(models)
}

/// Settles what was decided: how many have vectors now, and how many failed. What somebody is changing waits on.
pub fn settle(
    session: &Session,
    registered: &Registered,
    jobs: &[Job],
    decided: Decided<Vec<Vector>>,
    max_attempts: i32,
) -> Result<(i64, i64)> {
    let (mut embedded, mut failed) = (0, 0);
    for (place, outcome) in decided {
        let job = &jobs[place];
        match outcome.map_or_else(Outcome::Failed, Outcome::Vectors) {
            Outcome::Vectors(vectors) => {
                embedded += i64::from(complete(session, registered, job, &vectors)? == Some(true));
            }
            Outcome::Failed(error) => {
                queue::fail_or_park(session, job, &error, max_attempts)?;
                failed += 1;
            }
        }
    }
    super::switch_when_complete(session, registered.model.name.as_str())?;
    Ok((embedded, failed))
}
