//! What a call reads does not grow with the space it works in.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, new_role};
use postgres::Client;
use serde_json::{Value, json};

const MEMORIES: usize = 4000;

/// Makes the arguments of a call from the connection, the record that is looked at, and a number.
type Arguments = fn(&mut Client, &Value, usize) -> Value;

/// How many rows of the extension's tables this session's transaction has read so far. The worker reads too.
fn rows_read(client: &mut Client) -> i64 {
    let sql = "select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
        from pg_stat_xact_user_tables where schemaname = 'me'";
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
                client.batch_execute("begin").unwrap();
                let before = rows_read(&mut client);
                client.function(function, &args).unwrap_or_else(|refusal| panic!("{function}: {refusal:?}"));
                let read = rows_read(&mut client) - before;
                client.batch_execute("commit").unwrap();
                assert!(read < 100, "{function} read {read} rows the {n}. time, statistics: {statistics:?}");
            }
        }
    }
}

#[test]
fn the_history_of_one_memory_is_looked_up_in_the_view_too() {
    let database = Database::new();
    let mut client = database.admin();
    for chunk in 0..MEMORIES / 1000 {
        let memories: Vec<Value> = (0..1000)
            .map(|n| json!({"content": format!("memory {n}"), "tree": format!("share/{chunk}"), "name": format!("n{n}")}))
            .collect();
        client.function("memory_batch_create", &json!({"memories": memories})).unwrap();
    }
    let record = client.tool("me_memory_get_by_path", &json!({"path": "share/1/n500"})).unwrap();
    let reader = new_role("cost_reader");
    client.function("space_member_add", &json!({"principal": reader})).unwrap();
    client
        .function("access_grant", &json!({"principal": reader, "tree": "share", "access": "read"}))
        .unwrap();
    let id = record["id"].as_str().unwrap();
    let wheres = [
        format!("memory_id = '{id}'"),
        format!("space = 'default' and memory_id = '{id}'"),
        format!("memory_id = '{id}' and at > now() - interval '1 day' order by event_id desc limit 5"),
    ];
    for statistics in ["", "analyze"] {
        client.batch_execute(statistics).unwrap();
        for role in [reader.as_str(), "none"] {
            for condition in &wheres {
                client.batch_execute("begin").unwrap();
                let before = rows_read(&mut client);
                client.batch_execute(&format!("set role {role}")).unwrap();
                let events = client
                    .query(&format!("select event_id from me.memory_events where {condition}"), &[])
                    .unwrap();
                client.batch_execute("reset role").unwrap();
                assert_eq!(events.len(), 1);
                let read = rows_read(&mut client) - before;
                client.batch_execute("commit").unwrap();
                assert!(read < 100, "{condition} as {role} read {read} rows, statistics: {statistics:?}");
            }
        }
    }
}
