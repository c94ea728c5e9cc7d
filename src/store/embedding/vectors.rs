//! The vectors: one table per model.

use super::{Registered, current};
use crate::domain::embedding::{Dimensions, Vector};
use crate::domain::id::Id;
use crate::error::{Error, Result};
use crate::store::caller::Caller;
use crate::store::memory::lock_writable;
use crate::store::session::Session;
use crate::store::spi::{Db, Table, arg};
use crate::{statement, table_statement};
use pgrx::pg_sys::Datum;

statement!(TABLES, ["select m.relation from me.embedding_model as m order by m.name"], []);
table_statement!(
    REMOVE,
    ["delete from {table} as v where v.space = $1 and v.memory_id = any ($2)"],
    [TEXTOID, UUIDARRAYOID]
);
table_statement!(REMOVE_SPACE, ["delete from {table} as v where v.space = $1"], [TEXTOID]);
table_statement!(
    INSERT,
    ["insert into {table} (space, memory_id, window_no, content_version, vector)
      values ($1, $2, $3, $4, $5::{vector}.halfvec)"],
    [TEXTOID, UUIDOID, INT2OID, INT8OID, FLOAT4ARRAYOID]
);
table_statement!(
    /// Vectors of given content ($2 memories, $4 content versions), for copies of it ($3), which are at version 1.
    COPY,
    ["insert into {table} (space, memory_id, window_no, content_version, vector)
      select $1, c.copy, v.window_no, 1, v.vector
      from unnest($2::uuid[], $3::uuid[], $4::bigint[]) as c (memory, copy, version)
      join {table} as v on v.space = $1 and v.memory_id = c.memory and v.content_version = c.version"],
    [TEXTOID, UUIDARRAYOID, UUIDARRAYOID, INT8ARRAYOID]
);
statement!(
    /// Nothing comes back when vectors of later content are stored already.
    NOTE,
    ["insert into me.embedded as e (space, memory_id, model, content_version) values ($1, $2, $3, $4)
      on conflict (space, memory_id, model) do update set content_version = excluded.content_version
      where e.content_version <= excluded.content_version
      returning 1"],
    [TEXTOID, UUIDOID, TEXTOID, INT8OID]
);
statement!(
    CONTENT_VERSION,
    ["select m.content_version from me.memory as m where m.space = $1 and m.id = $2"],
    [TEXTOID, UUIDOID]
);

/// Makes the table of a model outside the extension's membership, so that a dump carries it with its index.
pub(super) fn make_table(db: &Db, table: &Table, dimensions: Dimensions) -> Result<()> {
    let name = table.qualified()?;
    let dimensions = dimensions.get();
    db.define(&format!(
        "create table {name} (
           space text collate \"C\" not null,
           memory_id uuid not null,
           window_no smallint not null,
           content_version bigint not null,
           vector {{vector}}.halfvec({dimensions}) not null,
           primary key (space, memory_id, window_no)
         )"
    ))?;
    db.define(&format!("create index on {name} using hnsw (vector {{vector}}.halfvec_cosine_ops)"))?;
    // How a search by meaning finds what it compares one by one; a look in the primary key takes three times as long.
    db.define(&format!("create index on {name} using hash (memory_id)"))?;
    db.define(&format!(
        "comment on table {name} is 'Vectors of one embedding model; see me.embedding_model_list().'"
    ))
}

pub(super) fn drop_table(db: &Db, table: &Table) -> Result<()> {
    db.define(&format!("drop table {}", table.qualified()?))
}

/// Replaces the vectors a model has of a memory, unless it has some of later content.
pub(super) fn store(
    db: &Db,
    space: &str,
    registered: &Registered,
    memory: pgrx::Uuid,
    content_version: i64,
    vectors: &[Vector],
) -> Result<()> {
    let Registered { model, table } = registered;
    let args = [arg(space), arg(memory), arg(model.name.as_str()), arg(content_version)];
    if db.row(&NOTE, &args)?.is_none() {
        return Ok(());
    }
    db.run_on(&REMOVE, table, &[arg(space), arg(vec![memory])])?;
    for (window, vector) in vectors.iter().enumerate() {
        let window = i16::try_from(window).map_err(|_| Error::Internal("too many windows".into()))?;
        let args =
            [arg(space), arg(memory), arg(window), arg(content_version), arg(vector.as_slice().to_vec())];
        db.run_on(&INSERT, table, &args)?;
    }
    Ok(())
}

/// Removes the vectors of memories that are gone (an array of ids), whatever model they are of.
pub fn remove_vectors(session: &Session, memories: Option<Datum>) -> Result<()> {
    for row in session.db().run(&TABLES, &[])? {
        let table = Table::registered(row.need(1)?);
        session.db().run_on(&REMOVE, &table, &[arg(session.space()), memories])?;
    }
    Ok(())
}

/// Gives copies the vectors of what they were copied from: arrays of memories, of their copies, and of the content
/// versions that were copied.
pub fn copy_vectors(session: &Session, copies: [Option<Datum>; 3]) -> Result<()> {
    let [memories, new, versions] = copies;
    for row in session.db().run(&TABLES, &[])? {
        let table = Table::registered(row.need(1)?);
        session.db().run_on(&COPY, &table, &[arg(session.space()), memories, new, versions])?;
    }
    Ok(())
}

/// Removes all vectors of a space.
pub fn remove_space_vectors(caller: &Caller, space: &str) -> Result<()> {
    for row in caller.db().run(&TABLES, &[])? {
        caller.db().run_on(&REMOVE_SPACE, &Table::registered(row.need(1)?), &[arg(space)])?;
    }
    Ok(())
}

/// Stores a vector that the caller brings, as a worker would (EMB-12).
pub fn set_vector(session: &Session, id: Id, numbers: &[Option<f32>]) -> Result<()> {
    lock_writable(session, id)?;
    let registered = current(session)?.ok_or(Error::EmbeddingNotConfigured)?;
    let vector = Vector::parse("vector", numbers, registered.model.dimensions)?;
    let memory = pgrx::Uuid::from_bytes(*id.as_bytes());
    let content_version: i64 = session
        .db()
        .row(&CONTENT_VERSION, &[arg(session.space()), arg(memory)])?
        .ok_or_else(|| Error::Internal("a locked memory is gone".into()))?
        .need(1)?;
    store(session.db(), session.space(), &registered, memory, content_version, &[vector])?;
    super::queue::settle(session, memory, content_version, registered.model.name.as_str())
}
