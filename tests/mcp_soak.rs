//! Many clients of the MCP server for a while: no error, nothing left behind, no growth.
//!
//! Three seconds unless `MEMORY_ENGINE_SOAK_SECONDS` says otherwise; a long run is
//! `MEMORY_ENGINE_SOAK_SECONDS=60 scripts/test client eight_clients`, and prints what it saw.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::gateway::{Gateway, user, with_space};
use common::mcp::{Server, url};
use common::{Database, superuser};
use serde_json::{Value, json};
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

const CLIENTS: usize = 8;

fn duration() -> Duration {
    let seconds = std::env::var("MEMORY_ENGINE_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

/// What a process holds: resident memory in KiB, open files.
fn held(pid: u32) -> (usize, usize) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let memory = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    (memory, std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count())
}

/// One round of what an agent does, with its number; how many calls that was.
fn round(
    mut call: impl FnMut(&str, Value) -> Result<Value, String>,
    client: &str,
    number: usize,
) -> Result<usize, String> {
    let name = format!("{client}-{number}");
    let content =
        format!("round {number} of {client}: the heron waits {}", "at the pond ".repeat(number % 50));
    let made = call("me_memory_create", json!({"content": content, "tree": "/share/soak", "name": name}))?;
    let read = call("me_memory_get", json!({"id": made["id"], "format": "json"}))?;
    if read["content"] != content.as_str() {
        return Err(format!("another content: {read}"));
    }
    let found = call("me_memory_search", json!({"fulltext": "heron", "tree": "/share/soak", "limit": 5}))?;
    if found["results"].as_array().is_none_or(Vec::is_empty) {
        return Err(format!("nothing found: {found}"));
    }
    let update = |hash: &Value| json!({"id": made["id"], "version_hash": hash, "meta": {"n": number}});
    call("me_memory_update", update(&made["versionHash"]))?;
    match call("me_memory_update", update(&made["versionHash"])) {
        Err(said) if said.contains("stale") => {}
        other => return Err(format!("a stale hash: {other:?}")),
    }
    call("me_memory_tree", json!({"tree": "/share"}))?;
    call("me_memory_delete", json!({"id": made["id"]}))?;
    Ok(7)
}

/// The structured answer of a result, or what an error says.
fn answer(result: &Value) -> Result<Value, String> {
    match result["isError"] == true {
        true => Err(result["content"][0]["text"].to_string()),
        false => Ok(result["structuredContent"].clone()),
    }
}

/// What is still in the database that belongs to servers.
fn leftovers(database: &Database) -> (i64, i64, i64) {
    let row = database
        .admin()
        .query_one(
            "select (select count(*) from pg_stat_activity where datname = current_database()
                       and application_name = 'memory-engine-mcp'),
                    (select count(*) from pg_stat_activity where datname = current_database()
                       and application_name = 'memory-engine-mcp' and state <> 'idle'),
                    (select count(*) from pg_class where relpersistence = 't')",
            &[],
        )
        .unwrap();
    (row.get(0), row.get(1), row.get(2))
}

#[test]
fn eight_clients_each_way_leave_nothing_behind() {
    let database = with_space();
    let gateway = Gateway::start(&database, &["--connections", "4"]);
    let key = user(&database, "user@example.org", None);
    let pipe = url(database.name(), &superuser());
    let until = Instant::now() + duration();
    let warm = duration() / 3;
    // For each client: calls, and what its server held after a while and at the end.
    type Seen = (usize, (usize, usize), (usize, usize));
    let (over_http, over_pipes): (Vec<Seen>, Vec<Seen>) = thread::scope(|scope| {
        let http: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (gateway, key) = (&gateway, &key);
                scope.spawn(move || {
                    let (mut calls, mut number, mut early) = (0, 0, None);
                    while Instant::now() < until || early.is_none() {
                        let call = |tool: &str, arguments: Value| answer(&gateway.call(key, tool, arguments));
                        calls += round(call, &format!("http{client}"), number).unwrap();
                        number += 1;
                        if early.is_none() && Instant::now() + warm * 2 > until {
                            early = Some(held(gateway.pid()));
                        }
                    }
                    (calls, early.unwrap(), held(gateway.pid()))
                })
            })
            .collect();
        let pipes: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let pipe = &pipe;
                scope.spawn(move || {
                    let mut server = Server::open(pipe, &["--connections", "1"]);
                    let (mut calls, mut number, mut early) = (0, 0, None);
                    while Instant::now() < until || early.is_none() {
                        let call = |tool: &str, arguments: Value| answer(&server.call(tool, arguments));
                        calls += round(call, &format!("pipe{client}"), number).unwrap();
                        number += 1;
                        if early.is_none() && Instant::now() + warm * 2 > until {
                            early = Some(held(server.pid()));
                        }
                    }
                    let late = held(server.pid());
                    let (_, said) = server.finish();
                    assert_eq!(said.lines().count(), 1, "only that it is ready: {said}");
                    (calls, early.unwrap(), late)
                })
            })
            .collect();
        let join = |threads: Vec<thread::ScopedJoinHandle<Seen>>| {
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        };
        (join(http), join(pipes))
    });
    // The pipes are closed: what is left are the connections of the gateway, at rest.
    let rest = Instant::now() + Duration::from_secs(30);
    let (connections, busy, temporary) = loop {
        let left = leftovers(&database);
        if left.0 <= 4 && left.1 == 0 || Instant::now() > rest {
            break left;
        }
        thread::sleep(Duration::from_millis(50));
    };
    assert!(connections <= 4 && busy == 0 && temporary == 0, "{connections} {busy} {temporary}");
    let memories: i64 = database.admin().query_one("select count(*) from me.memory", &[]).unwrap().get(0);
    assert_eq!(memories, 0);
    // Sockets of clients that have hung up are closed; sixteen may be open at a time.
    for (_, early, late) in over_http.iter().chain(&over_pipes) {
        assert!(late.1 <= early.1 + 2 * CLIENTS, "open files: {early:?} then {late:?}");
        assert!(late.0 <= early.0 + (32 << 10), "memory in KiB: {early:?} then {late:?}");
    }
    let tell = |way: &str, seen: &[Seen]| {
        let calls: usize = seen.iter().map(|(calls, _, _)| calls).sum();
        let most = |of: fn(&Seen) -> usize| seen.iter().map(of).max().unwrap() >> 10;
        let (early, late) = (most(|seen| seen.1.0), most(|seen| seen.2.0));
        writeln!(
            std::io::stderr().lock(),
            "soak: {way}: {calls} calls in {} s, no error; a server holds {early} MiB after a third, {late} MiB at the end",
            duration().as_secs()
        )
        .unwrap();
    };
    tell("http", &over_http);
    tell("pipes", &over_pipes);
    let said = gateway.finish();
    assert!(!said.contains("error") && said.lines().count() <= 3, "{said}");
}
