//! Runs the statements over memories and maps what they answer.

use super::embedding;
use super::jsonb::Jsonb;
use super::lexical;
use super::operation::Operation;
use super::session::{Session, stored_tree};
use super::skip;
use super::spi::{Row, arg, unique_violation_as};
use super::uuid_v7;
use crate::domain::access::Level;
use crate::domain::conflict::{Clash, OnConflict, Settlement, settle};
use crate::domain::id::Id;
use crate::domain::instant::Instant;
use crate::domain::invalid::Invalid;
use crate::domain::memory::{Content, Meta, Name};
use crate::domain::patch::Patch;
use crate::domain::path::{MemoryPath, TreePath};
use crate::domain::temporal::Temporal;
use crate::error::{Error, Result, Taken};
use crate::{guc, statement};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use std::collections::{HashMap, HashSet};

statement!(GET, [include_str!("memory_get.sql")], [TEXTOID, UUIDOID, TEXTOID]);
statement!(GET_BY_PATH, [include_str!("memory_get_by_path.sql")], [TEXTOID, TEXTOID, TEXTOID, TEXTOID]);
statement!(LOCK, [include_str!("memory_lock.sql")], [TEXTOID, UUIDOID]);
statement!(
    SLOT,
    ["select m.id from me.memory as m
      where m.space = $1 and m.tree operator({ltree}.=) $2::{ltree}.ltree and m.name = $3 for update"],
    [TEXTOID, TEXTOID, TEXTOID]
);
statement!(
    pub(super) INSERT,
    [
        include_str!("memory_insert.sql"),
        include_str!("event.sql"),
        include_str!("queue.sql"),
        "select me._record_of(i::me.memory, $16, false) from inserted as i"
    ],
    [
        TEXTOID,
        UUIDOID,
        TEXTOID,
        UUIDOID,
        TEXTOID,
        UUIDOID,
        TEXTOID,
        UUIDOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        JSONBOID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        BOOLOID,
        TEXTOID
    ]
);
statement!(
    INSERT_MANY,
    [
        include_str!("memory_insert_many.sql"),
        include_str!("event.sql"),
        include_str!("queue.sql"),
        "select i.id from inserted as i"
    ],
    [
        TEXTOID,
        UUIDOID,
        TEXTOID,
        UUIDOID,
        TEXTOID,
        UUIDOID,
        TEXTOID,
        UUIDARRAYOID,
        TEXTARRAYOID,
        TEXTARRAYOID,
        TEXTARRAYOID,
        TEXTARRAYOID,
        TIMESTAMPTZARRAYOID,
        TIMESTAMPTZARRAYOID,
        BOOLARRAYOID
    ]
);
statement!(
    pub(super) UPDATE,
    [
        include_str!("memory_update.sql"),
        include_str!("event.sql"),
        include_str!("queue.sql"),
        "select u.differs, u.record from updated as u"
    ],
    [
        TEXTOID,
        UUIDOID,
        TEXTOID,
        UUIDOID,
        TEXTOID,
        UUIDOID,
        TEXTOID,
        UUIDOID,
        TEXTOID,
        BOOLOID,
        TEXTOID,
        TEXTOID,
        JSONBOID,
        BOOLOID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        TEXTOID
    ]
);
statement!(
    DELETE,
    [
        include_str!("memory_delete.sql"),
        include_str!("event.sql"),
        include_str!("unqueue.sql"),
        "select 1 from changed"
    ],
    [TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID]
);
statement!(
    /// Whether the payload of a row differs from a submitted one (CONF-4, CONF-5).
    DIFFERS,
    ["select m.tree::text is distinct from $3 or m.name is distinct from $4 or m.content is distinct from $5
        or m.meta is distinct from $6 or m.temporal is distinct from me._temporal($7, $8)
      from me.memory as m where m.space = $1 and m.id = $2"],
    [TEXTOID, UUIDOID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, TIMESTAMPTZOID, TIMESTAMPTZOID]
);
statement!(
    /// Slots of a batch that are taken by a row whose id the batch also submits (BAT-6).
    SLOT_OWNERS,
    ["select m.id from me.memory as m
      join unnest($2::text[], $3::text[]) as g (tree, name)
        on m.tree operator({ltree}.=) g.tree::{ltree}.ltree and m.name = g.name
      where m.space = $1 and m.id = any ($4)"],
    [TEXTOID, TEXTARRAYOID, TEXTARRAYOID, UUIDARRAYOID]
);

/// Metadata: checked, and as the datum it came as or is parsed to.
pub struct MetaValue {
    /// The checked text.
    pub meta: Meta,
    datum: Option<Jsonb>,
}

impl MetaValue {
    /// Checks metadata that came as a datum.
    pub fn from_jsonb(argument: &str, value: Jsonb) -> std::result::Result<Self, Invalid> {
        let meta = Meta::from_canonical(argument, value.text())?;
        Ok(Self { meta: meta.within_bytes(argument, guc::max_content_bytes())?, datum: Some(value) })
    }

    /// Metadata that was checked as text.
    pub fn from_meta(meta: Meta) -> Self {
        Self { meta, datum: None }
    }

    /// `{}`.
    pub fn empty() -> Self {
        Self { meta: Meta::empty(), datum: None }
    }

    fn datum(&self) -> Option<Datum> {
        self.datum.or_else(|| Jsonb::parse(self.meta.as_str())).map(Jsonb::datum)
    }
}

/// A memory to be created; every field is checked.
pub struct NewMemory {
    /// The caller's id, or none.
    pub id: Option<Id>,
    /// Where.
    pub tree: TreePath,
    /// The leaf name, or none.
    pub name: Option<Name>,
    /// The text.
    pub content: Content,
    /// The metadata.
    pub meta: MetaValue,
    /// The time it is about.
    pub temporal: Option<Temporal>,
}

impl Change {
    /// Whether nothing is to change.
    pub fn is_empty(&self) -> bool {
        self.content.is_none()
            && self.name.is_keep()
            && self.tree.is_none()
            && self.meta.is_none()
            && self.meta_patch.is_none()
            && self.temporal.is_keep()
    }
}

impl NewMemory {
    fn name_arg(&self) -> Option<Datum> {
        self.name.as_ref().and_then(|name| arg(name.as_str()))
    }

    fn path(&self, session: &Session) -> String {
        match &self.name {
            Some(name) => MemoryPath::new(self.tree.clone(), name.clone()).display(session.home()),
            None => self.tree.display(session.home()),
        }
    }
}

/// What became of a submitted memory (BAT-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// A new row.
    Inserted,
    /// The stored row took the submitted values.
    Updated,
    /// The stored row stayed as it was.
    Skipped,
}

impl Status {
    /// The word of responses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Inserted => "inserted",
            Self::Updated => "updated",
            Self::Skipped => "skipped",
        }
    }
}

/// A change to a stored memory.
#[derive(Default)]
pub struct Change {
    /// A new text.
    pub content: Option<Content>,
    /// A new name, or none any more.
    pub name: Patch<Name>,
    /// A new tree.
    pub tree: Option<TreePath>,
    /// New metadata, as a whole.
    pub meta: Option<MetaValue>,
    /// Metadata to merge into the stored (RFC 7396), as JSON text.
    pub meta_patch: Option<String>,
    /// A new time, or none any more.
    pub temporal: Patch<Temporal>,
}

/// A row that was found and locked.
pub(super) struct Locked {
    pub(super) tree: TreePath,
    pub(super) name: Option<Name>,
    version: i64,
    version_hash: String,
    meta: Jsonb,
}

impl Locked {
    /// Refuses a caller whose version hash is stale (UPD-4).
    pub(super) fn expect(&self, expected: Option<&str>) -> Result<()> {
        if expected.is_none_or(|expected| expected == self.version_hash) {
            return Ok(());
        }
        Err(Error::Stale { version: self.version, version_hash: self.version_hash.clone() })
    }
}

fn start(temporal: Option<&Temporal>) -> Option<Datum> {
    temporal.and_then(|temporal| arg(timestamp(temporal.start())))
}

/// The end as it is stored: a point ends where it starts.
fn end(temporal: Option<&Temporal>) -> Option<Datum> {
    temporal.and_then(|temporal| arg(timestamp(temporal.end().unwrap_or_else(|| temporal.start()))))
}

fn timestamp(at: Instant) -> Option<TimestampWithTimeZone> {
    TimestampWithTimeZone::try_from(at.micros()).ok()
}

pub(super) fn uuid(id: Id) -> pgrx::Uuid {
    pgrx::Uuid::from_bytes(*id.as_bytes())
}

pub(super) fn no_memory(key: impl std::fmt::Display) -> Error {
    Error::NotFound { what: "memory", key: key.to_string() }
}

pub(super) fn readable(session: &Session, row: &Row) -> Result<bool> {
    Ok(session.rights().allow(Level::Read, &stored_tree(&row.need::<String>(1)?)?))
}

pub(super) fn record(row: &Row, column: i32) -> Result<Jsonb> {
    row.copied(column).map(Jsonb::from_raw).ok_or_else(|| Error::Internal("a record is missing".into()))
}

/// The record of an id (GET-1, GET-2).
pub fn get(session: &Session, id: Id) -> Result<Jsonb> {
    let row = session.db().row(&GET, &[arg(session.space()), arg(uuid(id)), session.home_label()])?;
    match row {
        Some(row) if readable(session, &row)? => record(&row, 2),
        _ => Err(no_memory(id)),
    }
}

/// The record of a path (GBP-1).
pub fn get_by_path(session: &Session, path: &MemoryPath) -> Result<Jsonb> {
    match find_path(session, path)? {
        Some(row) => record(&row, 2),
        None => Err(no_memory(path.display(session.home()))),
    }
}

/// The id of the live memory at a path that the caller may read (PATH-5).
pub fn resolve_path(session: &Session, path: &MemoryPath) -> Result<Id> {
    match find_path(session, path)? {
        Some(row) => stored_id(&row, 3),
        None => Err(no_memory(path.display(session.home()))),
    }
}

pub(super) fn find_path(session: &Session, path: &MemoryPath) -> Result<Option<Row>> {
    if !session.rights().allow(Level::Read, path.tree()) {
        return Ok(None);
    }
    session.db().row(
        &GET_BY_PATH,
        &[
            arg(session.space()),
            arg(path.tree().as_dotted()),
            arg(path.name().as_str()),
            session.home_label(),
        ],
    )
}

pub(super) fn stored_id(row: &Row, column: i32) -> Result<Id> {
    own_id(row.need(column)?)
}

/// An id that we stored or minted.
fn own_id(id: pgrx::Uuid) -> Result<Id> {
    Id::from_bytes("id", *id.as_bytes()).map_err(|invalid| Error::Internal(format!("stored id: {invalid}")))
}

/// Creates a memory, or settles a clash on its key; the record is the stored one after the call (CRE-1, CONF).
pub fn create(
    session: &Session,
    operation: &Operation,
    memory: &NewMemory,
    mode: OnConflict,
) -> Result<Jsonb> {
    session.require(Level::Write, &memory.tree)?;
    let (_, id, record) = create_row(session, operation, memory, mode)?;
    match (embedding::after_write(session, arg(vec![uuid(id)]))?, record) {
        (false, Some(record)) => Ok(record),
        _ => get(session, id).map_err(|error| match (error, memory.id) {
            // The record of a row the caller may not read cannot be the answer (CRE-6).
            (Error::NotFound { .. }, Some(id)) => Error::KeyTaken(Taken::Id(id.to_string())),
            (error, _) => error,
        }),
    }
}

/// The record comes along when the row is new.
fn create_row(
    session: &Session,
    operation: &Operation,
    memory: &NewMemory,
    mode: OnConflict,
) -> Result<(Status, Id, Option<Jsonb>)> {
    loop {
        let id = memory.id.map_or_else(uuid_v7::next, uuid);
        let args = operation.args(
            session,
            [
                arg(id),
                arg(memory.tree.as_dotted()),
                memory.name_arg(),
                arg(memory.content.as_str()),
                memory.meta.datum(),
                start(memory.temporal.as_ref()),
                end(memory.temporal.as_ref()),
                arg(memory.id.is_some()),
                session.home_label(),
            ],
        );
        if let Some(row) = session.db().row(&INSERT, &args)? {
            return Ok((Status::Inserted, own_id(id)?, Some(record(&row, 1)?)));
        }
        if let Some((status, id)) = settle_clash(session, operation, memory, mode)? {
            return Ok((status, id, None));
        }
        // Whatever held the key has been deleted since: try again.
    }
}

/// Settles a clash after an insert found a key taken; `None` when nothing holds it any more.
fn settle_clash(
    session: &Session,
    operation: &Operation,
    memory: &NewMemory,
    mode: OnConflict,
) -> Result<Option<(Status, Id)>> {
    let Some((clash, id, row)) = find_clash(session, memory)? else {
        return Ok(None);
    };
    let taken = || taken(session, memory, clash, id);
    match settle(clash, mode) {
        Settlement::Refuse => Err(taken()),
        Settlement::Skip => Ok(Some((Status::Skipped, id))),
        Settlement::Replace => {
            session.require(Level::Write, &row.tree)?;
            let updated = replace(session, operation, id, memory)?;
            let status = if updated { Status::Updated } else { Status::Skipped };
            Ok(Some((status, id)))
        }
    }
}

/// The refusal of a memory whose slot, or whose id, the row `id` holds (CONF-1).
pub(super) fn taken(session: &Session, memory: &NewMemory, clash: Clash, id: Id) -> Error {
    Error::KeyTaken(match clash {
        Clash::Slot => Taken::Path(memory.path(session)),
        Clash::Id | Clash::StrayId => Taken::Id(memory.id.unwrap_or(id).to_string()),
    })
}

/// Finds and locks the row that holds the key, or the id, of a submitted memory.
fn find_clash(session: &Session, memory: &NewMemory) -> Result<Option<(Clash, Id, Locked)>> {
    if let Some(name) = &memory.name {
        let slot = session
            .db()
            .row(&SLOT, &[arg(session.space()), arg(memory.tree.as_dotted()), arg(name.as_str())])?;
        if let Some(slot) = slot {
            let id = stored_id(&slot, 1)?;
            return Ok(lock(session, id)?.map(|row| (Clash::Slot, id, row)));
        }
    }
    let Some(id) = memory.id else { return Ok(None) };
    let clash = if memory.name.is_some() { Clash::StrayId } else { Clash::Id };
    Ok(lock(session, id)?.map(|row| (clash, id, row)))
}

/// Gives a stored row the submitted values; false when nothing differs (CONF-3…7).
fn replace(session: &Session, operation: &Operation, id: Id, memory: &NewMemory) -> Result<bool> {
    let differs = session.db().row(
        &DIFFERS,
        &[
            arg(session.space()),
            arg(uuid(id)),
            arg(memory.tree.as_dotted()),
            memory.name_arg(),
            arg(memory.content.as_str()),
            memory.meta.datum(),
            start(memory.temporal.as_ref()),
            end(memory.temporal.as_ref()),
        ],
    )?;
    if differs.is_none_or(|row| row.get(1) != Some(true)) {
        return Ok(false);
    }
    let args = operation.args(
        session,
        [
            arg(uuid(id)),
            arg(memory.tree.as_dotted()),
            arg(true),
            memory.name_arg(),
            arg(memory.content.as_str()),
            memory.meta.datum(),
            arg(true),
            start(memory.temporal.as_ref()),
            end(memory.temporal.as_ref()),
            session.home_label(),
        ],
    );
    session.db().run(&UPDATE, &args)?;
    Ok(true)
}

pub(super) fn lock(session: &Session, id: Id) -> Result<Option<Locked>> {
    let Some(row) = session.db().row(&LOCK, &[arg(session.space()), arg(uuid(id))])? else {
        return Ok(None);
    };
    Ok(Some(Locked {
        tree: stored_tree(&row.need::<String>(1)?)?,
        name: stored_name(row.get(2))?,
        version: row.need(3)?,
        version_hash: row.need(4)?,
        meta: row
            .raw(5)
            .map(Jsonb::from_raw)
            .ok_or_else(|| Error::Internal("stored metadata is missing".into()))?,
    }))
}

/// A name as it stands in a table.
pub(super) fn stored_name(name: Option<String>) -> Result<Option<Name>> {
    name.map(|name| Name::parse("name", &name))
        .transpose()
        .map_err(|invalid| Error::Internal(format!("stored name: {invalid}")))
}

/// Refuses a path at which there is a memory (UPD, REV-6).
pub(super) fn free_slot(session: &Session, path: &MemoryPath) -> Result<()> {
    let args = [arg(session.space()), arg(path.tree().as_dotted()), arg(path.name().as_str())];
    match session.db().row(&SLOT, &args)? {
        Some(_) => Err(Error::KeyTaken(Taken::Path(path.display(session.home())))),
        None => Ok(()),
    }
}

/// Locks a row the caller may change: NOT_FOUND when it may not read it, FORBIDDEN when it may not write (ACC-10).
pub(super) fn lock_writable(session: &Session, id: Id) -> Result<Locked> {
    let row = lock(session, id)?
        .filter(|row| session.rights().allow(Level::Read, &row.tree))
        .ok_or_else(|| no_memory(id))?;
    session.require(Level::Write, &row.tree)?;
    Ok(row)
}

/// Applies a change under the version hash the caller read (UPD-3…12).
pub fn update(
    session: &Session,
    operation: &Operation,
    id: Id,
    expected: &str,
    change: &Change,
) -> Result<Jsonb> {
    let row = lock_writable(session, id)?;
    if let Some(tree) = &change.tree {
        session.require(Level::Write, tree)?;
    }
    row.expect(Some(expected))?;
    let merged = change.meta_patch.as_deref().map(|patch| merge_meta(row.meta, patch)).transpose()?;
    let tree = change.tree.as_ref().unwrap_or(&row.tree);
    let name = change.name.clone().apply(row.name.clone());
    let taken = name
        .as_ref()
        .filter(|_| *tree != row.tree || name != row.name)
        .map(|name| MemoryPath::new(tree.clone(), name.clone()));
    let display = taken.as_ref().map(|path| path.display(session.home())).unwrap_or_default();
    let slot_taken = || Error::KeyTaken(Taken::Path(display.clone()));
    if let Some(path) = &taken {
        free_slot(session, path)?;
    }
    let temporal = match &change.temporal {
        Patch::Set(temporal) => Some(temporal),
        Patch::Clear | Patch::Keep => None,
    };
    let args = operation.args(
        session,
        [
            arg(uuid(id)),
            change.tree.as_ref().and_then(|tree| arg(tree.as_dotted())),
            arg(!change.name.is_keep()),
            name.as_ref().and_then(|name| arg(name.as_str())),
            change.content.as_ref().and_then(|content| arg(content.as_str())),
            merged.as_ref().or(change.meta.as_ref()).and_then(MetaValue::datum),
            arg(!change.temporal.is_keep()),
            start(temporal),
            end(temporal),
            session.home_label(),
        ],
    );
    let row = unique_violation_as(|_| slot_taken(), || session.db().row(&UPDATE, &args))?
        .ok_or_else(|| no_memory(id))?;
    let record = record(&row, 2)?;
    if embedding::after_write(session, arg(vec![uuid(id)]))? { get(session, id) } else { Ok(record) }
}

fn merge_meta(stored: Jsonb, patch: &str) -> Result<MetaValue> {
    let merged = crate::domain::patch::merge_patch(&stored.text(), patch)
        .map_err(|error| Error::Internal(format!("metadata could not be merged: {error}")))?;
    let merged =
        Jsonb::parse(&merged).ok_or_else(|| Error::Internal("merged metadata holds a zero byte".into()))?;
    Ok(MetaValue::from_jsonb("meta_patch", merged)?)
}

/// Deletes a memory (DEL-1…3).
pub fn delete(session: &Session, operation: &Operation, id: Id) -> Result<()> {
    lock_writable(session, id)?;
    session.db().run(&DELETE, &operation.args(session, [arg(uuid(id))]))?;
    embedding::remove_vectors(session, arg(vec![uuid(id)]))
}

/// Creates a batch (BAT).
pub fn create_many(
    session: &Session,
    operation: &Operation,
    memories: &[NewMemory],
    mode: OnConflict,
) -> Result<Vec<(Id, Status)>> {
    lexical::upkeep::note_written(memories.len());
    for memory in memories {
        session.require(Level::Write, &memory.tree)?;
    }
    if let Some(index) = double_target(session, memories)? {
        return Err(Invalid::new(
            format!("memories[{index}].id"),
            "BAT-6",
            format!(
                "argument \"memories[{index}].id\" and the name of another item address one stored memory"
            ),
            "Submit each stored memory once: by its id or by its tree and name.",
        )
        .into());
    }
    create_checked(session, operation, memories, mode)
}

/// Creates memories whose trees the caller may write and of which no two meet: what is new in one statement, then what
/// clashes.
pub(super) fn create_checked(
    session: &Session,
    operation: &Operation,
    memories: &[NewMemory],
    mode: OnConflict,
) -> Result<Vec<(Id, Status)>> {
    let ids: Vec<pgrx::Uuid> =
        memories.iter().map(|memory| memory.id.map_or_else(uuid_v7::next, uuid)).collect();
    let column =
        |value: fn(&NewMemory) -> Option<String>| arg(memories.iter().map(value).collect::<Vec<_>>());
    let instants = |value: fn(&Temporal) -> Instant| {
        arg(memories
            .iter()
            .map(|memory| memory.temporal.as_ref().and_then(|temporal| timestamp(value(temporal))))
            .collect::<Vec<_>>())
    };
    let args = operation.args(
        session,
        [
            arg(ids.clone()),
            column(|memory| Some(memory.tree.as_dotted().to_owned())),
            column(|memory| memory.name.as_ref().map(|name| name.as_str().to_owned())),
            column(|memory| Some(memory.content.as_str().to_owned())),
            column(|memory| Some(memory.meta.meta.as_str().to_owned())),
            instants(Temporal::start),
            instants(|temporal| temporal.end().unwrap_or_else(|| temporal.start())),
            arg(memories.iter().map(|memory| memory.id.is_some()).collect::<Vec<_>>()),
        ],
    );
    let inserted: HashSet<[u8; 16]> = session
        .db()
        .run(&INSERT_MANY, &args)?
        .into_iter()
        .map(|row| row.need::<pgrx::Uuid>(1).map(|id| *id.as_bytes()))
        .collect::<Result<_>>()?;

    let mut outcome: HashMap<usize, (Id, Status)> = HashMap::with_capacity(memories.len());
    let mut clashing: Vec<usize> = Vec::new();
    for (index, id) in ids.iter().enumerate() {
        if inserted.contains(id.as_bytes()) {
            outcome.insert(index, (own_id(*id)?, Status::Inserted));
        } else {
            clashing.push(index);
        }
    }
    // In key order, as the insert: two batches lock the same rows in the same order.
    clashing.sort_by_key(|index| {
        let memory = &memories[*index];
        (
            memory.tree.as_dotted().to_owned(),
            memory.name.as_ref().map(|name| name.as_str().to_owned()),
            memory.id,
        )
    });
    if mode == OnConflict::Ignore && !clashing.is_empty() {
        for (index, id) in skip::holders(session, memories, &clashing)? {
            outcome.insert(index, (id, Status::Skipped));
        }
        clashing.retain(|index| !outcome.contains_key(index));
    }
    for index in clashing {
        let settled = create_clashing(session, operation, &memories[index], mode)?;
        outcome.insert(index, settled);
    }
    let outcomes: Vec<(Id, Status)> = (0..memories.len())
        .map(|index| {
            outcome.remove(&index).ok_or_else(|| Error::Internal("a batch item has no outcome".into()))
        })
        .collect::<Result<_>>()?;
    embedding::after_write(session, arg(outcomes.iter().map(|(id, _)| uuid(*id)).collect::<Vec<_>>()))?;
    Ok(outcomes)
}

fn create_clashing(
    session: &Session,
    operation: &Operation,
    memory: &NewMemory,
    mode: OnConflict,
) -> Result<(Id, Status)> {
    if let Some((status, id)) = settle_clash(session, operation, memory, mode)? {
        return Ok((id, status));
    }
    // The holder was deleted meanwhile: an ordinary create settles it.
    let (status, id, _) = create_row(session, operation, memory, mode)?;
    Ok((id, status))
}

/// Two items of a batch must not meet in one stored row, an unnamed one by its id and a named one by its slot (BAT-6):
/// the index of an unnamed one that does.
pub(super) fn double_target(session: &Session, memories: &[NewMemory]) -> Result<Option<usize>> {
    let mut by_id: HashMap<[u8; 16], usize> = HashMap::new();
    let mut trees = Vec::new();
    let mut names = Vec::new();
    for (index, memory) in memories.iter().enumerate() {
        match (&memory.name, memory.id) {
            (None, Some(id)) => {
                by_id.insert(*id.as_bytes(), index);
            }
            (Some(name), _) => {
                trees.push(memory.tree.as_dotted().to_owned());
                names.push(name.as_str().to_owned());
            }
            (None, None) => {}
        }
    }
    if by_id.is_empty() || names.is_empty() {
        return Ok(None);
    }
    let ids: Vec<pgrx::Uuid> = by_id.keys().map(|id| pgrx::Uuid::from_bytes(*id)).collect();
    let rows = session.db().run(&SLOT_OWNERS, &[arg(session.space()), arg(trees), arg(names), arg(ids)])?;
    match rows.into_iter().next() {
        None => Ok(None),
        Some(row) => Ok(by_id.get(row.need::<pgrx::Uuid>(1)?.as_bytes()).copied()),
    }
}
