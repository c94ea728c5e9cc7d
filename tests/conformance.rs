//! The cases of the specification, each in a space of its own, through `me.mcp_call` as an MCP client calls it; what
//! is no tool goes through its SQL function. `tests/cases/memory-engine.jsonl` has the cases; one whose expectation
//! the design changed says so in its field `adapted`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::steps::Results;
use common::{Answer, Calls, Database, Refusal, ensure_role, has_function, matcher};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;

/// Functions of the specification that are no tools, by the name they have in schema `me`.
const FUNCTIONS: &[(&str, &str)] = &[
    ("memory_batch_create", "memory_batch_create"),
    ("memory_delete_orphans", "memory_delete_orphans"),
    ("memory_embedding_status", "embedding_status"),
];

/// Helpers of the harness and the function each is made of.
const HELPERS: &[(&str, &str)] = &[
    ("embedding_claim", "embedding_claim"),
    ("embedding_complete", "embedding_complete"),
    ("embedding_fail", "embedding_fail"),
    ("embedding_prune", "embedding_prune"),
    ("embedding_release", "embedding_release"),
    ("embedding_set", "embedding_set"),
    ("grant_remove", "access_revoke"),
    ("grant_set", "access_grant"),
    ("principal_add", "space_member_add"),
];

/// The model of every case: vectors come from the steps, padded with zeros to this length.
const MODEL: &str = "stub";
const DIMENSIONS: usize = 8;

fn padded(vector: &Value) -> Value {
    let mut numbers = vector.as_array().unwrap().clone();
    numbers.resize(DIMENSIONS, json!(0));
    Value::Array(numbers)
}

/// One line of the file.
struct Case(Value);

impl Case {
    fn id(&self) -> &str {
        self.0["id"].as_str().unwrap()
    }

    fn area(&self) -> &str {
        self.0["area"].as_str().unwrap()
    }

    fn setup(&self) -> &[Value] {
        self.0["setup"].as_array().unwrap()
    }

    /// The call of a case that says which vector its query text has: the same search by the caller's own vector,
    /// an argument that the function has and the tool has not.
    fn by_vector(&self) -> Option<Value> {
        let embed = self.0.get("embed")?;
        let mut args = self.0["call"]["args"].as_object().unwrap().clone();
        let query = args.remove("semantic")?;
        args.insert("embedding".into(), padded(&embed[query.as_str().unwrap()]));
        for (tool, function) in
            [("semanticThreshold", "semantic_threshold"), ("candidateLimit", "candidate_limit")]
        {
            if let Some(value) = args.remove(tool) {
                args.insert(function.into(), value);
            }
        }
        Some(Value::Object(args))
    }

    /// What has to be there for the case to run.
    fn needs(&self) -> BTreeSet<&str> {
        let calls = self.setup().iter().chain([&self.0["call"]]);
        calls.map(|step| step["fn"].as_str().unwrap()).collect()
    }
}

fn cases() -> Vec<Case> {
    let text = include_str!("cases/memory-engine.jsonl");
    text.lines().map(|line| Case(serde_json::from_str(line).expect(line))).collect()
}

/// A database, and a connection for each principal that a case names.
struct World {
    database: Database,
    admin: Client,
    served: BTreeSet<String>,
    principals: HashMap<String, Client>,
}

impl World {
    fn new() -> Self {
        let database = Database::new();
        let mut admin = database.admin();
        let tools = admin.json("me.mcp_tools('memory')", &[]).unwrap();
        let names = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
        let mut served: BTreeSet<String> =
            names.map(|name| name.trim_start_matches("me_").to_owned()).collect();
        for (name, function) in FUNCTIONS.iter().chain(HELPERS) {
            if has_function(&mut admin, function) {
                served.insert((*name).to_owned());
            }
        }
        let model = json!({"name": MODEL, "provider": "manual", "dimensions": DIMENSIONS});
        admin.function("embedding_model_add", &model).unwrap();
        Self { database, admin, served, principals: HashMap::new() }
    }

    fn grants_exist(&self) -> bool {
        self.served.contains("grant_set")
    }

    /// The principal every step acts as unless it says otherwise: owner at `/`. Without grants, a superuser.
    fn prepare_owner(&mut self) {
        ensure_role("owner");
        let superuser = if self.grants_exist() { "nosuperuser" } else { "superuser" };
        self.admin.batch_execute(&format!("alter role owner {superuser}")).unwrap();
    }

    fn open_space(&mut self, slug: &str) {
        // A case names every grant it needs: nobody owns a home by joining.
        let space = json!({"slug": slug, "home_grants": false});
        self.admin.function("space_create", &space).unwrap();
        self.admin.function("embedding_model_use", &json!({"name": MODEL, "space": slug})).unwrap();
        let space = |client: &mut Client| {
            client.execute("select set_config('me.space', $1, false)", &[&slug]).unwrap();
        };
        space(&mut self.admin);
        self.principals.values_mut().for_each(space);
        if self.grants_exist() {
            self.admin.function("space_member_add", &json!({"principal": "owner", "kind": "user"})).unwrap();
            let grant = json!({"principal": "owner", "tree": "/", "access": "owner"});
            self.admin.function("access_grant", &grant).unwrap();
        }
    }

    fn principal(&mut self, handle: &str, space: &str) -> &mut Client {
        self.principals.entry(handle.to_owned()).or_insert_with(|| {
            ensure_role(handle);
            let mut client = self.database.connect(handle);
            client.execute("select set_config('me.space', $1, false)", &[&space]).unwrap();
            client
        })
    }

    fn step(&mut self, step: &Value, space: &str, results: &Results) -> Answer {
        let name = step["fn"].as_str().unwrap();
        let args = results.resolve(&step["args"]).unwrap_or_else(|error| panic!("{space}: {error}"));
        // The helpers of the harness are an admin's, unless a case says whose.
        let helper = HELPERS.iter().any(|(helper, _)| *helper == name);
        let handle = step["as"].as_str().unwrap_or(if helper { "" } else { "owner" });
        let client = match handle {
            "" => &mut self.admin,
            handle => self.principal(handle, space),
        };
        match name {
            "principal_add" => {
                let name = args["name"].as_str().unwrap();
                ensure_role(name);
                client.function("space_member_add", &json!({"principal": name, "kind": args["kind"]}))?;
                client.json("select jsonb_build_object('id', id) from me.principal where name = $1", &[&name])
            }
            "grant_set" => {
                let level = ["read", "write", "owner"][args["access"].as_u64().unwrap() as usize - 1];
                let grant = json!({"principal": args["principal"], "tree": args["tree"], "access": level});
                client.function("access_grant", &grant)
            }
            "embedding_set" => {
                client.function(name, &json!({"id": args["id"], "vector": padded(&args["vector"])}))
            }
            "embedding_complete" => {
                let mut given = args.as_object().unwrap().clone();
                let vector = given.remove("vector").unwrap();
                given.insert("vectors".into(), json!([padded(&vector)]));
                client.function(name, &Value::Object(given))
            }
            "embedding_claim" | "embedding_fail" | "embedding_prune" | "embedding_release" => {
                client.function(name, &args)
            }
            "grant_remove" => client.function("access_revoke", &args),
            name => match FUNCTIONS.iter().find(|(known, _)| *known == name) {
                Some((_, function)) => client.function(function, &args),
                None => client.tool(&format!("me_{name}"), &args),
            },
        }
    }

    /// Runs a case; the text of the error says what was not as expected.
    fn run(&mut self, case: &Case) -> Result<(), String> {
        let space = case.id();
        self.open_space(space);
        let mut results = Results::default();
        for (index, step) in case.setup().iter().enumerate() {
            match (self.step(step, space, &results), step.get("fails")) {
                (Ok(result), None) => results.push(result),
                (Err(refusal), Some(kind)) if kind == &refusal.kind() => results.push(Value::Null),
                (answer, _) => return Err(format!("setup step {}: {answer:?}", index + 1)),
            }
        }
        let expect = &case.0["expect"];
        let before = expect.get("error").map(|_| self.database.rows());
        let answer = match case.by_vector() {
            Some(args) => self.principal("owner", space).function("memory_search", &args),
            None => self.step(&case.0["call"], space, &results),
        };
        match (answer, expect.get("error")) {
            (Ok(result), None) => {
                results.set_call(result.clone());
                let expected = results.resolve(&expect["result"])?;
                matcher::differs(&expected, &result).map_or(Ok(()), Err)
            }
            (Err(refusal), Some(kind)) => {
                refused_well(&refusal, kind)?;
                let after = Some(self.database.rows());
                if before == after { Ok(()) } else { Err(format!("wrote {before:?} to {after:?}")) }
            }
            (Ok(result), Some(kind)) => Err(format!("wanted {kind}, got {result}")),
            (Err(refusal), None) => Err(format!("refused: {refusal:?}")),
        }
    }
}

/// A refusal has the kind that is wanted, and when it is ours, its SQLSTATE and a hint.
fn refused_well(refusal: &Refusal, kind: &Value) -> Result<(), String> {
    let kind = kind.as_str().unwrap_or_default();
    let states: &[&str] = match kind {
        "VALIDATION" => &["22023", "22P02", "22P05", "22021", "22003"],
        "NOT_FOUND" => &["P0002"],
        "CONFLICT" => &["23505", "55000"],
        "FORBIDDEN" => &["42501"],
        "LAST_ADMIN" | "EMBEDDING_NOT_CONFIGURED" => &["55000"],
        "EMBEDDING_FAILED" => &["58000"],
        _ => &[],
    };
    let hinted = !refusal.hint.is_empty() || refusal.field("code").is_empty();
    if refusal.kind() == kind && states.contains(&refusal.sqlstate.as_str()) && hinted {
        return Ok(());
    }
    Err(format!("wanted {kind}, got {refusal:?}"))
}

#[test]
fn the_cases_of_the_specification_hold() {
    let mut world = World::new();
    world.prepare_owner();
    let mut areas: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in cases() {
        let (ran, all) = areas.entry(case.area().to_owned()).or_default();
        *all += 1;
        let missing: Vec<&str> =
            case.needs().into_iter().filter(|name| !world.served.contains(*name)).collect();
        if missing.is_empty() {
            *ran += 1;
            if let Err(failure) = world.run(&case) {
                failures.push(format!(
                    "{} ({}): {failure}",
                    case.id(),
                    case.0["why"].as_str().unwrap_or_default()
                ));
            }
            continue;
        }
        for name in missing {
            failures.push(format!("{}: nothing serves {name}", case.id()));
        }
    }
    let total: usize = areas.values().map(|(ran, _)| ran).sum();
    let each: Vec<String> = areas.iter().map(|(area, (ran, all))| format!("{area} {ran}/{all}")).collect();
    // Past the test harness, which shows the output of failed tests only.
    let mut out = std::io::stderr().lock();
    writeln!(out, "conformance: {total} cases ran: {}", each.join(", ")).unwrap();
    assert!(failures.is_empty(), "{} of {total} cases failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn matchers_accept_and_refuse() {
    let fits = [
        (json!({"a": 1}), json!({"a": 1, "b": 2})),
        (json!({"a": {"$absent": true}}), json!({"b": 2})),
        (json!({"$len": 2}), json!(["a", "b"])),
        (json!({"$len": 2}), json!("é😀")),
        (json!({"$contains": [{"a": 1}]}), json!([{"a": 2}, {"a": 1, "b": 1}])),
        (json!({"$unordered": [{"$gt": 1}, 2]}), json!([2, 3])),
        (json!({"$exact": {"a": [1.0]}}), json!({"a": [1]})),
        (json!({"$regex": "^\\d{4}Z$"}), json!("2025Z")),
        (json!({"$ne": "a"}), json!("b")),
        (json!({"$approx": 0.5}), json!(0.5004)),
        (json!({"$json": {"a": null}}), json!("{\"a\":null, \"b\":1}")),
        (json!({"$yaml": {"a": ["x", 1]}}), json!("a:\n  - x\n  - 1\nb: ~")),
        (json!({"$thread": "t"}), json!({"$thread": "t", "x": 1})),
        (json!({"n": null}), json!({"n": null})),
    ];
    for (expected, actual) in &fits {
        assert_eq!(matcher::differs(expected, actual), None, "{expected} {actual}");
    }
    let misfits = [
        (json!({"a": 1}), json!({"b": 2})),
        (json!({"a": null}), json!({})),
        (json!({"a": {"$absent": true}}), json!({"a": null})),
        (json!({"$len": 2}), json!(["a"])),
        (json!({"$len": 2}), json!(2)),
        (json!([1]), json!([1, 2])),
        (json!({"$contains": [3]}), json!([1, 2])),
        (json!({"$unordered": [1, 1]}), json!([1, 2])),
        (json!({"$exact": {}}), json!({"a": 1})),
        (json!({"$regex": "^a$"}), json!("ab")),
        (json!({"$ne": 1}), json!(1.0)),
        (json!({"$gt": 1}), json!(1)),
        (json!({"$approx": 0.5}), json!(0.502)),
        (json!({"$json": {"a": 1}}), json!("no JSON")),
        (json!({"$yaml": ["x"]}), json!("x")),
        (json!({"$thread": "t"}), json!({"$thread": "u"})),
        (json!(1), json!("1")),
    ];
    for (expected, actual) in &misfits {
        assert!(matcher::differs(expected, actual).is_some(), "{expected} {actual}");
    }
}

#[test]
fn references_are_whole_strings_that_name_a_step_and_a_key() {
    let mut results = Results::default();
    results.push(json!({"id": 7, "list": [{"k": "v"}]}));
    results.set_call(json!({"x": true}));
    let resolved =
        results.resolve(&json!(["$1.id", "$1.list.0.k", "$call.x", "$prev", "a $1.id", {"$1.id": 1}]));
    assert_eq!(resolved, Ok(json!([7, "v", true, "$prev", "a $1.id", {"$1.id": 1}])));
    assert!(results.resolve(&json!("$2.id")).is_err());
    assert!(results.resolve(&json!("$1.no")).is_err());
}
