//! Every argument that a tool documents has an effect, and every answer is described.
//!
//! A case in tests/cases/mcp_arguments.jsonl names a tool and one of its arguments. The tool is called twice through the
//! MCP server, each time in a space of its own after the same steps: once without the argument (or with `other` for it),
//! once with `value`. What `effect` expects must hold of the second outcome and must not hold of the first. With `then`,
//! the outcome is that of another call afterwards.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::mcp::{Server, url};
use common::steps::Results;
use common::{Calls, Database, matcher, schema, superuser};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Objects whose fields are the writer's own: what stands in them is not described.
const FREE: &[&str] = &["/meta/"];

struct Case(Value);

impl Case {
    fn tool(&self) -> &str {
        self.0["tool"].as_str().unwrap()
    }

    fn argument(&self) -> &str {
        self.0["argument"].as_str().unwrap()
    }

    /// The arguments with one value for the argument of the case; null leaves it out.
    fn arguments(&self, value: &Value) -> Value {
        let mut arguments = self.0["args"].clone();
        let before = match value {
            Value::Null => None,
            value => arguments.as_object_mut().unwrap().insert(self.argument().to_owned(), value.clone()),
        };
        assert!(before.is_none() && arguments.get(self.argument()) == Some(value) || value.is_null());
        arguments
    }
}

fn cases() -> Vec<Case> {
    let text = include_str!("cases/mcp_arguments.jsonl");
    text.lines().map(|line| Case(serde_json::from_str(line).expect(line))).collect()
}

/// The arguments that tools document and no case is about; `space` is tried with every tool.
fn forgotten(tools: &[Value], cases: &[Case]) -> Vec<String> {
    let tried: BTreeSet<(&str, &str)> = cases.iter().map(|case| (case.tool(), case.argument())).collect();
    tools
        .iter()
        .flat_map(|tool| {
            let arguments = tool["inputSchema"]["properties"].as_object().unwrap().keys();
            arguments.map(|argument| (tool["name"].as_str().unwrap(), argument.as_str()))
        })
        .filter(|(tool, argument)| *argument != "space" && !tried.contains(&(*tool, *argument)))
        .map(|(tool, argument)| format!("{tool}.{argument}"))
        .collect()
}

/// The server, and what prepares spaces for it.
struct World {
    server: Server,
    admin: Client,
    /// Tools that take a space.
    placed: BTreeSet<String>,
    /// Places in answers that no schema describes.
    undescribed: BTreeSet<String>,
}

impl World {
    fn new(database: &Database) -> Self {
        let mut admin = database.admin();
        let model = json!({"name": "static", "provider": "local", "dimensions": 256, "options": {"path": "wordllama-256"}});
        admin.function("embedding_model_add", &model).unwrap();
        let url = format!("{}?options=-c%20me.embed_sync%3Don", url(database.name(), &superuser()));
        let mut server = Server::open(&url, &[]);
        let tools = server.tools();
        let takes_space = |tool: &&Value| tool["inputSchema"]["properties"].get("space").is_some();
        let placed =
            tools.iter().filter(takes_space).map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        Self { server, admin, placed, undescribed: BTreeSet::new() }
    }

    fn open_space(&mut self, slug: &str) {
        self.admin.function("space_create", &json!({"slug": slug})).unwrap();
        self.admin.function("embedding_model_use", &json!({"name": "static", "space": slug})).unwrap();
    }

    /// What a call comes to: `result` and `text`, or `error`.
    fn outcome(&mut self, tool: &str, mut arguments: Value, space: &str) -> Value {
        if self.placed.contains(tool) {
            arguments["space"] = space.into();
        }
        let answer = self.server.request("tools/call", json!({"name": tool, "arguments": arguments}));
        if let Some(error) = answer.get("error") {
            return json!({"error": {"code": error["code"], "data": error["data"]}, "text": error["message"]});
        }
        let result = &answer["result"];
        let text = &result["content"][0]["text"];
        if result["isError"] == true {
            return json!({"error": result["_meta"]["error"], "text": text});
        }
        let (schema, answer) = (self.server.schema(tool), &result["structuredContent"]);
        schema::check(schema, answer, tool);
        let open = schema::undescribed(schema, answer, tool);
        self.undescribed
            .extend(open.into_iter().filter(|place| !FREE.iter().any(|free| place.contains(free))));
        json!({"result": answer, "text": text})
    }

    /// The outcome of a case with a value for its argument, in a space of its own, and the arguments.
    fn run(&mut self, case: &Case, value: &Value, space: &str) -> Result<(Value, Value), String> {
        self.open_space(space);
        let beside = format!("{space}-b");
        let mut results = Results::default();
        for step in case.0["setup"].as_array().into_iter().flatten() {
            let at = if step[2] == "beside" { beside.as_str() } else { space };
            if at == beside {
                self.open_space(at);
            }
            let outcome = self.outcome(step[0].as_str().unwrap(), results.resolve(&step[1])?, at);
            match outcome.get("result") {
                Some(result) => results.push(result.clone()),
                None => return Err(format!("{step}: {outcome}")),
            }
        }
        let value = if value == "$beside" { &json!(beside) } else { value };
        let arguments = results.resolve(&case.arguments(value))?;
        let outcome = self.outcome(case.tool(), arguments.clone(), space);
        match (case.0.get("then"), outcome.get("result")) {
            (None, _) => Ok((outcome, arguments)),
            (Some(_), None) => Err(format!("with {value}: {outcome}")),
            (Some(then), Some(result)) => {
                results.set_call(result.clone());
                let then = self.outcome(then[0].as_str().unwrap(), results.resolve(&then[1])?, space);
                Ok((then, arguments))
            }
        }
    }

    fn is_lost_in_no_space(&mut self, tool: &str, arguments: Value) -> bool {
        let outcome = self.outcome(tool, arguments, "nowhere");
        outcome.get("error").is_some() && outcome["text"].to_string().contains("nowhere")
    }

    /// Whether the argument has its effect; the arguments with it.
    fn judge(&mut self, case: &Case, number: usize) -> Result<Value, String> {
        let (without, _) = self.run(case, &case.0["other"], &format!("s{number}-without"))?;
        let (with, arguments) = self.run(case, &case.0["value"], &format!("s{number}-with"))?;
        let effect = &case.0["effect"];
        if let Some(difference) = matcher::differs(effect, &with) {
            return Err(format!("has not the effect: {difference} in {with}"));
        }
        match matcher::differs(effect, &without) {
            Some(_) => Ok(arguments),
            None => Err(format!("without it the same: {without}")),
        }
    }
}

#[test]
fn every_argument_has_its_effect_and_every_answer_is_described() {
    let database = Database::new();
    let mut world = World::new(&database);
    let cases = cases();
    let forgotten = forgotten(&world.server.tools(), &cases);
    assert!(forgotten.is_empty(), "no case is about {}", forgotten.join(", "));
    let mut failures = Vec::new();
    let mut spaced = BTreeSet::new();
    for (number, case) in cases.iter().enumerate() {
        match world.judge(case, number) {
            // The space is an argument too: what is done in one is not done in one that is not there.
            Ok(arguments) => {
                if world.placed.contains(case.tool()) && world.is_lost_in_no_space(case.tool(), arguments) {
                    spaced.insert(case.tool().to_owned());
                }
            }
            Err(failure) => failures.push(format!("{}.{}: {failure}", case.tool(), case.argument())),
        }
    }
    for tool in world.placed.clone() {
        if !spaced.contains(&tool) && !world.is_lost_in_no_space(&tool, json!({})) {
            failures.push(format!("{tool}.space: has no effect"));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
    let undescribed: Vec<_> = world.undescribed.iter().cloned().collect();
    assert!(undescribed.is_empty(), "no schema describes\n{}", undescribed.join("\n"));
}

#[test]
fn an_argument_without_a_case_is_noticed() {
    let tool = json!({"name": "t", "inputSchema": {"properties": {"a": {}, "b": {}, "space": {}}}});
    let case = Case(json!({"tool": "t", "argument": "a"}));
    assert_eq!(forgotten(&[tool], &[case]), ["t.b"]);
}

#[test]
fn a_schema_that_says_too_little_is_noticed_and_an_answer_of_another_type_refused() {
    let answer = json!({"id": "cap-1", "rows": [{"n": 1, "at": null}], "meta": {"k": 1}});
    let strict = json!({"type": "object", "properties": {
        "id": {"type": "string"},
        "rows": {"type": "array", "items": {"type": "object", "properties": {
            "n": {"type": "integer"}, "at": {"type": ["string", "null"]}}, "additionalProperties": false}},
        "meta": {"type": "object"}}, "additionalProperties": false});
    schema::check(&strict, &answer, "t");
    assert_eq!(schema::undescribed(&strict, &answer, "t"), ["t/meta/k"]);
    let loose = json!({"type": "object", "properties": {"id": {}, "rows": {"type": "array", "items": {"type": "object"}}}});
    schema::check(&loose, &answer, "t");
    assert_eq!(
        schema::undescribed(&loose, &answer, "t"),
        ["t/id", "t/meta", "t/meta/k", "t/rows/0/at", "t/rows/0/n"]
    );
    for wrong in [
        json!({"id": 1, "rows": []}),
        json!({"id": "cap-1", "rows": {}}),
        json!({"id": "cap-1", "rows": [{"n": "1"}]}),
        json!({"id": "cap-1", "rows": [{"n": 1.5}]}),
        json!({"id": "cap-1", "rows": [{"m": 1}]}),
        json!({"id": "cap-1", "rows": [], "more": 1}),
        json!([]),
    ] {
        let refused = std::panic::catch_unwind(|| schema::check(&strict, &wrong, "t"));
        assert!(refused.is_err(), "{wrong}");
    }
}
