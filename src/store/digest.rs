//! Digests of the history: what proves an event, and what still proves it when its payload is erased.

use super::payload::Payload;
use crate::domain::version::write_canonical;
use sha2::{Digest, Sha256};

/// A digest as it is stored.
pub type Sha = [u8; 32];

/// SHA-256 over a salt and the payload in its canonical form.
pub fn of_payload(salt: &[u8], payload: &Payload) -> Sha {
    let mut hasher = Sha256::new();
    hasher.update(salt);
    write_canonical(
        &mut |bytes: &[u8]| hasher.update(bytes),
        payload.tree,
        payload.name,
        &payload.meta,
        payload.temporal.as_ref(),
        payload.content,
    );
    hasher.finalize().into()
}

/// What an event says besides its payload.
pub struct Said<'a> {
    /// Slug of the space.
    pub space: &'a str,
    /// The event.
    pub event_id: &'a [u8; 16],
    /// Microseconds as the server counts them.
    pub at: i64,
    /// insert, update, delete or purge.
    pub operation: &'a str,
    /// Shared by the events of a call.
    pub operation_id: &'a [u8; 16],
    /// The call.
    pub cause: Option<&'a str>,
    /// The acting principal.
    pub actor_id: Option<&'a [u8; 16]>,
    /// Its name.
    pub actor_name: Option<&'a str>,
    /// The key it came with.
    pub api_key_id: Option<&'a [u8; 16]>,
    /// The key's name.
    pub api_key_name: Option<&'a str>,
    /// The memory.
    pub memory_id: &'a [u8; 16],
    /// Its tree.
    pub tree: &'a str,
    /// Its version.
    pub version: i64,
    /// Its content version.
    pub content_version: i64,
}

impl Said<'_> {
    /// SHA-256 over all of it and the payload's digest.
    pub fn digest(&self, payload_digest: &[u8]) -> Sha {
        let mut fields = Fields::default();
        fields.put(Some(self.space.as_bytes()));
        fields.put(Some(self.event_id));
        fields.put(Some(&self.at.to_be_bytes()));
        fields.put(Some(self.operation.as_bytes()));
        fields.put(Some(self.operation_id));
        fields.put(self.cause.map(str::as_bytes));
        fields.put(self.actor_id.map(|id| &id[..]));
        fields.put(self.actor_name.map(str::as_bytes));
        fields.put(self.api_key_id.map(|id| &id[..]));
        fields.put(self.api_key_name.map(str::as_bytes));
        fields.put(Some(self.memory_id));
        fields.put(Some(self.tree.as_bytes()));
        fields.put(Some(&self.version.to_be_bytes()));
        fields.put(Some(&self.content_version.to_be_bytes()));
        fields.put(Some(payload_digest));
        fields.digest()
    }
}

/// The digest of a row of fields: each with its length before it, a null unlike any value, so that no two rows give
/// the same bytes.
#[derive(Default)]
pub struct Fields(Sha256);

impl Fields {
    /// Adds a field.
    pub fn put(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => {
                self.0.update((bytes.len() as u64 + 1).to_be_bytes());
                self.0.update(bytes);
            }
            None => self.0.update(0u64.to_be_bytes()),
        }
    }

    /// The digest of them all.
    pub fn digest(self) -> Sha {
        self.0.finalize().into()
    }
}
