//! API keys: made, listed, revoked, and what a gateway carries through a transaction after one was proven.

use super::access_event::{AccessEvents, Subject};
use super::caller::{Caller, Intent};
use super::jsonb::Jsonb;
use super::principal::{self, Named};
use super::session::NO_SPACE;
use super::spi::{Db, arg};
use super::{caller, random, roles, uuid_v7};
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::key::{Allow, KeyProof, KeyText};
use crate::domain::path::Home;
use crate::domain::principal::PrincipalName;
use crate::error::{Error, Forbidden, Result};
use crate::guc;
use crate::statement;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fmt::Write;

statement!(
    INSERT,
    ["insert into me.api_key (
        lookup, id, principal_id, name, secret_digest, allow, created_at, created_by, expires_at)
      values ($1, $2, $3, $4, $5, $6, pg_catalog.transaction_timestamp(), $7, $8)"],
    [TEXTOID, UUIDOID, UUIDOID, TEXTOID, BYTEAOID, JSONBOID, TEXTOID, TIMESTAMPTZOID]
);
statement!(
    /// A key by its public part, if it counts now.
    BY_LOOKUP,
    ["select k.id, k.secret_digest
      from me.api_key as k
      where k.lookup = $1 and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > pg_catalog.clock_timestamp())"],
    [TEXTOID]
);
statement!(
    /// A key that was proven, if it still counts, and its holder.
    BY_ID,
    ["select k.name, k.allow::text, p.name, p.role_oid, p.cluster
      from me.api_key as k join me.principal as p on p.id = k.principal_id
      where k.id = $1 and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > pg_catalog.clock_timestamp())"],
    [UUIDOID],
    planned_once
);
statement!(
    LIST,
    ["select k.id, k.name, p.name, k.allow::text, k.created_at, k.created_by, k.expires_at, k.revoked_at, k.lookup, p.id
      from me.api_key as k join me.principal as p on p.id = k.principal_id
      where $1 is null or k.principal_id = $1
      order by k.id"],
    [UUIDOID]
);
statement!(
    HOLDER,
    ["select p.id, p.name, k.name, k.revoked_at is not null
      from me.api_key as k join me.principal as p on p.id = k.principal_id
      where k.id = $1 for update of k"],
    [UUIDOID]
);
statement!(
    REVOKE,
    ["update me.api_key set revoked_at = pg_catalog.transaction_timestamp() where id = $1"],
    [UUIDOID]
);

/// A key that a call came with.
pub struct KeyUse {
    /// Its id.
    pub id: pgrx::Uuid,
    /// Its name.
    pub name: String,
    /// What it may do of what its holder may.
    pub allow: Allow,
}

/// A proven key and who holds it.
pub struct Holder {
    /// The key.
    pub key: KeyUse,
    /// The holder's name.
    pub name: String,
    /// Its role in this cluster; `None` for an application user.
    pub role: Option<pg_sys::Oid>,
}

/// A key as it is listed.
pub struct Listed {
    /// Its id.
    pub id: pgrx::Uuid,
    /// Its name.
    pub name: String,
    /// Its holder.
    pub principal: String,
    /// What it may do.
    pub allow: Allow,
    /// When it was made.
    pub created_at: TimestampWithTimeZone,
    /// Who made it.
    pub created_by: String,
    /// When it stops counting.
    pub expires_at: Option<TimestampWithTimeZone>,
    /// When it was revoked.
    pub revoked_at: Option<TimestampWithTimeZone>,
    /// The part of its text that is no secret.
    pub lookup: String,
    /// The holder's home, for showing trees.
    pub home: Home,
}

/// A key that was just made.
pub struct Made {
    /// Its id.
    pub id: pgrx::Uuid,
    /// Its text, which is never shown again.
    pub text: KeyText,
}

fn not_valid() -> Error {
    Error::Forbidden(Forbidden::Key)
}

/// Keys make, list and revoke no keys (PRIN-14). Others act on keys of their own; superusers on everybody's; who
/// administers a role, on that role's; a gateway, on those of application users.
fn require_authority(caller: &Caller, holder: &Named) -> Result<()> {
    let action = "manage the API keys of this principal";
    if caller.key().is_some() {
        return Err(Error::Forbidden(Forbidden::Only { action, who: "callers who came without a key" }));
    }
    let own = caller.principal().is_some_and(|own| own.id == *holder.id.as_bytes());
    let administers = caller.role().is_some_and(|role| match holder.role {
        Some(held) => role != held && roles::administers(role, held),
        None => caller.is_gateway().unwrap_or(false),
    });
    if caller.is_superuser() || own || administers {
        return Ok(());
    }
    let who =
        "the principal itself, superusers, who administers its role, and gateways for application users";
    Err(Error::Forbidden(Forbidden::Only { action, who }))
}

/// A key that never counted would be a mistake, and so would one that counts until infinity by accident.
fn check_expiry(expires: Option<TimestampWithTimeZone>) -> Result<()> {
    // SAFETY: reads the backend's own state.
    let now = unsafe { pg_sys::GetCurrentTransactionStartTimestamp() };
    match expires.map(i64::from) {
        Some(at) if at <= now || at == i64::MAX => Err(Invalid::new(
            "expires",
            "PRIN-14",
            "argument \"expires\" is no instant to come",
            "Give an instant in the future, or leave it out for a key that does not expire.",
        )
        .into()),
        _ => Ok(()),
    }
}

/// Makes a key for a principal.
pub fn create(
    caller: &Caller,
    name: &PrincipalName,
    key_name: &str,
    expires: Option<TimestampWithTimeZone>,
    allow: Option<&str>,
) -> Result<Made> {
    let holder = principal::known(caller, "principal", name)?;
    require_authority(caller, &holder)?;
    if holder.role.is_some_and(roles::is_superuser) {
        return Err(Invalid::new(
            "principal",
            "PRIN-20",
            format!("argument \"principal\" names a superuser: {}", excerpt(name.as_str())),
            "Make a role or an application user with just the rights the key needs.",
        )
        .into());
    }
    check_expiry(expires)?;
    let allow = match allow {
        Some(text) => Allow::parse("allow", text, holder.home().as_ref())?,
        None => Allow::everything(),
    };
    let mut bytes = [0; 48];
    bytes.chunks_mut(16).for_each(|chunk| chunk.copy_from_slice(&random::bytes()));
    let (id, text) = (uuid_v7::next(), KeyText::from_random(bytes));
    let stored = allow.to_json(|tree| tree.as_dotted().to_owned());
    caller.db().run(
        &INSERT,
        &[
            arg(text.lookup()),
            arg(id),
            arg(holder.id),
            arg(key_name),
            arg(text.proof().digest().to_vec()),
            stored.as_ref().and_then(|stored| Jsonb::parse(&stored.to_string())).map(Jsonb::datum),
            arg(caller.actor_name()),
            expires.and_then(arg),
        ],
    )?;
    let details = json!({
        "keyId": id.to_string(),
        "keyName": key_name,
        "expires": expires.map(super::macros::iso_millis),
        "allow": stored,
    });
    AccessEvents::new().record(caller, NO_SPACE, "api_key_create", holder.subject(), &details)?;
    Ok(Made { id, text })
}

/// The keys of one principal, or of all; oldest first.
pub fn list(caller: &Caller, name: Option<&PrincipalName>) -> Result<Vec<Listed>> {
    let holder = name.map(|name| principal::registered_under(caller, "principal", name)).transpose()?;
    match &holder {
        Some(holder) => require_authority(caller, holder)?,
        None if caller.is_superuser() => {}
        None => {
            let who = "superusers; name a principal";
            return Err(Error::Forbidden(Forbidden::Only { action: "list the API keys of everybody", who }));
        }
    }
    caller
        .db()
        .run(&LIST, &[holder.and_then(|holder| arg(holder.id))])?
        .into_iter()
        .map(|row| {
            let holder: pgrx::Uuid = row.need(10)?;
            Ok(Listed {
                id: row.need(1)?,
                name: row.need(2)?,
                principal: row.need(3)?,
                allow: stored_allow(row.get::<String>(4).as_deref())?,
                created_at: row.need(5)?,
                created_by: row.need(6)?,
                expires_at: row.get(7),
                revoked_at: row.get(8),
                lookup: row.need(9)?,
                home: Home::of(*holder.as_bytes()),
            })
        })
        .collect()
}

/// Revokes a key for good; whether it was not revoked before.
pub fn revoke(caller: &Caller, id: pgrx::Uuid) -> Result<bool> {
    let absent = || Error::NotFound { what: "API key", key: id.to_string() };
    let row = caller.db().row(&HOLDER, &[arg(id)])?.ok_or_else(absent)?;
    let name: String = row.need(2)?;
    let parsed = PrincipalName::parse("principal", &name)?;
    let holder = principal::registered_under(caller, "principal", &parsed)?;
    // Whoever may not revoke it does not learn that it exists.
    require_authority(caller, &holder)
        .map_err(|error| if caller.key().is_some() { error } else { absent() })?;
    if row.need::<bool>(4)? {
        return Ok(false);
    }
    caller.db().run(&REVOKE, &[arg(id)])?;
    let details = json!({ "keyId": id.to_string(), "keyName": row.need::<String>(3)? });
    let subject = Subject { id: row.need(1)?, name: &name };
    AccessEvents::new().record(caller, NO_SPACE, "api_key_revoke", subject, &details)?;
    Ok(true)
}

fn stored_allow(text: Option<&str>) -> Result<Allow> {
    match text {
        None => Ok(Allow::everything()),
        Some(text) => Allow::from_stored(text)
            .ok_or_else(|| Error::Internal("the stored restriction of a key cannot be read".into())),
    }
}

/// Who a key that was just proven belongs to.
pub struct Proven {
    /// The holder's name.
    pub principal: String,
    /// The key.
    pub id: pgrx::Uuid,
    /// Its name.
    pub name: String,
}

/// Proves a key: from here to the end of the transaction, the gateway acts as its holder. A key that is wrong, expired
/// or revoked is refused in the same words and in the same time.
pub fn authenticate(text: &str) -> std::result::Result<Proven, ErrorReport> {
    let token = caller::call(Intent::Read, |caller| {
        let role = caller.role().filter(|_| caller.key().is_none());
        let Some(role) = role.filter(|_| caller.is_gateway().unwrap_or(false)) else {
            let who = "gateways; see me.gateway_add()";
            return Err(Error::Forbidden(Forbidden::Only { action: "authenticate an API key", who }));
        };
        let given = KeyProof::parse(text);
        // A text that is no key is looked up and hashed all the same.
        let key = given.clone().unwrap_or_else(|| KeyText::from_random([0; 48]).proof());
        let row = caller.db().row(&BY_LOOKUP, &[arg(key.lookup())])?;
        let stored: Vec<u8> = row.as_ref().and_then(|row| row.get(2)).unwrap_or_default();
        if !key.proves(&stored) || given.is_none() {
            return Err(not_valid());
        }
        Ok(token(row.ok_or_else(not_valid)?.need(1)?, role))
    })?;
    // Outside the call, whose own settings end with it.
    guc::set_api_key(&token);
    caller::call(Intent::Read, |caller| {
        let key = caller.key().ok_or_else(|| Error::Internal("a key was proven and then lost".into()))?;
        Ok(Proven { principal: caller.own_name(), id: key.id, name: key.name.clone() })
    })
}

/// The holder of the key that was proven in this transaction, if the setting says that one was.
pub fn proven(db: &Db, cluster: &str, gateway: pg_sys::Oid, given: &str) -> Result<Holder> {
    let id = given.split('.').next().and_then(parse_uuid).ok_or_else(not_valid)?;
    if token(id, gateway) != given {
        return Err(not_valid());
    }
    let row = db.row(&BY_ID, &[arg(id)])?.ok_or_else(not_valid)?;
    let name: String = row.need(3)?;
    let role = match row.get::<pg_sys::Oid>(4) {
        None => None,
        Some(role) if row.need::<String>(5)? == cluster => {
            Some(role).filter(|role| !roles::name(*role).is_empty()).map(Some).ok_or_else(not_valid)?
        }
        Some(_) => Some(roles::by_name(&name).ok_or_else(not_valid)?),
    };
    let allow = stored_allow(row.get::<String>(2).as_deref())?;
    let key = KeyUse { id, name: row.need(1)?, allow };
    Ok(Holder { key, name, role })
}

fn parse_uuid(text: &str) -> Option<pgrx::Uuid> {
    uuid::Uuid::parse_str(text).ok().map(|id| pgrx::Uuid::from_bytes(id.into_bytes()))
}

thread_local! {
    /// What nobody outside this backend knows: with it a session cannot make the token of a key it never proved.
    static BACKEND_SECRET: [u8; 32] = {
        let mut secret = [0; 32];
        secret.chunks_mut(16).for_each(|chunk| chunk.copy_from_slice(&random::bytes()));
        secret
    };
}

/// What stands for a proven key in this transaction, for this gateway, in this backend.
fn token(id: pgrx::Uuid, gateway: pg_sys::Oid) -> String {
    // SAFETY: reads the backend's own state.
    let started = unsafe { pg_sys::GetCurrentTransactionStartTimestamp() };
    let digest = BACKEND_SECRET.with(|secret| {
        let inner = Sha256::new()
            .chain_update(secret)
            .chain_update(id.as_bytes())
            .chain_update(gateway.to_u32().to_be_bytes())
            .chain_update(started.to_be_bytes())
            .finalize();
        Sha256::new().chain_update(secret).chain_update(inner).finalize()
    });
    let mut token = format!("{id}.");
    for byte in digest {
        // Writing to a string cannot fail.
        let _ = write!(token, "{byte:02x}");
    }
    token
}
