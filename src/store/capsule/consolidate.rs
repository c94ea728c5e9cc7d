//! `memory_consolidate`: what could be tidied up, and the moves between tiers (CAP-CONS).

use super::book::Book;
use super::rows::{Stamps, instant, readable_roots};
use super::state::{self, State};
use super::vocabulary::require_writer;
use crate::domain::access::Level;
use crate::domain::capsule::consolidate::{
    AliasProposal, Move, SHARED_PREFIX, Subject, alias_proposals, near_duplicates, stored_prefixes,
};
use crate::domain::capsule::project::Fence;
use crate::domain::capsule::record::{armour, id_of, number};
use crate::domain::capsule::stamp::Stamp;
use crate::error::Result;
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::{Value, json};
use std::collections::BTreeSet;

statement!(
    MOVE,
    ["insert into me.capsule_tier (space, seq, memory_id, tier, at) values ($1, $2, $3, $4, $5)
      on conflict (space, seq) do update set tier = excluded.tier, at = excluded.at"],
    [TEXTOID, INT8OID, UUIDOID, TEXTOID, TIMESTAMPTZOID]
);
statement!(
    /// Missed terms for which nothing was taught.
    MISSES,
    ["select m.term, m.miss_count from me.capsule_miss as m
      where m.space = $1 and not exists (
        select from me.capsule_alias as a where a.space = m.space and a.term = m.term)
      order by m.miss_count desc, m.term limit 1000"],
    [TEXTOID]
);
statement!(
    /// The words of capsules the caller may read: anybody can make a miss, and would fish for words with it.
    WORDS,
    ["select distinct t.token from unnest($2::text[]) as p (prefix)
      join me.capsule_token as t on t.space = $1 and t.token >= p.prefix collate \"C\"
        and t.token < (p.prefix || pg_catalog.chr(1114111)) collate \"C\"
      where $3::text[] is null or exists (
        select from me.capsule as c
        where c.space = $1 and c.seq = t.seq and c.tree operator({ltree}.<@) any ($3::{ltree}.ltree[]))"],
    [TEXTOID, TEXTARRAYOID, TEXTARRAYOID]
);
statement!(
    /// Replaced ones that are expired, or old and never recalled.
    REPLACED,
    [
        include_str!("state.sql"),
        include_str!("capsule.sql"),
        " where c.space = $1 and c.memory_id is not null and c.tier = 'active' and not c.pinned
           and ($2::text[] is null or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))
           and c.seq in (
             select r.to_seq from me.capsule_relation as r where r.space = $1 and r.kind = 'supersedes')
           and (c.valid_to_at < $3 or (c.recall_count = 0 and c.created_at < $4))
         order by c.seq"
    ],
    [TEXTOID, TEXTARRAYOID, TIMESTAMPTZOID, TIMESTAMPTZOID]
);

/// What a call that writes nothing answers.
pub fn plan(session: &Session) -> Result<Value> {
    let now = Stamps::now().stamp;
    let states = state::in_scope(session, &Fence::default())?;
    let moves = moves(&states, &now)?;
    answer(session, &states, &moves, None)
}

/// Applies the moves, and answers with the plan they came from.
pub fn apply(book: &mut Book) -> Result<Value> {
    let session = book.session();
    require_writer(session)?;
    let states = state::in_scope(session, &Fence::default())?;
    let mut moves = moves(&states, &book.now().clone())?;
    let writable = |one: &Move| {
        let state = states.iter().find(|state| state.seq == one.seq);
        state.is_some_and(|state| session.rights().allow(Level::Write, &state.tree))
    };
    moves.retain(writable);
    let answer = answer(session, &states, &moves, Some(moves.len()))?;
    for one in &moves {
        let memory_id = states.iter().find(|state| state.seq == one.seq).and_then(|state| state.memory_id);
        session.db().run(
            &MOVE,
            &[
                arg(session.space()),
                arg(one.seq),
                memory_id.and_then(arg),
                arg(one.to.word()),
                arg(book.now_at()),
            ],
        )?;
        book.note("memory_consolidate", &id_of(one.seq), Some(&format!("{}: {}", one.to.word(), one.reason)));
    }
    Ok(answer)
}

/// How many the planner would put away now.
pub fn archive_candidates(session: &Session, now: &Stamp) -> Result<usize> {
    let half_a_year_ago = now.plus_seconds(-180 * 86_400);
    let args = [arg(session.space()), readable_roots(session), instant(now), instant(&half_a_year_ago)];
    let states = session
        .db()
        .run(&REPLACED, &args)?
        .into_iter()
        .map(|row| State::from_row(&row))
        .collect::<Result<Vec<_>>>()?;
    use crate::domain::capsule::words::Tier;
    Ok(moves(&states, now)?.into_iter().filter(|one| one.to == Tier::Archived).count())
}

fn subject(state: &State) -> Result<Subject<'_>> {
    let record = state.live()?;
    Ok(Subject {
        seq: state.seq,
        content: &record.content,
        tier: state.tier,
        authority: record.authority,
        tainted: record.instruction_taint,
        superseded: state.superseded,
        pinned: state.pinned,
        valid_to: record.valid_to.as_ref(),
        created: &state.created,
        recalls: state.usage.as_ref().map_or(0, |(count, _)| *count),
    })
}

fn moves(states: &[State], now: &Stamp) -> Result<Vec<Move>> {
    let proposed = states.iter().map(|state| Ok(subject(state)?.proposed_move(now)));
    Ok(proposed.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn answer(session: &Session, states: &[State], moves: &[Move], applied: Option<usize>) -> Result<Value> {
    let subjects = states.iter().map(subject).collect::<Result<Vec<_>>>()?;
    let merges: Vec<Value> = near_duplicates(&subjects)
        .into_iter()
        .map(|group| {
            json!({
                "ids": group.seqs.iter().map(|seq| id_of(*seq)).collect::<Vec<_>>(),
                "containment_score": number(group.score),
                "rationale": format!("{} capsules share at least half of their words", group.seqs.len()),
            })
        })
        .collect();
    let moves: Vec<Value> = moves
        .iter()
        .map(|one| json!({"id": id_of(one.seq), "to": one.to.word(), "reason": one.reason}))
        .collect();
    let duplicates = exact_duplicates(states);
    let mut answer = armour();
    answer.insert("considered".into(), states.len().into());
    answer.insert("store_invariant_breach".into(), (!duplicates.is_empty()).into());
    answer.insert(
        "plan".into(),
        json!({
            "exact_dupes": duplicates,
            "merge_proposals": merges,
            "tier_moves": moves,
            "alias_proposals": aliases(session)?,
        }),
    );
    answer.insert("applied".into(), applied.is_some().into());
    answer.insert("applied_tier_moves".into(), applied.unwrap_or(0).into());
    Ok(answer.into())
}

/// Capsules of one content: there are none while hashes are unique (CAP-CONS-2).
fn exact_duplicates(states: &[State]) -> Vec<Value> {
    let mut kept: std::collections::HashMap<&str, i64> = std::collections::HashMap::new();
    let mut rows = Vec::new();
    for state in states {
        match kept.get(state.source_hash.as_str()) {
            Some(keep) => {
                rows.push(
                    json!({"keep": id_of(*keep), "drop": state.id(), "source_hash": state.source_hash}),
                );
            }
            None => {
                kept.insert(&state.source_hash, state.seq);
            }
        }
    }
    rows
}

fn aliases(session: &Session) -> Result<Vec<Value>> {
    let space = arg(session.space());
    let misses: Vec<(String, i64)> = session
        .db()
        .run(&MISSES, &[space])?
        .into_iter()
        .map(|row| Ok((row.need(1)?, row.need(2)?)))
        .collect::<Result<_>>()?;
    let prefixes: BTreeSet<String> = misses
        .iter()
        .map(|(term, _)| term.chars().take(SHARED_PREFIX).collect::<String>())
        .filter(|prefix| prefix.chars().count() == SHARED_PREFIX)
        .flat_map(|prefix| stored_prefixes(&prefix))
        .collect();
    let mut words: BTreeSet<String> = BTreeSet::new();
    if !prefixes.is_empty() {
        let prefixes: Vec<String> = prefixes.into_iter().collect();
        for row in session.db().run(&WORDS, &[space, arg(prefixes), readable_roots(session)])? {
            words.insert(row.need(1)?);
        }
    }
    let row = |one: AliasProposal| json!({"term": one.term, "candidate": one.candidate, "miss_count": one.miss_count});
    Ok(alias_proposals(&misses, &words).into_iter().map(row).collect())
}
