//! `memory_digest` and `memory_bootstrap`: the space at a glance (CAP-DIG, CAP-BOOT).

use super::consolidate;
use super::graph;
use super::list;
use super::rows::{Stamps, readable_roots, scope_args};
use super::state::{self, State};
use super::verify;
use crate::domain::capsule::bootstrap::{Sections, answer, terms_matched};
use crate::domain::capsule::dag::Readiness;
use crate::domain::capsule::project::Fence;
use crate::domain::capsule::rank::decayed;
use crate::domain::capsule::record::{armour, id_of};
use crate::domain::capsule::stamp::Stamp;
use crate::domain::capsule::text::search_tokens;
use crate::domain::capsule::words::{Kind, Tier};
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::{Map, Value, json};

statement!(COUNTS, [include_str!("digest.sql")], [TEXTOID, TEXTARRAYOID]);
statement!(
    BY_PROJECT,
    [
        "select c.project_id, count(*), count(*) filter (where not exists (
           select from me.capsule_relation as r
           where r.space = c.space and r.kind = 'supersedes' and r.to_seq = c.seq))
         from me.capsule as c where ",
        include_str!("scope.sql"),
        " and c.memory_id is not null group by c.project_id order by c.project_id collate \"C\""
    ],
    [TEXTOID, TEXTARRAYOID, TEXTOID, TEXTOID]
);
statement!(
    /// The newest handoff of each project and thread.
    HANDOFFS,
    [
        "select h.seq from (
           select distinct on (c.project_id, c.thread) c.seq from me.capsule as c where ",
        include_str!("scope.sql"),
        " and c.thread is not null order by c.project_id, c.thread, c.seq desc
         ) as h order by h.seq desc limit $5"
    ],
    [TEXTOID, TEXTARRAYOID, TEXTOID, TEXTOID, INT8OID]
);
statement!(
    RECALLED,
    [
        "select u.seq from me.capsule_usage as u join me.capsule as c on c.space = u.space and c.seq = u.seq where ",
        include_str!("scope.sql"),
        " and c.memory_id is not null
         order by u.recall_count desc, u.last_recalled_at desc, u.seq limit $5"
    ],
    [TEXTOID, TEXTARRAYOID, TEXTOID, TEXTOID, INT8OID]
);
statement!(
    OPEN_SESSIONS,
    ["select s.number from me.capsule_session as s
      where s.space = $1 and s.finished_at is null order by s.number limit $2"],
    [TEXTOID, INT8OID]
);
statement!(
    OF_KINDS,
    [
        include_str!("state.sql"),
        include_str!("capsule.sql"),
        " where ",
        include_str!("scope.sql"),
        " and c.memory_id is not null and c.kind in ('constraint', 'decision', 'failure_pattern') order by c.seq"
    ],
    [TEXTOID, TEXTARRAYOID, TEXTOID, TEXTOID]
);

/// Runs `memory_digest`.
pub fn digest(session: &Session, fence: &Fence, headlines: u64) -> Result<Value> {
    let now = Stamps::now().stamp;
    let cap = i64::try_from(headlines).unwrap_or(i64::MAX);
    let counts = session
        .db()
        .row(&COUNTS, &[arg(session.space()), readable_roots(session)])?
        .ok_or_else(|| Error::Internal("a digest has no counts".into()))?;
    let (live, archived, quarantined): (i64, i64, i64) = (counts.need(5)?, counts.need(6)?, counts.need(7)?);
    let mut answer: Map<String, Value> = armour();
    let mut put = |key: &str, value: Value| answer.insert(key.to_owned(), value);

    let (total, projects) = by_project(session, fence)?;
    put("total", total.into());
    put("by_project", projects.into());
    let handoffs = ordered(session, &HANDOFFS, fence, cap)?;
    if !handoffs.is_empty() {
        put("handoff", entries(&handoffs, &now)?.into());
    }
    put("newest", entries(&list::newest_in(session, fence, headlines)?, &now)?.into());
    put("most_recalled", most_recalled(session, fence, cap, &now)?.into());
    put("relations", counts.need::<i64>(1)?.into());
    put("open_sessions", counts.need::<i64>(2)?.into());
    put("open_session_ids", open_sessions(session, cap)?.into());
    put("audit_events", counts.need::<i64>(3)?.into());
    put("recall_misses", counts.need::<i64>(4)?.into());
    let cap = usize::try_from(headlines).unwrap_or(usize::MAX);
    put("dag", graph::load(session)?.readiness().to_json(cap));
    put(
        "tiers",
        json!({"active": live - archived - quarantined, "archived": archived, "quarantined": quarantined}),
    );
    let verdict = verify::verify_new(session)?;
    put("journal", verdict.to_json(verify::out_of_band(session)?));
    put("archive_candidates", consolidate::archive_candidates(session, &now)?.into());
    Ok(answer.into())
}

fn by_project(session: &Session, fence: &Fence) -> Result<(i64, Vec<Value>)> {
    let mut total = 0;
    let mut projects = Vec::new();
    for row in session.db().run(&BY_PROJECT, &scope_args(session, fence, []))? {
        let (project, count, live): (String, i64, i64) = (row.need(1)?, row.need(2)?, row.need(3)?);
        total += count;
        projects.push(json!({"project_id": project, "count": count, "live": live}));
    }
    Ok((total, projects))
}

/// The capsules that a statement names, in its order.
fn ordered(
    session: &Session,
    statement: &'static std::thread::LocalKey<crate::store::spi::Statement>,
    fence: &Fence,
    cap: i64,
) -> Result<Vec<State>> {
    let rows = session.db().run(statement, &scope_args(session, fence, [arg(cap)]))?;
    let seqs: Vec<i64> = rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?;
    let mut states = state::by_seqs(session, &seqs)?;
    states.sort_by_key(|state| seqs.iter().position(|seq| *seq == state.seq));
    Ok(states)
}

fn entries(states: &[State], now: &Stamp) -> Result<Vec<Value>> {
    states.iter().map(|state| Ok(Value::Object(state.entry(now)?))).collect()
}

fn most_recalled(session: &Session, fence: &Fence, cap: i64, now: &Stamp) -> Result<Vec<Value>> {
    ordered(session, &RECALLED, fence, cap)?
        .iter()
        .map(|state| {
            let mut entry = state.entry(now)?;
            entry.insert("recall_count".into(), state.recall_count.into());
            if let Some(at) = &state.last_recalled {
                entry.insert("last_recalled_at".into(), at.text().into());
            }
            Ok(Value::Object(entry))
        })
        .collect()
}

fn open_sessions(session: &Session, cap: i64) -> Result<Vec<String>> {
    let rows = session.db().run(&OPEN_SESSIONS, &[arg(session.space()), arg(cap)])?;
    rows.into_iter().map(|row| Ok(format!("sess-{}", row.need::<i64>(1)?))).collect()
}

/// Runs `memory_bootstrap`.
pub fn bootstrap(session: &Session, fence: &Fence, terms: &[String], budget: u64) -> Result<Value> {
    let now = Stamps::now().stamp;
    let terms: Vec<Vec<String>> = terms.iter().map(|term| search_tokens(term)).collect();
    let mut ranked = session
        .db()
        .run(&OF_KINDS, &scope_args(session, fence, []))?
        .into_iter()
        .map(|row| {
            let state = State::from_row(&row)?;
            let record = state.live()?;
            let matched = terms_matched(&terms, &record.content);
            let weight = decayed(record.confidence, &record.valid_from, &now, state.pinned);
            Ok((state, matched, weight))
        })
        .collect::<Result<Vec<_>>>()?;
    ranked.sort_by(|a, b| b.1.cmp(&a.1).then(b.2.total_cmp(&a.2)).then(a.0.seq.cmp(&b.0.seq)));
    let mut sections = Sections::default();
    for (state, ..) in &ranked {
        let current = !state.superseded && !state.is_expired(&now);
        let section = match state.kind() {
            Some(Kind::Constraint) if current && state.tier == Tier::Active => &mut sections.constraints,
            Some(Kind::Decision) if current => &mut sections.decisions,
            Some(Kind::FailurePattern) => &mut sections.traps,
            _ => continue,
        };
        section.push(Value::Object(state.entry(&now)?));
    }
    match graph::load(session)?.readiness() {
        Readiness::Ok { ready, .. } => sections.ready = ready_entries(session, fence, &ready, &now)?,
        Readiness::Cycle { cycle, .. } => {
            sections.cycle = Some(cycle.into_iter().map(id_of).collect());
        }
    }
    Ok(answer(sections, budget))
}

/// The ready ones behind the fence, in the order of their ids as text.
fn ready_entries(session: &Session, fence: &Fence, ready: &[i64], now: &Stamp) -> Result<Vec<Value>> {
    let mut states = state::by_seqs(session, ready)?;
    states.retain(|state| fence.admits(&state.project_id));
    states.sort_by_key(State::id);
    entries(&states, now)
}
