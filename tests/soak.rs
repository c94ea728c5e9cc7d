//! What no crash and no endpoint may spoil: every committed memory gets the vector of its content, once.
//!
//! The suite runs a few rounds; `scripts/soak` runs many: `SOAK_ROUNDS` kills for each model, `SOAK_MEMORIES` contents for
//! an endpoint that does everything wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::Calls;
use common::dice::Dice;
use common::killing::kill_at_random;
use common::server::Server;
use common::stub::{Reply, Stub, http, vector};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn setting(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn count(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap().get(0)
}

fn batch(contents: impl Iterator<Item = String>) -> Value {
    let memories: Vec<Value> = contents.map(|content| json!({"content": content, "tree": "share"})).collect();
    json!({ "memories": memories })
}

fn wait_until_drained(server: &Server, client: &mut Client, seconds: u64) {
    let end = Instant::now() + Duration::from_secs(seconds);
    while count(client, "select (me.embedding_status()->>'pending')::bigint") > 0 {
        let status = client.json("me.embedding_status()", &[]).unwrap();
        assert!(Instant::now() < end, "the queue does not drain: {status}\n{}", server.log());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What must hold when the queue has drained, whatever happened before: all but so many memories, which were given up,
/// have the vector of their content.
fn everything_is_embedded_once(client: &mut Client, given_up: i64) {
    let none = [
        (
            "a live memory has no vector, and was not given up",
            "select count(*) from me.memories as m where not m.has_embedding and not exists (
               select from me.embedding_queue as q where q.memory_id = m.id and q.outcome = 'failed')",
        ),
        (
            "vectors of other content",
            "select count(*) from vectors as v left join me.memory as m on m.space = v.space and m.id = v.memory_id
             where m.content_version is distinct from v.content_version",
        ),
        (
            "a content that was stored twice",
            "select count(*) from (select from me.embedding_queue where outcome = 'completed'
               group by memory_id, content_version, model having count(*) > 1) as t",
        ),
        (
            "notes that do not fit the vectors",
            "select count(*) from me.embedded as e where not exists (
               select from vectors as v where v.memory_id = e.memory_id and v.content_version = e.content_version)",
        ),
    ];
    let table: String = client.query_one("select relation from me.embedding_model", &[]).unwrap().get(0);
    client.batch_execute(&format!("create temporary view vectors as select * from me.\"{table}\"")).unwrap();
    for (what, sql) in none {
        assert_eq!(count(client, sql), 0, "{what}");
    }
    let failed = "select count(*) from me.embedding_queue where outcome = 'failed'";
    assert_eq!(count(client, failed), given_up, "entries that were given up");
    client.batch_execute("drop view vectors").unwrap();
}

/// Writes, replaces and deletes until told to stop, through every crash; notes what the server has confirmed.
fn write_on(server: &Server, stop: &AtomicBool, kept: &Mutex<HashSet<String>>) {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        if let Some(mut client) = server.try_connect("soak") {
            // An error is the end of the connection: somebody was killed.
            let _ = write_until_it_breaks(&mut client, stop, kept, &mut number);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn write_until_it_breaks(
    client: &mut Client,
    stop: &AtomicBool,
    kept: &Mutex<HashSet<String>>,
    number: &mut u64,
) -> Result<(), postgres::Error> {
    let mut dice = Dice(*number);
    while !stop.load(Ordering::Relaxed) {
        *number += 1;
        let memories =
            batch((0..1 + dice.below(12)).map(|part| format!("memory {number} {part} of the soak")));
        let sql = "select r->>'id' from jsonb_array_elements(me.memory_batch_create($1::text::jsonb)->'results') as r";
        let rows = client.query(sql, &[&memories["memories"].to_string()])?;
        kept.lock().unwrap().extend(rows.iter().map(|row| row.get::<_, String>(0)));
        let (content, name) = (format!("content {number}"), format!("n{}", dice.below(20)));
        let sql = "select me.memory_create($1, 'share/named', name => $2, on_conflict => 'replace')";
        client.execute(sql, &[&content, &name])?;
        if dice.below(10) == 0 {
            client.batch_execute("select me.memory_delete_tree('share/named', false)")?;
        }
        std::thread::sleep(Duration::from_millis(5 + dice.below(20)));
    }
    Ok(())
}

fn survives(server: &Server, add_model: &str) {
    let mut admin = server.connect("postgres");
    admin.batch_execute("create database soak").unwrap();
    let mut client = server.connect("soak");
    client.batch_execute("create extension memory_engine cascade").unwrap();
    client.batch_execute(add_model).unwrap();
    drop((admin, client));
    let rounds = setting("SOAK_ROUNDS", 3);
    let (stop, kept) = (AtomicBool::new(false), Mutex::new(HashSet::new()));
    let killed = std::thread::scope(|scope| {
        scope.spawn(|| write_on(server, &stop, &kept));
        let killed =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kill_at_random(server, rounds)));
        stop.store(true, Ordering::Relaxed);
        killed.unwrap()
    });
    let mut client = server.connect("soak");
    wait_until_drained(server, &mut client, 240);
    everything_is_embedded_once(&mut client, 0);
    let stored = "select count(*) from unnest($1::text[]) as k (id) where exists (select from me.memory as m where m.id = k.id::uuid)";
    let kept: Vec<String> = kept.into_inner().unwrap().into_iter().collect();
    let found: i64 = client.query_one(stored, &[&kept]).unwrap().get(0);
    assert_eq!(found, kept.len() as i64, "what was confirmed is there");
    // Each vector is that of the content as it is now.
    let table: String = client.query_one("select relation from me.embedding_model", &[]).unwrap().get(0);
    let (dimensions, sample): (i32, i64) = (
        client.query_one("select dimensions from me.embedding_model", &[]).unwrap().get(0),
        setting("SOAK_SAMPLE", 200) as i64,
    );
    let stale = format!(
        "select count(*) from (select * from me.memory order by md5(id::text) limit {sample}) as m
         join me.\"{table}\" as v on v.memory_id = m.id
         where v.vector <=> me.embed(m.content)::vector({dimensions})::halfvec({dimensions}) > 0.001"
    );
    assert_eq!(count(&mut client, &stale), 0, "stale vectors");
    let proof = client.json("me.audit_verify()", &[]).unwrap();
    assert_eq!(proof["ok"], json!(true), "{proof}");
    let [worker, backend, postmaster] = killed;
    println!(
        "killed {worker} workers, {backend} backends, {postmaster} postmasters; {} memories, {} entries",
        count(&mut client, "select count(*) from me.memory"),
        count(&mut client, "select count(*) from me.embedding_queue")
    );
    assert!(worker + backend + postmaster >= rounds.min(2), "hardly anybody was killed: {killed:?}");
}

#[test]
fn no_crash_loses_or_spoils_a_vector_of_a_model_in_the_server() {
    let server = Server::new("me.embedding_max_attempts = 20\nme.upkeep_delay = 1s");
    survives(
        &server,
        "select me.embedding_model_add('static', 'local', 256, '{\"path\": \"wordllama-256\"}');
         select me.embedding_model_use('static')",
    );
}

#[test]
fn no_crash_loses_or_spoils_a_vector_of_an_endpoint() {
    let stub = Stub::new(|_, _| Reply::Vectors);
    let server = Server::new("me.embedding_max_attempts = 20\nme.upkeep_delay = 1s");
    let add = format!(
        "select me.embedding_model_add('stub', 'openai', 2, '{{\"url\": \"{}\", \"batch\": 8}}');
         select me.embedding_model_use('stub')",
        stub.url
    );
    survives(&server, &add);
}

/// One of the ways in which an endpoint fails.
fn wrong(kind: u64, texts: &[String]) -> Reply {
    let answer = |vectors: Vec<Value>| {
        let data: Vec<Value> = vectors
            .into_iter()
            .enumerate()
            .map(|(index, vector)| json!({"index": index, "embedding": vector}))
            .collect();
        Reply::Raw(http("200 OK", "content-type: application/json\r\n", &json!({ "data": data }).to_string()))
    };
    match kind {
        0 => Reply::Raw(http("429 Too Many Requests", "retry-after-ms: 50\r\n", "")),
        1 => Reply::Raw(http("500 Internal Server Error", "", r#"{"error": "out of cheese"}"#)),
        2 => Reply::Raw("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"data\"".into()),
        3 => answer(texts.iter().map(|_| json!([1.0, 2.0, 3.0])).collect()),
        4 => Reply::Raw(http("200 OK", "", r#"{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}"#)),
        5 => answer(texts.iter().skip(1).map(|text| vector(text)).collect::<Vec<_>>()),
        6 => Reply::Raw(http("200 OK", "content-type: text/html\r\n", "<html>down for maintenance</html>")),
        7 => answer(texts.iter().map(|_| json!([0.0, 0.0])).collect()),
        8 => Reply::Raw(http("502 Bad Gateway", "", "<html>bad gateway</html>")),
        _ => Reply::Hang,
    }
}

/// Every second request is answered wrongly. A text that is sent alone is spared after its third wrong answer, so that
/// only what is poison fails in every attempt.
fn moody() -> Stub {
    let alone: Mutex<HashMap<String, u32>> = Mutex::new(HashMap::new());
    Stub::new(move |number, texts| {
        if texts.iter().any(|text| text.starts_with("poison")) {
            return Reply::Raw(http("500 Internal Server Error", "", r#"{"error": "out of cheese"}"#));
        }
        let mut dice = Dice(number as u64 * 31);
        if dice.below(2) == 0 {
            return if dice.below(4) == 0 { Reply::Reversed } else { Reply::Vectors };
        }
        if let [text] = texts {
            let mut alone = alone.lock().unwrap();
            let wrong = alone.entry(text.clone()).or_default();
            *wrong += 1;
            if *wrong > 3 || dice.below(4) > 0 {
                return Reply::Vectors;
            }
        }
        match dice.below(40) {
            0 => wrong(9, texts),
            other => wrong(other % 9, texts),
        }
    })
}

#[test]
fn an_endpoint_that_does_everything_wrong_spoils_nothing() {
    let memories = setting("SOAK_MEMORIES", 400);
    let stub = moody();
    let server =
        Server::new("me.embedding_timeout = 1s\nme.embedding_max_attempts = 2\nme.upkeep_delay = 1s");
    let mut client = server.connect("postgres");
    client.batch_execute("create extension memory_engine cascade").unwrap();
    let model = json!({"name": "stub", "provider": "openai", "dimensions": 2, "options": {"url": stub.url}});
    client.function("embedding_model_add", &model).unwrap();
    client.function("embedding_model_use", &json!({"name": "stub"})).unwrap();
    let contents: Vec<String> = (0..memories)
        .map(|n| if n % 97 == 5 { format!("poison {n}") } else { format!("note {n}") })
        .collect();
    let poison = contents.iter().filter(|content| content.starts_with("poison")).count() as i64;
    for some in contents.chunks(100) {
        client.function("memory_batch_create", &batch(some.iter().cloned())).unwrap();
        // Content changes while it waits, and while it is at the endpoint.
        for n in 0..5 {
            let named = json!({"content": format!("again {n}: {}", some[0]), "tree": "share/named",
                "name": format!("n{n}"), "on_conflict": "replace"});
            client.function("memory_create", &named).unwrap();
        }
    }
    wait_until_drained(&server, &mut client, 120 + memories as u64 / 5);
    everything_is_embedded_once(&mut client, poison);
    let reasons = "select count(*) from me.embedding_queue
        where outcome = 'failed' and last_error = 'the provider answered 500: out of cheese'";
    assert_eq!(count(&mut client, reasons), poison, "each says why");
    vectors_are_those_of_the_stub(&mut client, memories as i64 + 5 - poison);
    println!("{memories} memories, {poison} of them poison; {} requests", stub.requests());
}

/// So many vectors there are, and each is what the stub has for the content.
fn vectors_are_those_of_the_stub(client: &mut Client, expected: i64) {
    let table: String = client.query_one("select relation from me.embedding_model", &[]).unwrap().get(0);
    let rows = client
        .query(
            &format!(
                "select m.content, v.vector::vector::real[] from me.\"{table}\" as v
                 join me.memory as m on m.space = v.space and m.id = v.memory_id"
            ),
            &[],
        )
        .unwrap();
    assert_eq!(rows.len() as i64, expected);
    for row in rows {
        let (content, stored): (String, Vec<f32>) = (row.get(0), row.get(1));
        let right: Vec<f64> = serde_json::from_value(vector(&content)).unwrap();
        let length = right.iter().map(|number| number * number).sum::<f64>().sqrt();
        for (number, stored) in right.iter().zip(stored) {
            assert!((number / length - f64::from(stored)).abs() < 0.002, "{content}: {right:?}");
        }
    }
}
