//! What the worker does in the database: short transactions, between which it embeds.

use super::queue::{self, Job};
use super::{Registered, find, switch_when_complete, vectors};
use crate::domain::embedding::{Claim, Seconds, Vector};
use crate::error::Result;
use crate::statement;
use crate::store::caller;
use crate::store::session::{self, Session};
use crate::store::spi::arg;
use crate::store::turn::Turn;
use pgrx::pg_sys::panic::ErrorReport;

statement!(WORK, [include_str!("work.sql")], []);
statement!(
    /// What the last worker held when it died.
    ORPHANS,
    ["select q.space, q.id from me.embedding_queue as q where q.by_server and q.outcome is null"],
    []
);
statement!(
    /// The attempt of one that was embedded alone counts: it may be what killed the worker.
    ADOPT,
    ["update me.embedding_queue as q
      set by_server = false, vt = pg_catalog.clock_timestamp(), attempts = greatest(q.attempts - $1, 0)
      where q.by_server and q.outcome is null"],
    [INT4OID]
);
statement!(
    MARK,
    ["update me.embedding_queue set by_server = true where space = $1 and id = any ($2)"],
    [TEXTOID, UUIDARRAYOID]
);
statement!(
    LOCK_MEMORY,
    ["select m.content_version from me.memory as m where m.space = $1 and m.id = $2 for share skip locked"],
    [TEXTOID, UUIDOID]
);
statement!(EXISTS, ["select 1 from me.memory as m where m.space = $1 and m.id = $2"], [TEXTOID, UUIDOID]);
statement!(NOTIFY, ["select pg_catalog.pg_notify('me_embedded', $1)"], [TEXTOID]);

/// Something to embed: for a model, in a space.
pub struct Work {
    /// The space.
    pub space: String,
    /// The name of the model.
    pub model: String,
    /// From when on the first entry may be claimed, in the server's microseconds.
    pub due: i64,
}

type Answer<T> = std::result::Result<T, ErrorReport>;

/// Whether this process is the only worker of its database; it stays so.
pub fn alone() -> Answer<bool> {
    caller::background(|_| Ok(Turn::Worker.take()))
}

/// Makes claimable at once what a worker held when it died; how many entries that were.
pub fn adopt_orphans() -> Answer<usize> {
    caller::background(|caller| {
        let count = caller.db().run(&ORPHANS, &[])?.count();
        if count > 0 {
            caller.db().run(&ADOPT, &[arg(i32::from(count > 1))])?;
        }
        Ok(count)
    })
}

/// What there is to embed, now or later.
pub fn work() -> Answer<Vec<Work>> {
    caller::background(|caller| {
        caller
            .db()
            .run(&WORK, &[])?
            .into_iter()
            .map(|row| {
                let due: pgrx::prelude::TimestampWithTimeZone = row.need(3)?;
                Ok(Work { space: row.need(1)?, model: row.need(2)?, due: due.into() })
            })
            .collect()
    })
}

/// Claims entries of a model.
pub fn claim(space: &str, model: &str, claim: &Claim) -> Answer<Vec<Job>> {
    session::background(space, |session| {
        let jobs = queue::claim(session, claim, Some(model))?;
        if !jobs.is_empty() {
            let ids: Vec<pgrx::Uuid> = jobs.iter().map(|job| job.id).collect();
            session.db().run(&MARK, &[arg(space), arg(ids)])?;
        }
        Ok(jobs)
    })
}

/// The model of a name.
pub fn model(name: &str) -> Answer<Option<Registered>> {
    caller::background(|caller| find(caller.db(), name))
}

/// What came of an entry.
pub enum Outcome {
    /// The vectors of its content.
    Vectors(Vec<Vector>),
    /// Why it has none.
    Failed(String),
}

/// Settles entries; the places of those whose memory somebody is just changing, which come again.
pub fn finish(
    space: &str,
    registered: &Registered,
    jobs: &[(&Job, &Outcome)],
    max_attempts: i32,
    notify: bool,
) -> Answer<Vec<usize>> {
    session::background(space, |session| {
        let mut busy = Vec::new();
        let mut stored = false;
        for (place, (job, outcome)) in jobs.iter().enumerate() {
            match outcome {
                Outcome::Failed(error) => queue::fail_or_park(session, job, error, max_attempts)?,
                Outcome::Vectors(vectors) => match complete(session, registered, job, vectors)? {
                    Some(completed) => stored |= completed,
                    None => busy.push(place),
                },
            }
        }
        if stored && notify {
            session.db().run(&NOTIFY, &[arg(space)])?;
        }
        switch_when_complete(session, registered.model.name.as_str())?;
        Ok(busy)
    })
}

/// Whether vectors were stored; nothing when the memory is locked. The worker waits for no writer, so that no writer
/// can wait for it in a circle.
pub(super) fn complete(
    session: &Session,
    registered: &Registered,
    job: &Job,
    found: &[Vector],
) -> Result<Option<bool>> {
    let (db, key) = (session.db(), [arg(session.space()), arg(job.memory)]);
    let locked = db.row(&LOCK_MEMORY, &key)?.and_then(|row| row.get::<i64>(1));
    if locked.is_none() && db.row(&EXISTS, &key)?.is_some() {
        return Ok(None);
    }
    let fits = locked == Some(job.content_version);
    if fits {
        let (memory, version) = (job.memory, job.content_version);
        vectors::store(db, session.space(), registered, memory, version, found)?;
    }
    queue::settle_entry(session, job.id, if fits { "completed" } else { "cancelled" })?;
    Ok(Some(fits))
}

/// Gives entries back without counting the attempt, with the reason if there is one.
pub fn release(space: &str, jobs: &[&Job], backoff: Seconds, reason: Option<&str>) -> Answer<()> {
    session::background(space, |session| {
        for job in jobs {
            queue::give_back(session, job.id, backoff, reason)?;
        }
        Ok(())
    })
}
