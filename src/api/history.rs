//! `me.memory_history` and `me.memory_revert`.

use super::memory::id_argument;
use super::{required, result};
use crate::domain::history::{self, Cursor, EventKind, Filter, Order, no_scope};
use crate::domain::id::Id;
use crate::domain::instant::Instant;
use crate::domain::invalid::Invalid;
use crate::domain::path::{Home, MemoryPath, TreePath};
use crate::domain::select::Select;
use crate::domain::version;
use crate::error::{Error, Result};
use crate::store::history::{self as store, Page, Target};
use crate::store::jsonb::Jsonb;
use crate::store::operation::Operation;
use crate::store::revert as store_revert;
use crate::store::session;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// The arguments of `memory_history`.
#[derive(Default)]
pub struct History {
    /// See the function.
    pub memory_id: Option<Id>,
    /// See the function.
    pub path: Option<String>,
    /// See the function.
    pub tree: Option<String>,
    /// See the function.
    pub operation: Option<String>,
    /// See the function.
    pub operation_id: Option<Id>,
    /// See the function.
    pub since: Option<Instant>,
    /// See the function.
    pub until: Option<Instant>,
    /// See the function.
    pub cursor: Option<String>,
    /// See the function.
    pub limit: Option<i64>,
    /// See the function.
    pub order: Option<String>,
    /// See the function.
    pub select: Option<Vec<Option<String>>>,
}

struct HistoryRequest {
    filter: Filter,
    path: Option<String>,
    tree: Option<String>,
    order: Order,
    cursor: Option<Cursor>,
    limit: i64,
    select: Option<Select>,
}

/// A [`HistoryRequest`] whose path and tree are parsed for the caller.
struct Placed {
    filter: Filter,
    path: Option<MemoryPath>,
}

impl History {
    fn check(self) -> std::result::Result<HistoryRequest, Invalid> {
        // An empty string is no scope (HIST-1).
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (path, tree) = (given(self.path), given(self.tree));
        let kind = self.operation.map(|word| EventKind::parse("operation", &word)).transpose()?;
        let order = Order::parse("order", self.order.as_deref())?;
        let cursor = self.cursor.map(|text| Cursor::parse("cursor", &text)).transpose()?;
        let limit = history::page_size("limit", self.limit)?;
        let select = Select::parse("select", self.select)?;
        let by_memory = path.is_some() || self.memory_id.is_some();
        if !by_memory && tree.is_none() && self.operation_id.is_none() && self.since.is_none() {
            return Err(no_scope());
        }
        let filter = Filter {
            memory: self.memory_id,
            tree: None,
            kind,
            operation: self.operation_id,
            since: self.since,
            until: self.until,
        };
        Ok(HistoryRequest { filter, path, tree, order, cursor, limit, select })
    }
}

fn place(
    filter: &Filter,
    path: Option<&str>,
    tree: Option<&str>,
    home: Option<&Home>,
) -> std::result::Result<Placed, Invalid> {
    let tree = tree.map(|tree| TreePath::parse("tree", tree, home)).transpose()?;
    Ok(Placed {
        filter: Filter { tree, ..filter.clone() },
        path: path.map(|path| MemoryPath::parse("path", path, home)).transpose()?,
    })
}

/// Runs `memory_history`.
pub fn history(args: History, space: Option<&str>) -> Answer {
    let request = args.check().map_err(Error::from)?;
    let page = session::read(
        space,
        |home| Ok(place(&request.filter, request.path.as_deref(), request.tree.as_deref(), home)?),
        |session, placed| {
            let mut filter = placed.filter;
            if let Some(path) = placed.path {
                filter.memory = Some(store::resolve(session, &Target::Path(path))?);
            }
            store::page(session, &filter, request.order, request.cursor, request.limit)
        },
    )?;
    Ok(answer(page, request.limit, request.select.as_ref())?)
}

fn answer(page: Page, limit: i64, select: Option<&Select>) -> Result<Jsonb> {
    let events = match select {
        None => page.events,
        Some(select) => page
            .events
            .iter()
            .map(|event| select.project_event(event))
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| Error::Internal(format!("an event could not be projected: {error}")))?,
    };
    let next = page.next.map_or_else(|| "null".to_owned(), |cursor| format!("\"{}\"", cursor.print()));
    result(&format!("{{\"events\": [{}], \"limit\": {limit}, \"nextCursor\": {next}}}", events.join(",")))
}

/// The arguments of `memory_revert`.
#[derive(Default)]
pub struct Revert {
    /// See the function.
    pub version: Option<i64>,
    /// See the function.
    pub id: Option<Id>,
    /// See the function.
    pub path: Option<String>,
    /// See the function.
    pub expected_version_hash: Option<String>,
}

/// Runs `memory_revert`.
pub fn revert(args: Revert, space: Option<&str>) -> Answer {
    let version = history::version("version", required("version", args.version)?).map_err(Error::from)?;
    let expected = args.expected_version_hash;
    if let Some(expected) = &expected {
        version::check_expected("expected_version_hash", expected).map_err(Error::from)?;
    }
    if args.path.is_none() && args.id.is_none() {
        return Err(Error::from(Invalid::new(
            "id",
            "REV-1",
            "neither \"id\" nor \"path\" is given",
            "Say which memory to revert: by \"id\", or by \"path\".",
        ))
        .into());
    }
    session::write(
        space,
        |home| {
            Ok(match (args.path.as_deref(), args.id) {
                (Some(path), _) => Target::Path(MemoryPath::parse("path", path, home)?),
                (None, id) => Target::Id(required("id", id)?),
            })
        },
        |session, target| {
            let operation = Operation::new("revert");
            store_revert::revert(session, &operation, &target, version, expected.as_deref())
        },
    )
}

/// An instant that came as SQL `timestamptz`.
pub(crate) fn instant_argument(at: Option<TimestampWithTimeZone>) -> Option<Instant> {
    at.map(|at| Instant::from_micros(i64::from(at)))
}

#[pg_extern(stable, parallel_restricted)]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn memory_history(
    memory_id: default!(Option<pgrx::Uuid>, "NULL"),
    path: default!(Option<String>, "NULL"),
    tree: default!(Option<String>, "NULL"),
    operation: default!(Option<String>, "NULL"),
    operation_id: default!(Option<pgrx::Uuid>, "NULL"),
    since: default!(Option<TimestampWithTimeZone>, "NULL"),
    until: default!(Option<TimestampWithTimeZone>, "NULL"),
    cursor: default!(Option<String>, "NULL"),
    limit: default!(Option<i32>, "NULL"),
    order: default!(Option<String>, "NULL"),
    select: default!(Option<Vec<Option<String>>>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let args = History {
        memory_id: id_argument("memory_id", memory_id)?,
        path,
        tree,
        operation,
        operation_id: id_argument("operation_id", operation_id)?,
        since: instant_argument(since),
        until: instant_argument(until),
        cursor,
        limit: limit.map(i64::from),
        order,
        select,
    };
    history(args, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_revert(
    version: default!(Option<i64>, "NULL"),
    id: default!(Option<pgrx::Uuid>, "NULL"),
    path: default!(Option<String>, "NULL"),
    expected_version_hash: default!(Option<String>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let id = id_argument("id", id)?;
    revert(Revert { version, id, path, expected_version_hash }, space)
}
