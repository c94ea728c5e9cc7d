//! Search by meaning: which memories lie nearest to a vector (SRCH-11 to SRCH-15).
//!
//! Rows are reached in one of two ways. Where the filters leave few, the distance of each is computed. Where they leave
//! many, the model's HNSW index hands out rows by distance until enough of them pass; when it ends before that, the
//! first way answers instead. So an answer is never short.

use super::also::Also;
use super::embedding::{self, Registered};
use super::filter::Filter;
use super::owner;
use super::session::Session;
use super::spi::{Table, arg};
use super::statistics;
use crate::domain::invalid::Invalid;
use crate::domain::search::bm25::{Scored, best};
use crate::domain::search::request::Meaning;
use crate::error::{Error, Result};
use crate::provider;
use crate::{filtered_table, statement};
use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::CString;

/// Up to how many rows are compared one by one.
const FEW: f64 = 3000.0;
/// Rows the index hands out beyond the limit, so that equal distances at its end are put in order.
const SLACK: usize = 8;
/// How wide the index is searched for so many rows: the more, the surer.
const BREADTH: (usize, usize) = (60, 2);
/// Widest the index can be searched.
const BREADTH_MOST: usize = 1000;

filtered_table!(
    /// The nearest of all rows that pass; of several windows the nearest counts.
    EXACT,
    [
        "select v.memory_id, min(v.vector operator({vector}.<=>) $18::{vector}.halfvec) as distance
         from me.memory as m
         join {table} as v on v.space = m.space and v.memory_id = m.id and v.content_version = m.content_version
         where v.space = $1 and ($19 is null or case when {in_scope} then m.content ~* $19 end) and ($20 is null or m.id <> all ($20))
           and ($21 is null or m.id = any ($21)) and ",
        include_str!("filter.sql"),
        " group by v.memory_id order by distance, v.memory_id limit $22"
    ],
    [FLOAT4ARRAYOID, TEXTOID, UUIDARRAYOID, UUIDARRAYOID, INT8OID]
);
filtered_table!(
    /// Rows that pass, in the order the index hands them out.
    NEAREST,
    [
        "select v.memory_id, v.vector operator({vector}.<=>) $18::{vector}.halfvec as distance
         from {table} as v
         join me.memory as m on m.space = v.space and m.id = v.memory_id and m.content_version = v.content_version
         where v.space = $1 and ($19 is null or case when {in_scope} then m.content ~* $19 end) and ($20 is null or m.id <> all ($20)) and ",
        include_str!("filter.sql"),
        " order by v.vector operator({vector}.<=>) $18::{vector}.halfvec limit $21"
    ],
    [FLOAT4ARRAYOID, TEXTOID, UUIDARRAYOID, INT8OID]
);
statement!(
    /// Loads pgvector's library, whose settings exist only then.
    LOAD,
    ["select '[1]'::{vector}.vector is null"],
    []
);

thread_local! {
    static LOADED: Cell<bool> = const { Cell::new(false) };
}

/// What the search by meaning did, for those who ask why.
pub struct Found {
    /// The best rows, in order.
    pub best: Vec<Scored>,
    /// How the rows were reached.
    pub plan: &'static str,
    /// How many rows the filters were expected to leave.
    pub estimate: f64,
}

/// A query vector, with the table it is compared in.
pub struct Target {
    table: Table,
    vector: Vec<f32>,
}

impl Target {
    /// What a request means, in the model the space searches with.
    ///
    /// A text is embedded here, before anything is read.
    pub fn of(session: &Session, meaning: &Meaning) -> Result<Self> {
        let Registered { model, table } =
            embedding::current(session)?.ok_or(Error::EmbeddingNotConfigured)?;
        let vector = match meaning {
            Meaning::Vector(vector) => vector.clone(),
            Meaning::Text(text) => provider::embed_query(&model, text)?.as_slice().to_vec(),
        };
        let dimensions = model.dimensions.get();
        if vector.len() != dimensions {
            return Err(Invalid::new(
                "embedding",
                "EMB-25",
                format!(
                    "argument \"embedding\" has {} numbers; the space's model \"{}\" has {dimensions}",
                    vector.len(),
                    model.name.as_str()
                ),
                "Give a vector of the model the space searches with; me.embedding_model_list() names it.",
            )
            .into());
        }
        Ok(Self { table, vector })
    }
}

/// The `limit` nearest memories among those that pass, with their cosine similarity; below `threshold` none.
pub fn find(
    session: &Session,
    filter: &Filter,
    also: &Also,
    target: &Target,
    threshold: Option<f64>,
    limit: usize,
) -> Result<Found> {
    let memories = statistics::corpus(session)?.count;
    let all = also.is_nothing() && filter.is_whole_space();
    let estimate = match all || memories <= FEW {
        true => memories,
        false => filter.estimate(session.db())?.min(memories),
    };
    let found = |best: Vec<Scored>, plan| {
        let passing = |row: &Scored| threshold.is_none_or(|least| row.score >= least);
        Found { best: best.into_iter().filter(passing).collect(), plan, estimate }
    };
    if estimate > FEW
        && let Some(rows) = by_index(session, filter, also, target, limit)?
    {
        return Ok(found(rows, "index"));
    }
    let plan = if estimate > FEW { "index, then one by one" } else { "one by one" };
    Ok(found(one_by_one(session, filter, also, target, None, limit)?, plan))
}

/// The similarity of given rows, of those that pass and have a vector.
pub fn similarities(
    session: &Session,
    filter: &Filter,
    also: &Also,
    target: &Target,
    ids: &[[u8; 16]],
) -> Result<Vec<Scored>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    one_by_one(session, filter, also, target, Some(ids), ids.len())
}

fn one_by_one(
    session: &Session,
    filter: &Filter,
    also: &Also,
    target: &Target,
    ids: Option<&[[u8; 16]]>,
    limit: usize,
) -> Result<Vec<Scored>> {
    let ids = ids.map(|ids| ids.iter().map(|id| pgrx::Uuid::from_bytes(*id)).collect::<Vec<_>>());
    let own =
        [arg(target.vector.clone()), also.pattern(), also.hidden(), ids.and_then(arg), arg(limit as i64)];
    filter.run_on(session.db(), &EXACT, &target.table, own)?.into_iter().filter_map(scored).collect()
}

/// One row as id and similarity; a distance that is no number is no distance.
fn scored(row: super::spi::Row) -> Option<Result<Scored>> {
    let distance: f64 = match row.need(2) {
        Ok(distance) => distance,
        Err(error) => return Some(Err(error)),
    };
    if distance.is_nan() {
        return None;
    }
    Some(row.need::<pgrx::Uuid>(1).map(|id| Scored { id: *id.as_bytes(), score: 1.0 - distance }))
}

/// The nearest rows by the index; `None` when it ended before there were enough.
fn by_index(
    session: &Session,
    filter: &Filter,
    also: &Also,
    target: &Target,
    limit: usize,
) -> Result<Option<Vec<Scored>>> {
    settings(session, limit)?;
    let mut asked = limit + SLACK;
    loop {
        let own = [arg(target.vector.clone()), also.pattern(), also.hidden(), arg(asked as i64)];
        let rows = filter
            .run_on(session.db(), &NEAREST, &target.table, own)?
            .into_iter()
            .filter_map(scored)
            .collect::<Result<Vec<_>>>()?;
        let ended = rows.len() < asked;
        let last = rows.last().map(|row| row.score);
        let distinct = nearest_of_each(rows);
        let enough = distinct.len() > limit && distinct.get(limit - 1).map(|row| row.score) != last;
        if enough || (ended && distinct.len() >= limit) {
            return Ok(Some(best(distinct, limit)));
        }
        if ended {
            return Ok(None);
        }
        // Windows of one memory, or equal distances, filled the answer.
        asked *= 4;
    }
}

/// The nearest window of each memory, in order.
fn nearest_of_each(rows: Vec<Scored>) -> Vec<Scored> {
    let mut seen = HashSet::with_capacity(rows.len());
    let mut distinct: Vec<Scored> = rows.into_iter().filter(|row| seen.insert(row.id)).collect();
    distinct.sort_by(crate::domain::search::bm25::by_rank);
    distinct
}

/// How the index is searched, and that it is: until the call ends.
fn settings(session: &Session, limit: usize) -> Result<()> {
    if !LOADED.get() {
        session.db().row(&LOAD, &[])?;
        LOADED.set(true);
    }
    let breadth = (BREADTH.0 + BREADTH.1 * limit).min(BREADTH_MOST);
    let breadth = CString::new(breadth.to_string()).unwrap_or_default();
    owner::set_until_dropped(c"hnsw.ef_search", &breadth);
    owner::set_until_dropped(c"hnsw.iterative_scan", c"strict_order");
    for setting in
        [c"enable_seqscan", c"enable_sort", c"enable_bitmapscan", c"enable_hashjoin", c"enable_mergejoin"]
    {
        owner::set_until_dropped(setting, c"off");
    }
    for setting in [c"enable_indexscan", c"enable_nestloop"] {
        owner::set_until_dropped(setting, c"on");
    }
    Ok(())
}
