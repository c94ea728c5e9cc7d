//! Recomputes the journal (CAP-JRN-5, CAP-JRN-6).

use super::book::shown;
use crate::domain::capsule::journal::{Entry, Verifier};
use crate::domain::capsule::record::numbered;
use crate::domain::capsule::standing::Standing;
use crate::error::Result;
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::{Row, arg};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;

statement!(
    PAGE,
    ["select a.seq, a.at, a.actor, a.action, a.subject, a.reason, a.chained_hash
      from me.capsule_audit as a where a.space = $1 and a.seq > $2 order by a.seq limit $3"],
    [TEXTOID, INT8OID, INT8OID]
);
statement!(
    SEAL,
    ["select a.chained_hash from me.capsule_audit as a where a.space = $1 and a.seq = $2"],
    [TEXTOID, INT8OID]
);
statement!(LEDGER, ["select l.journal, l.head from me.capsule_ledger as l where l.space = $1"], [TEXTOID]);
statement!(
    CAPSULES,
    ["select count(*), count(c.memory_id), coalesce(max(c.seq), 0) from me.capsule as c where c.space = $1"],
    [TEXTOID]
);
statement!(
    /// Capsules that no row is about, and forgotten ones that no row forgets.
    OUT_OF_BAND,
    ["select count(*) from me.capsule as c
      where c.space = $1 and not exists (
        select from me.capsule_audit as a
        where a.space = $1 and a.subject = 'cap-' || c.seq
          and (c.memory_id is not null or a.action in ('memory_forget', 'memory_merge')))"],
    [TEXTOID]
);

/// Rows that are read at once.
const PAGE_ROWS: i64 = 10_000;

thread_local! {
    /// What this backend verified before, by space.
    static VERIFIED: RefCell<HashMap<(u32, String), Verified>> = RefCell::default();
}

/// The part of a journal that was verified, and which capsules it accounts for.
#[derive(Default)]
struct Verified {
    rows: i64,
    head: String,
    told: Seqs,
    buried: Seqs,
}

/// A set of numbers that has few gaps.
#[derive(Default)]
struct Seqs(Vec<bool>);

impl Seqs {
    fn add(&mut self, seq: i64) {
        let Ok(place) = usize::try_from(seq) else { return };
        if place >= self.0.len() {
            self.0.resize(place + 1, false);
        }
        self.0[place] = true;
    }

    fn has(&self, seq: i64) -> bool {
        usize::try_from(seq).is_ok_and(|place| self.0.get(place) == Some(&true))
    }
}

impl Verified {
    fn account(&mut self, entry: &Entry) {
        if let Some(seq) = numbered(&entry.subject, "cap-") {
            self.told.add(seq);
            if matches!(entry.action.as_str(), "memory_forget" | "memory_merge") {
                self.buried.add(seq);
            }
        }
    }
}

/// What recomputing the journal of a space came to.
pub struct Verdict {
    /// Rows that were recomputed.
    pub rows: i64,
    /// The seal of the last one.
    pub head: String,
    /// The first row that does not recompute.
    pub broken: Option<i64>,
    /// Why, where the rows themselves cannot say it.
    pub problem: Option<&'static str>,
}

/// Recomputes the whole journal.
pub fn verify(session: &Session) -> Result<Verdict> {
    run(session, Verifier::default(), |_| ())
}

/// Recomputes what this backend has not recomputed before, and counts the capsules that the journal does not account for.
/// A change to older rows is found by [`verify`] alone.
pub fn verify_new(session: &Session, standing: &Standing) -> Result<(Verdict, i64)> {
    // SAFETY: reads the backend's own database.
    let key = (unsafe { pgrx::pg_sys::MyDatabaseId }.to_u32(), session.space().to_owned());
    // Taken out while statements run.
    let known = VERIFIED.with_borrow_mut(|verified| verified.remove(&key)).unwrap_or_default();
    let is_ours = known.rows > 0 && seal(session, known.rows)?.as_deref() == Some(known.head.as_str());
    let mut known = if is_ours { known } else { Verified::default() };
    let start = Verifier::resume(known.rows, known.head.clone());
    let verdict = run(session, start, |entry| known.account(entry))?;
    let missed = match unaccounted(session, standing, &known)? {
        Some(missed) => missed,
        None => out_of_band(session)?,
    };
    if verdict.broken.is_none() && verdict.rows > 0 {
        (known.rows, known.head) = (verdict.rows, verdict.head.clone());
        VERIFIED.with_borrow_mut(|verified| verified.insert(key, known));
    }
    Ok((verdict, missed))
}

/// How many capsules the journal does not account for, by what is kept; nothing if the tables hold others than are kept.
fn unaccounted(session: &Session, standing: &Standing, known: &Verified) -> Result<Option<i64>> {
    let row = session.db().row(&CAPSULES, &[arg(session.space())])?;
    let (all, live, top): (i64, i64, i64) = match row {
        Some(row) => (row.need(1)?, row.need(2)?, row.need(3)?),
        None => (0, 0, 0),
    };
    if all != top || i64::try_from(standing.iter().count()) != Ok(live) {
        return Ok(None);
    }
    let is_missed = |seq: &i64| match standing.frame(*seq) {
        Some(_) => !known.told.has(*seq),
        None => !known.buried.has(*seq),
    };
    Ok(i64::try_from((1..=top).filter(is_missed).count()).ok())
}

fn seal(session: &Session, seq: i64) -> Result<Option<String>> {
    Ok(session.db().row(&SEAL, &[arg(session.space()), arg(seq)])?.and_then(|row| row.get(1)))
}

fn run(session: &Session, mut verifier: Verifier, mut note: impl FnMut(&Entry)) -> Result<Verdict> {
    let mut broken = None;
    'pages: loop {
        let args = [arg(session.space()), arg(verifier.rows()), arg(PAGE_ROWS)];
        let mut rows = 0;
        for row in session.db().run(&PAGE, &args)? {
            rows += 1;
            let entry = entry(&row)?;
            if !verifier.accept(&entry, &row.need::<String>(7)?) {
                broken = Some(verifier.rows() + 1);
                break 'pages;
            }
            note(&entry);
        }
        if rows < PAGE_ROWS {
            break;
        }
    }
    let ledger = session.db().row(&LEDGER, &[arg(session.space())])?;
    let (rows, head) = ledger.map_or(Ok::<_, crate::error::Error>((0, String::new())), |row| {
        Ok((row.need::<i64>(1)?, row.need::<String>(2)?))
    })?;
    let problem = match broken {
        Some(_) => Some("the row does not recompute"),
        None if (rows, head.as_str()) != (verifier.rows(), verifier.head()) => {
            Some("rows are missing at the end: the ledger counts others")
        }
        None => None,
    };
    if broken.is_none() && problem.is_some() {
        broken = Some(verifier.rows().min(rows) + 1);
    }
    Ok(Verdict { rows: verifier.rows(), head: verifier.head().to_owned(), broken, problem })
}

fn entry(row: &Row) -> Result<Entry> {
    Ok(Entry {
        seq: row.need(1)?,
        at: shown(row.need(2)?),
        actor: row.need(3)?,
        action: row.need(4)?,
        subject: row.need(5)?,
        reason: row.get(6),
    })
}

/// How many capsules the journal does not account for.
pub fn out_of_band(session: &Session) -> Result<i64> {
    let row = session.db().row(&OUT_OF_BAND, &[arg(session.space())])?;
    row.map_or(Ok(0), |row| row.need(1))
}

impl Verdict {
    /// As the digest shows it.
    pub fn to_json(&self, out_of_band: i64) -> Value {
        match self.broken {
            None => json!({"chain": "ok", "verified": self.rows, "out_of_band": out_of_band}),
            Some(seq) => json!({"chain": "broken", "broken_seq": seq, "out_of_band": out_of_band}),
        }
    }

    /// As `me.capsule_verify` shows it.
    pub fn report(&self, out_of_band: i64) -> Value {
        let mut report = self.to_json(out_of_band);
        report["ok"] = (self.broken.is_none() && out_of_band == 0).into();
        report["head"] = self.head.clone().into();
        if let Some(problem) = self.problem {
            report["problem"] = problem.into();
        }
        report
    }
}
