//! `me.format`: an answer as text for people and models.

use super::required;
use crate::domain::format::{Format, render};
use crate::domain::invalid::Invalid;
use crate::error::Error;
use crate::store::jsonb::Jsonb;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

/// `jsonb` is always JSON: the one value that cannot be written is one that nests too deeply.
fn too_deep(error: serde_json::Error) -> Error {
    Invalid::new(
        "value",
        "FMT-3",
        format!("argument \"value\" cannot be written: {error}"),
        "Format a part of the value, or cast it to text.",
    )
    .into()
}

#[pg_extern(immutable, parallel_safe)]
fn format(
    value: default!(Option<Jsonb>, "NULL"),
    format: default!(Option<&str>, "NULL"),
) -> std::result::Result<String, ErrorReport> {
    let value = required("value", value)?;
    let format = Format::parse("format", format).map_err(Error::from)?;
    let text = render(&value.text(), format).map_err(too_deep)?;
    Ok(text)
}
