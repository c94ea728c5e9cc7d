//! `memory_digest` and `memory_bootstrap`: the space at a glance (CAP-DIG, CAP-BOOT).

use super::consolidate;
use super::graph;
use super::list;
use super::rows::{Stamps, readable_roots, scope_args};
use super::standing::{self, Now};
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
use pgrx::prelude::*;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

statement!(COUNTS, [include_str!("digest.sql")], [TEXTOID, TEXTARRAYOID]);
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
    USAGE,
    ["select u.seq, u.recall_count, u.last_recalled_at from me.capsule_usage as u where u.space = $1"],
    [TEXTOID]
);
statement!(
    /// Those of some kinds that count now, the newest first.
    OF_KIND,
    [
        "select c.seq from me.capsule as c
         join me.capsule_classification as k on k.space = c.space and k.seq = c.seq and k.kind = $5
         where ",
        include_str!("scope.sql"),
        " and c.memory_id is not null
          and not exists (select from me.capsule_relation as r
            where r.space = $1 and r.kind = any ($6) and r.to_seq = c.seq)
         order by c.seq desc limit $7"
    ],
    [TEXTOID, TEXTARRAYOID, TEXTOID, TEXTOID, TEXTOID, TEXTARRAYOID, INT8OID]
);
statement!(
    /// What others are grounded in that is grounded in nothing itself, the newest first; as far as the caller may read who.
    MISSIONS,
    [
        "select c.seq from me.capsule as c where ",
        include_str!("scope.sql"),
        " and c.memory_id is not null
          and c.seq in (select g.to_seq from me.capsule_relation as g join me.capsule as f on f.space = g.space and f.seq = g.from_seq
            where g.space = $1 and g.kind = 'grounded_in' and not g.from_outcome and f.memory_id is not null
              and ($2::text[] is null or f.tree operator({ltree}.<@) any ($2::{ltree}.ltree[])))
          and not exists (select from me.capsule_relation as g join me.capsule as t on t.space = g.space and t.seq = g.to_seq
            where g.space = $1 and g.from_seq = c.seq and not g.from_outcome and g.kind = 'grounded_in' and t.memory_id is not null
              and ($2::text[] is null or t.tree operator({ltree}.<@) any ($2::{ltree}.ltree[])))
          and not exists (select from me.capsule_relation as r
            where r.space = $1 and r.kind in ('supersedes', 'falsifies') and r.to_seq = c.seq)
         order by c.seq desc limit $5"
    ],
    [TEXTOID, TEXTARRAYOID, TEXTOID, TEXTOID, INT8OID]
);
statement!(
    /// Of some capsules those that are grounded in something that the caller may read.
    GROUNDED,
    ["select distinct g.from_seq from me.capsule_relation as g join me.capsule as t on t.space = g.space and t.seq = g.to_seq
      where g.space = $1 and g.from_seq = any ($3) and not g.from_outcome and g.kind = 'grounded_in' and t.memory_id is not null
        and ($2::text[] is null or t.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))"],
    [TEXTOID, TEXTARRAYOID, INT8ARRAYOID]
);
statement!(
    /// Where the capsules come from, the most frequent first.
    SOURCES,
    [
        "select c.source, count(*) from me.capsule as c where ",
        include_str!("scope.sql"),
        " and c.memory_id is not null group by c.source order by count(*) desc, c.source collate \"C\" limit $5"
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

/// Most pinned capsules that a digest shows.
const PINNED_MOST: usize = 20;

/// Runs `memory_digest`.
pub fn digest(session: &Session, fence: &Fence, headlines: u64) -> Result<Value> {
    let now = Stamps::now().stamp;
    let cap = i64::try_from(headlines).unwrap_or(i64::MAX);
    let counts = session
        .db()
        .row(&COUNTS, &[arg(session.space()), readable_roots(session)])?
        .ok_or_else(|| Error::Internal("a digest has no counts".into()))?;
    let standing = standing::now(session, now.pg_micros())?;
    let seen = Seen::of(&standing, fence);
    let mut answer: Map<String, Value> = armour();
    let mut put = |key: &str, value: Value| answer.insert(key.to_owned(), value);
    let mut put_some = |key: &str, values: Vec<Value>, total: Option<usize>| {
        if let Some(total) = total.filter(|total| *total > 0) {
            put(&format!("{key}_total"), total.into());
        }
        if !values.is_empty() {
            put(key, values.into());
        }
    };
    let most = usize::try_from(headlines).unwrap_or(usize::MAX);
    let handoffs = named(session, &HANDOFFS, fence, [arg(i64::MAX)])?;
    let shown = in_order(session, &handoffs[..handoffs.len().min(most)])?;
    put_some("handoff", entries(&shown, &now)?, Some(handoffs.len()));
    let pinned: Vec<i64> = seen.pinned.iter().rev().take(PINNED_MOST.min(most)).copied().collect();
    put_some("pinned", entries(&in_order(session, &pinned)?, &now)?, Some(seen.pinned.len()));
    let open = [arg("epic"), arg(vec!["supersedes", "falsifies", "witnesses"]), arg(i64::MAX)];
    let open = named(session, &OF_KIND, fence, open)?;
    let newest_open = in_order(session, &open[..open.len().min(most)])?;
    put_some("open_efforts", entries(&newest_open, &now)?, None);
    let missions = named(session, &MISSIONS, fence, [arg(i64::MAX)])?;
    if !missions.is_empty() {
        let newest = in_order(session, &missions[..missions.len().min(most)])?;
        put_some("mission", entries(&newest, &now)?, None);
        let adrift = unanchored(session, &open, &missions)?;
        let newest = in_order(session, &adrift[..adrift.len().min(most)])?;
        put_some("unanchored", entries(&newest, &now)?, None);
    }
    let failures = [arg("failure_pattern"), arg(vec!["supersedes", "falsifies"]), arg(cap)];
    put_some("recent_failures", entries(&ordered(session, &OF_KIND, fence, failures)?, &now)?, None);
    put_some("sources", sources(session, fence, cap)?, None);

    put("total", seen.total.into());
    if seen.total > 0 {
        put("newest_total", seen.total.into());
    }
    if seen.staged > 0 {
        put("staged", seen.staged.into());
    }
    put("by_project", seen.by_project());
    put("newest", entries(&list::newest_in(session, fence, headlines)?, &now)?.into());
    let recalled = recalled(session, &standing, fence)?;
    if !recalled.is_empty() {
        put("most_recalled_total", recalled.len().into());
    }
    put("most_recalled", most_recalled(session, recalled, most, &now)?.into());
    put("relations", counts.need::<i64>(1)?.into());
    put("open_sessions", counts.need::<i64>(2)?.into());
    put("open_session_ids", open_sessions(session, cap)?.into());
    put("audit_events", counts.need::<i64>(3)?.into());
    put("recall_misses", counts.need::<i64>(4)?.into());
    put("dag", graph::load(session)?.readiness().to_json(most));
    put("tiers", seen.tiers());
    let (verdict, out_of_band) = verify::verify_new(session, &standing.standing)?;
    put("journal", verdict.to_json(out_of_band));
    put("archive_candidates", consolidate::archive_candidates(session, &now)?.into());
    Ok(answer.into())
}

/// What is counted over every capsule that the caller may read.
#[derive(Default)]
struct Seen {
    /// Behind the fence.
    total: usize,
    /// Likewise: all, and those that nothing replaces.
    projects: BTreeMap<String, (usize, usize)>,
    /// Likewise, by number.
    pinned: Vec<i64>,
    /// Likewise.
    staged: usize,
    /// Wherever they stand.
    by_tier: [usize; 3],
}

impl Seen {
    fn of(now: &Now, fence: &Fence) -> Self {
        let places = now.standing.places();
        let inside: Vec<bool> = places.iter().map(|place| fence.admits(&place.project_id)).collect();
        let mut by_place = vec![(0, 0); places.len()];
        let mut seen = Self::default();
        for (seq, frame) in now.standing.iter() {
            let place = frame.place as usize;
            if !now.readable[place] {
                continue;
            }
            seen.by_tier[frame.tier as usize] += 1;
            if !inside[place] {
                continue;
            }
            seen.total += 1;
            seen.staged += usize::from(frame.staged);
            let counts: &mut (usize, usize) = &mut by_place[place];
            *counts = (counts.0 + 1, counts.1 + usize::from(!frame.superseded));
            if frame.pinned {
                seen.pinned.push(seq);
            }
        }
        for (place, (all, live)) in places.iter().zip(by_place).filter(|(_, counts)| counts.0 > 0) {
            let counts = seen.projects.entry(place.project_id.clone()).or_default();
            *counts = (counts.0 + all, counts.1 + live);
        }
        seen
    }

    fn by_project(&self) -> Value {
        let row = |(project, (count, live)): (&String, &(usize, usize))| json!({"project_id": project, "count": count, "live": live});
        self.projects.iter().map(row).collect::<Vec<_>>().into()
    }

    fn tiers(&self) -> Value {
        let of = |tier: Tier| (tier.word().to_owned(), self.by_tier[tier as usize].into());
        Value::Object(Tier::ALL.iter().map(|tier| of(*tier)).collect())
    }
}

/// The open efforts that are grounded in nothing, and are no mission themselves.
fn unanchored(session: &Session, open: &[i64], missions: &[i64]) -> Result<Vec<i64>> {
    let args = [arg(session.space()), readable_roots(session), arg(open.to_vec())];
    let rows = session.db().run(&GROUNDED, &args)?;
    let grounded = rows.into_iter().map(|row| row.need(1)).collect::<Result<HashSet<i64>>>()?;
    let is_adrift = |seq: &&i64| !grounded.contains(seq) && !missions.contains(seq);
    Ok(open.iter().filter(is_adrift).copied().collect())
}

fn sources(session: &Session, fence: &Fence, cap: i64) -> Result<Vec<Value>> {
    let rows = session.db().run(&SOURCES, &scope_args(session, fence, [arg(cap)]))?;
    rows.into_iter()
        .map(|row| Ok(json!({"source": row.need::<String>(1)?, "count": row.need::<i64>(2)?})))
        .collect()
}

/// The capsules that a statement names, in its order.
fn ordered<const OWN: usize>(
    session: &Session,
    statement: &'static std::thread::LocalKey<crate::store::spi::Statement>,
    fence: &Fence,
    own: [Option<pgrx::pg_sys::Datum>; OWN],
) -> Result<Vec<State>> {
    in_order(session, &named(session, statement, fence, own)?)
}

/// Their numbers.
fn named<const OWN: usize>(
    session: &Session,
    statement: &'static std::thread::LocalKey<crate::store::spi::Statement>,
    fence: &Fence,
    own: [Option<pgrx::pg_sys::Datum>; OWN],
) -> Result<Vec<i64>> {
    let rows = session.db().run(statement, &scope_args(session, fence, own))?;
    rows.into_iter().map(|row| row.need(1)).collect()
}

/// Capsules in the order in which they are named.
fn in_order(session: &Session, seqs: &[i64]) -> Result<Vec<State>> {
    let places: HashMap<i64, usize> = seqs.iter().enumerate().map(|(place, seq)| (*seq, place)).collect();
    let mut states = state::by_seqs(session, seqs)?;
    states.sort_by_key(|state| places.get(&state.seq).copied());
    Ok(states)
}

fn entries(states: &[State], now: &Stamp) -> Result<Vec<Value>> {
    states.iter().map(|state| Ok(Value::Object(state.entry(now)?))).collect()
}

/// How often a capsule was recalled, and when last, and its number.
type Recalled = (i64, i64, i64);

/// The capsules behind the fence that the caller may read and that were ever recalled: where they stand is known, and a join
/// would read each to learn it.
fn recalled(session: &Session, now: &Now, fence: &Fence) -> Result<Vec<Recalled>> {
    let places = now.standing.places().iter().zip(&now.readable);
    let inside: Vec<bool> =
        places.map(|(place, readable)| *readable && fence.admits(&place.project_id)).collect();
    let mut recalled = Vec::new();
    let rows = session.db().run(&USAGE, &[arg(session.space())])?;
    for row in rows.iter() {
        let seq: i64 = row.need(1)?;
        if now.standing.frame(seq).is_some_and(|frame| inside[frame.place as usize]) {
            recalled.push((row.need(2)?, row.need::<TimestampWithTimeZone>(3)?.into(), seq));
        }
    }
    rows.free();
    Ok(recalled)
}

/// The most recalled first, of those that were recalled as often the last one.
fn most_recalled(
    session: &Session,
    mut recalled: Vec<Recalled>,
    most: usize,
    now: &Stamp,
) -> Result<Vec<Value>> {
    let order = |one: &Recalled| (Reverse(one.0), Reverse(one.1), one.2);
    if most < recalled.len() {
        recalled.select_nth_unstable_by_key(most, order);
        recalled.truncate(most);
    }
    recalled.sort_unstable_by_key(order);
    let seqs: Vec<i64> = recalled.iter().map(|(_, _, seq)| *seq).collect();
    in_order(session, &seqs)?
        .iter()
        .map(|state| {
            let mut entry = state.entry(now)?;
            if let Some((count, at)) = &state.usage {
                entry.insert("recall_count".into(), (*count).into());
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
