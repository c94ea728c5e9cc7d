//! `me.format`: an answer as text for people and models.

use super::required;
use crate::domain::format::{Format, render};
use crate::error::Error;
use crate::store::jsonb::Jsonb;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

#[pg_extern(immutable, parallel_safe)]
fn format(
    value: default!(Option<Jsonb>, "NULL"),
    format: default!(Option<&str>, "NULL"),
) -> std::result::Result<String, ErrorReport> {
    let value = required("value", value)?;
    let format = Format::parse("format", format).map_err(Error::from)?;
    let text = render(&value.text(), format)
        .map_err(|error| Error::Internal(format!("a value could not be formatted: {error}")))?;
    Ok(text)
}
