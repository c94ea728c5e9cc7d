//! Bad input gets the code, SQLSTATE, argument and hint it is promised, and changes nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, Refusal, argument_types};
use postgres::Client;
use serde_json::{Value, json};

/// A refusal of our own under VALIDATION: it names the argument, and says what to do.
fn assert_invalid(refusal: &Refusal, argument: &str, rule: &str) {
    let found = (refusal.sqlstate.as_str(), refusal.kind(), refusal.field("argument"), refusal.field("rule"));
    assert_eq!(
        found,
        ("22023", "VALIDATION".to_owned(), argument.to_owned(), rule.to_owned()),
        "{refusal:?}"
    );
    assert!(!refusal.hint.is_empty(), "{refusal:?}");
    assert!(refusal.message.len() < 1000, "a message of {} bytes", refusal.message.len());
    if rule == "UPD-2" {
        return; // About no argument in particular.
    }
    let root = argument.split(['.', '[']).next().unwrap();
    assert!(refusal.message.contains(root), "{refusal:?}");
}

/// A refusal that the server makes before our code runs.
fn assert_refused_by_server(refusal: &Refusal, states: &[&str]) {
    assert!(states.contains(&refusal.sqlstate.as_str()), "{refusal:?}");
}

fn sql_error(client: &mut Client, sql: &str) -> Refusal {
    client.rows_of(sql).map(|_| panic!("{} was answered", &sql[..sql.len().min(200)])).unwrap_err()
}

/// Runs bad calls in a database that holds a memory; nothing may have been written in the end.
fn unchanged(body: impl FnOnce(&mut Client, &Value)) {
    let database = Database::new();
    let mut client = database.admin();
    let memory = json!({"content": "kept", "tree": "share", "name": "kept", "meta": {"a": 1}});
    let record = client.tool("me_memory_create", &memory).unwrap();
    let before = database.rows();
    body(&mut client, &record);
    assert_eq!(before, database.rows());
    let after = client.tool("me_memory_get", &json!({"id": record["id"]})).unwrap();
    assert_eq!(record, after);
}

#[test]
fn each_broken_rule_names_its_argument() {
    unchanged(|client, record| {
        let with = |field: &str, value: Value| {
            let mut args = json!({"content": "x", "tree": "share"});
            args[field] = value;
            args
        };
        let long_tree = format!("{}/{}/{}", "a".repeat(1000), "b".repeat(999), "c");
        let many = vec!["l"; 1001].join("/");
        let deep = nested(501);
        let creates: Vec<(&str, Value, &str)> = vec![
            ("content", json!(""), "CONT-1"),
            ("content", Value::Null, "CALL-2"),
            ("tree", Value::Null, "CALL-2"),
            ("tree", json!(""), "TREE-7"),
            ("tree", json!("a b"), "TREE-4"),
            ("tree", json!("a/*"), "TREE-4"),
            ("tree", json!("a/~"), "TREE-6"),
            ("tree", json!("~a"), "TREE-6"),
            ("tree", json!("share\n"), "TREE-4"),
            ("tree", json!("a".repeat(1001)), "TREE-2"),
            ("tree", json!(long_tree), "TREE-3"),
            ("tree", json!(many), "TREE-3"),
            ("name", json!(""), "NAME-1"),
            ("name", json!("a/b"), "NAME-1"),
            ("name", json!("trailing\n"), "NAME-1"),
            ("name", json!("é"), "NAME-1"),
            ("name", json!("x".repeat(129)), "NAME-1"),
            ("meta", json!([]), "META-1"),
            ("meta", json!("text"), "META-1"),
            ("meta", deep, "META-2"),
            ("temporal", json!({}), "CALL-2"),
            ("temporal", json!({"start": null}), "CALL-2"),
            ("temporal", json!({"end": "2025-01-01T00:00Z"}), "CALL-2"),
            ("on_conflict", json!("merge"), "CONF-2"),
        ];
        for (argument, value, rule) in creates {
            let args = with(argument, value);
            for refusal in [client.tool("me_memory_create", &args), client.function("memory_create", &args)] {
                let refusal = refusal.expect_err(&args.to_string()[..args.to_string().len().min(200)]);
                assert_rule(&refusal, argument, rule);
            }
        }
        let times = [
            "10000-01-01T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2025-01-01T24:00:00Z",
            "2025-01-01T23:59:60Z",
            "2025-01-01T00:00:00+16:00",
            "2025-01-01T00:00:00",
            "2025-01-01 00:00:00Z",
            "2025-01-01T00:00:00Z\n",
            "infinity",
            "",
        ];
        for time in times {
            let args = with("temporal", json!({"start": time}));
            let refusal = client.tool("me_memory_create", &args).expect_err(time);
            assert!(refusal.field("argument").starts_with("temporal"), "{refusal:?}");
            assert!(refusal.field("rule").starts_with("TEMP-"), "{refusal:?}");
            assert_eq!(refusal.sqlstate, "22023");
        }
        let id = &record["id"];
        let selects =
            [json!([]), json!([null]), json!(["id", null]), json!(["created_at"]), json!(["content:5:x"])];
        for select in selects {
            let args = json!({"id": id, "select": select});
            for refusal in [client.tool("me_memory_get", &args), client.function("memory_get", &args)] {
                let refusal = refusal.expect_err(&args.to_string());
                assert!(refusal.field("rule").starts_with("SEL-"), "{refusal:?}");
                assert!(refusal.field("argument").starts_with("select"), "{refusal:?}");
            }
        }
        let updates: Vec<(Value, &str, &str)> = vec![
            (json!({"content": "y"}), "version_hash", "CALL-2"),
            (json!({"version_hash": "abc", "content": "y"}), "version_hash", "UPD-4"),
            (json!({"version_hash": record["versionHash"]}), "content", "UPD-2"),
            (json!({"version_hash": record["versionHash"], "content": ""}), "content", "CONT-1"),
            (json!({"version_hash": record["versionHash"], "meta_patch": []}), "meta_patch", "META-1"),
            (
                json!({"version_hash": record["versionHash"], "meta": {}, "meta_patch": {}}),
                "meta_patch",
                "UPD-7",
            ),
            (
                json!({"version_hash": record["versionHash"], "clear": ["name"], "name": "n"}),
                "clear",
                "UPD-2",
            ),
        ];
        for (mut args, argument, rule) in updates {
            args["id"] = id.clone();
            let refusal = client.tool("me_memory_update", &args).expect_err(&args.to_string());
            assert_invalid(&refusal, argument, rule);
        }
        let unknown = client.tool("me_memory_create", &with("contnet", json!("x"))).unwrap_err();
        assert_invalid(&unknown, "contnet", "CALL-3");
        assert!(unknown.hint.contains("\"content\""), "{unknown:?}");
        let nested = client.tool("me_memory_create", &with("temporal", json!({"begin": "x"}))).unwrap_err();
        assert_eq!(nested.kind(), "VALIDATION");
        assert!(nested.message.contains("temporal"), "{nested:?}");
        let coerced = client.tool("me_memory_create", &with("content", json!(7))).unwrap_err();
        assert_invalid(&coerced, "content", "CALL-4");
        let unknown = client.tool("me_memory_crate", &json!({})).unwrap_err();
        assert_invalid(&unknown, "name", "CALL-1");
        let space = client.tool("me_memory_create", &with("space", Value::Null)).unwrap_err();
        assert_invalid(&space, "space", "CALL-5");
        let space = client.tool("me_memory_create", &with("space", json!(""))).unwrap_err();
        assert_invalid(&space, "space", "CALL-5");
        let version4 = json!({"id": "0190a1b2-0000-4000-8000-000000000001"});
        let refusal = client.tool("me_memory_get", &version4).unwrap_err();
        assert_eq!((refusal.kind().as_str(), refusal.field("argument").as_str()), ("VALIDATION", "id"));
    });
}

/// A rule, or another one that says the same of the same argument.
fn assert_rule(refusal: &Refusal, argument: &str, rule: &str) {
    assert_eq!(refusal.kind(), "VALIDATION", "{refusal:?}");
    let found = refusal.field("argument");
    assert!(found == argument || found.starts_with(&format!("{argument}.")), "{argument}: {refusal:?}");
    let family = |rule: &str| rule.split('-').next().unwrap_or_default().to_owned();
    assert_eq!(family(&refusal.field("rule")), family(rule), "{refusal:?}");
    assert_eq!(refusal.sqlstate, "22023", "{refusal:?}");
    assert!(!refusal.hint.is_empty(), "{refusal:?}");
}

/// An object that holds arrays, `depth` levels of nesting in all.
fn nested(depth: usize) -> Value {
    let text = format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    let mut reader = serde_json::Deserializer::from_str(&text);
    reader.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut reader).unwrap()
}

#[test]
fn batch_items_are_refused_by_their_place_and_with_all_of_the_batch() {
    unchanged(|client, _| {
        let good = json!({"content": "x", "tree": "share"});
        let id = "0190a1b2-0000-7000-8000-000000000001";
        let refused: Vec<(Value, &str)> = vec![
            (json!([]), "memories"),
            (json!(vec![good.clone(); 1001]), "memories"),
            (json!({}), "memories"),
            (json!([7]), "memories[0]"),
            (json!([good, {"content": "", "tree": "share"}]), "memories[1].content"),
            (json!([good, {"content": "x"}]), "memories[1].tree"),
            (json!([good, {"content": "x", "tree": "a b"}]), "memories[1].tree"),
            (
                json!([good, {"content": "x", "tree": "share", "on_conflict": "ignore"}]),
                "memories[1].on_conflict",
            ),
            (
                json!([{"content": "x", "tree": "share", "id": id}, {"content": "y", "tree": "/", "id": id}]),
                "memories[1].id",
            ),
            (
                json!([{"content": "x", "tree": "share.a", "name": "n"}, {"content": "y", "tree": "/share/a", "name": "n"}]),
                "memories[1].name",
            ),
        ];
        for (memories, argument) in refused {
            let shown = memories.to_string();
            let refusal = client
                .function("memory_batch_create", &json!({"memories": memories}))
                .expect_err(&shown[..shown.len().min(300)]);
            assert_eq!(refusal.kind(), "VALIDATION", "{refusal:?}");
            assert_eq!(refusal.field("argument"), argument, "{refusal:?}");
        }
        // One taken name takes the whole batch down.
        let memories = json!([good, {"content": "x", "tree": "share", "name": "kept"}]);
        let refusal = client.function("memory_batch_create", &json!({"memories": memories})).unwrap_err();
        assert_eq!((refusal.kind().as_str(), refusal.field("path").as_str()), ("CONFLICT", "/share/kept"));
    });
}

#[test]
fn a_hundred_megabytes_are_refused_at_the_limit_stating_it() {
    unchanged(|client, record| {
        let id = record["id"].as_str().unwrap();
        let hash = record["versionHash"].as_str().unwrap();
        let huge = "repeat('x', 100 * 1024 * 1024)";
        let calls = [
            format!("select me.memory_create(content => {huge}, tree => 'share')"),
            format!("select me.memory_update(id => '{id}', version_hash => '{hash}', content => {huge})"),
        ];
        for sql in calls {
            let refusal = sql_error(client, &sql);
            assert_invalid(&refusal, "content", "LIM-1");
            assert!(
                refusal.message.contains("104857600") && refusal.message.contains("16777216"),
                "{refusal:?}"
            );
            assert!(refusal.hint.contains("me.max_content_bytes"), "{refusal:?}");
        }
        let as_tool = format!(
            "select me.mcp_call('me_memory_create', jsonb_build_object('content', {huge}, 'tree', 'share'))"
        );
        assert_invalid(&sql_error(client, &as_tool), "arguments", "LIM-1");
        let meta = format!(
            "select me.memory_create(content => 'x', tree => 'share', meta => jsonb_build_object('m', {huge}))"
        );
        let refusal = sql_error(client, &meta);
        assert_eq!((refusal.kind().as_str(), refusal.field("argument").as_str()), ("VALIDATION", "meta"));
        for (argument, of) in
            [("tree", "memory_create"), ("name", "memory_create"), ("path", "memory_get_by_path")]
        {
            let refusal =
                sql_error(client, &format!("select me.{of}({argument} => {huge} {})", rest(argument)));
            assert_eq!(
                (refusal.kind().as_str(), refusal.field("argument").as_str()),
                ("VALIDATION", argument)
            );
            assert!(refusal.message.len() < 1000 && refusal.hint.len() < 1000);
        }
        // The limit itself still fits, in one statement that leaves nothing.
        client.batch_execute("begin; set local me.max_content_bytes = '1kB'").unwrap();
        client.rows_of("select me.memory_create(content => repeat('é', 512), tree => 'share')").unwrap();
        let refusal =
            sql_error(client, "select me.memory_create(content => repeat('é', 512) || 'x', tree => 'share')");
        assert!(refusal.message.contains("1025") && refusal.message.contains("1024"), "{refusal:?}");
        client.batch_execute("rollback").unwrap();
    });
}

fn rest(argument: &str) -> &'static str {
    match argument {
        "tree" => ", content => 'x'",
        "name" => ", content => 'x', tree => 'share'",
        _ => "",
    }
}

/// Parsers and printers recurse: whatever is too deep is refused before it can exhaust the stack, by us or by the
/// server, also where an administrator allowed a deep stack.
#[test]
fn deep_nesting_is_refused_and_never_exhausts_the_stack() {
    unchanged(|client, record| {
        let object = |depth: usize| format!("'{}1{}'", "{\"a\":".repeat(depth), "}".repeat(depth));
        let array = |depth: usize| format!("'{}{}'", "[".repeat(depth), "]".repeat(depth));
        let (id, hash) = (record["id"].as_str().unwrap(), record["versionHash"].as_str().unwrap());
        client.batch_execute("begin").unwrap();
        let fits =
            format!("select me.memory_create(content => 'x', tree => 'share', meta => {})", object(500));
        client.rows_of(&fits).unwrap();
        client.batch_execute("rollback").unwrap();
        for stack in ["2MB", "6MB"] {
            client.batch_execute(&format!("set max_stack_depth = '{stack}'")).unwrap();
            for depth in [501, 1000, 5000, 20_000, 100_000] {
                let (deep, list) = (object(depth), array(depth));
                let calls = [
                    format!("select me.memory_create(content => 'x', tree => 'share', meta => {deep})"),
                    format!("select me.memory_create(content => 'x', tree => 'share', meta => {list})"),
                    format!("select me.memory_create(content => 'x', tree => 'share', temporal => {deep})"),
                    format!("select me.memory_create(content => 'x', tree => 'share', temporal => {list})"),
                    format!(
                        "select me.memory_update(id => '{id}', version_hash => '{hash}', meta => {deep})"
                    ),
                    format!(
                        "select me.memory_update(id => '{id}', version_hash => '{hash}', meta_patch => {deep})"
                    ),
                    format!("select me.memory_batch_create(memories => {list})"),
                    format!("select me.memory_batch_create(memories => jsonb_build_array({deep}::jsonb))"),
                    format!("select me.mcp_call('me_memory_create', {deep})"),
                    format!("select me.mcp_call('me_memory_create', {list})"),
                    format!(
                        "select me.mcp_call('me_memory_create', jsonb_build_object('content', 'x', 'tree', 'share', 'meta', {deep}::jsonb))"
                    ),
                    format!(
                        "select me.mcp_call('me_memory_create', jsonb_build_object('content', 'x', 'tree', 'share', 'meta', {deep}::text))"
                    ),
                    format!("select me.mcp_call('me_memory_get', jsonb_build_object('id', {list}::jsonb))"),
                    format!(
                        "select me.mcp_call('me_memory_get', jsonb_build_object('id', '{id}', 'select', {list}::jsonb))"
                    ),
                    format!(
                        "select me.mcp_call('me_memory_get', jsonb_build_object('id', '{id}', 'select', {list}::text))"
                    ),
                ];
                for sql in calls {
                    let refusal = sql_error(client, &sql);
                    let ours = refusal.sqlstate == "22023" && refusal.kind() == "VALIDATION";
                    assert!(ours || refusal.sqlstate == "54001", "{} {refusal:?}", &sql[..100]);
                }
                // It prints anything; what cannot be printed in the stack there is is refused.
                for format in ["yaml", "json", "compact"] {
                    let answer = client.rows_of(&format!("select length(me.format({deep}, '{format}'))"));
                    if let Err(refusal) = answer {
                        let states = ["54001", "22023"];
                        assert_refused_by_server(&refusal, &states);
                    }
                }
            }
        }
    });
}

#[test]
fn zero_bytes_and_half_characters_are_refused() {
    unchanged(|client, _| {
        let bodies = [
            r#"{"content": "a\u0000b", "tree": "share"}"#,
            r#"{"content": "x", "tree": "share", "name": "a\u0000"}"#,
            r#"{"content": "x", "tree": "share", "meta": {"a": "\u0000"}}"#,
            r#"{"content": "x", "tree": "share", "meta": {"\u0000": 1}}"#,
            r#"{"content": "\ud83d", "tree": "share"}"#,
            r#"{"content": "\ude00\ud83d", "tree": "share"}"#,
            r#"{"content": "x", "tree": "share", "meta": {"a": "\ud800"}}"#,
        ];
        for body in bodies {
            let refusal =
                client.json("me.mcp_call('me_memory_create', $1::text::jsonb)", &[&body]).expect_err(body);
            assert_refused_by_server(&refusal, &["22P05", "22P02"]);
            assert_eq!(refusal.kind(), "VALIDATION");
        }
        // As JSON held in a string, where the server's parser does not look.
        let held = r#"{"content": "x", "tree": "share", "meta": "{\"a\": \"\\u0000\"}"}"#;
        let refusal =
            client.json("me.mcp_call('me_memory_create', $1::text::jsonb)", &[&held]).expect_err(held);
        assert_eq!(refusal.kind(), "VALIDATION", "{refusal:?}");
        let held = r#"{"content": "x", "tree": "share", "meta": "{\"a\": \"\\ud800\"}"}"#;
        let refusal =
            client.json("me.mcp_call('me_memory_create', $1::text::jsonb)", &[&held]).expect_err(held);
        assert_eq!(refusal.kind(), "VALIDATION", "{refusal:?}");
        let bytes = r"select me.memory_create(content => convert_from('\x61ff62', 'UTF8'), tree => 'share')";
        assert_refused_by_server(&sql_error(client, bytes), &["22021"]);
    });
}

#[test]
fn a_stale_hash_says_what_is_stored_now() {
    unchanged(|client, record| {
        let args = json!({"id": record["id"], "version_hash": "0".repeat(32), "content": "y"});
        let refusal = client.tool("me_memory_update", &args).unwrap_err();
        let detail = json!({"code": "CONFLICT", "reason": "version", "version": 1, "versionHash": record["versionHash"]});
        assert_eq!((refusal.sqlstate.as_str(), refusal.json()), ("55000", detail));
        assert!(refusal.detail.starts_with(r#"{"code":"CONFLICT","#), "{refusal:?}");
        let args = json!({"content": "x", "tree": "share", "name": "kept"});
        let refusal = client.tool("me_memory_create", &args).unwrap_err();
        let detail = json!({"code": "CONFLICT", "reason": "path", "path": "/share/kept"});
        assert_eq!((refusal.sqlstate.as_str(), refusal.json()), ("23505", detail));
        let args = json!({"content": "x", "tree": "share", "id": record["id"]});
        let refusal = client.tool("me_memory_create", &args).unwrap_err();
        let detail = json!({"code": "CONFLICT", "reason": "id", "id": record["id"]});
        assert_eq!((refusal.sqlstate.as_str(), refusal.json()), ("23505", detail));
        let absent = json!({"id": "0190a1b2-0000-7000-8000-000000000001"});
        for tool in ["me_memory_get", "me_memory_delete"] {
            let refusal = client.tool(tool, &absent).unwrap_err();
            assert_eq!((refusal.sqlstate.as_str(), refusal.kind().as_str()), ("P0002", "NOT_FOUND"));
        }
    });
}

/// What a call may be refused with. XX000 would be a fault of ours, 22004 and 42xxx one of the declaration.
const STATES: [&str; 16] = [
    "22023", "P0002", "23505", "55000", "42501", "58000", "22P02", "22P05", "22021", "22003", "53200",
    "54001", "54000", "55P03", "40P01", "57014",
];

/// The functions that callers may see, and their argument types.
fn functions(client: &mut Client) -> Vec<String> {
    let sql = "select proname::text from pg_proc
        where pronamespace = 'me'::regnamespace and proname not like '\\_%' order by 1";
    client.query(sql, &[]).unwrap().into_iter().map(|row| row.get(0)).collect()
}

#[test]
fn every_function_bears_to_be_called_with_nothing_and_with_nulls() {
    let database = Database::new();
    let mut client = database.admin();
    client.batch_execute("begin").unwrap();
    for function in functions(&mut client) {
        let types = argument_types(&mut client, &function);
        let nulls: Vec<String> = types.iter().map(|(name, of)| format!("\"{name}\" => null::{of}")).collect();
        for args in [String::new(), nulls.join(", ")] {
            client.batch_execute("savepoint call").unwrap();
            if let Err(refusal) = client.rows_of(&format!("select * from me.\"{function}\"({args})")) {
                assert!(STATES.contains(&refusal.sqlstate.as_str()), "me.{function}({args}): {refusal:?}");
                let states = refusal.sqlstate == "22023";
                assert!(!states || refusal.field("rule") == "CALL-2", "me.{function}({args}): {refusal:?}");
            }
            client.batch_execute("rollback to call").unwrap();
        }
    }
}

/// Values that a type can hold and that nobody expects.
fn hostile(of: &str) -> Vec<&'static str> {
    match of {
        "text" => vec![
            "''",
            "' '",
            "'x'",
            "E'a\\nb'",
            "'~'",
            "'/'",
            "'share/kept'",
            "'{}'",
            "'[]'",
            "'null'",
            "'\u{ffff}😀'",
            "'*.*'",
            "repeat('y', 100000)",
            "repeat('z.', 5000)",
            "'''; select 1; --'",
            "'$1 {ltree} {vector}'",
            "'%s'",
            "repeat('[', 20000)",
            "repeat('(', 20000)",
            "'infinity'",
            "'default'",
            "'json'",
            "'yaml'",
            "E'\\\\'",
        ],
        "uuid" => vec![
            "'00000000-0000-0000-0000-000000000000'",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
            "'0190a1b2-0000-4000-8000-000000000001'",
            "'0190a1b2-0000-7000-8000-000000000001'",
        ],
        "bigint" => vec!["-9223372036854775808", "9223372036854775807", "0", "-1", "1", "9007199254740993"],
        "integer" => vec!["-2147483648", "2147483647", "0", "-1", "1", "1001"],
        "double precision" => {
            vec!["'NaN'", "'Infinity'", "'-Infinity'", "0", "-0.0", "1e308", "5e-324", "0.5"]
        }
        "boolean" => vec!["true", "false"],
        "timestamp with time zone" => vec![
            "'infinity'",
            "'-infinity'",
            "'4714-11-24 00:00:00+00 BC'",
            "'294276-12-31 23:59:59+00'",
            "now()",
        ],
        "text[]" => vec![
            "'{}'",
            "'{NULL}'",
            "'{\"\"}'",
            "'{{a,b},{c,d}}'",
            "'[5:6]={a,b}'",
            "array(select 'x' from generate_series(1, 5000))",
            "'{id,content}'",
        ],
        "real[]" => {
            vec!["'{}'", "'{NULL}'", "'{NaN}'", "'{Infinity,1}'", "'{{1,2},{3,4}}'", "'{1,0,0}'", "'{0}'"]
        }
        "jsonb" => vec![
            "'null'",
            "'{}'",
            "'[]'",
            "'[null]'",
            "'{\"a\":null}'",
            "'1'",
            "'\"x\"'",
            "'true'",
            "'[[]]'",
            "'[{}]'",
            "'1e400'",
            "'{\"start\":\"2025-01-01T00:00Z\"}'",
            "'{\"semantic\":1e308}'",
            "'{\"\":\"\"}'",
            "'[{\"content\":\"x\",\"tree\":\"share\"}]'",
            "('[' || repeat('[],', 5000) || '1]')::jsonb",
        ],
        other => panic!("type {other} is none of the surface"),
    }
}

/// Every function, with values nobody expects in one argument and in several: answered, or refused with a code that
/// is promised; a refusal writes nothing, and the backend lives.
#[test]
fn every_function_bears_hostile_arguments() {
    const CALLS: u64 = 60;
    let database = Database::new();
    let mut client = database.admin();
    client.tool("me_memory_create", &json!({"content": "kept", "tree": "share", "name": "kept"})).unwrap();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        // xorshift64*: the same calls in every run.
        seed ^= seed >> 12;
        seed ^= seed << 25;
        seed ^= seed >> 27;
        (seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below
    };
    client.batch_execute("set statement_timeout = '20s'; begin").unwrap();
    for function in functions(&mut client) {
        let types = argument_types(&mut client, &function);
        for _ in 0..CALLS.min(1 + 20 * types.len() as u64) {
            let mut args = Vec::new();
            for (name, of) in &types {
                let values = hostile(of);
                if random(4) < 3 {
                    args.push(format!("\"{name}\" => {}::{of}", values[random(values.len())]));
                }
            }
            let args = args.join(", ");
            client.batch_execute("savepoint call").unwrap();
            if let Err(refusal) = client.rows_of(&format!("select * from me.\"{function}\"({args})")) {
                assert!(STATES.contains(&refusal.sqlstate.as_str()), "me.{function}({args}): {refusal:?}");
                let ours = refusal.json().is_object();
                assert!(!ours || !refusal.hint.is_empty(), "me.{function}({args}): {refusal:?}");
            }
            client.batch_execute("rollback to call").unwrap();
        }
    }
    // The backend is still the one that was called.
    client.batch_execute("rollback").unwrap();
    assert!(client.tool("me_memory_get_by_path", &json!({"path": "share/kept"})).is_ok());
}

/// Whoever may create in the schema could plant functions beside those that run as the extension's owner.
#[test]
fn a_schema_that_is_open_to_others_is_refused_at_install() {
    let database = Database::empty();
    let mut client = database.admin();
    let stranger = common::new_role("stranger");
    let refused = "create extension memory_engine cascade";
    for setup in [
        format!("create schema me authorization \"{stranger}\""),
        format!("create schema me; grant create on schema me to \"{stranger}\""),
        "create schema me; grant create on schema me to public".to_owned(),
    ] {
        client.batch_execute(&setup).unwrap();
        let error = client.batch_execute(refused).unwrap_err();
        assert_eq!(Refusal::from_error(&error).sqlstate, "42501", "{setup}: {error:?}");
        client.batch_execute("drop schema me").unwrap();
    }
    client.batch_execute("create schema me; grant usage on schema me to public").unwrap();
    client.batch_execute(refused).unwrap();
}
