//! The MCP server against clients that mean no good, or are broken: over HTTP and over a pipe.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::gateway::{Gateway, key, user, with_space};
use common::mcp::{Server, url};
use common::{Database, superuser};
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

const COUNT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"me_memory_count","arguments":{"tree":"*"}}}"#;

fn create(content: &str) -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "me_memory_create", "arguments": {"content": content, "tree": "/share"}}
    })
    .to_string()
}

/// How many memories there are, whoever asks.
fn stored(database: &Database) -> i64 {
    database.admin().query_one("select count(*) from me.memory", &[]).unwrap().get(0)
}

#[test]
fn a_page_that_found_another_name_for_the_server_does_not_get_in() {
    let database = with_space();
    let gateway =
        Gateway::start(&database, &["--allow-host", "me.example", "--allow-origin", "https://app.example"]);
    let key = user(&database, "user@example.org", None);
    let port = gateway.address.port();
    let send = |host: &str, more: &str| {
        let head = format!(
            "POST /mcp HTTP/1.1{host}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\
             \r\nAuthorization: Bearer {key}{more}"
        );
        gateway.send(&head, create("x").as_bytes()).status
    };
    let mut made = 0;
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        "me.example".into(),
    ] {
        assert_eq!(send(&format!("\r\nHost: {host}"), ""), 200, "{host}");
        made += 1;
    }
    let local = format!("\r\nHost: 127.0.0.1:{port}");
    assert_eq!(send(&local, "\r\nOrigin: https://app.example"), 200);
    made += 1;
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8808",
        "me.example.evil.example",
        "me.example@evil.example",
        "127.0.0.2",
        "0.0.0.0",
        "",
    ] {
        let status = send(&format!("\r\nHost: {host}"), "");
        assert!((400..500).contains(&status), "{host:?}: {status}");
    }
    assert!((400..500).contains(&send("", "")), "no host at all");
    assert!((400..500).contains(&send(&format!("{local}\r\nHost: evil.example"), "")), "two hosts");
    for origin in [
        "https://evil.example",
        "https://app.example.evil.example",
        "https://app.example:444",
        "http://app.example",
        "null",
        "file://",
        "",
        "https://app.example https://evil.example",
        "https://app.example\r\nOrigin: https://evil.example",
    ] {
        let status = send(&local, &format!("\r\nOrigin: {origin}"));
        assert!((400..500).contains(&status), "{origin:?}: {status}");
    }
    // A browser asks first; nothing tells it to go on.
    let head = format!(
        "OPTIONS /mcp HTTP/1.1{local}\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: POST\
         \r\nAccess-Control-Request-Headers: authorization"
    );
    let answer = gateway.send(&head, b"");
    assert!(answer.status >= 400 && !answer.head.contains("access-control-allow"), "{answer:?}");
    assert_eq!(stored(&database), made, "what is refused does nothing");
}

#[test]
fn who_is_slow_or_says_too_much_is_let_go_and_nobody_else_waits() {
    let database = with_space();
    let gateway = Gateway::start(&database, &["--timeout", "2", "--max-body", "100000"]);
    let key = user(&database, "user@example.org", None);
    let authorized = gateway.head(&format!("\r\nAuthorization: Bearer {key}"));
    let patience = Duration::from_secs(20);
    thread::scope(|scope| {
        // Half a head, half a body, a body in drops, and nothing at all.
        let half_head = scope.spawn(|| gateway.raw(&[&authorized.as_bytes()[..40]], patience));
        let half_body = scope.spawn(|| {
            let head = format!("{authorized}\r\nContent-Length: 1000\r\n\r\n{{\"jsonrpc\"");
            gateway.raw(&[head.as_bytes()], patience)
        });
        let chunks = scope.spawn(|| {
            let head = format!("{authorized}\r\nTransfer-Encoding: chunked\r\n\r\n");
            let drops: Vec<&[u8]> = std::iter::once(head.as_bytes()).chain([&b"1\r\n{\r\n"[..]; 3]).collect();
            gateway.raw(&drops, patience)
        });
        let silent = scope.spawn(|| gateway.raw(&[], patience));
        for _ in 0..10 {
            assert_eq!(gateway.post(&key, &serde_json::from_str(COUNT).unwrap()).status, 200);
        }
        assert!(half_body.join().unwrap().starts_with("HTTP/1.1 408"));
        assert!(chunks.join().unwrap().starts_with("HTTP/1.1 408"));
        for answer in [half_head.join().unwrap(), silent.join().unwrap()] {
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
        }
    });
    let many: String = (0..2000).map(|n| format!("\r\nX-{n}: y")).collect();
    let long = format!("\r\nX-Long: {}", "y".repeat(2 << 20));
    let address = authorized.replacen("/mcp", &format!("/mcp?{}", "x".repeat(1 << 20)), 1);
    for head in [format!("{authorized}{many}"), format!("{authorized}{long}"), address] {
        let answer = gateway.raw(&[head.as_bytes(), b"\r\nContent-Length: 0\r\n\r\n"], patience);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{}",
            &answer[..answer.len().min(200)]
        );
    }
    // More than the limit without saying how much.
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let head = format!("{authorized}\r\nTransfer-Encoding: chunked\r\n\r\n");
    let answer = gateway.raw(&[head.as_bytes(), chunk.as_bytes(), chunk.as_bytes()], patience);
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert_eq!(gateway.post(&key, &serde_json::from_str(COUNT).unwrap()).status, 200);
}

#[test]
fn messages_that_are_none_are_refused_and_do_nothing() {
    let database = with_space();
    let gateway = Gateway::start(&database, &[]);
    let key = user(&database, "user@example.org", None);
    let head = gateway.head(&format!("\r\nAuthorization: Bearer {key}"));
    let call = create("x");
    let twice = call
        .replace("\"arguments\":", "\"arguments\":{\"content\":\"y\",\"tree\":\"/share\"},\"arguments\":");
    assert_ne!(twice, call);
    let two_names = call.replace("\"params\":", "\"params\":{\"name\":\"me_memory_count\"},\"params\":");
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    for (body, why) in [
        (format!("[{call}]"), "a batch"),
        (format!("[{call},{call}]"), "a batch of two"),
        (format!("{call}{call}"), "two messages"),
        (twice, "arguments twice"),
        (two_names, "parameters twice"),
        (deep, "deep parameters"),
        (call.replace("\"2.0\"", "\"1.0\""), "another JSON-RPC"),
        (call.replace("\"id\":1", "\"id\":{}"), "an object for an id"),
        (call.replace("\"id\":1", "\"id\":[1]"), "an array for an id"),
        (call.replace("\"id\":1", "\"id\":true"), "a boolean for an id"),
        (call.replace("\"id\":1", "\"id\":1.5"), "a fraction for an id"),
        (call.replace("\"id\":1", "\"id\":1e400"), "an id beyond numbers"),
        (call.replace("\"id\":1", "\"id\":123456789012345678901234567890"), "an id beyond integers"),
        (call.replace("tools/call", "tools/execute"), "an unknown method"),
        (call.replace("tools/call", ""), "no method"),
        (call.replace("tools/call", "notifications/initialized"), "a notification with an id"),
        (call.replace("me_memory_create", "me_memory_create\\u0000"), "a zero byte in a name"),
    ] {
        let answer = gateway.send(&head, body.as_bytes());
        let refused = (400..500).contains(&answer.status)
            || (answer.status == 200 && answer.json().get("error").is_some())
            || answer.status == 202;
        assert!(refused, "{why}: {answer:?}");
        assert_eq!(stored(&database), 0, "{why}: {answer:?}");
    }
    // An id comes back as it was, however odd.
    let long = "i".repeat(100_000);
    for id in [
        json!(0),
        json!(-7),
        json!(9_007_199_254_740_993_i64),
        json!(i64::MAX),
        json!(""),
        json!("\u{0}\"\n"),
        json!(long),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        assert_eq!(gateway.post(&key, &message).json()["id"], id);
    }
    // Sessions do not exist: whatever is said of one changes nothing, and there is none to end or to listen to.
    for session in ["x", "../../etc/passwd", &"s".repeat(5000)] {
        let head = gateway.head(&format!("\r\nAuthorization: Bearer {key}\r\nMcp-Session-Id: {session}"));
        let answer = gateway.send(&head, COUNT.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!answer.head.contains("mcp-session-id"), "{answer:?}");
        for method in ["GET", "DELETE", "PUT", "HEAD"] {
            assert_eq!(gateway.send(&head.replacen("POST", method, 1), b"").status, 405, "{method}");
        }
    }
}

#[test]
fn heads_that_contradict_the_body_are_refused() {
    let database = with_space();
    let gateway = Gateway::start(&database, &[]);
    let key = user(&database, "user@example.org", None);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"}
    });
    let send = |more: &str| {
        let head = gateway
            .head(&format!("\r\nAuthorization: Bearer {key}\r\nMCP-Protocol-Version: 2026-07-28{more}"));
        let arguments = json!({"content": "x", "tree": "/share"});
        let params = json!({"name": "me_memory_create", "arguments": arguments, "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        gateway.send(&head, message.to_string().as_bytes())
    };
    for more in [
        "",
        "\r\nMcp-Method: tools/list\r\nMcp-Name: me_memory_create",
        "\r\nMcp-Method: tools/call\r\nMcp-Name: me_memory_count",
        "\r\nMcp-Method: tools/call",
    ] {
        let answer = send(more);
        assert!((400..500).contains(&answer.status), "{more}: {answer:?}");
        assert_eq!(stored(&database), 0, "{more}: {answer:?}");
    }
    assert_eq!(send("\r\nMcp-Method: tools/call\r\nMcp-Name: me_memory_create").status, 200);
    assert_eq!(stored(&database), 1);
    // Two keys, or one that is none.
    for more in [
        format!("\r\nAuthorization: Bearer {key}\r\nAuthorization: Bearer me.x.y"),
        format!("\r\nAuthorization: Bearer me.x.y\r\nAuthorization: Bearer {key}"),
        format!("\r\nAuthorization: Basic {key}"),
        format!("\r\nAuthorization: Bearer {key} {key}"),
        format!("\r\nX-Authorization: Bearer {key}"),
    ] {
        let answer = gateway.send(&gateway.head(&more), COUNT.as_bytes());
        assert_eq!(answer.status, 401, "{more}: {answer:?}");
    }
}

#[test]
fn a_key_that_is_revoked_during_a_call_serves_it_to_its_end_and_no_other() {
    let database = with_space();
    let gateway = Gateway::start(&database, &[]);
    let mine = user(&database, "user@example.org", None);
    let second = key(&database, "user@example.org", None);
    let (second, id) =
        (second["key"].as_str().unwrap().to_owned(), second["id"].as_str().unwrap().to_owned());
    let made = gateway.ok(&mine, "me_memory_create", json!({"content": "c", "tree": "/share"}));
    let mut holder = database.admin();
    let mut lock = holder.transaction().unwrap();
    lock.execute("select from me.memory for update", &[]).unwrap();
    thread::scope(|scope| {
        let hanging = scope.spawn(|| gateway.call(&second, "me_memory_delete", json!({"id": made["id"]})));
        let mut admin = database.admin();
        let blocked = "select count(*) from pg_stat_activity where datname = current_database()
                       and application_name = 'memory-engine-mcp' and wait_event_type = 'Lock'";
        let until = Instant::now() + Duration::from_secs(30);
        while admin.query_one(blocked, &[]).unwrap().get::<_, i64>(0) == 0 {
            assert!(Instant::now() < until, "nothing hangs");
        }
        admin.execute("select me.api_key_revoke($1::text::uuid)", &[&id]).unwrap();
        assert_eq!(gateway.post(&second, &serde_json::from_str(COUNT).unwrap()).status, 401);
        lock.rollback().unwrap();
        let result = hanging.join().unwrap();
        assert_eq!(result["structuredContent"]["deleted"], true, "{result}");
    });
    assert_eq!(gateway.post(&second, &serde_json::from_str(COUNT).unwrap()).status, 401);
    assert_eq!(gateway.ok(&mine, "me_memory_count", json!({"tree": "*"}))["count"], 0);
}

#[test]
fn an_address_of_a_resource_names_a_memory_and_nothing_else() {
    let database = with_space();
    database.admin().batch_execute("select me.space_create('other', 'Other')").unwrap();
    let gateway = Gateway::start(&database, &[]);
    let key = user(&database, "user@example.org", None);
    database
        .admin()
        .batch_execute("select me.memory_create('hidden', '/share', name => 'n', space => 'other')")
        .unwrap();
    for uri in [
        "memory://default/../../etc/passwd",
        "memory://default/%2e%2e/%2e%2e/etc/passwd",
        "memory://default/..%2f..%2fother/share/n",
        "memory://other/share/n",
        "memory://default/../other/share/n",
        "memory://default%2f..%2fother/share/n",
        "memory://default/share/n?space=other",
        "memory://default/share/n%00",
        "memory://default/?id=' or true --",
        "memory://default/?id=0190a1b2-0000-7000-8000-000000000051&space=other",
        "memory://user:secret@default/share/n",
        "file:///etc/passwd",
        "http://127.0.0.1/",
        "/etc/passwd",
        "",
    ] {
        let answer = gateway.request(&key, "resources/read", json!({"uri": uri}));
        let code = answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{uri}: {answer}"));
        assert!([-32602, -32002, -32603].contains(&code), "{uri}: {answer}");
        let said = answer.to_string();
        assert!(!said.contains("hidden") && !said.contains("root:"), "{uri}: {answer}");
    }
    for cursor in ["x", "other 0190a1b2-0000-7000-8000-000000000051", "default ' or true", "../.. x"] {
        let answer = gateway.request(&key, "resources/list", json!({"cursor": cursor}));
        assert!(!answer.to_string().contains("hidden"), "{answer}");
    }
}

#[test]
fn a_pipe_bears_the_same_messages() {
    let database = Database::new();
    let mut server = Server::open(&url(database.name(), &superuser()), &[]);
    let call = create("x");
    for (line, why) in [
        (format!("[{call}]"), "a batch"),
        (
            call.replace(
                "\"arguments\":",
                "\"arguments\":{\"content\":\"y\",\"tree\":\"/share\"},\"arguments\":",
            ),
            "arguments twice",
        ),
        (
            call.replace("\"params\":", "\"params\":{\"name\":\"me_memory_count\"},\"params\":"),
            "parameters twice",
        ),
        (call.replace("\"id\":1", "\"id\":1.5"), "a fraction for an id"),
        (call.replace("\"id\":1", "\"id\":{}"), "an object for an id"),
        (call.replace("\"id\":1", "\"id\":123456789012345678901234567890"), "an id beyond integers"),
        (format!("{call} {call}"), "two messages on a line"),
        (format!("\u{feff}{call}"), "a byte order mark"),
    ] {
        server.write(format!("{line}\n").as_bytes());
        let answer = server.next_message();
        assert!(answer.get("error").is_some(), "{why}: {answer}");
        assert_eq!(stored(&database), 0, "{why}: {answer}");
    }
    let long = "i".repeat(1_000_000);
    for id in [json!(0), json!(-7), json!(i64::MAX), json!(""), json!("\u{0}\"\n"), json!(long)] {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        assert_eq!(server.answer(&id)["result"], json!({}));
    }
    server.ok("me_memory_create", json!({"content": "x", "tree": "/share"}));
    assert_eq!(stored(&database), 1);
}

#[test]
fn answers_of_capsules_take_the_channel_that_the_specification_says() {
    let database = Database::new();
    let mut server = Server::open(&url(database.name(), &superuser()), &[]);
    let mut call = |tool: &str, arguments: Value| {
        server.request("tools/call", json!({"name": tool, "arguments": arguments}))
    };
    let unknown = call("memory_get", json!({"id": "cap-9"}));
    assert_eq!(
        (&unknown["error"]["code"], &unknown["error"]["data"]),
        (&json!(-32002), &json!({"kind": "unknown_capsule", "id": "cap-9"}))
    );
    let made = call("memory_ingest", json!({"content": "A fact.", "source": "s", "anchor": "a"}));
    assert_eq!(made["result"]["structuredContent"]["outcomes"][0]["id"], "cap-1");
    let value = call("memory_forget", json!({"id": "cap-1", "mode": "purged", "reason": " "}));
    assert_eq!(value["error"]["code"], -32602, "{value}");
    assert_eq!(value["error"]["data"]["argument"], "reason", "{value}");
    let shape = call("memory_forget", json!({"id": "cap-1", "mode": 7, "reason": "r"}));
    assert!(shape.get("error").is_none() && shape["result"]["isError"] == true, "{shape}");
    assert_eq!(shape["result"]["_meta"]["error"]["channel"], "tool", "{shape}");
    call("memory_forget", json!({"id": "cap-1", "mode": "purged", "reason": "r"}));
    let forgotten = call("memory_relate", json!({"kind": "blocks", "from": "cap-1", "to": "cap-2"}));
    assert_eq!(forgotten["error"]["code"], -32002, "{forgotten}");
    // What is refused row by row stays in the answer.
    let rows = call("memory_ingest", json!({"items": [{"content": "A fact."}]}));
    assert_eq!(rows["result"]["structuredContent"]["rejected"], 1, "{rows}");
}
