//! `memory_retrieve`: finds, fences and orders capsules (CAP-RET). The rules are the domain's.

use super::details;
use super::neighbours;
use super::postings;
use super::receipts;
use super::rows::{Stamps, readable_roots, scope_args};
use super::standing;
use super::state::{self, State};
use crate::domain::access::Level;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::fence::{Reach, Reason};
use crate::domain::capsule::probe::Probe;
use crate::domain::capsule::rank::{cost_of_chars, fitting};
use crate::domain::capsule::ranking::{Merits, Ranking, Usage, fence};
use crate::domain::capsule::recall::{Query, cosine, missed};
use crate::domain::capsule::record::{id_of, seq_of};
use crate::domain::capsule::text::fold;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::keyed::{Key, Keyed, Kind, need};
use crate::store::owner::looking_up;
use crate::store::reading::Reading;
use crate::store::session::Session;
use crate::store::spi::arg;
use pgrx::prelude::*;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};

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
    USAGE,
    ["select u.seq, u.recall_count, u.last_recalled_at from me.capsule_usage as u
      where u.space = $1 and u.seq = any ($2)"],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    /// A capsule with all that is part of it, through parts that may be read.
    PARTS,
    ["with recursive part (seq) as (
        select $2
        union
        select r.from_seq from part as p
        join me.capsule_relation as r
          on r.space = $1 and r.kind = 'part_of' and r.to_seq = p.seq and not r.from_outcome
        join me.capsule as c on c.space = $1 and c.seq = r.from_seq
        where $3::text[] is null or c.tree operator({ltree}.<@) any ($3::{ltree}.ltree[])
      )
      select p.seq from part as p"],
    [TEXTOID, INT8OID, TEXTARRAYOID]
);
statement!(
    /// A capsule with all that is about it.
    ABOUT,
    ["select $2 union select r.from_seq from me.capsule_relation as r
      where r.space = $1 and r.kind = 'about' and r.to_seq = $2 and not r.from_outcome"],
    [TEXTOID, INT8OID]
);
statement!(
    LEARNED,
    ["select s.seq, s.score from me.capsule_score as s where s.space = $1 and s.seq = any ($2)"],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    /// How many capsules that may be read witness some others.
    WITNESSES,
    ["select r.to_seq, count(*)::int4 from me.capsule_relation as r
      join me.capsule as c on c.space = r.space and c.seq = r.from_seq and c.memory_id is not null
      where r.space = $1 and r.kind = 'witnesses' and not r.from_outcome and r.to_seq = any ($2)
        and ($3::text[] is null or c.tree operator({ltree}.<@) any ($3::{ltree}.ltree[]))
      group by r.to_seq"],
    [TEXTOID, INT8ARRAYOID, TEXTARRAYOID]
);
statement!(
    MISS,
    ["insert into me.capsule_miss as m (space, term, miss_count, last_at)
      select $1, s.term, 1, $3 from unnest($2::text[]) as s (term) order by s.term collate \"C\"
      on conflict (space, term) do update set miss_count = m.miss_count + 1,
        last_at = greatest(m.last_at, excluded.last_at)"],
    [TEXTOID, TEXTARRAYOID, TIMESTAMPTZOID]
);

static TAUGHT: Keyed = Keyed {
    table: c"capsule_alias",
    index: c"capsule_alias_pkey",
    keys: &[0, 1, 2],
    columns: &[(c"space", Kind::Text), (c"term", Kind::Text), (c"alias", Kind::Text)],
};
static RECALLED: Keyed = Keyed {
    table: c"capsule_usage",
    index: c"capsule_usage_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"seq", Kind::Int8),
        (c"recall_count", Kind::Int8),
        (c"last_recalled_at", Kind::Timestamptz),
    ],
};

/// Rows whose details are read at once.
const PAGE_ROWS: usize = 24;
/// Longest missed term that is recorded, in bytes: it leads an index entry.
const MISS_BYTES: usize = 512;
/// What the rows of an answer are, and what the budget has left.
struct Shown {
    rows: Vec<Box<RawValue>>,
    seqs: Vec<i64>,
    left: u64,
}

/// Runs a call. Where it may not write, it answers all the same and leaves no trace.
pub fn retrieve(session: &Session, query: &Query) -> Result<String> {
    let stamps = Stamps::now();
    let within = within(session, query)?;
    let now = standing::now(session, stamps.stamp.pg_micros())?;
    let taught = aliases(session, &query.terms)?;
    let probe = Probe::new(&query.terms, &taught);
    let mut postings = postings::of(session, &probe.tokens())?;
    if now.readable.contains(&false) {
        postings.values_mut().for_each(|posting| posting.retain(|seq| now.may_read(seq)));
        postings.retain(|_, posting| !posting.seqs.is_empty());
    }
    let lane = probe.lane(&postings, now.corpus);
    let cosines = cosines(session, query)?;
    let reach = Reach::new(query, &now.standing, &now.readable, within.clone());
    let mut ranking = fence(query, stamps.stamp.pg_micros(), &now.standing, &reach, &lane, &cosines, pause);
    order(session, query, &mut ranking)?;
    for _ in 0..tombstones(session, query, within.as_ref())? {
        ranking.excluded.note(Reason::Tombstoned);
    }
    let shown = rows(session, query, &mut ranking, |seq| lane.shown(seq))?;
    let beside = neighbours::Search {
        session,
        query,
        now: &now,
        reach: &reach,
        at: stamps.stamp.pg_micros(),
        budget: shown.left,
        is_grounded: ranking.matched > 0,
    }
    .offer(|seq| lane.finds(seq) || cosines.contains_key(&seq))?;
    let receipt = match session.db().is_read_only() {
        true => None,
        false => record(session, query, &ranking, &shown.seqs, stamps.at)?,
    };
    let mut answer = ranking.answer(query, &probe, shown.rows);
    answer.neighbours = beside;
    answer.receipt_id = receipt.map(|number| format!("rcpt-{number}"));
    unwritable(answer.text())
}

/// What cannot be written as JSON is an error of ours.
pub(super) fn unwritable<T>(written: serde_json::Result<T>) -> Result<T> {
    written.map_err(|error| Error::Internal(format!("an answer cannot be written: {error}")))
}

/// Lets a cancel or a timeout end the call.
fn pause() {
    pgrx::check_for_interrupts!();
}

/// The capsules that belong to the effort and to the topic of a query, if it names any.
fn within(session: &Session, query: &Query) -> Result<Option<HashSet<i64>>> {
    let mut within: Option<HashSet<i64>> = None;
    for (id, is_effort) in [(&query.effort_id, true), (&query.topic_id, false)] {
        let Some(id) = id else { continue };
        let space = arg(session.space());
        let seq = arg(state::find(session, id)?.seq);
        let rows = match is_effort {
            true => session.db().run(&PARTS, &[space, seq, readable_roots(session)])?,
            false => session.db().run(&ABOUT, &[space, seq])?,
        };
        let of: HashSet<i64> = rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?;
        within = Some(match within {
            Some(others) => others.intersection(&of).copied().collect(),
            None => of,
        });
    }
    Ok(within)
}

/// What was taught for the folded terms.
fn aliases(session: &Session, terms: &[String]) -> Result<HashMap<String, Vec<String>>> {
    let folded: Vec<String> = terms.iter().map(|term| fold(term)).collect();
    let by_key = session.db().under_snapshot(|_| aliases_by_key(session.space(), &folded))?;
    if let Some(taught) = by_key {
        return Ok(taught);
    }
    let mut taught: HashMap<String, Vec<String>> = HashMap::new();
    for row in session.db().run(&ALIASES, &[arg(session.space()), arg(folded)])? {
        taught.entry(row.need(1)?).or_default().push(row.need(2)?);
    }
    Ok(taught)
}

/// The same by key; `None` where that cannot be. In most spaces nothing was taught: one look says so.
fn aliases_by_key(space: &str, folded: &[String]) -> Result<Option<HashMap<String, Vec<String>>>> {
    let Some(table) = Reading::now().and_then(|reading| reading.open(&TAUGHT)) else { return Ok(None) };
    let mut taught: HashMap<String, Vec<String>> = HashMap::new();
    let mut any = false;
    let mut readable = table.rows(&[Key::Text(space)], |_| {
        any = true;
        Ok(false)
    })?;
    for term in folded {
        if !any || !readable || taught.contains_key(term) {
            continue;
        }
        readable &= table.rows(&[Key::Text(space), Key::Text(term)], |found| {
            taught.entry(term.clone()).or_default().push(need(found.text(2))?.to_owned());
            Ok(true)
        })?;
    }
    Ok(readable.then_some(taught))
}

/// How often some capsules were recalled, and when last; of one that never was, nothing.
fn usage(session: &Session, seqs: Vec<i64>) -> Result<HashMap<i64, Usage>> {
    let mut usage: HashMap<i64, Usage> = HashMap::new();
    let by_key = session.db().under_snapshot(|_| {
        let Some(table) = Reading::now().and_then(|reading| reading.open(&RECALLED)) else {
            return Ok(false);
        };
        for seq in &seqs {
            let readable = table.rows(&[Key::Text(session.space()), Key::Int8(*seq)], |found| {
                usage.insert(*seq, (found.timestamptz(3), need(found.int8(2))?));
                Ok(false)
            })?;
            if !readable {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    if !by_key {
        for row in looking_up(|| session.db().run(&USAGE, &[arg(session.space()), arg(seqs)]))? {
            let last = row.get::<TimestampWithTimeZone>(3).map(i64::from);
            usage.insert(row.need(1)?, (last, row.need(2)?));
        }
    }
    Ok(usage)
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

/// Settles what words and weights leave open, and takes in what was learned where the query asks for it.
fn order(session: &Session, query: &Query, ranking: &mut Ranking) -> Result<()> {
    let space = arg(session.space());
    let tied = ranking.tied();
    if !tied.is_empty() {
        let usage = usage(session, tied)?;
        ranking.settle(&usage);
    }
    let mut merits = Merits::default();
    let seqs = || arg(ranking.rows.iter().map(|row| row.seq).collect::<Vec<_>>());
    if query.weight_blend > 0.0 {
        for row in session.db().run(&LEARNED, &[space, seqs()])? {
            merits.learned.insert(row.need(1)?, row.need(2)?);
        }
    }
    if query.corroboration_blend > 0.0 {
        for row in session.db().run(&WITNESSES, &[space, seqs(), readable_roots(session)])? {
            merits.witnesses.insert(row.need(1)?, u32::try_from(row.need::<i32>(2)?).unwrap_or(0));
        }
    }
    ranking.blend(query, &merits);
    Ok(())
}

/// How many terms are the id of a forgotten capsule: whatever its project (CAP-RET-9).
fn tombstones(session: &Session, query: &Query, within: Option<&HashSet<i64>>) -> Result<usize> {
    let seqs: Vec<i64> = query.terms.iter().filter_map(|term| seq_of(term)).collect();
    if seqs.is_empty() {
        return Ok(0);
    }
    let counts = |state: &&State| {
        state.is_forgotten()
            && session.rights().allow(Level::Read, &state.tree)
            && query.session_id.as_ref().is_none_or(|label| state.session_id.as_ref() == Some(label))
            && within.is_none_or(|within| within.contains(&state.seq))
    };
    Ok(state::by_seqs(session, &seqs)?.iter().filter(counts).count())
}

/// The rows that fit limit and budget: details are read page by page, until no more fit (CAP-RET-16, CAP-RET-17).
/// What was forgotten while this call ran is no match any more.
fn rows(
    session: &Session,
    query: &Query,
    ranking: &mut Ranking,
    matched_terms: impl Fn(i64) -> Vec<String>,
) -> Result<Shown> {
    let limit = query.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut shown = Shown { rows: Vec::new(), seqs: Vec::new(), left: query.token_budget };
    let mut costs: Vec<u64> = Vec::new();
    let mut gone: Vec<i64> = Vec::new();
    if query.token_budget == 0 {
        return Ok(shown);
    }
    let wanted = &ranking.rows[..ranking.rows.len().min(limit)];
    'pages: for page in wanted.chunks(PAGE_ROWS) {
        let seqs: Vec<i64> = page.iter().map(|ranked| ranked.seq).collect();
        let mut details = details::of(session, &seqs)?;
        for ranked in page {
            let Some(detail) = details.remove(&ranked.seq) else {
                gone.push(ranked.seq);
                continue;
            };
            let row = ranking.row(ranked, shown.rows.len() + 1, matched_terms(ranked.seq), &detail);
            let row = unwritable(row.text())?;
            costs.push(cost_of_chars(row.get().chars().count()));
            if fitting(costs.iter().copied(), query.token_budget) < costs.len() {
                break 'pages;
            }
            shown.left = shown.left.saturating_sub(costs.last().copied().unwrap_or(0));
            shown.rows.push(row);
            shown.seqs.push(ranked.seq);
        }
    }
    ranking.drop_missing(|seq| !gone.contains(&seq));
    Ok(shown)
}

/// Counts what was returned, and notes terms that found nothing (CAP-RET-21, CAP-RET-22); answers with the number of the
/// receipt, if there is one.
fn record(
    session: &Session,
    query: &Query,
    ranking: &Ranking,
    shown: &[i64],
    at: TimestampWithTimeZone,
) -> Result<Option<i64>> {
    let mut receipt = None;
    if ranking.matched > 0 {
        receipt = Some(receipts::give(session, shown, at)?);
    }
    let a_row_matched = ranking.rows.iter().any(|ranked| ranked.matched > 0 && shown.contains(&ranked.seq));
    // A recall that was cut down to nothing by limit or budget still found its terms.
    if a_row_matched || (ranking.by_text && shown.is_empty()) {
        return Ok(receipt);
    }
    let terms: Vec<String> =
        missed(&query.terms).into_iter().filter(|term| term.len() <= MISS_BYTES).collect();
    if !terms.is_empty() {
        session.db().run(&MISS, &[arg(session.space()), arg(terms), arg(at)])?;
    }
    Ok(receipt)
}
