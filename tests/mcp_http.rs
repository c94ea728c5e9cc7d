//! The MCP server over HTTP: keys, who a call runs as, and what a request may not be.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::gateway::{Answer, Gateway, gateway_role, key, user, with_space};
use common::mcp::{program, url};
use common::{Database, new_role};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_call_runs_as_the_holder_of_its_key() {
    let database = with_space();
    // One connection serves both users in turn.
    let gateway = Gateway::start(&database, &["--connections", "1"]);
    let (one, two) = (user(&database, "one@example.org", None), user(&database, "two@example.org", None));
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    let info = gateway.request(&one, "initialize", hello);
    assert_eq!(info["result"]["serverInfo"]["name"], "me");
    let notified = gateway.post(&one, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((notified.status, notified.body.as_str()), (202, ""));
    assert!(gateway.request(&one, "tools/list", json!({}))["result"]["tools"].as_array().unwrap().len() > 10);
    for round in 0..3 {
        for (key, name) in [(&one, "one@example.org"), (&two, "two@example.org")] {
            let made = gateway.ok(
                key,
                "me_memory_create",
                json!({"content": format!("{round}"), "tree": "~/private"}),
            );
            assert_eq!(made["createdBy"], name);
            assert_eq!(gateway.ok(key, "me_memory_count", json!({"tree": "~/private"}))["count"], round + 1);
        }
    }
    // What fails leaves nothing of its caller behind, and nothing of a write.
    assert_eq!(
        gateway.code(&one, "me_memory_create", json!({"content": "x", "tree": "/elsewhere"})),
        "FORBIDDEN"
    );
    assert_eq!(gateway.ok(&two, "me_memory_count", json!({"tree": "*"}))["count"], 3);
    let number = "12345678901234567890.10";
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"me_memory_create\",\
         \"arguments\":{{\"content\":\"n\",\"tree\":\"/share\",\"name\":\"n\",\"meta\":{{\"n\":{number}}}}}}}}}"
    );
    let answer = gateway.send(&gateway.head(&format!("\r\nAuthorization: Bearer {one}")), body.as_bytes());
    assert!(answer.body.contains(number), "{answer:?}");
    let read = gateway.request(&two, "resources/read", json!({"uri": "memory://default/share/n"}));
    assert_eq!(read["result"]["contents"][0]["text"], "n");
}

#[test]
fn the_revision_without_a_handshake_is_spoken_too() {
    let database = with_space();
    let gateway = Gateway::start(&database, &[]);
    let key = user(&database, "user@example.org", None);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"}
    });
    let send = |method: &str, name: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        let head = gateway.head(&format!(
            "\r\nAuthorization: Bearer {key}\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}{name}"
        ));
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = gateway.send(&head, message.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["result"].clone()
    };
    let discovered = send("server/discover", "", json!({}));
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "me", "{discovered}");
    assert_eq!(send("tools/list", "", json!({}))["cacheScope"], "private");
    let called = send(
        "tools/call",
        "\r\nMcp-Name: me_memory_create",
        json!({"name": "me_memory_create", "arguments": {"content": "c", "tree": "/share"}}),
    );
    assert_eq!(
        (&called["resultType"], &called["structuredContent"]["content"]),
        (&json!("complete"), &json!("c"))
    );
}

#[test]
fn a_key_that_does_not_count_is_refused_in_the_same_words_and_never_shown() {
    let database = with_space();
    let gateway = Gateway::start(&database, &[]);
    let good = user(&database, "user@example.org", None);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(gateway.post(&good, &list).status, 200);
    let revoked = key(&database, "user@example.org", None);
    let mut admin = database.admin();
    admin.execute("select me.api_key_revoke($1::text::uuid)", &[&revoked["id"].as_str()]).unwrap();
    let expired = key(&database, "user@example.org", None);
    let sql = "update me.api_key set created_at = created_at - interval '2 days', expires_at = now() - interval '1 second'
               where id = $1::text::uuid";
    admin.execute(sql, &[&expired["id"].as_str()]).unwrap();
    // Another last character, whichever it has.
    let wrong = format!("{}{}", &good[..good.len() - 1], if good.ends_with('x') { 'y' } else { 'x' });
    let keys = [revoked["key"].as_str().unwrap(), expired["key"].as_str().unwrap(), &wrong, "me.short", "x"];
    let refusals: Vec<Answer> = keys.iter().map(|key| gateway.post(key, &list)).collect();
    let without = gateway.send(&gateway.head(""), list.to_string().as_bytes());
    for refusal in &refusals {
        assert_eq!((refusal.status, &refusal.body), (401, &without.body));
        assert!(refusal.head.contains("www-authenticate: bearer"), "{refusal:?}");
    }
    assert_eq!(without.status, 401);
    let said = gateway.finish();
    for key in keys.iter().chain([&good.as_str()]).filter(|key| key.len() > 20) {
        assert!(!said.contains(key) && !refusals.iter().any(|refusal| refusal.body.contains(key)));
    }
}

/// What the throwaway server has logged.
fn server_log(database: &Database) -> String {
    let folder: String = database.admin().query_one("show data_directory", &[]).unwrap().get(0);
    std::fs::read_to_string(Path::new(&folder).parent().unwrap().join("log/server.log")).unwrap()
}

#[test]
fn no_log_holds_a_key_and_what_a_log_holds_is_none() {
    let database = with_space();
    let role = gateway_role(&database);
    // A server that logs all that it can, parameters included.
    database
        .admin()
        .batch_execute(&format!(
            "alter role \"{role}\" set log_statement = 'all'; alter role \"{role}\" set log_min_duration_statement = 0;
             alter role \"{role}\" set log_parameter_max_length_on_error = -1"
        ))
        .unwrap();
    let gateway = Gateway::start_as(&database, &role, &[]);
    let good = user(&database, "user@example.org", None);
    let revoked = key(&database, "user@example.org", None);
    database.admin().execute("select me.api_key_revoke($1::text::uuid)", &[&revoked["id"].as_str()]).unwrap();
    let revoked = revoked["key"].as_str().unwrap();
    let wrong = format!("{}wrongwrongwrongwrongwrongwrongwr.x", &good[..20]);
    gateway.ok(
        &good,
        "me_memory_create",
        json!({"content": "logged content", "tree": "/share", "name": "n"}),
    );
    gateway.code(&good, "me_memory_get_by_path", json!({"path": "/share/none"}));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let odd = "me.abcdefghijklmnopabcdefghijklmnop.hunter2hunter2";
    for key in [revoked, &wrong, "hunter2hunter2", odd] {
        assert_eq!(gateway.post(key, &list).status, 401);
    }
    let log = server_log(&database);
    let said = gateway.finish();
    let logged: Vec<&str> = log.lines().filter(|line| line.contains("sha256:")).collect();
    assert!(log.contains("logged content") && !logged.is_empty(), "the server logs parameters");
    for key in [&good, revoked, &wrong] {
        let secret = &key[20..];
        assert!(!log.contains(secret) && !said.contains(secret), "{secret}");
    }
    assert!(!log.contains("hunter2hunter2") && !said.contains("hunter2hunter2"));
    // Whoever reads the log has no key.
    let start = log.find(&format!("{}.sha256:", &good[..19])).unwrap();
    let proof = &log[start..start + 19 + 1 + 7 + 64];
    let gateway = Gateway::start_as(&database, &role, &[]);
    assert_eq!(gateway.post(proof, &list).status, 401, "{proof}");
    // A gateway of another make may prove a key by its digest as well.
    let mut client = database.connect(&role);
    let sql = "select me.api_key_authenticate($1)->>'principal'";
    assert_eq!(client.query_one(sql, &[&proof]).unwrap().get::<_, String>(0), "user@example.org");
    assert_eq!(client.query_one(sql, &[&good]).unwrap().get::<_, String>(0), "user@example.org");
}

#[test]
fn a_key_that_does_not_count_takes_the_same_steps_whatever_is_wrong_with_it() {
    let database = with_space();
    let role = gateway_role(&database);
    let good = user(&database, "user@example.org", None);
    let (revoked, expired) =
        (key(&database, "user@example.org", None), key(&database, "user@example.org", None));
    let mut admin = database.admin();
    admin.execute("select me.api_key_revoke($1::text::uuid)", &[&revoked["id"].as_str()]).unwrap();
    let sql = "update me.api_key set created_at = created_at - interval '2 days', expires_at = now() - interval '1 second'
               where id = $1::text::uuid";
    admin.execute(sql, &[&expired["id"].as_str()]).unwrap();
    let unknown = format!("me.{}{}", "A".repeat(16), &good[19..]);
    let wrong = format!("{}{}", &good[..20], "A".repeat(32));
    let mut steps = Vec::new();
    for text in [
        wrong.as_str(),
        &unknown,
        revoked["key"].as_str().unwrap(),
        expired["key"].as_str().unwrap(),
        "no key",
        "",
        "me.short.x",
        &good.to_uppercase(),
    ] {
        // Each look at an index of the keys counts, whatever it finds; the session counts its own.
        let looks = |admin: &mut postgres::Client| -> i64 {
            let sql = "select sum(pg_stat_get_xact_numscans(indexrelid))::bigint from pg_index
                       where indrelid = 'me.api_key'::regclass";
            admin.query_one(sql, &[]).unwrap().get(0)
        };
        admin.batch_execute(&format!("begin; set local role \"{role}\"; savepoint before")).unwrap();
        let before = looks(&mut admin);
        let refusal = admin.query_one("select me.api_key_authenticate($1)", &[&text]).unwrap_err();
        admin.batch_execute("rollback to before").unwrap();
        let looks = looks(&mut admin) - before;
        admin.batch_execute("rollback").unwrap();
        let refusal = common::Refusal::from_error(&refusal);
        steps.push((looks, refusal));
    }
    assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
    assert_eq!(steps[0].0, 1, "{steps:?}");
}

#[test]
fn a_key_reaches_no_further_than_it_says_and_no_longer_than_its_holder_may() {
    let database = with_space();
    let gateway = Gateway::start(&database, &[]);
    let allow = r#"{"spaces": {"default": {"trees": {"/share/low": "read"}}}}"#;
    let narrow = user(&database, "user@example.org", Some(allow));
    let wide = key(&database, "user@example.org", None)["key"].as_str().unwrap().to_owned();
    gateway.ok(&wide, "me_memory_create", json!({"content": "c", "tree": "/share/low", "name": "n"}));
    gateway.ok(&wide, "me_memory_create", json!({"content": "c", "tree": "/share/high", "name": "n"}));
    gateway.ok(&narrow, "me_memory_get_by_path", json!({"path": "/share/low/n"}));
    assert_eq!(gateway.code(&narrow, "me_memory_get_by_path", json!({"path": "/share/high/n"})), "NOT_FOUND");
    assert_eq!(
        gateway.code(&narrow, "me_memory_create", json!({"content": "c", "tree": "/share/low"})),
        "FORBIDDEN"
    );
    database.admin().batch_execute("select me.space_create('other', 'Other')").unwrap();
    assert_eq!(gateway.code(&wide, "me_memory_count", json!({"tree": "*", "space": "other"})), "FORBIDDEN");
    database.admin().batch_execute("select me.access_revoke('user@example.org', '/share')").unwrap();
    assert_eq!(
        gateway.code(&wide, "me_memory_create", json!({"content": "c", "tree": "/share"})),
        "FORBIDDEN"
    );
}

#[test]
fn what_no_client_of_ours_sends_is_refused() {
    let database = with_space();
    let gateway =
        Gateway::start(&database, &["--max-body", "100000", "--allow-origin", "https://app.example:443"]);
    let key = user(&database, "user@example.org", None);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    let authorized = format!("\r\nAuthorization: Bearer {key}");
    let with =
        |more: &str| gateway.send(&gateway.head(&format!("{authorized}{more}")), list.as_bytes()).status;
    assert_eq!(with(""), 200);
    assert_eq!(with("\r\nOrigin: https://app.example"), 200);
    assert_eq!(with("\r\nOrigin: https://evil.example"), 403);
    assert_eq!(with("\r\nOrigin: null"), 403);
    assert_eq!(with("\r\nMCP-Protocol-Version: 1999-01-01"), 400);
    let head = gateway.head(&authorized);
    let elsewhere = head.replace(&format!("Host: {}", gateway.address), "Host: evil.example");
    assert_eq!(gateway.send(&elsewhere, list.as_bytes()).status, 403);
    assert_eq!(gateway.send(&head.replace("POST /mcp", "POST /other"), list.as_bytes()).status, 404);
    assert_eq!(gateway.send(&head.replace("POST", "GET"), b"").status, 405);
    assert_eq!(
        gateway
            .send(
                &head
                    .replace("application/json\r\n", "text/plain\r\n")
                    .replace("Content-Type: application/json", "Content-Type: text/plain"),
                list.as_bytes()
            )
            .status
            / 100,
        4
    );
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "me_memory_create", "arguments": {"content": "x".repeat(200_000), "tree": "/share"}}});
    assert_eq!(gateway.post(&key, &large).status, 413);
    for body in ["", "{", "[]", "\u{0}", "{\"jsonrpc\":\"2.0\"}"] {
        let status = gateway.send(&head, body.as_bytes()).status;
        assert!((400..500).contains(&status), "{body:?}: {status}");
    }
    assert_eq!(gateway.send(&head, b"\xff\xfe").status / 100, 4);
    assert_eq!(with(""), 200);
}

#[test]
fn a_key_has_so_many_calls_at_once_and_a_call_so_much_time() {
    let database = with_space();
    let gateway = Gateway::start(&database, &["--key-calls", "1", "--timeout", "3"]);
    let (one, two) = (user(&database, "one@example.org", None), user(&database, "two@example.org", None));
    let made = gateway.ok(&one, "me_memory_create", json!({"content": "c", "tree": "/share"}));
    let mut holder = database.admin();
    let mut lock = holder.transaction().unwrap();
    lock.execute("select from me.memory for update", &[]).unwrap();
    let start = Instant::now();
    thread::scope(|scope| {
        let hanging = scope.spawn(|| gateway.call(&one, "me_memory_delete", json!({"id": made["id"]})));
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        let blocked = "select count(*) from pg_stat_activity where datname = current_database()
                       and application_name = 'memory-engine-mcp' and wait_event_type = 'Lock'";
        let mut admin = database.admin();
        while admin.query_one(blocked, &[]).unwrap().get::<_, i64>(0) == 0 {
            assert!(start.elapsed() < Duration::from_secs(20), "nothing hangs");
        }
        assert_eq!(gateway.post(&one, &list).status, 429);
        assert_eq!(gateway.post(&two, &list).status, 200, "another key has room");
        let result = hanging.join().unwrap();
        assert_eq!(result["isError"], true);
        assert!(result["content"][0]["text"].as_str().unwrap().contains("statement timeout"), "{result}");
    });
    lock.rollback().unwrap();
    assert_eq!(gateway.ok(&one, "me_memory_delete", json!({"id": made["id"]}))["deleted"], true);
}

#[test]
fn a_database_that_goes_away_is_told_and_found_again() {
    let database = with_space();
    let gateway = Gateway::start(&database, &[]);
    let key = user(&database, "user@example.org", None);
    let mut elsewhere = common::connect("postgres", &common::superuser());
    let name = database.name();
    let end = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    // It is closed, and it has no connection left.
    for (gone, back) in
        [("allow_connections false", "allow_connections true"), ("connection limit 0", "connection limit -1")]
    {
        elsewhere.batch_execute(&format!("alter database \"{name}\" {gone}; {end}")).unwrap();
        let refused = gateway.post(&key, &list);
        assert_eq!(refused.status, 503, "{gone}: {refused:?}");
        elsewhere.batch_execute(&format!("alter database \"{name}\" {back}")).unwrap();
        assert_eq!(gateway.post(&key, &list).status, 200, "{back}");
        gateway.ok(&key, "me_memory_count", json!({"tree": "*"}));
    }
}

#[test]
fn a_role_that_is_no_gateway_does_not_start() {
    let database = with_space();
    let role = new_role("plain");
    let output = program()
        .args(["--url", &url(database.name(), &role), "--http", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("me.gateway_add"), "{said}");
}
