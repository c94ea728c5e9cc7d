//! Runs the statements over memories and maps what they answer.

use super::change::{self, Locked, lock};
use super::embedding;
use super::insert::{self, New};
use super::jsonb::Jsonb;
use super::lexical;
use super::operation::Operation;
use super::payload::Payload;
use super::session::{Session, stored_tree};
use super::skip;
use super::spi::{Row, arg, unique_violation_as};
use super::uuid_v7;
use crate::domain::access::Level;
use crate::domain::conflict::{Clash, OnConflict, Settlement, settle};
use crate::domain::id::Id;
use crate::domain::invalid::Invalid;
use crate::domain::memory::{Content, Meta, Name};
use crate::domain::patch::Patch;
use crate::domain::path::{MemoryPath, TreePath};
use crate::domain::temporal::Temporal;
use crate::error::{Error, Forbidden, Result, Taken};
use crate::{guc, statement, writing};
use std::borrow::Cow;
use std::collections::HashMap;

statement!(GET, [include_str!("memory_get.sql")], [TEXTOID, UUIDOID, TEXTOID]);
statement!(GET_BY_PATH, [include_str!("memory_get_by_path.sql")], [TEXTOID, TEXTOID, TEXTOID, TEXTOID]);
statement!(
    SLOT,
    ["select m.id from me.memory as m
      where m.space = $1 and m.tree operator({ltree}.=) $2::{ltree}.ltree and m.name = $3 for update"],
    [TEXTOID, TEXTOID, TEXTOID]
);
writing!(
    DELETE,
    [
        include_str!("memory_delete.sql"),
        include_str!("event.sql"),
        include_str!("unqueue.sql"),
        "select 1 from changed"
    ],
    [UUIDOID]
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

    /// The metadata as it is stored, and as PostgreSQL prints it.
    fn stored(&self) -> Result<(Jsonb, Cow<'_, str>)> {
        if let Some(stored) = self.datum {
            return Ok((stored, self.meta.as_str().into()));
        }
        let parsed = Jsonb::parse(self.meta.as_str())
            .ok_or_else(|| Error::Internal("metadata holds a zero byte".into()))?;
        Ok((parsed, parsed.text().into()))
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
    fn payload(&self) -> Result<Payload<'_>> {
        let (stored_meta, meta) = self.meta.stored()?;
        Ok(Payload {
            tree: self.tree.as_dotted(),
            name: self.name.as_ref().map(Name::as_str),
            content: self.content.as_str(),
            meta,
            stored_meta: Some(stored_meta),
            temporal: self.temporal,
        })
    }

    /// The order in which whole batches and subtrees are written: two with the same keys wait for each other instead of
    /// dying in a deadlock. It is that of the index over (space, tree, name), and ends with the id.
    pub fn key(&self) -> (&TreePath, bool, Option<&str>, Option<Id>) {
        let name = self.name.as_ref().map(Name::as_str);
        (&self.tree, name.is_none(), name, self.id)
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
        let new = New { id, chosen: memory.id.is_some(), payload: memory.payload()? };
        if let Some(record) = insert::one(session, operation, &new)? {
            return Ok((Status::Inserted, own_id(id)?, Some(record)));
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
        // Where the holder is, is nothing for a caller who may not read it.
        Settlement::Replace if !session.rights().allow(Level::Read, &row.tree) => {
            Err(Error::Forbidden(Forbidden::Only {
                action: "replace the memory that has this id",
                who: "callers who may write where it is",
            }))
        }
        Settlement::Replace => {
            session.require(Level::Write, &row.tree)?;
            let updated = replace(session, operation, id, &row, memory)?;
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
fn replace(
    session: &Session,
    operation: &Operation,
    id: Id,
    row: &Locked,
    memory: &NewMemory,
) -> Result<bool> {
    let payload = memory.payload()?;
    let (differs, _) = row.differs(&payload)?;
    if differs {
        change::apply(session, operation, id, row, &payload)?;
    }
    Ok(differs)
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
    let (stored_meta, meta) = match merged.as_ref().or(change.meta.as_ref()) {
        Some(meta) => meta.stored()?,
        None => (row.meta, row.meta.text().into()),
    };
    let content = match &change.content {
        Some(content) => Cow::Borrowed(content.as_str()),
        None => row.content()?.into(),
    };
    let payload = Payload {
        tree: tree.as_dotted(),
        name: name.as_ref().map(Name::as_str),
        content: &content,
        meta,
        stored_meta: Some(stored_meta),
        temporal: change.temporal.clone().apply(row.temporal),
    };
    let record =
        unique_violation_as(|_| slot_taken(), || change::apply(session, operation, id, &row, &payload))?;
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
    let mut order: Vec<usize> = (0..memories.len()).collect();
    order.sort_by(|a, b| memories[*a].key().cmp(&memories[*b].key()));
    let rows = order
        .iter()
        .map(|index| (&memories[*index], &ids[*index]))
        .map(|(memory, id)| Ok(New { id: *id, chosen: memory.id.is_some(), payload: memory.payload()? }))
        .collect::<Result<Vec<_>>>()?;
    let inserted = insert::many(session, operation, &rows)?;

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
    clashing.sort_by(|a, b| memories[*a].key().cmp(&memories[*b].key()));
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
