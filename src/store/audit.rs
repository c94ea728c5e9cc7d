//! Seals the history of memories and of access, verifies it, and prunes it by its own seal.

use super::caller;
use super::capsule;
use super::session::{self, NO_SPACE, Session};
use super::spi::{Row, arg};
use super::turn::Turn;
use super::upkeep::{self, Answer, Look, Piece};
use crate::domain::audit::{
    Fault, Hash, PROBLEMS, Present, SEAL_EVENTS, Seal, SealKind, chain_fault, compare, hex,
};
use crate::domain::history::first_id_at;
use crate::domain::instant::Instant;
use crate::domain::retention::Retention;
use crate::error::{Error, Result};
use crate::{guc, statement};
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

statement!(
    /// One seal after another, and one sealer at a time; writers of memories never wait here.
    LOCK_CHAIN,
    ["select 1 from me.space as s where s.slug = $1 for no key update"],
    [TEXTOID]
);
statement!(
    LAST,
    [
        "select s.number, s.end_id, s.hash from me.audit_seal as s where s.space = $1 order by s.number desc limit 1"
    ],
    [TEXTOID]
);
statement!(
    /// Activity is read once a transaction unless told otherwise.
    LOOK_AGAIN,
    ["select pg_catalog.pg_stat_clear_snapshot()"],
    []
);
statement!(HORIZON, [include_str!("audit_horizon.sql")], []);
statement!(
    ADD,
    ["insert into me.audit_seal (space, number, kind, sealed_at, first_id, end_id, event_ids, digests, previous, hash)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"],
    [
        TEXTOID,
        INT8OID,
        TEXTOID,
        TIMESTAMPTZOID,
        UUIDOID,
        UUIDOID,
        UUIDARRAYOID,
        BYTEAOID,
        BYTEAOID,
        BYTEAOID
    ]
);
statement!(
    COUNTS,
    ["select
        (select coalesce(sum(case s.kind when 'events' then cardinality(s.event_ids) else -cardinality(s.event_ids) end), 0)
         from me.audit_seal as s where s.space = $1)::bigint,
        (select count(*) from me.memory_event as e where e.space = $1 and e.event_id >= $2)
        + (select count(*) from me.access_event as a where a.space = $1 and a.event_id >= $2)"],
    [TEXTOID, UUIDOID]
);
statement!(
    NEXT,
    ["select s.number, s.kind, s.sealed_at, s.first_id, s.end_id, s.event_ids, s.digests, s.previous, s.hash
      from me.audit_seal as s where s.space = $1 and s.number > $2 order by s.number limit 1"],
    [TEXTOID, INT8OID]
);
statement!(
    PRUNED,
    ["select p.id from me.audit_seal as s, unnest(s.event_ids) as p (id)
      where s.space = $1 and s.kind = 'prune' order by p.id"],
    [TEXTOID]
);
statement!(CHECK, [include_str!("audit_check.sql")], [TEXTOID, UUIDOID, UUIDOID, INT8OID]);
statement!(PRUNE, [include_str!("history_prune.sql")], [TEXTOID, UUIDOID, UUIDOID, UUIDOID]);
statement!(
    /// Where a run of events ends that begins at an id: the id of the first one behind it.
    RUN_END,
    ["select e.event_id from me.memory_event as e
      where e.space = $1 and e.event_id >= $2 and e.event_id < $3 order by e.event_id offset $4 limit 1"],
    [TEXTOID, UUIDOID, UUIDOID, INT4OID]
);
statement!(
    IS_UNSEALED,
    ["select exists (select from me.memory_event as e where e.space = $1 and e.event_id >= $2)
        or exists (select from me.access_event as a where a.space = $1 and a.event_id >= $2)"],
    [TEXTOID, UUIDOID]
);
statement!(UNSEALED_SPACES, [include_str!("audit_unsealed.sql")], []);
statement!(
    OLD_SPACES,
    ["select s.slug from me.space as s
      where exists (select from me.memory_event as e where e.space = s.slug and e.event_id < $1)
      order by s.slug"],
    [UUIDOID]
);

/// How a chain stands.
#[derive(Default)]
pub struct Report {
    /// Events under a seal that are still there.
    pub sealed: i64,
    /// Events that no seal covers yet.
    pub unsealed: i64,
    /// Hash of the last seal, in hexadecimal digits.
    pub head: Option<String>,
    /// The differences found, in order; at most [`PROBLEMS`].
    pub problems: Vec<Problem>,
}

/// One difference between what was sealed and what is there.
pub struct Problem {
    /// The number of the seal it concerns.
    pub seal: Option<i64>,
    /// The event it concerns.
    pub event: Option<String>,
    /// The row of the capsule journal it concerns.
    pub journal_row: Option<i64>,
    /// What is wrong.
    pub what: &'static str,
}

impl Report {
    fn note(&mut self, seal: Option<i64>, event: Option<u128>, what: &'static str) {
        let event = event.map(|id| pgrx::Uuid::from_bytes(id.to_be_bytes()).to_string());
        self.push(Problem { seal, event, journal_row: None, what });
    }

    fn push(&mut self, problem: Problem) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// Where a chain ends.
struct Tip {
    number: i64,
    end: u128,
    hash: Option<Hash>,
}

fn id_arg(id: u128) -> Option<Datum> {
    arg(pgrx::Uuid::from_bytes(id.to_be_bytes()))
}

fn id_of(row: &Row, column: i32) -> Result<u128> {
    Ok(u128::from_be_bytes(*row.need::<pgrx::Uuid>(column)?.as_bytes()))
}

fn hash_of(bytes: &[u8]) -> Result<Hash> {
    bytes.try_into().map_err(|_| Error::Internal("a stored hash has another length".into()))
}

fn now() -> Instant {
    // SAFETY: reads the clock.
    Instant::from_micros(unsafe { pg_sys::GetCurrentTimestamp() })
}

/// Locks the chain of the session's space for the rest of the transaction and answers with its end.
fn lock_tip(session: &Session) -> Result<Tip> {
    match session.space() {
        // The chain of what belongs to no space has no row to lock.
        NO_SPACE => Turn::Outside.wait(),
        space => {
            session.db().run(&LOCK_CHAIN, &[arg(space)])?;
        }
    }
    let Some(row) = session.db().row(&LAST, &[arg(session.space())])? else {
        return Ok(Tip { number: 0, end: 0, hash: None });
    };
    Ok(Tip { number: row.need(1)?, end: id_of(&row, 2)?, hash: Some(hash_of(&row.need::<Vec<u8>>(3)?)?) })
}

/// The id before which no event can appear any more; `None` when that cannot be said now.
///
/// The clock is read first, then who is writing, and events are looked at after that, under a later snapshot: what
/// was made before then has committed and is seen, or its transaction is among those that were writing, or it is dead.
fn horizon(session: &Session) -> Result<Option<u128>> {
    // SAFETY: a global of this backend. Under one snapshot for the whole transaction the order above does not hold.
    if unsafe { pg_sys::XactIsoLevel } > pg_sys::XACT_READ_COMMITTED as i32 {
        return Ok(None);
    }
    session.db().run(&LOOK_AGAIN, &[])?;
    // Ids count milliseconds: with the present one over, what was made before this call lies before it.
    let over = 1000 - now().micros().rem_euclid(1000);
    // SAFETY: sleeps for at most a millisecond.
    unsafe { pg_sys::pg_usleep(over) };
    let now = now();
    let Some(row) = session.db().row(&HORIZON, &[])? else { return Ok(None) };
    if row.need::<i64>(1)? > 0 {
        return Ok(None);
    }
    let oldest = row.get::<TimestampWithTimeZone>(2).map_or(now, |at| Instant::from_micros(i64::from(at)));
    Ok(Some(u128::from_be_bytes(first_id_at(now.min(oldest)))))
}

/// Seals every event that is surely there, and before which nothing can appear.
pub fn seal(session: &Session) -> Result<Report> {
    let mut report = Report::default();
    let tip = lock_tip(session)?;
    let tip = seal_from(session, tip, &mut report)?;
    count(session, &tip, &mut report)?;
    Ok(report)
}

fn seal_from(session: &Session, mut tip: Tip, report: &mut Report) -> Result<Tip> {
    let Some(end) = horizon(session)? else { return Ok(tip) };
    loop {
        let (next, more) = seal_before(session, tip, end, report)?;
        tip = next;
        if !more {
            return Ok(tip);
        }
    }
}

/// Adds one seal, of events before `end`; whether there are more. What is wrong within an event by now is named, and
/// sealed as it is.
fn seal_before(session: &Session, tip: Tip, end: u128, report: &mut Report) -> Result<(Tip, bool)> {
    if end <= tip.end {
        return Ok((tip, false));
    }
    let mut events = present(session, tip.end, end, SEAL_EVENTS as i64 + 1)?;
    let next = events.get(SEAL_EVENTS).map(|event| event.id);
    events.truncate(SEAL_EVENTS);
    for event in &events {
        if let Some(fault) = event.fault {
            report.note(Some(tip.number + 1), Some(event.id), fault.sentence());
        }
    }
    let ids: Vec<u128> = events.iter().map(|event| event.id).collect();
    if ids.is_empty() {
        return Ok((tip, false));
    }
    let digests = events.into_iter().flat_map(|event| event.digest).collect();
    let tip = add(session, &tip, SealKind::Events, next.unwrap_or(end), ids, digests)?;
    Ok((tip, next.is_some()))
}

fn add(
    session: &Session,
    tip: &Tip,
    kind: SealKind,
    end: u128,
    ids: Vec<u128>,
    digests: Vec<u8>,
) -> Result<Tip> {
    let seal = Seal {
        number: tip.number + 1,
        kind,
        sealed_at: now(),
        first: tip.end,
        end,
        ids,
        digests,
        previous: tip.hash,
    };
    let hash = seal.hash(session.space());
    let ids: Vec<pgrx::Uuid> = seal.ids.iter().map(|id| pgrx::Uuid::from_bytes(id.to_be_bytes())).collect();
    session.db().run(
        &ADD,
        &[
            arg(session.space()),
            arg(seal.number),
            arg(kind.word()),
            super::history::instant(seal.sealed_at),
            id_arg(seal.first),
            id_arg(seal.end),
            arg(ids),
            arg(&seal.digests[..]),
            seal.previous.as_ref().and_then(|hash| arg(&hash[..])),
            arg(&hash[..]),
        ],
    )?;
    Ok(Tip { number: seal.number, end, hash: Some(hash) })
}

fn count(session: &Session, tip: &Tip, report: &mut Report) -> Result<()> {
    let row = session
        .db()
        .row(&COUNTS, &[arg(session.space()), id_arg(tip.end)])?
        .ok_or_else(|| Error::Internal("the seals could not be counted".into()))?;
    (report.sealed, report.unsealed) = (row.need(1)?, row.need(2)?);
    report.head = tip.hash.map(|hash| hex(&hash));
    Ok(())
}

/// Recomputes every chain of the space and names what differs. Each thing that is sealed has its check here.
pub fn verify(session: &Session) -> Result<Report> {
    let mut report = Report::default();
    verify_history(session, &mut report)?;
    if session.space() != NO_SPACE {
        verify_capsules(session, &mut report)?;
    }
    Ok(report)
}

/// The journal of the capsules is a chain of its own.
fn verify_capsules(session: &Session, report: &mut Report) -> Result<()> {
    let verdict = capsule::verify::verify(session)?;
    if verdict.broken.is_some() {
        let what = verdict.problem.unwrap_or("the row does not recompute");
        report.push(Problem { seal: None, event: None, journal_row: verdict.broken, what });
    }
    Ok(())
}

fn verify_history(session: &Session, report: &mut Report) -> Result<()> {
    let mut pruned = Vec::new();
    for row in session.db().run(&PRUNED, &[arg(session.space())])? {
        pruned.push(id_of(&row, 1)?);
    }
    let is_pruned = |id: u128| pruned.binary_search(&id).is_ok();
    let mut before: Option<(Seal, Vec<u8>)> = None;
    loop {
        let last = before.as_ref().map_or(0, |(seal, _)| seal.number);
        let Some(row) = session.db().row(&NEXT, &[arg(session.space()), arg(last)])? else { break };
        let (seal, hash) = stored(&row)?;
        let known = before.as_ref().map(|(seal, hash)| (seal, &hash[..]));
        if let Some(what) = chain_fault(&seal, &hash, session.space(), known) {
            report.note(Some(seal.number), None, what);
        }
        if seal.kind == SealKind::Events {
            // More than were sealed, so that one that was inserted shows.
            let present = present(session, seal.first, seal.end, i64::MAX)?;
            report.sealed += present.len() as i64;
            for (id, fault) in compare(&seal, &present, &is_pruned) {
                report.note(Some(seal.number), Some(id), fault.sentence());
            }
        }
        before = Some((seal, hash));
    }
    report.head = before.as_ref().map(|(_, hash)| hex(hash));
    verify_unsealed(session, report, before.map_or(0, |(seal, _)| seal.end))
}

/// Events that are not sealed yet still have to be whole in themselves.
fn verify_unsealed(session: &Session, report: &mut Report, mut from: u128) -> Result<()> {
    loop {
        let present = present(session, from, u128::MAX, SEAL_EVENTS as i64)?;
        report.unsealed += present.len() as i64;
        for event in &present {
            if let Some(fault) = event.fault {
                report.note(None, Some(event.id), fault.sentence());
            }
        }
        match present.last() {
            Some(last) if present.len() == SEAL_EVENTS => from = last.id + 1,
            _ => return Ok(()),
        }
    }
}

fn present(session: &Session, first: u128, end: u128, limit: i64) -> Result<Vec<Present>> {
    let args = [arg(session.space()), id_arg(first), id_arg(end), arg(limit)];
    session
        .db()
        .run(&CHECK, &args)?
        .into_iter()
        .map(|row| {
            Ok(Present {
                id: id_of(&row, 1)?,
                digest: row.need(2)?,
                fault: row.get::<String>(3).and_then(|word| Fault::from_word(&word)),
            })
        })
        .collect()
}

fn stored(row: &Row) -> Result<(Seal, Vec<u8>)> {
    let kind: String = row.need(2)?;
    let ids: Vec<pgrx::Uuid> = row.need(6)?;
    let seal = Seal {
        number: row.need(1)?,
        kind: SealKind::from_word(&kind)
            .ok_or_else(|| Error::Internal(format!("a seal of kind {kind:?}")))?,
        sealed_at: Instant::from_micros(i64::from(row.need::<TimestampWithTimeZone>(3)?)),
        first: id_of(row, 4)?,
        end: id_of(row, 5)?,
        ids: ids.iter().map(|id| u128::from_be_bytes(*id.as_bytes())).collect(),
        digests: row.need(7)?,
        previous: row.get::<Vec<u8>>(8).map(|hash| hash_of(&hash)).transpose()?,
    };
    Ok((seal, row.need(9)?))
}

/// Removes what is older than the retention, sealed before and noted in a seal of its own; answers how many events
/// went, and the instant before which they lay.
pub fn prune(session: &Session, retention: Retention) -> Result<(i64, Instant)> {
    let tip = lock_tip(session)?;
    let mut tip = seal_from(session, tip, &mut Report::default())?;
    let cutoff = cutoff(retention);
    let bound = first_id(cutoff).min(tip.end);
    let ids = prune_run(session, bound, 0, bound)?;
    for some in ids.chunks(SEAL_EVENTS) {
        tip = add(session, &tip, SealKind::Prune, tip.end, some.to_vec(), Vec::new())?;
    }
    Ok((ids.len() as i64, cutoff))
}

fn cutoff(retention: Retention) -> Instant {
    Instant::from_micros(now().micros().saturating_sub(retention.micros()))
}

fn first_id(at: Instant) -> u128 {
    u128::from_be_bytes(first_id_at(at))
}

/// Removes the events from `first` and before `end` that the rest of those before `bound` make superfluous.
fn prune_run(session: &Session, bound: u128, first: u128, end: u128) -> Result<Vec<u128>> {
    session
        .db()
        .run(&PRUNE, &[arg(session.space()), id_arg(bound), id_arg(first), id_arg(end)])?
        .into_iter()
        .map(|row| id_of(&row, 1))
        .collect()
}

/// Most events that one piece of pruning looks at.
const PRUNE_EVENTS: i32 = 10_000;
/// Longest time between two looks for history that has become too old, in microseconds.
const PRUNE_EVERY: i64 = 3_600_000_000;

/// The spaces with events that no seal covers, and the outside of them.
pub fn unsealed() -> Answer<Look> {
    caller::background(|caller| {
        let rows = caller.db().run(&UNSEALED_SPACES, &[])?;
        Ok(Look { places: rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?, next: None })
    })
}

/// Adds one seal to the chain of a space.
pub fn seal_piece(space: &str, _from: u128) -> Answer<Piece> {
    let mut report = Report::default();
    let piece = session::background(space, |session| {
        let tip = lock_tip(session)?;
        let (tip, more) = match horizon(session)? {
            Some(end) => seal_before(session, tip, end, &mut report)?,
            None => (tip, false),
        };
        if more {
            return Ok(Piece::More(0));
        }
        let left = session.db().row(&IS_UNSEALED, &[arg(space), id_arg(tip.end)])?;
        let left = left.and_then(|row| row.get::<bool>(1)) == Some(true);
        Ok(if left { Piece::Later } else { Piece::Done })
    })?;
    for problem in &report.problems {
        let event = problem.event.as_deref().unwrap_or_default();
        warning!("memory_engine: space \"{space}\", event {event}: {}", problem.what);
    }
    Ok(piece)
}

/// The spaces with history older than `me.history_retention`.
pub fn too_old() -> Answer<Look> {
    let Some(retention) = guc::history_retention() else { return Ok(Look::default()) };
    caller::background(|caller| {
        let rows = caller.db().run(&OLD_SPACES, &[id_arg(first_id(cutoff(retention)))])?;
        let places = rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?;
        // History becomes too old all the time, whether anybody writes or not.
        let every = (retention.micros() / 24).min(PRUNE_EVERY);
        Ok(Look { places, next: Some(upkeep::soon().max(upkeep::now() + every)) })
    })
}

/// Prunes among some of the events of a space, from an id on.
pub fn prune_piece(space: &str, from: u128) -> Answer<Piece> {
    let Some(retention) = guc::history_retention() else { return Ok(Piece::Done) };
    session::background(space, |session| {
        let tip = lock_tip(session)?;
        let bound = first_id(cutoff(retention)).min(tip.end);
        let args = [arg(space), id_arg(from), id_arg(bound), arg(PRUNE_EVENTS)];
        let end = session.db().row(&RUN_END, &args)?.map(|row| id_of(&row, 1)).transpose()?;
        let ids = prune_run(session, bound, from, end.unwrap_or(bound))?;
        if !ids.is_empty() {
            log!("memory_engine: space \"{space}\": {} events of the history are pruned", ids.len());
            add(session, &tip, SealKind::Prune, tip.end, ids, Vec::new())?;
        }
        Ok(end.map_or(Piece::Done, Piece::More))
    })
}
