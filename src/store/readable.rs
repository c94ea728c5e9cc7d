//! What the caller may read, in every space: the access check of the views.

use super::caller::{self, Caller, Intent};
use super::spi::arg;
use crate::domain::access::{Grant, Level, Rights};
use crate::domain::principal::Kind;
use crate::error::Result;
use crate::{guc, statement};
use pgrx::iter::TableIterator;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

statement!(READABLE, [include_str!("readable.sql")], [UUIDARRAYOID, TEXTOID]);
statement!(SPACES, ["select s.slug from me.space as s where $1 is null or s.slug = $1"], [TEXTOID]);
statement!(
    MANAGED,
    ["select m.space, m.principal_id from me.space_member as m
      where m.admin and m.principal_id = any ($1) and ($2 is null or m.space = $2)"],
    [UUIDARRAYOID, TEXTOID]
);

/// The trees at and below which the caller may read, with their space. No tree is below another of its space, so
/// that a join over them shows each memory once.
#[pg_extern(stable, parallel_restricted)]
#[allow(clippy::type_complexity, reason = "what a set-returning function is")]
pub(crate) fn readable_trees()
-> std::result::Result<TableIterator<'static, (name!(space, String), name!(tree, String))>, ErrorReport> {
    let only = guc::space_locked().then(guc::space);
    let roots = caller::call(Intent::Read, |caller| roots(caller, only.as_deref()))?;
    Ok(TableIterator::new(roots))
}

fn roots(caller: &Caller, only: Option<&str>) -> Result<Vec<(String, String)>> {
    if caller.is_superuser() {
        return caller
            .db()
            .run(&SPACES, &[arg(only)])?
            .into_iter()
            .map(|row| Ok((row.need(1)?, String::new())))
            .collect();
    }
    let mut grants: BTreeMap<String, Vec<Grant>> = BTreeMap::new();
    for row in caller.db().run(&READABLE, &[caller.mine(), arg(only)])? {
        let grant = caller::grant(&row.need::<String>(2)?, row.need(3)?)?;
        grants.entry(row.need(1)?).or_default().push(grant);
    }
    Ok(grants
        .into_iter()
        .flat_map(|(space, grants)| {
            let rights = Rights::Grants(caller.limit(&space, grants));
            let roots = rights.roots(Level::Read).unwrap_or_default();
            roots.into_iter().map(|tree| (space.clone(), tree.as_dotted().to_owned())).collect::<Vec<_>>()
        })
        .collect())
}

/// The spaces that the caller manages, each once: the sizes of a space say something of what it holds.
#[pg_extern(stable, parallel_restricted, name = "_managed_spaces")]
pub(crate) fn managed_spaces()
-> std::result::Result<TableIterator<'static, (name!(space, String),)>, ErrorReport> {
    let only = guc::space_locked().then(guc::space);
    let spaces = caller::call(Intent::Read, |caller| managed(caller, only.as_deref()))?;
    Ok(TableIterator::new(spaces.into_iter().map(|space| (space,))))
}

fn managed(caller: &Caller, only: Option<&str>) -> Result<Vec<String>> {
    if caller.is_superuser() {
        return caller.db().run(&SPACES, &[arg(only)])?.into_iter().map(|row| row.need(1)).collect();
    }
    // A service manages a space only by an entry of its own (PRIN-6).
    let own = caller.principal().map(|principal| pgrx::Uuid::from_bytes(principal.id));
    let service = caller.principal().is_some_and(|principal| principal.kind == Kind::Service);
    let mut spaces = BTreeSet::new();
    for row in caller.db().run(&MANAGED, &[caller.mine(), arg(only)])? {
        let space: String = row.need(1)?;
        let counts = !service || own == row.get(2);
        if counts && caller.key().is_none_or(|key| key.allow.admin(&space)) {
            spaces.insert(space);
        }
    }
    Ok(spaces.into_iter().collect())
}

/// The label of the caller's home, or null.
#[pg_extern(stable, parallel_restricted, name = "_home_label")]
pub(crate) fn home_label() -> std::result::Result<Option<String>, ErrorReport> {
    caller::call(Intent::Read, |caller| Ok(caller.home().map(|home| home.label().to_owned())))
}
