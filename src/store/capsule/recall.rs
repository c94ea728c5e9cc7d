//! `memory_retrieve`: finds, fences and orders capsules (CAP-RET). The rules are the domain's.

use super::files::{self, Found as Place};
use super::postings;
use super::rows::{Stamps, scope_args, written};
use super::state::{self, State};
use crate::domain::access::Level;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::rank::{cost, fitting};
use crate::domain::capsule::recall::{Candidate, Detail, Found, Probe, Query, Ranking, cosine, missed, rank};
use crate::domain::capsule::record::{id_of, seq_of};
use crate::domain::capsule::text::{fold, headline};
use crate::domain::capsule::words::{Tier, Verdict};
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::{Row, Statement, arg};
use pgrx::pg_sys::BuiltinOid;
use pgrx::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

thread_local! {
    /// Planned for each call: a handful of matches and half a space want other plans.
    static CANDIDATES: Statement = const {
        Statement::new(
            &[
                include_str!("candidates.sql"),
                include_str!("capsule.sql"),
                " where ",
                include_str!("scope.sql"),
                " and c.seq = any ($5) and c.memory_id is not null and ($6::text is null or c.session_id = $6)",
            ],
            &[
                BuiltinOid::TEXTOID,
                BuiltinOid::TEXTARRAYOID,
                BuiltinOid::TEXTOID,
                BuiltinOid::TEXTOID,
                BuiltinOid::INT8ARRAYOID,
                BuiltinOid::TEXTOID,
            ],
        )
        .planned_per_call()
    };
}
statement!(
    VECTORS,
    [
        "select c.seq, v.embedding from me.capsule as c
         join me.capsule_vector as v on v.space = c.space and v.seq = c.seq
         where ",
        include_str!("scope.sql"),
        " and c.memory_id is not null and ($5::text is null or c.session_id = $5) order by c.seq"
    ],
    [TEXTOID, TEXTARRAYOID, TEXTOID, TEXTOID, TEXTOID]
);
statement!(
    ALIASES,
    ["select a.term, a.alias from me.capsule_alias as a where a.space = $1 and a.term = any ($2)
      order by a.term, a.alias"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    /// In order of number: two recalls of the same capsules wait for each other instead of dying in a deadlock.
    USE,
    ["insert into me.capsule_usage as u (space, seq, recall_count, last_recalled_at)
      select $1, s.seq, 1, $3 from unnest($2::int8[]) as s (seq) order by s.seq
      on conflict (space, seq) do update set recall_count = u.recall_count + 1,
        last_recalled_at = greatest(u.last_recalled_at, excluded.last_recalled_at)"],
    [TEXTOID, INT8ARRAYOID, TIMESTAMPTZOID]
);
statement!(
    MISS,
    ["insert into me.capsule_miss as m (space, term, miss_count, last_at)
      select $1, s.term, 1, $3 from unnest($2::text[]) as s (term) order by s.term collate \"C\"
      on conflict (space, term) do update set miss_count = m.miss_count + 1,
        last_at = greatest(m.last_at, excluded.last_at)"],
    [TEXTOID, TEXTARRAYOID, TIMESTAMPTZOID]
);
statement!(
    ANCHORS,
    ["select a.seq, a.file_hash from me.capsule_anchor as a where a.space = $1 and a.seq = any ($2)"],
    [TEXTOID, INT8ARRAYOID]
);

/// Rows whose details are read at once.
const PAGE_ROWS: usize = 32;
/// Longest missed term that is recorded, in bytes: it leads an index entry.
const MISS_BYTES: usize = 512;

/// Runs a call. Where it may not write, it answers all the same and leaves no trace.
pub fn retrieve(session: &Session, query: &Query) -> Result<Value> {
    let stamps = Stamps::now();
    let taught = aliases(session, &query.terms)?;
    let probe = Probe::new(&query.terms, &taught);
    let postings = postings::of(session, &probe.tokens())?;
    let matches = probe.matches(&postings);
    let cosines = cosines(session, query)?;
    let seqs: BTreeSet<i64> = matches.keys().chain(cosines.keys()).copied().collect();
    let candidates = candidates(session, query, seqs.into_iter().collect())?;
    let found = Found {
        probe: &probe,
        postings: &postings,
        corpus: postings::corpus(session)?,
        matches: &matches,
        cosines,
    };
    let mut ranking = rank(query, &stamps.stamp, &found, candidates);
    for _ in 0..tombstones(session, query)? {
        ranking.excluded.note("tombstoned");
    }
    let rows = rows(session, query, &ranking)?;
    if !session.db().is_read_only() {
        record(session, query, &ranking, rows.len(), stamps.at)?;
    }
    Ok(ranking.answer(query, probe.aliases, rows))
}

/// What was taught for the folded terms.
fn aliases(session: &Session, terms: &[String]) -> Result<HashMap<String, Vec<String>>> {
    let folded: Vec<String> = terms.iter().map(|term| fold(term)).collect();
    let mut taught: HashMap<String, Vec<String>> = HashMap::new();
    for row in session.db().run(&ALIASES, &[arg(session.space()), arg(folded)])? {
        taught.entry(row.need(1)?).or_default().push(row.need(2)?);
    }
    Ok(taught)
}

/// The cosine of every vector in scope that points the query's way.
fn cosines(session: &Session, query: &Query) -> Result<HashMap<i64, f64>> {
    let Some(wanted) = &query.embedding else { return Ok(HashMap::new()) };
    let mut near = HashMap::new();
    let args = scope_args(session, &query.fence, [query.session_id.as_deref().and_then(arg)]);
    for row in session.db().run(&VECTORS, &args)? {
        let (seq, vector): (i64, Vec<f32>) = (row.need(1)?, row.need(2)?);
        if vector.len() != wanted.len() {
            let message = format!(
                "query_embedding has {} dimensions, and the vector of {} has {}",
                wanted.len(),
                id_of(seq),
                vector.len()
            );
            return Err(Fault::value("query_embedding", message).into());
        }
        let cosine = cosine(wanted, &vector);
        if cosine > 0.0 {
            near.insert(seq, cosine);
        }
    }
    Ok(near)
}

fn candidates(session: &Session, query: &Query, seqs: Vec<i64>) -> Result<Vec<Candidate>> {
    if seqs.is_empty() {
        return Ok(Vec::new());
    }
    let args = scope_args(session, &query.fence, [arg(seqs), query.session_id.as_deref().and_then(arg)]);
    session.db().run(&CANDIDATES, &args)?.into_iter().map(|row| candidate(&row)).collect()
}

fn candidate(row: &Row) -> Result<Candidate> {
    let tier: String = row.need(2)?;
    let micros = |column: i32| row.get::<TimestampWithTimeZone>(column).map(i64::from);
    let seq: i64 = row.need(1)?;
    Ok(Candidate {
        seq,
        tier: Tier::from_word(&tier).ok_or_else(|| Error::Internal(format!("stored tier {tier:?}")))?,
        falsified: row.need(3)?,
        superseded: row.need(4)?,
        staged: row.get::<String>(5).is_some_and(|verdict| verdict != Verdict::Ratified.word()),
        valid_from: written(row, 6)?
            .ok_or_else(|| Error::Internal(format!("{} has no valid_from", id_of(seq))))?,
        valid_to: written(row, 7)?,
        confidence: row.need(8)?,
        pinned: row.need(9)?,
        event: micros(10).zip(micros(11)),
        recalls: row.need(12)?,
        last_recalled: micros(13),
        length: i64::from(row.need::<i32>(14)?),
    })
}

/// How many terms are the id of a forgotten capsule: whatever its project (CAP-RET-9).
fn tombstones(session: &Session, query: &Query) -> Result<usize> {
    let seqs: Vec<i64> = query.terms.iter().filter_map(|term| seq_of(term)).collect();
    if seqs.is_empty() {
        return Ok(0);
    }
    let counts = |state: &&State| {
        state.is_forgotten()
            && session.rights().allow(Level::Read, &state.tree)
            && query.session_id.as_ref().is_none_or(|label| state.session_id.as_ref() == Some(label))
    };
    Ok(state::by_seqs(session, &seqs)?.iter().filter(counts).count())
}

/// The rows that fit limit and budget: details are read page by page, until no more fit (CAP-RET-16, CAP-RET-17).
fn rows(session: &Session, query: &Query, ranking: &Ranking) -> Result<Vec<Value>> {
    let limit = query.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let wanted = &ranking.rows[..ranking.rows.len().min(limit)];
    let mut rows: Vec<Value> = Vec::new();
    let mut costs: Vec<u64> = Vec::new();
    if query.token_budget == 0 {
        return Ok(rows);
    }
    for page in wanted.chunks(PAGE_ROWS) {
        let seqs: Vec<i64> = page.iter().map(|ranked| ranked.candidate.seq).collect();
        let mut details = details(session, &seqs)?;
        for ranked in page {
            let seq = ranked.candidate.seq;
            let detail =
                details.remove(&seq).ok_or_else(|| Error::Internal(format!("{} is missing", id_of(seq))))?;
            let row = ranking.row(ranked, rows.len() + 1, detail);
            costs.push(cost(&row));
            if fitting(costs.iter().copied(), query.token_budget) < costs.len() {
                return Ok(rows);
            }
            rows.push(row);
        }
    }
    Ok(rows)
}

fn details(session: &Session, seqs: &[i64]) -> Result<BTreeMap<i64, Detail>> {
    let mut hashes: HashMap<i64, String> = HashMap::new();
    for row in session.db().run(&ANCHORS, &[arg(session.space()), arg(seqs.to_vec())])? {
        hashes.insert(row.need(1)?, row.need(2)?);
    }
    state::by_seqs(session, seqs)?
        .into_iter()
        .map(|state| {
            let record = state.live()?;
            let place = files::look(&record.anchor);
            let drift = match (&place, hashes.get(&state.seq)) {
                (Place::File(Some(now)), Some(then)) if now == then => "unchanged",
                (Place::File(Some(_)), Some(_)) => "drifted",
                _ => "unknown",
            };
            let live = match place {
                Place::File(_) => json!(true),
                Place::Nothing => json!(false),
                Place::Unknown => json!("unknown"),
            };
            let fields = state.epistemics.as_ref().map(|(fields, _)| fields.clone()).unwrap_or_default();
            let detail = Detail {
                headline: headline(&record.content),
                instruction_taint: record.instruction_taint,
                authority: record.authority.word().to_owned(),
                provenance: record.provenance(),
                anchor_live: live,
                anchor_drift: drift,
                evidence_state: fields.evidence_state.map(|state| state.word().to_owned()),
                proof_hint: fields.proof_hint,
                stale_if: fields.stale_if,
            };
            Ok((state.seq, detail))
        })
        .collect()
}

/// Counts what was returned, and notes terms that found nothing (CAP-RET-21, CAP-RET-22).
fn record(
    session: &Session,
    query: &Query,
    ranking: &Ranking,
    returned: usize,
    at: TimestampWithTimeZone,
) -> Result<()> {
    let shown = &ranking.rows[..returned];
    if !shown.is_empty() {
        let seqs: Vec<i64> = shown.iter().map(|ranked| ranked.candidate.seq).collect();
        session.db().run(&USE, &[arg(session.space()), arg(seqs), arg(at)])?;
    }
    let by_text = ranking.rows.iter().any(|ranked| !ranked.matched_terms.is_empty());
    let a_row_matched = shown.iter().any(|ranked| !ranked.matched_terms.is_empty());
    // A recall that was cut down to nothing by limit or budget still found its terms.
    if a_row_matched || (by_text && shown.is_empty()) {
        return Ok(());
    }
    let terms: Vec<String> =
        missed(&query.terms).into_iter().filter(|term| term.len() <= MISS_BYTES).collect();
    if !terms.is_empty() {
        session.db().run(&MISS, &[arg(session.space()), arg(terms), arg(at)])?;
    }
    Ok(())
}
