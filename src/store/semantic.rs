//! Search by meaning: which memories lie nearest to a vector (SRCH-11 to SRCH-15).
//!
//! Rows are reached in one of two ways. Where the filters leave few, the distance of each is computed. Where they leave
//! many, the model's HNSW index hands out rows by distance until enough of them pass; when it ends before that, the
//! first way answers instead. So an answer is never short. Filters on trees and on what metadata contains, and access, are
//! checked on each row as the index hands it out, without a statement; others, and tables that are not read by key, by one.

use super::also::Also;
use super::bitmap::{self, Wanted};
use super::embedding::{self, Registered};
use super::filter::Filter;
use super::jsonb::Jsonb;
use super::keyed::{Found as Row, Key, Keyed, Kind, Open, Tables, need};
use super::nearest::{Candidate, Vectors};
use super::owner;
use super::passing::Passing;
use super::reading;
use super::session::{Session, stored_tree};
use super::spi::{self, Table, arg};
use super::statistics;
use crate::domain::filter::Scope;
use crate::domain::invalid::Invalid;
use crate::domain::memory::Meta;
use crate::domain::search::bm25::{Scored, best, by_rank};
use crate::domain::search::compared::{FEW, most_compared};
use crate::domain::search::request::Meaning;
use crate::error::{Error, Result};
use crate::provider;
use crate::{filtered, filtered_table, statement};
use pgrx::pg_sys;
use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::CString;

/// The number of `@>` among the operators of an index over metadata.
const CONTAINS: u16 = pg_sys::JsonbContainsStrategyNumber as u16;
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
filtered!(
    /// The memories that pass, with the content they have.
    PASSING,
    [
        "select m.id, m.content_version from me.memory as m
         where ($18 is null or case when {in_scope} then m.content ~* $18 end) and ($19 is null or m.id <> all ($19))
           and ($20 is null or m.id = any ($20)) and ",
        include_str!("filter.sql")
    ],
    [TEXTOID, UUIDARRAYOID, UUIDARRAYOID]
);
statement!(LOAD, ["select '[1]'::{vector}.vector is null"], []);

/// What is asked of the memory of a vector.
static MEMORY: Keyed = Keyed {
    table: c"memory",
    index: c"memory_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"id", Kind::Uuid),
        (c"tree", Kind::Other),
        (c"meta", Kind::Jsonb),
        (c"content_version", Kind::Int8),
    ],
};

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

/// The id of a memory, and the version of its content.
type Memory = ([u8; 16], i64);

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
    let all = also.is_nothing() && filter.is_whole_space();
    let (estimate, most) = match statistics::few(session, FEW)? {
        Some(memories) => (f64::from(memories), f64::from(FEW)),
        // A table that was not analyzed yet is taken for small; of the whole space it is known that it is not.
        None if all => (filter.estimate(session.db())?.max(f64::from(FEW + 1)), f64::from(FEW)),
        None => expected(session, filter, also, limit)?,
    };
    let many = estimate > most;
    let found = |best: Vec<Scored>, plan| {
        let passing = |row: &Scored| threshold.is_none_or(|least| row.score >= least);
        Found { best: best.into_iter().filter(passing).collect(), plan, estimate }
    };
    if many {
        load(session)?;
        let rows = match Handed::open(session, filter, also, target)? {
            Some(handed) => handed.nearest(limit)?,
            None => by_index(session, filter, also, target, limit)?,
        };
        if let Some(rows) = rows {
            return Ok(found(rows, "index"));
        }
    }
    let plan = if many { "index, then one by one" } else { "one by one" };
    Ok(found(one_by_one(session, filter, also, target, None, limit)?, plan))
}

/// How many memories are expected to pass, and up to how many are compared one by one. Where trees are all that is asked, they
/// are counted as far as that: the planner takes one of a thousand subtrees for several, and the index, asked for the nearest of
/// a thousand among a million, looks at all that it is allowed to, in vain.
fn expected(session: &Session, filter: &Filter, also: &Also, limit: usize) -> Result<(f64, f64)> {
    let Some(passing) = Passing::of(session, filter, also)? else {
        return Ok((filter.estimate(session.db())?, f64::from(FEW)));
    };
    let most = most_compared(limit, passing.rows_expected());
    if passing.is_by_tree_alone()
        && let Some(count) = passing.in_scope(most + 1)?
        && count <= most
    {
        return Ok((count as f64, most as f64));
    }
    Ok((filter.estimate(session.db())?, most as f64))
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
    let vectors = Tables::here().and_then(|tables| Vectors::open(tables, &target.table, &target.vector));
    if let Some(mut vectors) = vectors {
        if ids.is_none()
            && let Some(rows) = below_trees(session, filter, also, &mut vectors, limit)?
        {
            return Ok(rows);
        }
        let (ids, versions): (Vec<[u8; 16]>, Vec<i64>) =
            passing(session, filter, also, ids)?.into_iter().unzip();
        let rows = distances(session, &mut vectors, &ids)?;
        let of_now = |row: &Compared| versions[row.number] == row.content_version;
        return Ok(best(rows.into_iter().filter(of_now).map(|row| row.scored).collect(), limit));
    }
    let ids = ids.map(|ids| ids.iter().map(|id| pgrx::Uuid::from_bytes(*id)).collect::<Vec<_>>());
    let own =
        [arg(target.vector.clone()), also.pattern(), also.hidden(), ids.and_then(arg), arg(limit as i64)];
    filter.run_on(session.db(), &EXACT, &target.table, own)?.into_iter().filter_map(scored).collect()
}

/// The nearest below some trees, where trees are all that is asked. Whether a vector is of the content that a memory has is
/// looked up for the nearest alone: it stands at the far end of a row.
fn below_trees(
    session: &Session,
    filter: &Filter,
    also: &Also,
    vectors: &mut Vectors,
    limit: usize,
) -> Result<Option<Vec<Scored>>> {
    let (Some((scope, None)), Some(hidden)) = (filter.scope_and_meta(), also.hidden_only()) else {
        return Ok(None);
    };
    let Some(memories) = Tables::here().and_then(|tables| tables.open(&MEMORY)) else { return Ok(None) };
    let Some(passing) = Passing::of(session, filter, also)? else { return Ok(None) };
    let Some(ids) = passing.ids(None)? else { return Ok(None) };
    let mut rows = distances(session, vectors, &ids)?;
    let check = Check { space: session.space(), memories: &memories, scope, meta: None, hidden };
    let mut nearest: Vec<Scored> = Vec::with_capacity(limit.min(rows.len()));
    session.db().under_snapshot(|snapshot| {
        let mut left = &mut rows[..];
        while !left.is_empty() && nearest.len() < limit {
            let first = left.len().min(limit + SLACK);
            let order = |a: &Compared, b: &Compared| by_rank(&a.scored, &b.scored);
            if first < left.len() {
                left.select_nth_unstable_by(first - 1, order);
            }
            let (nearer, others) = left.split_at_mut(first);
            nearer.sort_unstable_by(order);
            for row in nearer {
                let is_of_now = check.content_version(&row.scored.id, snapshot)? == Some(row.content_version);
                if is_of_now && nearest.len() < limit {
                    nearest.push(row.scored);
                }
            }
            left = others;
        }
        Ok(())
    })?;
    Ok(Some(nearest))
}

/// The memories that pass, with the content they have: without a statement, where of given memories trees and metadata are
/// all that is asked.
fn passing(session: &Session, filter: &Filter, also: &Also, ids: Option<&[[u8; 16]]>) -> Result<Vec<Memory>> {
    if let (Some(ids), Some((scope, meta)), Some(hidden)) = (ids, filter.scope_and_meta(), also.hidden_only())
        && let Some(memories) = Tables::here().and_then(|tables| tables.open(&MEMORY))
    {
        let memories = &memories;
        let check = Check { space: session.space(), memories, scope, meta: constant(meta)?, hidden };
        return session.db().under_snapshot(|snapshot| {
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                found.extend(check.content_version(id, snapshot)?.map(|version| (*id, version)));
            }
            Ok(found)
        });
    }
    if ids.is_none()
        && let Some(found) = with_metadata(session, filter, also)?
    {
        return Ok(found);
    }
    let ids = ids.map(|ids| ids.iter().map(|id| pgrx::Uuid::from_bytes(*id)).collect::<Vec<_>>());
    filter
        .run(session.db(), &PASSING, [also.pattern(), also.hidden(), ids.and_then(arg)], 0)?
        .into_iter()
        .map(|row| Ok((*row.need::<pgrx::Uuid>(1)?.as_bytes(), row.need(2)?)))
        .collect()
}

/// The memories that contain some metadata, where that and trees are all that is asked, and where the planner, which was
/// asked for an estimate, would have the index over metadata find them.
fn with_metadata(session: &Session, filter: &Filter, also: &Also) -> Result<Option<Vec<Memory>>> {
    let (Some((scope, Some(meta))), Some(hidden)) = (filter.scope_and_meta(), also.hidden_only()) else {
        return Ok(None);
    };
    let Some(memories) = Tables::here().and_then(|tables| tables.open(&MEMORY)) else { return Ok(None) };
    let Some(bitmap_of) = filter.expected().and_then(|expected| expected.bitmap_of) else { return Ok(None) };
    let Some(value) = constant(Some(meta))? else { return Ok(None) };
    let wanted = Wanted { index: bitmap_of, column: 3, strategy: CONTAINS, value: value.datum() };
    let check = Check { space: session.space(), memories: &memories, scope, meta: Some(value), hidden };
    let mut found = Vec::new();
    let asked = session.db().under_snapshot(|snapshot| {
        bitmap::rows(&memories, &wanted, snapshot, |row| {
            if row.text(0) == Some(session.space())
                && let Some(version) = check.version_of(row)?
            {
                found.push((need(row.uuid(1))?, version));
            }
            Ok(())
        })
    })?;
    Ok(asked.then_some(found))
}

/// How near a memory is in one of its contents.
struct Compared {
    scored: Scored,
    /// Among those that were asked for.
    number: usize,
    content_version: i64,
}

/// How near memories are: of each, and each of its contents that has vectors, the nearest window. Each is asked for once.
fn distances(session: &Session, vectors: &mut Vectors, ids: &[[u8; 16]]) -> Result<Vec<Compared>> {
    let mut rows: Vec<Compared> = Vec::with_capacity(ids.len());
    session.db().under_snapshot(|snapshot| {
        vectors.of(session.space(), snapshot, ids, |number, candidate, distance| {
            // A distance that is no number is no distance.
            if distance.is_nan() {
                return;
            }
            let (score, content_version) = (1.0 - distance, candidate.content_version);
            let mut of_it = rows.iter_mut().rev().take_while(|row| row.number == number);
            match of_it.find(|row| row.content_version == content_version) {
                Some(row) => row.scored.score = row.scored.score.max(score),
                None => rows.push(Compared {
                    scored: Scored { id: candidate.memory, score },
                    number,
                    content_version,
                }),
            }
        })
    })?;
    Ok(rows)
}

/// One row as id and similarity; a distance that is no number is no distance.
fn scored(row: spi::Row) -> Option<Result<Scored>> {
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
    settings(limit);
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
    distinct.sort_by(by_rank);
    distinct
}

/// The rows the index hands out, read without a statement.
struct Handed<'a> {
    session: &'a Session<'a>,
    vectors: Vectors,
    memories: Open,
    scope: &'a Scope,
    meta: Option<Jsonb>,
    hidden: &'a [pgrx::Uuid],
}

impl<'a> Handed<'a> {
    /// `None` where the tables cannot be read so, or where the filter asks for more than is checked here.
    fn open(
        session: &'a Session<'a>,
        filter: &'a Filter,
        also: &'a Also,
        target: &Target,
    ) -> Result<Option<Self>> {
        let (Some((scope, meta)), Some(hidden)) = (filter.scope_and_meta(), also.hidden_only()) else {
            return Ok(None);
        };
        let Some(tables) = Tables::here() else { return Ok(None) };
        let (Some(vectors), Some(memories)) =
            (Vectors::open(tables, &target.table, &target.vector), tables.open(&MEMORY))
        else {
            return Ok(None);
        };
        Ok(Some(Self { session, vectors, memories, scope, meta: constant(meta)?, hidden }))
    }

    /// The nearest that pass; `None` when the index ended before there were enough.
    fn nearest(mut self, limit: usize) -> Result<Option<Vec<Scored>>> {
        breadth(limit);
        let session = self.session;
        let check = Check {
            space: session.space(),
            memories: &self.memories,
            scope: self.scope,
            meta: self.meta,
            hidden: self.hidden,
        };
        let mut seen = HashSet::with_capacity(limit + 1);
        let mut rows: Vec<Scored> = Vec::with_capacity(limit + 1);
        let ended = session.db().under_snapshot(|snapshot| {
            let passes = |candidate: &Candidate| {
                Ok(check.content_version(&candidate.memory, snapshot)? == Some(candidate.content_version))
            };
            self.vectors.each(session.space(), snapshot, passes, |id, distance| {
                // The nearest window of a memory counts, and it comes first. A distance that is no number is none.
                if distance.is_nan() || !seen.insert(id) {
                    return true;
                }
                let score = 1.0 - distance;
                // Equal distances at the end are all looked at: ties are settled by id.
                let enough = rows.get(limit - 1).is_some_and(|last| score < last.score);
                rows.push(Scored { id, score });
                !enough
            })
        })?;
        if ended && rows.len() < limit { Ok(None) } else { Ok(Some(best(rows, limit))) }
    }
}

/// What is checked of a memory that was found by its key.
struct Check<'a> {
    space: &'a str,
    memories: &'a Open,
    scope: &'a Scope,
    meta: Option<Jsonb>,
    hidden: &'a [pgrx::Uuid],
}

impl Check<'_> {
    /// The version of its content, if it passes.
    fn content_version(&self, id: &[u8; 16], snapshot: pg_sys::Snapshot) -> Result<Option<i64>> {
        let mut version = None;
        let keys = [Key::Text(self.space), Key::Uuid(id)];
        let readable = self.memories.rows(snapshot, &keys, |row| {
            version = self.version_of(row)?;
            Ok(false)
        })?;
        reading::require(readable)?;
        Ok(version)
    }

    /// The same of a row of the space that was found.
    fn version_of(&self, row: &Row) -> Result<Option<i64>> {
        let passes = self.meta.is_none_or(|wanted| row.jsonb_contains(3, wanted))
            && (self.scope.is_everything() || self.scope.contains(&stored_tree(need(row.output(2))?)?))
            && !self.hides(&need(row.uuid(1))?);
        Ok(if passes { row.int8(4) } else { None })
    }

    fn hides(&self, id: &[u8; 16]) -> bool {
        self.hidden.iter().any(|hidden| hidden.as_bytes() == id)
    }
}

fn constant(meta: Option<&Meta>) -> Result<Option<Jsonb>> {
    let lost = || Error::Internal("metadata could not be read again".into());
    meta.map(|meta| Jsonb::parse(meta.as_str()).ok_or_else(lost)).transpose()
}

/// Loads pgvector's library, whose settings exist only then.
fn load(session: &Session) -> Result<()> {
    if !LOADED.get() {
        session.db().row(&LOAD, &[])?;
        LOADED.set(true);
    }
    Ok(())
}

/// How wide the index is searched, and in which order it hands out rows: until the call ends.
fn breadth(limit: usize) {
    let breadth = (BREADTH.0 + BREADTH.1 * limit).min(BREADTH_MOST);
    let breadth = CString::new(breadth.to_string()).unwrap_or_default();
    owner::set_until_dropped(c"hnsw.ef_search", &breadth);
    owner::set_until_dropped(c"hnsw.iterative_scan", c"strict_order");
}

/// How the index is searched, and that a statement does search it: until the call ends.
fn settings(limit: usize) {
    breadth(limit);
    for setting in
        [c"enable_seqscan", c"enable_sort", c"enable_bitmapscan", c"enable_hashjoin", c"enable_mergejoin"]
    {
        owner::set_until_dropped(setting, c"off");
    }
    for setting in [c"enable_indexscan", c"enable_nestloop"] {
        owner::set_until_dropped(setting, c"on");
    }
}
