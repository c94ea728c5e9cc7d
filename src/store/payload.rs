//! What a memory says, as it is hashed and as statements take it.

use super::jsonb::Jsonb;
use super::record::Record;
use super::session::{Session, stored_tree};
use super::spi::{arg, in_memory_above};
use crate::domain::instant::Instant;
use crate::domain::temporal::Temporal;
use crate::domain::version::VersionHash;
use crate::error::{Error, Result};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use std::borrow::Cow;

/// What a memory says: what its version hash is made of.
pub struct Payload<'a> {
    /// The tree in dotted form.
    pub tree: &'a str,
    /// The leaf name, or none.
    pub name: Option<&'a str>,
    /// The text.
    pub content: &'a str,
    /// The metadata as PostgreSQL prints it.
    pub meta: Cow<'a, str>,
    /// The same metadata as it is stored.
    pub stored_meta: Option<Jsonb>,
    /// The time it is about.
    pub temporal: Option<Temporal>,
}

impl Payload<'_> {
    /// The version hash (HASH-4), as it is stored.
    pub fn version_hash(&self) -> pgrx::Uuid {
        let hash = VersionHash::of(self.tree, self.name, &self.meta, self.temporal.as_ref(), self.content);
        pgrx::Uuid::from_bytes(*hash.as_bytes())
    }

    /// The metadata as a parameter.
    pub fn meta_arg(&self) -> Option<Datum> {
        self.stored_meta.map(Jsonb::datum)
    }

    /// The beginning of the time as a parameter.
    pub fn start(&self) -> Option<Datum> {
        self.temporal.and_then(|temporal| arg(timestamp(temporal.start())))
    }

    /// The end of the time as it is stored: a point ends where it starts.
    pub fn end(&self) -> Option<Datum> {
        self.temporal.and_then(|temporal| arg(timestamp(temporal.end().unwrap_or_else(|| temporal.start()))))
    }
}

/// What a memory is besides what it says.
pub struct State<'a> {
    /// Its id.
    pub id: pgrx::Uuid,
    /// Its version.
    pub version: i64,
    /// Its version hash.
    pub version_hash: pgrx::Uuid,
    /// Whether search by meaning finds it.
    pub has_embedding: bool,
    /// When it was made.
    pub created_at: Instant,
    /// Who made it.
    pub created_by: &'a str,
    /// When it was last updated, or none.
    pub updated_at: Option<Instant>,
}

/// A memory as callers see it (REC-1).
pub fn record(session: &Session, payload: &Payload, state: &State) -> Result<Jsonb> {
    let tree = stored_tree(payload.tree)?.display(session.home());
    let stored_meta =
        payload.stored_meta.ok_or_else(|| Error::Internal("metadata is missing".into()))?.container();
    let record = Record {
        id: *state.id.as_bytes(),
        content: payload.content,
        meta: stored_meta,
        tree: &tree,
        name: payload.name,
        temporal: payload
            .temporal
            .map(|temporal| (temporal.start(), temporal.end().unwrap_or_else(|| temporal.start()))),
        version: state.version,
        version_hash: *state.version_hash.as_bytes(),
        has_embedding: state.has_embedding,
        created_at: state.created_at,
        created_by: state.created_by,
        updated_at: state.updated_at,
    };
    // It is the call's result.
    in_memory_above(|| record.to_jsonb())
        .ok_or_else(|| Error::Internal("a record is longer than a jsonb can be".into()))
}

/// When the transaction began, which is when its rows are made and updated.
pub fn transaction_start() -> Instant {
    // SAFETY: reads the transaction's own state.
    Instant::from_micros(unsafe { pgrx::pg_sys::GetCurrentTransactionStartTimestamp() })
}

fn timestamp(at: Instant) -> Option<TimestampWithTimeZone> {
    TimestampWithTimeZone::try_from(at.micros()).ok()
}

/// The time between two stored instants.
pub fn temporal(
    start: Option<TimestampWithTimeZone>,
    end: Option<TimestampWithTimeZone>,
) -> Option<Temporal> {
    let instant = |at| Instant::from_micros(i64::from(at));
    Some(Temporal::from_stored(instant(start?), instant(end?)))
}
