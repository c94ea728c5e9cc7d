//! Spaces: made, listed, renamed, configured, dropped.

use super::access_event::{AccessEvents, Subject};
use super::caller::{self, Caller, Intent};
use super::embedding;
use super::session::NO_SPACE;
use super::spi::arg;
use super::{roster, uuid_v7};
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::space::{FulltextFields, Slug, SpaceName};
use crate::error::{Error, Forbidden, Result, Taken};
use crate::{guc, statement};
use pgrx::pg_sys::panic::ErrorReport;
use serde_json::json;

statement!(
    INSERT,
    ["insert into me.space (slug, id, name, home_grants, created_at, created_by)
      values ($1, $2, $3, $4, pg_catalog.transaction_timestamp(), $5)
      on conflict do nothing returning slug"],
    [TEXTOID, UUIDOID, TEXTOID, BOOLOID, TEXTOID]
);
statement!(
    /// Newest first; a superuser sees all, others where they are admitted (SPC-1).
    LIST,
    [include_str!("space_list.sql")],
    [UUIDARRAYOID, BOOLOID]
);
statement!(LOCK, ["select s.id from me.space as s where s.slug = $1 for update"], [TEXTOID]);
statement!(RENAME, ["update me.space set name = $2 where slug = $1"], [TEXTOID, TEXTOID]);
statement!(
    CONFIGURE,
    ["update me.space as s set
        fulltext_fields = coalesce($2, s.fulltext_fields),
        text_config = coalesce($3, s.text_config),
        home_grants = coalesce($4, s.home_grants)
      where s.slug = $1
      returning s.fulltext_fields, s.text_config, s.home_grants, s.id"],
    [TEXTOID, TEXTARRAYOID, TEXTOID, BOOLOID]
);
statement!(
    /// A text search configuration by its name: that of the server, or one with its schema before it.
    TEXT_CONFIG,
    ["select exists (
        select from pg_catalog.pg_ts_config as c join pg_catalog.pg_namespace as n on n.oid = c.cfgnamespace
        where (n.nspname = 'pg_catalog' and c.cfgname::text = $1)
          or n.nspname::text || '.' || c.cfgname::text = $1)"],
    [TEXTOID]
);
statement!(DROP_MEMORIES, ["delete from me.memory where space = $1"], [TEXTOID]);
statement!(DROP_LEXEMES, ["delete from me.memory_lexeme where space = $1"], [TEXTOID]);
statement!(
    DROP_LEXICAL,
    ["with pages as (delete from me.lexical_page where space = $1),
      segments as (delete from me.lexical_segment where space = $1),
      state as (delete from me.lexical_state where space = $1)
      delete from me.lexical_tail where space = $1"],
    [TEXTOID]
);
statement!(DROP_SEALS, ["delete from me.audit_seal where space = $1"], [TEXTOID]);
statement!(DROP_EVENTS, ["delete from me.memory_event where space = $1"], [TEXTOID]);
statement!(DROP_QUEUE, ["delete from me.embedding_queue where space = $1"], [TEXTOID]);
statement!(DROP_EMBEDDED, ["delete from me.embedded where space = $1"], [TEXTOID]);
statement!(DROP_USE, ["delete from me.embedding_use where space = $1"], [TEXTOID]);
statement!(DROP_ACCESS_EVENTS, ["delete from me.access_event where space = $1"], [TEXTOID]);
statement!(DROP_MEMBERS, ["delete from me.space_member where space = $1"], [TEXTOID]);
statement!(DROP_GRANTS, ["delete from me.tree_grant where space = $1"], [TEXTOID]);
statement!(DROP_CAPSULES, [include_str!("capsule/drop.sql")], [TEXTOID]);
statement!(DROP_SPACE, ["delete from me.space where slug = $1"], [TEXTOID]);

/// The shared root that the founder of a space owns (HOME-4, PRIN-10).
const SHARE: &str = "share";
/// The root, as it is stored.
const ROOT: &str = "";

/// What founding a space that exists means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// An error.
    Refuse,
    /// Nothing: another session founded it at the same moment.
    Keep,
}

/// The settings of a space.
pub struct Settings {
    /// What full text sees.
    pub fulltext_fields: Vec<String>,
    /// Its text search configuration.
    pub text_config: String,
    /// Whether joining users own their home.
    pub home_grants: bool,
}

/// Makes a space. Its founder is admin, and owner of its home and of `share`; of the root without homes (PRIN-10).
pub fn create(
    caller: &Caller,
    slug: &Slug,
    name: &SpaceName,
    home_grants: bool,
    existing: Existing,
) -> Result<()> {
    check_lock(slug.as_str())?;
    if caller.key().is_some_and(|key| key.allow.is_restricted()) {
        let who = "callers whose API key is not restricted to spaces";
        return Err(Error::Forbidden(Forbidden::Only { action: "make a space", who }));
    }
    let (slug, id) = (slug.as_str(), uuid_v7::next());
    let row = caller.db().row(
        &INSERT,
        &[arg(slug), arg(id), arg(name.as_str()), arg(home_grants), arg(caller.actor_name())],
    )?;
    if row.is_none() {
        return match existing {
            Existing::Keep => Ok(()),
            Existing::Refuse => Err(Error::KeyTaken(Taken::Name { what: "space", name: slug.to_owned() })),
        };
    }
    let events = AccessEvents::new();
    let details = json!({ "name": name.as_str(), "homeGrants": home_grants });
    // Outside the space: what is recorded inside goes with it.
    events.record(caller, NO_SPACE, "space_create", Subject { id, name: slug }, &details)?;
    let founder = caller.as_named()?;
    roster::join(caller, &events, slug, &founder, Some(true), home_grants)?;
    let tree = if home_grants { SHARE } else { ROOT };
    roster::own(caller, &events, slug, founder.subject(), tree)
}

/// Slug and name of each space the caller is admitted to, newest first.
pub fn list(caller: &Caller) -> Result<Vec<(String, String)>> {
    caller
        .db()
        .run(&LIST, &[caller.mine(), arg(caller.is_superuser())])?
        .into_iter()
        .map(|row| Ok((row.need::<String>(1)?, row.need(2)?)))
        .filter(|space| space.as_ref().map_or(true, |(slug, _)| caller.key_admits(slug)))
        .collect()
}

/// Gives a space another display name.
pub fn rename(slug: &str, name: &SpaceName) -> std::result::Result<(), ErrorReport> {
    managed(slug, "rename the space", |caller| {
        let id = lock(caller, slug)?;
        caller.db().run(&RENAME, &[arg(slug), arg(name.as_str())])?;
        let details = json!({ "name": name.as_str() });
        AccessEvents::new().record(caller, slug, "space_rename", Subject { id, name: slug }, &details)
    })
}

/// Removes a space with everything in it (EVT-10).
pub fn drop(slug: &str) -> std::result::Result<(), ErrorReport> {
    managed(slug, "drop the space", |caller| {
        // First: a writer may be at work in the space.
        caller.hold_off_writers();
        let id = lock(caller, slug)?;
        embedding::remove_space_vectors(caller, slug)?;
        let all = [
            &DROP_LEXEMES,
            &DROP_LEXICAL,
            &DROP_MEMORIES,
            &DROP_EVENTS,
            &DROP_SEALS,
            &DROP_QUEUE,
            &DROP_EMBEDDED,
            &DROP_USE,
            &DROP_ACCESS_EVENTS,
            &DROP_MEMBERS,
            &DROP_GRANTS,
            &DROP_CAPSULES,
            &DROP_SPACE,
        ];
        for statement in all {
            caller.db().run(statement, &[arg(slug)])?;
        }
        let subject = Subject { id, name: slug };
        AccessEvents::new().record(caller, NO_SPACE, "space_drop", subject, &json!({}))
    })
}

/// Changes the settings that are given, in a space the caller is admitted to; all of them as they are then.
pub fn configure(
    caller: &Caller,
    slug: &str,
    fields: Option<&FulltextFields>,
    text_config: Option<&str>,
    home_grants: Option<bool>,
) -> Result<Settings> {
    roster::require_admin(caller, slug, "configure the space")?;
    if let Some(name) = text_config {
        check_text_config(caller, name)?;
    }
    lock(caller, slug)?;
    let row = caller
        .db()
        .row(
            &CONFIGURE,
            &[
                arg(slug),
                fields.and_then(|fields| arg(fields.names())),
                text_config.and_then(arg),
                home_grants.and_then(arg),
            ],
        )?
        .ok_or_else(|| Error::Internal("the space vanished".into()))?;
    let settings =
        Settings { fulltext_fields: row.need(1)?, text_config: row.need(2)?, home_grants: row.need(3)? };
    if fields.is_some() || text_config.is_some() || home_grants.is_some() {
        let details = json!({
            "fulltextFields": settings.fulltext_fields,
            "textConfig": settings.text_config,
            "homeGrants": settings.home_grants,
        });
        let subject = Subject { id: row.need(4)?, name: slug };
        AccessEvents::new().record(caller, slug, "space_configure", subject, &details)?;
    }
    Ok(settings)
}

fn check_text_config(caller: &Caller, name: &str) -> Result<()> {
    let known = caller.db().row(&TEXT_CONFIG, &[arg(name)])?.and_then(|row| row.get(1));
    if known == Some(true) {
        return Ok(());
    }
    Err(Invalid::new(
        "text_config",
        "GAP-8",
        format!("argument \"text_config\" names no text search configuration: {}", excerpt(name)),
        "Use one that \\dF lists, with its schema before it unless it is the server's own.",
    )
    .into())
}

/// Runs a change of a space as a whole. One the caller is not admitted to and an unknown one are FORBIDDEN alike
/// (PRIN-22); a superuser learns that it does not exist.
fn managed<T>(
    slug: &str,
    action: &'static str,
    body: impl FnOnce(&Caller) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    check_lock(slug)?;
    caller::begin(Intent::Manage, slug, |caller| {
        if caller.space_row().is_none() && caller.is_superuser() {
            return Err(Error::NotFound { what: "space", key: excerpt(slug) });
        }
        if caller.space_row().is_none() || !caller.is_admitted() {
            return Err(Error::Forbidden(Forbidden::Space(slug.to_owned())));
        }
        roster::require_admin(&caller, slug, action)?;
        body(&caller)
    })
}

fn lock(caller: &Caller, slug: &str) -> Result<pgrx::Uuid> {
    match caller.db().row(&LOCK, &[arg(slug)])? {
        Some(row) => row.need(1),
        None => Err(Error::Forbidden(Forbidden::Space(slug.to_owned()))),
    }
}

/// A locked session keeps its hands off every other space (design §4).
fn check_lock(slug: &str) -> Result<()> {
    if guc::space_locked() && slug != guc::space() {
        return Err(Error::Forbidden(Forbidden::Locked(guc::space())));
    }
    Ok(())
}
