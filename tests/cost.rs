//! What a call reads does not grow with the space it works in.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database};
use postgres::Client;
use serde_json::{Value, json};

const MEMORIES: usize = 4000;

/// Makes the arguments of a call from the connection, the record that is looked at, and a number.
type Arguments = fn(&mut Client, &Value, usize) -> Value;

/// How many rows of the extension's tables this session has read so far.
fn rows_read(client: &mut Client) -> i64 {
    client.batch_execute("select pg_stat_force_next_flush()").unwrap();
    let sql = "select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
        from pg_stat_user_tables where schemaname = 'me'";
    client.query_one(sql, &[]).unwrap().get(0)
}

#[test]
fn calls_about_one_memory_read_a_handful_of_rows_in_a_space_of_thousands() {
    let database = Database::new();
    let mut client = database.admin();
    for chunk in 0..MEMORIES / 1000 {
        let memories: Vec<Value> = (0..1000)
            .map(|n| json!({"content": format!("memory {n}"), "tree": format!("share/{chunk}"), "name": format!("n{n}")}))
            .collect();
        client.function("memory_batch_create", &json!({"memories": memories})).unwrap();
    }
    let path = json!({"path": "share/1/n500"});
    let calls: [(&str, Arguments); 5] = [
        ("memory_get", |_, record, _| json!({"id": record["id"]})),
        ("memory_get_by_path", |_, _, _| json!({"path": "share/1/n500"})),
        ("memory_create", |_, _, n| json!({"content": "x", "tree": "share/1", "name": format!("more-{n}")})),
        ("memory_update", |client, record, n| {
            let now = client.tool("me_memory_get", &json!({"id": record["id"]})).unwrap();
            json!({"id": record["id"], "version_hash": now["versionHash"], "meta": {"n": n}})
        }),
        ("memory_delete_by_path", |_, _, n| json!({"path": format!("share/2/n{n}")})),
    ];
    let record = client.tool("me_memory_get_by_path", &path).unwrap();
    for statistics in ["", "analyze"] {
        client.batch_execute(statistics).unwrap();
        for (function, args) in calls {
            // Often enough that kept plans have become generic ones.
            for n in 0..12 {
                let number = n + 100 * statistics.len();
                let args = args(&mut client, &record, number);
                let before = rows_read(&mut client);
                client.function(function, &args).unwrap_or_else(|refusal| panic!("{function}: {refusal:?}"));
                let read = rows_read(&mut client) - before;
                assert!(read < 100, "{function} read {read} rows the {n}. time, statistics: {statistics:?}");
            }
        }
    }
}
