//! What a search asks of a row beside the filters that it shares with counting and exporting.

use super::keyed::{Key, Keyed, Kind, Tables, need};
use super::seen::Shelf;
use super::session::Session;
use super::spi::arg;
use crate::domain::search::grep::Pattern;
use crate::error::Result;
use crate::statement;
use pgrx::pg_sys::Datum;
use std::cell::RefCell;
use std::rc::Rc;

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
    hidden: Rc<Vec<pgrx::Uuid>>,
}

thread_local! {
    static HIDDEN: RefCell<Shelf<Vec<pgrx::Uuid>>> = const { RefCell::new(Shelf::new()) };
}

fn in_order(mut ids: Vec<pgrx::Uuid>) -> Vec<pgrx::Uuid> {
    ids.sort_unstable_by_key(|id| *id.as_bytes());
    ids
}

impl<'a> Also<'a> {
    /// What a search with this pattern asks for.
    pub fn of(session: &Session, pattern: Option<&'a Pattern>) -> Result<Self> {
        let hidden = match Self::by_key(session)? {
            Some(hidden) => hidden,
            None => {
                let rows = session.db().run(&QUARANTINED, &[arg(session.space())])?;
                Rc::new(in_order(rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?))
            }
        };
        Ok(Self { pattern, hidden })
    }

    /// The hidden rows, in order; of a call that only reads they are kept.
    fn by_key(session: &Session) -> Result<Option<Rc<Vec<pgrx::Uuid>>>> {
        let read = || {
            let Some(tier) = Tables::here().and_then(|tables| tables.open(&TIER)) else { return Ok(None) };
            let mut hidden = Vec::new();
            let readable = session.db().under_snapshot(|snapshot| {
                tier.rows(snapshot, &[Key::Text(session.space())], |row| {
                    hidden.push(pgrx::Uuid::from_bytes(need(row.uuid(1))?));
                    Ok(true)
                })
            })?;
            Ok(readable.then(|| in_order(hidden)))
        };
        match session.db().reading() {
            Some(reading) => reading.kept(&HIDDEN, session.space(), read),
            None => Ok(read()?.map(Rc::new)),
        }
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
        self.pattern.is_none().then_some(self.hidden.as_slice())
    }

    /// Whether there is a pattern.
    pub fn has_pattern(&self) -> bool {
        self.pattern.is_some()
    }

    /// Whether a row is hidden.
    pub fn hides(&self, id: &[u8; 16]) -> bool {
        self.hidden.binary_search_by(|hidden| hidden.as_bytes().cmp(id)).is_ok()
    }

    /// The hidden rows, as a statement's parameter; none when there are none.
    pub fn hidden(&self) -> Option<Datum> {
        if self.hidden.is_empty() { None } else { arg(self.hidden.to_vec()) }
    }
}
