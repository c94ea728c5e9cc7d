//! `me.*` functions for a client that has files: they parse and write texts, the client reads and writes files.

use super::filters::Filters;
use super::{required, result};
use crate::domain::filter::TreeFilter;
use crate::domain::limits::export_limit;
use crate::domain::transfer::{self, MarkdownFile, TransferFormat};
use crate::error::{Error, Result};
use crate::store::jsonb::Jsonb;
use crate::store::session;
use crate::store::transfer as store;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;

// Reads nothing but its arguments: a record's tree is still the text that was written, home and access come later.
#[pg_extern(immutable, parallel_safe)]
fn memory_import_records(
    content: default!(Option<&str>, "NULL"),
    format: default!(Option<&str>, "NULL"),
) -> std::result::Result<SetOfIterator<'static, Jsonb>, ErrorReport> {
    let content = required("content", content)?;
    let format = format.map(|word| TransferFormat::parse("format", word)).transpose().map_err(Error::from)?;
    let records = transfer::parse(content, format).map_err(Error::from)?;
    let rows = records.iter().map(|record| result(&record.to_json())).collect::<Result<Vec<_>>>()?;
    Ok(SetOfIterator::new(rows))
}

#[pg_extern(stable, parallel_restricted)]
fn memory_export_files(
    tree: default!(Option<String>, "NULL"),
    meta: default!(Option<Jsonb>, "NULL"),
    meta_predicate: default!(Option<String>, "NULL"),
    temporal: default!(Option<Jsonb>, "NULL"),
    limit: default!(Option<i32>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> std::result::Result<Jsonb, ErrorReport> {
    let limit = export_limit("limit", limit.map(i64::from)).map_err(Error::from)?;
    let filters = Filters { tree, meta, meta_predicate, temporal }.check()?;
    let (records, truncated) = session::read(
        space,
        |home| filters.place(home, TreeFilter::parse),
        |session, criteria| store::export(session, criteria, limit),
    )?;
    Ok(encode(&records, truncated)?)
}

fn encode(records: &[String], truncated: bool) -> Result<Jsonb> {
    let texts: Vec<&str> = records.iter().map(String::as_str).collect();
    let files: Vec<_> = transfer::markdown_files(&texts)?
        .into_iter()
        .map(|MarkdownFile { path, text }| json!({"path": path, "content": text}))
        .collect();
    let mut answer = json!({"count": files.len(), "files": files});
    if truncated {
        answer["truncated"] = true.into();
    }
    result(&answer.to_string())
}
