//! A session that calls and calls holds no more memory in the end than after a while, and neither does the worker beside it.
//!
//! `STEADY_CALLS` calls, 6,000 unless said; a long run is `STEADY_CALLS=1000000 scripts/test client do_not_grow`, and
//! prints what it saw.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::server::Server;
use postgres::Client;

/// Memory of a process that it shares with nobody, in KiB: without the model, which the postmaster loaded.
fn own_memory(pid: i32) -> Option<usize> {
    let pages = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = pages.lines().find(|line| line.starts_with("Private_Dirty:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn pid(client: &mut Client, sql: &str) -> Option<i32> {
    client.query_opt(sql, &[]).unwrap().map(|row| row.get(0))
}

const WORKER: &str =
    "select pid from pg_stat_activity where backend_type = 'memory_engine worker' and datname = 'steady'";

/// One call of every kind; what there is stays about the same.
const ROUND: &[&str] = &[
    "select me.memory_create('The heron waits at pond ' || $1, 'share/a', name => 'n' || $1 % 200, on_conflict => 'replace',
        meta => jsonb_build_object('n', $1))",
    "select me.memory_get_by_path('share/a/n' || $1 % 200)",
    "select me.memory_search(fulltext => 'heron pond ' || $1, \"limit\" => 5)",
    "select me.memory_search(semantic => 'water birds ' || $1, \"limit\" => 5)",
    "select me.memory_search(semantic => 'pond ' || $1, fulltext => 'heron', tree => 'share', grep => 'waits', \"limit\" => 3)",
    "select me.memory_update((m->>'id')::uuid, m->>'versionHash', meta_patch => jsonb_build_object('k', $1))
       from me.memory_get_by_path('share/a/n' || $1 % 200) as m",
    "select me.mcp_call('me_memory_count', jsonb_build_object('tree', '/share', 'max_count', 1 + $1 % 50))",
    "select me.mcp_call('me_memory_tree', '{\"tree\": \"/share\"}')::text || $1",
    "select count(*) from me.search(fulltext => 'pond ' || $1)",
    "select me.memory_delete_by_path('share/a/n' || ($1 + 100) % 200)",
    // An error costs nothing that lasts either.
    "select me.memory_get_by_path('share/none/n' || $1)",
    "select me.memory_search(fulltext => 'x', meta_predicate => '$.a ? (' || $1)",
];

#[test]
fn a_session_and_the_worker_do_not_grow() {
    let server = Server::new("me.upkeep_delay = 1s\nautovacuum_naptime = 5s");
    server.connect("postgres").batch_execute("create database steady").unwrap();
    let mut client = server.connect("steady");
    client
        .batch_execute(
            "create extension memory_engine cascade;
             select me.embedding_model_add('static', 'local', 256, '{\"path\": \"wordllama-256\"}');
             select me.embedding_model_use('static')",
        )
        .unwrap();
    let statements: Vec<_> =
        ROUND.iter().map(|sql| client.prepare_typed(sql, &[postgres::types::Type::INT4]).unwrap()).collect();
    let calls: usize = std::env::var("STEADY_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6_000);
    let rounds = calls / ROUND.len();
    let backend = pid(&mut client, "select pg_backend_pid()").unwrap();
    let mut seen: Vec<(usize, Option<(i32, usize)>)> = Vec::new();
    for round in 0..rounds {
        for statement in &statements {
            let answer = client.query(statement, &[&(round as i32)]);
            if let Err(error) = answer {
                let code = error
                    .as_db_error()
                    .unwrap_or_else(|| panic!("{error:?}\n{}", server.log()))
                    .code()
                    .code();
                assert!(["P0002", "22023"].contains(&code), "{error:?}");
            }
        }
        if round % (rounds / 10).max(1) == rounds / 20 {
            let worker = pid(&mut client, WORKER).and_then(|pid| Some((pid, own_memory(pid)?)));
            seen.push((own_memory(backend).unwrap(), worker));
        }
    }
    println!("after each tenth of {calls} calls, KiB: {seen:?}");
    // What a session keeps to be quick is there after the first calls.
    let (early, late) = (seen[seen.len() / 5].0, seen[seen.len() - 1].0);
    assert!(late as f64 <= early as f64 * 1.05 + 1024.0, "the session grows: {seen:?}");
    let workers: Vec<(i32, usize)> = seen.iter().skip(seen.len() / 5).filter_map(|of| of.1).collect();
    if let (Some(early), Some(late)) = (workers.first(), workers.last())
        && early.0 == late.0
    {
        assert!(late.1 as f64 <= early.1 as f64 * 1.05 + 1024.0, "the worker grows: {seen:?}");
    }
}
