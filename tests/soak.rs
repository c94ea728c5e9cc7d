//! What no crash may spoil: every committed memory gets the vector of its content, once.
//!
//! The suite runs a few rounds; `scripts/soak` runs many: `SOAK_ROUNDS` kills for each model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::Calls;
use common::dice::Dice;
use common::killing::kill_at_random;
use common::server::Server;
use common::stub::{Reply, Stub};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::HashSet;
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

/// What must hold when the queue has drained, whatever happened before.
fn everything_is_embedded_once(client: &mut Client) {
    let none = [
        (
            "a live memory has no vector",
            "select count(*) from me.memories where not has_embedding",
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
    assert_eq!(count(client, failed), 0, "entries that were given up");
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
    everything_is_embedded_once(&mut client);
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
