//! The cases of the capsule specification, each in a space of its own, through `me.mcp_call` as an MCP client calls it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Answer, Calls, Database, Refusal, matcher};
use postgres::Client;
use serde_json::{Map, Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder that the server can read, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(common::unique("capsules"));
        std::fs::create_dir_all(&path).unwrap();
        open_to_all(&path, 0o755);
        Self(path)
    }

    fn write(&self, name: &str, content: &str) -> String {
        let path = self.0.join(name);
        for folder in path.parent().unwrap().ancestors().take_while(|folder| folder.starts_with(&self.0)) {
            std::fs::create_dir_all(folder).unwrap();
            open_to_all(folder, 0o755);
        }
        std::fs::write(&path, content).unwrap();
        open_to_all(&path, 0o644);
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open_to_all(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn set(client: &mut Client, setting: &str, value: &str) {
    client.execute("select set_config($1, $2, false)", &[&setting, &value]).unwrap();
}

/// The results of the setup steps, and the clock of the server for `$now`.
struct Results<'a> {
    client: &'a mut Client,
    steps: Vec<Value>,
    space: String,
}

impl Results<'_> {
    fn resolve(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.resolve_text(text),
            Value::Array(items) => items.iter().map(|item| self.resolve(item)).collect(),
            Value::Object(fields) => match fields.get("@store") {
                Some(_) => json!(format!("{}-b", self.space)),
                None => {
                    let resolved = fields.iter().map(|(key, field)| (key.clone(), self.resolve(field)));
                    resolved.collect::<Map<_, _>>().into()
                }
            },
            other => other.clone(),
        }
    }

    fn resolve_text(&mut self, text: &str) -> Value {
        if let Some(offset) = text.strip_prefix("$now") {
            let interval = offset.replace('d', " days").replace('h', " hours");
            let interval = if interval.is_empty() { "0".to_owned() } else { interval };
            let sql = "to_json(to_char(clock_timestamp() at time zone 'UTC' + $1::text::interval, \
                       'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'))";
            return self.client.json(sql, &[&interval]).unwrap();
        }
        let whole = text.strip_prefix('$').and_then(|rest| rest.split_once('.'));
        if let Some((step, path)) = whole
            && let Ok(step) = step.parse::<usize>()
        {
            return self.look_up(step, path).unwrap_or_else(|| panic!("{text} points to nothing"));
        }
        let mut resolved = text.to_owned();
        while let Some(start) = resolved.find("${") {
            let end = start + resolved[start..].find('}').unwrap();
            let (step, path) = resolved[start + 2..end].split_once('.').unwrap();
            let value = self.look_up(step.parse().unwrap(), path).unwrap();
            resolved.replace_range(start..=end, value.as_str().unwrap());
        }
        json!(resolved)
    }

    fn look_up(&self, step: usize, path: &str) -> Option<Value> {
        let result = self.steps.get(step.checked_sub(1)?)?;
        if path == "id" {
            let places = ["/id", "/outcomes/0/id", "/recorded/id", "/session_id"];
            return places.iter().find_map(|place| result.pointer(place)).cloned();
        }
        result.pointer(&format!("/{}", path.replace('.', "/"))).cloned()
    }
}

/// A refusal as JSON-RPC would carry it: in band, or with its code.
fn refused_as(refusal: &Refusal, expected: &Value) -> Result<(), String> {
    let detail = refusal.json();
    let in_band = detail["channel"] == "tool";
    let code = match (&detail["rpc"], refusal.kind().as_str()) {
        (Value::Number(code), _) => code.as_i64().unwrap(),
        (_, "VALIDATION") => -32602,
        _ => -32603,
    };
    let told = json!({
        "channel": if in_band { "tool" } else { "protocol" },
        "code": code,
        "kind": detail["kind"],
        "id": detail["id"],
    });
    for key in ["channel", "code", "kind", "id"] {
        if let Some(wanted) = expected.get(key)
            && told[key] != *wanted
        {
            return Err(format!("wanted {key} {wanted}, got {refusal:?}"));
        }
    }
    for part in expected["message_has"].as_array().into_iter().flatten() {
        if !refusal.message.contains(part.as_str().unwrap()) {
            return Err(format!("the message lacks {part}: {}", refusal.message));
        }
    }
    Ok(())
}

fn step(client: &mut Client, results: &mut Results, folder: &Folder, step: &Value) -> Answer {
    let name = step["fn"].as_str().unwrap();
    let args = results.resolve(&step["args"]);
    let space = match step.get("store") {
        Some(_) => format!("{}-b", results.space),
        None => results.space.clone(),
    };
    match name {
        "@file" => {
            folder.write(args["path"].as_str().unwrap(), args["content"].as_str().unwrap());
            Ok(Value::Null)
        }
        "@close" => Ok(Value::Null),
        name => {
            set(client, "me.space", &space);
            client.tool(name, &args)
        }
    }
}

fn run(client: &mut Client, clock: &mut Client, case: &Value) -> Result<(), String> {
    let space = case["id"].as_str().unwrap().to_owned();
    for slug in [space.clone(), format!("{space}-b")] {
        client.function("space_create", &json!({"slug": slug})).unwrap();
    }
    let folder = Folder::new();
    let config = |key: &str, default: &str| case["config"][key].as_str().unwrap_or(default).to_owned();
    set(client, "me.project", &config("project", "demo"));
    set(client, "me.actor", &config("actor", "conformance"));
    let keys = Folder::new();
    set(client, "me.capsule_key_file", &keys.write("key", &config("hmac_key", "conformance-key")));
    let needs_files = case["needs"].as_array().is_some_and(|needs| needs.contains(&json!("fs")));
    let root = if needs_files { folder.0.to_str().unwrap() } else { "" };
    set(client, "me.capsule_file_root", root);
    for (name, content) in case["config"]["files"].as_object().into_iter().flatten() {
        folder.write(name, content.as_str().unwrap());
    }
    let mut results = Results { client: clock, steps: Vec::new(), space };
    for (index, setup) in case["setup"].as_array().unwrap().iter().enumerate() {
        match step(client, &mut results, &folder, setup) {
            Ok(result) => results.steps.push(result),
            Err(_) if setup["may_fail"] == true => results.steps.push(Value::Null),
            Err(refusal) => return Err(format!("setup step {}: {refusal:?}", index + 1)),
        }
    }
    let answer = step(client, &mut results, &folder, &case["call"]);
    match (answer, case["expect"].get("error")) {
        (Ok(result), None) => {
            let expected = results.resolve(&case["expect"]["result"]);
            matcher::differs(&expected, &result).map_or(Ok(()), Err)
        }
        (Err(refusal), Some(expected)) => refused_as(&refusal, expected),
        (Ok(result), Some(expected)) => Err(format!("wanted {expected}, got {result}")),
        (Err(refusal), None) => Err(format!("refused: {refusal:?}")),
    }
}

#[test]
fn every_case_of_the_capsule_specification_holds() {
    let database = Database::new();
    let (mut client, mut clock) = (database.admin(), database.admin());
    let mut failed = Vec::new();
    let mut count = 0;
    for line in include_str!("cases/capsules.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        count += 1;
        if let Err(difference) = run(&mut client, &mut clock, &case) {
            failed.push(format!("{} ({}): {difference}", case["id"], case["why"]));
        }
    }
    assert!(failed.is_empty(), "{} of {count} cases fail:\n{}", failed.len(), failed.join("\n"));
}
