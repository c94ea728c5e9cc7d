//! Recall: it answers grounded, missing evidence or abstain, and nothing else (CAP-RET).

use super::fault::{Fault, Result};
use super::project::Fence;
use super::shape::Shape;
use super::stamp::Stamp;
use super::text::{fold, has_alphanumeric, is_blank};
use super::words::Lane;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The budget when none is given.
pub const TOKEN_BUDGET_DEFAULT: u64 = 1500;
const VECTOR_K_DEFAULT: u64 = 10;
/// Most neighbours by meaning a call may ask for, and how many it gets when nothing else was found.
pub const NEIGHBOURS: (u64, u64) = (20, 5);

/// A bounded or half-bounded time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    from: Option<Stamp>,
    to: Option<Stamp>,
}

impl Window {
    fn take(shape: &mut Shape) -> Result<Option<Self>> {
        let Some(fields) = shape.object("time_window")? else { return Ok(None) };
        let mut window = Shape::at("time_window.".into(), fields, &["from", "to"])?;
        let mut bound = |key: &'static str| -> Result<Option<Stamp>> {
            let Some(text) = window.text(key)? else { return Ok(None) };
            let refused = || {
                Fault::value(
                    "time_window",
                    format!("time_window.{key} is no RFC 3339 timestamp with an offset"),
                )
            };
            Stamp::parse(&text).map(Some).ok_or_else(refused)
        };
        let (from, to) = (bound("from")?, bound("to")?);
        if from.is_none() && to.is_none() {
            return Err(Fault::value("time_window", "time_window needs from, to or both"));
        }
        Ok(Some(Self { from, to }))
    }

    /// Whether a time touches it, both ends included.
    pub fn meets(&self, event: (i64, i64)) -> bool {
        self.from.as_ref().is_none_or(|from| event.1 >= from.pg_micros())
            && self.to.as_ref().is_none_or(|to| event.0 <= to.pg_micros())
    }
}

/// A checked call.
#[derive(Debug, Clone)]
pub struct Query {
    /// The usable terms, in the caller's order.
    pub terms: Vec<String>,
    /// Which projects.
    pub fence: Fence,
    /// Which session's capsules, if only one's.
    pub session_id: Option<String>,
    /// When the fact must have been.
    pub window: Option<Window>,
    /// Most rows.
    pub limit: Option<u64>,
    /// Most tokens.
    pub token_budget: u64,
    /// The caller's own vector.
    pub embedding: Option<Vec<f32>>,
    /// How many the vector lane adds.
    pub vector_k: usize,
    /// Which lanes are used.
    pub lane: Lane,
    /// Whether proposals count.
    pub include_staged: bool,
    /// The epic or task whose parts alone are looked at.
    pub effort_id: Option<String>,
    /// The capsule what is said about which alone is looked at.
    pub topic_id: Option<String>,
    /// How much the scores of earlier outcomes count, 0 to 1.
    pub weight_blend: f64,
    /// How much witnesses count, 0 to 1.
    pub corroboration_blend: f64,
    /// Most neighbours by meaning, if the caller says it.
    pub neighbours: Option<u64>,
}

impl Query {
    /// Whether something beside words and vectors counts for the order.
    pub fn is_blended(&self) -> bool {
        self.weight_blend > 0.0 || self.corroboration_blend > 0.0
    }

    /// Most rows that are looked at in order: a row costs so much of the budget at least.
    pub fn rows_at_most(&self) -> usize {
        let of_budget = self.token_budget / ROW_COST_LEAST + 1;
        let rows = self.limit.map_or(of_budget, |limit| limit.min(of_budget));
        usize::try_from(rows).unwrap_or(usize::MAX)
    }
}

/// What the shortest row costs at least: its hash alone is longer.
const ROW_COST_LEAST: u64 = 16;

/// Reads a call.
pub fn parse(fields: Map<String, Value>) -> Result<Query> {
    let mut shape = Shape::new(
        fields,
        &[
            "terms",
            "project_id",
            "project_prefix",
            "limit",
            "token_budget",
            "query_embedding",
            "vector_k",
            "time_window",
            "session_id",
            "lane",
            "include_staged",
            "effort_id",
            "topic_id",
            "weight_blend",
            "corroboration_blend",
            "neighbours",
        ],
    )?;
    let terms = shape.texts("terms")?.ok_or_else(|| shape.missing("terms"))?;
    let (project_id, prefix) = (shape.text("project_id")?, shape.text("project_prefix")?);
    let limit = shape.count("limit")?;
    let token_budget = shape.count("token_budget")?.unwrap_or(TOKEN_BUDGET_DEFAULT);
    let embedding = shape.floats("query_embedding")?;
    let vector_k = shape.count("vector_k")?.unwrap_or(VECTOR_K_DEFAULT);
    let session_id = shape.text("session_id")?;
    let lane = shape.word("lane", Lane::WORDS, Lane::from_word)?.unwrap_or(Lane::Auto);
    let include_staged = shape.boolean("include_staged")?.unwrap_or(false);
    let (effort_id, topic_id) = (shape.text("effort_id")?, shape.text("topic_id")?);
    let (weight_blend, corroboration_blend) =
        (shape.number("weight_blend")?, shape.number("corroboration_blend")?);
    let neighbours = shape.count("neighbours")?;
    let window = Window::take(&mut shape)?;
    let terms = usable(terms);
    if terms.is_empty() {
        return Err(Fault::value("terms", "terms holds no term with a letter or digit"));
    }
    if session_id.as_deref().is_some_and(is_blank) {
        return Err(Fault::value("session_id", "session_id is blank"));
    }
    let weight_blend = share("weight_blend", weight_blend)?;
    let corroboration_blend = share("corroboration_blend", corroboration_blend)?;
    if neighbours.is_some_and(|count| count > NEIGHBOURS.0) {
        return Err(Fault::value("neighbours", format!("neighbours is more than {}", NEIGHBOURS.0)));
    }
    if let Some(vector) = &embedding {
        check_vector("query_embedding", vector)?;
    } else if matches!(lane, Lane::Vector | Lane::Fused) {
        return Err(Fault::value("lane", format!("lane {} needs query_embedding", lane.word())));
    }
    Ok(Query {
        terms,
        fence: Fence::new(project_id, prefix)?,
        session_id,
        window,
        limit,
        token_budget,
        embedding: embedding.filter(|_| lane != Lane::Term),
        vector_k: usize::try_from(vector_k).unwrap_or(usize::MAX),
        lane,
        include_staged,
        effort_id,
        topic_id,
        weight_blend,
        corroboration_blend,
        neighbours,
    })
}

/// A share between nothing and all.
fn share(argument: &'static str, value: Option<f64>) -> Result<f64> {
    let value = value.unwrap_or(0.0);
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(Fault::value(argument, format!("{argument} {value} is not between 0 and 1")))
}

/// The terms that can match, each once (CAP-RET-2).
pub fn usable(terms: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    terms
        .into_iter()
        .map(|term| term.trim().to_owned())
        .filter(|term| has_alphanumeric(term) && seen.insert(term.clone()))
        .collect()
}

/// Refuses a vector that points nowhere (CAP-VEC-4, CAP-RET-25).
pub fn check_vector(argument: &'static str, vector: &[f32]) -> Result<()> {
    if vector.is_empty() {
        return Err(Fault::value(argument, format!("{argument} is empty")));
    }
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(Fault::value(argument, format!("{argument} holds a number that is not finite")));
    }
    if vector.iter().all(|value| *value == 0.0) {
        return Err(Fault::value(argument, format!("{argument} is all zeros")));
    }
    Ok(())
}

/// The cosine of two vectors of one dimension.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    let norm = |vector: &[f32]| vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let product = norm(a) * norm(b);
    if product > 0.0 { dot / product } else { 0.0 }
}

/// Why nothing was found, in words (CAP-RET-10).
pub fn abstention(query: &Query, aliases: usize) -> String {
    let mut text =
        format!("nothing matches the {} usable term(s){}", query.terms.len(), query.fence.describe());
    if let Some(session) = &query.session_id {
        text.push_str(&format!(" in session {}", crate::domain::invalid::excerpt(session)));
    }
    for (what, id) in [("effort", &query.effort_id), ("topic", &query.topic_id)] {
        if let Some(id) = id {
            text.push_str(&format!(" of {what} {}", crate::domain::invalid::excerpt(id)));
        }
    }
    if aliases > 0 {
        text.push_str(&format!(", nor the {aliases} alias(es) taught for them"));
    }
    text
}

/// The distinct folded terms a miss is recorded under (CAP-RET-22).
pub fn missed(terms: &[String]) -> Vec<String> {
    let folded: BTreeSet<String> =
        terms.iter().map(|term| fold(term)).filter(|term| has_alphanumeric(term)).collect();
    folded.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn query(value: Value) -> Result<Query> {
        match value {
            Value::Object(fields) => parse(fields),
            _ => Err(Fault::shape("", "no object")),
        }
    }

    #[test]
    fn unusable_terms_are_dropped_while_one_is_left() {
        assert_eq!(query(json!({"terms": [" a ", "--", "a"]})).unwrap().terms, ["a"]);
        assert!(matches!(query(json!({"terms": ["!!"]})), Err(Fault::Value { .. })));
        assert!(matches!(query(json!({"terms": "otter"})), Err(Fault::Shape { .. })));
        assert!(matches!(query(json!({})), Err(Fault::Shape { .. })));
    }

    #[test]
    fn vectors_must_point_somewhere() {
        for vector in [json!([]), json!([0, 0]), json!([1e300])] {
            assert!(query(json!({"terms": ["a"], "query_embedding": vector})).is_err(), "{vector}");
        }
        assert!(query(json!({"terms": ["a"], "lane": "fused"})).is_err());
    }

    #[test]
    fn shares_and_neighbours_have_bounds() {
        for wrong in
            [json!({"weight_blend": 1.1}), json!({"corroboration_blend": -0.1}), json!({"neighbours": 21})]
        {
            let mut fields = json!({"terms": ["a"]});
            for (key, value) in wrong.as_object().unwrap() {
                fields[key] = value.clone();
            }
            assert!(matches!(query(fields), Err(Fault::Value { .. })), "{wrong}");
        }
        assert!(!query(json!({"terms": ["a"], "weight_blend": 0})).unwrap().is_blended());
    }

    #[test]
    fn an_abstention_says_what_was_asked() {
        let of = query(json!({"terms": ["walrus", "narwhal"], "project_id": "demo"})).unwrap();
        let text = abstention(&of, 3);
        assert!(text.contains('2') && text.contains("demo") && text.contains('3'), "{text}");
    }
}
