//! `me.memory_search`, `me.search` and `me.search_explain`: one request, three kinds of answer.

use super::filters::{CheckedFilters, Filters};
use super::memory::id_argument;
use super::{given, result};
use crate::domain::filter::TreeFilter;
pub use crate::domain::search::request::Arguments;
use crate::domain::search::request::Request;
use crate::domain::select::Select;
use crate::error::{Error, Result};
use crate::store::filter::Filter;
use crate::store::jsonb::Jsonb;
use crate::store::reindex;
use crate::store::search::{self as store, Hit, Outcome, Step};
use crate::store::session::{self, Session};
use pgrx::iter::TableIterator;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, Value, json};

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// What is searched for: the filters and the rest.
pub struct Search {
    /// The filters that export has too.
    pub filters: Filters,
    /// The rest.
    pub arguments: Arguments,
}

/// A checked [`Search`].
struct Checked {
    filters: CheckedFilters,
    request: Request,
}

impl Search {
    fn check(self) -> Result<Checked> {
        Ok(Checked { request: Request::parse(self.arguments)?, filters: self.filters.check()? })
    }
}

/// Runs a search; `answer` makes of what it found what the caller gets.
fn run<T>(
    search: Search,
    space: Option<&str>,
    answer: impl FnOnce(&Session, &Request, Outcome) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    let Checked { filters, request } = search.check()?;
    session::read(
        space,
        |home| {
            let criteria = filters.place(home, TreeFilter::parse_given)?;
            request.check_grep(criteria.narrow())?;
            Ok((criteria, request))
        },
        |session, (criteria, request)| {
            let filter = Filter::readable(session, criteria);
            let outcome = store::find(session, &filter, &request)?;
            answer(session, &request, outcome)
        },
    )
}

/// Runs `memory_search`.
pub fn memory_search_call(
    search: Search,
    select: Option<Vec<Option<String>>>,
    space: Option<&str>,
) -> Answer {
    let select = Select::parse("select", select).map_err(Error::from)?;
    run(search, space, |session, request, outcome| match select {
        None => store::answer(session, &outcome.rows, request.limit),
        Some(select) => {
            let rows = store::records(session, &outcome.rows)?
                .iter()
                .map(|record| {
                    select
                        .project(record)
                        .map_err(|error| Error::Internal(format!("a record could not be projected: {error}")))
                })
                .collect::<Result<Vec<_>>>()?;
            result(&format!(
                "{{\"results\":[{}],\"total\":{},\"limit\":{}}}",
                rows.join(","),
                rows.len(),
                request.limit
            ))
        }
    })
}

fn explain(search: Search, space: Option<&str>) -> Answer {
    run(search, space, |session, request, outcome| {
        let begun = std::time::Instant::now();
        let fetched = store::hits(session, &outcome.rows)?.len();
        let mut steps: Vec<Value> = outcome.steps.iter().map(step).collect();
        steps.push(json!({
            "step": "rows", "plan": "by id", "rows": fetched, "milliseconds": milliseconds(begun.elapsed().as_secs_f64() * 1e3)
        }));
        let mode = match (&request.semantic, &request.fulltext) {
            (Some(_), Some(_)) => "hybrid",
            (Some(_), None) => "semantic",
            (None, Some(_)) => "fulltext",
            (None, None) => "filter",
        };
        result(&json!({ "mode": mode, "limit": request.limit, "steps": steps }).to_string())
    })
}

fn step(step: &Step) -> Value {
    let mut fields = Map::new();
    fields.insert("step".into(), step.name.into());
    fields.insert("plan".into(), step.plan.clone().into());
    for (name, value) in &step.details {
        fields.insert((*name).into(), if value.fract() == 0.0 { json!(*value as i64) } else { json!(value) });
    }
    fields.insert("rows".into(), step.rows.into());
    fields.insert("milliseconds".into(), milliseconds(step.milliseconds));
    fields.into()
}

fn milliseconds(value: f64) -> Value {
    json!((value * 1000.0).round() / 1000.0)
}

/// What SQL callers give, as it comes.
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn given_search(
    semantic: Option<String>,
    fulltext: Option<String>,
    grep: Option<String>,
    meta: Option<Jsonb>,
    meta_predicate: Option<String>,
    tree: Option<String>,
    temporal: Option<Jsonb>,
    weights: Option<Jsonb>,
    candidate_limit: Option<i32>,
    semantic_threshold: Option<f64>,
    limit: Option<i32>,
    order_by: Option<String>,
    after: Option<pgrx::Uuid>,
    fusion: Option<String>,
    embedding: Option<Vec<Option<f32>>>,
) -> Result<Search> {
    Ok(Search {
        filters: Filters { tree, meta, meta_predicate, temporal },
        arguments: Arguments {
            semantic,
            embedding,
            fulltext,
            grep,
            weights: given(weights).map(Jsonb::text),
            candidate_limit: candidate_limit.map(i64::from),
            semantic_threshold,
            limit: limit.map(i64::from),
            order_by,
            after: id_argument("after", after)?,
            fusion,
        },
    })
}

#[pg_extern(stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn memory_search(
    semantic: default!(Option<String>, "NULL"),
    fulltext: default!(Option<String>, "NULL"),
    grep: default!(Option<String>, "NULL"),
    meta: default!(Option<Jsonb>, "NULL"),
    meta_predicate: default!(Option<String>, "NULL"),
    tree: default!(Option<String>, "NULL"),
    temporal: default!(Option<Jsonb>, "NULL"),
    weights: default!(Option<Jsonb>, "NULL"),
    candidate_limit: default!(Option<i32>, "NULL"),
    semantic_threshold: default!(Option<f64>, "NULL"),
    limit: default!(Option<i32>, "NULL"),
    order_by: default!(Option<String>, "NULL"),
    select: default!(Option<Vec<Option<String>>>, "NULL"),
    after: default!(Option<pgrx::Uuid>, "NULL"),
    fusion: default!(Option<String>, "NULL"),
    embedding: default!(Option<Vec<Option<f32>>>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let search = given_search(
        semantic,
        fulltext,
        grep,
        meta,
        meta_predicate,
        tree,
        temporal,
        weights,
        candidate_limit,
        semantic_threshold,
        limit,
        order_by,
        after,
        fusion,
        embedding,
    )?;
    memory_search_call(search, select, space)
}

#[pg_extern(stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, clippy::type_complexity, reason = "the SQL signature")]
fn search(
    semantic: default!(Option<String>, "NULL"),
    fulltext: default!(Option<String>, "NULL"),
    grep: default!(Option<String>, "NULL"),
    meta: default!(Option<Jsonb>, "NULL"),
    meta_predicate: default!(Option<String>, "NULL"),
    tree: default!(Option<String>, "NULL"),
    temporal: default!(Option<Jsonb>, "NULL"),
    weights: default!(Option<Jsonb>, "NULL"),
    candidate_limit: default!(Option<i32>, "NULL"),
    semantic_threshold: default!(Option<f64>, "NULL"),
    limit: default!(Option<i32>, "NULL"),
    order_by: default!(Option<String>, "NULL"),
    after: default!(Option<pgrx::Uuid>, "NULL"),
    fusion: default!(Option<String>, "NULL"),
    embedding: default!(Option<Vec<Option<f32>>>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(id, pgrx::Uuid),
            name!(tree, String),
            name!(name, Option<String>),
            name!(content, String),
            name!(meta, Jsonb),
            name!(temporal_start, Option<TimestampWithTimeZone>),
            name!(temporal_end, Option<TimestampWithTimeZone>),
            name!(score, f64),
        ),
    >,
    ErrorReport,
> {
    let search = given_search(
        semantic,
        fulltext,
        grep,
        meta,
        meta_predicate,
        tree,
        temporal,
        weights,
        candidate_limit,
        semantic_threshold,
        limit,
        order_by,
        after,
        fusion,
        embedding,
    )?;
    let hits = run(search, space, |session, _, outcome| store::hits(session, &outcome.rows))?;
    Ok(TableIterator::new(
        hits.into_iter().map(|hit: Hit| {
            (hit.id, hit.tree, hit.name, hit.content, hit.meta, hit.start, hit.end, hit.score)
        }),
    ))
}

#[pg_extern(stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn search_explain(
    semantic: default!(Option<String>, "NULL"),
    fulltext: default!(Option<String>, "NULL"),
    grep: default!(Option<String>, "NULL"),
    meta: default!(Option<Jsonb>, "NULL"),
    meta_predicate: default!(Option<String>, "NULL"),
    tree: default!(Option<String>, "NULL"),
    temporal: default!(Option<Jsonb>, "NULL"),
    weights: default!(Option<Jsonb>, "NULL"),
    candidate_limit: default!(Option<i32>, "NULL"),
    semantic_threshold: default!(Option<f64>, "NULL"),
    limit: default!(Option<i32>, "NULL"),
    order_by: default!(Option<String>, "NULL"),
    after: default!(Option<pgrx::Uuid>, "NULL"),
    fusion: default!(Option<String>, "NULL"),
    embedding: default!(Option<Vec<Option<f32>>>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let search = given_search(
        semantic,
        fulltext,
        grep,
        meta,
        meta_predicate,
        tree,
        temporal,
        weights,
        candidate_limit,
        semantic_threshold,
        limit,
        order_by,
        after,
        fusion,
        embedding,
    )?;
    explain(search, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn search_reindex(limit: default!(Option<i32>, "NULL"), space: default!(Option<&str>, "NULL")) -> Answer {
    let most = limit.filter(|most| *most > 0).map_or(reindex::AT_ONCE, i64::from);
    let turn = session::manage(space, |_| Ok(()), |session, ()| reindex::refresh(session, most))?;
    Ok(result(&json!({"indexed": turn.indexed, "complete": turn.complete}).to_string())?)
}
