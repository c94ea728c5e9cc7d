//! The SQL functions: decode the arguments, let `domain` judge them, let `store` do the work, encode the answer.
//!
//! A rule found here is in the wrong file.

pub mod access;
pub mod api_key;
pub mod arguments;
mod audit;
pub mod batch;
pub mod capsule;
mod doctor;
pub mod embedding;
mod files;
pub mod filters;
pub mod format;
pub mod history;
mod lexical;
pub mod mcp;
pub mod memory;
pub mod organise;
pub mod search;
pub mod space;
mod tools;
pub mod transfer;

use crate::domain::invalid::Invalid;
use crate::domain::select::Select;
use crate::error::{Error, Result};
use crate::store::jsonb::Jsonb;

/// The value of a required argument (CALL-2).
pub(crate) fn required<T>(argument: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Invalid::missing(argument).into())
}

/// JSON text of our own making as a result.
pub(crate) fn result(text: &str) -> Result<Jsonb> {
    Jsonb::parse(text).ok_or_else(|| Error::Internal("a result holds a zero byte".into()))
}

/// A record, or the part of it that was selected (section 11).
pub(crate) fn project(select: Option<&Select>, record: Jsonb) -> Result<Jsonb> {
    let Some(select) = select else {
        return Ok(record);
    };
    let projected = select
        .project(&record.text())
        .map_err(|error| Error::Internal(format!("a record could not be projected: {error}")))?;
    result(&projected)
}

/// A `jsonb` argument in which JSON `null` means "not given" (CALL-2).
pub(crate) fn given(value: Option<Jsonb>) -> Option<Jsonb> {
    value.filter(|value| !value.is_json_null())
}
