//! Grants, gateways, groups of application users, and what a caller may know about its own access.

use super::space::principal;
use super::{required, result};
use crate::domain::access::{Grant, Level, Rights};
use crate::domain::path::TreePath;
use crate::domain::principal::{Kind, PrincipalName};
use crate::error::{Error, Result};
use crate::guc;
use crate::store::caller::{self, Caller, Intent};
use crate::store::jsonb::Jsonb;
use crate::store::macros::iso_millis;
use crate::store::principal as principals;
use crate::store::session::{self, Session};
use crate::store::{gateway, grants};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Value, json};

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// What memory_context calls the server (CTX-1).
const SERVER: &str = concat!("memory_engine ", env!("CARGO_PKG_VERSION"));

/// Runs `memory_context`.
pub fn context(space: Option<&str>) -> Answer {
    let context = session::read(space, |_| Ok(()), |session, ()| Ok(describe(session)))?;
    Ok(result(&context.to_string())?)
}

fn describe(session: &Session) -> Value {
    let principal = session.principal();
    let kind = principal.map_or(Kind::User, |principal| principal.kind);
    let everything = [Grant { tree: TreePath::root(), level: Level::Owner }];
    let grants = match session.rights() {
        Rights::All => &everything[..],
        Rights::Grants(grants) => grants,
    };
    let mut sorted: Vec<&Grant> = grants.iter().collect();
    sorted.sort_by(|a, b| a.tree.cmp(&b.tree).then(b.level.cmp(&a.level)));
    let access: Vec<Value> = sorted
        .iter()
        .map(|grant| {
            json!({
                "treePath": grant.tree.display(session.home()),
                "access": grant.level as i16,
                "accessName": grant.level.word(),
            })
        })
        .collect();
    let mut context = json!({
        "server": SERVER,
        "mode": if kind == Kind::Service { "service-account" } else { "user" },
        "space": session.space_row().map(|space| json!({
            "id": pgrx::Uuid::from_bytes(space.id).to_string(),
            "slug": session.space(),
            "name": space.name,
        })),
        "principal": {
            "id": principal.map(|principal| pgrx::Uuid::from_bytes(principal.id).to_string()),
            "kind": kind.letter(),
            "name": session.own_name(),
            "admin": session.is_admin(),
        },
        "access": access,
    });
    if guc::space_locked() {
        context["activeSpace"] = session.space().into();
    }
    context
}

#[pg_extern(stable, parallel_restricted)]
fn memory_context(space: default!(Option<&str>, "NULL")) -> Answer {
    context(space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn access_grant(
    principal: default!(Option<&str>, "NULL"),
    tree: default!(Option<&str>, "NULL"),
    access: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let name = self::principal("principal", principal)?;
    let tree = required("tree", tree)?;
    let level = Level::parse("access", required("access", access)?).map_err(Error::from)?;
    let in_force = session::manage(
        space,
        |home| Ok(TreePath::parse_required("tree", tree, home)?),
        |session, tree| grants::set(session, &name, &tree, level),
    )?;
    if !in_force {
        notice_dormant(&name);
    }
    Ok(result(r#"{"granted": true}"#)?)
}

fn notice_dormant(name: &PrincipalName) {
    ErrorReport::new(
        PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
        format!("the grant is dormant until \"{}\" is admitted to the space", name.as_str()),
        "memory_engine",
    )
    .set_hint("Ask an admin of the space to call me.space_member_add().".to_owned())
    .report(PgLogLevel::NOTICE);
}

#[pg_extern(volatile, parallel_unsafe)]
fn access_revoke(
    principal: default!(Option<&str>, "NULL"),
    tree: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let name = self::principal("principal", principal)?;
    let tree = required("tree", tree)?;
    let removed = session::manage(
        space,
        |home| Ok(TreePath::parse_required("tree", tree, home)?),
        |session, tree| grants::unset(session, &name, &tree),
    )?;
    Ok(result(&json!({ "removed": removed }).to_string())?)
}

#[pg_extern(stable, parallel_restricted)]
fn access_list(
    principal: default!(Option<&str>, "NULL"),
    tree: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let name =
        principal.map(|name| PrincipalName::parse("principal", name)).transpose().map_err(Error::from)?;
    let listed = session::read(
        space,
        |home| Ok(TreePath::parse("tree", tree.unwrap_or("/"), home)?),
        |session, tree| Ok((grants::list(session, name.as_ref(), &tree)?, session.home().cloned())),
    )?;
    let (listed, home) = listed;
    let grants: Vec<Value> = listed
        .iter()
        .map(|listed| {
            json!({
                "principal": listed.principal,
                "kind": listed.kind.word(),
                "treePath": listed.grant.tree.display(home.as_ref()),
                "access": listed.grant.level as i16,
                "accessName": listed.grant.level.word(),
                "grantedAt": iso_millis(listed.granted_at),
                "grantedBy": listed.granted_by,
            })
        })
        .collect();
    Ok(result(&json!({ "grants": grants }).to_string())?)
}

/// Runs a change that belongs to no space and answers with whether something changed.
fn changed(word: &str, change: impl FnOnce(&Caller) -> Result<bool>) -> Answer {
    let changed = caller::call(Intent::Manage, change)?;
    Ok(result(&json!({ word: changed }).to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn gateway_add(role: default!(Option<&str>, "NULL")) -> Answer {
    let role = principal("role", role)?;
    changed("added", |caller| gateway::add(caller, &role))
}

#[pg_extern(volatile, parallel_unsafe)]
fn gateway_remove(role: default!(Option<&str>, "NULL")) -> Answer {
    let role = principal("role", role)?;
    changed("removed", |caller| gateway::remove(caller, &role))
}

#[pg_extern(volatile, parallel_unsafe)]
fn group_member_add(group: default!(Option<&str>, "NULL"), member: default!(Option<&str>, "NULL")) -> Answer {
    let (group, member) = (principal("group", group)?, principal("member", member)?);
    changed("added", |caller| gateway::group_add(caller, &group, &member))
}

#[pg_extern(volatile, parallel_unsafe)]
fn group_member_remove(
    group: default!(Option<&str>, "NULL"),
    member: default!(Option<&str>, "NULL"),
) -> Answer {
    let (group, member) = (principal("group", group)?, principal("member", member)?);
    changed("removed", |caller| gateway::group_remove(caller, &group, &member))
}

#[pg_extern(volatile, parallel_unsafe)]
fn principal_rebind(
    principal: default!(Option<&str>, "NULL"),
    role: default!(Option<&str>, "NULL"),
) -> Answer {
    let name = self::principal("principal", principal)?;
    let role = match role {
        Some(role) => PrincipalName::parse("role", role).map_err(Error::from)?,
        None => name.clone(),
    };
    caller::call(Intent::Manage, |caller| principals::rebind(caller, &name, &role))?;
    Ok(result(r#"{"bound": true}"#)?)
}
