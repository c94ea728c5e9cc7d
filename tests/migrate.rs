//! What other memory tools keep becomes memories: scripts/migrate, then me.memory_import, as docs/migrating.md says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Database, unique};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the script prints, or what it says when it stops.
fn migrate(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("python3")
        .arg(root().join("scripts/migrate"))
        .args(arguments)
        .current_dir(root().join("tests/migrate"))
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The number under a key of what importing these lines answered.
fn import(database: &Database, lines: &str, key: &str) -> i64 {
    let sql = "select (me.memory_import($1, format => 'json') ->> $2)::bigint";
    database.admin().query_one(sql, &[&lines, &key]).unwrap().get(0)
}

/// The memories below a tree, oldest id first, as `tree | name | content` and their metadata.
fn memories(database: &Database, tree: &str) -> Vec<(String, Value)> {
    let sql = "select concat_ws(' | ', tree, name, content), meta::text from me.memories
               where tree like $1 || '%' order by id";
    let rows = database.admin().query(sql, &[&tree]).unwrap();
    rows.iter().map(|row| (row.get(0), serde_json::from_str(row.get(1)).unwrap())).collect()
}

/// Imports a source twice: all of it, then nothing.
fn imported_once(database: &Database, lines: &str, count: i64) {
    assert_eq!(import(database, lines, "imported"), count, "{lines}");
    assert_eq!(import(database, lines, "skipped"), count, "{lines}");
}

#[test]
fn the_graph_of_the_reference_server_becomes_a_memory_for_each_entity() {
    let database = Database::new();
    imported_once(&database, &migrate(&["mcp-memory", "memory.jsonl"]).unwrap(), 4);
    let stored = memories(&database, "/share/mcp-memory");
    let of = |entity: &str| stored.iter().find(|(_, meta)| meta["entity"] == entity).unwrap();
    let (text, meta) = of("harbour_crane");
    assert_eq!(
        text,
        "/share/mcp-memory | harbour_crane | harbour_crane\n- Lifts 40 t.\n- Serviced every March.\n- Painted yellow."
    );
    assert_eq!(meta["relatedFrom"], json!([{"type": "feeds", "from": "Pump 3"}]));
    let (text, meta) = of("Pump 3");
    assert!(
        text.ends_with("| Pump 3\n- Needs 6 bar.\n- feeds: harbour_crane\n- stands_in: Hall 3"),
        "{text}"
    );
    assert_eq!(
        meta["relations"],
        json!([{"type": "feeds", "to": "harbour_crane"}, {"type": "stands_in", "to": "Hall 3"}])
    );
    // It is only named by a relation.
    assert_eq!(of("Hall 3").1.get("entityType"), None);
    // The neighbours of a node, as the documentation asks for them.
    let sql = "select count(*) from me.search(meta => '{\"relations\": [{\"to\": \"Hall 3\"}]}')";
    assert_eq!(database.admin().query_one(sql, &[]).unwrap().get::<_, i64>(0), 1);
}

#[test]
fn memories_of_mem0_keep_their_owner_and_their_age() {
    let database = Database::new();
    imported_once(&database, &migrate(&["mem0", "mem0.json"]).unwrap(), 3);
    let stored = memories(&database, "/share/mem0");
    let texts: Vec<&str> = stored.iter().map(|(text, _)| text.rsplit(" | ").next().unwrap()).collect();
    // Two of them are dated, which the order of ids shows.
    assert_eq!(
        texts,
        ["Releases need two reviews.", "Prefers short answers.", "Works on the harbour project."]
    );
    assert_eq!(stored[1].1["channel"], "chat");
    assert_eq!(stored[1].1["mem0"]["user_id"], "user@example.org");
    // Owners whose names become the same label stay apart.
    let tree = |at: usize| stored[at].0.split(" | ").next().unwrap();
    assert!(tree(1).starts_with("/share/mem0/user-example-org-") && tree(1) != tree(2), "{stored:?}");
    assert_eq!(tree(0), "/share/mem0/release_bot");
    // A bare list, as get_all() returned it once, is read as well.
    let text = std::fs::read_to_string(root().join("tests/migrate/mem0.json")).unwrap();
    let list = serde_json::from_str::<Value>(&text).unwrap()["results"].to_string();
    let file = Temporary::with(&list);
    assert_eq!(migrate(&["mem0", file.0.to_str().unwrap()]), migrate(&["mem0", "mem0.json"]));
}

#[test]
fn a_folder_of_markdown_becomes_trees_and_its_front_matter_metadata() {
    let database = Database::new();
    let lines = migrate(&["markdown", "notes", "--tree", "share/vault"]).unwrap();
    imported_once(&database, &lines, 3);
    let stored = memories(&database, "/share/vault");
    let of = |file: &str| stored.iter().find(|(_, meta)| meta["file"] == file).unwrap();
    let (text, meta) = of("Project X/Plan 2025.md");
    assert!(text.starts_with("/share/vault/Project-X-"), "{text}");
    assert!(text.ends_with(" | # Plan\n\nOrder a second crane."), "{text}");
    assert_eq!(meta["tags"], json!(["harbour", "cranes"]));
    assert_eq!(meta["aliases"], json!(["The plan"]));
    assert_eq!(meta["title"], "Plan for 2025");
    assert_eq!(of("loose.md").0, "/share/vault | loose.md | No front matter here.");
    assert_eq!(of("odd.md").1["frontMatter"], "nested:\n  deep: {a: 1}");
    // Edited files are followed by a batch that replaces.
    let edited = lines.replace("No front matter here.", "Now with more.");
    let sql = "select answer ->> 'status', count(*)
               from (select me.memory_batch_create(jsonb_agg(r), on_conflict => 'replace') as answers
                     from me.memory_import_records($1, 'json') as r) as s,
                    jsonb_array_elements(answers -> 'results') as answer
               group by 1 order by 1";
    let rows = database.admin().query(sql, &[&edited]).unwrap();
    let statuses: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(statuses, [("skipped".to_owned(), 2), ("updated".to_owned(), 1)]);
}

/// A file with a text, gone at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn with(text: &str) -> Self {
        let path = std::env::temp_dir().join(unique("me-migrate"));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_source_that_is_something_else_is_refused_with_its_place() {
    for (kind, text, said) in [
        ("mcp-memory", "{\"type\":\"entity\",\"name\":\"a\"}\n", ":1: 'entityType' is missing"),
        ("mcp-memory", "\n{\"type\":\"thing\"}\n", ":2: neither an entity nor a relation"),
        ("mcp-memory", "[1]\n", ":1: neither an entity nor a relation"),
        ("mcp-memory", "{\n", ":1: "),
        ("mem0", "{\"memories\": 3}", "neither a list of memories nor an object"),
        ("mem0", "[{\"id\": \"x\", \"memory\": \"\"}]", "memory 1 has no text"),
        ("mem0", "[{\"memory\": \"text\"}]", "memory 1 has no id"),
        ("mem0", "[{\"id\": \"x\", \"memory\": \"t\", \"created_at\": \"soon\"}]", "'soon' is no timestamp"),
        ("markdown", "a file", "is no folder"),
    ] {
        let file = Temporary::with(text);
        let refused = migrate(&[kind, file.0.to_str().unwrap()]).unwrap_err();
        assert!(refused.starts_with("error: ") && refused.contains(said), "{kind} {text:?}: {refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
}
