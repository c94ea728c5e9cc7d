//! Gateways, and the groups of the application users they act for.

use super::access_event::{AccessEvents, Subject};
use super::caller::Caller;
use super::principal::{self, Named};
use super::session::NO_SPACE;
use super::spi::arg;
use super::{roles, roster};
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::principal::PrincipalName;
use crate::error::{Error, Forbidden, Result};
use crate::statement;
use pgrx::pg_sys;
use serde_json::json;

statement!(
    ADD,
    ["insert into me.gateway (cluster, role_oid, role_name, added_at, added_by)
      values ($1, $2, $3, pg_catalog.transaction_timestamp(), $4) on conflict do nothing"],
    [TEXTOID, OIDOID, TEXTOID, TEXTOID]
);
statement!(
    REMOVE,
    ["delete from me.gateway as g
      where g.cluster = $1 and g.role_oid = $2 or g.role_name = $3 and (g.cluster <> $1 or $2 is null)"],
    [TEXTOID, OIDOID, TEXTOID]
);
statement!(
    GROUP_ADD,
    ["insert into me.group_member (group_id, member_id, added_at)
      values ($1, $2, pg_catalog.transaction_timestamp()) on conflict do nothing"],
    [UUIDOID, UUIDOID]
);
statement!(
    GROUP_REMOVE,
    ["delete from me.group_member as g where g.group_id = $1 and g.member_id = $2"],
    [UUIDOID, UUIDOID]
);
statement!(
    /// The spaces a group manages.
    MANAGED,
    ["select m.space from me.space_member as m where m.principal_id = $1 and m.admin order by m.space"],
    [UUIDOID]
);

fn require_superuser(caller: &Caller, action: &'static str) -> Result<()> {
    if caller.is_superuser() {
        return Ok(());
    }
    Err(Error::Forbidden(Forbidden::Only { action, who: "superusers" }))
}

fn role_named(argument: &str, name: &PrincipalName) -> Result<pg_sys::Oid> {
    roles::by_name(name.as_str()).ok_or_else(|| {
        Invalid::new(
            argument,
            "PRIN-18",
            format!("argument \"{argument}\" names no role: {}", excerpt(name.as_str())),
            "Create the role first.",
        )
        .into()
    })
}

/// Lets a role act for application users; whether it could not before.
pub fn add(caller: &Caller, name: &PrincipalName) -> Result<bool> {
    require_superuser(caller, "manage gateways")?;
    let role = role_named("role", name)?;
    if roles::is_superuser(role) {
        return Err(Invalid::new(
            "role",
            "PRIN-20",
            format!("argument \"role\" names a superuser: {}", excerpt(name.as_str())),
            "Make a role of its own for the gateway.",
        )
        .into());
    }
    let subject = principal::known(caller, "role", name)?;
    let added = caller
        .db()
        .run(&ADD, &[arg(caller.cluster()), arg(role), arg(name.as_str()), arg(caller.actor_name())])?;
    let added = added.count() > 0;
    if added {
        AccessEvents::new().record(caller, NO_SPACE, "gateway_add", subject.subject(), &json!({}))?;
    }
    Ok(added)
}

/// Takes that away; whether the role was a gateway. One whose role is gone is removed by its name.
pub fn remove(caller: &Caller, name: &PrincipalName) -> Result<bool> {
    require_superuser(caller, "manage gateways")?;
    let role = roles::by_name(name.as_str());
    let removed =
        caller.db().run(&REMOVE, &[arg(caller.cluster()), role.and_then(arg), arg(name.as_str())])?.count()
            > 0;
    if removed {
        let id = principal::id_of(caller.db(), name.as_str())?.unwrap_or(pgrx::Uuid::from_bytes([0; 16]));
        let subject = Subject { id, name: name.as_str() };
        AccessEvents::new().record(caller, NO_SPACE, "gateway_remove", subject, &json!({}))?;
    }
    Ok(removed)
}

/// Puts an application user into a group; whether it was not in it.
pub fn group_add(caller: &Caller, group: &PrincipalName, member: &PrincipalName) -> Result<bool> {
    require_group_admin(caller, group)?;
    let role = role_named("group", group)?;
    if roles::is_superuser(role) {
        return Err(Invalid::new(
            "group",
            "PRIN-20",
            format!("argument \"group\" names a superuser: {}", excerpt(group.as_str())),
            "Use a role without login for the group.",
        )
        .into());
    }
    let group = principal::known_group(caller, "group", group, role)?;
    let member = application_user(caller, member)?;
    let added = caller.db().run(&GROUP_ADD, &[arg(group.id), arg(member.id)])?.count() > 0;
    if added {
        let details = json!({ "group": group.name });
        AccessEvents::new().record(caller, NO_SPACE, "group_add", member.subject(), &details)?;
    }
    Ok(added)
}

/// Takes an application user out of a group; whether it was in it. No space may lose its last admin by that.
pub fn group_remove(caller: &Caller, group: &PrincipalName, member: &PrincipalName) -> Result<bool> {
    require_group_admin(caller, group)?;
    let group = principal::registered_under(caller, "group", group)?;
    let member = principal::registered_under(caller, "member", member)?;
    let spaces = caller
        .db()
        .run(&MANAGED, &[arg(group.id)])?
        .into_iter()
        .map(|row| row.need::<String>(1))
        .collect::<Result<Vec<_>>>()?;
    for space in &spaces {
        roster::lock(caller, space)?;
    }
    keeping_admins(caller, &spaces, &mut || {
        let removed = caller.db().run(&GROUP_REMOVE, &[arg(group.id), arg(member.id)])?.count() > 0;
        if removed {
            let details = json!({ "group": group.name });
            AccessEvents::new().record(caller, NO_SPACE, "group_remove", member.subject(), &details)?;
        }
        Ok(removed)
    })
}

fn keeping_admins(
    caller: &Caller,
    spaces: &[String],
    change: &mut dyn FnMut() -> Result<bool>,
) -> Result<bool> {
    match spaces {
        [] => change(),
        [space, rest @ ..] => {
            roster::keeping_an_admin(caller, space, || keeping_admins(caller, rest, change))
        }
    }
}

/// Who may put application users into a group: who may grant its membership to roles (ADMIN OPTION).
fn require_group_admin(caller: &Caller, group: &PrincipalName) -> Result<()> {
    let administers =
        |role| roles::by_name(group.as_str()).is_some_and(|group| roles::administers(role, group));
    if caller.is_superuser() || caller.role().is_some_and(administers) {
        return Ok(());
    }
    let who = "superusers, and roles that hold the group's role with ADMIN OPTION";
    Err(Error::Forbidden(Forbidden::Only { action: "manage the members of this group", who }))
}

fn application_user(caller: &Caller, name: &PrincipalName) -> Result<Named> {
    if roles::by_name(name.as_str()).is_some() {
        return Err(Invalid::new(
            "member",
            "PRIN-19",
            format!("argument \"member\" names a role: {}", excerpt(name.as_str())),
            "Use GRANT to make a role a member of another one.",
        )
        .into());
    }
    principal::known(caller, "member", name)
}
