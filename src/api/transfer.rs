//! `me.*` functions that move memories in and out as text.

use super::filters::Filters;
use super::{required, result};
use crate::domain::filter::TreeFilter;
use crate::domain::limits::export_limit;
use crate::domain::transfer::{self, TransferFormat};
use crate::error::{Error, Result};
use crate::store::jsonb::Jsonb;
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
