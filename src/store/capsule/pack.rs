//! Packs of the lists of tokens, so that recall reads a thousand entries at once (docs/capsules.md).
//!
//! They are made of `me.capsule_token`, which stays as it is, and say nothing else. Whoever writes them holds the ledger: as
//! captures and forgettings do, so that a list is packed up to a number below which nothing is added any more. One transaction
//! changes them and nothing they are made of: under every snapshot packs, and the entries behind the last of them, are
//! together what the entries are.

use super::postings::{Lists, Tail};
use crate::domain::capsule::posting::{PACK_LEAST, PACK_MOST, Pack, Posting};
use crate::domain::capsule::text::index_tokens;
use crate::error::Result;
use crate::statement;
use crate::store::caller;
use crate::store::owner::looking_up;
use crate::store::session::{self, Session};
use crate::store::spi::arg;
use crate::store::upkeep::{Answer, Look, Piece};
use pgrx::check_for_interrupts;
use std::collections::BTreeSet;

statement!(
    BEHIND,
    ["select l.capsules > l.packed from me.capsule_ledger as l where l.space = $1"],
    [TEXTOID]
);
statement!(
    LOCK_NOW,
    ["select l.capsules, l.packed from me.capsule_ledger as l where l.space = $1 for update skip locked"],
    [TEXTOID]
);
statement!(PACKED, ["update me.capsule_ledger set packed = $2 where space = $1"], [TEXTOID, INT8OID]);
statement!(
    CONTENTS,
    ["select m.content from me.capsule as c
      join me.memory as m on m.space = c.space and m.id = c.memory_id
      where c.space = $1 and c.seq > $2 and c.seq <= $3 order by c.seq"],
    [TEXTOID, INT8OID, INT8OID]
);
statement!(
    PUT,
    ["insert into me.capsule_posting as p (space, token, first_seq, last_seq, postings)
      select $1, g.token, g.first_seq, g.last_seq, g.postings
      from unnest($2::text[], $3::int8[], $4::int8[], $5::bytea[]) as g (token, first_seq, last_seq, postings)
      on conflict (space, token, first_seq) do update set last_seq = excluded.last_seq, postings = excluded.postings"],
    [TEXTOID, TEXTARRAYOID, INT8ARRAYOID, INT8ARRAYOID, BYTEAARRAYOID]
);
statement!(
    /// The packs that a capsule with some tokens stands in: one of each token at most.
    HOLDING,
    ["select p.token, p.first_seq, p.postings from me.capsule_posting as p
      where p.space = $1 and p.token = any ($2) and p.first_seq <= $3 and p.last_seq >= $3 order by p.token"],
    [TEXTOID, TEXTARRAYOID, INT8OID]
);
statement!(
    REPLACE,
    ["update me.capsule_posting set postings = $4 where space = $1 and token = $2 and first_seq = $3"],
    [TEXTOID, TEXTOID, INT8OID, BYTEAOID]
);
statement!(
    DROP,
    ["delete from me.capsule_posting where space = $1 and token = $2 and first_seq = $3"],
    [TEXTOID, TEXTOID, INT8OID]
);
statement!(
    DROP_FROM,
    ["delete from me.capsule_posting where space = $1 and token = $2 and first_seq >= $3"],
    [TEXTOID, TEXTOID, INT8OID]
);
statement!(CLEAR, ["delete from me.capsule_posting where space = $1"], [TEXTOID]);
statement!(
    /// Where so many capsules were captured since that it is worth a transaction.
    WAITING,
    ["select l.space from me.capsule_ledger as l where l.capsules - l.packed >= $1 order by l.space"],
    [INT8OID]
);

/// Capsules that the worker packs at once: captures and forgettings wait as long.
const PIECE: i64 = 2_000;
/// Those that a call packs at once.
pub const AT_ONCE: i64 = 10_000;
/// Packs that are written by one statement.
const ROWS_AT_ONCE: usize = 200;

/// What a turn did.
#[derive(Debug, Default)]
pub struct Turn {
    /// Packs that were written.
    pub packs: u64,
    /// Whether there is nothing left to do.
    pub complete: bool,
    /// Whether somebody is writing capsules, so that nothing was done.
    pub busy: bool,
}

/// Contents that are in memory at once: each may be as long as a content can be.
const CONTENTS_AT_ONCE: i64 = 100;

/// Packs the lists of the tokens of up to `most` capsules that came since the last time; with `rebuild`, all packs are thrown
/// away first.
pub fn pack(session: &Session, most: i64, rebuild: bool) -> Result<Turn> {
    let space = arg(session.space());
    let done = Turn { complete: true, ..Turn::default() };
    let behind = session.db().row(&BEHIND, &[space])?.map(|row| row.need::<bool>(1)).transpose()?;
    let is_due = behind.is_some_and(|behind| behind || rebuild);
    if !is_due || !may_pack() || !can_be_read(session)? {
        return Ok(done);
    }
    let Some(row) = session.db().row(&LOCK_NOW, &[space])? else {
        return Ok(Turn { busy: true, ..Turn::default() });
    };
    let (capsules, mut packed): (i64, i64) = (row.need(1)?, row.need(2)?);
    if rebuild {
        session.db().run(&CLEAR, &[space])?;
        packed = 0;
    }
    let upto = capsules.min(packed.saturating_add(most));
    let mut tokens = BTreeSet::new();
    let mut read = packed;
    while read < upto {
        let to = upto.min(read + CONTENTS_AT_ONCE);
        let rows = looking_up(|| session.db().run(&CONTENTS, &[space, arg(read), arg(to)]))?;
        for row in rows.iter() {
            tokens.extend(index_tokens(&row.need::<String>(1)?));
        }
        rows.free();
        read = to;
    }
    let Some(packs) = due(session, &tokens)? else { return Ok(done) };
    for rows in packs.chunks(ROWS_AT_ONCE) {
        let column = |value: fn(&(String, Pack)) -> i64| arg(rows.iter().map(value).collect::<Vec<_>>());
        let args = [
            space,
            arg(rows.iter().map(|(token, _)| token.clone()).collect::<Vec<_>>()),
            column(|(_, pack)| pack.first),
            column(|(_, pack)| pack.last),
            arg(rows.iter().map(|(_, pack)| pack.bytes.clone()).collect::<Vec<_>>()),
        ];
        session.db().run(&PUT, &args)?;
    }
    session.db().run(&PACKED, &[space, arg(upto)])?;
    Ok(Turn { packs: packs.len() as u64, complete: upto == capsules, busy: false })
}

/// Whether every statement sees what was committed before it: a list is packed as it is when the ledger is locked, not as it
/// was when the transaction began.
fn may_pack() -> bool {
    // SAFETY: reads the backend's own state.
    unsafe { pgrx::pg_sys::XactIsoLevel <= pgrx::pg_sys::XACT_READ_COMMITTED as i32 }
}

/// Whether lists are read by key: otherwise nobody would read the packs.
fn can_be_read(session: &Session) -> Result<bool> {
    session.db().under_snapshot(|_| Ok(Lists::open(session.space()).is_some()))
}

/// The packs that are due for some tokens: of those that enough capsules hold which no pack knows. `None` when lists are not
/// read by key after all.
fn due(session: &Session, tokens: &BTreeSet<String>) -> Result<Option<Vec<(String, Pack)>>> {
    session.db().under_snapshot(|_| {
        let Some(lists) = Lists::open(session.space()) else { return Ok(None) };
        let mut packs = Vec::new();
        for token in tokens {
            check_for_interrupts!();
            let Some(Tail { pack, mut entries }) = lists.tail(token)? else { return Ok(None) };
            if entries.len() < PACK_LEAST {
                continue;
            }
            // What the last pack holds and has room for more is written anew together with them.
            let mut first = None;
            if let Some((begins, held)) = pack.filter(|(_, held)| held.len() < PACK_MOST) {
                let mut whole = held;
                whole.seqs.append(&mut entries.seqs);
                whole.counts.append(&mut entries.counts);
                (first, entries) = (Some(begins), whole);
            }
            packs.extend(entries.packs(first).into_iter().map(|pack| (token.clone(), pack)));
        }
        Ok(Some(packs))
    })
}

/// Takes a capsule out of the packs of its tokens, for good.
pub fn forget(session: &Session, seq: i64, tokens: &[String]) -> Result<()> {
    let space = arg(session.space());
    let args = [space, arg(tokens.to_vec()), arg(seq)];
    let rows = looking_up(|| session.db().run(&HOLDING, &args))?;
    for row in rows.iter() {
        let first: i64 = row.need(2)?;
        let (space, token, begins) = (space, arg(row.need::<String>(1)?), arg(first));
        let mut posting = Posting::default();
        if posting.unpack(first, &row.need::<Vec<u8>>(3)?).is_err() {
            // Nobody knows what it holds. From here on entries are read one by one.
            session.db().run(&DROP_FROM, &[space, token, begins])?;
            continue;
        }
        posting.retain(|other| other != seq);
        match posting.packs(Some(first)).first() {
            Some(pack) => session.db().run(&REPLACE, &[space, token, begins, arg(&pack.bytes[..])])?,
            None => session.db().run(&DROP, &[space, token, begins])?,
        };
    }
    Ok(())
}

/// The spaces in which lists wait.
pub fn waiting() -> Answer<Look> {
    caller::background(|caller| {
        let rows = caller.db().run(&WAITING, &[arg(PACK_LEAST as i64)])?;
        Ok(Look { places: rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?, next: None })
    })
}

/// Packs the lists of the tokens of some capsules of a space.
pub fn piece(space: &str, _from: u128) -> Answer<Piece> {
    session::background(space, |session| {
        Ok(match pack(session, PIECE, false)? {
            Turn { busy: true, .. } => Piece::Later,
            Turn { complete: true, .. } => Piece::Done,
            Turn { .. } => Piece::More(0),
        })
    })
}
