//! The worker against an endpoint that behaves badly: nothing is lost, nothing is stored twice, no key gets out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::stub::{Reply, Stub, http};
use common::{Calls, Database, new_role};
use postgres::Client;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn use_stub(client: &mut Client, stub: &Stub) {
    let model = json!({"name": "stub", "provider": "openai", "dimensions": 2, "options": {"url": stub.url}});
    client.function("embedding_model_add", &model).unwrap();
    client.function("embedding_model_use", &json!({"name": "stub"})).unwrap();
}

fn write(client: &mut Client, contents: impl Iterator<Item = String>) {
    let memories: Vec<Value> = contents.map(|content| json!({"content": content, "tree": "share"})).collect();
    for batch in memories.chunks(500) {
        client.function("memory_batch_create", &json!({ "memories": batch })).unwrap();
    }
}

fn drained(client: &mut Client, seconds: u64) {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        let status = client.json("me.embedding_status()", &[]).unwrap();
        if status["pending"] == json!(0) {
            return;
        }
        assert!(Instant::now() < end, "{status}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn count(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap().get(0)
}

const EMBEDDED: &str = "select count(*) from me.memories where has_embedding";
const FAILED: &str = "select count(*) from me.embedding_queue where outcome = 'failed'";

#[test]
fn one_bad_text_does_not_sink_its_batch() {
    let database = Database::new();
    let mut client = database.admin();
    let stub = Stub::new(|_, texts| {
        if texts.len() > 32 || texts.iter().any(|text| text.len() > 8000) {
            return Reply::Raw(http("400 Bad Request", "", r#"{"error": {"message": "input is too long"}}"#));
        }
        Reply::Vectors
    });
    use_stub(&mut client, &stub);
    write(&mut client, (0..9).map(|n| format!("short note {n}")).chain(["long ".repeat(8000)]));
    drained(&mut client, 60);
    // The long one is embedded too: in windows that the endpoint takes.
    assert_eq!(count(&mut client, EMBEDDED), 10);
    assert_eq!(count(&mut client, FAILED), 0);
}

#[test]
fn a_rate_limit_is_waited_for_and_costs_nothing() {
    let database = Database::new();
    let mut client = database.admin();
    let stub = Stub::new(|number, _| {
        if number <= 3 {
            return Reply::Raw(http("429 Too Many Requests", "retry-after: 2\r\n", ""));
        }
        Reply::Vectors
    });
    use_stub(&mut client, &stub);
    write(&mut client, (0..47).map(|n| format!("rate limited note {n}")));
    drained(&mut client, 40);
    assert_eq!(count(&mut client, EMBEDDED), 47);
    assert_eq!(count(&mut client, FAILED), 0);
    assert_eq!(count(&mut client, "select max(attempts)::bigint from me.embedding_queue"), 1);
    assert!(stub.requests() <= 10, "{}", stub.requests());
}

#[test]
fn a_poison_row_is_parked_with_a_reason_and_the_rest_goes_on() {
    let database = Database::new();
    let mut client = database.admin();
    let stub = Stub::new(|number, texts| {
        if texts.iter().any(|text| text.contains("poison")) {
            return Reply::Raw(http("500 Internal Server Error", "", r#"{"error": "out of cheese"}"#));
        }
        // A text that is sent alone is served: how often one may fail before it is parked is another matter.
        match if texts.len() == 1 { 0 } else { number % 7 } {
            2 => Reply::Raw(http("500 Internal Server Error", "", "")),
            3 => Reply::Raw("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"data\"".into()),
            4 => Reply::Raw(http("200 OK", "", "<html>down for maintenance</html>")),
            5 => Reply::Reversed,
            _ => Reply::Vectors,
        }
    });
    use_stub(&mut client, &stub);
    write(&mut client, (0..150).map(|n| format!("note {n}")).chain(["poison".to_owned()]));
    let end = Instant::now() + Duration::from_secs(60);
    while count(&mut client, EMBEDDED) < 150 {
        assert!(Instant::now() < end, "{}", client.json("me.embedding_status()", &[]).unwrap());
        std::thread::sleep(Duration::from_millis(200));
    }
    // Each live version is stored once.
    let twice = "select count(*) from (select from me.embedding_queue where outcome = 'completed'
        group by memory_id, content_version having count(*) > 1) as t";
    assert_eq!(count(&mut client, twice), 0);
    let status = client.json("me.embedding_status()", &[]).unwrap();
    assert_eq!(status["lastError"], json!("the provider answered 500: out of cheese"), "{status}");
    // What went wrong is told to those who may read what it went wrong with.
    for (tree, told) in [("elsewhere", json!(null)), ("share", status["lastError"].clone())] {
        let reader = new_role("reader");
        client.batch_execute(&format!("select me.access_grant('{reader}', '{tree}', 'read')")).unwrap();
        let mut reader = database.connect(&reader);
        let seen = reader.json("me.embedding_status()", &[]).unwrap();
        assert_eq!((&seen["lastError"], &seen["failed"]), (&told, &status["failed"]), "{seen}");
    }
}

#[test]
fn an_endpoint_that_is_down_for_everybody_parks_nothing() {
    let database = Database::new();
    let mut client = database.admin();
    let repaired = Arc::new(AtomicBool::new(false));
    let seen = repaired.clone();
    let stub = Stub::new(move |_, _| match seen.load(Ordering::SeqCst) {
        true => Reply::Vectors,
        false => Reply::Raw(http("502 Bad Gateway", "", "<html>bad gateway</html>")),
    });
    use_stub(&mut client, &stub);
    write(&mut client, (0..40).map(|n| format!("note {n}")));
    let end = Instant::now() + Duration::from_secs(60);
    while client.json("me.embedding_status()->'lastError'", &[]) != Ok(json!("the provider answered 502")) {
        assert!(Instant::now() < end, "{}", client.json("me.embedding_status()", &[]).unwrap());
        std::thread::sleep(Duration::from_millis(100));
    }
    // By hand it is no other.
    let answer = client.json("me.embed_pending()", &[]).unwrap();
    assert_eq!((&answer["embedded"], &answer["failed"]), (&json!(0), &json!(0)), "{answer}");
    assert_eq!(count(&mut client, FAILED), 0);
    repaired.store(true, Ordering::SeqCst);
    drained(&mut client, 90);
    assert_eq!(count(&mut client, EMBEDDED), 40);
    assert_eq!(count(&mut client, "select max(attempts)::bigint from me.embedding_queue"), 1, "attempts");
}

#[test]
fn a_hanging_endpoint_holds_up_neither_a_cancel_nor_a_stop() {
    let database = Database::new();
    let mut client = database.admin();
    let stub = Stub::new(|_, _| Reply::Hang);
    use_stub(&mut client, &stub);
    client.batch_execute("set statement_timeout = '300ms'").unwrap();
    // The endpoint is given half a minute: who waited for it would be answered by that.
    let refusal = client.json("to_jsonb(me.embed('a question'))", &[]).unwrap_err();
    assert_eq!(refusal.sqlstate, "57014", "{refusal:?}");
    client.batch_execute("reset statement_timeout").unwrap();
    // The worker hangs there too; its database can be dropped all the same.
    write(&mut client, ["hangs".to_owned()].into_iter());
    let busy = "select count(*) from pg_stat_activity
        where backend_type = 'memory_engine worker' and datname = current_database()";
    let end = Instant::now() + Duration::from_secs(30);
    while count(&mut client, busy) == 0 || stub.requests() < 2 {
        assert!(Instant::now() < end, "no worker came");
        std::thread::sleep(Duration::from_millis(50));
    }
    let began = Instant::now();
    count(
        &mut client,
        "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where backend_type = 'memory_engine worker' and datname = current_database()",
    );
    while count(&mut client, busy) > 0 {
        assert!(began.elapsed() < Duration::from_secs(15), "the worker does not leave");
        std::thread::sleep(Duration::from_millis(20));
    }
    // What it held is given back, not lost.
    assert_eq!(count(&mut client, "select count(*) from me.embedding_queue where outcome is null"), 1);
}

/// 384 numbers out of a text and a model, without a relation to those of another model.
fn hashed(model: u64, text: &str) -> Vec<f64> {
    let mut state = text.bytes().fold(model.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    (0..384).map(|_| next()).collect()
}

fn answer(model: u64, texts: &[String]) -> Reply {
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"index": index, "embedding": hashed(model, text)}))
        .collect();
    Reply::Raw(http("200 OK", "content-type: application/json\r\n", &json!({ "data": data }).to_string()))
}

#[test]
fn a_change_of_the_model_mixes_no_two_kinds_of_vectors() {
    let database = Database::new();
    let mut client = database.admin();
    let first = Stub::new(|_, texts| answer(1, texts));
    let released = Arc::new(AtomicBool::new(false));
    let seen = released.clone();
    // Another hash, and at first nothing at all: the worker is as good as paused.
    let second = Stub::new(move |_, texts| match seen.load(Ordering::SeqCst) {
        true => answer(2, texts),
        false => Reply::Raw(http("429 Too Many Requests", "retry-after: 1\r\n", "")),
    });
    for (name, stub) in [("m-a", &first), ("m-b", &second)] {
        let model =
            json!({"name": name, "provider": "openai", "dimensions": 384, "options": {"url": stub.url}});
        client.function("embedding_model_add", &model).unwrap();
    }
    client.function("embedding_model_use", &json!({"name": "m-a"})).unwrap();
    write(&mut client, (1..=5).map(|n| format!("model swap note {n}")));
    drained(&mut client, 60);
    let semantic = r#"semantic => 'model swap note 3', tree => 'share'"#;
    let found = |client: &mut Client, filters: &str| {
        let results = format!("me.memory_search({filters})->'results'");
        client.json(&results, &[]).unwrap().as_array().unwrap().clone()
    };
    // The text itself is the nearest, as only the model that embedded it can say.
    let is_right = |results: &[Value]| {
        assert_eq!(results.len(), 5, "{results:?}");
        assert_eq!(results[0]["content"], json!("model swap note 3"), "{results:?}");
        let score = results[0]["score"].as_f64().unwrap();
        assert!((score - 1.0).abs() < 0.002, "{results:?}");
    };
    is_right(&found(&mut client, semantic));
    client.function("embedding_model_use", &json!({"name": "m-b"})).unwrap();
    // Searches go on with the old vectors and the old model: the question is sent to no other.
    let asked = first.requests();
    is_right(&found(&mut client, semantic));
    assert_eq!(client.json("me.embedding_status()->'model'", &[]), Ok(json!("m-a")));
    assert_eq!(first.requests(), asked + 1);
    assert_eq!(found(&mut client, &format!("{semantic}, fulltext => 'swap note'")).len(), 5);
    let next = client.json("me.embedding_status()->'next'", &[]).unwrap();
    assert_eq!((&next["model"], &next["done"], &next["total"]), (&json!("m-b"), &json!(0), &json!(5)));
    released.store(true, Ordering::SeqCst);
    let end = Instant::now() + Duration::from_secs(60);
    while client.json("me.embedding_status()->'model'", &[]) != Ok(json!("m-b")) {
        assert!(Instant::now() < end, "{}", client.json("me.embedding_status()", &[]).unwrap());
        std::thread::sleep(Duration::from_millis(100));
    }
    drained(&mut client, 60);
    let asked = first.requests();
    is_right(&found(&mut client, semantic));
    assert_eq!(first.requests(), asked, "the old model is asked no more");
    assert_eq!(count(&mut client, EMBEDDED), 5);
}
