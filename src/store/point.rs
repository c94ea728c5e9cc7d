//! One memory by its id or its path, without a statement: the calls that are made most often.
//!
//! It answers only with what it finds at once. For all else (a refusal, an application user, a table that is not read by
//! key) it has no answer, and the call goes the way all calls go.

use super::jsonb::Jsonb;
use super::keyed::{Found, Key, Keyed, Kind, Tables, need};
use super::record::Record;
use super::roles;
use super::session::stored_tree;
use super::standing::{self, Question, Standing};
use crate::domain::access::{Level, Rights};
use crate::domain::id::Id;
use crate::domain::instant::Instant;
use crate::domain::path::{Home, MemoryPath, TreePath};
use crate::error::Result;
use crate::guc::{self, Acting};
use pgrx::pg_sys;
use std::ffi::{CStr, CString};
use std::rc::Rc;

const COLUMNS: &[(&CStr, Kind)] = &[
    (c"space", Kind::Text),
    (c"id", Kind::Uuid),
    (c"tree", Kind::Other),
    (c"name", Kind::Text),
    (c"content", Kind::Text),
    (c"meta", Kind::Jsonb),
    (c"temporal", Kind::Tstzrange),
    (c"version", Kind::Int8),
    (c"content_version", Kind::Int8),
    (c"version_hash", Kind::Uuid),
    (c"created_at", Kind::Timestamptz),
    (c"created_by", Kind::Text),
    (c"updated_at", Kind::Timestamptz),
];
/// Where in [`COLUMNS`] each is.
pub(super) mod column {
    pub const SPACE: usize = 0;
    pub const ID: usize = 1;
    pub const TREE: usize = 2;
    pub const NAME: usize = 3;
    pub const CONTENT: usize = 4;
    pub const META: usize = 5;
    pub const TEMPORAL: usize = 6;
    pub const VERSION: usize = 7;
    pub const CONTENT_VERSION: usize = 8;
    pub const VERSION_HASH: usize = 9;
    pub const CREATED_AT: usize = 10;
    pub const CREATED_BY: usize = 11;
    pub const UPDATED_AT: usize = 12;
}
pub(in crate::store) static BY_ID: Keyed =
    Keyed { table: c"memory", index: c"memory_pkey", keys: &[column::SPACE, column::ID], columns: COLUMNS };
static BY_PATH: Keyed = Keyed {
    table: c"memory",
    index: c"memory_path_key",
    keys: &[column::SPACE, column::TREE, column::NAME],
    columns: COLUMNS,
};
pub(super) static EMBEDDED: Keyed = Keyed {
    table: c"embedded",
    index: c"embedded_pkey",
    keys: &[0, 1, 2],
    columns: &[
        (c"space", Kind::Text),
        (c"memory_id", Kind::Uuid),
        (c"model", Kind::Text),
        (c"content_version", Kind::Int8),
    ],
};

/// A row with the columns of [`COLUMNS`] as a record; `tree` as the caller sees it.
pub(super) fn record<'a>(found: &'a Found, tree: &'a str, has_embedding: bool) -> Result<Record<'a>> {
    Ok(Record {
        id: need(found.uuid(column::ID))?,
        content: need(found.text(column::CONTENT))?,
        meta: need(found.jsonb(column::META))?,
        tree,
        name: found.text(column::NAME),
        temporal: found
            .tstzrange(column::TEMPORAL)
            .map(|(start, end)| (Instant::from_micros(start), Instant::from_micros(end))),
        version: need(found.int8(column::VERSION))?,
        version_hash: need(found.uuid(column::VERSION_HASH))?,
        has_embedding,
        created_at: Instant::from_micros(need(found.timestamptz(column::CREATED_AT))?),
        created_by: need(found.text(column::CREATED_BY))?,
        updated_at: found.timestamptz(column::UPDATED_AT).map(Instant::from_micros),
    })
}

/// The record of an id, if it is found this way and the caller may read it.
pub fn get(space: &str, id: Id) -> Result<Option<Jsonb>> {
    let Some(look) = Look::begin(space)? else { return Ok(None) };
    look.record(&BY_ID, &[Key::Text(space), Key::Uuid(id.as_bytes())])
}

/// The record of a path, which `parse` reads for a caller with this home; as [`get`].
pub fn get_by_path(
    space: &str,
    parse: impl FnOnce(Option<&Home>) -> Option<MemoryPath>,
) -> Result<Option<Jsonb>> {
    let Some(look) = Look::begin(space)? else { return Ok(None) };
    let Some(path) = parse(look.home()) else { return Ok(None) };
    let Ok(tree) = CString::new(path.tree().as_dotted()) else { return Ok(None) };
    look.record(&BY_PATH, &[Key::Text(space), Key::Other(&tree), Key::Text(path.name().as_str())])
}

/// A caller whose standing is known, under the snapshot of the calling query.
pub(super) struct Look<'a> {
    tables: Tables,
    snapshot: pg_sys::Snapshot,
    space: &'a str,
    standing: Rc<Standing>,
}

impl<'a> Look<'a> {
    /// `None` when the caller is not admitted, or is somebody whom only the ordinary way knows.
    pub fn begin(space: &'a str) -> Result<Option<Self>> {
        if guc::principal() != Acting::AsItself {
            return Ok(None);
        }
        // SAFETY: reads the backend's own state; a function is only ever called under a snapshot.
        let (role, snapshot) = unsafe { (pg_sys::GetUserId(), pg_sys::GetActiveSnapshot()) };
        let cluster = roles::cluster();
        let question = Question { space, cluster: &cluster, role, superuser: roles::is_superuser(role) };
        let Some(standing) = standing::of(question, snapshot)? else { return Ok(None) };
        let admitted = question.superuser || standing.admitted;
        if standing.space.is_none() || standing.has_namesake || !admitted {
            return Ok(None);
        }
        Ok(Tables::here().map(|tables| Self { tables, snapshot, space, standing }))
    }

    /// The slug of the space.
    pub fn space(&self) -> &str {
        self.space
    }

    /// Whether the caller has the level at a tree.
    pub fn allows(&self, level: Level, tree: &TreePath) -> bool {
        self.standing.rights.allow(level, tree)
    }

    /// Whether the caller may read everything there is.
    pub fn sees_all(&self) -> bool {
        matches!(self.standing.rights, Rights::All)
    }

    /// Shows the rows of a key, as [`Tables::rows`].
    pub fn rows(
        &self,
        keyed: &Keyed,
        keys: &[Key],
        each: impl FnMut(&Found) -> Result<bool>,
    ) -> Result<bool> {
        self.tables.rows(keyed, self.snapshot, keys, each)
    }

    /// Shows the last row of a key, if the table can be read this way.
    pub fn last(&self, keyed: &Keyed, keys: &[Key], show: impl FnMut(&Found) -> Result<()>) -> Result<bool> {
        self.tables.open(keyed).map_or(Ok(false), |open| open.last(self.snapshot, keys, show))
    }

    fn home(&self) -> Option<&Home> {
        self.standing.registration.as_ref().and_then(|own| own.home.as_ref())
    }

    fn record(&self, memory: &Keyed, keys: &[Key]) -> Result<Option<Jsonb>> {
        let mut record = None;
        self.tables.rows(memory, self.snapshot, keys, |found| {
            record = self.made_of(found)?;
            Ok(false)
        })?;
        Ok(record)
    }

    fn made_of(&self, found: &Found) -> Result<Option<Jsonb>> {
        let tree = stored_tree(need(found.output(column::TREE))?)?;
        if !self.standing.rights.allow(Level::Read, &tree) {
            return Ok(None);
        }
        let id = need(found.uuid(column::ID))?;
        let Some(has_embedding) = self.has_embedding(&id, need(found.int8(column::CONTENT_VERSION))?)? else {
            return Ok(None);
        };
        Ok(record(found, &tree.display(self.home()), has_embedding)?.to_jsonb())
    }

    /// Whether the model the space searches with has vectors of this content; `None` when that cannot be read by key.
    fn has_embedding(&self, id: &[u8; 16], content_version: i64) -> Result<Option<bool>> {
        let model = match self.standing.model(self.space, self.tables, self.snapshot)? {
            None => return Ok(None),
            Some(None) => return Ok(Some(false)),
            Some(Some(model)) => model,
        };
        let keys = [Key::Text(self.space), Key::Uuid(id), Key::Text(model)];
        let mut has = false;
        let readable = self.tables.rows(&EMBEDDED, self.snapshot, &keys, |found| {
            has = found.int8(3) == Some(content_version);
            Ok(false)
        })?;
        Ok(readable.then_some(has))
    }
}
