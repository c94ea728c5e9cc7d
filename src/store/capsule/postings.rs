//! Which capsules hold which tokens.

use super::book::Book;
use crate::domain::capsule::rank::Corpus;
use crate::domain::capsule::recall::Posting;
use crate::domain::capsule::similar::CANDIDATES;
use crate::domain::capsule::text::index_tokens;
use crate::error::Result;
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use std::collections::{BTreeMap, BTreeSet, HashMap};

statement!(
    POSTINGS,
    ["select t.token, pg_catalog.array_agg(t.seq order by t.seq), pg_catalog.array_agg(t.count order by t.seq)
      from me.capsule_token as t where t.space = $1 and t.token = any ($2) group by t.token"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    /// Of each token at most so many postings, the newest.
    NEWEST,
    ["select p.token, pg_catalog.array_agg(t.seq), pg_catalog.array_agg(t.count)
      from unnest($2::text[]) as p (token)
      cross join lateral (
        select t.seq, t.count from me.capsule_token as t
        where t.space = $1 and t.token = p.token order by t.seq desc limit $3) as t
      group by p.token"],
    [TEXTOID, TEXTARRAYOID, INT8OID]
);
statement!(
    LENGTHS,
    [
        "select c.seq, c.length, c.project_id = $3 from me.capsule as c where c.space = $1 and c.seq = any ($2)"
    ],
    [TEXTOID, INT8ARRAYOID, TEXTOID]
);
statement!(CORPUS, ["select l.capsules, l.tokens from me.capsule_ledger as l where l.space = $1"], [TEXTOID]);

/// Postings of one token that a capture looks at, at most: looking at more would make each capture dearer than the one
/// before.
const LOOKED_AT: usize = 4096;

/// The newest postings of some tokens. Tokens with more than are looked at are left out while others are left.
fn newest(session: &Session, tokens: Vec<String>) -> Result<HashMap<String, Posting>> {
    let most = i64::try_from(LOOKED_AT + 1).unwrap_or(i64::MAX);
    let mut postings: HashMap<String, Posting> = session
        .db()
        .run(&NEWEST, &[arg(session.space()), arg(tokens), arg(most)])?
        .into_iter()
        .map(|row| Ok((row.need(1)?, Posting { seqs: row.need(2)?, counts: row.need(3)? })))
        .collect::<Result<_>>()?;
    if postings.values().any(|posting| posting.seqs.len() <= LOOKED_AT) {
        postings.retain(|_, posting| posting.seqs.len() <= LOOKED_AT);
    }
    Ok(postings)
}

/// The postings of some tokens; a token that nothing holds has none.
pub fn of(session: &Session, tokens: &[String]) -> Result<HashMap<String, Posting>> {
    session
        .db()
        .run(&POSTINGS, &[arg(session.space()), arg(tokens.to_vec())])?
        .into_iter()
        .map(|row| Ok((row.need(1)?, Posting { seqs: row.need(2)?, counts: row.need(3)? })))
        .collect()
}

/// The size of the space, for scores.
pub fn corpus(session: &Session) -> Result<Corpus> {
    let row = session.db().row(&CORPUS, &[arg(session.space())])?;
    row.map_or(Ok(Corpus { documents: 0, tokens: 0 }), |row| {
        Ok(Corpus { documents: row.need(1)?, tokens: row.need(2)? })
    })
}

/// The capsules that match any of the words best: of all, and of one project (CAP-ING-21, CAP-ING-22).
pub fn nearest(book: &Book, words: &[String], project: &str) -> Result<Vec<i64>> {
    let session = book.session();
    let phrases: Vec<Vec<String>> = words.iter().map(|word| index_tokens(word)).collect();
    let tokens: BTreeSet<&String> = phrases.iter().flatten().collect();
    let postings = newest(session, tokens.into_iter().cloned().collect())?;
    let seqs: BTreeSet<i64> = postings.values().flat_map(|posting| posting.seqs.iter().copied()).collect();
    if seqs.len() <= CANDIDATES {
        return Ok(seqs.into_iter().collect());
    }
    let corpus = Corpus { documents: book.capsules, tokens: book.tokens };
    let args = [arg(session.space()), arg(seqs.into_iter().collect::<Vec<_>>()), arg(project)];
    let mut lengths: BTreeMap<i64, (i64, bool)> = BTreeMap::new();
    for row in session.db().run(&LENGTHS, &args)? {
        lengths.insert(row.need(1)?, (i64::from(row.need::<i32>(2)?), row.need(3)?));
    }
    let mut scores: HashMap<i64, f64> = HashMap::new();
    for token in phrases.iter().flatten() {
        let Some(posting) = postings.get(token) else { continue };
        let idf = corpus.idf(posting.seqs.len() as i64);
        for (seq, count) in posting.seqs.iter().zip(&posting.counts) {
            if let Some((length, _)) = lengths.get(seq) {
                *scores.entry(*seq).or_default() += corpus.weight(idf, i64::from(*count), *length);
            }
        }
    }
    let mut order: Vec<(i64, f64)> = scores.into_iter().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let own = order.iter().filter(|(seq, _)| lengths.get(seq).is_some_and(|(_, own)| *own)).take(CANDIDATES);
    let best: BTreeSet<i64> = order.iter().take(CANDIDATES).chain(own).map(|(seq, _)| *seq).collect();
    Ok(best.into_iter().collect())
}
