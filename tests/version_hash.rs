//! The version hash is what PostgreSQL itself computes over the payload, whatever the session is set to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

/// Settings that change how instants, numbers and intervals are written.
const HOSTILE: [&str; 4] = [
    "set timezone = 'Asia/Kathmandu'; set datestyle = 'German, DMY'; set extra_float_digits = -15;
     set intervalstyle = 'sql_standard'",
    "set timezone = 'America/St_Johns'; set datestyle = 'Postgres, MDY'; set extra_float_digits = 3;
     set search_path = pg_temp",
    "set timezone = 'Pacific/Apia'; set datestyle = 'SQL, DMY'; set extra_float_digits = 0; set bytea_output = 'escape'",
    "set timezone = '<-13:37>+13:37'; set datestyle = 'ISO, YMD'; set standard_conforming_strings = off",
];

/// What the specification says the hash is of, as PostgreSQL writes it under UTC and ISO.
const HASH: &str = "md5(jsonb_build_object('tree', tree::text, 'name', name, 'meta', meta,
    'temporal', temporal::text, 'content', content)::text)";

fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => prop::char::range(' ', '~'),
        1 => prop::char::range('\u{1}', '\u{1f}'),
        1 => prop::sample::select(vec!['"', '\\', '/', '\u{7f}', '\u{80}', 'é', '\u{2028}', '\u{fffd}', '\u{ffff}', '😀']),
        1 => any::<char>().prop_filter("PostgreSQL has no U+0000", |c| *c != '\0'),
    ];
    prop::collection::vec(character, 1..40).prop_map(|characters| characters.into_iter().collect())
}

/// Numbers in every spelling that JSON has.
fn number() -> impl Strategy<Value = Value> {
    let spelt = (any::<bool>(), 0u64..100_000_000_000, 0usize..25, -30i32..30, 0u8..4).prop_map(
        |(negative, whole, zeros, exponent, form)| {
            let sign = if negative { "-" } else { "" };
            let text = match form {
                0 => format!("{sign}{whole}"),
                1 => format!("{sign}{whole}.{}5{}", "0".repeat(zeros), "0".repeat(zeros % 3)),
                2 => format!("{sign}{}e{exponent}", whole % 1000),
                _ => format!("{sign}{whole}{}.0", "9".repeat(zeros)),
            };
            serde_json::from_str(&text).unwrap()
        },
    );
    prop_oneof![4 => spelt, 1 => any::<i64>().prop_map(|number| json!(number)), 1 => Just(json!(-0.0))]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text().prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 12, 4, |inner| {
        let key = prop_oneof![Just(String::new()), "[a-zA-Z$.é]{1,3}", text()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn meta() -> impl Strategy<Value = Value> {
    value().prop_map(|value| match value {
        object @ Value::Object(_) => object,
        other => json!({"value": other}),
    })
}

fn instant() -> impl Strategy<Value = String> {
    (1i32..=9999, 1u8..=12, 1u8..=28, 0u8..24, 0u8..60, 0u8..60, 0u32..10_000_000, 0u8..16, 0u8..60, any::<bool>())
        .prop_map(|(year, month, day, hour, minute, second, fraction, east, east_minutes, is_east)| {
            let sign = if is_east { '+' } else { '-' };
            format!(
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}{sign}{east:02}:{east_minutes:02}"
            )
        })
}

fn temporal() -> impl Strategy<Value = Value> {
    let late = Just("9999-12-31T23:59:59.999999Z".to_owned());
    (instant(), prop_oneof![Just(None), late.prop_map(Some)]).prop_map(|(start, end)| match end {
        Some(end) => json!({"start": start, "end": end}),
        None => json!({"start": start}),
    })
}

fn memory() -> impl Strategy<Value = Value> {
    let tree =
        prop::collection::vec("[A-Za-z0-9_-]{1,9}", 0..5).prop_map(|labels| format!("/{}", labels.join("/")));
    (text(), tree, prop::option::of("[A-Za-z0-9][A-Za-z0-9._-]{8,20}"), meta(), prop::option::of(temporal())).prop_map(
        |(content, tree, name, meta, temporal)| {
            json!({"content": content, "tree": tree, "name": name, "meta": meta, "temporal": temporal})
        },
    )
}

#[test]
fn ten_thousand_memories_have_the_hash_that_postgres_computes() {
    let database = Database::new();
    let mut runner = TestRunner::deterministic();
    let mut clients: Vec<_> = HOSTILE
        .iter()
        .map(|settings| {
            let mut client = database.admin();
            client.batch_execute(settings).unwrap();
            client
        })
        .collect();
    for batch in 0..20 {
        let memories: Vec<Value> =
            (0..500).map(|_| memory().new_tree(&mut runner).unwrap().current()).collect();
        let client = &mut clients[batch % HOSTILE.len()];
        let args = json!({"memories": memories, "on_conflict": "replace"});
        client.function("memory_batch_create", &args).unwrap();
    }
    // One by one, so that the single insert and the update are held to it as well.
    for index in 0..100 {
        let client = &mut clients[index % HOSTILE.len()];
        let created =
            client.tool("me_memory_create", &memory().new_tree(&mut runner).unwrap().current()).unwrap();
        let mut change = memory().new_tree(&mut runner).unwrap().current();
        change["id"] = created["id"].clone();
        change["version_hash"] = created["versionHash"].clone();
        let updated = client.tool("me_memory_update", &change).unwrap();
        let read = client.tool("me_memory_get", &json!({"id": created["id"]})).unwrap();
        assert_eq!(updated["versionHash"], read["versionHash"]);
    }
    let mut judge = database.admin();
    judge.batch_execute("set timezone = 'UTC'; set datestyle = 'ISO, YMD'").unwrap();
    for table in ["me.memory", "me.memory_event"] {
        let sql = format!(
            "select count(*), count(*) filter (where version_hash is distinct from {HASH}::uuid) from {table}"
        );
        let row = judge.query_one(&sql, &[]).unwrap();
        assert!(row.get::<_, i64>(0) >= 10_000, "{table} has only {} rows", row.get::<_, i64>(0));
        assert_eq!(row.get::<_, i64>(1), 0, "{table}");
    }
}

#[test]
fn the_worked_examples_of_the_specification_come_out() {
    let database = Database::new();
    for settings in HOSTILE {
        let mut client = database.admin();
        client.batch_execute(settings).unwrap();
        let home = "home/0192f0aa11b27c3d8e4f5a6b7c8d9e0f/notes";
        let hash = "d9ca8a3a3e290e2763042d90f4eca6af";
        assert_eq!(of(&mut client, json!({"content": "alpha", "tree": "share"})), hash, "H1");
        let hash = "aec7360ae8d1132b096dabec5f9a080c";
        assert_eq!(of(&mut client, json!({"content": "root note", "tree": "/"})), hash, "H2");
        let meta = json!({"topic": "backup", "owner": {"team": "infra", "id": 7}});
        let content = "Copy snapshots off site every night.";
        let args = json!({"content": content, "tree": "/share/ops", "name": "backup-plan", "meta": meta});
        assert_eq!(of(&mut client, args), "c5243191b5913a3726ad327eb3cd4209", "H3");
        let meta: Value =
            serde_json::from_str(r#"{"zz":1,"b":2.50,"a":1e2,"c":-0,"big":12345678901234567890}"#).unwrap();
        let args = json!({"content": "numbers", "tree": "share/num", "meta": meta});
        assert_eq!(of(&mut client, args), "6644c5aac634c6fd52b5ef338d58ebf1", "H4");
        let args = json!({"content": "q\"b\\s/\t\n\u{7}\u{7f}é😀", "tree": "share.esc"});
        assert_eq!(of(&mut client, args), "1105458b0234156f87a56ca6059e20f2", "H5");
        let args =
            json!({"content": "point", "tree": "share/t", "temporal": {"start": "2025-03-04T05:06:07.5Z"}});
        assert_eq!(of(&mut client, args), "16441328a341a522b4854aa7142a3d8c", "H6");
        let period = json!({"start": "2024-01-01T00:00:00+02:00", "end": "2024-12-31T23:59:59.123456-05:00"});
        let args = json!({"content": "period", "tree": "share/t", "temporal": period});
        assert_eq!(of(&mut client, args), "a902990559cbedeb9e99375ef6b99025", "H7");
        let meta = json!({"$prev": "/share/x/y", "$thread": null, "tags": ["x", true, null]});
        let args = json!({"content": "commit body", "tree": "share/my-project/git_history", "name": "a1b2c3.md", "meta": meta});
        assert_eq!(of(&mut client, args), "7965ced39e0827e373d1e4b741a3b9fc", "H8");
        let hash = "fcf797d5df5c4c750f07ca4a8fe76eda";
        assert_eq!(of(&mut client, json!({"content": "private", "tree": home})), hash, "H9");
        let period = json!({"start": "2024-02-29T12:00:00Z", "end": "2024-03-01T12:00:00Z"});
        let meta = json!({"": 0, "a": {"x": 2, "y": 1}, "bb": ""});
        let args = json!({"content": "keys", "tree": "share", "meta": meta, "temporal": period});
        assert_eq!(of(&mut client, args), "ad44ab70104cf8a7e9652df0de42c09b", "H10");
        let args = json!({"content": "bytes", "tree": "share", "meta": {"Z": 4, "a": 3, "zz": 2, "é": 1}});
        assert_eq!(of(&mut client, args), "9cef2c8f7014bd6ed07a6e295aa6bd10", "H11");
        let meta: Value =
            serde_json::from_str(r#"{"s": "a/b\"c", "list": [[], {}, [{"k": "v"}], 1.0, false]}"#).unwrap();
        let args = json!({"content": "nested", "tree": "share", "name": "n.1", "meta": meta});
        assert_eq!(of(&mut client, args), "c80e5421c42749c832ed0c9c6260e69f", "H12");
    }
}

/// The hash of a memory made by these arguments, the same whether it is given by name or as a tool's JSON.
fn of(client: &mut postgres::Client, args: Value) -> String {
    let mut args = args;
    args["on_conflict"] = json!("replace");
    let by_name = client.function("memory_create", &args).unwrap();
    let by_tool = client.tool("me_memory_create", &args).unwrap();
    assert_eq!(by_name["versionHash"], by_tool["versionHash"]);
    by_tool["versionHash"].as_str().unwrap().to_owned()
}
