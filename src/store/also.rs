//! What a search asks of a row beside the filters that it shares with counting and exporting.

use super::keyed::{Key, Keyed, Kind, Tables, need};
use super::session::Session;
use super::spi::arg;
use crate::domain::search::grep::Pattern;
use crate::error::Result;
use crate::statement;
use pgrx::pg_sys::Datum;

statement!(
    /// Quarantined capsules: no search finds them.
    QUARANTINED,
    ["select q.memory_id from me.capsule_tier as q where q.space = $1 and q.tier = 'quarantined'"],
    [TEXTOID]
);

/// The same, by the index over them: it holds no others.
static TIER: Keyed = Keyed {
    table: c"capsule_tier",
    index: c"capsule_quarantine_idx",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"memory_id", Kind::Uuid)],
};

/// A pattern that the content matches, and rows that stay hidden.
pub struct Also<'a> {
    pattern: Option<&'a Pattern>,
    hidden: Vec<pgrx::Uuid>,
}

impl<'a> Also<'a> {
    /// What a search with this pattern asks for.
    pub fn of(session: &Session, pattern: Option<&'a Pattern>) -> Result<Self> {
        let mut hidden = Vec::new();
        if let Some(tier) = Tables::here().and_then(|tables| tables.open(&TIER)) {
            let readable = session.db().under_snapshot(|snapshot| {
                tier.rows(snapshot, &[Key::Text(session.space())], |row| {
                    hidden.push(pgrx::Uuid::from_bytes(need(row.uuid(1))?));
                    Ok(true)
                })
            })?;
            if readable {
                return Ok(Self { pattern, hidden });
            }
        }
        let rows = session.db().run(&QUARANTINED, &[arg(session.space())])?;
        let hidden = rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?;
        Ok(Self { pattern, hidden })
    }

    /// Whether it asks for nothing.
    pub fn is_nothing(&self) -> bool {
        self.pattern.is_none() && self.hidden.is_empty()
    }

    /// The pattern, as a statement's parameter.
    pub fn pattern(&self) -> Option<Datum> {
        self.pattern.and_then(|pattern| arg(pattern.as_str()))
    }

    /// The hidden rows, if they are all it asks for.
    pub fn hidden_only(&self) -> Option<&[pgrx::Uuid]> {
        self.pattern.is_none().then_some(&self.hidden)
    }

    /// The hidden rows, as a statement's parameter; none when there are none.
    pub fn hidden(&self) -> Option<Datum> {
        if self.hidden.is_empty() { None } else { arg(self.hidden.clone()) }
    }
}
