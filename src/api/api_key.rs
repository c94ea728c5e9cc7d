//! `me.api_key_*`: keys for principals that come through a gateway.

use super::space::principal;
use super::{given, required, result};
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::principal::PrincipalName;
use crate::error::{Error, Result};
use crate::store::api_key as store;
use crate::store::caller::{self, Intent};
use crate::store::jsonb::Jsonb;
use crate::store::macros::iso_millis;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Value, json};

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// What a key is called unless its maker says.
const UNNAMED: &str = "key";

/// A key's name: 1 to 100 characters without control characters (PRIN-13).
fn key_name(name: Option<&str>) -> Result<&str> {
    let name = name.unwrap_or(UNNAMED);
    let fits = (1..=100).contains(&name.chars().count());
    if fits && !name.trim().is_empty() && !name.chars().any(char::is_control) {
        return Ok(name);
    }
    Err(Invalid::new(
        "name",
        "PRIN-13",
        format!("argument \"name\" is no name of a key: {}", excerpt(name)),
        "Use 1 to 100 characters without control characters.",
    )
    .into())
}

#[pg_extern(volatile, parallel_unsafe)]
fn api_key_create(
    principal: default!(Option<&str>, "NULL"),
    name: default!(Option<&str>, "NULL"),
    expires: default!(Option<TimestampWithTimeZone>, "NULL"),
    allow: default!(Option<Jsonb>, "NULL"),
) -> Answer {
    let holder = self::principal("principal", principal)?;
    let name = key_name(name)?;
    let allow = given(allow).map(Jsonb::text);
    let made = caller::call(Intent::Manage, |caller| {
        store::create(caller, &holder, name, expires, allow.as_deref())
    })?;
    let answer = json!({
        "id": made.id.to_string(),
        "key": made.text.reveal(),
        "name": name,
        "principal": holder.as_str(),
        "expiresAt": expires.map(iso_millis),
    });
    Ok(result(&answer.to_string())?)
}

#[pg_extern(stable, parallel_restricted)]
fn api_key_list(principal: default!(Option<&str>, "NULL")) -> Answer {
    let holder =
        principal.map(|name| PrincipalName::parse("principal", name)).transpose().map_err(Error::from)?;
    let keys = caller::call(Intent::Read, |caller| store::list(caller, holder.as_ref()))?;
    let keys: Vec<Value> = keys
        .iter()
        .map(|key| {
            json!({
                "id": key.id.to_string(),
                "name": key.name,
                "principal": key.principal,
                "begins": format!("me.{}", key.lookup),
                "allow": key.allow.to_json(|tree| tree.display(Some(&key.home))),
                "createdAt": iso_millis(key.created_at),
                "createdBy": key.created_by,
                "expiresAt": key.expires_at.map(iso_millis),
                "revokedAt": key.revoked_at.map(iso_millis),
            })
        })
        .collect();
    Ok(result(&json!({ "keys": keys }).to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn api_key_revoke(id: default!(Option<pgrx::Uuid>, "NULL")) -> Answer {
    let id = required("id", id)?;
    let revoked = caller::call(Intent::Manage, |caller| store::revoke(caller, id))?;
    Ok(result(&json!({ "revoked": revoked }).to_string())?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn api_key_authenticate(key: default!(Option<&str>, "NULL")) -> Answer {
    let proven = store::authenticate(required("key", key)?)?;
    let answer = json!({
        "principal": proven.principal,
        "keyId": proven.id.to_string(),
        "keyName": proven.name,
    });
    Ok(result(&answer.to_string())?)
}
