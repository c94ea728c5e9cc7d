//! `me.memory_batch_create`.

use super::arguments::Arguments;
use super::memory::{Create, CreateRequest};
use super::{given, required, result};
use crate::domain::batch::check_keys;
use crate::domain::conflict::OnConflict;
use crate::domain::invalid::Invalid;
use crate::error::{Error, Result};
use crate::store::jsonb::Jsonb;
use crate::store::memory as store;
use crate::store::operation::Operation;
use crate::store::session;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;

/// What one item of a batch may say.
const ITEM: [&str; 6] = ["content", "tree", "id", "name", "meta", "temporal"];

/// Runs `memory_batch_create`.
pub fn create(
    memories: Option<Jsonb>,
    on_conflict: Option<&str>,
    space: Option<&str>,
) -> std::result::Result<Jsonb, ErrorReport> {
    let requests = parse(required("memories", given(memories))?)?;
    let mode = OnConflict::parse("on_conflict", on_conflict).map_err(Error::from)?;
    let outcomes = session::write(
        space,
        |home| {
            let mut memories = Vec::with_capacity(requests.len());
            for (index, request) in requests.into_iter().enumerate() {
                memories.push(request.place(home).map_err(|invalid| invalid.within(&item(index)))?);
            }
            check_keys(
                "memories",
                memories.iter().map(|memory| (memory.id, &memory.tree, memory.name.as_ref())),
            )?;
            Ok(memories)
        },
        |session, memories| store::create_many(session, &Operation::new("create"), &memories, mode),
    )?;
    let results: Vec<_> =
        outcomes.iter().map(|(id, status)| json!({"id": id.to_string(), "status": status.word()})).collect();
    Ok(result(&json!({ "results": results }).to_string())?)
}

fn item(index: usize) -> String {
    format!("memories[{index}]")
}

fn parse(memories: Jsonb) -> Result<Vec<CreateRequest>> {
    let text = memories.text();
    let items = super::arguments::items("memories", &text)?;
    crate::domain::batch::check_size("memories", items.len())?;
    items
        .into_iter()
        .enumerate()
        .map(|(index, raw)| {
            let place = item(index);
            read_item(raw.get(), &place).map_err(|error| match error {
                Error::Invalid(invalid) => Error::from(placed(*invalid, &place)),
                other => other,
            })
        })
        .collect()
}

fn placed(invalid: Invalid, place: &str) -> Invalid {
    if invalid.argument.starts_with(place) { invalid } else { invalid.within(place) }
}

fn read_item(text: &str, place: &str) -> Result<CreateRequest> {
    let args = Arguments::parse(place, text, &ITEM)?;
    Create {
        content: args.text("content")?,
        tree: args.text("tree")?,
        id: args.id("id")?,
        name: args.text("name")?,
        meta: args.json("meta")?,
        temporal: args.json("temporal")?,
    }
    .check()
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_batch_create(
    memories: default!(Option<Jsonb>, "NULL"),
    on_conflict: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> std::result::Result<Jsonb, ErrorReport> {
    create(memories, on_conflict, space)
}
