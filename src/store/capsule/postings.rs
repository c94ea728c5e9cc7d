//! Which capsules hold which tokens.

use super::book::Book;
use crate::domain::capsule::posting::Posting;
use crate::domain::capsule::similar::{CANDIDATES, FURTHER, Hunt, Known, LOOKED_AT, Words};
use crate::error::Result;
use crate::statement;
use crate::store::keyed::{Key, Keyed, Kind, Tables, need};
use crate::store::owner::looking_up;
use crate::store::reading::{Asked, From, Is, Reading, Table};
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

/// The packed parts of them, likewise in order.
static PACKS: Keyed = Keyed {
    table: c"capsule_posting",
    index: c"capsule_posting_pkey",
    keys: &[0, 1, 2],
    columns: &[
        (c"space", Kind::Text),
        (c"token", Kind::Text),
        (c"first_seq", Kind::Int8),
        (c"last_seq", Kind::Int8),
        (c"postings", Kind::Bytea),
    ],
};
/// Where in them each is.
mod pack {
    pub const FIRST: usize = 2;
    pub const LAST: usize = 3;
    pub const POSTINGS: usize = 4;
}

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
    let Some(lists) = Lists::open(space) else { return Ok(None) };
    let mut found = HashMap::with_capacity(tokens.len());
    for token in tokens {
        let Some(posting) = lists.whole(token)? else { return Ok(None) };
        if !posting.is_empty() {
            found.insert(token.clone(), posting);
        }
    }
    Ok(Some(found))
}

/// The lists of a space, open to be read by key: packs, and behind the last pack of a token the entries themselves.
pub(super) struct Lists<'a> {
    space: &'a str,
    packs: Table,
    entries: Table,
}

/// What is behind the packs of a token.
pub(super) struct Tail {
    /// The last pack, and where it begins.
    pub pack: Option<(i64, Posting)>,
    /// The entries behind it.
    pub entries: Posting,
}

impl<'a> Lists<'a> {
    /// Under the snapshot that is active; `None` where one of the tables is not read by key.
    pub fn open(space: &'a str) -> Option<Self> {
        let reading = Reading::now()?;
        Some(Self { space, packs: reading.open(&PACKS)?, entries: reading.open(&HOLDERS)? })
    }

    /// The whole list of a token; `None` when it is not read this way.
    pub fn whole(&self, token: &str) -> Result<Option<Posting>> {
        let (mut posting, mut last, mut sound) = (Posting::default(), 0, true);
        let readable = self.packs.look(&self.key(token).map(equal), From::First, |found| {
            sound =
                posting.unpack(need(found.int8(pack::FIRST))?, need(found.bytea(pack::POSTINGS))?).is_ok();
            last = need(found.int8(pack::LAST))?;
            Ok(sound)
        })?;
        Ok((readable && sound && self.behind(token, last, &mut posting)?).then_some(posting))
    }

    /// The end of the list of a token; as [`whole`](Self::whole).
    pub fn tail(&self, token: &str) -> Result<Option<Tail>> {
        let mut tail = Tail { pack: None, entries: Posting::default() };
        let (mut last, mut sound) = (0, true);
        let asked = self.key(token).map(equal);
        let readable = self.packs.look(&asked, From::Last, |found| {
            let (first, mut posting) = (need(found.int8(pack::FIRST))?, Posting::default());
            sound = posting.unpack(first, need(found.bytea(pack::POSTINGS))?).is_ok();
            last = need(found.int8(pack::LAST))?;
            tail.pack = Some((first, posting));
            Ok(false)
        })?;
        Ok((readable && sound && self.behind(token, last, &mut tail.entries)?).then_some(tail))
    }

    /// Adds the entries of a token behind a number; false when they are not read this way.
    fn behind(&self, token: &str, last: i64, posting: &mut Posting) -> Result<bool> {
        let [space, token] = self.key(token).map(equal);
        let behind = Asked { column: SEQ, is: Is::AtLeast, key: Key::Int8(last.saturating_add(1)) };
        self.entries.covered(&[space, token, behind], (SEQ, COUNT), |seq, count| {
            posting.push(seq, count);
            Ok(())
        })
    }

    fn key<'k>(&'k self, token: &'k str) -> [(usize, Key<'k>); 2] {
        [(0, Key::Text(self.space)), (1, Key::Text(token))]
    }
}

fn equal<'k>((column, key): (usize, Key<'k>)) -> Asked<'k> {
    Asked { column, is: Is::Equal, key }
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
