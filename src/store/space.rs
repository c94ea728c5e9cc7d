//! Spaces: made, listed, renamed, dropped.

use super::caller::Caller;
use super::embedding;
use super::spi::arg;
use super::uuid_v7;
use crate::domain::space::{Slug, SpaceName};
use crate::error::{Error, Forbidden, Result, Taken};
use crate::statement;

statement!(
    INSERT,
    ["insert into me.space (slug, id, name, created_at, created_by)
      values ($1, $2, $3, pg_catalog.transaction_timestamp(), $4)
      on conflict do nothing returning slug"],
    [TEXTOID, UUIDOID, TEXTOID, TEXTOID]
);
statement!(
    /// Newest first; a superuser sees all, others where they are admitted (SPC-1).
    LIST,
    [include_str!("space_list.sql")],
    [OIDOID, TEXTOID, UUIDOID, BOOLOID]
);
statement!(LOCK, ["select s.name from me.space as s where s.slug = $1 for update"], [TEXTOID]);
statement!(RENAME, ["update me.space set name = $2 where slug = $1"], [TEXTOID, TEXTOID]);
statement!(DROP_MEMORIES, ["delete from me.memory where space = $1"], [TEXTOID]);
statement!(DROP_EVENTS, ["delete from me.memory_event where space = $1"], [TEXTOID]);
statement!(DROP_QUEUE, ["delete from me.embedding_queue where space = $1"], [TEXTOID]);
statement!(DROP_EMBEDDED, ["delete from me.embedded where space = $1"], [TEXTOID]);
statement!(DROP_USE, ["delete from me.embedding_use where space = $1"], [TEXTOID]);
statement!(DROP_MEMBERS, ["delete from me.space_member where space = $1"], [TEXTOID]);
statement!(DROP_GRANTS, ["delete from me.tree_grant where space = $1"], [TEXTOID]);
statement!(DROP_SPACE, ["delete from me.space where slug = $1"], [TEXTOID]);

/// Makes a space.
pub fn create(caller: &Caller, slug: &Slug, name: &SpaceName) -> Result<()> {
    let row = caller.db().row(
        &INSERT,
        &[arg(slug.as_str()), arg(uuid_v7::next()), arg(name.as_str()), arg(caller.actor_name())],
    )?;
    if row.is_none() {
        return Err(Error::KeyTaken(Taken::Name { what: "space", name: slug.as_str().to_owned() }));
    }
    Ok(())
}

/// Slug and name of each space the caller is admitted to, newest first.
pub fn list(caller: &Caller) -> Result<Vec<(String, String)>> {
    caller
        .db()
        .run(&LIST, &{
            let [role, cluster, registration] = caller.identity_args();
            [role, cluster, registration, arg(caller.is_superuser())]
        })?
        .into_iter()
        .map(|row| Ok((row.need(1)?, row.need(2)?)))
        .collect()
}

/// Gives a space another display name.
pub fn rename(caller: &Caller, slug: &str, name: &SpaceName) -> Result<()> {
    lock_managed(caller, slug)?;
    caller.db().run(&RENAME, &[arg(slug), arg(name.as_str())])?;
    Ok(())
}

/// Removes a space with everything in it (EVT-10).
pub fn drop(caller: &Caller, slug: &str) -> Result<()> {
    // First: a writer may be making the default space while it holds off nobody.
    caller.hold_off_writers();
    lock_managed(caller, slug)?;
    embedding::remove_space_vectors(caller, slug)?;
    for statement in [
        &DROP_MEMORIES,
        &DROP_EVENTS,
        &DROP_QUEUE,
        &DROP_EMBEDDED,
        &DROP_USE,
        &DROP_MEMBERS,
        &DROP_GRANTS,
        &DROP_SPACE,
    ] {
        caller.db().run(statement, &[arg(slug)])?;
    }
    Ok(())
}

/// Locks a space the caller may manage; others, and unknown ones, are FORBIDDEN alike (PRIN-22).
fn lock_managed(caller: &Caller, slug: &str) -> Result<()> {
    let known = caller.db().row(&LOCK, &[arg(slug)])?.is_some();
    if known && caller.is_superuser() {
        return Ok(());
    }
    if caller.is_superuser() {
        return Err(Error::NotFound { what: "space", key: format!("\"{slug}\"") });
    }
    Err(Error::Forbidden(Forbidden::Space(slug.to_owned())))
}
