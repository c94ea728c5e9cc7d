//! Functions that only our own statements call: the domain's rules, where SQL needs them row by row.
//!
//! Nobody but the owner may execute them.

use super::digest::{self, Fields, Said};
use super::jsonb::Jsonb;
use super::payload::{Payload, temporal};
use super::{random, uuid_v7};
use crate::domain::instant::Instant;
use crate::domain::path::{Home, TreePath};
use crate::domain::version::VersionHash;
use pgrx::prelude::*;

fn instant(at: TimestampWithTimeZone) -> Instant {
    Instant::from_micros(i64::from(at))
}

/// An instant as responses show it (REC-4).
#[pg_extern(immutable, parallel_safe, name = "_iso_millis")]
pub(crate) fn iso_millis(at: TimestampWithTimeZone) -> String {
    instant(at).to_iso_millis()
}

/// A tree as its reader sees it (TREE-9).
#[pg_extern(immutable, parallel_safe, name = "_tree_display")]
pub(crate) fn tree_display(tree: Option<&str>, home: Option<&str>) -> Option<String> {
    let home = home.and_then(Home::from_label);
    TreePath::from_dotted(tree?).map(|tree| tree.display(home.as_ref()))
}

/// The version hash of a payload (HASH-4).
#[pg_extern(immutable, parallel_safe, name = "_version_hash")]
fn version_hash(
    tree: Option<&str>,
    name: Option<&str>,
    meta: Option<Jsonb>,
    start: Option<TimestampWithTimeZone>,
    end: Option<TimestampWithTimeZone>,
    content: Option<&str>,
) -> Option<pgrx::Uuid> {
    let hash = VersionHash::of(tree?, name, &meta?.text(), temporal(start, end).as_ref(), content?);
    Some(pgrx::Uuid::from_bytes(*hash.as_bytes()))
}

/// The next UUIDv7 of this backend.
#[pg_extern(volatile, parallel_restricted, name = "_uuid_v7")]
fn next_uuid() -> pgrx::Uuid {
    uuid_v7::next()
}

/// The id of a new entry of the queue: where one is, there is work when the transaction commits.
#[pg_extern(volatile, parallel_unsafe, name = "_queue_id")]
fn queue_id() -> pgrx::Uuid {
    crate::worker::note_work();
    uuid_v7::next()
}

/// Sixteen random bytes: without them, the digest of a purged payload could be confirmed by guessing.
#[pg_extern(volatile, parallel_restricted, name = "_salt")]
fn salt() -> Vec<u8> {
    random::bytes().to_vec()
}

/// SHA-256 over a salt and the payload in its canonical form.
#[pg_extern(immutable, parallel_safe, name = "_payload_digest")]
fn payload_digest(
    salt: Option<&[u8]>,
    tree: Option<&str>,
    name: Option<&str>,
    meta: Option<Jsonb>,
    start: Option<TimestampWithTimeZone>,
    end: Option<TimestampWithTimeZone>,
    content: Option<&str>,
) -> Option<Vec<u8>> {
    let payload = Payload {
        tree: tree?,
        name,
        content: content?,
        meta: meta?.text().into(),
        stored_meta: meta,
        temporal: temporal(start, end),
    };
    Some(digest::of_payload(salt?, &payload).to_vec())
}

/// SHA-256 over everything an event says besides its payload, and the payload's digest.
#[pg_extern(immutable, parallel_safe, name = "_event_digest")]
#[allow(clippy::too_many_arguments, reason = "an event has that many columns")]
fn event_digest(
    space: &str,
    event_id: pgrx::Uuid,
    at: TimestampWithTimeZone,
    operation: &str,
    operation_id: pgrx::Uuid,
    cause: Option<&str>,
    actor_id: Option<pgrx::Uuid>,
    actor_name: Option<&str>,
    api_key_id: Option<pgrx::Uuid>,
    api_key_name: Option<&str>,
    memory_id: pgrx::Uuid,
    tree: &str,
    version: i64,
    content_version: i64,
    payload_digest: &[u8],
) -> Vec<u8> {
    let said = Said {
        space,
        event_id: event_id.as_bytes(),
        at: i64::from(at),
        operation,
        operation_id: operation_id.as_bytes(),
        cause,
        actor_id: actor_id.as_ref().map(pgrx::Uuid::as_bytes),
        actor_name,
        api_key_id: api_key_id.as_ref().map(pgrx::Uuid::as_bytes),
        api_key_name,
        memory_id: memory_id.as_bytes(),
        tree,
        version,
        content_version,
    };
    said.digest(payload_digest).to_vec()
}

/// SHA-256 over everything an event about access says, written like those of memories.
#[pg_extern(immutable, parallel_safe, name = "_access_event_digest")]
#[allow(clippy::too_many_arguments, reason = "an event has that many columns")]
fn access_event_digest(
    space: &str,
    event_id: pgrx::Uuid,
    at: TimestampWithTimeZone,
    operation: &str,
    operation_id: pgrx::Uuid,
    actor_id: Option<pgrx::Uuid>,
    actor_name: Option<&str>,
    api_key_id: Option<pgrx::Uuid>,
    api_key_name: Option<&str>,
    subject_id: Option<pgrx::Uuid>,
    subject_name: Option<&str>,
    details: Jsonb,
) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.put(Some(space.as_bytes()));
    fields.put(Some(event_id.as_bytes()));
    fields.put(Some(&i64::from(at).to_be_bytes()));
    fields.put(Some(operation.as_bytes()));
    fields.put(Some(operation_id.as_bytes()));
    fields.put(actor_id.as_ref().map(|id| &id.as_bytes()[..]));
    fields.put(actor_name.map(str::as_bytes));
    fields.put(api_key_id.as_ref().map(|id| &id.as_bytes()[..]));
    fields.put(api_key_name.map(str::as_bytes));
    fields.put(subject_id.as_ref().map(|id| &id.as_bytes()[..]));
    fields.put(subject_name.map(str::as_bytes));
    fields.put(Some(details.text().as_bytes()));
    fields.digest().to_vec()
}
