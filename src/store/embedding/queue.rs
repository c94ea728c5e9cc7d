//! The queue: claim, and complete, fail or release; prune (EMB-7 … EMB-17).

use super::{find, switch_when_complete, vectors};
use crate::domain::embedding::{Claim, Seconds, parse_vectors, retry_delay};
use crate::domain::filter::{Criteria, TreeFilter};
use crate::domain::id::Id;
use crate::error::{Error, Result};
use crate::store::caller;
use crate::store::filter::Filter;
use crate::store::jsonb::Jsonb;
use crate::store::session::{self, Session};
use crate::store::spi::arg;
use crate::store::upkeep::{self, Answer, Look, Piece};
use crate::{filtered, statement};
use pgrx::pg_sys;
use pgrx::prelude::*;

statement!(SWEEP, [include_str!("claim_sweep.sql")], [TEXTOID, TIMESTAMPTZOID, INT4OID, TEXTOID]);
statement!(
    CLAIM,
    [include_str!("claim.sql")],
    [TEXTOID, TIMESTAMPTZOID, INT4OID, TEXTOID, INT4OID, FLOAT8OID]
);
statement!(
    /// The memory first, then the entry: in the order in which writers take their locks.
    LOCK_MEMORY,
    ["select m.content_version from me.memory as m where m.space = $1 and m.id = $2 for share"],
    [TEXTOID, UUIDOID]
);
statement!(
    LOCK_ENTRY,
    ["select q.outcome, q.model, q.content_version, q.attempts, q.memory_id from me.embedding_queue as q
      where q.space = $1 and q.id = $2 for update"],
    [TEXTOID, UUIDOID]
);
statement!(
    FINISH,
    ["update me.embedding_queue set outcome = $3, finished_at = pg_catalog.clock_timestamp(),
        last_error = coalesce($4, last_error)
      where space = $1 and id = $2 and outcome is null"],
    [TEXTOID, UUIDOID, TEXTOID, TEXTOID]
);
statement!(
    /// The delay takes the place of the lock, but never outlives it.
    FAIL,
    ["update me.embedding_queue set last_error = $3, by_server = false, attempts = $6,
        vt = least(vt, $4 + pg_catalog.make_interval(secs => $5))
      where space = $1 and id = $2 and outcome is null"],
    [TEXTOID, UUIDOID, TEXTOID, TIMESTAMPTZOID, FLOAT8OID, INT4OID]
);
statement!(
    RELEASE,
    ["update me.embedding_queue set attempts = greatest(attempts - 1, 0), by_server = false,
        last_error = coalesce($5, last_error), vt = $3 + pg_catalog.make_interval(secs => $4)
      where space = $1 and id = $2 and outcome is null"],
    [TEXTOID, UUIDOID, TIMESTAMPTZOID, FLOAT8OID, TEXTOID]
);
statement!(
    PRUNE,
    ["delete from me.embedding_queue as q
      where q.space = $1 and q.outcome is not null
        and q.created_at < $2 - pg_catalog.make_interval(secs => $3)"],
    [TEXTOID, TIMESTAMPTZOID, FLOAT8OID]
);
statement!(
    /// The oldest of those, by when they got their outcome: there is an index for it.
    PRUNE_SOME,
    ["delete from me.embedding_queue as q
      where q.space = $1 and q.id in (
        select o.id from me.embedding_queue as o
        where o.space = $1 and o.outcome is not null and o.finished_at < $2
        order by o.finished_at
        limit $3)"],
    [TEXTOID, TIMESTAMPTZOID, INT4OID]
);
statement!(
    OLDEST,
    ["select s.slug, (
        select pg_catalog.min(q.finished_at) from me.embedding_queue as q
        where q.space = s.slug and q.outcome is not null)
      from me.space as s
      order by s.slug"],
    []
);
statement!(
    RETRY,
    ["update me.embedding_queue as q set outcome = null, finished_at = null, attempts = 0, vt = $2
      where q.space = $1 and q.outcome = 'failed'
        and exists (
          select from me.embedding_use as u where u.space = $1 and u.model = q.model)
        and exists (
          select from me.memory as m
          where m.space = $1 and m.id = q.memory_id and m.content_version = q.content_version)"],
    [TEXTOID, TIMESTAMPTZOID]
);
statement!(
    SETTLE,
    ["update me.embedding_queue as q set outcome = 'completed', finished_at = pg_catalog.clock_timestamp()
      where q.space = $1 and q.memory_id = $2 and q.content_version = $3 and q.model = $4 and q.outcome is null"],
    [TEXTOID, UUIDOID, INT8OID, TEXTOID]
);
filtered!(
    STATUS,
    [include_str!("status.sql"), include_str!("../filter.sql"), "order by q.id desc limit 1) as e on true"],
    [TIMESTAMPTZOID]
);

/// Longest error that is kept, in characters.
const ERROR_CHARS: usize = 1000;

fn now() -> Option<pg_sys::Datum> {
    // SAFETY: reads the clock.
    arg(TimestampWithTimeZone::try_from(unsafe { pg_sys::GetCurrentTimestamp() }).ok())
}

/// An entry that was handed out.
pub struct Job {
    /// The entry.
    pub id: pgrx::Uuid,
    /// The memory.
    pub memory: pgrx::Uuid,
    /// The content version that is to be embedded.
    pub content_version: i64,
    /// The name of the model.
    pub model: String,
    /// How often it was claimed, this time included.
    pub attempts: i32,
    /// The text.
    pub content: String,
}

/// Hands out entries of one model or of all.
pub fn claim(session: &Session, claim: &Claim, model: Option<&str>) -> Result<Vec<Job>> {
    let (space, now) = (arg(session.space()), now());
    session.db().run(&SWEEP, &[space, now, arg(claim.max_attempts), arg(model)])?;
    session
        .db()
        .run(
            &CLAIM,
            &[space, now, arg(claim.max_attempts), arg(model), arg(claim.batch), arg(claim.lock.get())],
        )?
        .into_iter()
        .map(|row| {
            Ok(Job {
                id: row.need(1)?,
                memory: row.need(2)?,
                content_version: row.need(3)?,
                model: row.need(4)?,
                attempts: row.need(5)?,
                content: row.need(6)?,
            })
        })
        .collect()
}

/// Stores the vectors of an entry (an array of arrays), if the memory still has that content; the outcome (EMB-12).
pub fn complete(
    session: &Session,
    entry: Id,
    memory: Id,
    content_version: i64,
    vectors: &str,
) -> Result<String> {
    let (db, space) = (session.db(), arg(session.space()));
    let (entry, memory) = (uuid(entry), uuid(memory));
    let stored = db.row(&LOCK_MEMORY, &[space, arg(memory)])?.and_then(|row| row.get::<i64>(1));
    let Some(row) = db.row(&LOCK_ENTRY, &[space, arg(entry)])? else {
        // Removed with its memory.
        return Ok("cancelled".into());
    };
    if let Some(outcome) = row.get::<String>(1) {
        return Ok(outcome);
    }
    let model: String = row.need(2)?;
    let fits = row.need::<i64>(3)? == content_version
        && row.need::<pgrx::Uuid>(5)? == memory
        && stored == Some(content_version);
    let registered = find(db, &model)?.filter(|_| fits);
    let outcome = match registered {
        None => "cancelled",
        Some(registered) => {
            let vectors = parse_vectors("vectors", vectors, registered.model.dimensions)?;
            vectors::store(db, session.space(), &registered, memory, content_version, &vectors)?;
            "completed"
        }
    };
    db.run(&FINISH, &[space, arg(entry), arg(outcome), None])?;
    switch_when_complete(session, &model)?;
    Ok(outcome.to_owned())
}

/// Locks an entry that has no outcome: its attempts. Otherwise its outcome, `cancelled` when it is gone.
fn lock_pending(session: &Session, entry: Id) -> Result<std::result::Result<i32, String>> {
    let row = session.db().row(&LOCK_ENTRY, &[arg(session.space()), arg(uuid(entry))])?;
    Ok(match row {
        None => Err("cancelled".into()),
        Some(row) => match row.get::<String>(1) {
            Some(outcome) => Err(outcome),
            None => Ok(row.need(4)?),
        },
    })
}

/// Records why an attempt failed; the entry waits a while (EMB-14). Its outcome, if it has one.
pub fn fail(session: &Session, entry: Id, error: &str) -> Result<Option<String>> {
    let attempts = match lock_pending(session, entry)? {
        Ok(attempts) => attempts,
        Err(outcome) => return Ok(Some(outcome)),
    };
    let error = shortened(error);
    let delay = retry_delay(attempts);
    session.db().run(
        &FAIL,
        &[arg(session.space()), arg(uuid(entry)), arg(error), now(), arg(delay.get()), arg(attempts)],
    )?;
    Ok(None)
}

/// Gives an entry back without counting the attempt (EMB-15). Its outcome, if it has one.
pub fn release(session: &Session, entry: Id, backoff: Seconds) -> Result<Option<String>> {
    if let Err(outcome) = lock_pending(session, entry)? {
        return Ok(Some(outcome));
    }
    give_back(session, uuid(entry), backoff, None)?;
    Ok(None)
}

/// Gives an entry back; the reason, if there is one, is kept as its last error.
pub(super) fn give_back(
    session: &Session,
    entry: pgrx::Uuid,
    backoff: Seconds,
    reason: Option<&str>,
) -> Result<()> {
    session.db().run(
        &RELEASE,
        &[arg(session.space()), arg(entry), now(), arg(backoff.get()), reason.map(shortened).and_then(arg)],
    )?;
    Ok(())
}

/// Gives an entry its outcome, unless it has one.
pub(super) fn settle_entry(session: &Session, entry: pgrx::Uuid, outcome: &str) -> Result<()> {
    session.db().run(&FINISH, &[arg(session.space()), arg(entry), arg(outcome), None])?;
    Ok(())
}

/// Records a failed attempt; the last one ends the entry.
pub(super) fn fail_or_park(session: &Session, job: &Job, error: &str, max_attempts: i32) -> Result<()> {
    let (space, entry, error) = (arg(session.space()), arg(job.id), arg(shortened(error)));
    if job.attempts >= max_attempts {
        session.db().run(&FINISH, &[space, entry, arg("failed"), error])?;
    } else {
        let delay = retry_delay(job.attempts);
        session.db().run(&FAIL, &[space, entry, error, now(), arg(delay.get()), arg(job.attempts)])?;
    }
    Ok(())
}

fn shortened(error: &str) -> String {
    error.chars().take(ERROR_CHARS).collect()
}

/// Deletes entries that have an outcome and were made longer ago than this; how many (EMB-16).
pub fn prune(session: &Session, retention: Seconds) -> Result<usize> {
    Ok(session.db().run(&PRUNE, &[arg(session.space()), now(), arg(retention.get())])?.count())
}

/// How long entries with an outcome are kept, in microseconds (EMB-16).
const KEPT: i64 = 7 * 86_400_000_000;
/// How often the worker looks for entries that may go.
const PRUNE_EVERY: i64 = 600_000_000;
/// Most entries that go in one transaction.
const PRUNE_MOST: i32 = 5000;

/// The spaces with entries that got their outcome long ago.
pub fn long_finished() -> Answer<Look> {
    let cutoff = upkeep::now() - KEPT;
    caller::background(|caller| {
        let mut look = Look::default();
        for row in caller.db().run(&OLDEST, &[])? {
            let Some(oldest) = row.get::<TimestampWithTimeZone>(2).map(i64::from) else { continue };
            if oldest < cutoff {
                look.places.push(row.need(1)?);
            }
            let due = (oldest + KEPT).max(cutoff + KEPT + PRUNE_EVERY);
            look.next = Some(look.next.map_or(due, |next| next.min(due)));
        }
        Ok(look)
    })
}

/// Removes some of them.
pub fn prune_piece(space: &str, _from: u128) -> Answer<Piece> {
    session::background(space, |session| {
        let cutoff = TimestampWithTimeZone::try_from(upkeep::now() - KEPT).ok();
        let gone = session.db().run(&PRUNE_SOME, &[arg(space), arg(cutoff), arg(PRUNE_MOST)])?.count();
        Ok(if gone == PRUNE_MOST as usize { Piece::More(0) } else { Piece::Done })
    })
}

/// Lets failed entries of content that is still there be tried again; how many.
pub fn retry(session: &Session) -> Result<usize> {
    let queued = session.db().run(&RETRY, &[arg(session.space()), now()])?.count();
    if queued > 0 {
        crate::worker::note_work();
    }
    Ok(queued)
}

/// What waits for this content and model has got it.
pub(super) fn settle(session: &Session, memory: pgrx::Uuid, content_version: i64, model: &str) -> Result<()> {
    session.db().run(&SETTLE, &[arg(session.space()), arg(memory), arg(content_version), arg(model)])?;
    Ok(())
}

/// How the queue of a space stands (EST-1); of its errors, the last of a memory that the caller may read.
pub fn status(session: &Session) -> Result<Jsonb> {
    let readable = Filter::readable(session, Criteria::on_tree(TreeFilter::None));
    readable
        .run(session.db(), &STATUS, [now()], 1)?
        .into_iter()
        .next()
        .and_then(|row| row.copied(1))
        .map(Jsonb::from_raw)
        .ok_or_else(|| Error::Internal("the status is missing".into()))
}

fn uuid(id: Id) -> pgrx::Uuid {
    pgrx::Uuid::from_bytes(*id.as_bytes())
}
