//! Makes a recorded version the current state (REV).

use super::change::{self, Locked};
use super::history::{Target, no_version, readable_roots, resolve};
use super::insert::{self, New};
use super::jsonb::Jsonb;
use super::memory::{self, free_slot, uuid};
use super::operation::Operation;
use super::payload::{Payload, temporal};
use super::session::{Session, stored_tree};
use super::spi::{arg, unique_violation_as};
use crate::domain::access::Level;
use crate::domain::id::Id;
use crate::domain::memory::Name;
use crate::domain::path::{MemoryPath, TreePath};
use crate::domain::temporal::Temporal;
use crate::error::{Error, Result, Taken};
use crate::statement;

statement!(
    /// The earliest event of a version that the caller may read and that still has its payload (REV-3).
    SNAPSHOT,
    ["select e.tree::text, e.name, e.meta, e.content, lower(e.temporal), upper(e.temporal)
      from me.memory_event as e
      where e.space = $1 and e.memory_id = $2 and e.version = $3
        and e.operation in ('insert', 'update') and e.content is not null
        and ($4 is null or e.tree operator({ltree}.<@) any ((select $4::{ltree}.ltree[])::{ltree}.ltree[]))
      order by e.event_id limit 1"],
    [TEXTOID, UUIDOID, INT8OID, TEXTARRAYOID]
);

/// A recorded payload. Its values go back as they are: what was valid once stays so.
struct Snapshot {
    tree: TreePath,
    name: Option<Name>,
    content: String,
    meta: Jsonb,
    temporal: Option<Temporal>,
}

impl Snapshot {
    fn find(session: &Session, id: Id, version: i64) -> Result<Option<Self>> {
        let args = [arg(session.space()), arg(uuid(id)), arg(version), readable_roots(session)];
        let Some(row) = session.db().row(&SNAPSHOT, &args)? else { return Ok(None) };
        Ok(Some(Self {
            tree: stored_tree(&row.need::<String>(1)?)?,
            name: memory::stored_name(row.get(2))?,
            meta: row
                .raw(3)
                .map(Jsonb::from_raw)
                .ok_or_else(|| Error::Internal("a snapshot has no metadata".into()))?,
            content: row.need(4)?,
            temporal: temporal(row.get(5), row.get(6)),
        }))
    }

    fn path(&self) -> Option<MemoryPath> {
        self.name.as_ref().map(|name| MemoryPath::new(self.tree.clone(), name.clone()))
    }

    fn taken(&self, session: &Session) -> Error {
        Error::KeyTaken(Taken::Path(self.path().map(|path| path.display(session.home())).unwrap_or_default()))
    }

    fn payload(&self) -> Payload<'_> {
        Payload {
            tree: self.tree.as_dotted(),
            name: self.name.as_ref().map(Name::as_str),
            content: &self.content,
            meta: self.meta.text().into(),
            stored_meta: Some(self.meta),
            temporal: self.temporal,
        }
    }
}

/// Reverts a memory, or brings a deleted one back; the record is the one after the call.
pub fn revert(
    session: &Session,
    operation: &Operation,
    target: &Target,
    version: i64,
    expected: Option<&str>,
) -> Result<Jsonb> {
    let id = resolve(session, target)?;
    let not_found = || match target {
        Target::Id(id) => no_version(version, id),
        Target::Path(path) => no_version(version, path.display(session.home())),
    };
    let snapshot = Snapshot::find(session, id, version)?.ok_or_else(not_found)?;
    loop {
        let settled = match change::lock(session, id)? {
            // A memory that moved out of sight answers like one that never was (ACC-10).
            Some(live) if !session.rights().allow(Level::Read, &live.tree) => return Err(not_found()),
            Some(live) => Some(revert_live(session, operation, id, &live, &snapshot, expected)?),
            None => undelete(session, operation, id, &snapshot)?,
        };
        // Nothing when the memory came back between the two looks: then it is a live one.
        if let Some(record) = settled {
            return Ok(record);
        }
    }
}

fn revert_live(
    session: &Session,
    operation: &Operation,
    id: Id,
    live: &Locked,
    snapshot: &Snapshot,
    expected: Option<&str>,
) -> Result<Jsonb> {
    session.require(Level::Write, &live.tree)?;
    session.require(Level::Write, &snapshot.tree)?;
    live.expect(expected)?;
    if let Some(path) = snapshot.path()
        && (snapshot.tree != live.tree || snapshot.name != live.name)
    {
        free_slot(session, &path)?;
    }
    unique_violation_as(
        |_| snapshot.taken(session),
        || change::apply(session, operation, id, live, &snapshot.payload()),
    )
}

/// Inserts a deleted memory again (REV-8); `None` when it is there after all.
fn undelete(session: &Session, operation: &Operation, id: Id, snapshot: &Snapshot) -> Result<Option<Jsonb>> {
    session.require(Level::Write, &snapshot.tree)?;
    // The caller chose the id: version numbers go on.
    let new = New { id: uuid(id), chosen: true, payload: snapshot.payload() };
    if let Some(record) = insert::one(session, operation, &new)? {
        return Ok(Some(record));
    }
    if let Some(path) = snapshot.path() {
        free_slot(session, &path)?;
    }
    Ok(None)
}
