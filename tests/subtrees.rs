//! Whole subtrees while others write: nothing is lost, nobody dies in a deadlock, and a taken name is a CONFLICT that
//! says where.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Answer, Calls, Database};
use postgres::Client;
use serde_json::{Value, json};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Runs `work` in so many threads at the same moment, with the number of the thread.
fn together<T: Send>(clients: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(clients);
    thread::scope(|scope| {
        let (work, barrier) = (&work, &barrier);
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                scope.spawn(move || {
                    barrier.wait();
                    work(number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn number(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap().get(0)
}

/// What every row says is what its last event says, and versions have no gap.
fn history_agrees(client: &mut Client) {
    let strays = number(
        client,
        "select count(*) from me.memory as m
         where (m.tree::text, m.name, m.version, m.version_hash) is distinct from (
           select (e.tree::text, e.name, e.version, e.version_hash)
           from me.memory_event as e where e.space = m.space and e.memory_id = m.id order by e.version desc limit 1)
         or m.version <> (select count(*) from me.memory_event as e where e.space = m.space and e.memory_id = m.id)",
    );
    assert_eq!(strays, 0, "rows that are not as their history says");
}

fn only_conflicts(answer: &Answer) {
    if let Err(refusal) = answer {
        assert_eq!(
            (refusal.kind().as_str(), refusal.sqlstate.as_str()),
            ("CONFLICT", "23505"),
            "{refusal:?}"
        );
        assert!(refusal.field("path").starts_with('/'), "{refusal:?}");
    }
}

#[test]
fn nothing_is_lost_while_subtrees_move_to_and_fro() {
    let database = Database::new();
    let done = AtomicBool::new(false);
    let created: Vec<i64> = together(6, |client_number| {
        let mut client = database.admin();
        let mut created = 0;
        if client_number < 4 {
            for round in 0..60 {
                let tree = ["a/x", "a/y", "b/x", "b"][(round + client_number) % 4];
                let args = json!({"content": "x", "tree": tree, "name": format!("n{}", round % 40)});
                let answer = client.tool("me_memory_create", &args);
                only_conflicts(&answer);
                created += i64::from(answer.is_ok());
            }
            done.store(true, Ordering::Relaxed);
        } else {
            while !done.load(Ordering::Relaxed) {
                for (source, destination) in [("a", "b/a"), ("b/a", "a"), ("b", "b/x"), ("b/x", "b")] {
                    let args = json!({"source": source, "destination": destination, "dry_run": false});
                    only_conflicts(&client.tool("me_memory_mv", &args));
                }
            }
        }
        created
    });
    let mut admin = database.admin();
    assert_eq!(number(&mut admin, "select count(*) from me.memory"), created.iter().sum::<i64>());
    history_agrees(&mut admin);
}

/// Names in no order and a tree that sorts differently as text: who waits for whom is decided by the key alone.
fn fill(admin: &mut Client, tree: &str) {
    let memories: Vec<Value> = (0..200)
        .map(|key| {
            let below = ["", "/b", "-c", "/b-d"][key % 4];
            json!({"content": tree, "tree": format!("{tree}/t{below}"), "name": format!("n{}", (key * 71) % 200)})
        })
        .collect();
    admin.function("memory_batch_create", &json!({ "memories": memories })).unwrap();
}

fn one_arrives(tool: &str, stays: i64) {
    let database = Database::new();
    let mut admin = database.admin();
    for round in 0..15 {
        for source in 0..4 {
            fill(&mut admin, &format!("r{round}/s{source}"));
        }
        let answers = together(4, |source| {
            let mut client = database.admin();
            let args = json!({
                "source": format!("r{round}/s{source}"), "destination": format!("r{round}/d"), "dry_run": false
            });
            client.tool(tool, &args)
        });
        answers.iter().for_each(only_conflicts);
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
        for refusal in answers.into_iter().filter_map(Result::err) {
            let path = refusal.field("path");
            assert!(path.starts_with(&format!("/r{round}/d/t")) && path.contains("/n"), "{refusal:?}");
        }
        let count = |admin: &mut Client, tree: String| {
            admin.tool("me_memory_count", &json!({ "tree": tree })).unwrap()["count"].as_i64().unwrap()
        };
        assert_eq!(count(&mut admin, format!("r{round}/d")), 200);
        assert_eq!(count(&mut admin, format!("r{round}")), stays);
    }
    history_agrees(&mut admin);
}

#[test]
fn of_subtrees_that_move_to_one_place_one_arrives() {
    one_arrives("me_memory_mv", 800);
}

#[test]
fn of_subtrees_that_are_copied_to_one_place_one_arrives() {
    one_arrives("me_memory_copy", 1000);
}

#[test]
fn imports_of_the_same_memories_in_any_order_store_each_once() {
    const RECORDS: usize = 2500;
    let database = Database::new();
    for round in 0..3 {
        let answers = together(4, |client_number| {
            let mut records: Vec<Value> = (0..RECORDS)
                .map(|key| {
                    let tree = format!("r{round}/t{}", ["", "/x", "-y"][key % 3]);
                    json!({"content": format!("c{key}"), "tree": tree, "name": format!("n{key}")})
                })
                .collect();
            match client_number {
                1 => records.reverse(),
                2 => records.rotate_left(RECORDS / 2),
                3 => records.swap(0, RECORDS - 1),
                _ => {}
            }
            let content = Value::from(records).to_string();
            database.admin().tool("me_memory_import", &json!({"content": content, "format": "json"})).unwrap()
        });
        let total = |key: &str| answers.iter().map(|answer| answer[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!((total("imported"), total("skipped")), (RECORDS as u64, 3 * RECORDS as u64));
    }
    let mut admin = database.admin();
    assert_eq!(number(&mut admin, "select count(*) from me.memory_event"), 3 * RECORDS as i64);
}

#[test]
fn a_delete_takes_what_it_saw_and_what_comes_meanwhile_stays() {
    let database = Database::new();
    let outcomes: Vec<(i64, i64)> = together(5, |client_number| {
        let mut client = database.admin();
        let (mut created, mut deleted) = (0, 0);
        for round in 0..80 {
            if client_number == 0 {
                let args = json!({"tree": "a", "dry_run": false});
                deleted += client.tool("me_memory_delete_tree", &args).unwrap()["count"].as_i64().unwrap();
            } else {
                let tree = format!("a/t{}", round % 3);
                let name = format!("n{client_number}-{round}");
                let args = json!({"content": "x", "tree": tree, "name": name});
                client.tool("me_memory_create", &args).unwrap();
                created += 1;
            }
        }
        (created, deleted)
    });
    let (created, deleted) = outcomes.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let mut admin = database.admin();
    assert_eq!(number(&mut admin, "select count(*) from me.memory"), created - deleted);
    let events = number(&mut admin, "select count(*) from me.memory_event where operation = 'delete'");
    assert_eq!(events, deleted, "each deletion has one event");
}
