//! The ledger of a space, locked for one call that writes: it gives out numbers and seals the journal.

use super::rows::{Stamps, stamp_of};
use crate::domain::capsule::journal::Entry;
use crate::domain::capsule::stamp::Stamp;
use crate::error::{Error, Result};
use crate::store::session::Session;
use crate::store::spi::arg;
use crate::{guc, statement};
use pgrx::prelude::*;

statement!(
    OPEN,
    ["insert into me.capsule_ledger (space, capsules, sessions, outcomes, preferences, tokens, journal, head)
      values ($1, 0, 0, 0, 0, 0, 0, '') on conflict do nothing"],
    [TEXTOID]
);
statement!(
    LOCK,
    ["select l.capsules, l.sessions, l.outcomes, l.preferences, l.tokens, l.journal, l.head
      from me.capsule_ledger as l where l.space = $1 for update"],
    [TEXTOID]
);
statement!(
    CLOSE,
    ["update me.capsule_ledger set capsules = $2, sessions = $3, outcomes = $4, preferences = $5, tokens = $6,
        journal = $7, head = $8
      where space = $1"],
    [TEXTOID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, TEXTOID]
);
statement!(
    APPEND,
    ["insert into me.capsule_audit (space, seq, at, actor, action, subject, reason, chained_hash)
      select $1, g.seq, $2, $3, g.action, g.subject, g.reason, g.hash
      from unnest($4::int8[], $5::text[], $6::text[], $7::text[], $8::text[]) as g (seq, action, subject, reason, hash)"],
    [TEXTOID, TIMESTAMPTZOID, TEXTOID, INT8ARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID]
);

/// Who acts when neither the client nor the role has a name.
const NAMELESS: &str = "mcp-caller";

/// A space's numbers and journal, held until the transaction ends.
///
/// Every writing call locks the ledger before it looks at anything else, so that calls of one space happen one after
/// the other: numbers have no gaps, a content is captured once, and the journal is one chain.
pub struct Book<'a, 'b> {
    session: &'a Session<'b>,
    stamps: Stamps,
    actor: String,
    /// Highest number of a capsule.
    pub capsules: i64,
    /// Highest number of a session.
    pub sessions: i64,
    /// Highest number of an outcome.
    pub outcomes: i64,
    /// Highest number of a preference.
    pub preferences: i64,
    /// Tokens of all contents that are left.
    pub tokens: i64,
    journal: i64,
    head: String,
    rows: Vec<(Entry, String)>,
}

impl<'a, 'b> Book<'a, 'b> {
    /// Locks the ledger and reads the clock, in this order: later rows of the journal have later stamps.
    pub fn open(session: &'a Session<'b>) -> Result<Self> {
        let space = [arg(session.space())];
        let row = match session.db().row(&LOCK, &space)? {
            Some(row) => row,
            None => {
                session.db().run(&OPEN, &space)?;
                let row = session.db().row(&LOCK, &space)?;
                row.ok_or_else(|| Error::Internal("the capsule ledger could not be opened".into()))?
            }
        };
        Ok(Self {
            session,
            stamps: Stamps::now(),
            actor: actor(session),
            capsules: row.need(1)?,
            sessions: row.need(2)?,
            outcomes: row.need(3)?,
            preferences: row.need(4)?,
            tokens: row.need(5)?,
            journal: row.need(6)?,
            head: row.need(7)?,
            rows: Vec::new(),
        })
    }

    /// The one clock reading of the call (CAP-ENV-12).
    pub fn now(&self) -> &Stamp {
        &self.stamps.stamp
    }

    /// The same, as tables hold it.
    pub fn now_at(&self) -> TimestampWithTimeZone {
        self.stamps.at
    }

    /// Who acts.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// The call.
    pub fn session(&self) -> &'a Session<'b> {
        self.session
    }

    /// Adds a row to the journal.
    pub fn note(&mut self, action: &str, subject: &str, reason: Option<&str>) {
        self.journal += 1;
        let entry = Entry {
            seq: self.journal,
            at: self.stamps.stamp.text().to_owned(),
            actor: self.actor.clone(),
            action: action.to_owned(),
            subject: subject.to_owned(),
            reason: reason.map(str::to_owned),
        };
        let seal = entry.seal(&self.head);
        self.head.clone_from(&seal);
        self.rows.push((entry, seal));
    }

    /// Writes the journal and the numbers back.
    pub fn close(self) -> Result<()> {
        let db = self.session.db();
        if !self.rows.is_empty() {
            let column = |value: fn(&Entry) -> String| {
                arg(self.rows.iter().map(|(entry, _)| value(entry)).collect::<Vec<_>>())
            };
            db.run(
                &APPEND,
                &[
                    arg(self.session.space()),
                    arg(self.stamps.at),
                    arg(self.actor.as_str()),
                    arg(self.rows.iter().map(|(entry, _)| entry.seq).collect::<Vec<_>>()),
                    column(|entry| entry.action.clone()),
                    column(|entry| entry.subject.clone()),
                    arg(self.rows.iter().map(|(entry, _)| entry.reason.clone()).collect::<Vec<_>>()),
                    arg(self.rows.iter().map(|(_, seal)| seal.clone()).collect::<Vec<_>>()),
                ],
            )?;
        }
        db.run(
            &CLOSE,
            &[
                arg(self.session.space()),
                arg(self.capsules),
                arg(self.sessions),
                arg(self.outcomes),
                arg(self.preferences),
                arg(self.tokens),
                arg(self.journal),
                arg(self.head.as_str()),
            ],
        )?;
        Ok(())
    }
}

/// The name the client gives itself, else that of its principal (CAP-JRN-4). Never trusted for access.
fn actor(session: &Session) -> String {
    let named = guc::actor().filter(|name| !crate::domain::capsule::text::is_blank(name));
    named.unwrap_or_else(|| match session.actor_name() {
        "" => NAMELESS.to_owned(),
        name => name.to_owned(),
    })
}

/// A stored instant as answers show it.
pub fn shown(at: TimestampWithTimeZone) -> String {
    stamp_of(at).text().to_owned()
}
