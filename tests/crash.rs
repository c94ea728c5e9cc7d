//! Everything that writes, at once, while workers, backends and servers are killed: what was confirmed is there, what was
//! not is there whole or not at all, and nobody has to repair anything.
//!
//! The suite kills a few times; `CRASH_ROUNDS=200 scripts/test client mixed_load` often.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::Calls;
use common::dice::Dice;
use common::killing::kill_at_random;
use common::server::Server;
use postgres::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const WRITERS: u64 = 3;

/// What a writer knows of its own subtree: the content of each name there.
type State = BTreeMap<String, String>;

/// A change of a writer's subtree: the statement, and the state after it.
fn change(writer: u64, number: u64, state: &State, dice: &mut Dice) -> (String, State) {
    let tree = format!("share/w{writer}");
    let name = format!("n{}", dice.below(30));
    let content = format!("heron {writer} {number} unique{writer}x{number}");
    let mut after = state.clone();
    let own = format!("me.memory_get_by_path('{tree}/{name}')");
    let sql = match (dice.below(9), state.contains_key(&name)) {
        (0, true) => {
            after.remove(&name);
            format!("select me.memory_delete_by_path('{tree}/{name}')")
        }
        (1, true) => {
            format!(
                "select me.memory_update((m->>'id')::uuid, m->>'versionHash', meta_patch => '{{\"n\": {number}}}') from {own} as m"
            )
        }
        (2 | 3, true) => {
            after.insert(name.clone(), content.clone());
            format!(
                "select me.memory_update((m->>'id')::uuid, m->>'versionHash', content => '{content}') from {own} as m"
            )
        }
        (4, _) => {
            // All or none of a batch.
            let memories: Vec<Value> = (0..5)
                .map(|part| {
                    let (name, content) = (format!("b{part}"), format!("{content} part{part}"));
                    after.insert(name.clone(), content.clone());
                    json!({"content": content, "tree": tree, "name": name})
                })
                .collect();
            format!("select me.memory_batch_create('{}', on_conflict => 'replace')", json!(memories))
        }
        (5, _) => {
            // There and back: the subtree is whole at either place.
            format!(
                "begin; select me.memory_mv('{tree}', 'share/away{writer}', false);
                 select me.memory_mv('share/away{writer}', '{tree}', false); commit"
            )
        }
        (6, _) => format!(
            "begin; select me.memory_delete_tree('share/copy{writer}', false);
             select me.memory_copy('{tree}', 'share/copy{writer}', false); commit"
        ),
        _ => {
            after.insert(name.clone(), content.clone());
            format!(
                "select me.memory_create('{content}', '{tree}', name => '{name}', on_conflict => 'replace')"
            )
        }
    };
    (sql, after)
}

/// Capsules and grants, of which nothing is remembered: their own proofs are asked for in the end.
fn besides(writer: u64, number: u64, dice: &mut Dice) -> String {
    match dice.below(6) {
        0 | 1 => {
            format!("select me.capsule_ingest('The pump {writer} needs {number} bar.', 'log', 'l:{number}')")
        }
        2 => format!("select me.capsule_forget('cap-{}', 'purged', 'asked for')", 1 + dice.below(40)),
        3 => format!(
            "select me.capsule_relate('blocks', 'cap-{}', 'cap-{}')",
            1 + dice.below(40),
            1 + dice.below(40)
        ),
        4 => format!(
            "select me.access_grant('crash_reader', 'share/w{writer}', '{}')",
            dice.pick(&["read", "write"])
        ),
        _ => "select me.lexical_maintain()".to_owned(),
    }
}

fn state_of(client: &mut Client, writer: u64) -> Result<State, postgres::Error> {
    let sql = format!("select name, content from me.memories where tree = '/share/w{writer}' order by name");
    Ok(client.query(&sql, &[])?.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Whether the connection was lost: whoever answered in some other way has to answer for it.
fn lost(error: &postgres::Error) -> bool {
    error.is_closed()
        || error.as_db_error().is_none_or(|said| ["57P01", "57P02", "57P03"].contains(&said.code().code()))
}

/// Writes until told to stop, through every crash. Answers what its subtree has to be.
fn write_on(server: &Server, writer: u64, stop: &AtomicBool) -> State {
    let mut dice = Dice(writer + 77);
    let (mut number, mut state, mut maybe) = (0, State::new(), None::<State>);
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        let Some(mut client) = server.try_connect("soak") else { continue };
        // The statement that the crash met had its whole effect or none.
        let Ok(found) = state_of(&mut client, writer) else { continue };
        let after = maybe.take();
        assert!(
            found == state || after.as_ref() == Some(&found),
            "{found:?}\nis neither\n{state:?}\nnor\n{after:?}"
        );
        state = found;
        while !stop.load(Ordering::Relaxed) {
            number += 1;
            let (sql, after) = change(writer, number, &state, &mut dice);
            match client.batch_execute(&sql) {
                Ok(()) => state = after,
                Err(error) if lost(&error) => {
                    maybe = Some(after);
                    break;
                }
                Err(error) => panic!("{sql}: {error:?}"),
            }
            match client.batch_execute(&besides(writer, number, &mut dice)) {
                Err(error) if lost(&error) => break,
                // An unknown capsule, a relation that would be a circle, two that forget the same.
                _ => {}
            }
            std::thread::sleep(Duration::from_millis(dice.below(15)));
        }
    }
    if let Some(after) = maybe {
        let found = state_of(&mut server.connect("soak"), writer).unwrap();
        assert!(found == state || found == after);
        state = found;
    }
    state
}

fn none(client: &mut Client, what: &str, sql: &str) {
    let rows = client.rows_of(sql).unwrap();
    assert!(rows.is_empty(), "{what}: {rows:?}");
}

/// The checks that need no knowledge of what was written.
fn whole(client: &mut Client) {
    none(client, "the doctor", "select * from me.doctor() where status = 'error'");
    for proof in ["me.audit_verify()", "me.capsule_verify()"] {
        let answer = client.json(proof, &[]).unwrap();
        assert_eq!(answer["ok"], json!(true), "{proof}: {answer}");
    }
    // A row for whom no memory stands. What remembers the gone does so on purpose: history, tombstones, what is to be erased.
    let sidecars = "select c.relname::text from pg_class as c join pg_attribute as a on a.attrelid = c.oid
        where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'memory_id'
          and c.relname !~ '^(memory_event|capsule|erasure|embedding_queue|lexical)'";
    for row in client.query(sidecars, &[]).unwrap() {
        let table: String = row.get(0);
        let orphans = format!(
            "select s.memory_id from me.\"{table}\" as s
             where not exists (select from me.memory as m where m.space = s.space and m.id = s.memory_id) limit 3"
        );
        none(client, &format!("orphans of {table}"), &orphans);
    }
    let lost = "select c.space, c.seq from me.capsule as c
        where not exists (select from me.memory as m where m.space = c.space and m.id = c.memory_id)
          and not exists (select from me.capsule_tombstone as t where t.space = c.space and t.seq = c.seq)";
    none(client, "capsules without a memory and a tombstone", lost);
}

#[test]
fn a_mixed_load_survives_every_kill_whole() {
    let server = Server::new("me.upkeep_delay = 1s\nme.embedding_max_attempts = 20");
    let mut admin = server.connect("postgres");
    admin.batch_execute("create database soak").unwrap();
    admin.batch_execute("create role crash_reader login").unwrap();
    drop(admin);
    server
        .connect("soak")
        .batch_execute(
            "create extension memory_engine cascade;
             select me.embedding_model_add('static', 'local', 256, '{\"path\": \"wordllama-256\"}');
             select me.embedding_model_use('static')",
        )
        .unwrap();
    let rounds = std::env::var("CRASH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let stop = AtomicBool::new(false);
    let (killed, states) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn({
                    let (server, stop) = (&server, &stop);
                    move || write_on(server, writer, stop)
                })
            })
            .collect();
        let killed =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kill_at_random(&server, rounds)));
        stop.store(true, Ordering::Relaxed);
        let states: Vec<State> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        (killed.unwrap(), states)
    });
    let mut client = server.connect("soak");
    for (writer, state) in states.iter().enumerate() {
        assert_eq!(state_of(&mut client, writer as u64).unwrap(), *state, "writer {writer}");
        for content in state.values() {
            // The index finds what the table holds.
            let words: Vec<&str> = content.split(' ').skip(3).collect();
            let sql = "select count(*) from me.search(fulltext => $1, tree => $2) where content = $3";
            let found: i64 = client
                .query_one(sql, &[&words.join(" "), &format!("share/w{writer}"), content])
                .unwrap()
                .get(0);
            assert_eq!(found, 1, "{content}");
        }
    }
    let end = Instant::now() + Duration::from_secs(240);
    while client.json("me.embedding_status()", &[]).unwrap()["pending"] != json!(0) {
        assert!(Instant::now() < end, "the queue does not drain: {}", server.log());
        std::thread::sleep(Duration::from_millis(200));
    }
    whole(&mut client);
    none(
        &mut client,
        "memories without a vector",
        "select id from me.memories where not has_embedding limit 3",
    );
    let [worker, backend, postmaster] = killed;
    let written: i64 = client.query_one("select count(*) from me.memory_event", &[]).unwrap().get(0);
    println!("killed {worker} workers, {backend} backends, {postmaster} postmasters; {written} events");
    assert!(worker + backend + postmaster >= rounds.min(2), "hardly anybody was killed: {killed:?}");
}
