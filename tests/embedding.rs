//! The worker, as clients see it: what is committed gets its vectors, and nothing is lost.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database};
use postgres::Client;
use serde_json::json;
use std::time::{Duration, Instant};

/// Waits until a query answers true.
fn wait_for(client: &mut Client, what: &str, sql: &str) {
    let end = Instant::now() + Duration::from_secs(90);
    loop {
        if client.query_one(sql, &[]).unwrap().get(0) {
            return;
        }
        let status = client.json("me.embedding_status()", &[]).unwrap();
        assert!(Instant::now() < end, "{what}: {status}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

const DRAINED: &str = "select (me.embedding_status()->>'pending')::int = 0";

fn static_model(client: &mut Client) {
    let model = json!({"name": "static", "provider": "local", "dimensions": 256, "options": {"path": "wordllama-256"}});
    client.function("embedding_model_add", &model).unwrap();
    client.function("embedding_model_use", &json!({"name": "static"})).unwrap();
}

fn count(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap().get(0)
}

#[test]
fn the_worker_embeds_what_is_committed_and_leaves() {
    let database = Database::new();
    let mut client = database.admin();
    static_model(&mut client);
    for batch in 0..4 {
        let memories: Vec<_> = (0..100)
            .map(|n| json!({"content": format!("memory {n} of batch {batch}"), "tree": "share"}))
            .collect();
        client.function("memory_batch_create", &json!({ "memories": memories })).unwrap();
    }
    wait_for(&mut client, "the queue drains", DRAINED);
    assert_eq!(count(&mut client, "select count(*) from me.memories where has_embedding"), 400);
    let workers = "select not exists (select from pg_stat_activity
        where backend_type = 'memory_engine worker' and datname = current_database())";
    wait_for(&mut client, "the worker leaves", workers);
    // It comes back for whoever writes next.
    client.function("memory_create", &json!({"content": "one more", "tree": "share"})).unwrap();
    wait_for(&mut client, "the queue drains again", DRAINED);
    assert_eq!(count(&mut client, "select count(*) from me.memories where has_embedding"), 401);
}

#[test]
fn what_is_rolled_back_is_never_embedded() {
    let database = Database::new();
    let mut client = database.admin();
    static_model(&mut client);
    let mut transaction = client.transaction().unwrap();
    transaction.execute("select me.memory_create(content => 'never', tree => 'share')", &[]).unwrap();
    transaction.rollback().unwrap();
    client.function("memory_create", &json!({"content": "kept", "tree": "share"})).unwrap();
    wait_for(&mut client, "the queue drains", DRAINED);
    assert_eq!(count(&mut client, "select count(*) from me.embedding_queue"), 1);
}

#[test]
fn another_model_takes_over_in_the_background() {
    let database = Database::new();
    let mut client = database.admin();
    static_model(&mut client);
    for n in 0..20 {
        let memory = json!({"content": format!("the keys of door {n} hang in the hall"), "tree": "share"});
        client.function("memory_create", &memory).unwrap();
    }
    wait_for(&mut client, "the first model is done", DRAINED);
    let model = json!({"name": "minilm", "provider": "local", "dimensions": 384});
    client.function("embedding_model_add", &model).unwrap();
    client.function("embedding_model_use", &json!({"name": "minilm"})).unwrap();
    // Until it has taken over, everything has the vectors of the old one.
    assert_eq!(count(&mut client, "select count(*) from me.memories where has_embedding"), 20);
    wait_for(&mut client, "the second model takes over", "select me.embedding_status()->>'model' = 'minilm'");
    assert_eq!(count(&mut client, "select count(*) from me.memories where has_embedding"), 20);
    client.function("embedding_model_drop", &json!({"name": "static"})).unwrap();
}

#[test]
fn writers_and_the_worker_do_not_get_in_each_others_way() {
    let database = Database::new();
    static_model(&mut database.admin());
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let mut client = database.admin();
            std::thread::spawn(move || {
                for n in 0..30 {
                    let path = json!({"content": format!("{writer} {n}"), "tree": "share", "name": format!("m{}", n % 5),
                        "on_conflict": "replace"});
                    client.function("memory_create", &path).unwrap();
                    if n % 7 == 6 {
                        client
                            .batch_execute("select me.memory_delete_tree(tree => 'share', dry_run => false)")
                            .unwrap();
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let mut client = database.admin();
    wait_for(&mut client, "the queue drains", DRAINED);
    let missing = "select count(*) from me.memories where not has_embedding";
    assert_eq!(count(&mut client, missing), 0);
    assert_eq!(count(&mut client, "select count(*) from me.embedding_queue where outcome = 'failed'"), 0);
    let orphans = "select count(*) from me.embedded e where not exists (select from me.memory m where m.id = e.memory_id)";
    assert_eq!(count(&mut client, orphans), 0);
}

#[test]
fn what_was_prepared_is_embedded_when_it_is_committed() {
    let database = Database::new();
    let mut client = database.admin();
    static_model(&mut client);
    client.function("memory_create", &json!({"content": "plain", "tree": "share"})).unwrap();
    wait_for(&mut client, "the queue drains", DRAINED);
    let allowed: String = client.query_one("show max_prepared_transactions", &[]).unwrap().get(0);
    assert_ne!(allowed, "0", "the test server has to allow prepared transactions");
    let gid = common::unique("prepared");
    client.batch_execute("begin; select me.memory_create('prepared', 'share')").unwrap();
    client.batch_execute(&format!("prepare transaction '{gid}'")).unwrap();
    let workers = "select not exists (select from pg_stat_activity
        where backend_type = 'memory_engine worker' and datname = current_database())";
    wait_for(&mut client, "the worker leaves", workers);
    client.batch_execute(&format!("commit prepared '{gid}'")).unwrap();
    wait_for(&mut client, "it is embedded", "select count(*) = 2 from me.memories where has_embedding");
}
