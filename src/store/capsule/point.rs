//! One capsule by its id, without a statement: what [`get`](super::get) asks by one, read through the keys of its tables.
//!
//! It answers only with what it finds at once. Anything else (a refusal, an id that leads nowhere, a table that is not
//! read by key) is left to the statement.

use super::get::{self, Beside, Edge, Mutation, Review, Tombstone};
use super::rows::Stamps;
use super::state::{State, word};
use crate::domain::access::Level;
use crate::domain::capsule::ingest::Epistemics;
use crate::domain::capsule::record::{Record, id_of, seq_of};
use crate::domain::capsule::stamp::Stamp;
use crate::domain::capsule::words::{Authority, EvidenceState, Kind as Label, Scope, Tier};
use crate::error::{Error, Result};
use crate::store::keyed::{Found, Key, Keyed, Kind, need};
use crate::store::point::Look;
use crate::store::session::stored_tree;
use serde_json::Value;
use std::ffi::CStr;

const CAPSULE_COLUMNS: &[(&CStr, Kind)] = &[
    (c"space", Kind::Text),
    (c"seq", Kind::Int8),
    (c"memory_id", Kind::Uuid),
    (c"tree", Kind::Other),
    (c"project_id", Kind::Text),
    (c"source", Kind::Text),
    (c"anchor", Kind::Text),
    (c"source_hash", Kind::Text),
    (c"confidence", Kind::Float8),
    (c"valid_from", Kind::Text),
    (c"valid_to", Kind::Text),
    (c"authority_class", Kind::Text),
    (c"instruction_taint", Kind::Bool),
    (c"created_at", Kind::Timestamptz),
    (c"session_id", Kind::Text),
];
/// Where in [`CAPSULE_COLUMNS`] each is.
mod column {
    pub const MEMORY_ID: usize = 2;
    pub const TREE: usize = 3;
    pub const PROJECT_ID: usize = 4;
    pub const SOURCE: usize = 5;
    pub const ANCHOR: usize = 6;
    pub const SOURCE_HASH: usize = 7;
    pub const CONFIDENCE: usize = 8;
    pub const VALID_FROM: usize = 9;
    pub const VALID_TO: usize = 10;
    pub const AUTHORITY: usize = 11;
    pub const TAINT: usize = 12;
    pub const CREATED_AT: usize = 13;
    pub const SESSION: usize = 14;
}
static CAPSULE: Keyed =
    Keyed { table: c"capsule", index: c"capsule_pkey", keys: &[0, 1], columns: CAPSULE_COLUMNS };
static TREE: Keyed = Keyed {
    table: c"capsule",
    index: c"capsule_pkey",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"seq", Kind::Int8), (c"tree", Kind::Other)],
};
pub(super) static CONTENT: Keyed = Keyed {
    table: c"memory",
    index: c"memory_pkey",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"id", Kind::Uuid), (c"content", Kind::Text)],
};
static TIER: Keyed = Keyed {
    table: c"capsule_tier",
    index: c"capsule_tier_pkey",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"seq", Kind::Int8), (c"tier", Kind::Text)],
};
static LABEL: Keyed = Keyed {
    table: c"capsule_classification",
    index: c"capsule_classification_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"seq", Kind::Int8),
        (c"kind", Kind::Text),
        (c"scope", Kind::Text),
        (c"at", Kind::Timestamptz),
    ],
};
pub(super) static EPISTEMIC: Keyed = Keyed {
    table: c"capsule_epistemic",
    index: c"capsule_epistemic_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"seq", Kind::Int8),
        (c"evidence_state", Kind::Text),
        (c"proof_hint", Kind::Text),
        (c"stale_if", Kind::Text),
        (c"at", Kind::Timestamptz),
    ],
};
static EVENT_TIME: Keyed = Keyed {
    table: c"capsule_event_time",
    index: c"capsule_event_time_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"seq", Kind::Int8),
        (c"event_from", Kind::Text),
        (c"event_to", Kind::Text),
    ],
};
static PIN: Keyed = Keyed {
    table: c"capsule_pin",
    index: c"capsule_pin_pkey",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"seq", Kind::Int8), (c"pinned", Kind::Bool)],
};
static REVIEW: Keyed = Keyed {
    table: c"capsule_review",
    index: c"capsule_review_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"seq", Kind::Int8),
        (c"verdict", Kind::Text),
        (c"reason", Kind::Text),
        (c"actor", Kind::Text),
        (c"at", Kind::Timestamptz),
    ],
};
static TOMBSTONE: Keyed = Keyed {
    table: c"capsule_tombstone",
    index: c"capsule_tombstone_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"seq", Kind::Int8),
        (c"mode", Kind::Text),
        (c"content_hmac", Kind::Text),
        (c"at", Kind::Timestamptz),
        (c"reason", Kind::Text),
        (c"source", Kind::Text),
        (c"anchor", Kind::Text),
    ],
};
/// By the number, and oldest first: the last one is the newest.
static JOURNAL: Keyed = Keyed {
    table: c"capsule_audit",
    index: c"capsule_audit_subject_idx",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"subject", Kind::Text),
        (c"at", Kind::Timestamptz),
        (c"actor", Kind::Text),
        (c"action", Kind::Text),
    ],
};
const EDGE_COLUMNS: &[(&CStr, Kind)] = &[
    (c"space", Kind::Text),
    (c"kind", Kind::Text),
    (c"to_seq", Kind::Int8),
    (c"from_outcome", Kind::Bool),
    (c"from_seq", Kind::Int8),
    (c"at", Kind::Timestamptz),
    (c"origin", Kind::Text),
];
static EDGES_TO: Keyed = Keyed {
    table: c"capsule_relation",
    index: c"capsule_relation_to_idx",
    keys: &[0, 2],
    columns: EDGE_COLUMNS,
};
/// This index holds no edges from outcomes.
static EDGES_FROM: Keyed = Keyed {
    table: c"capsule_relation",
    index: c"capsule_relation_from_idx",
    keys: &[0, 4],
    columns: EDGE_COLUMNS,
};

/// The capsule of an id, if it is found this way and the caller may read it.
pub fn get(space: &str, id: &str) -> Result<Option<Value>> {
    let Some(seq) = seq_of(id) else { return Ok(None) };
    let Some(look) = Look::begin(space)? else { return Ok(None) };
    let capsule = Capsule { look, seq };
    let Some(mut state) = capsule.row(&CAPSULE, |found| capsule.frame(found))?.flatten().flatten() else {
        return Ok(None);
    };
    if !capsule.content(&mut state)? || !capsule.sidecars(&mut state)? {
        return Ok(None);
    }
    let Some(beside) = capsule.beside(&state)? else { return Ok(None) };
    get::answer(&state, beside, &Stamps::now().stamp).map(Some)
}

struct Capsule<'a> {
    look: Look<'a>,
    seq: i64,
}

impl Capsule<'_> {
    /// Shows each row of the capsule; false when the table is not read by key.
    fn rows(&self, keyed: &Keyed, each: impl FnMut(&Found) -> Result<bool>) -> Result<bool> {
        self.look.rows(keyed, &[Key::Text(self.look.space()), Key::Int8(self.seq)], each)
    }

    /// At most one row; the outer `None` when the table is not read by key.
    fn row<T>(&self, keyed: &Keyed, make: impl Fn(&Found) -> Result<T>) -> Result<Option<Option<T>>> {
        let mut made = None;
        let readable = self.rows(keyed, |found| {
            made = Some(make(found)?);
            Ok(false)
        })?;
        Ok(readable.then_some(made))
    }

    /// The trust record, if the caller may read it; its content and what stands beside it come later.
    fn frame(&self, found: &Found) -> Result<Option<State>> {
        let tree = stored_tree(need(found.output(column::TREE))?)?;
        if !self.look.allows(Level::Read, &tree) {
            return Ok(None);
        }
        let text = |column| found.text(column).map(str::to_owned);
        let project_id = need(text(column::PROJECT_ID))?;
        let source_hash = need(text(column::SOURCE_HASH))?;
        let memory_id = found.uuid(column::MEMORY_ID).map(pgrx::Uuid::from_bytes);
        let record = match memory_id {
            None => None,
            Some(_) => Some(Record {
                content: String::new(),
                source: need(text(column::SOURCE))?,
                anchor: need(text(column::ANCHOR))?,
                source_hash: source_hash.clone(),
                confidence: need(found.float8(column::CONFIDENCE))?,
                valid_from: need(found.text(column::VALID_FROM).map(stamp).transpose()?)?,
                valid_to: found.text(column::VALID_TO).map(stamp).transpose()?,
                project_id: project_id.clone(),
                authority: word(need(found.text(column::AUTHORITY))?, Authority::from_word)?,
                instruction_taint: need(found.bool(column::TAINT))?,
            }),
        };
        Ok(Some(State {
            seq: self.seq,
            tree,
            project_id,
            memory_id,
            record,
            source_hash,
            created: Stamp::from_pg_micros(need(found.timestamptz(column::CREATED_AT))?),
            session_id: text(column::SESSION),
            tier: Tier::Active,
            superseded: false,
            classification: None,
            epistemics: None,
            event: None,
            usage: None,
            pinned: false,
            verdict: None,
        }))
    }

    fn content(&self, state: &mut State) -> Result<bool> {
        let (Some(id), Some(record)) = (state.memory_id, &mut state.record) else { return Ok(true) };
        let keys = [Key::Text(self.look.space()), Key::Uuid(id.as_bytes())];
        let mut content = None;
        let readable = self.look.rows(&CONTENT, &keys, |found| {
            content = found.text(2).map(str::to_owned);
            Ok(false)
        })?;
        match content {
            Some(content) => record.content = content,
            // What is to be said of a record without content, the statement says.
            None => return Ok(false),
        }
        Ok(readable)
    }

    fn sidecars(&self, state: &mut State) -> Result<bool> {
        let tier = |found: &Found| word(need(found.text(2))?, Tier::from_word);
        let Some(tier) = self.row(&TIER, tier)? else { return Ok(false) };
        state.tier = tier.unwrap_or(Tier::Active);
        let label = |found: &Found| {
            let kind = word(need(found.text(2))?, Label::from_word)?;
            let scope = word(need(found.text(3))?, Scope::from_word)?;
            Ok((kind, scope, Stamp::from_pg_micros(need(found.timestamptz(4))?)))
        };
        let Some(label) = self.row(&LABEL, label)? else { return Ok(false) };
        state.classification = label;
        let epistemics = |found: &Found| {
            let fields = Epistemics {
                evidence_state: found
                    .text(2)
                    .map(|state| word(state, EvidenceState::from_word))
                    .transpose()?,
                proof_hint: found.text(3).map(str::to_owned),
                stale_if: found.text(4).map(str::to_owned),
            };
            Ok((fields, Stamp::from_pg_micros(need(found.timestamptz(5))?)))
        };
        let Some(epistemics) = self.row(&EPISTEMIC, epistemics)? else { return Ok(false) };
        state.epistemics = epistemics;
        let event = |found: &Found| Ok((stamp(need(found.text(2))?)?, stamp(need(found.text(3))?)?));
        let Some(event) = self.row(&EVENT_TIME, event)? else { return Ok(false) };
        state.event = event;
        // In order of their numbers: the last one decides.
        self.rows(&PIN, |found| {
            state.pinned = need(found.bool(2))?;
            Ok(true)
        })
    }

    fn beside(&self, state: &State) -> Result<Option<Beside>> {
        let mut beside = Beside::default();
        let readable = self.rows(&REVIEW, |found| {
            let text = |column| need(found.text(column)).map(str::to_owned);
            beside.reviews.push(Review {
                verdict: text(2)?,
                reason: text(3)?,
                actor: text(4)?,
                at: Stamp::from_pg_micros(need(found.timestamptz(5))?),
            });
            Ok(true)
        })?;
        if !readable || !self.edges(&mut beside.edges)? {
            return Ok(None);
        }
        let id = state.id();
        let subject = [Key::Text(self.look.space()), Key::Text(&id)];
        let readable = self.look.last(&JOURNAL, &subject, |found| {
            beside.mutation = Some(Mutation {
                at: Stamp::from_pg_micros(need(found.timestamptz(2))?),
                actor: need(found.text(3))?.to_owned(),
                event: need(found.text(4))?.to_owned(),
            });
            Ok(())
        })?;
        if !readable {
            return Ok(None);
        }
        if state.is_forgotten() {
            let tombstone = |found: &Found| {
                let text = |column| found.text(column).map(str::to_owned);
                Ok(Tombstone {
                    mode: need(text(2))?,
                    content_hmac: need(text(3))?,
                    at: Stamp::from_pg_micros(need(found.timestamptz(4))?),
                    reason: need(text(5))?,
                    trace: text(6).zip(text(7)),
                })
            };
            let Some(tombstone) = self.row(&TOMBSTONE, tombstone)? else { return Ok(None) };
            beside.tombstone = tombstone;
        }
        Ok(Some(beside))
    }

    /// The edges whose other end the caller may read, each once.
    fn edges(&self, edges: &mut Vec<Edge>) -> Result<bool> {
        let mut readable = true;
        for (keyed, is_to) in [(&EDGES_TO, true), (&EDGES_FROM, false)] {
            readable &= self.rows(keyed, |found| {
                let (to, from) = (need(found.int8(2))?, need(found.int8(4))?);
                let from_outcome = need(found.bool(3))?;
                let other = match (is_to, from_outcome) {
                    (true, true) => None,
                    (true, false) => Some(from),
                    (false, false) if to != self.seq => Some(to),
                    // An outcome of that number is no end of this capsule.
                    (false, _) => return Ok(true),
                };
                if let Some(other) = other {
                    match self.may_read(other)? {
                        Some(true) => (),
                        Some(false) => return Ok(true),
                        None => {
                            readable = false;
                            return Ok(false);
                        }
                    }
                }
                edges.push(Edge {
                    at: Stamp::from_pg_micros(need(found.timestamptz(5))?),
                    kind: need(found.text(1))?.to_owned(),
                    from: if from_outcome { format!("out-{from}") } else { id_of(from) },
                    to: id_of(to),
                    import: need(found.text(6))? == "import",
                });
                Ok(true)
            })?;
        }
        Ok(readable)
    }

    /// Whether the caller may read another capsule; `None` when that is not found by key.
    fn may_read(&self, seq: i64) -> Result<Option<bool>> {
        if self.look.sees_all() {
            return Ok(Some(true));
        }
        let mut may = false;
        let keys = [Key::Text(self.look.space()), Key::Int8(seq)];
        let readable = self.look.rows(&TREE, &keys, |found| {
            may = self.look.allows(Level::Read, &stored_tree(need(found.output(2))?)?);
            Ok(false)
        })?;
        Ok(readable.then_some(may))
    }
}

fn stamp(text: &str) -> Result<Stamp> {
    Stamp::parse(text).ok_or_else(|| Error::Internal(format!("stored timestamp {text:?}")))
}
