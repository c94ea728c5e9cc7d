//! Grants: who may do what where (GRA).

use super::access_event::AccessEvents;
use super::caller::{Caller, grant as stored_grant, stored_kind};
use super::principal::{self, Named};
use super::session::Session;
use super::spi::arg;
use super::{roles, roster};
use crate::domain::access::{Grant, Level};
use crate::domain::path::TreePath;
use crate::domain::principal::{Kind, PrincipalName};
use crate::error::{Error, Forbidden, Result};
use crate::statement;
use pgrx::prelude::*;
use serde_json::json;

statement!(
    SET,
    ["insert into me.tree_grant as g (space, principal_id, tree, level, granted_at, granted_by)
      values ($1, $2, $3::{ltree}.ltree, $4, pg_catalog.transaction_timestamp(), $5)
      on conflict (space, principal_id, tree)
      do update set level = excluded.level, granted_at = excluded.granted_at, granted_by = excluded.granted_by
      where g.level <> excluded.level"],
    [TEXTOID, UUIDOID, TEXTOID, INT2OID, TEXTOID]
);
statement!(
    UNSET,
    ["delete from me.tree_grant as g
      where g.space = $1 and g.principal_id = $2 and g.tree operator({ltree}.=) $3::{ltree}.ltree"],
    [TEXTOID, UUIDOID, TEXTOID]
);
statement!(
    /// Whether a principal, or one of the roles it inherits from, is on the roster.
    ADMITTED,
    ["select exists (
        select from me.space_member as m join me.principal as p on p.id = m.principal_id
        where m.space = $1 and (p.id = $2
          or (p.cluster = $3 and p.role_oid = any ($4))
          or (p.cluster <> $3 and p.role_oid is not null and p.name = any ($5))))"],
    [TEXTOID, UUIDOID, TEXTOID, OIDARRAYOID, TEXTARRAYOID]
);
statement!(
    LIST,
    [r#"select p.name, p.kind, g.tree::text, g.level, g.granted_at, g.granted_by
      from me.tree_grant as g join me.principal as p on p.id = g.principal_id
      where g.space = $1 and g.tree operator({ltree}.<@) $2::{ltree}.ltree
        and ($3 is null or g.principal_id = $3)
      order by p.name collate "C", p.id, g.tree"#],
    [TEXTOID, TEXTOID, UUIDOID]
);

/// A grant as it is listed.
pub struct Listed {
    /// Whose it is.
    pub principal: String,
    /// What that is.
    pub kind: Kind,
    /// What it says.
    pub grant: Grant,
    /// When it was last set.
    pub granted_at: TimestampWithTimeZone,
    /// Who set it.
    pub granted_by: String,
}

/// Whether the caller may manage grants at the tree: an admin, or an owner there or above (GRA-3).
fn may_manage(session: &Session, tree: &TreePath) -> bool {
    session.is_admin() || session.rights().allow(Level::Owner, tree)
}

fn require_manager(session: &Session, tree: &TreePath) -> Result<()> {
    if may_manage(session, tree) {
        return Ok(());
    }
    let tree = tree.display(session.home());
    Err(Error::Forbidden(Forbidden::Tree { level: Level::Owner.word(), tree }))
}

/// Sets the level of a principal at exactly this tree (GRA-1). Whether it is in force: one by a mere owner for
/// somebody who is not admitted is stored but dormant (GRA-5, design §4).
pub fn set(session: &Session, name: &PrincipalName, tree: &TreePath, level: Level) -> Result<bool> {
    require_manager(session, tree)?;
    let (db, space) = (session.db(), session.space());
    let home_grants = roster::lock(session, space)?;
    let named = principal::known(session, "principal", name)?;
    let events = AccessEvents::new();
    if session.is_admin() {
        roster::join(session, &events, space, &named, None, home_grants)?;
    }
    let changed = db.run(
        &SET,
        &[arg(space), arg(named.id), arg(tree.as_dotted()), arg(level as i16), arg(session.actor_name())],
    )?;
    if changed.count() > 0 {
        let details = json!({ "tree": tree.as_dotted(), "access": level.word() });
        events.record(session, space, "grant", named.subject(), &details)?;
    }
    admitted(session, space, &named)
}

fn admitted(caller: &Caller, space: &str, named: &Named) -> Result<bool> {
    let inherited = named.inherits(caller)?;
    let names: Vec<String> = inherited.iter().map(|role| roles::name(*role)).collect();
    let row = caller
        .db()
        .row(&ADMITTED, &[arg(space), arg(named.id), arg(caller.cluster()), arg(inherited), arg(names)])?;
    Ok(row.and_then(|row| row.get(1)) == Some(true))
}

/// Removes the grant of a principal at exactly this tree; whether there was one (GRA-2).
pub fn unset(session: &Session, name: &PrincipalName, tree: &TreePath) -> Result<bool> {
    let (db, space) = (session.db(), session.space());
    let allowed = may_manage(session, tree);
    if !allowed && !administers_service(session, name)? {
        require_manager(session, tree)?;
    }
    let named = principal::registered_under(session, "principal", name)?;
    let removed = db.run(&UNSET, &[arg(space), arg(named.id), arg(tree.as_dotted())])?.count() > 0;
    if removed {
        let details = json!({ "tree": tree.as_dotted() });
        AccessEvents::new().record(session, space, "revoke", named.subject(), &details)?;
    }
    Ok(removed)
}

/// Who administers the role of a service may take its grants away (GRA-3, with PRIN-11 as Postgres has it).
fn administers_service(session: &Session, name: &PrincipalName) -> Result<bool> {
    let (Some(role), Some(service)) = (session.role(), roles::by_name(name.as_str())) else {
        return Ok(false);
    };
    if role == service || !roles::administers(role, service) {
        return Ok(false);
    }
    Ok(principal::registered_under(session, "principal", name)?.kind == Kind::Service)
}

/// The grants at or below a tree, of everybody or of one principal (GRA-4). One's own are always listable.
pub fn list(session: &Session, name: Option<&PrincipalName>, tree: &TreePath) -> Result<Vec<Listed>> {
    let own = name.is_some_and(|name| name.as_str() == session.own_name());
    if !own {
        require_manager(session, tree)?;
    }
    let principal = match name {
        Some(_) if own => match session.principal() {
            Some(principal) => Some(pgrx::Uuid::from_bytes(principal.id)),
            None => return Ok(Vec::new()),
        },
        Some(name) => Some(principal::registered_under(session, "principal", name)?.id),
        None => None,
    };
    session
        .db()
        .run(&LIST, &[arg(session.space()), arg(tree.as_dotted()), principal.and_then(arg)])?
        .into_iter()
        .map(|row| {
            Ok(Listed {
                principal: row.need(1)?,
                kind: stored_kind(&row.need::<String>(2)?)?,
                grant: stored_grant(&row.need::<String>(3)?, row.need(4)?)?,
                granted_at: row.need(5)?,
                granted_by: row.need(6)?,
            })
        })
        .collect()
}
