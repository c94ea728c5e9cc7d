//! Calls that nobody meant: whatever is asked, the answer is one, or an error that the design names; the server lives on.
//!
//! `FUZZ_CALLS` calls of tools and as many of functions, 8,000 unless said, from the seed `FUZZ_SEED`; `scripts/fuzz` runs
//! them for as long as one likes, and no longer than `FUZZ_SECONDS`. A call that fails is printed and can be made again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::dice::Dice;
use common::{Calls, Database, Refusal, argument_types, mutate, new_role};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Refusals of the server itself: what it cannot read or keep, and what can happen to any statement.
const SERVERS: &[&str] = &[
    "22P02", "22P05", "22021", "22003", "40001", "40P01", "53100", "53200", "53300", "53400", "54001",
    "55P03", "57014",
];

/// Our codes, and the SQLSTATEs they come with.
const OURS: &[(&str, &[&str])] = &[
    ("VALIDATION", &["22023"]),
    ("NOT_FOUND", &["P0002"]),
    ("CONFLICT", &["23505", "55000"]),
    ("FORBIDDEN", &["42501"]),
    ("LAST_ADMIN", &["55000"]),
    ("EMBEDDING_NOT_CONFIGURED", &["55000"]),
    ("EMBEDDING_FAILED", &["58000"]),
];

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Whether the design knows the refusal.
fn expected(refusal: &Refusal) -> bool {
    let code = refusal.field("code");
    match OURS.iter().find(|(name, _)| *name == code) {
        Some((_, states)) => states.contains(&refusal.sqlstate.as_str()) && refusal.message.len() < 2000,
        // Functions for operators and for workers are not everybody's.
        None if refusal.message.starts_with("permission denied for function") => refusal.sqlstate == "42501",
        None => code.is_empty() && SERVERS.contains(&refusal.sqlstate.as_str()),
    }
}

/// A database with something to find, a superuser and a reader of a part, both connected.
struct World {
    _database: Database,
    clients: [Client; 2],
    reader: String,
    /// What stands for `$1.id` and its like in the corpus.
    known: Vec<Value>,
}

impl World {
    fn new() -> Self {
        let database = Database::new();
        let mut admin = database.admin();
        let role = new_role("fuzz_reader");
        admin
            .batch_execute(
                "select me.embedding_model_add('manual', 'manual', 3); select me.embedding_model_use('manual');
                 select me.memory_create('the heron waits at pond ' || n, 'share/a', name => 'n' || n,
                     meta => '{\"k\": [1, {\"a\": \"b\"}], \"$thread\": \"t\"}', temporal => '{\"start\": \"2025-02-01T10:00:00Z\"}')
                   from generate_series(1, 20) as n",
            )
            .unwrap();
        admin
            .function("access_grant", &json!({"principal": role, "tree": "share/a", "access": "read"}))
            .unwrap();
        let made = admin.json("me.memory_get_by_path('share/a/n1')", &[]).unwrap();
        let known =
            vec![made["id"].clone(), made["versionHash"].clone(), json!("share/a/n1"), json!("cap-1")];
        let mut clients = [admin, database.connect(&role)];
        for client in &mut clients {
            client.batch_execute("set statement_timeout = '20s'; set client_min_messages = error").unwrap();
        }
        Self { _database: database, clients, reader: role, known }
    }

    /// Puts what exists where the corpus refers to what an earlier step made.
    fn resolve(&self, value: &mut Value, dice: &mut Dice) {
        match value {
            Value::String(text) if text.starts_with('$') => *value = dice.pick(&self.known).clone(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.resolve(item, dice)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.resolve(field, dice)),
            _ => {}
        }
    }
}

/// Names of tools with arguments that they take, from the conformance cases.
fn corpus() -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    for line in include_str!("cases/mcp_arguments.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let mut args = case["args"].clone();
        args[case["argument"].as_str().unwrap()] = case["value"].clone();
        calls.push((case["tool"].as_str().unwrap().to_owned(), args));
        for step in case["setup"].as_array().into_iter().flatten() {
            if let (Some(tool), true) = (step[0].as_str(), step[1].is_object()) {
                calls.push((tool.to_owned(), step[1].clone()));
            }
        }
    }
    calls
}

/// Runs calls until there were enough of them, and counts what came of them.
fn run(name: &str, mut one: impl FnMut(&mut World, &mut Dice) -> (String, Result<(), Refusal>)) {
    let seed = setting("FUZZ_SEED", 1);
    let mut world = World::new();
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    let (begun, longest) = (Instant::now(), Duration::from_secs(setting("FUZZ_SECONDS", 86_400)));
    for number in (0..setting("FUZZ_CALLS", 8000)).take_while(|_| begun.elapsed() < longest) {
        // Each call has a seed of its own: the last one can be made again without those before.
        let mut dice =
            Dice(seed.wrapping_mul(1_000_003).wrapping_add(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (call, outcome) = one(&mut world, &mut dice);
        let kind = match outcome {
            Ok(()) => "answered".to_owned(),
            Err(refusal) => {
                let shown: String = call.chars().take(3000).collect();
                assert!(expected(&refusal), "seed {seed}, number {number}: {shown}\n{refusal:?}");
                refusal.kind().chars().take(40).collect()
            }
        };
        *outcomes.entry(kind).or_default() += 1;
    }
    println!("{name}: {} calls in {:?}: {outcomes:?}", outcomes.values().sum::<u64>(), begun.elapsed());
    assert!(outcomes.contains_key("answered") && outcomes.contains_key("VALIDATION"), "{outcomes:?}");
}

#[test]
fn tools_answer_mutated_arguments_or_refuse_them_properly() {
    let corpus = corpus();
    assert!(corpus.len() > 150);
    run("tools", |world, dice| {
        let (tool, mut args) = dice.pick(&corpus).clone();
        world.resolve(&mut args, dice);
        for _ in 0..dice.below(4) {
            mutate::value(&mut args, dice);
        }
        let mut text = args.to_string();
        if dice.below(20) == 0 {
            text = mutate::text(&text, dice);
        }
        let client = &mut world.clients[usize::from(dice.below(4) == 0)];
        let sql = "select me.mcp_call($1, $2::text::jsonb)::text";
        let outcome = client.query(sql, &[&tool, &text]);
        (format!("{tool} {text}"), outcome.map(drop).map_err(|error| Refusal::from_error(&error)))
    });
}

/// What can be called.
#[derive(Clone)]
struct Function {
    name: String,
    /// Its arguments with their types.
    types: Vec<(String, String)>,
    /// How many of them have no default.
    needed: usize,
}

/// A text that a value of this type may be given as; most are read, and then judged by us.
fn argument(of: &str, world: &World, dice: &mut Dice) -> Option<String> {
    if dice.below(6) == 0 {
        return None;
    }
    let number = |dice: &mut Dice| {
        dice.pick(&["0", "1", "-1", "7", "10", "1000", "2147483647", "-2147483648"]).to_string()
    };
    Some(match of {
        "boolean" => dice.pick(&["t", "f"]).to_string(),
        "integer" | "bigint" | "smallint" => number(dice),
        "real" | "double precision" | "numeric" => {
            dice.pick(&["0", "0.5", "1", "-1", "1e30", "NaN", "Infinity", "-Infinity", "1e-40"]).to_string()
        }
        "uuid" => match &world.known[0] {
            Value::String(id) if dice.below(2) == 0 => id.clone(),
            _ => "0190a1b2-0000-7000-8000-000000000051".to_owned(),
        },
        "timestamp with time zone" => dice
            .pick(&[
                "2025-01-01T00:00:00Z",
                "infinity",
                "-infinity",
                "4713-01-01 BC",
                "294276-12-31T23:59:59Z",
                "now",
            ])
            .to_string(),
        "interval" => dice.pick(&["0", "1 day", "-1 year", "178000000 years", "1 microsecond"]).to_string(),
        "bytea" => dice.pick(&["\\x", "\\x00ff", "\\x7b7d"]).to_string(),
        "text[]" => {
            let items: Vec<String> = (0..dice.below(4))
                .map(|_| match dice.below(5) {
                    0 => "NULL".to_owned(),
                    _ => format!("\"{}\"", word(world, dice).replace('\\', "\\\\").replace('"', "\\\"")),
                })
                .collect();
            format!("{{{}}}", items.join(","))
        }
        "me.memory" => return None,
        "uuid[]" => dice.pick(&["{}", "{NULL}", "{0190a1b2-0000-7000-8000-000000000051}"]).to_string(),
        "integer[]" | "bigint[]" => dice.pick(&["{}", "{NULL}", "{1,2,2}", "{-1}"]).to_string(),
        "real[]" | "double precision[]" => dice
            .pick(&[
                "{}",
                "{NULL}",
                "{1,0,0}",
                "{0,0,0}",
                "{NaN,1,2}",
                "{Infinity,0,1}",
                "{1,2}",
                "{{1},{2}}",
            ])
            .to_string(),
        "jsonb" | "json" => {
            let mut value = dice
                .pick(&[
                    json!({"k": 1}),
                    json!([{"content": "x", "tree": "share/a"}]),
                    json!({"start": "2025-01-01T00:00:00Z"}),
                    json!([]),
                    json!("text"),
                ])
                .clone();
            mutate::value(&mut value, dice);
            value.to_string()
        }
        _ => word(world, dice),
    })
}

fn word(world: &World, dice: &mut Dice) -> String {
    let known =
        ["share/a", "heron", "n1", "read", "replace", "json", "content", "manual", "rrf", "alias", "english"];
    match dice.below(4) {
        0 => dice.pick(&world.known).as_str().unwrap().to_owned(),
        1 => dice.pick(&known).to_string(),
        _ => {
            let start = *dice.pick(&known);
            mutate::text(start, dice)
        }
    }
}

#[test]
fn functions_answer_any_arguments_or_refuse_them_properly() {
    let mut functions: Vec<Function> = Vec::new();
    run("functions", |world, dice| {
        if functions.is_empty() {
            let client = &mut world.clients[0];
            let names = "select proname::text, (pronargs - pronargdefaults)::int4 from pg_proc
                 where pronamespace = 'me'::regnamespace and prokind = 'f' and proname <> 'mcp_call'
                   and (proname !~ '^_' or has_function_privilege($1, oid, 'execute')) order by 1";
            for row in client.query(names, &[&world.reader]).unwrap() {
                let name: String = row.get(0);
                let types = argument_types(client, &name);
                functions.push(Function { name, types, needed: row.get::<_, i32>(1) as usize });
            }
        }
        let Function { name, types, needed } = dice.pick(&functions).clone();
        let (mut places, mut values) = (Vec::new(), Vec::new());
        for (place, (argument_name, of)) in types.iter().enumerate() {
            // Functions with many arguments are mostly called with few.
            if place < needed || dice.below(3) > 0 || types.len() < 3 {
                values.push(argument(of, world, dice));
                places.push(format!("\"{argument_name}\" => ${}::text::{of}", values.len()));
            }
        }
        let sql =
            format!("select count(*) from (select * from me.\"{name}\"({})) as answer", places.join(", "));
        let arguments: Vec<&(dyn postgres::types::ToSql + Sync)> =
            values.iter().map(|value| value as _).collect();
        let client = &mut world.clients[usize::from(dice.below(4) == 0)];
        let outcome = client.query(&sql, &arguments);
        (format!("{sql} {values:?}"), outcome.map(drop).map_err(|error| Refusal::from_error(&error)))
    });
}
