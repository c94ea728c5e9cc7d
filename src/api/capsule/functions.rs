//! The SQL functions: each makes the argument object of its tool and runs it.

use super::{Answer, Fields, adopt, dump, run};
use crate::api::memory::id_argument;
use crate::store::jsonb::Jsonb;
use pgrx::prelude::*;
use serde_json::Value;

/// Arguments by name; what is null is not given.
#[derive(Default)]
struct Arguments(Fields);

impl Arguments {
    fn put(mut self, name: &str, value: Option<Value>) -> Self {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value);
        }
        self
    }

    fn text(self, name: &str, value: Option<String>) -> Self {
        self.put(name, value.map(Value::from))
    }

    fn boolean(self, name: &str, value: Option<bool>) -> Self {
        self.put(name, value.map(Value::from))
    }

    /// A number that JSON cannot hold becomes a text, which no argument that wants a number takes.
    fn number(self, name: &str, value: Option<f64>) -> Self {
        self.put(name, value.map(json_number))
    }

    fn integer(self, name: &str, value: Option<i32>) -> Self {
        self.put(name, value.map(Value::from))
    }

    fn json(self, name: &str, value: Option<Jsonb>) -> Self {
        let parsed = value.map(|value| {
            let text = value.text();
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        });
        self.put(name, parsed)
    }

    fn texts(self, name: &str, value: Option<Vec<Option<String>>>) -> Self {
        self.put(name, value.map(|items| items.into_iter().map(Value::from).collect()))
    }

    fn floats(self, name: &str, value: Option<Vec<Option<f32>>>) -> Self {
        let number = |value: Option<f32>| value.map_or(Value::Null, |value| json_number(f64::from(value)));
        self.put(name, value.map(|items| items.into_iter().map(number).collect()))
    }

    fn run(self, tool: &str, space: Option<&str>) -> Answer {
        run(tool, self.0, space)
    }
}

fn json_number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or_else(|| Value::String(value.to_string()), Value::Number)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_alias(
    term: default!(Option<String>, "NULL"),
    alias: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default().text("term", term).text("alias", alias).run("memory_alias", space)
}

#[pg_extern(stable, parallel_restricted)]
fn capsule_bootstrap(
    project_id: default!(Option<String>, "NULL"),
    project_prefix: default!(Option<String>, "NULL"),
    terms: default!(Option<Vec<Option<String>>>, "NULL"),
    token_budget: default!(Option<i32>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("project_id", project_id)
        .text("project_prefix", project_prefix)
        .texts("terms", terms)
        .integer("token_budget", token_budget)
        .run("memory_bootstrap", space)
}

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn capsule_classify(
    content: default!(Option<String>, "NULL"),
    origin: default!(Option<String>, "NULL"),
    kind: default!(Option<String>, "NULL"),
    scope: default!(Option<String>, "NULL"),
    taint_hint: default!(Option<bool>, "NULL"),
    capsule_id: default!(Option<String>, "NULL"),
    evidence_state: default!(Option<String>, "NULL"),
    proof_hint: default!(Option<String>, "NULL"),
    stale_if: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("content", content)
        .text("origin", origin)
        .text("kind", kind)
        .text("scope", scope)
        .boolean("taint_hint", taint_hint)
        .text("capsule_id", capsule_id)
        .text("evidence_state", evidence_state)
        .text("proof_hint", proof_hint)
        .text("stale_if", stale_if)
        .run("memory_classify", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_consolidate(
    apply_tiers: default!(Option<bool>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default().boolean("apply_tiers", apply_tiers).run("memory_consolidate", space)
}

#[pg_extern(stable, parallel_restricted)]
fn capsule_digest(
    headlines: default!(Option<i32>, "NULL"),
    project_prefix: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .integer("headlines", headlines)
        .text("project_prefix", project_prefix)
        .run("memory_digest", space)
}

#[pg_extern(stable, parallel_restricted)]
fn capsule_dump(space: default!(Option<&str>, "NULL")) -> Answer {
    dump(space)
}

#[pg_extern(stable, parallel_restricted)]
fn capsule_export(stamp: default!(Option<bool>, "NULL"), space: default!(Option<&str>, "NULL")) -> Answer {
    Arguments::default().boolean("stamp", stamp).run("memory_export", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_forget(
    id: default!(Option<String>, "NULL"),
    mode: default!(Option<String>, "NULL"),
    reason: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default().text("id", id).text("mode", mode).text("reason", reason).run("memory_forget", space)
}

#[pg_extern(stable, parallel_restricted)]
fn capsule_get(id: default!(Option<String>, "NULL"), space: default!(Option<&str>, "NULL")) -> Answer {
    Arguments::default().text("id", id).run("memory_get", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_import(
    source: default!(Option<String>, "NULL"),
    dir: default!(Option<String>, "NULL"),
    base: default!(Option<String>, "NULL"),
    files: default!(Option<Jsonb>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("source", source)
        .text("dir", dir)
        .text("base", base)
        .json("files", files)
        .run("memory_import", space)
}

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn capsule_ingest(
    content: default!(Option<String>, "NULL"),
    source: default!(Option<String>, "NULL"),
    anchor: default!(Option<String>, "NULL"),
    confidence: default!(Option<f64>, "NULL"),
    valid_from: default!(Option<String>, "NULL"),
    valid_to: default!(Option<String>, "NULL"),
    project_id: default!(Option<String>, "NULL"),
    authority_class: default!(Option<String>, "NULL"),
    instruction_taint: default!(Option<bool>, "NULL"),
    supersedes: default!(Option<String>, "NULL"),
    session_id: default!(Option<String>, "NULL"),
    kind: default!(Option<String>, "NULL"),
    evidence_state: default!(Option<String>, "NULL"),
    proof_hint: default!(Option<String>, "NULL"),
    stale_if: default!(Option<String>, "NULL"),
    event_at: default!(Option<String>, "NULL"),
    event_from: default!(Option<String>, "NULL"),
    event_to: default!(Option<String>, "NULL"),
    staged: default!(Option<bool>, "NULL"),
    items: default!(Option<Jsonb>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("content", content)
        .text("source", source)
        .text("anchor", anchor)
        .number("confidence", confidence)
        .text("valid_from", valid_from)
        .text("valid_to", valid_to)
        .text("project_id", project_id)
        .text("authority_class", authority_class)
        .boolean("instruction_taint", instruction_taint)
        .text("supersedes", supersedes)
        .text("session_id", session_id)
        .text("kind", kind)
        .text("evidence_state", evidence_state)
        .text("proof_hint", proof_hint)
        .text("stale_if", stale_if)
        .text("event_at", event_at)
        .text("event_from", event_from)
        .text("event_to", event_to)
        .boolean("staged", staged)
        .json("items", items)
        .run("memory_ingest", space)
}

#[pg_extern(stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn capsule_list(
    project_id: default!(Option<String>, "NULL"),
    project_prefix: default!(Option<String>, "NULL"),
    limit: default!(Option<i32>, "NULL"),
    kind: default!(Option<String>, "NULL"),
    tier: default!(Option<String>, "NULL"),
    expired: default!(Option<bool>, "NULL"),
    review_state: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("project_id", project_id)
        .text("project_prefix", project_prefix)
        .integer("limit", limit)
        .text("kind", kind)
        .text("tier", tier)
        .boolean("expired", expired)
        .text("review_state", review_state)
        .run("memory_list", space)
}

#[pg_extern(volatile, parallel_unsafe, name = "capsule_merge")]
fn capsule_merge_dump(
    from: default!(Option<String>, "NULL"),
    dump: default!(Option<Jsonb>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default().text("from", from).json("dump", dump).run("memory_merge", space)
}

#[pg_extern(volatile, parallel_unsafe, name = "capsule_outcome")]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn capsule_outcome_scored(
    description: default!(Option<String>, "NULL"),
    actor: default!(Option<String>, "NULL"),
    evidence_ref: default!(Option<String>, "NULL"),
    capsule_id: default!(Option<String>, "NULL"),
    receipt_id: default!(Option<String>, "NULL"),
    score: default!(Option<f64>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("description", description)
        .text("actor", actor)
        .text("evidence_ref", evidence_ref)
        .text("capsule_id", capsule_id)
        .text("receipt_id", receipt_id)
        .number("score", score)
        .run("memory_outcome", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_pin(
    id: default!(Option<String>, "NULL"),
    pinned: default!(Option<bool>, "NULL"),
    reason: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("id", id)
        .boolean("pinned", pinned)
        .text("reason", reason)
        .run("memory_pin", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_preference(
    preferred_id: default!(Option<String>, "NULL"),
    rejected_id: default!(Option<String>, "NULL"),
    context: default!(Option<String>, "NULL"),
    actor: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("preferred_id", preferred_id)
        .text("rejected_id", rejected_id)
        .text("context", context)
        .text("actor", actor)
        .run("memory_preference", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_relate(
    kind: default!(Option<String>, "NULL"),
    from: default!(Option<String>, "NULL"),
    to: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default().text("kind", kind).text("from", from).text("to", to).run("memory_relate", space)
}

#[pg_extern(volatile, parallel_unsafe, name = "capsule_retrieve")]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn capsule_retrieve_beside(
    terms: default!(Option<Vec<Option<String>>>, "NULL"),
    project_id: default!(Option<String>, "NULL"),
    project_prefix: default!(Option<String>, "NULL"),
    limit: default!(Option<i32>, "NULL"),
    token_budget: default!(Option<i32>, "NULL"),
    query_embedding: default!(Option<Vec<Option<f32>>>, "NULL"),
    vector_k: default!(Option<i32>, "NULL"),
    time_window: default!(Option<Jsonb>, "NULL"),
    session_id: default!(Option<String>, "NULL"),
    lane: default!(Option<String>, "NULL"),
    include_staged: default!(Option<bool>, "NULL"),
    effort_id: default!(Option<String>, "NULL"),
    topic_id: default!(Option<String>, "NULL"),
    weight_blend: default!(Option<f64>, "NULL"),
    corroboration_blend: default!(Option<f64>, "NULL"),
    neighbours: default!(Option<i32>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .texts("terms", terms)
        .text("project_id", project_id)
        .text("project_prefix", project_prefix)
        .integer("limit", limit)
        .integer("token_budget", token_budget)
        .floats("query_embedding", query_embedding)
        .integer("vector_k", vector_k)
        .json("time_window", time_window)
        .text("session_id", session_id)
        .text("lane", lane)
        .boolean("include_staged", include_staged)
        .text("effort_id", effort_id)
        .text("topic_id", topic_id)
        .number("weight_blend", weight_blend)
        .number("corroboration_blend", corroboration_blend)
        .integer("neighbours", neighbours)
        .run("memory_retrieve", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_review(
    id: default!(Option<String>, "NULL"),
    verdict: default!(Option<String>, "NULL"),
    reason: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("id", id)
        .text("verdict", verdict)
        .text("reason", reason)
        .run("memory_review", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_session_finish(
    session_id: default!(Option<String>, "NULL"),
    summary: default!(Option<String>, "NULL"),
    handoff: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("session_id", session_id)
        .text("summary", summary)
        .text("handoff", handoff)
        .run("memory_session_finish", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_session_start(space: default!(Option<&str>, "NULL")) -> Answer {
    Arguments::default().run("memory_session_start", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_vector(
    capsule_id: default!(Option<String>, "NULL"),
    embedding: default!(Option<Vec<Option<f32>>>, "NULL"),
    model_tag: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default()
        .text("capsule_id", capsule_id)
        .floats("embedding", embedding)
        .text("model_tag", model_tag)
        .run("memory_vector", space)
}

#[pg_extern(stable, parallel_restricted)]
fn capsule_verify(space: default!(Option<&str>, "NULL")) -> Answer {
    Arguments::default().run("memory_verify", space)
}

#[pg_extern(stable, parallel_restricted)]
fn capsule_visual(
    view: default!(Option<String>, "NULL"),
    project_prefix: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    Arguments::default().text("view", view).text("project_prefix", project_prefix).run("memory_visual", space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn capsule_adopt(
    id: default!(Option<pgrx::Uuid>, "NULL"),
    source: default!(Option<String>, "NULL"),
    anchor: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    adopt(id_argument("id", id)?, source, anchor, space)
}

#[pg_extern(immutable, parallel_safe)]
fn capsule_extract(content: default!(Option<String>, "NULL")) -> Answer {
    Arguments::default().text("content", content).run("memory_extract", None)
}

/// A stored instant as capsule answers show it (CAP-MODEL-14).
#[pg_extern(immutable, parallel_safe, name = "_capsule_stamp")]
fn capsule_stamp(at: TimestampWithTimeZone) -> String {
    crate::store::capsule::book::shown(at)
}
