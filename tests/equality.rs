//! A function with named arguments and `me.mcp_call` answer alike: generated calls run both ways, each in a space of
//! its own, and are compared answer by answer and refusal by refusal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Answer, Calls, Database};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use std::cell::RefCell;

/// One generated call. Its `memory` is the number of an earlier create, modulo how many there were.
#[derive(Debug, Clone)]
struct Call {
    function: &'static str,
    args: Map<String, Value>,
    memory: usize,
    hash: Hash,
}

/// Which version hash an update gives.
#[derive(Debug, Clone, Copy)]
enum Hash {
    Current,
    Stale,
    Malformed,
    Missing,
}

fn pick(values: Vec<Value>) -> impl Strategy<Value = Value> {
    prop::sample::select(values)
}

fn content() -> impl Strategy<Value = Value> {
    let good = vec![json!("alpha"), json!("beta"), json!(" \n"), json!("é😀\u{1}")];
    prop_oneof![9 => pick(good), 1 => pick(vec![json!(""), Value::Null])]
}

fn tree() -> impl Strategy<Value = Value> {
    let good = vec![
        json!("/"),
        json!("share"),
        json!("share.x"),
        json!("/share//x/"),
        json!("~/x"),
        json!("home-2"),
    ];
    let bad = vec![json!(""), json!("a b"), json!("a/~"), json!("*"), json!("x".repeat(1001)), Value::Null];
    prop_oneof![9 => pick(good), 1 => pick(bad)]
}

fn name() -> impl Strategy<Value = Value> {
    let good = vec![json!("n"), json!("m.md"), json!("7"), Value::Null];
    let bad = vec![json!(""), json!("n\n"), json!(".x"), json!("a/b"), json!("x".repeat(129))];
    prop_oneof![9 => pick(good), 1 => pick(bad)]
}

fn meta() -> impl Strategy<Value = Value> {
    let good = vec![
        json!({}),
        json!({"a": 1}),
        json!({"a": 1.0, "b": {"c": [null]}}),
        json!({"": "e"}),
        Value::Null,
    ];
    let bad = vec![json!([]), json!("text"), json!(7), json!(true)];
    prop_oneof![9 => pick(good), 1 => pick(bad)]
}

fn temporal() -> impl Strategy<Value = Value> {
    let good = vec![
        json!({"start": "2025-01-01T00:00Z"}),
        json!({"start": "2025-01-01T00:00:00.5+02:00", "end": "2025-02-01T00:00Z"}),
        json!({"start": "2025-01-01T00:00Z", "end": null}),
        Value::Null,
    ];
    let bad = vec![
        json!({}),
        json!({"start": "2025-01-01"}),
        json!({"start": "2025-02-30T00:00Z"}),
        json!({"start": "2025-01-01T24:00Z"}),
        json!({"start": "2025-02-01T00:00Z", "end": "2025-01-01T00:00Z"}),
        json!({"start": 7}),
        json!({"begin": "2025-01-01T00:00Z"}),
        json!([]),
    ];
    prop_oneof![9 => pick(good), 1 => pick(bad)]
}

fn select() -> impl Strategy<Value = Value> {
    let good = vec![
        json!(["id", "content"]),
        json!(["content:1", "meta.a"]),
        json!(["content:1:2", "content"]),
        json!(["version", "updatedAt", "score"]),
        json!(["tree", "tree", "name"]),
        Value::Null,
    ];
    let bad =
        vec![json!([]), json!([null]), json!(["foo"]), json!(["content:1", "content:2"]), json!(["meta."])];
    prop_oneof![9 => pick(good), 1 => pick(bad)]
}

fn path() -> impl Strategy<Value = Value> {
    let good =
        vec![json!("/n"), json!("share/n"), json!("share.x/m.md"), json!("~/x/7"), json!("/share/x/n")];
    let bad =
        vec![json!(""), json!("share/"), json!("share/.x"), json!("a b/n"), json!("share/n\n"), Value::Null];
    prop_oneof![9 => pick(good), 1 => pick(bad)]
}

fn id() -> impl Strategy<Value = Value> {
    let known: Vec<Value> =
        (0..4).map(|n| json!(format!("0190a1b2-0000-7000-8000-00000000000{n}"))).collect();
    let bad =
        vec![json!("0190a1b2-0000-4000-8000-000000000001"), json!("00000000-0000-0000-0000-000000000000")];
    prop_oneof![8 => Just(Value::Null), 4 => pick(known), 1 => pick(bad)]
}

fn mode() -> impl Strategy<Value = Value> {
    pick(vec![
        Value::Null,
        Value::Null,
        json!("error"),
        json!("replace"),
        json!("ignore"),
        json!("Replace"),
        json!(""),
    ])
}

/// Takes each argument with its value, or leaves it out.
fn arguments(of: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Map<String, Value>> {
    let each: Vec<_> = of
        .into_iter()
        .map(|(name, value)| {
            // What is required is left out now and then.
            let kept = if matches!(name, "content" | "tree" | "path") { 0.95 } else { 0.5 };
            prop::option::weighted(kept, value).prop_map(move |value| value.map(|value| (name, value)))
        })
        .collect();
    each.prop_map(|pairs| pairs.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn call() -> impl Strategy<Value = Call> {
    let create = vec![
        ("content", content().boxed()),
        ("tree", tree().boxed()),
        ("id", id().boxed()),
        ("name", name().boxed()),
        ("meta", meta().boxed()),
        ("temporal", temporal().boxed()),
        ("on_conflict", mode().boxed()),
    ];
    let update = vec![
        ("content", content().boxed()),
        ("tree", tree().boxed()),
        ("name", name().boxed()),
        ("meta", meta().boxed()),
        ("temporal", temporal().boxed()),
        ("meta_patch", meta().boxed()),
        (
            "clear",
            pick(vec![
                Value::Null,
                json!(["name"]),
                json!(["temporal", "meta"]),
                json!([]),
                json!(["id"]),
                json!([null]),
            ])
            .boxed(),
        ),
    ];
    let of = |function: &'static str, weight: u32, args: Vec<(&'static str, BoxedStrategy<Value>)>| {
        (weight, arguments(args).prop_map(move |args| (function, args)).boxed())
    };
    let calls = prop::strategy::Union::new_weighted(vec![
        of("memory_create", 6, create),
        of("memory_update", 5, update),
        of("memory_get", 2, vec![("select", select().boxed())]),
        of("memory_get_by_path", 2, vec![("path", path().boxed()), ("select", select().boxed())]),
        of("memory_delete", 1, vec![]),
        of("memory_delete_by_path", 1, vec![("path", path().boxed())]),
    ]);
    let hash =
        prop::sample::select(vec![Hash::Current, Hash::Current, Hash::Stale, Hash::Malformed, Hash::Missing]);
    (calls, any::<usize>(), hash).prop_map(|((function, args), memory, hash)| Call {
        function,
        args,
        memory,
        hash,
    })
}

/// One of the two ways, in its own space.
struct Way<'a> {
    client: &'a mut postgres::Client,
    space: String,
    by_tool: bool,
    /// Each memory that was made: its id and the version hash that was last seen.
    memories: Vec<(String, Value)>,
}

impl Way<'_> {
    fn run(&mut self, call: &Call) -> Answer {
        let mut args = call.args.clone();
        let index = call.memory % self.memories.len().max(1);
        let known = self.memories.get(index).cloned();
        if matches!(call.function, "memory_update" | "memory_get" | "memory_delete") {
            let absent = "0190a1b2-0000-7000-8000-0000000000ff".to_owned();
            let (id, hash) = known.unwrap_or((absent, json!("0".repeat(32))));
            args.insert("id".into(), json!(id));
            if call.function == "memory_update" {
                let hash = match call.hash {
                    Hash::Current => hash,
                    Hash::Stale => json!("f".repeat(32)),
                    Hash::Malformed => json!("f"),
                    Hash::Missing => Value::Null,
                };
                args.insert("version_hash".into(), hash);
            }
        }
        args.insert("space".into(), json!(self.space));
        let args = Value::Object(args);
        let answer = match self.by_tool {
            true => self.client.tool(&format!("me_{}", call.function), &args),
            false => self.client.function(call.function, &args),
        };
        if let Ok(record) = &answer
            && let Some(hash) = record.get("versionHash")
            && let Some(id) = record["id"].as_str()
        {
            match self.memories.iter_mut().find(|(known, _)| known == id) {
                Some((_, known)) => *known = hash.clone(),
                None => self.memories.push((id.to_owned(), hash.clone())),
            }
        }
        answer
    }

    /// The answer without what differs by nature: minted ids by their order, times by whether they are there.
    fn comparable(&self, answer: &Answer) -> String {
        let mut text = match answer {
            Ok(value) => {
                let mut value = value.clone();
                for key in ["createdAt", "updatedAt"] {
                    if value[key].is_string() {
                        value[key] = json!("a time");
                    }
                }
                value.to_string()
            }
            Err(refusal) => format!("{refusal:?}"),
        };
        for (index, (id, _)) in self.memories.iter().enumerate() {
            text = text.replace(id, &format!("id {index}"));
        }
        text.replace(&self.space, "a space")
    }
}

/// Runs the calls both ways in two new spaces; counts what was answered and what was refused.
fn run_both(
    clients: &mut [postgres::Client; 3],
    calls: &[Call],
    counts: &mut (usize, usize),
) -> Result<(), TestCaseError> {
    let [named, tool, admin] = clients;
    let spaces = ["n", "t"].map(|way| common::unique(way).replace('_', "-"));
    for space in &spaces {
        admin.function("space_create", &json!({"slug": space})).unwrap();
    }
    let [named_space, tool_space] = spaces;
    let mut named = Way { client: named, space: named_space, by_tool: false, memories: Vec::new() };
    let mut tool = Way { client: tool, space: tool_space, by_tool: true, memories: Vec::new() };
    for call in calls {
        let (a, b) = (named.run(call), tool.run(call));
        match a {
            Ok(_) => counts.0 += 1,
            Err(_) => counts.1 += 1,
        }
        prop_assert_eq!(named.comparable(&a), tool.comparable(&b), "{:?}", call);
    }
    Ok(())
}

#[test]
fn named_arguments_and_mcp_arguments_get_the_same_answers() {
    let database = Database::new();
    let clients = RefCell::new([database.admin(), database.admin(), database.admin()]);
    let counts = RefCell::new((0, 0));
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&prop::collection::vec(call(), 1..25), |calls| {
        run_both(&mut clients.borrow_mut(), &calls, &mut counts.borrow_mut())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let (answered, refused) = counts.into_inner();
    assert!(answered > 200 && refused > 200, "{answered} calls answered, {refused} refused: too one-sided");
}
