//! Copies that follow: a physical standby answers what reads, refuses what writes, and works once it is promoted;
//! logical replication fills the tables of another server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::cluster::Cluster;
use common::seed::{self, READER, wait_for};
use common::{Calls, Refusal};
use postgres::Client;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const DATABASE: &str = "memory";

/// A server with the seeded database, and a connection to that.
fn primary(settings: &str) -> (Cluster, Client) {
    let primary = Cluster::start(settings);
    primary.admin("postgres").batch_execute(&format!("create database {DATABASE}")).unwrap();
    let mut client = primary.admin(DATABASE);
    client.batch_execute("create extension memory_engine cascade").unwrap();
    seed::plant(&mut client);
    (primary, client)
}

/// Waits until the standby has what the primary has written by now.
fn follow(primary: &mut Client, standby: &mut Client) {
    let written: String = primary.query_one("select pg_current_wal_flush_lsn()::text", &[]).unwrap().get(0);
    wait_for(standby, &format!("select pg_last_wal_replay_lsn() >= '{written}'::pg_lsn"));
}

/// Arguments that make a reading function read something; the others are called without.
fn arguments(function: &str, id: &str) -> Value {
    match function {
        "capsule_bootstrap" => json!({"terms": ["pump"]}),
        "capsule_extract" => json!({"content": "Decision: we keep the pump."}),
        "capsule_get" => json!({"id": "cap-2"}),
        "capsule_visual" => json!({"view": "relations"}),
        "embed" => json!({"input": "a pump"}),
        "format" => json!({"value": {"a": 1}}),
        "memory_count" => json!({"tree": "share"}),
        "memory_export" => json!({"format": "json", "tree": "share"}),
        "memory_get" => json!({ "id": id }),
        "memory_get_by_path" => json!({"path": "share/ops/keys"}),
        "memory_history" => json!({"tree": "share"}),
        "memory_import_records" => json!({"content": "{\"content\": \"x\"}"}),
        "memory_search" | "search" | "search_explain" => json!({"semantic": "a pump", "fulltext": "pump"}),
        _ => json!({}),
    }
}

fn call(client: &mut Client, function: &str, args: &Value) -> Result<(), Refusal> {
    let types = common::argument_types(client, function);
    let args: Vec<String> = args
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| {
            let (_, of) = types.iter().find(|(known, _)| known == name).unwrap();
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Array(words) => {
                    format!(
                        "{{{}}}",
                        words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(",")
                    )
                }
                other => other.to_string(),
            };
            format!("\"{name}\" => '{}'::{of}", text.replace('\'', "''"))
        })
        .collect();
    client.rows_of(&format!("select me.{function}({})", args.join(", "))).map(|_| ())
}

fn functions(client: &mut Client, markers: &str) -> Vec<String> {
    let sql = format!(
        "select p.proname::text from pg_proc as p
         where p.pronamespace = 'me'::regnamespace and p.proname !~ '^_' and p.provolatile in ({markers}) order by 1"
    );
    client.query(&sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

#[test]
fn a_standby_answers_what_reads_and_refuses_what_writes_until_it_is_promoted() {
    let (primary, mut writer) = primary("");
    let wanted = seed::answers(&mut writer);
    let sums = seed::checksums(&mut writer);
    let standby = primary.standby("");
    let mut reader = standby.admin(DATABASE);
    follow(&mut writer, &mut reader);
    assert_eq!(seed::checksums(&mut reader), sums);
    assert_eq!(seed::answers(&mut reader), wanted);
    let found =
        standby.connect(DATABASE, READER).function("memory_count", &json!({"tree": "share"})).unwrap();
    assert_eq!(found["count"], json!(5));

    let memory = reader.function("memory_get_by_path", &json!({"path": "share/ops/keys"})).unwrap();
    let id = memory["id"].as_str().unwrap();
    let reading = functions(&mut reader, "'s', 'i'");
    assert!(reading.len() >= 30, "{reading:?}");
    for function in &reading {
        if let Err(refused) = call(&mut reader, function, &arguments(function, id)) {
            // One that this test has no arguments for says what it misses.
            assert_eq!(refused.kind(), "VALIDATION", "{function}: {refused:?}");
            assert_eq!(arguments(function, id), json!({}), "{function}: {refused:?}");
        }
    }
    // These would also write when they may.
    for (function, args) in [
        ("capsule_retrieve", json!({"terms": ["pump"]})),
        ("mcp_call", json!({"name": "me_memory_search", "arguments": {"semantic": "a pump"}})),
    ] {
        call(&mut reader, function, &args).unwrap_or_else(|refused| panic!("{function}: {refused:?}"));
    }
    for function in functions(&mut reader, "'v'") {
        if let Err(refused) = call(&mut reader, &function, &json!({})) {
            let known = ["READ_ONLY", "VALIDATION", "NOT_FOUND", "FORBIDDEN"];
            assert!(known.contains(&refused.kind().as_str()), "{function}: {refused:?}");
        }
    }
    for (function, args) in [
        ("memory_create", json!({"content": "x", "tree": "share"})),
        ("memory_update", json!({"id": id, "version_hash": memory["versionHash"], "content": "x"})),
        ("memory_delete", json!({ "id": id })),
        ("memory_import", json!({"content": "{\"content\": \"x\"}"})),
        ("access_grant", json!({"principal": "postgres", "tree": "share", "access": "read"})),
        ("capsule_ingest", json!({"content": "x", "source": "s", "anchor": "a", "kind": "fact"})),
        ("space_create", json!({"slug": "another", "name": "Another"})),
        ("embed_pending", json!({})),
        ("audit_seal", json!({})),
        ("mcp_call", json!({"name": "me_memory_create", "arguments": {"content": "x", "tree": "share"}})),
    ] {
        let refused = call(&mut reader, function, &args).unwrap_err();
        let (kind, state) = (refused.kind(), refused.sqlstate.as_str());
        assert_eq!((kind.as_str(), state), ("READ_ONLY", "25006"), "{function}: {refused:?}");
        assert!(refused.hint.contains("primary"), "{function}: {refused:?}");
    }
    assert_eq!(seed::checksums(&mut writer), sums, "nothing was written");

    standby.promote();
    let next = json!({"content": "Bicycles are kept in the shed.", "tree": "share/next", "name": "shed"});
    reader.function("memory_create", &next).unwrap();
    wait_for(&mut reader, "select (me.embedding_status()->>'pending')::int = 0");
    let search = json!({"semantic": "where are the bicycles", "limit": 1});
    let found = reader.function("memory_search", &search).unwrap();
    assert_eq!(found["results"][0]["name"], json!("shed"), "{found}");
}

#[test]
fn logical_replication_fills_the_tables_of_another_server() {
    let (publisher, mut writer) = primary("wal_level = logical\n");
    let subscriber = Cluster::start("");
    subscriber.admin("postgres").batch_execute(&format!("create database {DATABASE}")).unwrap();
    seed::roles(&mut subscriber.admin("postgres"));
    // The tables of the vectors are made when a model is added: the schema has to come from a dump.
    let bin = std::env::var("PG_BIN").expect("PG_BIN");
    let mut dump = Command::new(Path::new(&bin).join("pg_dump"));
    let schema = publisher.serve(dump.args(["--schema-only", "--dbname", DATABASE])).output().unwrap();
    assert!(schema.status.success(), "{}", String::from_utf8_lossy(&schema.stderr));
    let file = std::env::temp_dir().join(common::unique("memory_engine-schema"));
    std::fs::write(&file, &schema.stdout).unwrap();
    let mut psql = Command::new(Path::new(&bin).join("psql"));
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "--dbname", DATABASE, "--file"]).arg(&file);
    let loaded = subscriber.serve(&mut psql).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));

    writer.batch_execute("create publication memory for tables in schema me").unwrap();
    let mut reader = subscriber.admin(DATABASE);
    reader
        .batch_execute(&format!(
            "create subscription memory connection 'host={} port={} user=postgres dbname={DATABASE}' publication memory",
            publisher.host(),
            publisher.port()
        ))
        .unwrap();
    wait_for(&mut reader, "select bool_and(srsubstate = 'r') from pg_subscription_rel");
    let mut arrived = |writer: &mut Client| {
        let written: String = writer.query_one("select pg_current_wal_lsn()::text", &[]).unwrap().get(0);
        wait_for(
            writer,
            &format!(
                "select bool_and(confirmed_flush_lsn >= '{written}'::pg_lsn) from pg_replication_slots where slot_type = 'logical'"
            ),
        );
        assert_eq!(seed::checksums(&mut reader), seed::checksums(writer));
        assert_eq!(seed::answers(&mut reader), seed::answers(writer));
    };
    arrived(&mut writer);
    let change = writer.function("memory_get_by_path", &json!({"path": "share/ops/keys"})).unwrap();
    let change =
        json!({"id": change["id"], "version_hash": change["versionHash"], "content": "Changed meanwhile"});
    writer.function("memory_update", &change).unwrap();
    writer.function("memory_delete_by_path", &json!({"path": "share/notes/odd.txt"})).unwrap();
    let capsule = json!({"content": "Caught meanwhile.", "source": "s", "anchor": "a", "kind": "fact"});
    writer.function("capsule_ingest", &capsule).unwrap();
    wait_for(&mut writer, "select (me.embedding_status()->>'pending')::int = 0");
    arrived(&mut writer);
}
