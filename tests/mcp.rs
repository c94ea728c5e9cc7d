//! The MCP server over a pipe, seen by a client of our own.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use common::mcp::{Server, program, text, url};
use common::{Database, superuser};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};

const PIECE: &str = "/share/pipe";

fn open(database: &Database, arguments: &[&str]) -> Server {
    Server::open(&url(database.name(), &superuser()), arguments)
}

/// What a request of the revision without a handshake brings along.
fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"}
    })
}

#[test]
fn both_revisions_of_the_protocol_are_spoken() {
    let database = Database::new();
    let url = url(database.name(), &superuser());
    let mut server = Server::start(&url, &[]);
    let info = server.shake_hands("2025-11-25");
    assert_eq!(info["protocolVersion"], "2025-11-25");
    assert_eq!(info["serverInfo"]["name"], "me");
    let old = server.tools();

    let mut server = Server::start(&url, &[]);
    let discovered = server.request("server/discover", json!({"_meta": modern()}));
    let versions = discovered["result"]["supportedVersions"].as_array().unwrap();
    assert!(
        versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")),
        "{versions:?}"
    );
    let listed = server.request("tools/list", json!({"_meta": modern()}));
    assert_eq!(listed["result"]["resultType"], "complete");
    assert_eq!(listed["result"]["cacheScope"], "private");
    assert!(listed["result"]["ttlMs"].as_u64().unwrap() > 0);
    assert_eq!(listed["result"]["tools"].as_array().unwrap(), &old, "one list, whoever asks");
    let called = server.request("tools/call", json!({"name": "me_memory_tree", "_meta": modern()}));
    assert_eq!(called["result"]["resultType"], "complete");
    assert_eq!(called["result"]["structuredContent"], json!({"nodes": []}));
}

#[test]
fn tools_are_listed_as_the_database_defines_them() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    let mut admin = database.admin();
    let defined: String = admin.query_one("select me.mcp_tools('all')::text", &[]).unwrap().get(0);
    assert_eq!(Value::from(server.tools()), serde_json::from_str::<Value>(&defined).unwrap());
    for toolset in ["memory", "capsule"] {
        let defined: String = admin.query_one("select me.mcp_tools($1)::text", &[&toolset]).unwrap().get(0);
        let mut server = open(&database, &["--toolset", toolset]);
        assert_eq!(Value::from(server.tools()), serde_json::from_str::<Value>(&defined).unwrap());
    }
    let mut server = open(&database, &["--toolset", "capsule"]);
    let answer = server.request("tools/call", json!({"name": "me_memory_tree"}));
    assert_eq!(answer["error"]["code"], -32602, "a tool of another toolset is unknown: {answer}");
}

#[test]
fn a_toolset_that_does_not_exist_stops_the_start() {
    let database = Database::new();
    let output = program()
        .args(["--url", &url(database.name(), &superuser()), "--toolset", "memories"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("memories"));
}

#[test]
fn a_memory_lives_through_its_tools() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    let made = server.ok(
        "me_memory_create",
        json!({"content": "one\ntwo", "tree": PIECE, "name": "note", "meta": {"k": [1, "x"]}}),
    );
    let read = server.call("me_memory_get", json!({"id": made["id"]}));
    assert_eq!(read["structuredContent"], made);
    assert!(text(&read).contains("content: |-\n  one\n  two"), "YAML unless said: {}", text(&read));
    for format in ["json", "compact"] {
        let read =
            server.call("me_memory_get_by_path", json!({"path": "/share/pipe/note", "format": format}));
        assert_eq!(serde_json::from_str::<Value>(&text(&read)).unwrap(), made);
        assert!(!text(&read).contains('\n'));
    }
    let updated = server.call(
        "me_memory_update",
        json!({"id": made["id"], "version_hash": made["versionHash"], "content": "three"}),
    );
    assert_eq!(updated["structuredContent"]["version"], 2);
    assert!(text(&updated).starts_with("{\n  \"id\":"), "JSON with two spaces, in order: {}", text(&updated));
    let (said, particulars) = server.refused(
        "me_memory_update",
        json!({"id": made["id"], "version_hash": made["versionHash"], "content": "four"}),
    );
    assert!(said.contains("stale") && said.contains("HINT: Read the memory again"), "{said}");
    assert!(said.contains(updated["structuredContent"]["versionHash"].as_str().unwrap()), "{said}");
    assert_eq!((&particulars["code"], &particulars["reason"]), (&json!("CONFLICT"), &json!("version")));
    assert_eq!(server.ok("me_memory_count", json!({"tree": PIECE}))["count"], 1);
    assert_eq!(server.ok("me_memory_delete", json!({"id": made["id"]})), json!({"deleted": true}));
    let (said, particulars) = server.refused("me_memory_get", json!({"id": made["id"]}));
    assert_eq!(particulars["code"], "NOT_FOUND", "{said}");
}

#[test]
fn numbers_keep_their_digits_in_both_directions() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    let number = "123456789012345678901234567890.000000000000000000010";
    server.write(
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"n\",\"method\":\"tools/call\",\"params\":{{\"name\":\"me_memory_create\",\
             \"arguments\":{{\"content\":\"c\",\"tree\":\"{PIECE}\",\"meta\":{{\"n\":{number}}}}}}}}}\n"
        )
        .as_bytes(),
    );
    let answer = server.answer(&json!("n"));
    assert_eq!(answer["result"]["structuredContent"]["meta"]["n"].to_string(), number);
    assert!(text(&answer["result"]).contains(number));
}

#[test]
fn unknown_arguments_are_refused_by_name_and_objects_as_strings_accepted() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    let (said, _) = server.refused("me_memory_create", json!({"content": "c", "tree": PIECE, "tags": ["x"]}));
    assert!(said.contains("tags"), "{said}");
    let made = server.ok(
        "me_memory_create",
        json!({"content": "{\"looks\":\"like json\"}", "tree": PIECE, "name": "s", "meta": "{\"k\":1}", "temporal": null}),
    );
    assert_eq!((&made["content"], &made["meta"]), (&json!("{\"looks\":\"like json\"}"), &json!({"k": 1})));
    let (said, _) = server.refused("me_memory_tree", json!({"levels": "2"}));
    assert!(said.contains("levels"), "scalars are not coerced: {said}");
}

/// Reported of others: clients that send objects and arrays as strings, or leave the arguments out.
#[test]
fn tool_arguments_that_arrive_as_strings_are_taken_for_what_they_hold() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    let place = "/share/q49";
    server.ok(
        "me_memory_create",
        json!({"content": "{\"looks\":\"like json\"}", "tree": place, "name": "s", "meta": "{\"k\":1}", "temporal": null}),
    );
    let found = server.call(
        "me_memory_search",
        json!({"tree": place, "meta": "{\"k\":1}", "limit": 5, "select": "[\"id\",\"name\"]", "format": "json"}),
    );
    let answer = &found["structuredContent"];
    assert_eq!((&answer["total"], &answer["limit"]), (&json!(1), &json!(5)));
    assert_eq!(serde_json::from_str::<Value>(&text(&found)).unwrap(), *answer);
    let tree = server.request("tools/call", json!({"name": "me_memory_tree"}));
    assert_eq!(tree["result"]["structuredContent"]["nodes"].as_array().map(Vec::len), Some(2), "{tree}");
    let stored = server.ok("me_memory_get_by_path", json!({"path": "/share/q49/s"}));
    assert_eq!(
        (&stored["content"], &stored["meta"]),
        (&json!("{\"looks\":\"like json\"}"), &json!({"k": 1}))
    );
    // Only what holds the kind of value that is expected; scalars are never coerced.
    for arguments in [
        json!({"tree": place, "limit": "5"}),
        json!({"tree": place, "meta": "[1]"}),
        json!({"tree": place, "meta": "7"}),
        json!({"tree": place, "meta": "{"}),
        json!({"tree": place, "select": "{}"}),
        json!({"tree": ["/share"], "limit": 5}),
    ] {
        let (said, particulars) = server.refused("me_memory_search", arguments.clone());
        assert_eq!(particulars["code"], "VALIDATION", "{arguments}: {said}");
    }
}

/// Reported of others: arguments that are accepted and ignored, and names that SQL cannot say without quotes.
#[test]
fn no_argument_is_accepted_and_ignored_and_every_name_can_be_said_in_sql() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    for (name, p) in [("a", 3), ("b", 1)] {
        server.ok(
            "me_memory_create",
            json!({"content": "p", "tree": "/share/q51", "name": name, "meta": {"p": p}}),
        );
    }
    let (said, particulars) =
        server.refused("me_memory_search", json!({"tree": "/share/q51", "tags": ["x"]}));
    assert!(said.contains("tags") && particulars["argument"] == "tags", "{said}");
    let found = server
        .ok("me_memory_search", json!({"tree": "/share/q51", "metaPredicate": "$.p >= 2", "format": "json"}));
    assert_eq!(found["total"], 1);
    let mut admin = database.admin();
    let sql = "select me.memory_search(tree => '/share/q51', meta_predicate => '$.p >= 2')->>'total'";
    assert_eq!(admin.query_one(sql, &[]).unwrap().get::<_, String>(0), "1");
    let mixed = "select count(*) from pg_proc p, unnest(p.proargnames) a
                 where p.pronamespace = 'me'::regnamespace and a <> lower(a)";
    assert_eq!(admin.query_one(mixed, &[]).unwrap().get::<_, i64>(0), 0);
    for tool in server.tools() {
        let mut arguments = json!({});
        arguments["no_such_argument"] = json!(1);
        let answer = server.request("tools/call", json!({"name": tool["name"], "arguments": arguments}));
        assert!(answer.to_string().contains("no_such_argument"), "{answer}");
    }
}

#[test]
fn a_database_that_is_restarted_under_two_hundred_calls_leaves_each_with_one_answer() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    server.ok("me_memory_create", json!({"content": "first", "tree": PIECE, "name": "first"}));
    let mut elsewhere = common::connect("postgres", &superuser());
    let name = database.name();
    let end = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'");
    let mut ids = Vec::new();
    for n in 0..200 {
        let content = json!({"content": format!("memory {n}"), "tree": PIECE, "name": format!("n{n}")});
        ids.push((
            n % 2 == 0,
            match n % 2 {
                0 => server.start_call("me_memory_create", content),
                _ => server.start_call("me_memory_get_by_path", json!({"path": format!("{PIECE}/first")})),
            },
        ));
        if n == 60 {
            // Half a line, and the rest of it after the restart.
            server.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"half\",");
            elsewhere
                .batch_execute(&format!("alter database \"{name}\" allow_connections false; {end}"))
                .unwrap();
            elsewhere.batch_execute(&format!("alter database \"{name}\" allow_connections true")).unwrap();
            server.write(b"\"method\":\"ping\"}\n");
        }
    }
    assert_eq!(server.answer(&json!("half"))["result"], json!({}));
    let (mut made, mut unknown) = (0, 0);
    for (writes, id) in ids {
        let result = server.answer(&id)["result"].clone();
        let failed = result["isError"] == true;
        assert!(!failed || result["_meta"]["error"]["code"] == "UNAVAILABLE", "{result}");
        made += i64::from(writes && !failed);
        unknown += i64::from(writes && failed);
    }
    let count = server.ok("me_memory_count", json!({"tree": PIECE}))["count"].as_i64().unwrap() - 1;
    assert!((made..=made + unknown).contains(&count), "{count} of {made} and perhaps {unknown}");
    assert!(made >= 60, "what was asked long after the restart is done: {made}");
}

#[test]
fn a_locked_server_knows_one_space() {
    let database = Database::new();
    let mut admin = database.admin();
    admin
        .batch_execute("select me.space_create('one', 'One'); select me.space_create('two', 'Two')")
        .unwrap();
    let mut server = open(&database, &["--space", "one"]);
    for tool in server.tools() {
        assert!(tool["inputSchema"]["properties"].get("space").is_none(), "{tool}");
        assert_ne!(tool["name"], "me_space_list");
    }
    server.ok("me_memory_create", json!({"content": "c", "tree": PIECE}));
    let (said, _) = server.refused("me_memory_count", json!({"tree": PIECE, "space": "two"}));
    assert!(said.contains("space"), "{said}");
    let mut several = open(&database, &[]);
    assert_eq!(several.ok("me_memory_count", json!({"tree": PIECE, "space": "one"}))["count"], 1);
    assert_eq!(several.ok("me_memory_count", json!({"tree": PIECE, "space": "two"}))["count"], 0);
    assert!(several.tools().iter().any(|tool| tool["name"] == "me_space_list"));
}

#[test]
fn what_is_no_request_is_answered_and_does_no_harm() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    for (line, code) in [
        ("{\"jsonrpc\":\"2.0\",\"id\":70,\"meth\n", -32700),
        ("}\n", -32700),
        ("[]\n", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":7}\n", -32600),
    ] {
        server.write(line.as_bytes());
        assert_eq!(server.other()["error"]["code"], code, "{line}");
    }
    server.write(b"\xff\xfe\n");
    assert_eq!(server.other()["error"]["code"], -32700);
    for (method, params, code) in [
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": "me_memory_tree", "arguments": "{}"}), -32602),
        ("tools/call", json!({"name": "me_memory_tree", "arguments": [1]}), -32602),
        ("tools/call", json!({"name": "no_such_tool"}), -32602),
        ("tools/cal", json!({}), -32601),
        ("prompts/list", json!({}), -32601),
    ] {
        let answer = server.request(method, params);
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    // Empty lines, carriage returns, and a request that arrives in pieces.
    server.write(b"\n  \n\r\n");
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"in two\",\"meth");
    std::thread::sleep(Duration::from_millis(50));
    server.write(b"od\":\"ping\"}\r\n");
    assert_eq!(server.answer(&json!("in two"))["result"], json!({}));
    // Notifications, known or not, have no answer.
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/of/nothing", "params": {"a": 1}}));
    server.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}}),
    );
    assert!(server.is_silent(Duration::from_millis(200)));
    server.ok("me_memory_tree", json!({}));
}

#[test]
fn a_request_of_ten_megabytes_goes_through() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    let content = "Gedächtnis \u{1F9E0} ".repeat(700_000);
    assert!(content.len() > 10_000_000);
    let made = server.ok("me_memory_create", json!({"content": content, "tree": PIECE, "name": "big"}));
    let read = server.ok("me_memory_get", json!({"id": made["id"], "format": "json"}));
    assert!(read["content"] == content.as_str());
    let (said, particulars) =
        server.refused("me_memory_create", json!({"content": content.repeat(2), "tree": PIECE}));
    assert_eq!(particulars["code"], "VALIDATION", "{said}");
    server.ok("me_memory_tree", json!({}));
}

#[test]
fn two_hundred_calls_on_one_pipe_are_each_answered_once() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    let ids: Vec<(usize, Value)> = (0..200)
        .map(|n| {
            let arguments = json!({"content": format!("memory {n}"), "tree": PIECE, "name": format!("n{n}")});
            (
                n,
                if n % 2 == 0 {
                    server.start_call("me_memory_create", arguments)
                } else {
                    server.start_call(
                        "me_memory_get_by_path",
                        json!({"path": format!("{PIECE}/n{}", n - 1), "format": "json"}),
                    )
                },
            )
        })
        .collect();
    for (n, id) in ids {
        let answer = server.answer(&id);
        let content = &answer["result"]["structuredContent"]["content"];
        assert_eq!(
            content,
            &json!(format!("memory {}", n - n % 2)),
            "a read sees the write before it: {answer}"
        );
    }
    assert_eq!(server.ok("me_memory_count", json!({"tree": PIECE}))["count"], 100);
}

#[test]
fn everything_asked_before_the_end_of_the_input_is_answered() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    for n in 0..20 {
        server.start_call("me_memory_create", json!({"content": format!("{n}"), "tree": PIECE}));
    }
    // The last line has no line feed.
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"tools/call\",\"params\":{\"name\":\"me_memory_count\",\"arguments\":{\"tree\":\"/share\"}}}");
    let (answers, _) = server.finish();
    assert_eq!(answers.len(), 21);
    let last = answers.iter().find(|answer| answer["id"] == "last").unwrap();
    assert_eq!(last["result"]["structuredContent"]["count"], 20);
}

/// Waits until a statement of the server hangs in a lock.
fn await_blocked(admin: &mut postgres::Client) -> i32 {
    let blocked = "select pid from pg_stat_activity where datname = current_database()
                   and application_name = 'memory-engine-mcp' and wait_event_type = 'Lock'";
    let start = Instant::now();
    loop {
        if let Some(row) = admin.query_opt(blocked, &[]).unwrap() {
            return row.get(0);
        }
        assert!(start.elapsed() < Duration::from_secs(30), "nothing hangs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_call_that_is_stopped_from_outside_fails_clearly_and_the_next_works() {
    let database = Database::new();
    let mut server = open(&database, &["--timeout", "2"]);
    let made = server.ok("me_memory_create", json!({"content": "c", "tree": PIECE}));
    let delete = json!({"id": made["id"]});
    let (mut holder, mut admin) = (database.admin(), database.admin());
    let mut lock = holder.transaction().unwrap();
    lock.execute("select from me.memory for update", &[]).unwrap();

    // Its connection is killed.
    let id = server.start_call("me_memory_delete", delete.clone());
    let pid = await_blocked(&mut admin);
    admin.execute("select pg_terminate_backend($1)", &[&pid]).unwrap();
    let result = server.answer(&id)["result"].clone();
    assert_eq!(
        (&result["isError"], &result["_meta"]["error"]["code"]),
        (&json!(true), &json!("UNAVAILABLE"))
    );
    assert_eq!(server.ok("me_memory_count", json!({"tree": PIECE}))["count"], 1);

    // It is cancelled: no answer, and nothing runs on.
    let id = server.start_call("me_memory_delete", delete.clone());
    let pid = await_blocked(&mut admin);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let start = Instant::now();
    let running = "select count(*) from pg_stat_activity where pid = $1 and state = 'active'";
    while admin.query_one(running, &[&pid]).unwrap().get::<_, i64>(0) > 0 {
        assert!(start.elapsed() < Duration::from_secs(1), "it runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(server.is_silent(Duration::from_millis(100)));

    // It takes too long.
    let (said, _) = server.refused("me_memory_delete", delete.clone());
    assert!(said.contains("statement timeout") && said.contains("--timeout"), "{said}");
    lock.rollback().unwrap();
    assert_eq!(server.ok("me_memory_delete", delete), json!({"deleted": true}));
}

#[test]
fn a_database_that_goes_away_is_told_and_found_again() {
    let database = Database::new();
    let mut server = open(&database, &[]);
    server.ok("me_memory_create", json!({"content": "c", "tree": PIECE}));
    let mut elsewhere = common::connect("postgres", &superuser());
    let name = database.name();
    let end = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'");
    // A restart: all connections end, new ones are welcome. Reads never notice.
    elsewhere.batch_execute(&end).unwrap();
    assert_eq!(server.ok("me_memory_count", json!({"tree": PIECE}))["count"], 1);
    // It is down for a while.
    elsewhere.batch_execute(&format!("alter database \"{name}\" allow_connections false; {end}")).unwrap();
    let (said, particulars) = server.refused("me_memory_count", json!({"tree": PIECE}));
    assert!(said.contains("the database cannot be reached"), "{said}");
    assert_eq!(particulars["code"], "UNAVAILABLE");
    let (said, _) = server.refused("me_memory_create", json!({"content": "c", "tree": PIECE}));
    assert!(said.contains("the database cannot be reached"), "{said}");
    elsewhere.batch_execute(&format!("alter database \"{name}\" allow_connections true")).unwrap();
    assert_eq!(server.ok("me_memory_count", json!({"tree": PIECE}))["count"], 1);
}

#[test]
fn a_server_without_a_database_starts_says_so_and_keeps_the_password_to_itself() {
    let mut server = Server::start("postgres://agent:hunter2@127.0.0.1:1/nowhere", &[]);
    server.shake_hands("2025-11-25");
    let listed = server.request("tools/list", json!({}));
    assert!(listed["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{listed}");
    let called = server.request("tools/call", json!({"name": "me_memory_tree"}));
    assert_eq!(called["result"]["isError"], true);
    let (_, errors) = server.finish();
    assert!(!format!("{listed}{called}{errors}").contains("hunter2"));
}

#[test]
fn a_database_without_the_extension_is_told_how_to_get_it() {
    let database = Database::empty();
    let output =
        program().args(["--url", &url(database.name(), &superuser())]).stdin(Stdio::null()).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("CREATE EXTENSION memory_engine CASCADE"));
}
