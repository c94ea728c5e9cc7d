//! `me_memory_export` with a path (EXP-2, EXP-6).

use super::root::Root;
use super::{only, refused, text_of};
use crate::db::{Asker, Database, value};
use crate::outcome::Failure;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

const FILES: &str = "\
select me.memory_export_files(tree => a->>'tree', meta => a->'meta', meta_predicate => a->>'metaPredicate',
         temporal => a->'temporal', \"limit\" => (a->>'limit')::integer, space => a->>'space')::text
from (select $1::text::jsonb as a) as arguments";

#[derive(Deserialize)]
struct Text {
    count: u64,
    content: String,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct Files {
    count: u64,
    files: Vec<File>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct File {
    path: String,
    content: String,
}

/// Exports into a file, or as Markdown into a folder.
pub async fn run(
    root: &Root,
    database: &Database,
    asker: &Asker,
    path: &str,
    mut fields: JsonObject,
) -> Result<Value, Failure> {
    let place = root.place(path).map_err(refused)?;
    fields.shift_remove("path");
    let mut answer = match text_of(&fields, "format").as_deref() {
        Some("md") => folder(root, database, asker, &place, &fields).await?,
        _ => file(root, database, asker, &place, &fields).await?,
    };
    let key = if answer.get("directory").is_some() { "directory" } else { "path" };
    answer[key] = path.into();
    Ok(answer)
}

async fn file(
    root: &Root,
    database: &Database,
    asker: &Asker,
    place: &Path,
    fields: &JsonObject,
) -> Result<Value, Failure> {
    let arguments = Value::Object(fields.clone()).to_string();
    let answer = database.read(asker, super::EXPORT, &arguments, None).await?;
    let Text { count, content, truncated } = read(&answer.json)?;
    // A text of the export ends without one.
    write(root, place, &format!("{content}\n"))?;
    Ok(with_truncated(json!({"count": count, "path": null}), truncated))
}

async fn folder(
    root: &Root,
    database: &Database,
    asker: &Asker,
    place: &Path,
    fields: &JsonObject,
) -> Result<Value, Failure> {
    only(fields, &["path", "format", "tree", "meta", "metaPredicate", "temporal", "limit", "space"])?;
    let arguments = Value::Object(fields.clone()).to_string();
    let row = database.read_row(asker, FILES, &[&arguments]).await?;
    let Files { count, files, truncated } = read(&value::<String>(&row, 0)?)?;
    for File { path, content } in &files {
        let below = root.place(path).map_err(refused)?;
        write(root, &place.join(below), content)?;
    }
    Ok(with_truncated(json!({"count": count, "directory": null}), truncated))
}

fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Failure> {
    serde_json::from_str(json)
        .map_err(|error| Failure::Internal(format!("an export answered something else: {error}")))
}

fn write(root: &Root, place: &Path, text: &str) -> Result<(), Failure> {
    tokio::task::block_in_place(|| root.write(place, text)).map_err(refused)
}

fn with_truncated(mut answer: Value, truncated: bool) -> Value {
    if truncated {
        answer["truncated"] = true.into();
    }
    answer
}
