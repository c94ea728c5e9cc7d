//! A capsule with its sidecars, as it stands now.

use super::rows::{scope_args, stamp_of, written};
use crate::domain::access::Level;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::ingest::Epistemics;
use crate::domain::capsule::project::Fence;
use crate::domain::capsule::record::{Record, id_of, seq_of};
use crate::domain::capsule::stamp::Stamp;
use crate::domain::capsule::text::headline;
use crate::domain::capsule::words::{Authority, EvidenceState, Kind, Scope, Tier};
use crate::domain::path::TreePath;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::{Session, stored_tree};
use crate::store::spi::{Row, arg};
use pgrx::prelude::*;
use serde_json::{Map, Value, json};

statement!(
    BY_SEQS,
    [
        include_str!("state.sql"),
        include_str!("capsule.sql"),
        " where c.space = $1 and c.seq = any ($2) order by c.seq"
    ],
    [TEXTOID, INT8ARRAYOID]
);
statement!(
    IN_SCOPE,
    [
        include_str!("state.sql"),
        include_str!("capsule.sql"),
        " where ",
        include_str!("scope.sql"),
        " and c.memory_id is not null order by c.seq"
    ],
    [TEXTOID, TEXTARRAYOID, TEXTOID, TEXTOID]
);

/// A capsule.
pub struct State {
    /// Its number.
    pub seq: i64,
    /// Where it stands.
    pub tree: TreePath,
    /// Its project.
    pub project_id: String,
    /// The memory of its content.
    pub memory_id: Option<pgrx::Uuid>,
    /// The seven fields; none once forgotten.
    pub record: Option<Record>,
    /// SHA-256 of the content, forgotten or not.
    pub source_hash: String,
    /// When it was captured.
    pub created: Stamp,
    /// Its session.
    pub session_id: Option<String>,
    /// Its tier now.
    pub tier: Tier,
    /// Target of a `supersedes` edge, as far as that is asked for.
    pub superseded: bool,
    /// Its label, the reach of it, and since when.
    pub classification: Option<(Kind, Scope, Stamp)>,
    /// What supports it, and since when.
    pub epistemics: Option<(Epistemics, Stamp)>,
    /// When the fact was.
    pub event: Option<(Stamp, Stamp)>,
    /// How often it was recalled, and when last; none when it never was, or nobody asked.
    pub usage: Option<(i64, Stamp)>,
    /// Whether its newest pin event pins it.
    pub pinned: bool,
    /// Its newest verdict.
    pub verdict: Option<String>,
}

/// Columns that `state.sql` selects.
pub const COLUMNS: i32 = 30;

pub(super) fn word<T>(word: &str, from_word: impl Fn(&str) -> Option<T>) -> Result<T> {
    from_word(word).ok_or_else(|| Error::Internal(format!("stored word {word:?}")))
}

impl State {
    /// Reads a row of `state.sql`. What does not satisfy the rules of a capsule is our fault (CAP-MODEL-4).
    pub fn from_row(row: &Row) -> Result<Self> {
        let seq: i64 = row.need(1)?;
        let memory_id: Option<pgrx::Uuid> = row.get(4);
        let project_id: String = row.need(3)?;
        let source_hash: String = row.need(7)?;
        let record = match memory_id {
            None => None,
            Some(_) => Some(Record {
                content: row.need(15)?,
                source: row.need(5)?,
                anchor: row.need(6)?,
                source_hash: source_hash.clone(),
                confidence: row.need(8)?,
                valid_from: written(row, 9)?
                    .ok_or_else(|| Error::Internal(format!("{} has no valid_from", id_of(seq))))?,
                valid_to: written(row, 10)?,
                project_id: project_id.clone(),
                authority: word(&row.need::<String>(11)?, Authority::from_word)?,
                instruction_taint: row.need(12)?,
            }),
        };
        let classification = match row.get::<String>(18) {
            None => None,
            Some(kind) => Some((
                word(&kind, Kind::from_word)?,
                word(&row.need::<String>(19)?, Scope::from_word)?,
                stamp_of(row.need(20)?),
            )),
        };
        let epistemics = match row.get::<TimestampWithTimeZone>(24) {
            None => None,
            Some(at) => Some((
                Epistemics {
                    evidence_state: row
                        .get::<String>(21)
                        .map(|state| word(&state, EvidenceState::from_word))
                        .transpose()?,
                    proof_hint: row.get(22),
                    stale_if: row.get(23),
                },
                stamp_of(at),
            )),
        };
        Ok(Self {
            seq,
            tree: stored_tree(&row.need::<String>(2)?)?,
            project_id,
            memory_id,
            record,
            source_hash,
            created: stamp_of(row.need(13)?),
            session_id: row.get(14),
            tier: word(&row.need::<String>(16)?, Tier::from_word)?,
            superseded: row.need(17)?,
            classification,
            epistemics,
            event: written(row, 25)?.zip(written(row, 26)?),
            usage: Some(row.need(27)?).zip(row.get(28).map(stamp_of)),
            pinned: row.need(29)?,
            verdict: row.get(30),
        })
    }

    /// Its id.
    pub fn id(&self) -> String {
        id_of(self.seq)
    }

    /// Whether its content is gone.
    pub fn is_forgotten(&self) -> bool {
        self.record.is_none()
    }

    /// The record, of a capsule that was selected as not forgotten.
    pub fn live(&self) -> Result<&Record> {
        self.record.as_ref().ok_or_else(|| Error::Internal(format!("{} has no content", self.id())))
    }

    /// Whether it has expired (CAP-GET-11).
    pub fn is_expired(&self, now: &Stamp) -> bool {
        self.record
            .as_ref()
            .and_then(|record| record.valid_to.as_ref())
            .is_some_and(|to| to.instant() < now.instant())
    }

    /// Its label.
    pub fn kind(&self) -> Option<Kind> {
        self.classification.as_ref().map(|(kind, _, _)| *kind)
    }

    /// The line of a list (CAP-LIST-2).
    pub fn entry(&self, now: &Stamp) -> Result<Map<String, Value>> {
        let record = self.live()?;
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        put("id", self.id().into());
        put("project_id", self.project_id.clone().into());
        put("instruction_taint", record.instruction_taint.into());
        put("created_at", self.created.text().into());
        put("headline", headline(&record.content).into());
        if self.tier != Tier::Active {
            put("tier", self.tier.word().into());
        }
        if self.is_expired(now) {
            put("expired", true.into());
        }
        if let Some(kind) = self.kind() {
            put("kind", kind.word().into());
        }
        if self.superseded {
            put("superseded", true.into());
        }
        if self.pinned {
            put("pinned", true.into());
        }
        Ok(entry)
    }

    /// The epistemic fields that are set, as recall and get show them.
    pub fn epistemics_json(&self) -> Option<Value> {
        let (fields, at) = self.epistemics.as_ref()?;
        let mut shown = Map::new();
        if let Some(state) = fields.evidence_state {
            shown.insert("evidence_state".into(), state.word().into());
        }
        if let Some(text) = &fields.proof_hint {
            shown.insert("proof_hint".into(), text.clone().into());
        }
        if let Some(text) = &fields.stale_if {
            shown.insert("stale_if".into(), text.clone().into());
        }
        shown.insert("at".into(), at.text().into());
        Some(json!(shown))
    }
}

/// The capsules of these numbers, in order of number; unknown ones are left out.
pub fn by_seqs(session: &Session, seqs: &[i64]) -> Result<Vec<State>> {
    session
        .db()
        .run(&BY_SEQS, &[arg(session.space()), arg(seqs.to_vec())])?
        .into_iter()
        .map(|row| State::from_row(&row))
        .collect()
}

/// The capsules that are not forgotten, behind the fences and within the caller's reach.
pub fn in_scope(session: &Session, fence: &Fence) -> Result<Vec<State>> {
    session
        .db()
        .run(&IN_SCOPE, &scope_args(session, fence, []))?
        .into_iter()
        .map(|row| State::from_row(&row))
        .collect()
}

/// The capsule of an id that the caller may read; another one answers as if it were not there.
pub fn find(session: &Session, id: &str) -> Result<State> {
    let unknown = || Error::from(Fault::unknown_capsule(id));
    let seq = seq_of(id).ok_or_else(unknown)?;
    let found = by_seqs(session, &[seq])?.into_iter().next();
    found.filter(|state| session.rights().allow(Level::Read, &state.tree)).ok_or_else(unknown)
}

/// The same, for a call that says something about it: that needs write access where it stands.
pub fn find_writable(session: &Session, id: &str) -> Result<State> {
    let state = find(session, id)?;
    session.require_capsule(Level::Write, &state.tree)?;
    Ok(state)
}
