//! How the capsules of a space stand, kept by each backend between calls.
//!
//! The head of the journal says what is kept: it is a hash over everything that was ever done to the capsules. When the
//! head has moved on, the journal names what changed; when it is not a later one of the same chain, all is read anew.

use crate::domain::access::Level;
use crate::domain::capsule::rank::Corpus;
use crate::domain::capsule::record::numbered;
use crate::domain::capsule::standing::{Frame, Place, Standing};
use crate::domain::capsule::words::{Tier, Verdict};
use crate::error::{Error, Result};
use crate::statement;
use crate::store::keyed::{Key, Keyed, Kind, Tables, need};
use crate::store::session::{Session, stored_tree};
use crate::store::spi::{Row, arg};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

statement!(
    LEDGER,
    ["select l.journal, l.head, l.capsules, l.tokens from me.capsule_ledger as l where l.space = $1"],
    [TEXTOID]
);
statement!(
    SEAL,
    ["select a.chained_hash from me.capsule_audit as a where a.space = $1 and a.seq = $2"],
    [TEXTOID, INT8OID]
);
statement!(
    CHANGES,
    [
        "select a.subject, a.action from me.capsule_audit as a where a.space = $1 and a.seq > $2 order by a.seq limit $3"
    ],
    [TEXTOID, INT8OID, INT8OID]
);
statement!(
    /// What some capsules and outcomes do to others: an edge changes how its end stands.
    TARGETS,
    ["select r.to_seq from me.capsule_relation as r
      where r.space = $1 and not r.from_outcome and r.from_seq = any ($2) and r.kind in ('supersedes', 'falsifies')
      union
      select r.to_seq from me.capsule_relation as r
      where r.space = $1 and r.kind = 'falsifies' and r.from_outcome and r.from_seq = any ($3)"],
    [TEXTOID, INT8ARRAYOID, INT8ARRAYOID]
);
statement!(
    per call FRAMES,
    ["select c.seq, c.tree::text, c.project_id, c.session_id, c.length, c.valid_from_at, c.valid_to_at, c.confidence
      from me.capsule as c
      where c.space = $1 and c.memory_id is not null and c.seq > $2 and ($3::int8[] is null or c.seq = any ($3))
      order by c.seq limit $4"],
    [TEXTOID, INT8OID, INT8ARRAYOID, INT8OID]
);
statement!(
    per call TIERS,
    ["select t.seq, t.tier from me.capsule_tier as t
      where t.space = $1 and t.tier <> 'active' and ($2::int8[] is null or t.seq = any ($2))"],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    per call EDGES,
    ["select r.to_seq, r.kind from me.capsule_relation as r
      where r.space = $1 and r.kind in ('supersedes', 'falsifies') and ($2::int8[] is null or r.to_seq = any ($2))"],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    per call REVIEWS,
    ["select distinct on (w.seq) w.seq, w.verdict from me.capsule_review as w
      where w.space = $1 and ($2::int8[] is null or w.seq = any ($2)) order by w.seq, w.number desc"],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    per call PINS,
    ["select distinct on (p.seq) p.seq, p.pinned from me.capsule_pin as p
      where p.space = $1 and ($2::int8[] is null or p.seq = any ($2)) order by p.seq, p.number desc"],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    per call EVENTS,
    ["select e.seq, e.event_from_at, e.event_to_at from me.capsule_event_time as e
      where e.space = $1 and ($2::int8[] is null or e.seq = any ($2))"],
    [TEXTOID, INT8ARRAYOID]
);

static LEDGER_ROW: Keyed = Keyed {
    table: c"capsule_ledger",
    index: c"capsule_ledger_pkey",
    keys: &[0],
    columns: &[
        (c"space", Kind::Text),
        (c"journal", Kind::Int8),
        (c"head", Kind::Text),
        (c"capsules", Kind::Int8),
        (c"tokens", Kind::Int8),
    ],
};

/// Frames that are read at once.
const PAGE_ROWS: i64 = 20_000;
/// Rows of the journal that are looked through; after more, all is read anew.
const CHANGES_MOST: i64 = 5_000;
/// Frames that a backend keeps at most, of all spaces together: some sixty bytes each.
const KEPT_MOST: usize = 2_000_000;

/// What a backend keeps of one space.
struct Kept {
    database: u32,
    space: String,
    journal: i64,
    head: String,
    standing: Rc<Standing>,
}

thread_local! {
    /// The one used last stands last.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// The capsules of a space at the time of a call.
pub struct Now {
    /// How they stand.
    pub standing: Rc<Standing>,
    /// Which of its places the caller may read.
    pub readable: Vec<bool>,
    /// The size of what the caller may read, for scores.
    pub corpus: Corpus,
}

/// Reads how the capsules of the space stand now.
pub fn now(session: &Session, clock: i64) -> Result<Now> {
    let Ledger { journal, head, documents, tokens } = ledger(session)?;
    let standing = at(session, journal, head, clock)?;
    let rights = session.rights();
    let readable: Vec<bool> =
        standing.places().iter().map(|place| rights.allow(Level::Read, &place.tree)).collect();
    let corpus = match rights.roots(Level::Read) {
        None => Corpus { documents, tokens },
        // What others keep may not show in the scores: neither how much it is, nor which words it holds.
        Some(_) => {
            let of = standing.iter().filter(|(_, frame)| readable[frame.place as usize]);
            let (documents, tokens) =
                of.fold((0, 0), |(count, tokens), (_, frame)| (count + 1, tokens + i64::from(frame.length)));
            Corpus { documents, tokens }
        }
    };
    Ok(Now { standing, readable, corpus })
}

/// What the ledger of a space says.
#[derive(Default)]
struct Ledger {
    journal: i64,
    head: String,
    documents: i64,
    tokens: i64,
}

fn ledger(session: &Session) -> Result<Ledger> {
    let mut ledger = Ledger::default();
    let by_key = session.db().under_snapshot(|snapshot| {
        let Some(tables) = Tables::here() else { return Ok(false) };
        tables.rows(&LEDGER_ROW, snapshot, &[Key::Text(session.space())], |found| {
            ledger = Ledger {
                journal: need(found.int8(1))?,
                head: need(found.text(2))?.to_owned(),
                documents: need(found.int8(3))?,
                tokens: need(found.int8(4))?,
            };
            Ok(false)
        })
    })?;
    if !by_key && let Some(row) = session.db().row(&LEDGER, &[arg(session.space())])? {
        ledger = Ledger {
            journal: row.need(1)?,
            head: row.need(2)?,
            documents: row.need(3)?,
            tokens: row.need(4)?,
        };
    }
    Ok(ledger)
}

impl Now {
    /// Whether the caller may read a capsule that is not forgotten.
    pub fn may_read(&self, seq: i64) -> bool {
        self.standing.frame(seq).is_some_and(|frame| self.readable[frame.place as usize])
    }
}

fn at(session: &Session, journal: i64, head: String, clock: i64) -> Result<Rc<Standing>> {
    // SAFETY: reads the backend's own database.
    let database = unsafe { pgrx::pg_sys::MyDatabaseId }.to_u32();
    let space = session.space().to_owned();
    // Taken out while statements run: one of them may come back here.
    let kept = KEPT.with_borrow_mut(|kept| {
        let found = kept.iter().position(|one| one.database == database && one.space == space);
        found.map(|at| kept.remove(at))
    });
    let standing = match kept {
        Some(kept) if kept.journal == journal && kept.head == head => kept.standing,
        Some(kept) => match changes(session, &kept, journal)? {
            Some(changed) => {
                let mut standing = kept.standing;
                let made = Rc::make_mut(&mut standing);
                refresh(session, made, &changed)?;
                made.mark_all(Some(&changed), clock);
                standing
            }
            None => Rc::new(read(session, clock)?),
        },
        None => Rc::new(read(session, clock)?),
    };
    KEPT.with_borrow_mut(|kept| {
        kept.push(Kept { database, space, journal, head, standing: Rc::clone(&standing) });
        let mut size: usize = kept.iter().map(|one| one.standing.size()).sum();
        while size > KEPT_MOST {
            size -= kept.remove(0).standing.size();
        }
    });
    Ok(standing)
}

/// The capsules that the journal says have changed since; none if it does not go on from what is kept, or says too much.
fn changes(session: &Session, kept: &Kept, journal: i64) -> Result<Option<BTreeSet<i64>>> {
    if kept.journal == 0 || kept.journal > journal || journal - kept.journal > CHANGES_MOST {
        return Ok(None);
    }
    let space = arg(session.space());
    let seal = session.db().row(&SEAL, &[space, arg(kept.journal)])?.and_then(|row| row.get::<String>(1));
    if seal.as_deref() != Some(kept.head.as_str()) {
        return Ok(None);
    }
    let (mut capsules, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
    for row in session.db().run(&CHANGES, &[space, arg(kept.journal), arg(CHANGES_MOST)])? {
        let subject: String = row.need(1)?;
        if let Some(seq) = numbered(&subject, "cap-") {
            capsules.insert(seq);
        } else if let Some(number) = numbered(&subject, "out-") {
            outcomes.insert(number);
        } else if row.need::<String>(2)? == "memory_merge" {
            // Edges between capsules that were here before are not named.
            return Ok(None);
        }
    }
    let args = [space, all(&capsules), all(&outcomes)];
    for row in session.db().run(&TARGETS, &args)? {
        capsules.insert(row.need(1)?);
    }
    Ok(Some(capsules))
}

fn all(seqs: &BTreeSet<i64>) -> Option<Datum> {
    arg(seqs.iter().copied().collect::<Vec<_>>())
}

fn read(session: &Session, clock: i64) -> Result<Standing> {
    let mut standing = Standing::default();
    let mut after = 0;
    loop {
        let args = [arg(session.space()), arg(after), None, arg(PAGE_ROWS)];
        let mut rows = 0;
        for row in session.db().run(&FRAMES, &args)? {
            after = row.need(1)?;
            rows += 1;
            let frame = frame(&mut standing, &row)?;
            standing.put(after, Some(frame));
        }
        if rows < PAGE_ROWS {
            break;
        }
    }
    mark(session, &mut standing, None)?;
    standing.mark_all(None, clock);
    Ok(standing)
}

fn refresh(session: &Session, standing: &mut Standing, changed: &BTreeSet<i64>) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let some = all(changed);
    let rows = session.db().run(&FRAMES, &[arg(session.space()), arg(0i64), some, arg(i64::MAX)])?;
    for seq in changed {
        standing.put(*seq, None);
    }
    for row in rows {
        let frame = frame(standing, &row)?;
        standing.put(row.need(1)?, Some(frame));
    }
    mark(session, standing, some)
}

fn frame(standing: &mut Standing, row: &Row) -> Result<Frame> {
    let micros = |column: i32| row.get::<TimestampWithTimeZone>(column).map(i64::from);
    let place = Place { tree: stored_tree(&row.need::<String>(2)?)?, project_id: row.need(3)? };
    Ok(Frame {
        tier: Tier::Active,
        superseded: false,
        falsified: false,
        staged: false,
        pinned: false,
        place: standing.place(place),
        session: row.get::<String>(4).map(|session| standing.session(session)),
        length: u32::try_from(row.need::<i32>(5)?).unwrap_or(0),
        confidence: row.need(8)?,
        valid_from: micros(6).ok_or_else(|| Error::Internal("a capsule has no valid_from".into()))?,
        valid_to: micros(7),
    })
}

/// Takes what stands beside the capsules into their frames: of some, or of all.
fn mark(session: &Session, standing: &mut Standing, some: Option<Datum>) -> Result<()> {
    let args = [arg(session.space()), some];
    for row in session.db().run(&TIERS, &args)? {
        let tier: String = row.need(2)?;
        let tier = Tier::from_word(&tier).ok_or_else(|| Error::Internal(format!("stored tier {tier:?}")))?;
        if let Some(frame) = standing.frame_mut(row.need(1)?) {
            frame.tier = tier;
        }
    }
    for row in session.db().run(&EDGES, &args)? {
        if let Some(frame) = standing.frame_mut(row.need(1)?) {
            match row.need::<String>(2)?.as_str() {
                "supersedes" => frame.superseded = true,
                _ => frame.falsified = true,
            }
        }
    }
    for row in session.db().run(&REVIEWS, &args)? {
        if let Some(frame) = standing.frame_mut(row.need(1)?) {
            frame.staged = row.need::<String>(2)? != Verdict::Ratified.word();
        }
    }
    for row in session.db().run(&PINS, &args)? {
        if let Some(frame) = standing.frame_mut(row.need(1)?) {
            frame.pinned = row.need(2)?;
        }
    }
    for row in session.db().run(&EVENTS, &args)? {
        let at = |column: i32| row.need::<TimestampWithTimeZone>(column).map(i64::from);
        standing.put_event(row.need(1)?, (at(2)?, at(3)?));
    }
    Ok(())
}
