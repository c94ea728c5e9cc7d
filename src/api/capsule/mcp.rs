//! The tools of toolset `capsule`, by their MCP names: a wrong form of an argument is answered in band.

use super::run;
use crate::domain::invalid::Invalid;
use crate::error::Error;
use crate::guc;
use crate::store::jsonb::Jsonb;
use pgrx::pg_sys::panic::ErrorReport;
use serde_json::{Map, Value};

/// Runs a tool with the JSON text of its arguments.
pub fn call(tool: &str, arguments: &str) -> Result<Jsonb, ErrorReport> {
    let mut fields: Map<String, Value> = serde_json::from_str(arguments).map_err(|_| {
        Error::from(Invalid::new(
            "arguments",
            "CAP-ENV-8",
            "argument \"arguments\" must be an object of moderate depth",
            "Give the arguments of the tool by their names.",
        ))
    })?;
    // In a locked session the tools have no argument `space`: it stays among the others and is refused there.
    let space = if guc::space_locked() { None } else { fields.remove("space") };
    match space {
        None => run(tool, fields, None),
        Some(Value::String(space)) => run(tool, fields, Some(&space)),
        Some(_) => Err(Error::from(Invalid::new(
            "space",
            "CALL-5",
            "argument \"space\" must be a text",
            "Name a space, or leave the argument out to use the session's.",
        ))
        .into()),
    }
}
