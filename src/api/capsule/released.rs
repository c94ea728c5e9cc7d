//! Functions as 0.1.0 declares them: its catalogue calls these symbols until it is updated (docs/development.md).

use super::{Answer, Fields, run};
use crate::store::jsonb::Jsonb;
use pgrx::prelude::*;
use serde_json::Value;

/// Puts what is given; nulls are not.
fn fields<const N: usize>(values: [(&str, Option<Value>); N]) -> Fields {
    values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[pg_extern(sql = false)]
fn capsule_merge(from: Option<String>, space: Option<&str>) -> Answer {
    run("memory_merge", fields([("from", from.map(Value::from))]), space)
}

#[pg_extern(sql = false)]
fn capsule_outcome(
    description: Option<String>,
    actor: Option<String>,
    evidence_ref: Option<String>,
    capsule_id: Option<String>,
    space: Option<&str>,
) -> Answer {
    let fields = fields([
        ("description", description.map(Value::from)),
        ("actor", actor.map(Value::from)),
        ("evidence_ref", evidence_ref.map(Value::from)),
        ("capsule_id", capsule_id.map(Value::from)),
    ]);
    run("memory_outcome", fields, space)
}

#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn capsule_retrieve(
    terms: Option<Vec<Option<String>>>,
    project_id: Option<String>,
    project_prefix: Option<String>,
    limit: Option<i32>,
    token_budget: Option<i32>,
    query_embedding: Option<Vec<Option<f32>>>,
    vector_k: Option<i32>,
    time_window: Option<Jsonb>,
    session_id: Option<String>,
    lane: Option<String>,
    include_staged: Option<bool>,
    space: Option<&str>,
) -> Answer {
    let window = time_window.map(|window| {
        let text = window.text();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    });
    let fields = fields([
        ("terms", terms.map(|terms| terms.into_iter().map(Value::from).collect())),
        ("project_id", project_id.map(Value::from)),
        ("project_prefix", project_prefix.map(Value::from)),
        ("limit", limit.map(Value::from)),
        ("token_budget", token_budget.map(Value::from)),
        ("query_embedding", query_embedding.map(|vector| vector.into_iter().map(Value::from).collect())),
        ("vector_k", vector_k.map(Value::from)),
        ("time_window", window),
        ("session_id", session_id.map(Value::from)),
        ("lane", lane.map(Value::from)),
        ("include_staged", include_staged.map(Value::from)),
    ]);
    run("memory_retrieve", fields, space)
}
