//! Which capsules hold which tokens.

use super::book::Book;
use crate::domain::capsule::posting::Posting;
use crate::domain::capsule::similar::{CANDIDATES, FURTHER, Hunt, Known, LOOKED_AT, Words};
use crate::error::Result;
use crate::statement;
use crate::store::keyed::{Key, Keyed, Kind, Tables};
use crate::store::owner::looking_up;
use crate::store::reading::{Asked, Is, Reading};
use crate::store::session::Session;
use crate::store::spi::arg;
use std::collections::{HashMap, HashSet};

statement!(
    POSTINGS,
    ["select t.token, pg_catalog.array_agg(t.seq order by t.seq), pg_catalog.array_agg(t.count order by t.seq)
      from me.capsule_token as t where t.space = $1 and t.token = any ($2) group by t.token"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    /// The newest capsules that hold a token.
    NEWEST,
    ["select t.seq from me.capsule_token as t where t.space = $1 and t.token = $2 order by t.seq desc limit $3"],
    [TEXTOID, TEXTOID, INT8OID]
);
statement!(
    /// Those of some capsules that belong to a project.
    OF_PROJECT,
    ["select c.seq from me.capsule as c
      where c.space = $1 and c.seq = any ($2) and c.project_id = $3 and c.memory_id is not null"],
    [TEXTOID, INT8ARRAYOID, TEXTOID]
);

/// By token, and oldest first.
static HOLDERS: Keyed = Keyed {
    table: c"capsule_token",
    index: c"capsule_token_pkey",
    keys: &[0, 1, 2],
    columns: &[(c"space", Kind::Text), (c"token", Kind::Text), (c"seq", Kind::Int8), (c"count", Kind::Int4)],
};
/// Where in them each is.
const SEQ: usize = 2;
const COUNT: usize = 3;

/// The postings of some tokens; a token that nothing holds has none.
pub fn of(session: &Session, tokens: &[String]) -> Result<HashMap<String, Posting>> {
    if let Some(found) = session.db().under_snapshot(|_| by_key(session.space(), tokens))? {
        return Ok(found);
    }
    looking_up(|| session.db().run(&POSTINGS, &[arg(session.space()), arg(tokens.to_vec())]))?
        .into_iter()
        .map(|row| Ok((row.need(1)?, Posting { seqs: row.need(2)?, counts: row.need(3)? })))
        .collect()
}

/// The same by key, under the snapshot that is active; `None` where that cannot be.
fn by_key(space: &str, tokens: &[String]) -> Result<Option<HashMap<String, Posting>>> {
    let Some(holders) = Reading::now().and_then(|reading| reading.open(&HOLDERS)) else { return Ok(None) };
    let mut found = HashMap::with_capacity(tokens.len());
    for token in tokens {
        let mut posting = Posting::default();
        let asked = [(0, Key::Text(space)), (1, Key::Text(token))].map(|(column, key)| Asked {
            column,
            is: Is::Equal,
            key,
        });
        let readable = holders.covered(&asked, (SEQ, COUNT), |seq, count| {
            posting.seqs.push(seq);
            posting.counts.push(count);
            Ok(())
        })?;
        if !readable {
            return Ok(None);
        }
        if !posting.seqs.is_empty() {
            found.insert(token.clone(), posting);
        }
    }
    Ok(Some(found))
}

/// The capsules that a new text may be similar to: of all, and of one project (CAP-ING-21, CAP-ING-22).
pub fn similar(book: &Book, words: &Words, project: &str) -> Result<Vec<i64>> {
    let session = book.session();
    let hunt = Hunt::of(words);
    let mut known = Vec::with_capacity(hunt.tokens().len());
    for token in hunt.tokens() {
        known.push(newest(session, token, LOOKED_AT)?);
    }
    let mut left = FURTHER;
    while let Some(place) = hunt.next(&known, book.capsules, left) {
        known[place] = newest(session, &hunt.tokens()[place], left)?;
        left = left.saturating_sub(known[place].seqs.len()).max(LOOKED_AT);
        if !known[place].whole {
            break;
        }
    }
    let mut found = hunt.quarry(&known, book.capsules);
    if found.len() > CANDIDATES {
        let rest = found.split_off(CANDIDATES);
        let args = [arg(session.space()), arg(rest.clone()), arg(project)];
        let own = looking_up(|| session.db().run(&OF_PROJECT, &args))?.into_iter().map(|row| row.need(1));
        let own = own.collect::<Result<HashSet<i64>>>()?;
        found.extend(rest.into_iter().filter(|seq| own.contains(seq)).take(CANDIDATES));
    }
    Ok(found)
}

/// The newest capsules that hold a token. Whoever is named may be gone meanwhile, or never have been.
fn newest(session: &Session, token: &str, limit: usize) -> Result<Known> {
    let one_more = limit + 1;
    let mut seqs = Vec::new();
    let by_key = session.db().under_snapshot(|snapshot| {
        let Some(holders) = Tables::here().and_then(|tables| tables.open(&HOLDERS)) else {
            return Ok(false);
        };
        holders.entries(snapshot, &[Key::Text(session.space()), Key::Text(token)], |seq| {
            seqs.push(seq);
            seqs.len() < one_more
        })
    })?;
    if !by_key {
        let args = [arg(session.space()), arg(token), arg(i64::try_from(one_more).unwrap_or(i64::MAX))];
        for row in looking_up(|| session.db().run(&NEWEST, &args))? {
            seqs.push(row.need(1)?);
        }
    }
    Ok(Known::new(seqs, limit))
}
