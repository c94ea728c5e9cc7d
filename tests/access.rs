//! Rosters, grants and registrations when several sessions meet.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, Refusal, new_role};
use postgres::Client;
use serde_json::json;
use std::sync::{Arc, Barrier};
use std::thread;

fn space(admin: &mut Client) {
    admin.batch_execute("select me.space_create('meeting', home_grants => false)").unwrap();
}

fn with_space(database: &Database, role: &str) -> Client {
    let mut client = database.connect(role);
    client.batch_execute("set me.space = 'meeting'").unwrap();
    client
}

#[test]
fn two_admins_who_remove_each_other_leave_one() {
    let database = Database::new();
    let mut admin = database.admin();
    space(&mut admin);
    for round in 0..10 {
        let (one, other) = (new_role("one"), new_role("other"));
        for role in [&one, &other] {
            let member = json!({"principal": role, "admin": true, "space": "meeting"});
            admin.function("space_member_add", &member).unwrap();
        }
        // Nobody else is left: only the two.
        let members = admin.function("space_member_list", &json!({"space": "meeting"})).unwrap();
        for member in members["members"].as_array().unwrap() {
            let name = member["name"].as_str().unwrap();
            if name != one && name != other {
                let member = json!({"principal": name, "space": "meeting"});
                admin.function("space_member_remove", &member).unwrap();
            }
        }
        let start = Arc::new(Barrier::new(2));
        let outcomes: Vec<Result<_, Refusal>> = [(&one, &other), (&other, &one)]
            .map(|(who, whom)| {
                let (mut client, start) = (with_space(&database, who), start.clone());
                let member = json!({"principal": whom});
                thread::spawn(move || {
                    start.wait();
                    client.function("space_member_remove", &member)
                })
            })
            .into_iter()
            .map(|one| one.join().unwrap())
            .collect();
        let refused: Vec<String> =
            outcomes.iter().filter_map(|outcome| outcome.as_ref().err().map(Refusal::kind)).collect();
        assert_eq!(refused.len(), 1, "round {round}: {outcomes:?}");
        // The second was removed before it began, or came second to the lock.
        assert!(["LAST_ADMIN", "FORBIDDEN"].contains(&refused[0].as_str()), "{outcomes:?}");
        let members = admin.function("space_member_list", &json!({"space": "meeting"})).unwrap();
        assert_eq!(members["members"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn what_one_session_grants_or_takes_counts_for_the_next_call_of_another() {
    let database = Database::new();
    let mut admin = database.admin();
    space(&mut admin);
    admin.batch_execute("set me.space = 'meeting'").unwrap();
    admin.function("memory_create", &json!({"content": "x", "tree": "/share", "name": "n"})).unwrap();
    let (role, group) = (new_role("member"), new_role("group"));
    let mut member = with_space(&database, &role);
    let path = json!({"path": "/share/n"});
    let mut kind =
        || member.function("memory_get_by_path", &path).map_or_else(|r| r.kind(), |_| "ok".to_owned());
    assert_eq!(kind(), "FORBIDDEN");
    let grant = json!({"principal": role, "tree": "/share", "access": "read"});
    admin.function("access_grant", &grant).unwrap();
    assert_eq!(kind(), "ok");
    admin.function("access_revoke", &json!({"principal": role, "tree": "/share"})).unwrap();
    assert_eq!(kind(), "NOT_FOUND");
    admin.function("access_grant", &json!({"principal": group, "tree": "/share", "access": "read"})).unwrap();
    assert_eq!(kind(), "NOT_FOUND");
    admin.batch_execute(&format!("grant {group} to {role}")).unwrap();
    assert_eq!(kind(), "ok");
    admin.batch_execute(&format!("grant {group} to {role} with inherit false")).unwrap();
    assert_eq!(kind(), "NOT_FOUND");
    admin.batch_execute(&format!("grant {group} to {role} with inherit true")).unwrap();
    assert_eq!(kind(), "ok");
    admin.batch_execute(&format!("revoke {group} from {role}")).unwrap();
    assert_eq!(kind(), "NOT_FOUND");
    admin.function("space_member_remove", &json!({"principal": role})).unwrap();
    assert_eq!(kind(), "FORBIDDEN");
}

#[test]
fn sessions_that_register_one_role_at_once_become_one_principal() {
    let database = Database::new();
    let mut admin = database.admin();
    space(&mut admin);
    admin.batch_execute("set me.space = 'meeting'").unwrap();
    // Each round has its own moment between one session's look and another's registration.
    for round in 0..20 {
        let (group, role) = (new_role("group"), new_role("newcomer"));
        admin.batch_execute(&format!("grant {group} to {role}")).unwrap();
        let grant = json!({"principal": group, "tree": "/share", "access": "write"});
        admin.function("access_grant", &grant).unwrap();
        let start = Arc::new(Barrier::new(6));
        let writers: Vec<_> = (0..6)
            .map(|n| {
                let (mut client, start) = (with_space(&database, &role), start.clone());
                thread::spawn(move || {
                    start.wait();
                    let memory = json!({"content": format!("by {n}"), "tree": "/share"});
                    client.function("memory_create", &memory)
                })
            })
            .collect();
        for writer in writers {
            let record = writer.join().unwrap().unwrap();
            assert_eq!(record["createdBy"], json!(role));
        }
        let registered = admin
            .query("select name from me.principal where role_oid = $1::text::regrole", &[&role])
            .unwrap();
        let names: Vec<String> = registered.iter().map(|row| row.get(0)).collect();
        assert_eq!(names, std::slice::from_ref(&role), "round {round}");
        let actors: i64 = admin
            .query_one("select count(distinct actor_id) from me.memory_event where actor_name = $1", &[&role])
            .unwrap()
            .get(0);
        assert_eq!(actors, 1);
    }
}

#[test]
fn whoever_only_reads_needs_no_writable_transaction() {
    let database = Database::new();
    let mut admin = database.admin();
    space(&mut admin);
    admin.batch_execute("set me.space = 'meeting'").unwrap();
    admin.function("memory_create", &json!({"content": "x", "tree": "/share", "name": "n"})).unwrap();
    let (group, role) = (new_role("group"), new_role("reader"));
    admin.batch_execute(&format!("grant {group} to {role}")).unwrap();
    admin.function("access_grant", &json!({"principal": group, "tree": "/share", "access": "read"})).unwrap();
    let mut reader = with_space(&database, &role);
    // As on a standby: nothing registers it, and it has no home.
    reader.batch_execute("set default_transaction_read_only = on").unwrap();
    let record = reader.function("memory_get_by_path", &json!({"path": "/share/n"})).unwrap();
    assert_eq!(record["content"], json!("x"));
    let context = reader.function("memory_context", &json!({})).unwrap();
    assert_eq!(context["principal"], json!({"id": null, "kind": "u", "name": role, "admin": false}));
    assert_eq!(context["access"][0]["treePath"], json!("/share"));
    let rows = reader.rows_of("select content from me.memories").unwrap();
    assert_eq!(rows, vec![vec![Some("x".to_owned())]]);
    let listed = reader.function("access_list", &json!({"principal": role})).unwrap();
    assert_eq!(listed, json!({"grants": []}));
    let spaces = reader.function("space_list", &json!({})).unwrap();
    assert_eq!(spaces["spaces"][0]["slug"], json!("meeting"));
    let refused = reader.function("memory_get_by_path", &json!({"path": "~/n"})).unwrap_err();
    assert_eq!(refused.kind(), "VALIDATION");
}

/// How long an answer takes must not tell what stands in rows that the caller may not read.
#[test]
fn no_pattern_is_tried_on_rows_that_the_caller_cannot_read() {
    // Each part has any length and stands twice, so that an odd number never matches: hopeless work for a matcher.
    let runaway = r"^word (a+)(a+)(a+)(a+)(a+)(a+)\1\2\3\4\5\6$";
    let secret = format!("word {}", "a".repeat(201));
    let plain = format!("word {}", "a".repeat(12));
    let predicate = format!("$.k like_regex {}", json!(runaway));
    let database = Database::new();
    let mut admin = database.admin();
    space(&mut admin);
    admin.batch_execute("set me.space = 'meeting'").unwrap();
    let hidden =
        json!({"content": secret, "tree": "/shut", "name": "n", "meta": {"k": secret, "kind": "log"}});
    admin.function("memory_create", &hidden).unwrap();
    let shown = json!({"content": plain, "tree": "/open", "name": "n", "meta": {"k": plain, "kind": "log"}});
    let shown = admin.function("memory_create", &shown).unwrap();
    let role = new_role("reader");
    let grant = json!({"principal": role, "tree": "/open", "access": "read"});
    admin.function("access_grant", &grant).unwrap();
    let mut reader = with_space(&database, &role);

    let calls = [
        ("memory_search", json!({"grep": runaway, "meta": {"kind": "log"}})),
        ("memory_search", json!({"grep": runaway, "meta": {"kind": "log"}, "order_by": "asc"})),
        ("memory_search", json!({"grep": runaway, "fulltext": "word"})),
        ("memory_search", json!({"grep": runaway, "fulltext": "word", "fusion": "blend"})),
        ("memory_search", json!({"meta_predicate": predicate, "fulltext": "word"})),
        ("memory_search", json!({"meta_predicate": predicate})),
        ("memory_export", json!({"format": "json", "meta_predicate": predicate})),
    ];
    admin.batch_execute("set statement_timeout = '300ms'").unwrap();
    reader.batch_execute("set statement_timeout = '30s'").unwrap();
    for (function, args) in &calls {
        let answer = reader.function(function, args).unwrap_or_else(|r| panic!("{function}({args}): {r:?}"));
        if let Some(results) = answer.get("results") {
            assert_eq!(results[0]["id"], shown["id"], "{function}({args}): {answer}");
        }
        // It is the row out of reach that would have kept it.
        let stuck = admin.function(function, args).unwrap_err();
        assert_eq!(stuck.sqlstate, "57014", "{function}({args})");
    }
}
