//! `path` of import and export: files below the root that the server was started with.
//!
//! This is the one thing that the database cannot do for its clients. The two tools get the argument `path` here and
//! nowhere else; what a text means and what a file is called is still decided by the database
//! (`me.memory_import_records`, `me.memory_import`, `me.memory_export`, `me.memory_export_files`).

mod export;
mod import;
mod root;

use crate::arguments::Arguments;
use crate::db::{Asker, Database};
use crate::outcome::{Failure, Refusal};
use rmcp::model::{JsonObject, ProgressNotificationParam, ProgressToken, Tool};
use rmcp::service::{Peer, RoleServer};
pub use root::Root;
use serde_json::{Value, json};
use std::sync::Arc;

const IMPORT: &str = "me_memory_import";
const EXPORT: &str = "me_memory_export";

/// Adds `path` to the two tools that take it.
pub fn describe(tools: &mut [Tool]) {
    for tool in tools {
        let input = Arc::make_mut(&mut tool.input_schema);
        match &*tool.name {
            IMPORT => {
                property(
                    input,
                    "path",
                    "A file or folder below the server's root, instead of content. A folder is \
                    read with all below it: .json .ndjson .jsonl .yaml .yml .md .markdown.",
                );
                input.insert("required".into(), json!([]));
            }
            EXPORT => {
                property(
                    input,
                    "path",
                    "A file below the server's root to write instead of answering with content; \
                    for md a folder, which gets a file for each memory.",
                );
                let output = tool.output_schema.as_mut().map(Arc::make_mut);
                if let Some(output) = output {
                    property(output, "path", "The file that was written.");
                    property(output, "directory", "The folder that was written to.");
                    output.insert("required".into(), json!(["count"]));
                }
            }
            _ => {}
        }
    }
}

fn property(schema: &mut JsonObject, name: &str, description: &str) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert(name.into(), json!({"type": "string", "minLength": 1, "description": description}));
    }
}

/// Whom to tell how far a call has come.
pub struct Progress {
    /// The client, if it wants to know.
    pub to: Option<(Peer<RoleServer>, ProgressToken)>,
}

impl Progress {
    async fn tell(&self, done: usize, total: usize, what: &str) {
        if let Some((peer, token)) = &self.to {
            let parameters = ProgressNotificationParam::new(token.clone(), done as f64)
                .with_total(total as f64)
                .with_message(what);
            // A client that has gone away is noticed elsewhere.
            let _ = peer.notify_progress(parameters).await;
        }
    }
}

/// Runs one of the two tools if it was given a `path`; its answer.
pub async fn run(
    root: &Root,
    database: &Database,
    asker: &Asker,
    tool: &str,
    arguments: &Arguments,
    progress: &Progress,
) -> Option<Result<Value, Failure>> {
    if !matches!(tool, IMPORT | EXPORT) {
        return None;
    }
    let fields: JsonObject = serde_json::from_str(&arguments.0).ok()?;
    let path = match fields.get("path") {
        None | Some(Value::Null) => return None,
        Some(Value::String(path)) => path.clone(),
        Some(other) => return Some(Err(refused(format!("argument \"path\" must be a string: {other}")))),
    };
    Some(match tool {
        IMPORT => import::run(root, database, asker, &path, fields, progress).await,
        _ => export::run(root, database, asker, &path, fields).await,
    })
}

/// A path that is of no use.
fn refused(message: String) -> Failure {
    Failure::Refused(Box::new(Refusal::validation(
        "path",
        message,
        "Name a file or folder below the server's root.",
    )))
}

/// An argument as the database takes it: text as it is, all else as JSON.
fn text_of(fields: &JsonObject, name: &str) -> Option<String> {
    match fields.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Lets the database check the arguments as it checks those of any call, without running anything: `path` is taken out,
/// and what is known to be missing stays missing.
fn only(fields: &JsonObject, names: &[&str]) -> Result<(), Failure> {
    match fields.keys().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Failure::Refused(Box::new(Refusal::validation(
            name,
            format!("unknown argument {name:?}"),
            format!("With a path the arguments are {}.", names.join(", ")),
        )))),
    }
}
