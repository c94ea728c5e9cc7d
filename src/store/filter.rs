//! Filters as SQL: the one condition by which rows are searched, counted, exported and moved.

use super::session::Session;
use super::spi::{Db, Expected, Rows, Statement, Table, TableStatement, arg};
use crate::domain::access::Level;
use crate::domain::filter::{Criteria, Lquery, MetaPredicate, Scope, TemporalFilter, TreeFilter};
use crate::domain::instant::Instant as Moment;
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::memory::Meta;
use crate::domain::path::TreePath;
use crate::error::Result;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use std::cell::RefCell;
use std::ffi::CString;
use std::thread::LocalKey;
use std::time::{Duration, Instant};

/// The types of the parameters of `filter.sql`, $1 to $17, and of those that a statement has besides.
#[macro_export]
macro_rules! filter_types {
    ($($ty:ident),*) => {
        &[
            pgrx::pg_sys::BuiltinOid::TEXTOID,
            pgrx::pg_sys::BuiltinOid::TEXTOID,
            pgrx::pg_sys::BuiltinOid::TEXTOID,
            pgrx::pg_sys::BuiltinOid::TEXTARRAYOID,
            pgrx::pg_sys::BuiltinOid::TEXTOID,
            pgrx::pg_sys::BuiltinOid::TEXTOID,
            pgrx::pg_sys::BuiltinOid::TEXTOID,
            pgrx::pg_sys::BuiltinOid::TEXTOID,
            pgrx::pg_sys::BuiltinOid::TEXTOID,
            pgrx::pg_sys::BuiltinOid::TEXTOID,
            pgrx::pg_sys::BuiltinOid::TIMESTAMPTZOID,
            pgrx::pg_sys::BuiltinOid::TIMESTAMPTZOID,
            pgrx::pg_sys::BuiltinOid::TIMESTAMPTZOID,
            pgrx::pg_sys::BuiltinOid::TIMESTAMPTZOID,
            pgrx::pg_sys::BuiltinOid::TIMESTAMPTZOID,
            pgrx::pg_sys::BuiltinOid::TIMESTAMPTZOID,
            pgrx::pg_sys::BuiltinOid::TIMESTAMPTZOID,
            $(pgrx::pg_sys::BuiltinOid::$ty),*
        ]
    };
}

/// Declares a kept statement whose text holds `filter.sql`: its name, its text, and the types of its parameters from
/// $18 on. [`Filter::run`] runs it.
#[macro_export]
macro_rules! filtered {
    ($(#[$doc:meta])* $name:ident, [$($part:expr),+ $(,)?], [$($ty:ident),* $(,)?]) => {
        thread_local! {
            $(#[$doc])*
            static $name: $crate::store::spi::Statement = const {
                $crate::store::spi::Statement::new(
                    &[$($part),+],
                    $crate::filter_types!($($ty),*),
                )
                .planned_per_call()
            };
        }
    };
}

/// The same over a table named at run time, as [`table_statement!`](crate::table_statement); [`Filter::run_on`] runs it.
#[macro_export]
macro_rules! filtered_table {
    ($(#[$doc:meta])* $name:ident, [$($part:expr),+ $(,)?], [$($ty:ident),* $(,)?]) => {
        thread_local! {
            $(#[$doc])*
            static $name: $crate::store::spi::TableStatement = const {
                $crate::store::spi::TableStatement::planned_per_call(
                    &[$($part),+],
                    $crate::filter_types!($($ty),*),
                )
            };
        }
    };
}

filtered!(
    /// Never run: planned to learn how many rows are expected.
    PASSING,
    ["select from me.memory as m where ", include_str!("filter.sql")],
    []
);

/// How many parameters `filter.sql` has.
const SHARED: usize = 17;

/// How long the planner's estimate is kept.
const ESTIMATE_KEPT: Duration = Duration::from_secs(5);
/// Most estimates that a session keeps.
const ESTIMATES_MOST: usize = 16;
/// Longest filter whose estimate is kept, in bytes.
const ESTIMATE_LENGTH: usize = 4096;

thread_local! {
    static ESTIMATES: RefCell<Vec<(Filter, Instant, Expected)>> = const { RefCell::new(Vec::new()) };
}

/// Forgets what the planner expected: called when the session itself writes.
pub(super) fn forget_estimates() {
    ESTIMATES.with_borrow_mut(Vec::clear);
}

/// Which rows of a space a call looks at. It holds no datum, so it may outlive the statement it was made for.
#[derive(Clone, PartialEq)]
pub struct Filter {
    space: String,
    scope: Scope,
    criteria: Criteria,
}

impl Filter {
    /// The rows that satisfy the criteria and that the caller may read.
    pub fn readable(session: &Session, criteria: Criteria) -> Self {
        let roots = session.rights().roots(Level::Read);
        Self {
            space: session.space().to_owned(),
            scope: Scope::of(roots.as_deref(), &criteria.tree),
            criteria,
        }
    }

    /// Every row at or below a tree, for a caller whose access there has been checked.
    pub fn subtree(session: &Session, tree: &TreePath) -> Self {
        Self {
            space: session.space().to_owned(),
            scope: Scope::subtree(tree),
            criteria: Criteria::on_tree(TreeFilter::None),
        }
    }

    /// Whether it asks for nothing: every row of the space passes.
    pub fn is_whole_space(&self) -> bool {
        self.scope.is_everything() && self.criteria.is_empty()
    }

    /// Where the rows are and what their metadata contains, if that is all that is asked.
    pub fn scope_and_meta(&self) -> Option<(&Scope, Option<&Meta>)> {
        let Criteria { tree, meta, meta_predicate, temporal } = &self.criteria;
        // A path is used up by the scope.
        let simple = matches!(tree, TreeFilter::None | TreeFilter::Path(_))
            && meta_predicate.is_none()
            && temporal.is_none();
        simple.then_some((&self.scope, meta.as_ref()))
    }

    /// Where it looks, and what it asks of the rows there.
    pub fn parts(&self) -> (&Scope, &Criteria) {
        (&self.scope, &self.criteria)
    }

    /// The same rows, if their metadata contains this too.
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.criteria.meta = Some(meta);
        self
    }

    /// Runs a statement declared by `filtered!`, with its own parameters, up to `limit` rows (0: all).
    pub fn run<const OWN: usize>(
        &self,
        db: &Db,
        statement: &'static LocalKey<Statement>,
        own: [Option<Datum>; OWN],
        limit: i64,
    ) -> Result<Rows> {
        self.prepare();
        let mut args = self.args();
        args.extend(own);
        db.run_limited(statement, &args, limit)
    }

    fn prepare(&self) {
        if self.criteria.meta_predicate.as_ref().is_some_and(MetaPredicate::may_compare_times) {
            // Else the answer would depend on the time zone of the session.
            super::owner::use_utc();
        }
    }

    /// Runs a statement declared by `filtered_table!`, with its own parameters.
    pub fn run_on<const OWN: usize>(
        &self,
        db: &Db,
        statement: &'static LocalKey<TableStatement>,
        table: &Table,
        own: [Option<Datum>; OWN],
    ) -> Result<Rows> {
        self.prepare();
        let mut args = self.args();
        args.extend(own);
        db.run_on(statement, table, &args)
    }

    /// How many rows the planner expects to pass. Planning takes as long as reading a hundred rows, and whoever searches
    /// mostly does so again in the same place: what was expected last is kept for some seconds.
    pub fn estimate(&self, db: &Db) -> Result<f64> {
        if let Some(expected) = self.expected() {
            return Ok(expected.rows);
        }
        self.prepare();
        let expected = db.expect(&PASSING, &self.args())?;
        if self.length() > ESTIMATE_LENGTH {
            return Ok(expected.rows);
        }
        let now = Instant::now();
        ESTIMATES.with_borrow_mut(|kept| {
            kept.retain(|(filter, until, _)| now < *until && filter != self);
            if kept.len() == ESTIMATES_MOST {
                kept.remove(0);
            }
            kept.push((self.clone(), now + ESTIMATE_KEPT, expected));
        });
        Ok(expected.rows)
    }

    /// What the planner expected, and how it would find the rows, where it was asked a moment ago: to ask it takes longer than
    /// to know saves.
    pub fn expected(&self) -> Option<Expected> {
        let now = Instant::now();
        ESTIMATES.with_borrow(|kept| {
            let found = kept.iter().find(|(filter, until, _)| now < *until && filter == self);
            found.map(|(.., expected)| *expected)
        })
    }

    /// How many bytes it says what it asks for in, about.
    fn length(&self) -> usize {
        let tree = match &self.criteria.tree {
            TreeFilter::None | TreeFilter::Path(_) => 0,
            TreeFilter::Lquery(query) => query.as_str().len(),
            TreeFilter::Ltxtquery(query) => query.as_str().len(),
        };
        let scope: usize = self.scope.intervals().into_iter().flatten().map(|(from, _)| from.len()).sum();
        let meta = self.criteria.meta.as_ref().map_or(0, |meta| meta.as_str().len());
        let predicate = self.criteria.meta_predicate.as_ref().map_or(0, |predicate| predicate.as_str().len());
        tree + scope + meta + predicate
    }

    fn args(&self) -> Vec<Option<Datum>> {
        let (cheap, costly, words) = match &self.criteria.tree {
            TreeFilter::None | TreeFilter::Path(_) => (None, None, None),
            TreeFilter::Lquery(query) if query.is_cheap() => (Some(query.as_str()), None, None),
            TreeFilter::Lquery(query) => (None, Some(query.as_str()), None),
            TreeFilter::Ltxtquery(query) => (None, None, Some(query.as_str())),
        };
        let predicate = self.criteria.meta_predicate.as_ref();
        let predicate = |guarded: bool| {
            predicate
                .filter(|predicate| (predicate.may_compare_times() || predicate.may_run_long()) == guarded)
                .and_then(|predicate| arg(predicate.as_str()))
        };
        let time = self.criteria.temporal.unwrap_or_default();
        let TemporalFilter { before, after, contains, overlaps, within } = time;
        let mut args = Vec::with_capacity(SHARED + 4);
        args.extend([
            arg(self.space.as_str()),
            self.scope.from().and_then(arg),
            self.scope.to().and_then(arg),
            self.scope.list().and_then(arg),
            cheap.and_then(arg),
            costly.and_then(arg),
            words.and_then(arg),
            self.criteria.meta.as_ref().and_then(|meta| arg(meta.as_str())),
            predicate(false),
            predicate(true),
            timestamp(before),
            timestamp(after),
            timestamp(contains),
            timestamp(overlaps.map(|window| window.start)),
            timestamp(overlaps.map(|window| window.end)),
            timestamp(within.map(|window| window.start)),
            timestamp(within.map(|window| window.end)),
        ]);
        args
    }
}

fn timestamp(at: Option<Moment>) -> Option<Datum> {
    at.and_then(|at| TimestampWithTimeZone::try_from(at.micros()).ok()).and_then(arg)
}

/// Refuses a predicate that PostgreSQL cannot parse (SRCH-22).
pub fn check_predicate(argument: &str, predicate: &MetaPredicate) -> std::result::Result<(), Invalid> {
    let parses = CString::new(predicate.as_str()).is_ok_and(|text| {
        let mut faults =
            pg_sys::ErrorSaveContext { type_: pg_sys::NodeTag::T_ErrorSaveContext, ..Default::default() };
        let mut path = Datum::from(0);
        // SAFETY: the input function of jsonpath reads the string and reports faults to the context given.
        unsafe {
            pg_sys::DirectInputFunctionCallSafe(
                Some(jsonpath_in),
                text.as_ptr().cast_mut(),
                pg_sys::Oid::INVALID,
                -1,
                (&raw mut faults).cast(),
                &raw mut path,
            )
        }
    });
    if parses {
        return Ok(());
    }
    Err(Invalid::new(
        argument,
        "SRCH-22",
        format!("argument \"{argument}\" is no SQL/JSON path: {}", excerpt(predicate.as_str())),
        "Compare with == as in '$.status == \"open\"'; combine with && and ||.",
    ))
}

#[pg_guard]
unsafe extern "C-unwind" fn jsonpath_in(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: handed through as it came.
    unsafe { pg_sys::jsonpath_in(fcinfo) }
}

thread_local! {
    /// The pattern of the statement that runs, read once.
    static PATTERN: RefCell<Option<(String, Lquery)>> = const { RefCell::new(None) };
}

/// Whether a tree matches an lquery, in time bounded by their sizes; the server's own matcher has no such bound.
#[pg_extern(immutable, parallel_safe, name = "_tree_matches")]
fn tree_matches(tree: &str, pattern: &str) -> bool {
    PATTERN.with_borrow_mut(|kept| {
        if kept.as_ref().is_none_or(|(text, _)| text != pattern) {
            *kept = Lquery::from_checked(pattern).map(|query| (pattern.to_owned(), query));
        }
        let tree = TreePath::from_dotted(tree);
        kept.as_ref().zip(tree).is_some_and(|((_, query), tree)| query.matches_tree(&tree))
    })
}
