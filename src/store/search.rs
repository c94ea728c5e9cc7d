//! Runs a search: each arm by itself, then what they found together, then the rows that won.

use super::filter::Filter;
use super::fulltext;
use super::jsonb::Jsonb;
use super::session::Session;
use super::spi::{Row, arg};
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::search::bm25::Scored;
use crate::domain::search::grep::Pattern;
use crate::domain::search::request::{Order, Request};
use crate::error::{Error, Result};
use crate::{filtered, statement};
use pgrx::prelude::*;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

filtered!(
    NEWEST,
    [
        "select m.id from me.memory as m
         where ($18 is null or m.content ~* $18) and ($19 is null or m.id < $19) and ",
        include_str!("filter.sql"),
        " order by m.id desc limit $20"
    ],
    [TEXTOID, UUIDOID, INT8OID]
);
filtered!(
    OLDEST,
    [
        "select m.id from me.memory as m
         where ($18 is null or m.content ~* $18) and ($19 is null or m.id > $19) and ",
        include_str!("filter.sql"),
        " order by m.id limit $20"
    ],
    [TEXTOID, UUIDOID, INT8OID]
);
statement!(
    /// The answer, whole records.
    ANSWER,
    ["select pg_catalog.jsonb_build_object(
        'results', coalesce(pg_catalog.jsonb_agg(
          me._record(m, $4) || pg_catalog.jsonb_build_object('score', w.score::numeric) order by w.n), '[]'),
        'total', count(m.id), 'limit', $5::bigint)
      from unnest($2::uuid[], $3::text[]) with ordinality as w (id, score, n)
      join me.memory as m on m.space = $1 and m.id = w.id"],
    [TEXTOID, UUIDARRAYOID, TEXTARRAYOID, TEXTOID, INT8OID]
);
statement!(
    /// The records one by one, to be projected.
    RECORDS,
    ["select me._record(m, $4) || pg_catalog.jsonb_build_object('score', w.score::numeric)
      from unnest($2::uuid[], $3::text[]) with ordinality as w (id, score, n)
      join me.memory as m on m.space = $1 and m.id = w.id
      order by w.n"],
    [TEXTOID, UUIDARRAYOID, TEXTARRAYOID, TEXTOID]
);
statement!(
    ROWS,
    ["select m.id, me._tree_display(m.tree::text, $4), m.name, m.content, m.meta,
        lower(m.temporal), upper(m.temporal), w.score::float8
      from unnest($2::uuid[], $3::text[]) with ordinality as w (id, score, n)
      join me.memory as m on m.space = $1 and m.id = w.id
      order by w.n"],
    [TEXTOID, UUIDARRAYOID, TEXTARRAYOID, TEXTOID]
);
statement!(COMPILE, ["select '' operator(pg_catalog.~*) $1"], [TEXTOID]);

/// The score of rows that are listed, not ranked (SRCH-20).
const LISTED: f64 = -1.0;

/// One step of a search, for those who ask why.
#[derive(Debug)]
pub struct Step {
    /// `listing`, `fulltext`, `semantic`, `fusion` or `rows`.
    pub name: &'static str,
    /// How it was done.
    pub plan: String,
    /// Rows it left.
    pub rows: usize,
    /// Milliseconds it took.
    pub milliseconds: f64,
    /// What else it knows: names and numbers.
    pub details: Vec<(&'static str, f64)>,
}

/// What a search found, best first, and how.
pub struct Outcome {
    /// Ids with their scores.
    pub rows: Vec<Scored>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// Finds what a request asks for among the rows that pass the filter.
pub fn find(session: &Session, filter: &Filter, request: &Request) -> Result<Outcome> {
    if let Some(pattern) = &request.grep {
        check_pattern(session, pattern)?;
    }
    let mut steps = Vec::new();
    let rows = if request.semantic.is_some() {
        return Err(Error::EmbeddingNotConfigured);
    } else if let Some(words) = &request.fulltext {
        let begun = Instant::now();
        let found = fulltext::find(session, filter, request.grep.as_ref(), words, request.limit, &[])?;
        steps.push(fulltext_step(&found, begun));
        found.best
    } else {
        list(session, filter, request, &mut steps)?
    };
    Ok(Outcome { rows, steps })
}

fn fulltext_step(found: &fulltext::Found, begun: Instant) -> Step {
    Step {
        name: "fulltext",
        plan: found.report.plan.to_owned(),
        rows: found.best.len(),
        milliseconds: milliseconds(begun),
        details: vec![
            ("terms", found.report.terms as f64),
            ("scored", found.report.matched as f64),
            ("memories", found.report.memories),
        ],
    }
}

pub(super) fn milliseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1000.0
}

/// Rows by id (SRCH-20).
fn list(session: &Session, filter: &Filter, request: &Request, steps: &mut Vec<Step>) -> Result<Vec<Scored>> {
    let begun = Instant::now();
    let (statement, plan) = match request.order {
        Order::Ascending => (&OLDEST, "by id, oldest first"),
        Order::Descending => (&NEWEST, "by id, newest first"),
    };
    let own = [
        request.grep.as_ref().and_then(|pattern| arg(pattern.as_str())),
        request.after.and_then(|id| arg(pgrx::Uuid::from_bytes(*id.as_bytes()))),
        arg(request.limit as i64),
    ];
    let rows = filter
        .run(session.db(), statement, own, 0)?
        .into_iter()
        .map(|row| Ok(Scored { id: *row.need::<pgrx::Uuid>(1)?.as_bytes(), score: LISTED }))
        .collect::<Result<Vec<_>>>()?;
    steps.push(Step {
        name: "listing",
        plan: plan.to_owned(),
        rows: rows.len(),
        milliseconds: milliseconds(begun),
        details: Vec::new(),
    });
    Ok(rows)
}

/// Refuses a pattern that the server cannot compile (SRCH-23).
fn check_pattern(session: &Session, pattern: &Pattern) -> Result<()> {
    let session = AssertUnwindSafe(session);
    let text = pattern.as_str().to_owned();
    let shown = excerpt(pattern.as_str());
    PgTryBuilder::new(move || {
        let session = session;
        session.db().row(&COMPILE, &[arg(text.as_str())]).map(|_| ())
    })
    .catch_when(PgSqlErrorCode::ERRCODE_INVALID_REGULAR_EXPRESSION, move |_| {
        Err(Invalid::new(
            "grep",
            "SRCH-23",
            format!("argument \"grep\" is no regular expression: {shown}"),
            "Write a POSIX regular expression; put a backslash before ( ) [ ] { } . * + ? ^ $ | to mean the character.",
        )
        .into())
    })
    .execute()
}

/// A score as the text of a number that loses nothing, whatever the session has set.
fn score_texts(rows: &[Scored]) -> Vec<Option<String>> {
    rows.iter().map(|row| Some(row.score.to_string())).collect()
}

fn ids(rows: &[Scored]) -> Vec<pgrx::Uuid> {
    rows.iter().map(|row| pgrx::Uuid::from_bytes(row.id)).collect()
}

/// The answer with whole records (SRCH-6, SRCH-7).
pub fn answer(session: &Session, rows: &[Scored], limit: usize) -> Result<Jsonb> {
    let args = [
        arg(session.space()),
        arg(ids(rows)),
        arg(score_texts(rows)),
        session.home_label(),
        arg(limit as i64),
    ];
    session
        .db()
        .row(&ANSWER, &args)?
        .and_then(|row| row.copied(1))
        .map(Jsonb::from_raw)
        .ok_or_else(|| Error::Internal("a search has no answer".into()))
}

/// The records with their scores, as JSON text.
pub fn records(session: &Session, rows: &[Scored]) -> Result<Vec<String>> {
    let args = [arg(session.space()), arg(ids(rows)), arg(score_texts(rows)), session.home_label()];
    session
        .db()
        .run(&RECORDS, &args)?
        .into_iter()
        .map(|row| {
            row.raw(1)
                .map(|datum| Jsonb::from_raw(datum).text())
                .ok_or_else(|| Error::Internal("a record is missing".into()))
        })
        .collect()
}

/// One row of `me.search`.
pub struct Hit {
    /// The memory.
    pub id: pgrx::Uuid,
    /// Where, as the caller writes it.
    pub tree: String,
    /// Leaf name.
    pub name: Option<String>,
    /// The text.
    pub content: String,
    /// The metadata.
    pub meta: Jsonb,
    /// When it begins.
    pub start: Option<TimestampWithTimeZone>,
    /// When it ends; the start, for a point.
    pub end: Option<TimestampWithTimeZone>,
    /// How well it fits.
    pub score: f64,
}

/// The rows of `me.search`.
pub fn hits(session: &Session, rows: &[Scored]) -> Result<Vec<Hit>> {
    let args = [arg(session.space()), arg(ids(rows)), arg(score_texts(rows)), session.home_label()];
    session.db().run(&ROWS, &args)?.into_iter().map(|row| hit(&row)).collect()
}

fn hit(row: &Row) -> Result<Hit> {
    Ok(Hit {
        id: row.need(1)?,
        tree: row.need(2)?,
        name: row.get(3),
        content: row.need(4)?,
        meta: row
            .copied(5)
            .map(Jsonb::from_raw)
            .ok_or_else(|| Error::Internal("metadata is missing".into()))?,
        start: row.get(6),
        end: row.get(7),
        score: row.need(8)?,
    })
}
