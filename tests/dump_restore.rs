//! A dump carries everything: contents, versions, history, the audit chain, vectors, grants, capsules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, new_role, superuser};
use postgres::Client;
use serde_json::json;
use std::process::{Command, Stdio};

/// A program of the server's, on one database.
fn program(name: &str, database: &str) -> Command {
    let mut command = Command::new(format!("{}/{name}", std::env::var("PG_BIN").expect("PG_BIN")));
    command.args(["--username", &superuser(), "--dbname", database]);
    command
}

/// Content, versions, history, digests, seals, grants, vectors: one checksum a table, of rows in any order.
fn checksums(client: &mut Client) -> Vec<(String, i64, String)> {
    let tables = "select format('%I.%I', n.nspname, c.relname)
        from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = 'me' and c.relkind = 'r' and c.relname <> 'capsule_secret' order by 1";
    let tables: Vec<String> = client.query(tables, &[]).unwrap().into_iter().map(|row| row.get(0)).collect();
    tables
        .into_iter()
        .map(|table| {
            let sum = format!(
                "select count(*), coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') from {table} as t"
            );
            let row = client.query_one(&sum, &[]).unwrap();
            (table, row.get(0), row.get(1))
        })
        .collect()
}

#[test]
fn a_restored_database_holds_the_same_rows_and_goes_on() {
    let (from, to) = (Database::new(), Database::empty());
    let reader = new_role("reader");
    let mut client = from.admin();
    client
        .function("embedding_model_add", &json!({"name": "own", "provider": "manual", "dimensions": 3}))
        .unwrap();
    client.function("memory_create", &json!({"content": "hidden", "tree": "/share/b"})).unwrap();
    client.function("embedding_model_use", &json!({"name": "own"})).unwrap();
    for n in 1..=4 {
        let memory = json!({"content": format!("d {n}"), "tree": "/share/a", "name": format!("n{n}"),
            "meta": {"n": n}, "temporal": {"start": "2024-01-01T00:00:00.5Z"}});
        let memory = client.function("memory_create", &memory).unwrap();
        client.function("embedding_set", &json!({"id": memory["id"], "vector": [n, 1, 0]})).unwrap();
    }
    let first = client.function("memory_get_by_path", &json!({"path": "/share/a/n1"})).unwrap();
    let change =
        json!({"id": first["id"], "version_hash": first["versionHash"], "meta_patch": {"changed": true}});
    client.function("memory_update", &change).unwrap();
    client.function("memory_delete_by_path", &json!({"path": "/share/a/n4"})).unwrap();
    client
        .function("access_grant", &json!({"principal": reader, "tree": "/share/a", "access": "read"}))
        .unwrap();
    client
        .function("capsule_ingest", &json!({"content": "The gate is open.", "source": "s", "anchor": "a:1"}))
        .unwrap();
    let sealed = client.json("me.audit_seal()", &[]).unwrap();
    let before = checksums(&mut client);
    let pending = client.json("me.embedding_status()", &[]).unwrap()["pending"].clone();
    let search = json!({"embedding": [1, 1, 0], "tree": "/share/a", "limit": 10});
    let found = client.function("memory_search", &search).unwrap();

    let mut dump =
        program("pg_dump", from.name()).arg("--format=custom").stdout(Stdio::piped()).spawn().unwrap();
    let restore = program("pg_restore", to.name())
        .arg("--exit-on-error")
        .stdin(dump.stdout.take().unwrap())
        .output()
        .unwrap();
    assert!(dump.wait().unwrap().success());
    assert!(restore.status.success(), "{}", String::from_utf8_lossy(&restore.stderr));

    let mut client = to.admin();
    assert_eq!(checksums(&mut client), before);
    let verified = client.json("me.audit_verify()", &[]).unwrap();
    assert_eq!((&verified["ok"], &verified["head"]), (&json!(true), &sealed["head"]), "{verified}");
    assert_eq!(client.function("memory_search", &search).unwrap(), found);
    assert_eq!(client.json("me.embedding_status()", &[]).unwrap()["pending"], pending, "queued twice");
    let mut reading = to.connect(&reader);
    assert_eq!(reading.function("memory_count", &json!({"tree": "/share"})).unwrap()["count"], json!(3));
    let next = client.function("memory_create", &json!({"content": "next", "tree": "/share/a"})).unwrap();
    assert_eq!(next["version"], json!(1));
}
