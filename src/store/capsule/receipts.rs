//! Receipts: what a recall returned, so that a later outcome can say what it was worth (CAP-RET-31, CAP-OUT-1).

use super::state;
use crate::domain::access::Level;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::ranking::{LEARNED_AT_FIRST, learn};
use crate::domain::capsule::record::numbered;
use crate::error::Result;
use crate::statement;
use crate::store::capsule::book::Book;
use crate::store::owner::looking_up;
use crate::store::session::Session;
use crate::store::spi::arg;
use crate::store::uuid_v7;
use pgrx::prelude::*;

statement!(
    /// Counts the recall and gives the receipt. In order of number: two recalls of the same capsules wait for each other
    /// instead of dying in a deadlock.
    GIVE,
    ["with used as (
        insert into me.capsule_usage as u (space, seq, recall_count, last_recalled_at)
        select $1, s.seq, 1, $3 from unnest($2::int8[]) as s (seq)
        on conflict (space, seq) do update set recall_count = u.recall_count + 1,
          last_recalled_at = greatest(u.last_recalled_at, excluded.last_recalled_at)
      )
      insert into me.capsule_receipt (space, number, seqs, at) values ($1, $4, $5, $3)
      on conflict do nothing returning 1"],
    [TEXTOID, INT8ARRAYOID, TIMESTAMPTZOID, INT8OID, INT8ARRAYOID]
);
statement!(
    /// Old receipts go a few at a time.
    PRUNE,
    ["delete from me.capsule_receipt as r
      using (
        select o.number from me.capsule_receipt as o where o.space = $1 and o.number < $2
        order by o.number limit 64 for update skip locked) as o
      where r.space = $1 and r.number = o.number"],
    [TEXTOID, INT8OID]
);
statement!(
    /// The same, when the number was taken: nothing is counted twice.
    GIVE_ANOTHER,
    ["insert into me.capsule_receipt (space, number, seqs, at) values ($1, $4, $2, $3)
      on conflict do nothing returning 1"],
    [TEXTOID, INT8ARRAYOID, TIMESTAMPTZOID, INT8OID]
);
statement!(
    FIND,
    ["select r.seqs from me.capsule_receipt as r where r.space = $1 and r.number = $2"],
    [TEXTOID, INT8OID]
);
statement!(
    SCORES,
    ["select s.seq, s.score from me.capsule_score as s where s.space = $1 and s.seq = any ($2)"],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    LEARN,
    ["insert into me.capsule_score as s (space, seq, score, outcomes, at)
      select $1, w.seq, w.score, 1, $4 from unnest($2::int8[], $3::float8[]) as w (seq, score) order by w.seq
      on conflict (space, seq) do update set score = excluded.score, outcomes = s.outcomes + 1, at = excluded.at"],
    [TEXTOID, INT8ARRAYOID, FLOAT8ARRAYOID, TIMESTAMPTZOID]
);

/// How long receipts are kept, in milliseconds.
const KEPT: i64 = 90 * 86_400_000;
/// One recall in so many takes old ones away.
const PRUNED_EVERY: i64 = 16;
/// Bits of a number below its milliseconds.
const BITS: u32 = 15;

/// Counts the recall of some capsules and stores them under a number, with which it answers.
///
/// Numbers grow with time and come from no counter: recalls wait neither for each other nor for writers.
pub fn give(session: &Session, shown: &[i64], at: TimestampWithTimeZone) -> Result<i64> {
    let id = uuid_v7::next();
    let bytes = id.as_bytes();
    let milliseconds = bytes[..6].iter().fold(0i64, |all, byte| (all << 8) | i64::from(*byte));
    let random = i64::from(u16::from_be_bytes([bytes[14], bytes[15]]) >> 1);
    let mut number = (milliseconds << BITS) | random;
    if random % PRUNED_EVERY == 0 {
        let before = arg((milliseconds - KEPT) << BITS);
        looking_up(|| session.db().run(&PRUNE, &[arg(session.space()), before]))?;
    }
    let mut used = shown.to_vec();
    used.sort_unstable();
    let first = [arg(session.space()), arg(used), arg(at), arg(number), arg(shown.to_vec())];
    if session.db().row(&GIVE, &first)?.is_some() {
        return Ok(number);
    }
    loop {
        number += 1;
        let args = [arg(session.space()), arg(shown.to_vec()), arg(at), arg(number)];
        if session.db().row(&GIVE_ANOTHER, &args)?.is_some() {
            return Ok(number);
        }
    }
}

/// Lets the capsules of a receipt learn from an outcome (CAP-OUT-1). Whoever may not read all of them does not know the
/// receipt; to say what they were worth needs write access to all.
pub fn score(book: &Book, receipt: &str, score: f64) -> Result<()> {
    let session = book.session();
    let unknown = || Fault::Missing { kind: "unknown_receipt", id: receipt.to_owned() };
    let number = numbered(receipt, "rcpt-").ok_or_else(unknown)?;
    let row = session.db().row(&FIND, &[arg(session.space()), arg(number)])?.ok_or_else(unknown)?;
    let seqs: Vec<i64> = row.need(1)?;
    let states = state::by_seqs(session, &seqs)?;
    if !states.iter().all(|state| session.rights().allow(Level::Read, &state.tree)) {
        return Err(unknown().into());
    }
    for state in &states {
        session.require_capsule(Level::Write, &state.tree)?;
    }
    let mut learned: std::collections::BTreeMap<i64, f64> = states
        .iter()
        .filter(|state| !state.is_forgotten())
        .map(|state| (state.seq, LEARNED_AT_FIRST))
        .collect();
    for row in session.db().run(&SCORES, &[arg(session.space()), arg(seqs)])? {
        let (seq, known): (i64, f64) = (row.need(1)?, row.need(2)?);
        learned.entry(seq).and_modify(|at| *at = known);
    }
    let after: Vec<f64> = learned.values().map(|known| learn(*known, score)).collect();
    let seqs: Vec<i64> = learned.into_keys().collect();
    session.db().run(&LEARN, &[arg(session.space()), arg(seqs), arg(after), arg(book.now_at())])?;
    Ok(())
}
