//! Rows that pass a filter, found and checked by key: what `filter.sql` says, without a statement to plan and to start.
//!
//! Whatever needs the server's own matching for long (a predicate on metadata, a pattern in the content) is left to the
//! statement.

use super::also::Also;
use super::filter::Filter;
use super::jsonb::Jsonb;
use super::keyed::{Found, Key, Keyed, Kind, need};
use super::places;
use super::reading::{Asked, From, Function, Is, Order, Table, require};
use super::session::{Session, stored_tree};
use super::spi::arg;
use crate::domain::filter::{TemporalFilter, TreeFilter, Window, end};
use crate::domain::instant::Instant;
use crate::domain::search::bm25::Scored;
use crate::error::Result;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;
use std::cmp::Ordering;
use std::ffi::{CStr, CString};

const COLUMNS: &[(&CStr, Kind)] = &[
    (c"space", Kind::Text),
    (c"id", Kind::Uuid),
    (c"tree", Kind::Other),
    (c"meta", Kind::Jsonb),
    (c"temporal", Kind::Tstzrange),
];
const ID: usize = 1;
const TREE: usize = 2;
const META: usize = 3;
const TEMPORAL: usize = 4;
/// The first of them are all that a tree needs; the others stand behind the content.
const FIRST: usize = 3;
/// How memories are found by their ids, and by their trees, in two widths.
const fn found_by(index: &'static CStr, keys: &'static [usize], columns: usize) -> Keyed<'static> {
    Keyed { table: c"memory", index, keys, columns: COLUMNS.split_at(columns).0 }
}
static BY_ID: [Keyed; 2] =
    [found_by(c"memory_pkey", &[0, ID], FIRST), found_by(c"memory_pkey", &[0, ID], COLUMNS.len())];
static BY_TREE: [Keyed; 2] = [
    found_by(c"memory_path_key", &[0, TREE], FIRST),
    found_by(c"memory_path_key", &[0, TREE], COLUMNS.len()),
];

/// A statement finds rows by other indexes than that of the trees, and takes its time to begin: so many times as many rows
/// in scope as pass, and so many besides, are gone through without.
const MANY_MORE: f64 = 4.0;
const FEW: usize = 500;

/// The trees from one up to another.
struct Interval {
    from: CString,
    to: Option<CString>,
    /// The same, to hold rows against.
    bounds: (Datum, Option<Datum>),
}

/// What a column of a row has to be: a function of it and of a value.
struct Condition {
    column: usize,
    function: Function,
    value: Datum,
}

/// The rows that pass a filter.
pub struct Passing<'a> {
    space: &'a str,
    by_id: Table,
    by_tree: Table,
    order: Order,
    /// Where they are, in order; `None` is everywhere.
    intervals: Option<Vec<Interval>>,
    /// What their trees match besides.
    pattern: Option<&'a TreeFilter>,
    conditions: Vec<Condition>,
    also: &'a Also<'a>,
}

impl<'a> Passing<'a> {
    /// Those that pass; `None` where a statement has to say it.
    pub fn of(session: &'a Session, filter: &'a Filter, also: &'a Also<'a>) -> Result<Option<Self>> {
        let (scope, criteria) = filter.parts();
        if criteria.meta_predicate.is_some() || also.has_pattern() {
            return Ok(None);
        }
        let Some(reading) = session.db().reading() else { return Ok(None) };
        let Some(times) = times(criteria.temporal.unwrap_or_default()) else { return Ok(None) };
        let width = usize::from(criteria.meta.is_some() || !times.is_empty());
        let Some((by_id, by_tree)) = reading.open(&BY_ID[width]).zip(reading.open(&BY_TREE[width])) else {
            return Ok(None);
        };
        let Some(order) = by_tree.order(1) else { return Ok(None) };
        let mut intervals = None;
        if let Some(subtrees) = scope.subtrees() {
            let mut subtrees: Vec<_> = subtrees.iter().collect();
            subtrees.sort_unstable();
            let mut made = Vec::with_capacity(subtrees.len());
            for tree in subtrees {
                let Ok(from) = CString::new(tree.as_dotted()) else { return Ok(None) };
                let to = end(tree).and_then(|to| CString::new(to).ok());
                let bounds = (by_id.input(TREE, &from), to.as_ref().map(|to| by_id.input(TREE, to)));
                made.push(Interval { from, to, bounds });
            }
            intervals = Some(made);
        }
        let mut conditions = Vec::new();
        if let Some(meta) = &criteria.meta {
            let Some(value) = Jsonb::parse(meta.as_str()) else { return Ok(None) };
            let Some(contains) = condition(META, pg_sys::F_JSONB_CONTAINS, Some(value.datum())) else {
                return Ok(None);
            };
            conditions.push(contains);
        }
        conditions.extend(times);
        let pattern = match &criteria.tree {
            TreeFilter::None | TreeFilter::Path(_) => None,
            pattern @ (TreeFilter::Lquery(_) | TreeFilter::Ltxtquery(_)) => Some(pattern),
        };
        let space = session.space();
        Ok(Some(Self { space, by_id, by_tree, order, intervals, pattern, conditions, also }))
    }

    /// Whether nothing but the tree is asked of a row.
    pub fn is_by_tree_alone(&self) -> bool {
        self.pattern.is_none() && self.conditions.is_empty()
    }

    /// About how many rows are in scope, counted up to `most`; `None` when that is everywhere.
    pub fn in_scope(&self, most: usize) -> Result<Option<usize>> {
        let Some(intervals) = &self.intervals else { return Ok(None) };
        let mut count = 0;
        for interval in intervals {
            let Some(more) = self.by_tree.entries(&self.asked(interval), most - count)? else {
                return Ok(None);
            };
            count += more;
            if count >= most {
                break;
            }
        }
        Ok(Some(count))
    }

    /// The ids of all that pass, in order: the rows in scope are gone through. `None` where these are everywhere, or many
    /// more than are expected to pass.
    pub fn ids(&self, expected: Option<f64>) -> Result<Option<Vec<[u8; 16]>>> {
        let Some(intervals) = &self.intervals else { return Ok(None) };
        if let Some(expected) = expected.filter(|_| !self.is_by_tree_alone()) {
            let most = (expected * MANY_MORE) as usize + FEW;
            if self.in_scope(most)?.is_none_or(|count| count >= most) {
                return Ok(None);
            }
        }
        let mut ids = Vec::new();
        for interval in intervals {
            let readable = self.by_tree.look_through(&self.asked(interval), |found| {
                let id = need(found.uuid(ID))?;
                if self.fits(found)? && !self.also.hides(&id) {
                    places::note_memory(&id, found.place());
                    ids.push(id);
                }
                Ok(true)
            })?;
            require(readable)?;
        }
        ids.sort_unstable();
        Ok(Some(ids))
    }

    /// Shows the memories of the space in the order of their ids or against it, behind one of them, each with whether it
    /// passes, to `each`, which says whether to go on.
    pub fn in_order(
        &self,
        ascending: bool,
        behind: Option<&[u8; 16]>,
        mut each: impl FnMut([u8; 16], bool) -> bool,
    ) -> Result<()> {
        let (from, is) = if ascending { (From::First, Is::AtLeast) } else { (From::Last, Is::AtMost) };
        let of_space = Asked { column: 0, is: Is::Equal, key: Key::Text(self.space) };
        let mut asked = [of_space; 2];
        if let Some(behind) = behind {
            asked[1] = Asked { column: 1, is, key: Key::Uuid(behind) };
        }
        let asked = &asked[..1 + usize::from(behind.is_some())];
        let readable = self.by_id.look(asked, from, |found| {
            pgrx::check_for_interrupts!();
            let id = need(found.uuid(ID))?;
            if behind == Some(&id) {
                return Ok(true);
            }
            let passes = self.is_in_scope(found) && self.fits(found)? && !self.also.hides(&id);
            Ok(each(id, passes))
        })?;
        require(readable)
    }

    /// How many memories the table was last counted to have.
    pub fn rows_expected(&self) -> f64 {
        self.by_id.rows_expected()
    }

    /// The first of some rows that are there and pass, in their order, up to `limit`.
    pub fn first(&self, rows: &[Scored], limit: usize) -> Result<Vec<Scored>> {
        let mut kept: Vec<Scored> = Vec::with_capacity(limit.min(rows.len()));
        let ids: Vec<[u8; 16]> = rows.iter().map(|row| row.id).collect();
        let readable = places::memories(&self.by_id, self.space, &ids, |at, found| {
            pgrx::check_for_interrupts!();
            if self.is_in_scope(found) && !self.also.hides(&ids[at]) && self.fits(found)? {
                kept.push(rows[at]);
            }
            Ok(kept.len() < limit)
        })?;
        require(readable)?;
        Ok(kept)
    }

    fn asked<'b>(&'b self, interval: &'b Interval) -> Vec<Asked<'b>> {
        let mut asked = Vec::with_capacity(3);
        asked.push(Asked { column: 0, is: Is::Equal, key: Key::Text(self.space) });
        asked.push(Asked { column: 1, is: Is::AtLeast, key: Key::Other(&interval.from) });
        asked.extend(interval.to.as_ref().map(|to| Asked { column: 1, is: Is::Below, key: Key::Other(to) }));
        asked
    }

    fn is_in_scope(&self, found: &Found) -> bool {
        let Some(intervals) = &self.intervals else { return true };
        let is = |value: Datum| self.order.compare(found, TREE, value);
        let after = intervals.partition_point(|interval| is(interval.bounds.0) != Some(Ordering::Less));
        let Some(interval) = after.checked_sub(1).and_then(|at| intervals.get(at)) else { return false };
        interval.bounds.1.is_none_or(|to| is(to) == Some(Ordering::Less))
    }

    /// Whether a row in scope passes.
    fn fits(&self, found: &Found) -> Result<bool> {
        for Condition { column, function, value } in &self.conditions {
            // SAFETY: each function takes its column and a value of the type that was made for it, and answers with a
            // truth value.
            let holds =
                found.raw(*column).is_some_and(|row| unsafe { function.call(row, *value) }.value() != 0);
            if !holds {
                return Ok(false);
            }
        }
        match self.pattern {
            None => Ok(true),
            Some(pattern) => Ok(pattern.matches(&stored_tree(need(found.output(TREE))?)?)),
        }
    }
}

fn condition(column: usize, function: u32, value: Option<Datum>) -> Option<Condition> {
    Some(Condition { column, function: Function::of(pg_sys::Oid::from(function))?, value: value? })
}

/// What is asked of the time of a row, as `filter.sql` has it.
fn times(filter: TemporalFilter) -> Option<Vec<Condition>> {
    let TemporalFilter { before, after, contains, overlaps, within } = filter;
    let instant = |at: Instant| TimestampWithTimeZone::try_from(at.micros()).ok();
    let moment = |at: Instant| {
        let at = instant(at)?;
        arg(Range::new(RangeBound::Inclusive(at), RangeBound::Inclusive(at)))
    };
    let window = |window: Window| {
        let (start, end) = (instant(window.start)?, instant(window.end)?);
        arg(Range::new(RangeBound::Inclusive(start), RangeBound::Exclusive(end)))
    };
    let asked = [
        before.map(|at| (pg_sys::F_RANGE_BEFORE, moment(at))),
        after.map(|at| (pg_sys::F_RANGE_AFTER, moment(at))),
        contains.map(|at| (pg_sys::F_RANGE_CONTAINS_ELEM, instant(at).and_then(arg))),
        overlaps.map(|within| (pg_sys::F_RANGE_OVERLAPS, window(within))),
        within.map(|within| (pg_sys::F_RANGE_CONTAINED_BY, window(within))),
    ];
    asked.into_iter().flatten().map(|(function, value)| condition(TEMPORAL, function, value)).collect()
}
