//! What embedding does to a whole server: the key of the endpoint, and databases that come and go.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::Calls;
use common::server::Server;
use common::stub::{Reply, Stub, http};
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;
use serde_json::json;
use std::time::{Duration, Instant};

fn wait_for(server: &Server, client: &mut Client, what: &str, sql: &str) {
    let end = Instant::now() + Duration::from_secs(90);
    while !client.query_one(sql, &[]).unwrap().get::<_, bool>(0) {
        assert!(Instant::now() < end, "{what}\n{}", server.log());
        std::thread::sleep(Duration::from_millis(100));
    }
}

const DRAINED: &str = "select (me.embedding_status()->>'pending')::int = 0";

fn create(client: &mut Client, count: u32) {
    for n in 0..count {
        client.function("memory_create", &json!({"content": format!("note {n}"), "tree": "share"})).unwrap();
    }
}

#[test]
fn the_key_is_sent_and_shown_to_nobody() {
    let key = "sk-test-3f8a9b2c7d";
    let file = std::env::temp_dir().join(common::unique("key"));
    std::fs::write(&file, format!("{key}\n")).unwrap();
    let refused = format!(r#"{{"error": {{"message": "Incorrect API key provided: {key}"}}}}"#);
    let stub = Stub::new(move |_, texts| match texts.iter().any(|text| text.contains("odd")) {
        // Neither the status that keys are refused with nor another lets it through.
        true => Reply::Raw(http("500 Internal Server Error", "", &refused)),
        false => Reply::Raw(http("401 Unauthorized", "", &refused)),
    });
    let server = Server::new(&format!(
        "me.embedding_api_key_file = '{}'\nlog_min_messages = debug1\nlog_statement = 'all'",
        file.display()
    ));
    let mut client = server.connect("postgres");
    client.batch_execute("create extension memory_engine cascade").unwrap();
    let model = json!({"name": "stub", "provider": "openai", "dimensions": 2, "options": {"url": stub.url}});
    client.function("embedding_model_add", &model).unwrap();
    client.function("embedding_model_use", &json!({"name": "stub"})).unwrap();
    create(&mut client, 1);
    let told = "select me.embedding_status()->>'lastError' is not distinct from 'the provider answered 401'";
    wait_for(&server, &mut client, "the worker is refused", told);
    for question in ["a question", "an odd question"] {
        let refusal = client.json(&format!("to_jsonb(me.embed('{question}'))"), &[]).unwrap_err();
        assert_eq!(refusal.kind(), "EMBEDDING_FAILED");
        assert!(!format!("{refusal:?}").contains(key), "{refusal:?}");
    }
    let heads = stub.heads();
    assert!(heads.len() >= 3 && heads.iter().all(|head| head.contains(key)), "{heads:?}");
    // In no table, ours or the server's; not in the log, in which everything was to appear.
    let dump = server.program("pg_dump", "postgres").output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let dump = String::from_utf8_lossy(&dump.stdout).into_owned();
    assert!(dump.contains("embedding_queue") && dump.contains("the provider answered 401"));
    assert!(!dump.contains(key));
    let log = server.whole_log();
    assert!(log.contains("the provider answered 401") && log.contains("an odd question"), "{log}");
    assert!(!log.contains(key));
    // Where it is kept is nobody's but a superuser's to know.
    client.batch_execute("create role reader; set role reader").unwrap();
    let path = file.display().to_string();
    assert_eq!(client.rows_of("show me.embedding_api_key_file").unwrap_err().sqlstate, "42501");
    let settings = client.rows_of("select s::text from pg_settings as s").unwrap();
    assert!(settings.len() > 100 && !format!("{settings:?}").contains(&path));
    assert!(client.rows_of("select pg_read_file('postgresql.conf')").is_err());
    let _ = std::fs::remove_file(&file);
}

#[test]
fn databases_that_are_made_restored_and_dropped_have_a_worker_as_long_as_they_need_one() {
    let server = Server::new("me.notify_embedded = on\nme.worker_idle = 1s");
    let mut admin = server.connect("postgres");
    admin.batch_execute("create database first").unwrap();
    let mut first = server.connect("first");
    first.batch_execute("create extension memory_engine cascade; listen me_embedded").unwrap();
    let add = "select me.embedding_model_add('static', 'local', 256, '{\"path\": \"wordllama-256\"}');
         select me.embedding_model_use('static')";
    first.batch_execute(add).unwrap();
    create(&mut first, 5);
    wait_for(&server, &mut first, "a database that was made later", DRAINED);
    // Whoever asked for it is told, with the space.
    let told =
        first.notifications().timeout_iter(Duration::from_secs(30)).next().unwrap().expect("no notification");
    assert_eq!((told.channel(), told.payload()), ("me_embedded", "default"));
    // What waits when a dump is made waits when it is restored.
    admin.batch_execute("alter system set me.worker = off").unwrap();
    admin.batch_execute("select pg_reload_conf()").unwrap();
    let gone = "select not exists (select from pg_stat_activity where backend_type = 'memory_engine worker')";
    wait_for(&server, &mut admin, "the worker leaves", gone);
    create(&mut first, 3);
    let dump = server.program("pg_dump", "first").args(["--format", "custom"]).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let file = std::env::temp_dir().join(common::unique("dump"));
    std::fs::write(&file, &dump.stdout).unwrap();
    admin.batch_execute("create database second").unwrap();
    let restored = server.program("pg_restore", "second").arg("--exit-on-error").arg(&file).output().unwrap();
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let _ = std::fs::remove_file(&file);
    let mut second = server.connect("second");
    let pending = "select (me.embedding_status()->>'pending')::int = 3";
    wait_for(&server, &mut second, "the queue is restored", pending);
    // One whose worker has just begun can be dropped all the same.
    admin.batch_execute("alter system reset me.worker").unwrap();
    admin.batch_execute("select pg_reload_conf()").unwrap();
    drop(first);
    admin.batch_execute("drop database first with (force)").unwrap();
    wait_for(&server, &mut second, "a database that was restored", DRAINED);
    let embedded = "select count(*) = 8 from me.memories where has_embedding";
    wait_for(&server, &mut second, "everything has vectors", embedded);
    // The extension goes and comes anew; so does the work.
    let relation: String = second.query_one("select relation from me.embedding_model", &[]).unwrap().get(0);
    second.batch_execute(&format!("drop table me.\"{relation}\"; drop extension memory_engine")).unwrap();
    drop(second);
    let mut second = server.connect("second");
    second.batch_execute("drop schema if exists me cascade; create extension memory_engine cascade").unwrap();
    second.batch_execute(add).unwrap();
    create(&mut second, 2);
    wait_for(&server, &mut second, "an extension that was made anew", DRAINED);
}
