//! Several clients at once: no update is lost, and one key is taken by one of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Answer, Calls, Database};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

const CLIENTS: usize = 8;

/// Runs `work` in as many threads as there are clients, with the number of the client.
fn together<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn no_optimistic_update_is_lost_and_versions_have_no_gap() {
    const UPDATES: i64 = 1000;
    let database = Database::new();
    let mut admin = database.admin();
    let made =
        admin.tool("me_memory_create", &json!({"content": "counter", "tree": "share", "meta": {"n": 0}}));
    let id = made.unwrap()["id"].clone();

    let conflicts: Vec<i64> = together(|number| {
        let mut client = database.admin();
        let (mut done, mut conflicts) = (0, 0);
        while done < UPDATES {
            let read = client
                .tool("me_memory_get", &json!({"id": id, "select": ["meta.n", "versionHash"]}))
                .unwrap();
            let counted = read["meta"]["n"].as_i64().unwrap() + 1;
            let change = json!({
                "id": id,
                "version_hash": read["versionHash"],
                "meta": {"n": counted, "by": number},
            });
            match client.tool("me_memory_update", &change) {
                Ok(record) => {
                    assert_eq!(record["meta"]["n"], json!(counted));
                    done += 1;
                }
                Err(refusal) => {
                    assert_eq!(
                        (refusal.sqlstate.as_str(), refusal.field("reason").as_str()),
                        ("55000", "version")
                    );
                    conflicts += 1;
                }
            }
        }
        conflicts
    });

    let all = UPDATES * CLIENTS as i64;
    let last = admin.tool("me_memory_get", &json!({"id": id})).unwrap();
    assert_eq!((last["meta"]["n"].as_i64(), last["version"].as_i64()), (Some(all), Some(all + 1)));
    assert!(conflicts.iter().sum::<i64>() > 0, "the clients never met");
    let row = admin
        .query_one(
            "select count(*), count(distinct version), min(version), max(version),
               count(*) filter (where (meta ->> 'n')::bigint is distinct from version - 1),
               count(*) filter (where meta ->> 'by' = '0')
             from me.memory_event",
            &[],
        )
        .unwrap();
    let numbers: Vec<i64> = (0..6).map(|column| row.get(column)).collect();
    assert_eq!(numbers, [all + 1, all + 1, 1, all + 1, 0, UPDATES]);
}

/// Lets every client create the same key at the same moment, `ROUNDS` times; judges the answers of each round.
fn race(
    mode: &str,
    key: impl Fn(usize) -> Value + Sync,
    judge: impl Fn(&mut postgres::Client, usize, Vec<Answer>),
) {
    const ROUNDS: usize = 40;
    let database = Database::new();
    // The space of the first write is there before the race for it matters.
    database.admin().tool("me_memory_create", &json!({"content": "first", "tree": "elsewhere"})).unwrap();
    let barrier = Barrier::new(CLIENTS);
    let answers = together(|number| {
        let mut client = database.admin();
        let mut answers = Vec::new();
        for round in 0..ROUNDS {
            let mut args = key(round);
            args["content"] = json!(format!("by client {number}"));
            args["on_conflict"] = json!(mode);
            barrier.wait();
            answers.push(client.tool("me_memory_create", &args));
        }
        answers
    });
    let mut admin = database.admin();
    let mut answers: Vec<_> = answers.into_iter().map(Vec::into_iter).collect();
    for round in 0..ROUNDS {
        judge(&mut admin, round, answers.iter_mut().map(|answers| answers.next().unwrap()).collect());
    }
}

fn by_name(round: usize) -> Value {
    json!({"tree": "share/race", "name": format!("slot-{round}")})
}

fn by_id(round: usize) -> Value {
    json!({"tree": "share/race", "id": format!("0190a1b2-0000-7000-8000-{round:012}")})
}

/// Tree and name, or the id, of the memory that a round fought for, as a condition on the views.
fn rows(admin: &mut postgres::Client, sql: &str, round: usize) -> Vec<(String, String, i64)> {
    let (name, id) = (format!("slot-{round}"), format!("0190a1b2-0000-7000-8000-{round:012}"));
    let sql =
        format!("select {sql} where tree = '/share/race' and (name = $1 or id::text = $2) order by version");
    let rows = admin.query(&sql, &[&name, &id]).unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

fn live(admin: &mut postgres::Client, round: usize) -> Vec<(String, String, i64)> {
    rows(admin, "id::text, content, version from me.memories", round)
}

fn events(admin: &mut postgres::Client, round: usize) -> Vec<(String, String, i64)> {
    let from = "id::text, content, version from (select *, memory_id as id from me.memory_events) as e";
    rows(admin, from, round)
}

/// CONC-3 with `error`: one client creates, the others are told that the key is taken.
fn one_wins(admin: &mut postgres::Client, round: usize, answers: Vec<Answer>) {
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, CLIENTS - 1));
    let record = won.into_iter().next().unwrap().unwrap();
    assert_eq!(
        live(admin, round),
        [(record["id"].as_str().unwrap().to_owned(), record["content"].as_str().unwrap().to_owned(), 1)]
    );
    for refusal in lost.into_iter().map(Result::unwrap_err) {
        assert_eq!((refusal.sqlstate.as_str(), refusal.kind().as_str()), ("23505", "CONFLICT"));
    }
    assert_eq!(events(admin, round).len(), 1);
}

/// CONC-3 with `ignore`: one client creates, all answer with that record.
fn all_agree(admin: &mut postgres::Client, round: usize, answers: Vec<Answer>) {
    let records: BTreeSet<String> = answers.into_iter().map(|answer| answer.unwrap().to_string()).collect();
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(live(admin, round).len(), 1);
    assert_eq!(events(admin, round).len(), 1);
}

/// CONC-3 with `replace`: one row, which each client's text was in once, under rising versions.
fn each_had_its_turn(admin: &mut postgres::Client, round: usize, answers: Vec<Answer>) {
    let answers: Vec<Value> = answers.into_iter().map(Result::unwrap).collect();
    let ids: BTreeSet<&str> = answers.iter().map(|record| record["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let versions: BTreeSet<i64> = answers.iter().map(|record| record["version"].as_i64().unwrap()).collect();
    assert_eq!(
        versions,
        (1..=CLIENTS as i64).collect(),
        "each answer is of the version that its client wrote"
    );
    for (number, record) in answers.iter().enumerate() {
        assert_eq!(record["content"], json!(format!("by client {number}")));
    }
    let events = events(admin, round);
    assert_eq!(
        events.iter().map(|(_, _, version)| *version).collect::<Vec<_>>(),
        (1..=CLIENTS as i64).collect::<Vec<_>>()
    );
    assert_eq!(live(admin, round)[..], events[CLIENTS - 1..]);
}

#[test]
fn of_clients_that_create_one_name_one_wins() {
    race("error", by_name, one_wins);
}

#[test]
fn of_clients_that_create_one_id_one_wins() {
    race("error", by_id, one_wins);
}

#[test]
fn clients_that_ignore_a_taken_name_all_get_the_surviving_record() {
    race("ignore", by_name, all_agree);
}

#[test]
fn clients_that_ignore_a_taken_id_all_get_the_surviving_record() {
    race("ignore", by_id, all_agree);
}

#[test]
fn clients_that_replace_one_name_write_one_after_the_other() {
    race("replace", by_name, each_had_its_turn);
}

#[test]
fn clients_that_replace_one_id_write_one_after_the_other() {
    race("replace", by_id, each_had_its_turn);
}

/// Two batches with the same keys in opposite orders: neither dies in a deadlock, and each item has one row.
#[test]
fn batches_over_the_same_keys_in_any_order_wait_for_each_other() {
    let database = Database::new();
    let keys = 50;
    together(|number| {
        let mut client = database.admin();
        for round in 0..10 {
            let mut memories: Vec<Value> = (0..keys)
                .map(|key| json!({"tree": "share", "name": format!("k{key}"), "content": format!("{number} {round}")}))
                .collect();
            match number % 3 {
                0 => memories.reverse(),
                1 => memories.rotate_left(keys / 2),
                _ => {}
            }
            let args = json!({"memories": memories, "on_conflict": "replace"});
            let answer = client.function("memory_batch_create", &args).unwrap();
            assert_eq!(answer["results"].as_array().unwrap().len(), keys);
        }
    });
    let mut admin = database.admin();
    let row = admin
        .query_one(
            "select count(*), count(distinct content), min(version), max(version) from me.memories",
            &[],
        )
        .unwrap();
    let [rows, contents, first, last] = [0, 1, 2, 3].map(|column| row.get::<_, i64>(column));
    assert_eq!((rows, contents), (keys as i64, 1), "the last batch wrote all of them");
    assert_eq!((first, last), (10 * CLIENTS as i64, 10 * CLIENTS as i64));
}

/// A delete wins over a concurrent edit, which then says NOT_FOUND (CONC-2, DEL-5).
#[test]
fn of_an_edit_and_a_delete_the_edit_never_brings_the_memory_back() {
    let database = Database::new();
    let mut admin = database.admin();
    for _ in 0..20 {
        let made = admin.tool("me_memory_create", &json!({"content": "x", "tree": "share"})).unwrap();
        let barrier = Barrier::new(CLIENTS);
        let answers = together(|number| {
            let mut client = database.admin();
            barrier.wait();
            match number {
                0 => client.tool("me_memory_delete", &json!({"id": made["id"]})),
                _ => client.tool(
                    "me_memory_update",
                    &json!({"id": made["id"], "version_hash": made["versionHash"], "content": format!("{number}")}),
                ),
            }
        });
        assert!(answers[0].is_ok(), "{:?}", answers[0]);
        for refusal in answers.into_iter().filter_map(Result::err) {
            assert!(["NOT_FOUND", "CONFLICT"].contains(&refusal.kind().as_str()), "{refusal:?}");
        }
        let gone = admin.tool("me_memory_get", &json!({"id": made["id"]})).unwrap_err();
        assert_eq!(gone.kind(), "NOT_FOUND");
    }
}
