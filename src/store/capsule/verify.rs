//! Recomputes the journal (CAP-JRN-5, CAP-JRN-6).

use super::book::shown;
use crate::domain::capsule::journal::{Entry, Verifier};
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
    /// What this backend verified before, by space: rows and the seal of the last one.
    static VERIFIED: RefCell<HashMap<(u32, String), (i64, String)>> = RefCell::default();
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
    run(session, Verifier::default())
}

/// Recomputes what this backend has not recomputed before. A change to older rows is found by [`verify`] alone.
pub fn verify_new(session: &Session) -> Result<Verdict> {
    // SAFETY: reads the backend's own database.
    let key = (unsafe { pgrx::pg_sys::MyDatabaseId }.to_u32(), session.space().to_owned());
    let known = VERIFIED.with_borrow(|verified| verified.get(&key).cloned());
    let start = match known {
        Some((rows, head)) if seal(session, rows)?.as_deref() == Some(head.as_str()) => {
            Verifier::resume(rows, head)
        }
        _ => Verifier::default(),
    };
    let verdict = run(session, start)?;
    if verdict.broken.is_none() && verdict.rows > 0 {
        VERIFIED.with_borrow_mut(|verified| verified.insert(key, (verdict.rows, verdict.head.clone())));
    }
    Ok(verdict)
}

fn seal(session: &Session, seq: i64) -> Result<Option<String>> {
    Ok(session.db().row(&SEAL, &[arg(session.space()), arg(seq)])?.and_then(|row| row.get(1)))
}

fn run(session: &Session, mut verifier: Verifier) -> Result<Verdict> {
    let mut broken = None;
    'pages: loop {
        let args = [arg(session.space()), arg(verifier.rows()), arg(PAGE_ROWS)];
        let mut rows = 0;
        for row in session.db().run(&PAGE, &args)? {
            rows += 1;
            if !verifier.accept(&entry(&row)?, &row.need::<String>(7)?) {
                broken = Some(verifier.rows() + 1);
                break 'pages;
            }
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
