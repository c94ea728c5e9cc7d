//! Which capsules hold which tokens.

use super::book::Book;
use crate::domain::capsule::probe::Posting;
use crate::domain::capsule::similar::{CANDIDATES, Hunt, Known, LOOKED_AT, Words};
use crate::error::Result;
use crate::statement;
use crate::store::owner::looking_up;
use crate::store::session::Session;
use crate::store::spi::arg;
use std::collections::HashMap;

statement!(
    POSTINGS,
    ["select t.token, pg_catalog.array_agg(t.seq order by t.seq), pg_catalog.array_agg(t.count order by t.seq)
      from me.capsule_token as t where t.space = $1 and t.token = any ($2) group by t.token"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    /// Of each token at most so many postings, the newest.
    NEWEST,
    ["select p.token, coalesce(t.seqs, '{}')
      from unnest($2::text[]) as p (token)
      cross join lateral (
        select pg_catalog.array_agg(t.seq) as seqs from (
          select t.seq from me.capsule_token as t
          where t.space = $1 and t.token = p.token order by t.seq desc limit $3) as t) as t"],
    [TEXTOID, TEXTARRAYOID, INT8OID]
);
statement!(
    /// How many of some tokens each of some capsules holds.
    HOLDERS,
    ["select c.seq, count(*) from unnest($3::int8[]) as c (seq)
      cross join unnest($2::text[]) as p (token)
      join me.capsule_token as t on t.space = $1 and t.token = p.token and t.seq = c.seq
      group by c.seq"],
    [TEXTOID, TEXTARRAYOID, INT8ARRAYOID]
);
statement!(
    /// Of some capsules, in their order, the first of one project.
    OF_PROJECT,
    ["select c.seq from unnest($2::int8[]) with ordinality as w (seq, n)
      join me.capsule as c on c.space = $1 and c.seq = w.seq
      where c.project_id = $3 and c.memory_id is not null order by w.n limit $4"],
    [TEXTOID, INT8ARRAYOID, TEXTOID, INT8OID]
);

/// Capsules that may be similar and are looked at more closely, at most.
const QUARRY: usize = 1024;
/// So few texts are rather read than looked at more closely.
const FEW: usize = 6;

/// The postings of some tokens; a token that nothing holds has none.
pub fn of(session: &Session, tokens: &[String]) -> Result<HashMap<String, Posting>> {
    looking_up(|| session.db().run(&POSTINGS, &[arg(session.space()), arg(tokens.to_vec())]))?
        .into_iter()
        .map(|row| Ok((row.need(1)?, Posting { seqs: row.need(2)?, counts: row.need(3)? })))
        .collect()
}

/// The capsules that a new text may be similar to: of all, and of one project (CAP-ING-21, CAP-ING-22).
pub fn similar(book: &Book, words: &Words, project: &str) -> Result<Vec<i64>> {
    let session = book.session();
    let hunt = Hunt::of(words);
    let mut known: HashMap<String, Known> = HashMap::new();
    for looked_at in LOOKED_AT {
        let one_more = i64::try_from(looked_at + 1).unwrap_or(i64::MAX);
        let args = [arg(session.space()), arg(hunt.open(&known)), arg(one_more)];
        for row in looking_up(|| session.db().run(&NEWEST, &args))? {
            let seqs: Vec<i64> = row.need(2)?;
            let whole = seqs.len() <= looked_at;
            known.insert(row.need(1)?, Known { posting: Posting { seqs, counts: Vec::new() }, whole });
        }
        if hunt.is_over(&known) {
            break;
        }
    }
    let mut quarry = hunt.quarry(&known);
    quarry.truncate(QUARRY);
    let open = hunt.open(&known);
    if quarry.len() > FEW && !open.is_empty() {
        let seqs: Vec<i64> = quarry.iter().map(|(seq, _)| *seq).collect();
        let args = [arg(session.space()), arg(open), arg(seqs)];
        let mut holders: HashMap<i64, usize> = HashMap::new();
        for row in looking_up(|| session.db().run(&HOLDERS, &args))? {
            holders.insert(row.need(1)?, usize::try_from(row.need::<i64>(2)?).unwrap_or(usize::MAX));
        }
        hunt.close_in(&mut quarry, &holders);
    }
    let mut found: Vec<i64> = quarry.into_iter().map(|(seq, _)| seq).collect();
    if found.len() > CANDIDATES {
        let args = [arg(session.space()), arg(found.clone()), arg(project), arg(CANDIDATES as i64)];
        let own = looking_up(|| session.db().run(&OF_PROJECT, &args))?.into_iter().map(|row| row.need(1));
        let own = own.collect::<Result<Vec<i64>>>()?;
        found.truncate(CANDIDATES);
        found.extend(own);
        found.sort_unstable();
        found.dedup();
    }
    Ok(found)
}
