//! Full text search, second half: which memories hold a query's terms, and how well (SRCH-16 to SRCH-18).
//!
//! Everything that finds and scores is behind [`find`]: through the lexical index where there is one, and else by
//! going through every row that holds a term.

use super::also::Also;
use super::filter::Filter;
use super::keyed::{Key, Keyed, Kind};
use super::lexeme::Lexer;
use super::lexical::read::{self as lexical, Index};
use super::passing::Passing;
use super::seen::Shelf;
use super::session::Session;
use super::spi::{Rows, arg};
use super::statistics;
use super::tsvector::TsVector;
use crate::domain::lexical::choice::{Outlook, Way};
use crate::domain::limits::FULLTEXT_TERMS;
use crate::domain::search::bm25::{Collector, Scored};
use crate::domain::search::findings::{Findings, Query};
use crate::domain::search::request::Words;
use crate::error::{Error, Result};
use crate::{filtered, statement};
use pgrx::datum::Internal;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use pgrx::{direct_function_call_as_datum, pg_sys};
use std::cell::RefCell;
use std::ffi::CString;
use std::time::Instant;

statement!(TEXT_CONFIG, ["select s.text_config from me.space as s where s.slug = $1"], [TEXTOID]);
static TEXT_CONFIG_BY_KEY: Keyed = Keyed {
    table: c"space",
    index: c"space_pkey",
    keys: &[0],
    columns: &[(c"slug", Kind::Text), (c"text_config", Kind::Text)],
};
statement!(
    /// Every memory of the space that holds a term.
    EVERYWHERE,
    ["select me._bm25(l.memory_id, l.lexemes, l.length, l.pieces, true, $3)
      from me.memory_lexeme as l where l.space = $1 and l.lexemes @@ $2"],
    [TEXTOID, TSQUERYOID, TEXTOID]
);
filtered!(
    /// The same with a filter, of which rows that do not pass are told too: they count in the statistics.
    COUNTED,
    [
        "select me._bm25(l.memory_id, l.lexemes, l.length, l.pieces, ",
        include_str!("filter.sql"),
        " and ($20 is null or case when {in_scope} then m.content ~* $20 end) and ($21 is null or m.id <> all ($21)), $19)
         from me.memory_lexeme as l join me.memory as m on m.space = l.space and m.id = l.memory_id
         where l.space = $1 and l.lexemes @@ $18"
    ],
    [TSQUERYOID, TEXTOID, TEXTOID, UUIDARRAYOID]
);
filtered!(
    /// The memories that pass a filter and hold a term, whichever is the quicker way to them.
    PASSING,
    [
        "select me._bm25(l.memory_id, l.lexemes, l.length, l.pieces, true, $19)
         from me.memory_lexeme as l join me.memory as m on m.space = l.space and m.id = l.memory_id
         where l.space = $1 and l.lexemes @@ $18 and ($20 is null or case when {in_scope} then m.content ~* $20 end)
           and ($21 is null or m.id <> all ($21)) and ",
        include_str!("filter.sql")
    ],
    [TSQUERYOID, TEXTOID, TEXTOID, UUIDARRAYOID]
);
statement!(
    /// Some memories, of those that hold a term.
    GIVEN,
    ["select me._bm25(l.memory_id, l.lexemes, l.length, l.pieces, true, $3)
      from unnest($4::uuid[]) as w (id)
      join me.memory_lexeme as l on l.space = $1 and l.memory_id = w.id
      where l.lexemes @@ $2"],
    [TEXTOID, TSQUERYOID, TEXTOID, UUIDARRAYOID]
);

filtered!(
    /// Of some memories those that pass, by their places.
    CHECKED,
    [
        "select w.place from unnest($18::uuid[]) with ordinality as w (id, place)
         join me.memory as m on m.space = $1 and m.id = w.id
         where ($19 is null or m.content ~* $19) and ($20 is null or m.id <> all ($20)) and ",
        include_str!("filter.sql")
    ],
    [UUIDARRAYOID, TEXTOID, UUIDARRAYOID]
);

filtered!(
    /// All that pass.
    IDS,
    ["select m.id from me.memory as m where ($18 is null or m.id <> all ($18)) and ", include_str!("filter.sql")],
    [UUIDARRAYOID]
);

/// What was found, and how.
pub struct Found {
    /// The best rows, in order.
    pub best: Vec<Scored>,
    /// How the rows were reached.
    pub plan: &'static str,
    /// Rows that were scored.
    pub scored: u64,
    /// The query, with what is known of its terms now.
    pub query: Query,
}

/// The `limit` best memories by words, among those that pass the filter.
pub fn find(session: &Session, filter: &Filter, also: &Also, words: &Words, limit: usize) -> Result<Found> {
    let terms = terms(session, words)?;
    let mut query = Query {
        terms: terms.iter().map(|(term, _)| term.clone()).collect(),
        in_query: terms.iter().map(|(_, count)| *count).collect(),
        corpus: (0.0, 0.0),
        limit,
        documents: None,
    };
    if terms.is_empty() {
        return Ok(Found { best: Vec::new(), plan: "no terms", scored: 0, query });
    }
    let all = also.is_nothing() && filter.is_whole_space();
    if let Some(mut index) = lexical::open(session, &query.terms)? {
        query.corpus = (index.corpus.count, index.corpus.length);
        query.documents = Some(index.documents.clone());
        return by_index(session, filter, also, query, &mut index, all);
    }
    let corpus = statistics::corpus(session)?;
    query.corpus = (corpus.count, corpus.length);
    if !all {
        query.documents = statistics::documents(session, &query.terms);
    }
    let plan = match (all, &query.documents) {
        (true, _) => "every match of the space",
        (false, None) => "every match of the space, filtered",
        (false, Some(_)) => "matches that pass the filter",
    };
    let begun = Instant::now();
    let findings = run(session, filter, also, &query, all)?;
    if query.documents.is_none() {
        statistics::learn(session, &query.terms, &findings.documents, begun.elapsed());
        query.documents = Some(findings.documents);
    }
    Ok(Found { best: findings.best, plan, scored: findings.matched, query })
}

/// Finds by the lexical index, which knows the statistics exactly.
fn by_index(
    session: &Session,
    filter: &Filter,
    also: &Also,
    query: Query,
    index: &mut Index,
    all: bool,
) -> Result<Found> {
    if all {
        let (best, scored) = index.best(&query.in_query, query.limit)?;
        return Ok(Found { best, plan: "lexical index, best first", scored, query });
    }
    let memories = query.corpus.0;
    let matching = (index.matching() as f64).min(memories);
    if matching == 0.0 {
        return Ok(Found { best: Vec::new(), plan: "lexical index: no memory has a term", scored: 0, query });
    }
    let passing = if index.is_by_key() { Passing::of(session, filter, also)? } else { None };
    let mut outlook =
        Outlook { limit: query.limit as f64, memories, passing: None, matching, by_key: passing.is_some() };
    let estimate = || Ok::<_, Error>(Some(filter.estimate(session.db())?.min(memories)));
    let mut way = match &passing {
        None => {
            outlook.passing = estimate()?;
            outlook.choose()
        }
        Some(passing) => {
            let worth = outlook.worth();
            match passing.in_scope(worth + 1)? {
                Some(few) if few <= worth => Way::FilterFirst,
                // Of the matches there are so few that it does not matter how many rows pass.
                _ if matching <= outlook.limit * ALL_CHECKED => outlook.choose(),
                Some(_) if passing.is_by_tree_alone() => outlook.choose(),
                _ => {
                    outlook.passing = estimate()?;
                    outlook.choose()
                }
            }
        }
    };
    while let Way::BestFirst(wanted) = way {
        let (rows, _) = index.best(&query.in_query, wanted)?;
        let looked = rows.len();
        let mut best = match &passing {
            Some(passing) => passing.first(&rows, query.limit)?,
            None => checked(session, filter, also, rows)?,
        };
        if best.len() >= query.limit || looked < wanted || wanted as f64 >= matching {
            // How many were looked at is not told: of those that do not pass, nothing is.
            let scored = best.len() as u64;
            best.truncate(query.limit);
            return Ok(Found { best, plan: "lexical index, best first, then the filter", scored, query });
        }
        way = outlook.again(wanted, best.len(), |most| match &passing {
            Some(passing) => Ok::<_, Error>(passing.in_scope(most)?.unwrap_or(most)),
            None => Ok(most),
        })?;
    }
    if let Some(passing) = &passing {
        let ids = match passing.ids(outlook.passing)? {
            Some(ids) => ids,
            None => ids(session, filter, also)?,
        };
        let (best, scored) = index.among(&query.in_query, &ids, query.limit)?;
        return Ok(Found {
            best,
            plan: "the filter first, then what the lexical index has of it",
            scored,
            query,
        });
    }
    let findings = run(session, filter, also, &query, false)?;
    let plan = "the filter first, then the lexemes of what passes";
    Ok(Found { best: findings.best, plan, scored: findings.matched, query })
}

/// The ids of all that pass, in order, by a statement.
fn ids(session: &Session, filter: &Filter, also: &Also) -> Result<Vec<[u8; 16]>> {
    let rows = filter.run(session.db(), &IDS, [also.hidden()], 0)?;
    let mut ids: Vec<[u8; 16]> =
        rows.into_iter().map(|row| Ok(*row.need::<pgrx::Uuid>(1)?.as_bytes())).collect::<Result<_>>()?;
    ids.sort_unstable();
    Ok(ids)
}

/// Up to how many times as many matches as rows are wanted are checked in any case.
const ALL_CHECKED: f64 = 20.0;

/// The rows that pass the filter, in the order they have.
fn checked(session: &Session, filter: &Filter, also: &Also, rows: Vec<Scored>) -> Result<Vec<Scored>> {
    if rows.is_empty() {
        return Ok(rows);
    }
    let ids: Vec<pgrx::Uuid> = rows.iter().map(|row| pgrx::Uuid::from_bytes(row.id)).collect();
    let mut places: Vec<usize> = filter
        .run(session.db(), &CHECKED, [arg(ids), also.pattern(), also.hidden()], 0)?
        .into_iter()
        .map(|row| Ok(row.need::<i64>(1)? as usize - 1))
        .collect::<Result<_>>()?;
    places.sort_unstable();
    Ok(places.into_iter().filter_map(|place| rows.get(place).copied()).collect())
}

/// The scores of given memories, of those that hold a term. Whether they pass is for the caller to know.
pub fn scores(session: &Session, query: &Query, ids: &[[u8; 16]]) -> Result<Vec<Scored>> {
    if ids.is_empty() || query.terms.is_empty() {
        return Ok(Vec::new());
    }
    let query = Query { limit: ids.len(), ..query.clone() };
    let ids: Vec<pgrx::Uuid> = ids.iter().map(|id| pgrx::Uuid::from_bytes(*id)).collect();
    let args = [arg(session.space()), Some(tsquery(&query.terms)?), arg(query_text(&query)?), arg(ids)];
    Ok(findings(session.db().run_limited(&GIVEN, &args, 1)?, &query)?.best)
}

fn query_text(query: &Query) -> Result<String> {
    serde_json::to_string(query).map_err(|error| Error::Internal(format!("a query: {error}")))
}

fn findings(rows: Rows, query: &Query) -> Result<Findings> {
    let bytes: Option<Vec<u8>> = rows.into_iter().next().and_then(|row| row.get(1));
    match bytes {
        None => Ok(Findings { documents: vec![0; query.terms.len()], ..Findings::default() }),
        Some(bytes) => Findings::from_bytes(&bytes)
            .ok_or_else(|| Error::Internal("the answer of a full text search is damaged".into())),
    }
}

fn run(session: &Session, filter: &Filter, also: &Also, query: &Query, all: bool) -> Result<Findings> {
    let matching = Some(tsquery(&query.terms)?);
    let text = arg(query_text(query)?);
    let rows = if all {
        session.db().run_limited(&EVERYWHERE, &[arg(session.space()), matching, text], 1)?
    } else {
        let statement = if query.documents.is_some() { &PASSING } else { &COUNTED };
        filter.run(session.db(), statement, [matching, text, also.pattern(), also.hidden()], 1)?
    };
    findings(rows, query)
}

thread_local! {
    static TEXT_CONFIGS: RefCell<Shelf<String>> = const { RefCell::new(Shelf::new()) };
}

/// The text search configuration of the space, by key.
fn text_config(session: &Session) -> Result<Option<String>> {
    let Some(reading) = session.db().reading() else { return Ok(None) };
    let config = reading.kept(&TEXT_CONFIGS, session.space(), || {
        let mut config = None;
        reading.rows(&TEXT_CONFIG_BY_KEY, &[Key::Text(session.space())], |found| {
            config = found.text(1).map(str::to_owned);
            Ok(false)
        })?;
        Ok(config)
    })?;
    Ok(config.map(|config| config.as_str().to_owned()))
}

/// The distinct terms of a query with how often each stands in it. What is left out is said.
fn terms(session: &Session, words: &Words) -> Result<Vec<(String, u32)>> {
    let config = match text_config(session)? {
        Some(config) => Some(config),
        None => {
            session.db().row(&TEXT_CONFIG, &[arg(session.space())])?.map(|row| row.need(1)).transpose()?
        }
    };
    let lexer = Lexer::new(session.space(), config.as_deref().unwrap_or("simple"));
    let mut terms: Vec<(String, u32)> = lexer
        .query(&words.text)
        .into_iter()
        .filter_map(|(term, count)| Some((String::from_utf8(term.into_vec()).ok()?, count)))
        .collect();
    if let Some(bytes) = words.cut_from {
        notice!("fulltext was cut from {bytes} to {} bytes", words.text.len());
    }
    if terms.len() > FULLTEXT_TERMS {
        notice!("fulltext has {} distinct terms: {FULLTEXT_TERMS} of them count", terms.len());
        terms.truncate(FULLTEXT_TERMS);
    }
    Ok(terms)
}

/// Any of the terms, as the index understands it.
fn tsquery(terms: &[String]) -> Result<Datum> {
    let quoted: Vec<String> =
        terms.iter().map(|term| format!("'{}'", term.replace('\\', "\\\\").replace('\'', "''"))).collect();
    let text =
        CString::new(quoted.join("|")).map_err(|_| Error::Internal("a term holds a zero byte".into()))?;
    // SAFETY: reads the string and allocates the query in the current memory context.
    unsafe { direct_function_call_as_datum(pg_sys::tsqueryin, &[Some(Datum::from(text.as_ptr()))]) }
        .ok_or_else(|| Error::Internal("a query could not be made".into()))
}

/// The state of the aggregate.
struct State {
    query: Query,
    found: Collector,
}

/// Takes a row into the collection.
#[pg_extern(immutable, parallel_restricted, name = "_bm25_add")]
#[allow(clippy::too_many_arguments, reason = "what a row is scored by")]
pub(crate) fn bm25_add(
    mut state: Internal,
    memory_id: pgrx::Uuid,
    lexemes: TsVector,
    length: i64,
    pieces: i16,
    passes: Option<bool>,
    query: &str,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    if !state.initialized() {
        state = Internal::from(begin(query, fcinfo));
    }
    // SAFETY: the state is the one made above: no other function makes one of this aggregate.
    if let Some(State { query, found }) = unsafe { state.get_mut::<State>() } {
        let lexemes = lexemes.open();
        found.add(*memory_id.as_bytes(), length, pieces, passes == Some(true), |halves| {
            for (slot, term) in halves.iter_mut().zip(&query.terms) {
                *slot = lexemes.halves(term.as_bytes());
            }
        });
    }
    state
}

/// A new state, in the memory that lives as long as the aggregation.
fn begin(query: &str, fcinfo: pg_sys::FunctionCallInfo) -> Option<Datum> {
    let query: Query = serde_json::from_str(query).ok()?;
    let found = Collector::new(query.terms.len());
    let mut context = std::ptr::null_mut();
    // SAFETY: asks the executor for the context of the aggregate this call belongs to.
    if unsafe { pg_sys::AggCheckCallContext(fcinfo, &raw mut context) } == 0 {
        return None;
    }
    let state = pgrx::PgMemoryContexts::For(context).leak_and_drop_on_delete(State { query, found });
    Some(Datum::from(state))
}

/// What was found, scored.
#[pg_extern(immutable, parallel_restricted, name = "_bm25_finish")]
pub(crate) fn bm25_finish(state: Internal) -> Option<Vec<u8>> {
    // SAFETY: as in `bm25_add`.
    let state = unsafe { state.get::<State>() }?;
    Some(state.query.finish(&state.found).to_bytes())
}
