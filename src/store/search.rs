//! Runs a search: each arm by itself, then what they found together, then the rows that won.

use super::also::Also;
use super::filter::Filter;
use super::jsonb::Jsonb;
use super::listing::{self, Page};
use super::semantic::{self, Target};
use super::session::Session;
use super::spi::in_memory_above;
use super::spi::{Row, arg};
use super::{fulltext, record, threads, winners};
use crate::domain::access::Level;
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::path::TreePath;
use crate::domain::search::blend::{self, Evidence};
use crate::domain::search::bm25::Scored;
use crate::domain::search::grep::Pattern;
use crate::domain::search::request::{Fusion, Order, Request, Words};
use crate::domain::search::rrf;
use crate::error::{Error, Result};
use crate::{filtered, statement};
use pgrx::prelude::*;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

filtered!(
    NEWEST,
    [
        "select m.id from me.memory as m
         where ($18 is null or case when {in_scope} then m.content ~* $18 end) and ($19 is null or m.id < $19) and ($21 is null or m.id <> all ($21)) and ",
        include_str!("filter.sql"),
        " order by m.id desc limit $20"
    ],
    [TEXTOID, UUIDOID, INT8OID, UUIDARRAYOID]
);
filtered!(
    OLDEST,
    [
        "select m.id from me.memory as m
         where ($18 is null or case when {in_scope} then m.content ~* $18 end) and ($19 is null or m.id > $19) and ($21 is null or m.id <> all ($21)) and ",
        include_str!("filter.sql"),
        " order by m.id limit $20"
    ],
    [TEXTOID, UUIDOID, INT8OID, UUIDARRAYOID]
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

/// One search as it goes.
struct Run<'a> {
    session: &'a Session<'a>,
    filter: &'a Filter,
    also: Also<'a>,
    request: &'a Request,
    steps: Vec<Step>,
}

/// Finds what a request asks for among the rows that pass the filter.
pub fn find(session: &Session, filter: &Filter, request: &Request) -> Result<Outcome> {
    // A text is embedded before anything is read.
    let target = request.semantic.as_ref().map(|meaning| Target::of(session, meaning)).transpose()?;
    if let Some(pattern) = &request.grep {
        check_pattern(session, pattern)?;
    }
    let also = Also::of(session, request.grep.as_ref())?;
    let mut run = Run { session, filter, also, request, steps: Vec::new() };
    let rows = if request.is_ranked() { run.rank(target.as_ref())? } else { run.list()? };
    Ok(Outcome { rows, steps: run.steps })
}

impl Run<'_> {
    fn note(
        &mut self,
        name: &'static str,
        plan: &str,
        rows: usize,
        begun: Instant,
        details: &[(&'static str, f64)],
    ) {
        let (plan, details) = (plan.to_owned(), details.to_vec());
        self.steps.push(Step { name, plan, rows, milliseconds: milliseconds(begun), details });
    }

    /// Each arm by itself, then what they found together.
    fn rank(&mut self, target: Option<&Target>) -> Result<Vec<Scored>> {
        let request = self.request;
        let blended = request.fusion == Fusion::Blend;
        let fused = blended || (target.is_some() && request.fulltext.is_some());
        let limit = if fused { request.candidates } else { request.limit };
        let fulltext = request.fulltext.as_ref().map(|words| self.fulltext(words, limit)).transpose()?;
        let semantic = target.map(|target| self.semantic(target, limit)).transpose()?;
        if blended {
            return self.blend(&Arms { fulltext, semantic: target.zip(semantic) });
        }
        match (fulltext, semantic) {
            (Some(fulltext), Some(semantic)) => {
                let begun = Instant::now();
                let rows = rrf::fuse(&fulltext.best, &semantic, request.weights, request.limit);
                self.note("fusion", "by rank", rows.len(), begun, &[]);
                Ok(rows)
            }
            (Some(fulltext), None) => Ok(fulltext.best),
            (None, semantic) => Ok(semantic.unwrap_or_default()),
        }
    }

    fn fulltext(&mut self, words: &Words, limit: usize) -> Result<fulltext::Found> {
        let begun = Instant::now();
        let found = fulltext::find(self.session, self.filter, &self.also, words, limit)?;
        let mut details = vec![("terms", found.query.terms.len() as f64), ("scored", found.scored as f64)];
        details.extend(self.of_whole_space("memories", found.query.corpus.0));
        self.note("fulltext", found.plan, found.best.len(), begun, &details);
        Ok(found)
    }

    fn semantic(&mut self, target: &Target, limit: usize) -> Result<Vec<Scored>> {
        let begun = Instant::now();
        let threshold = self.request.threshold;
        let found = semantic::find(self.session, self.filter, &self.also, target, threshold, limit)?;
        let details: Vec<_> = self.of_whole_space("estimate", found.estimate.round()).into_iter().collect();
        self.note("semantic", found.plan, found.best.len(), begun, &details);
        Ok(found.best)
    }

    /// A detail that tells something of every row of the space: for callers who may read every row.
    fn of_whole_space(&self, name: &'static str, value: f64) -> Option<(&'static str, f64)> {
        self.session.rights().allow(Level::Read, &TreePath::root()).then_some((name, value))
    }

    /// Fusion by score, over what the arms found and its neighbours in threads.
    fn blend(&mut self, arms: &Arms) -> Result<Vec<Scored>> {
        let begun = Instant::now();
        let mut ids: Vec<[u8; 16]> = Vec::new();
        let mut place: HashMap<[u8; 16], usize> = HashMap::new();
        let mut add = |id: [u8; 16]| {
            place.entry(id).or_insert_with(|| {
                ids.push(id);
                ids.len() - 1
            });
        };
        arms.found().for_each(|row| add(row.id));
        let found: Vec<[u8; 16]> = arms.found().map(|row| row.id).collect();
        let members = threads::around(self.session, self.filter, &self.also, &found)?;
        members.iter().for_each(|member| add(member.id));
        let words = self.words(arms, &ids)?;
        let meaning = self.meaning(arms, &ids)?;
        let mut rows: Vec<Evidence> = ids
            .iter()
            .map(|id| Evidence {
                id: *id,
                fulltext: words.get(id).copied(),
                semantic: meaning.get(id).copied(),
                neighbours: Vec::new(),
            })
            .collect();
        for member in &members {
            let beside = members.iter().filter(|other| member.is_beside(other));
            let beside = beside.filter_map(|other| place.get(&other.id).copied()).collect();
            if let Some(row) = place.get(&member.id).and_then(|at| rows.get_mut(*at)) {
                row.neighbours = beside;
            }
        }
        let similarities = arms.semantic.iter().flat_map(|(_, found)| found).map(|row| row.score);
        let floor = similarities.fold(f64::INFINITY, f64::min);
        let best = blend::blend(&rows, floor, self.request.weights, self.request.limit);
        let details = [("candidates", rows.len() as f64), ("threaded", members.len() as f64)];
        self.note("fusion", "by score", best.len(), begun, &details);
        Ok(best)
    }

    /// The BM25 scores of the rows: those found, and those asked for besides.
    fn words(&self, arms: &Arms, ids: &[[u8; 16]]) -> Result<HashMap<[u8; 16], f64>> {
        let Some(found) = &arms.fulltext else { return Ok(HashMap::new()) };
        let mut scores: HashMap<_, _> = found.best.iter().map(|row| (row.id, row.score)).collect();
        let asked: Vec<_> = ids.iter().filter(|id| !scores.contains_key(*id)).copied().collect();
        let more = fulltext::scores(self.session, &found.query, &asked)?;
        scores.extend(more.into_iter().map(|row| (row.id, row.score)));
        Ok(scores)
    }

    /// The similarities of the rows: those found, and those asked for besides.
    fn meaning(&self, arms: &Arms, ids: &[[u8; 16]]) -> Result<HashMap<[u8; 16], f64>> {
        let Some((target, found)) = &arms.semantic else { return Ok(HashMap::new()) };
        let mut scores: HashMap<_, _> = found.iter().map(|row| (row.id, row.score)).collect();
        let asked: Vec<_> = ids.iter().filter(|id| !scores.contains_key(*id)).copied().collect();
        let least = self.request.threshold.unwrap_or(f64::NEG_INFINITY);
        let more = semantic::similarities(self.session, self.filter, &self.also, target, &asked)?;
        scores.extend(more.into_iter().filter(|row| row.score >= least).map(|row| (row.id, row.score)));
        Ok(scores)
    }

    /// Rows by id (SRCH-20).
    fn list(&mut self) -> Result<Vec<Scored>> {
        let begun = Instant::now();
        let (statement, plan) = match self.request.order {
            Order::Ascending => (&OLDEST, "by id, oldest first"),
            Order::Descending => (&NEWEST, "by id, newest first"),
        };
        let page = Page {
            ascending: self.request.order == Order::Ascending,
            after: self.request.after,
            limit: self.request.limit,
        };
        if let Some(listed) = listing::page(self.session, self.filter, &self.also, &page)? {
            let plan = if listed.by_tree { "by tree, then by id" } else { plan };
            let rows: Vec<Scored> = listed.ids.into_iter().map(|id| Scored { id, score: LISTED }).collect();
            self.note("listing", plan, rows.len(), begun, &[]);
            return Ok(rows);
        }
        let own = [
            self.also.pattern(),
            self.request.after.and_then(|id| arg(pgrx::Uuid::from_bytes(*id.as_bytes()))),
            arg(self.request.limit as i64),
            self.also.hidden(),
        ];
        let rows = self
            .filter
            .run(self.session.db(), statement, own, 0)?
            .into_iter()
            .map(|row| Ok(Scored { id: *row.need::<pgrx::Uuid>(1)?.as_bytes(), score: LISTED }))
            .collect::<Result<Vec<_>>>()?;
        self.note("listing", plan, rows.len(), begun, &[]);
        Ok(rows)
    }
}

/// What the arms found.
struct Arms<'a> {
    fulltext: Option<fulltext::Found>,
    semantic: Option<(&'a Target, Vec<Scored>)>,
}

impl Arms<'_> {
    fn found(&self) -> impl Iterator<Item = &Scored> {
        let words = self.fulltext.iter().flat_map(|found| &found.best);
        words.chain(self.semantic.iter().flat_map(|(_, rows)| rows))
    }
}

fn milliseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1000.0
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
    if let Some(records) = winners::records(session, rows)?
        && let Some(answer) = in_memory_above(|| record::answer(&records, limit))
    {
        return Ok(answer);
    }
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
    if let Some(records) = winners::records(session, rows)? {
        return Ok(records.into_iter().map(Jsonb::text).collect());
    }
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
    if let Some(hits) = winners::hits(session, rows)? {
        return Ok(hits);
    }
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
