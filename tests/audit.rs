//! Sealing beside writers: seals cover what is surely there, whatever commits late, and never make a writer wait.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, superuser};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the writers run, in seconds; `AUDIT_SECONDS` for a longer look.
fn seconds() -> u64 {
    std::env::var("AUDIT_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

/// How many events the default space has, of memories and of access.
fn events(client: &mut postgres::Client) -> i64 {
    let count = "select (select count(*) from me.memory_event where space = 'default')
        + (select count(*) from me.access_event where space = 'default')";
    client.query_one(count, &[]).unwrap().get(0)
}

#[test]
fn writers_with_rollbacks_leave_the_chain_whole_while_it_is_sealed() {
    let database = Database::new();
    database.admin().function("memory_create", &json!({"content": "first", "tree": "/audit"})).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (database, stop) = (&database, &stop);
            scope.spawn(move || {
                let mut client = database.connect(&superuser());
                for round in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut transaction = client.transaction().unwrap();
                    let name = format!("w{writer}");
                    for step in 0..1 + round % 3 {
                        transaction
                            .execute(
                                "select me.memory_create($1, '/audit/' || $2, name => $2, on_conflict => 'replace')",
                                &[&format!("round {round} step {step}"), &name],
                            )
                            .unwrap();
                    }
                    if round % 5 == 1 {
                        transaction
                            .batch_execute(
                                "savepoint here; select me.memory_create('undone', '/audit'); rollback to here",
                            )
                            .unwrap();
                    }
                    // Some commit late, so that younger events are there before them.
                    if round % 7 == 3 {
                        std::thread::sleep(Duration::from_millis(30));
                    }
                    match round % 4 {
                        0 => transaction.rollback().unwrap(),
                        _ => transaction.commit().unwrap(),
                    }
                }
            });
        }
        for _ in 0..2 {
            let (database, stop) = (&database, &stop);
            scope.spawn(move || {
                let mut client = database.admin();
                while !stop.load(Ordering::Relaxed) {
                    client.function("audit_seal", &json!({})).unwrap();
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
        }
        let mut client = database.admin();
        let end = Instant::now() + Duration::from_secs(seconds());
        let mut looks = 0;
        while Instant::now() < end {
            let proof = client.function("audit_verify", &json!({})).unwrap();
            assert_eq!(proof["ok"], json!(true), "{proof}");
            looks += 1;
            std::thread::sleep(Duration::from_millis(300));
        }
        stop.store(true, Ordering::Relaxed);
        assert!(looks > 2);
    });
    let mut client = database.admin();
    let events = events(&mut client);
    let sealed = client.function("audit_seal", &json!({})).unwrap();
    assert_eq!((&sealed["sealed"], &sealed["unsealed"]), (&json!(events), &json!(0)), "all writers are gone");
    let proof = client.function("audit_verify", &json!({})).unwrap();
    assert_eq!((&proof["ok"], &proof["sealed"]), (&json!(true), &json!(events)), "{proof}");
    let seals: i64 = client.query_one("select count(*) from me.audit_seal", &[]).unwrap().get(0);
    assert!(seals > 5, "{seals} seals over {events} events");
}

#[test]
fn what_a_late_transaction_made_is_sealed_after_it_and_what_came_before_it_at_once() {
    let database = Database::new();
    let (mut late, mut quick) = (database.admin(), database.admin());
    quick.function("memory_create", &json!({"content": "before", "tree": "/t"})).unwrap();
    let before = events(&mut quick);
    // Ids and horizon count milliseconds.
    std::thread::sleep(Duration::from_millis(5));
    let mut open = late.transaction().unwrap();
    open.execute("select me.memory_create('late', '/t')", &[]).unwrap();
    quick.function("memory_create", &json!({"content": "after", "tree": "/t"})).unwrap();
    let seal = quick.function("audit_seal", &json!({})).unwrap();
    assert_eq!((&seal["sealed"], &seal["unsealed"]), (&json!(before), &json!(1)), "{seal}");
    open.commit().unwrap();
    let seal = quick.function("audit_seal", &json!({})).unwrap();
    assert_eq!((&seal["sealed"], &seal["unsealed"]), (&json!(before + 2), &json!(0)), "{seal}");
    assert_eq!(quick.function("audit_verify", &json!({})).unwrap()["ok"], json!(true));
}

#[test]
fn an_open_seal_holds_up_other_seals_and_no_writer() {
    let database = Database::new();
    let (mut sealer, mut writer) = (database.admin(), database.admin());
    writer.function("memory_create", &json!({"content": "one", "tree": "/t"})).unwrap();
    let mut open = sealer.transaction().unwrap();
    open.execute("select me.audit_seal()", &[]).unwrap();
    writer.batch_execute("set lock_timeout = '200ms'").unwrap();
    writer.function("memory_create", &json!({"content": "two", "tree": "/t"})).unwrap();
    assert_eq!(writer.function("audit_seal", &json!({})).unwrap_err().sqlstate, "55P03");
    open.commit().unwrap();
    let seal = writer.function("audit_seal", &json!({})).unwrap();
    assert_eq!((&seal["sealed"], &seal["unsealed"]), (&json!(events(&mut writer)), &json!(0)), "{seal}");
    assert_eq!(writer.function("audit_verify", &json!({})).unwrap()["ok"], json!(true));
}
