//! `me.*` functions that write or read one memory.

use super::history::instant_argument;
use super::{given, project, required, result};
use crate::domain::conflict::OnConflict;
use crate::domain::id::Id;
use crate::domain::instant::Instant;
use crate::domain::invalid::Invalid;
use crate::domain::memory::{Content, Name};
use crate::domain::patch::{ClearSet, Patch, parse_clear};
use crate::domain::path::{Home, MemoryPath, TreePath};
use crate::domain::select::Select;
use crate::domain::temporal::Temporal;
use crate::domain::version;
use crate::error::Result;
use crate::guc;
use crate::store::history;
use crate::store::jsonb::Jsonb;
use crate::store::memory::{self as store, Change, MetaValue, NewMemory};
use crate::store::operation::Operation;
use crate::store::session;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// The arguments of `memory_create`, and of one item of a batch.
#[derive(Default)]
pub struct Create {
    /// See the function.
    pub content: Option<String>,
    /// See the function.
    pub tree: Option<String>,
    /// See the function.
    pub id: Option<Id>,
    /// See the function.
    pub name: Option<String>,
    /// See the function.
    pub meta: Option<Jsonb>,
    /// See the function.
    pub temporal: Option<Jsonb>,
}

/// A [`Create`] checked but for its tree, which needs to know who is asking.
pub struct CreateRequest {
    tree: String,
    memory: NewMemory,
}

impl Create {
    /// Checks everything that needs no caller.
    pub fn check(self) -> Result<CreateRequest> {
        let content =
            Content::parse("content", required("content", self.content)?, guc::max_content_bytes())?;
        let tree = required("tree", self.tree)?;
        let name = self.name.map(|name| Name::parse("name", &name)).transpose()?;
        let meta = match given(self.meta) {
            Some(meta) => MetaValue::from_jsonb("meta", meta)?,
            None => MetaValue::empty(),
        };
        Ok(CreateRequest {
            tree,
            memory: NewMemory {
                id: self.id,
                tree: TreePath::root(),
                name,
                content,
                meta,
                temporal: temporal(self.temporal)?,
            },
        })
    }
}

impl CreateRequest {
    /// Places the memory, for a caller with this home.
    pub fn place(self, home: Option<&Home>) -> std::result::Result<NewMemory, Invalid> {
        Ok(NewMemory { tree: TreePath::parse_required("tree", &self.tree, home)?, ..self.memory })
    }
}

fn temporal(value: Option<Jsonb>) -> Result<Option<Temporal>> {
    match value {
        Some(value) => Ok(Temporal::parse("temporal", &value.text())?),
        None => Ok(None),
    }
}

/// Runs `memory_create`.
pub fn create(args: Create, on_conflict: Option<&str>, space: Option<&str>) -> Answer {
    let request = args.check()?;
    let mode = OnConflict::parse("on_conflict", on_conflict).map_err(crate::error::Error::from)?;
    session::write(
        space,
        |home| Ok(request.place(home)?),
        |session, memory| store::create(session, &Operation::new("create"), &memory, mode),
    )
}

/// The arguments of `memory_update`.
#[derive(Default)]
pub struct Update {
    /// See the function.
    pub id: Option<Id>,
    /// See the function.
    pub version_hash: Option<String>,
    /// See the function.
    pub content: Option<String>,
    /// See the function.
    pub name: Option<String>,
    /// See the function.
    pub meta: Option<Jsonb>,
    /// See the function.
    pub tree: Option<String>,
    /// See the function.
    pub temporal: Option<Jsonb>,
    /// See the function.
    pub meta_patch: Option<Jsonb>,
    /// See the function.
    pub clear: Option<Vec<Option<String>>>,
}

impl Update {
    /// Checks everything but the tree: the memory's id, the expected hash and the change.
    fn check(self) -> Result<(Id, String, Change, Option<String>)> {
        let id = required("id", self.id)?;
        let hash = required("version_hash", self.version_hash)?;
        version::check_expected("version_hash", &hash)?;
        let clear = parse_clear("clear", self.clear)?;
        let meta = given(self.meta).map(|meta| MetaValue::from_jsonb("meta", meta)).transpose()?;
        let meta_patch = given(self.meta_patch)
            .map(|patch| MetaValue::from_jsonb("meta_patch", patch).map(|patch| patch.meta.into_string()))
            .transpose()?;
        let change = Change {
            content: self
                .content
                .map(|content| Content::parse("content", content, guc::max_content_bytes()))
                .transpose()?,
            name: match self.name.as_deref() {
                None => Patch::Keep,
                Some("") => Patch::Clear,
                Some(name) => Patch::Set(Name::parse("name", name)?),
            },
            tree: None,
            meta,
            meta_patch,
            temporal: temporal(self.temporal)?.map_or(Patch::Keep, Patch::Set),
        };
        let change = with_clear(change, clear)?;
        if self.tree.is_none() && change.is_empty() {
            return Err(Invalid::new(
                "content",
                "UPD-2",
                "no field to update is given",
                "Give at least one of content, name, meta, meta_patch, tree, temporal or clear.",
            )
            .into());
        }
        Ok((id, hash, change, self.tree))
    }
}

/// Adds what `clear` names; a field is cleared or given, not both.
fn with_clear(mut change: Change, clear: ClearSet) -> Result<Change> {
    let both = |field: &str| {
        Invalid::new(
            "clear",
            "UPD-2",
            format!("argument \"clear\" names \"{field}\", which is given a value too"),
            format!("Leave \"{field}\" out of \"clear\", or do not give it a value."),
        )
    };
    if change.meta.is_some() && change.meta_patch.is_some() {
        return Err(Invalid::new(
            "meta_patch",
            "UPD-7",
            "arguments \"meta\" and \"meta_patch\" are both given",
            "Give \"meta\" to replace the metadata, or \"meta_patch\" to change some keys.",
        )
        .into());
    }
    if clear.name {
        if matches!(change.name, Patch::Set(_)) {
            return Err(both("name").into());
        }
        change.name = Patch::Clear;
    }
    if clear.temporal {
        if !change.temporal.is_keep() {
            return Err(both("temporal").into());
        }
        change.temporal = Patch::Clear;
    }
    if clear.meta {
        if change.meta.is_some() || change.meta_patch.is_some() {
            return Err(both("meta").into());
        }
        change.meta = Some(MetaValue::empty());
    }
    Ok(change)
}

/// Runs `memory_update`.
pub fn update(args: Update, space: Option<&str>) -> Answer {
    let (id, hash, mut change, tree) = args.check()?;
    session::write(
        space,
        |home| Ok(tree.map(|tree| TreePath::parse("tree", &tree, home)).transpose()?),
        |session, tree| {
            change.tree = tree;
            store::update(session, &Operation::new("update"), id, &hash, &change)
        },
    )
}

/// Runs `memory_get`; `as_of` asks for the state at an instant.
pub fn get(
    id: Option<Id>,
    select: Option<Vec<Option<String>>>,
    as_of: Option<Instant>,
    space: Option<&str>,
) -> Answer {
    let id = required("id", id)?;
    let select = Select::parse("select", select).map_err(crate::error::Error::from)?;
    if as_of.is_none()
        && let Some(record) = session::read_at_once(space, id)?
    {
        return Ok(project(select.as_ref(), record)?);
    }
    let record = session::read(
        space,
        |_| Ok(()),
        |session, ()| match as_of {
            None => store::get(session, id),
            Some(at) => history::get_as_of(session, id, at),
        },
    )?;
    Ok(project(select.as_ref(), record)?)
}

/// Runs `memory_get_by_path`; `as_of` as for [`get`].
pub fn get_by_path(
    path: Option<&str>,
    select: Option<Vec<Option<String>>>,
    as_of: Option<Instant>,
    space: Option<&str>,
) -> Answer {
    let path = required("path", path)?;
    let select = Select::parse("select", select).map_err(crate::error::Error::from)?;
    if as_of.is_none()
        && let Some(record) =
            session::read_path_at_once(space, |home| MemoryPath::parse("path", path, home).ok())?
    {
        return Ok(project(select.as_ref(), record)?);
    }
    let record = session::read(
        space,
        |home| Ok(MemoryPath::parse("path", path, home)?),
        |session, path| match as_of {
            None => store::get_by_path(session, &path),
            Some(at) => history::get_by_path_as_of(session, &path, at),
        },
    )?;
    Ok(project(select.as_ref(), record)?)
}

/// Runs `memory_delete`.
pub fn delete(id: Option<Id>, space: Option<&str>) -> Answer {
    let id = required("id", id)?;
    session::write(space, |_| Ok(()), |session, ()| store::delete(session, &Operation::new("delete"), id))?;
    Ok(result(r#"{"deleted": true}"#)?)
}

/// Runs `memory_delete_by_path`.
pub fn delete_by_path(path: Option<&str>, space: Option<&str>) -> Answer {
    let path = required("path", path)?;
    session::write(
        space,
        |home| Ok(MemoryPath::parse("path", path, home)?),
        |session, path| {
            let id = store::resolve_path(session, &path)?;
            store::delete(session, &Operation::new("delete"), id)
        },
    )?;
    Ok(result(r#"{"deleted": true}"#)?)
}

/// An id that came as SQL `uuid`.
pub(crate) fn id_argument(argument: &str, id: Option<pgrx::Uuid>) -> Result<Option<Id>> {
    Ok(id.map(|id| Id::from_bytes(argument, *id.as_bytes())).transpose()?)
}

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn memory_create(
    content: default!(Option<String>, "NULL"),
    tree: default!(Option<String>, "NULL"),
    id: default!(Option<pgrx::Uuid>, "NULL"),
    name: default!(Option<String>, "NULL"),
    meta: default!(Option<Jsonb>, "NULL"),
    temporal: default!(Option<Jsonb>, "NULL"),
    on_conflict: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let args = Create { content, tree, id: id_argument("id", id)?, name, meta, temporal };
    create(args, on_conflict, space)
}

#[pg_extern(stable, parallel_restricted)]
fn memory_get(
    id: default!(Option<pgrx::Uuid>, "NULL"),
    select: default!(Option<Vec<Option<String>>>, "NULL"),
    as_of: default!(Option<TimestampWithTimeZone>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    get(id_argument("id", id)?, select, instant_argument(as_of), space)
}

#[pg_extern(stable, parallel_restricted)]
fn memory_get_by_path(
    path: default!(Option<&str>, "NULL"),
    select: default!(Option<Vec<Option<String>>>, "NULL"),
    as_of: default!(Option<TimestampWithTimeZone>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    get_by_path(path, select, instant_argument(as_of), space)
}

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments, reason = "the SQL signature")]
fn memory_update(
    id: default!(Option<pgrx::Uuid>, "NULL"),
    version_hash: default!(Option<String>, "NULL"),
    content: default!(Option<String>, "NULL"),
    name: default!(Option<String>, "NULL"),
    meta: default!(Option<Jsonb>, "NULL"),
    tree: default!(Option<String>, "NULL"),
    temporal: default!(Option<Jsonb>, "NULL"),
    meta_patch: default!(Option<Jsonb>, "NULL"),
    clear: default!(Option<Vec<Option<String>>>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let args = Update {
        id: id_argument("id", id)?,
        version_hash,
        content,
        name,
        meta,
        tree,
        temporal,
        meta_patch,
        clear,
    };
    update(args, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_delete(id: default!(Option<pgrx::Uuid>, "NULL"), space: default!(Option<&str>, "NULL")) -> Answer {
    delete(id_argument("id", id)?, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_delete_by_path(
    path: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    delete_by_path(path, space)
}
