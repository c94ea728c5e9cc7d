//! What changed about spaces, rosters, grants, gateways, groups and keys: one event for each change.

use super::caller::Caller;
use super::jsonb::Jsonb;
use super::spi::arg;
use super::uuid_v7;
use crate::error::Result;
use crate::statement;
use serde_json::Value;

statement!(
    INSERT,
    [include_str!("access_event.sql")],
    [TEXTOID, TEXTOID, UUIDOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, JSONBOID]
);

/// The events of one call.
pub struct AccessEvents {
    operation_id: pgrx::Uuid,
}

/// Whom or what a change is about.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Its id.
    pub id: pgrx::Uuid,
    /// Its name now.
    pub name: &'a str,
}

impl AccessEvents {
    /// Those of a new call.
    pub fn new() -> Self {
        crate::worker::note_change();
        Self { operation_id: uuid_v7::next() }
    }

    /// Records a change in a space (empty: in none).
    pub fn record(
        &self,
        caller: &Caller,
        space: &str,
        operation: &str,
        subject: Subject,
        details: &Value,
    ) -> Result<()> {
        caller.db().run(
            &INSERT,
            &[
                arg(space),
                arg(operation),
                arg(self.operation_id),
                caller.actor_id(),
                arg(caller.actor_name()),
                caller.api_key_id(),
                caller.api_key_name(),
                arg(subject.id),
                arg(subject.name),
                Jsonb::parse(&details.to_string()).map(Jsonb::datum),
            ],
        )?;
        Ok(())
    }
}
