//! Statements, kept as prepared plans, and the rows they answer with.
//!
//! A plan is prepared once per backend: preparing per call costs more than running the statement.

use super::catalogue;
use super::reading::Reading;
use crate::error::{Error, Result};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;
use pgrx::{FromDatum, IntoDatum};
use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::panic::AssertUnwindSafe;

/// A statement with its parameter types. `{ltree}` and `{vector}` in its text stand for the schemas of those extensions,
/// `{in_scope}` for the condition of `in_scope.sql`.
pub struct Statement {
    parts: &'static [&'static str],
    types: &'static [pg_sys::BuiltinOid],
    options: u32,
    plan: Cell<pg_sys::SPIPlanPtr>,
}

impl Statement {
    /// A statement whose text is the concatenation of `parts`.
    pub const fn new(parts: &'static [&'static str], types: &'static [pg_sys::BuiltinOid]) -> Self {
        Self { parts, types, options: 0, plan: Cell::new(std::ptr::null_mut()) }
    }

    /// The same statement, planned anew for the parameters of each call: for filters of which most are absent. What
    /// an absent one asks for is folded away, and the planner sees the values of the others.
    pub const fn planned_per_call(self) -> Self {
        Self { options: pg_sys::CURSOR_OPT_CUSTOM_PLAN | pg_sys::CURSOR_OPT_PARALLEL_OK, ..self }
    }

    /// The same statement, planned once for all parameters: where planning would cost more than running it.
    pub const fn planned_once(self) -> Self {
        Self { options: pg_sys::CURSOR_OPT_GENERIC_PLAN, ..self }
    }

    fn plan(&self) -> Result<pg_sys::SPIPlanPtr> {
        let kept = self.plan.get();
        if !kept.is_null() {
            return Ok(kept);
        }
        let plan = prepare(&self.parts.concat(), self.types, self.options)?;
        self.plan.set(plan);
        Ok(plan)
    }
}

/// Declares a kept statement of this backend: its name, its text (literals or `include_str!`), its parameter types.
/// With `per call` in front it is planned anew for each call (see [`Statement::planned_per_call`]).
#[macro_export]
macro_rules! statement {
    ($(#[$doc:meta])* per call $vis:vis $name:ident, [$($part:expr),+ $(,)?], [$($ty:ident),* $(,)?]) => {
        thread_local! {
            $(#[$doc])*
            $vis static $name: $crate::store::spi::Statement = const {
                $crate::store::spi::Statement::new(&[$($part),+], &[$(pgrx::pg_sys::BuiltinOid::$ty),*])
                    .planned_per_call()
            };
        }
    };
    ($(#[$doc:meta])* $vis:vis $name:ident, [$($part:expr),+ $(,)?], [$($ty:ident),* $(,)?]) => {
        thread_local! {
            $(#[$doc])*
            $vis static $name: $crate::store::spi::Statement = const {
                $crate::store::spi::Statement::new(&[$($part),+], &[$(pgrx::pg_sys::BuiltinOid::$ty),*])
            };
        }
    };
    ($(#[$doc:meta])* $name:ident, [$($part:expr),+ $(,)?], [$($ty:ident),* $(,)?], planned_once) => {
        thread_local! {
            $(#[$doc])*
            static $name: $crate::store::spi::Statement = const {
                $crate::store::spi::Statement::new(&[$($part),+], &[$(pgrx::pg_sys::BuiltinOid::$ty),*])
                    .planned_once()
            };
        }
    };
}

/// A statement over a table that is named at run time: `{table}` in its text stands for a [`Table`].
pub struct TableStatement {
    parts: &'static [&'static str],
    types: &'static [pg_sys::BuiltinOid],
    options: u32,
    plans: RefCell<Vec<(String, pg_sys::SPIPlanPtr)>>,
}

impl TableStatement {
    /// A statement whose text is the concatenation of `parts`.
    pub const fn new(parts: &'static [&'static str], types: &'static [pg_sys::BuiltinOid]) -> Self {
        Self { parts, types, options: 0, plans: RefCell::new(Vec::new()) }
    }

    /// A statement that is planned anew for the parameters of each call.
    pub const fn planned_per_call(
        parts: &'static [&'static str],
        types: &'static [pg_sys::BuiltinOid],
    ) -> Self {
        Self { parts, types, options: pg_sys::CURSOR_OPT_CUSTOM_PLAN, plans: RefCell::new(Vec::new()) }
    }

    fn plan(&self, table: &Table) -> Result<pg_sys::SPIPlanPtr> {
        let kept = self.plans.borrow().iter().find(|(name, _)| *name == table.0).map(|(_, plan)| *plan);
        if let Some(plan) = kept {
            return Ok(plan);
        }
        let plan =
            prepare(&self.parts.concat().replace("{table}", &table.qualified()?), self.types, self.options)?;
        self.plans.borrow_mut().push((table.0.clone(), plan));
        Ok(plan)
    }
}

/// A table of schema `me` whose name stands in a registry of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table(String);

impl Table {
    /// A table by its name, as the registry has it.
    pub fn registered(name: String) -> Self {
        Self(name)
    }

    /// The name, without the schema.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Schema and name, as they stand in a statement.
    pub fn qualified(&self) -> Result<String> {
        Ok(format!("me.{}", quoted(&self.0)?))
    }
}

/// A name as it stands in a statement.
pub fn quoted(name: &str) -> Result<String> {
    let name = CString::new(name).map_err(|_| Error::Internal("a name holds a zero byte".into()))?;
    // SAFETY: answers with the argument or a palloc'd string, both NUL-terminated.
    let quoted = unsafe { std::ffi::CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr())) };
    Ok(quoted.to_string_lossy().into_owned())
}

/// Declares a kept statement over a table named at run time; otherwise as [`statement!`](crate::statement).
#[macro_export]
macro_rules! table_statement {
    ($(#[$doc:meta])* $name:ident, [$($part:expr),+ $(,)?], [$($ty:ident),* $(,)?]) => {
        thread_local! {
            $(#[$doc])*
            static $name: $crate::store::spi::TableStatement = const {
                $crate::store::spi::TableStatement::new(&[$($part),+], &[$(pgrx::pg_sys::BuiltinOid::$ty),*])
            };
        }
    };
}

fn prepare(sql: &str, types: &[pg_sys::BuiltinOid], options: u32) -> Result<pg_sys::SPIPlanPtr> {
    let sql =
        CString::new(qualify(sql)?).map_err(|_| Error::Internal("a statement holds a zero byte".into()))?;
    let mut types: Vec<pg_sys::Oid> = types.iter().map(|oid| oid.value()).collect();
    // SAFETY: inside SPI_connect (a `Db` exists); the text and the types outlive the call.
    let plan = explaining_other_version(move || unsafe {
        pg_sys::SPI_prepare_cursor(sql.as_ptr(), types.len() as i32, types.as_mut_ptr(), options as i32)
    })?;
    if plan.is_null() {
        return Err(Error::Internal("a statement could not be prepared".into()));
    }
    // SAFETY: a plan that was just made, in the memory of this connection.
    unsafe { pg_sys::SPI_keepplan(plan) };
    Ok(plan)
}

/// Runs `make`, which fits a statement to the catalogue. When it names what the installed version does not have, the
/// error says so instead; it is always raised again.
fn explaining_other_version<T>(make: impl FnOnce() -> T) -> Result<T> {
    let Some(installed) = catalogue::other() else { return Ok(make()) };
    let make = AssertUnwindSafe(make);
    let refuse =
        move |_: CaughtError| -> Result<T> { Err(Error::OtherVersion { installed: installed.clone() }) };
    PgTryBuilder::new(move || {
        let make = make;
        Ok((make.0)())
    })
    .catch_when(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, refuse.clone())
    .catch_when(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, refuse.clone())
    .catch_when(PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION, refuse.clone())
    .catch_when(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, refuse.clone())
    .catch_when(PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE, refuse)
    .execute()
}

/// A connection to SPI as the extension's owner, for the length of one call.
///
/// A read-only one runs its statements under the snapshot of the calling query and works on a standby.
pub struct Db {
    read_only: bool,
}

/// What the planner expects of a statement.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// How many rows it returns.
    pub rows: f64,
    /// The index that would find them, if it is one, as a bitmap, and nothing else has to be done.
    pub bitmap_of: Option<pg_sys::Oid>,
}

impl Db {
    /// Whether statements see one snapshot and may not write.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The tables as the statements of this connection see them, to be read by key: of a call that only reads.
    pub fn reading(&self) -> Option<Reading> {
        if self.read_only { Reading::now() } else { None }
    }

    /// Shows `body` what a statement would run under now, while it is active.
    pub fn under_snapshot<T>(&self, body: impl FnOnce(pg_sys::Snapshot) -> Result<T>) -> Result<T> {
        // SAFETY: the same steps as SPI takes for a statement. What is pushed is popped, unless an error ends the
        // transaction, which pops it.
        unsafe {
            if self.read_only {
                return body(pg_sys::GetActiveSnapshot());
            }
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
            pg_sys::CommandCounterIncrement();
            pg_sys::UpdateActiveSnapshotCommandId();
            let result = body(pg_sys::GetActiveSnapshot());
            pg_sys::PopActiveSnapshot();
            result
        }
    }

    /// Runs a kept statement.
    pub fn run(
        &self,
        statement: &'static std::thread::LocalKey<Statement>,
        args: &[Option<pg_sys::Datum>],
    ) -> Result<Rows> {
        self.run_limited(statement, args, 0)
    }

    /// Runs a kept statement and stops after `limit` rows (0: none).
    pub fn run_limited(
        &self,
        statement: &'static std::thread::LocalKey<Statement>,
        args: &[Option<pg_sys::Datum>],
        limit: i64,
    ) -> Result<Rows> {
        statement.with(|statement| {
            debug_assert_eq!(statement.types.len(), args.len());
            self.execute(statement.plan()?, args, limit)
        })
    }

    /// Runs a kept statement over a table.
    pub fn run_on(
        &self,
        statement: &'static std::thread::LocalKey<TableStatement>,
        table: &Table,
        args: &[Option<pg_sys::Datum>],
    ) -> Result<Rows> {
        statement.with(|statement| {
            debug_assert_eq!(statement.types.len(), args.len());
            self.execute(statement.plan(table)?, args, 0)
        })
    }

    /// What the planner expects of a kept statement.
    pub fn expect(
        &self,
        statement: &'static std::thread::LocalKey<Statement>,
        args: &[Option<pg_sys::Datum>],
    ) -> Result<Expected> {
        let plan = statement.with(Statement::plan)?;
        // SAFETY: a plan of one statement; the parameters are as many as it has, and live as long as the call. What is
        // planned is released at once.
        unsafe {
            let types = statement.with(|statement| statement.types);
            let params = pg_sys::makeParamList(types.len() as i32);
            let slots = (*params).params.as_mut_slice(types.len());
            for ((slot, kind), value) in slots.iter_mut().zip(types).zip(args) {
                slot.value = value.unwrap_or(pg_sys::Datum::from(0));
                slot.isnull = value.is_none();
                slot.pflags = pg_sys::PARAM_FLAG_CONST as u16;
                slot.ptype = kind.value();
            }
            let sources = pg_sys::SPI_plan_get_plan_sources(plan);
            let source = (*(*sources).elements).ptr_value.cast();
            let cached = pg_sys::GetCachedPlan(source, params, std::ptr::null_mut(), std::ptr::null_mut());
            let planned: *mut pg_sys::PlannedStmt = (*(*(*cached).stmt_list).elements).ptr_value.cast();
            let top = (*planned).planTree;
            let below = (*top).lefttree;
            let is_bitmap = (*top).type_ == pg_sys::NodeTag::T_BitmapHeapScan
                && (*below).type_ == pg_sys::NodeTag::T_BitmapIndexScan;
            let bitmap_of = is_bitmap.then(|| (*below.cast::<pg_sys::BitmapIndexScan>()).indexid);
            let expected = Expected { rows: (*top).plan_rows, bitmap_of };
            pg_sys::ReleaseCachedPlan(cached, std::ptr::null_mut());
            Ok(expected)
        }
    }

    /// Runs a statement once, for what cannot be prepared: it names tables to be made or removed.
    pub fn define(&self, sql: &str) -> Result<()> {
        let sql = CString::new(qualify(sql)?)
            .map_err(|_| Error::Internal("a statement holds a zero byte".into()))?;
        // SAFETY: SPI is connected; the text is a NUL-terminated string of ours.
        let status = unsafe { pg_sys::SPI_execute(sql.as_ptr(), self.read_only, 0) };
        if status < 0 {
            return Err(Error::Internal(format!("a definition failed with status {status}")));
        }
        Ok(())
    }

    fn execute(&self, plan: pg_sys::SPIPlanPtr, args: &[Option<pg_sys::Datum>], limit: i64) -> Result<Rows> {
        let mut values: Vec<pg_sys::Datum> =
            args.iter().map(|arg| arg.unwrap_or(pg_sys::Datum::from(0))).collect();
        let nulls: Vec<std::ffi::c_char> =
            args.iter().map(|arg| if arg.is_some() { b' ' } else { b'n' } as std::ffi::c_char).collect();
        // SAFETY: the plan is kept, the arrays are as long as the plan's parameters, SPI is connected.
        let status = unsafe {
            pg_sys::SPI_execute_plan(plan, values.as_mut_ptr(), nulls.as_ptr(), self.read_only, limit as _)
        };
        if status < 0 {
            return Err(Error::Internal(format!("a statement failed with status {status}")));
        }
        // SAFETY: globals of this backend, set by the call above.
        let (table, count) = unsafe { (pg_sys::SPI_tuptable, pg_sys::SPI_processed) };
        Ok(Rows { table, count: count as usize })
    }

    /// Runs a kept statement that answers with at most one row.
    pub fn row(
        &self,
        statement: &'static std::thread::LocalKey<Statement>,
        args: &[Option<pg_sys::Datum>],
    ) -> Result<Option<Row>> {
        Ok(self.run_limited(statement, args, 1)?.into_iter().next())
    }
}

thread_local! {
    /// The memory of whoever connected to SPI; null when nobody has.
    static ABOVE: Cell<pg_sys::MemoryContext> = const { Cell::new(std::ptr::null_mut()) };
}

/// Remembers whose memory the results of a connection go to, until it is dropped, on every way out.
struct Above(pg_sys::MemoryContext);

impl Above {
    fn enter() -> Self {
        // SAFETY: a plain read of the backend's current context.
        Self(ABOVE.replace(unsafe { pg_sys::CurrentMemoryContext }))
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        ABOVE.set(self.0);
    }
}

/// Runs `make` so that what it allocates outlives the connection to SPI, if there is one.
pub fn in_memory_above<T>(make: impl FnOnce() -> T) -> T {
    let above = ABOVE.get();
    if above.is_null() {
        return make();
    }
    // SAFETY: the context is that of a frame further up, which waits for this one. On an error the server goes back
    // to a context of its own.
    unsafe {
        let current = pg_sys::MemoryContextSwitchTo(above);
        let made = make();
        pg_sys::MemoryContextSwitchTo(current);
        made
    }
}

/// Runs `body` with SPI connected; rows must not leave it but as [`Row::copied`].
pub fn connected<T>(read_only: bool, body: impl FnOnce(&Db) -> Result<T>) -> Result<T> {
    let _above = Above::enter();
    // SAFETY: connect and finish are paired on every ordinary way out; after an error the transaction's
    // (or subtransaction's) end closes the connection.
    unsafe {
        if pg_sys::SPI_connect() != pg_sys::SPI_OK_CONNECT as i32 {
            return Err(Error::Internal("SPI is not available".into()));
        }
        let result = body(&Db { read_only });
        pg_sys::SPI_finish();
        result
    }
}

/// The rows of one statement, valid until the connection ends.
pub struct Rows {
    table: *mut pg_sys::SPITupleTable,
    count: usize,
}

impl Rows {
    /// Goes through them.
    pub fn iter(&self) -> RowIter {
        let count = if self.table.is_null() { 0 } else { self.count };
        RowIter { table: self.table, count, next: 0 }
    }

    /// Gives their memory back before the connection ends: nothing that was taken from them by reference is left.
    pub fn free(self) {
        if !self.table.is_null() {
            // SAFETY: the rows of a statement of this connection, freed once.
            unsafe { pg_sys::SPI_freetuptable(self.table) };
        }
    }

    /// How many rows there are, or how many a command without rows touched.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl IntoIterator for Rows {
    type Item = Row;
    type IntoIter = RowIter;

    fn into_iter(self) -> RowIter {
        self.iter()
    }
}

/// Goes through [`Rows`].
pub struct RowIter {
    table: *mut pg_sys::SPITupleTable,
    count: usize,
    next: usize,
}

impl Iterator for RowIter {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        if self.next >= self.count {
            return None;
        }
        let index = self.next;
        self.next += 1;
        Some(Row { table: self.table, index })
    }
}

/// One row; columns are counted from 1.
pub struct Row {
    table: *mut pg_sys::SPITupleTable,
    index: usize,
}

impl Row {
    fn datum(&self, column: i32) -> Option<pg_sys::Datum> {
        let mut is_null = false;
        // SAFETY: the table is valid while SPI is connected and `index` is below its count.
        unsafe {
            let tuple = *(*self.table).vals.add(self.index);
            let datum = pg_sys::SPI_getbinval(tuple, (*self.table).tupdesc, column, &raw mut is_null);
            (!is_null).then_some(datum)
        }
    }

    /// The value of a column, `None` when it is null. The statement's text decides the type.
    pub fn get<T: FromDatum>(&self, column: i32) -> Option<T> {
        let datum = self.datum(column)?;
        // SAFETY: the statements are ours, and each column is read as the type its statement gives it.
        unsafe { T::from_datum(datum, false) }
    }

    /// The value of a column that is never null.
    pub fn need<T: FromDatum>(&self, column: i32) -> Result<T> {
        self.get(column).ok_or_else(|| Error::Internal(format!("column {column} of an answer is missing")))
    }

    /// A by-reference value as a datum of the connection's memory: for another statement of the same call.
    pub fn raw(&self, column: i32) -> Option<pg_sys::Datum> {
        self.datum(column)
    }

    /// A by-reference (varlena) value copied into the memory of the caller of SPI: for the function's result.
    pub fn copied(&self, column: i32) -> Option<pg_sys::Datum> {
        let datum = self.datum(column)?;
        // SAFETY: varlena types are passed by reference with length -1; SPI is connected.
        Some(unsafe { pg_sys::SPI_datumTransfer(datum, false, -1) })
    }
}

/// A parameter of any type pgrx knows.
pub fn arg<T: IntoDatum>(value: T) -> Option<pg_sys::Datum> {
    value.into_datum()
}

/// Replaces the slots. The schemas are wherever the installer put those extensions.
fn qualify(sql: &str) -> Result<String> {
    let mut sql = sql.replace("{in_scope}", include_str!("in_scope.sql").trim_end());
    for (slot, extension) in [("{ltree}", c"ltree"), ("{vector}", c"vector")] {
        if sql.contains(slot) {
            sql = sql.replace(slot, &extension_schema(extension)?);
        }
    }
    Ok(sql)
}

fn extension_schema(name: &std::ffi::CStr) -> Result<String> {
    // SAFETY: catalogue lookups with a constant name; the strings are palloc'd by the server.
    unsafe {
        let oid = pg_sys::get_extension_oid(name.as_ptr(), true);
        let schema = if oid == pg_sys::Oid::INVALID {
            pg_sys::Oid::INVALID
        } else {
            pg_sys::get_extension_schema(oid)
        };
        if schema == pg_sys::Oid::INVALID {
            return Err(Error::Internal(format!("extension {} is missing", name.to_string_lossy())));
        }
        let quoted = pg_sys::quote_identifier(pg_sys::get_namespace_name(schema));
        Ok(std::ffi::CStr::from_ptr(quoted).to_string_lossy().into_owned())
    }
}

/// Runs `body`, turning the server's unique violation into `taken`, which is told the server's DETAIL; whatever it
/// wrote is undone by the error.
///
/// The server's own DETAIL shows the key to whoever asked. The error is always raised again, so that no half-done
/// statement can be committed.
pub fn unique_violation_as<T>(taken: impl Fn(&str) -> Error, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let (taken, body) = (AssertUnwindSafe(taken), AssertUnwindSafe(body));
    PgTryBuilder::new(move || {
        // The whole wrapper is captured, not the closure inside it.
        let body = body;
        (body.0)()
    })
    .catch_when(PgSqlErrorCode::ERRCODE_UNIQUE_VIOLATION, move |caught| {
        let taken = &taken;
        let detail = match &caught {
            CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => report.detail(),
            CaughtError::RustPanic { .. } => None,
        };
        Err((taken.0)(detail.unwrap_or_default()))
    })
    .execute()
}
