//! `me.*` functions that move memories in and out as text.

use super::filters::Filters;
use super::{required, result};
use crate::domain::filter::TreeFilter;
use crate::domain::id::Id;
use crate::domain::invalid::Invalid;
use crate::domain::limits::export_limit;
use crate::domain::memory::Content;
use crate::domain::path::{Home, TreePath};
use crate::domain::transfer::{self, ImportRecord, TransferFormat};
use crate::error::{Error, Result};
use crate::guc;
use crate::store::jsonb::Jsonb;
use crate::store::memory::{MetaValue, NewMemory, Status};
use crate::store::operation::Operation;
use crate::store::session;
use crate::store::transfer as store;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// Runs `memory_export`.
pub fn export(format: Option<&str>, filters: Filters, limit: Option<i64>, space: Option<&str>) -> Answer {
    let format = TransferFormat::parse("format", required("format", format)?).map_err(Error::from)?;
    let limit = export_limit("limit", limit).map_err(Error::from)?;
    let filters = filters.check()?;
    let (records, truncated) = session::read(
        space,
        |home| filters.place(home, TreeFilter::parse),
        |session, criteria| store::export(session, criteria, limit),
    )?;
    Ok(encode(&records, truncated, format)?)
}

fn encode(records: &[String], truncated: bool, format: TransferFormat) -> Result<Jsonb> {
    let texts: Vec<&str> = records.iter().map(String::as_str).collect();
    let content = transfer::export(&texts, format)?;
    let mut answer = json!({"count": records.len(), "content": content});
    if truncated {
        answer["truncated"] = true.into();
    }
    result(&answer.to_string())
}

/// Where a record goes that names no tree (IMP-6).
const DEFAULT_TREE: &str = "share";

/// Runs `memory_import`.
pub fn import(content: Option<&str>, format: Option<&str>, space: Option<&str>) -> Answer {
    let content = required("content", content)?;
    let format = format.map(|word| TransferFormat::parse("format", word)).transpose().map_err(Error::from)?;
    let records = transfer::parse(content, format).map_err(Error::from)?;
    let outcomes = session::write(
        space,
        |home| Ok(place(records, home)?),
        |session, memories| store::import(session, &Operation::new("create"), memories),
    )?;
    Ok(imported(&outcomes)?)
}

/// Makes memories of records, for a caller with this home; a refusal names its record.
fn place(records: Vec<ImportRecord>, home: Option<&Home>) -> std::result::Result<Vec<NewMemory>, Invalid> {
    let limit = guc::max_content_bytes();
    let memories = records
        .into_iter()
        .enumerate()
        .map(|(at, record)| memory(record, home, limit).map_err(|invalid| transfer::refuse(at + 1, invalid)))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    transfer::check_keys(memories.iter().map(|memory| (memory.id, &memory.tree, memory.name.as_ref())))?;
    Ok(memories)
}

fn memory(
    record: ImportRecord,
    home: Option<&Home>,
    limit: usize,
) -> std::result::Result<NewMemory, Invalid> {
    Ok(NewMemory {
        id: record.id,
        tree: TreePath::parse_required("tree", record.tree.as_deref().unwrap_or(DEFAULT_TREE), home)?,
        name: record.name,
        content: Content::parse("content", record.content, limit)?,
        meta: record
            .meta
            .map(|meta| meta.within_bytes("meta", limit))
            .transpose()?
            .map_or_else(MetaValue::empty, MetaValue::from_meta),
        temporal: record.temporal,
    })
}

/// The counts and ids of an import; in SQL it is all or nothing, so nothing ever failed (IMP-3, IMP-12).
fn imported(outcomes: &[(Id, Status)]) -> Result<Jsonb> {
    let ids = |wanted: Status| -> Vec<String> {
        outcomes.iter().filter(|(_, status)| *status == wanted).map(|(id, _)| id.to_string()).collect()
    };
    let (ids, skipped) = (ids(Status::Inserted), ids(Status::Skipped));
    result(
        &json!({
            "imported": ids.len(), "skipped": skipped.len(), "failed": 0,
            "ids": ids, "skippedIds": skipped, "errors": []
        })
        .to_string(),
    )
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_import(
    content: default!(Option<&str>, "NULL"),
    format: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    import(content, format, space)
}

#[pg_extern(stable, parallel_restricted)]
fn memory_export(
    format: default!(Option<&str>, "NULL"),
    tree: default!(Option<String>, "NULL"),
    meta: default!(Option<Jsonb>, "NULL"),
    meta_predicate: default!(Option<String>, "NULL"),
    temporal: default!(Option<Jsonb>, "NULL"),
    limit: default!(Option<i32>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    export(format, Filters { tree, meta, meta_predicate, temporal }, limit.map(i64::from), space)
}

#[pg_extern(stable, parallel_restricted)]
fn memory_export_rows(
    tree: default!(Option<String>, "NULL"),
    meta: default!(Option<Jsonb>, "NULL"),
    meta_predicate: default!(Option<String>, "NULL"),
    temporal: default!(Option<Jsonb>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> std::result::Result<SetOfIterator<'static, Jsonb>, ErrorReport> {
    let filters = Filters { tree, meta, meta_predicate, temporal }.check()?;
    let rows = session::read(space, |home| filters.place(home, TreeFilter::parse), store::Rows::begin)?;
    Ok(SetOfIterator::new(rows))
}
