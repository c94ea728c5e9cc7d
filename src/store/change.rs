//! Changes to one stored row: it is locked, compared with what it shall say, and written with its event.

use super::entries::{Indexing, Text};
use super::event::{self, Event};
use super::jsonb::Jsonb;
use super::memory::{no_memory, record, stored_name, uuid};
use super::operation::Operation;
use super::payload::{Payload, temporal};
use super::session::{Session, stored_tree};
use super::spi::{Row, arg};
use crate::domain::id::Id;
use crate::domain::memory::Name;
use crate::domain::path::TreePath;
use crate::domain::temporal::Temporal;
use crate::error::{Error, Result};
use crate::statement;

statement!(LOCK, [include_str!("memory_lock.sql")], [TEXTOID, UUIDOID]);
statement!(
    UPDATE,
    [include_str!("memory_update.sql")],
    [
        TEXTOID,
        UUIDOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        JSONBOID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        INT8OID,
        INT8OID,
        UUIDOID,
        TEXTOID
    ]
);
statement!(
    /// An update after which nothing is different (UPD-9).
    TOUCH,
    ["update me.memory as m set updated_at = pg_catalog.transaction_timestamp()
      where m.space = $1 and m.id = $2
      returning me._record_of(m, $3, me._has_embedding(m.space, m.id, m.content_version))"],
    [TEXTOID, UUIDOID, TEXTOID]
);

/// A row that was found and locked.
pub struct Locked {
    /// Where it is.
    pub tree: TreePath,
    /// Its name, or none.
    pub name: Option<Name>,
    /// Its metadata.
    pub meta: Jsonb,
    /// The time it is about.
    pub temporal: Option<Temporal>,
    version: i64,
    content_version: i64,
    version_hash: pgrx::Uuid,
    row: Row,
}

/// Finds and locks a row.
pub fn lock(session: &Session, id: Id) -> Result<Option<Locked>> {
    let Some(row) = session.db().row(&LOCK, &[arg(session.space()), arg(uuid(id))])? else {
        return Ok(None);
    };
    Ok(Some(Locked {
        tree: stored_tree(&row.need::<String>(1)?)?,
        name: stored_name(row.get(2))?,
        version: row.need(3)?,
        content_version: row.need(4)?,
        version_hash: row.need(5)?,
        meta: row
            .raw(6)
            .map(Jsonb::from_raw)
            .ok_or_else(|| Error::Internal("stored metadata is missing".into()))?,
        temporal: temporal(row.get(7), row.get(8)),
        row,
    }))
}

impl Locked {
    /// Refuses a caller whose version hash is stale (UPD-4).
    pub fn expect(&self, expected: Option<&str>) -> Result<()> {
        let version_hash = hex(self.version_hash);
        if expected.is_none_or(|expected| expected == version_hash) {
            return Ok(());
        }
        Err(Error::Stale { version: self.version, version_hash })
    }

    /// Its text.
    pub fn content(&self) -> Result<String> {
        self.row.need(9)
    }

    /// Whether a payload is another one, and whether its content is (CONF-4, CONF-5).
    pub fn differs(&self, payload: &Payload) -> Result<(bool, bool)> {
        let new_text = self.content()? != payload.content;
        let differs = new_text
            || self.tree.as_dotted() != payload.tree
            || self.name.as_ref().map(Name::as_str) != payload.name
            || self.temporal != payload.temporal
            || !payload.stored_meta.is_some_and(|meta| meta.equals(self.meta));
        Ok((differs, new_text))
    }
}

fn hex(hash: pgrx::Uuid) -> String {
    format!("{:032x}", u128::from_be_bytes(*hash.as_bytes()))
}

/// Gives a locked row another payload; its record.
pub fn apply(
    session: &Session,
    operation: &Operation,
    id: Id,
    row: &Locked,
    payload: &Payload,
) -> Result<Jsonb> {
    let id_arg = uuid(id);
    let (differs, new_text) = row.differs(payload)?;
    if !differs {
        let args = [arg(session.space()), arg(id_arg), session.home_label()];
        let row = session.db().row(&TOUCH, &args)?.ok_or_else(|| no_memory(id))?;
        return record(&row, 1);
    }
    let version_hash = payload.version_hash();
    let (version, content_version) = (row.version + 1, row.content_version + i64::from(new_text));
    let new_meta = !payload.stored_meta.is_some_and(|meta| meta.is(row.meta));
    let args = [
        arg(session.space()),
        arg(id_arg),
        arg(payload.tree),
        payload.name.and_then(arg),
        if new_text { arg(payload.content) } else { None },
        if new_meta { payload.meta_arg() } else { None },
        payload.start(),
        payload.end(),
        arg(version),
        arg(content_version),
        arg(version_hash),
        session.home_label(),
    ];
    let updated = session.db().row(&UPDATE, &args)?.ok_or_else(|| no_memory(id))?;
    event::record(
        session,
        operation,
        "update",
        &[Event { id: id_arg, version, content_version, version_hash, payload }],
    )?;
    let indexing = Indexing::of(session)?;
    let texts = [Text { id: id_arg, content_version, payload }];
    if new_text || !indexing.is_of_content_alone() {
        indexing.changed(session, &texts)?;
    }
    if new_text {
        indexing.queue(session, &texts)?;
    }
    record(&updated, 1)
}
