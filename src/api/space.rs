//! `me.space_*`: the spaces themselves, and who is admitted to them.

use super::{required, result};
use crate::domain::principal::{Kind, PrincipalName};
use crate::domain::space::{FulltextFields, Slug, SpaceName};
use crate::error::{Error, Result};
use crate::store::caller::{self, Intent};
use crate::store::jsonb::Jsonb;
use crate::store::macros::iso_millis;
use crate::store::reindex;
use crate::store::space::{self as store, Existing};
use crate::store::{random, roster, session};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// Runs `space_list`.
pub fn list() -> Answer {
    let spaces = caller::call(Intent::Read, store::list)?;
    let spaces: Vec<_> = spaces.iter().map(|(slug, name)| json!({"slug": slug, "name": name})).collect();
    Ok(result(&json!({ "spaces": spaces }).to_string())?)
}

/// A name of a principal that must be given.
pub(super) fn principal(argument: &str, name: Option<&str>) -> Result<PrincipalName> {
    Ok(PrincipalName::parse(argument, required(argument, name)?)?)
}

#[pg_extern(stable, parallel_restricted)]
fn space_list() -> Answer {
    list()
}

#[pg_extern(volatile, parallel_unsafe)]
fn space_create(
    slug: default!(Option<&str>, "NULL"),
    name: default!(Option<&str>, "NULL"),
    home_grants: default!(Option<bool>, "NULL"),
) -> Answer {
    let slug = match slug {
        Some(slug) => Slug::parse("slug", slug).map_err(Error::from)?,
        None => Slug::from_random(random::bytes()),
    };
    let name = SpaceName::parse("name", name.unwrap_or(slug.as_str())).map_err(Error::from)?;
    let home_grants = home_grants.unwrap_or(true);
    caller::call(Intent::Manage, |caller| {
        store::create(caller, &slug, &name, home_grants, Existing::Refuse)
    })?;
    Ok(result(&json!({"slug": slug.as_str(), "name": name.as_str()}).to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn space_rename(slug: default!(Option<&str>, "NULL"), name: default!(Option<&str>, "NULL")) -> Answer {
    let slug = required("slug", slug)?;
    let name = SpaceName::parse("name", required("name", name)?).map_err(Error::from)?;
    store::rename(slug, &name)?;
    Ok(result(&json!({"slug": slug, "name": name.as_str()}).to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn space_drop(slug: default!(Option<&str>, "NULL")) -> Answer {
    store::drop(required("slug", slug)?)?;
    Ok(result(r#"{"dropped": true}"#)?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn space_configure(
    fulltext_fields: default!(Option<Vec<Option<String>>>, "NULL"),
    text_config: default!(Option<&str>, "NULL"),
    home_grants: default!(Option<bool>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let fields = fulltext_fields
        .map(|fields| FulltextFields::parse("fulltext_fields", &fields))
        .transpose()
        .map_err(Error::from)?;
    let settings = session::manage(
        space,
        |_| Ok(()),
        |session, ()| {
            let settings =
                store::configure(session, session.space(), fields.as_ref(), text_config, home_grants)?;
            if fields.is_some() || text_config.is_some() {
                reindex::refresh(session, reindex::AT_ONCE)?;
            }
            Ok(settings)
        },
    )?;
    let settings = json!({
        "fulltextFields": settings.fulltext_fields,
        "textConfig": settings.text_config,
        "homeGrants": settings.home_grants,
    });
    Ok(result(&settings.to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn space_member_add(
    principal: default!(Option<&str>, "NULL"),
    kind: default!(Option<&str>, "NULL"),
    admin: default!(Option<bool>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let name = self::principal("principal", principal)?;
    let kind = kind.map(|kind| Kind::parse("kind", kind)).transpose().map_err(Error::from)?;
    let (member, added) =
        session::manage(space, |_| Ok(()), |session, ()| roster::add(session, &name, kind, admin))?;
    let answer = json!({
        "added": added,
        "id": member.id.to_string(),
        "name": member.name,
        "kind": member.kind.word(),
    });
    Ok(result(&answer.to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn space_member_remove(
    principal: default!(Option<&str>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    let name = self::principal("principal", principal)?;
    let removed = session::manage(space, |_| Ok(()), |session, ()| roster::remove(session, &name))?;
    Ok(result(&json!({ "removed": removed }).to_string())?)
}

#[pg_extern(stable, parallel_restricted)]
fn space_member_list(space: default!(Option<&str>, "NULL")) -> Answer {
    let members = session::read(space, |_| Ok(()), |session, ()| roster::list(session))?;
    let members: Vec<_> = members
        .iter()
        .map(|member| {
            json!({
                "name": member.name,
                "kind": member.kind.word(),
                "admin": member.admin,
                "addedAt": iso_millis(member.added_at),
            })
        })
        .collect();
    Ok(result(&json!({ "members": members }).to_string())?)
}
