//! The roster of a space: who is admitted, and who manages it.

use super::access_event::{AccessEvents, Subject};
use super::caller::{Caller, stored_kind};
use super::principal::{self, Named};
use super::session::Session;
use super::spi::arg;
use crate::domain::access::Level;
use crate::domain::principal::{Kind, PrincipalName};
use crate::error::{Error, Forbidden, Result};
use crate::statement;
use pgrx::prelude::*;
use serde_json::json;

statement!(
    /// The space's row, held until the transaction ends: changes of one roster happen one after the other.
    LOCK,
    ["select s.home_grants from me.space as s where s.slug = $1 for update"],
    [TEXTOID]
);
statement!(
    /// Adds a member, or sets its admin flag when one is given; whether it is new.
    ADD,
    [include_str!("roster_add.sql")],
    [TEXTOID, UUIDOID, BOOLOID]
);
statement!(
    HOME_GRANT,
    ["insert into me.tree_grant as g (space, principal_id, tree, level, granted_at, granted_by)
      values ($1, $2, $3::{ltree}.ltree, $4, pg_catalog.transaction_timestamp(), $5)
      on conflict (space, principal_id, tree)
      do update set level = greatest(g.level, excluded.level)"],
    [TEXTOID, UUIDOID, TEXTOID, INT2OID, TEXTOID]
);
statement!(
    REMOVE,
    ["delete from me.space_member as m where m.space = $1 and m.principal_id = $2"],
    [TEXTOID, UUIDOID]
);
statement!(
    /// What a former member may still do goes with it (PRIN-9).
    REMOVE_GRANTS,
    ["delete from me.tree_grant as g where g.space = $1 and g.principal_id = $2"],
    [TEXTOID, UUIDOID]
);
statement!(
    LIST,
    [
        r#"select p.name, p.kind, m.admin, m.added_at, p.id
      from me.space_member as m join me.principal as p on p.id = m.principal_id
      where m.space = $1 order by p.name collate "C""#,
        ", p.id"
    ],
    [TEXTOID]
);
statement!(
    ADMINS,
    [r#"select p.name from me.space_member as m join me.principal as p on p.id = m.principal_id
      where m.space = $1 and m.admin order by p.name collate "C" limit 20"#],
    [TEXTOID]
);
statement!(
    /// Whether some user is admin (PRIN-6, PRIN-7).
    HAS_ADMIN,
    [include_str!("has_admin.sql")],
    [TEXTOID, TEXTOID]
);

/// A member as it is listed.
pub struct Member {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Whether it manages the space.
    pub admin: bool,
    /// When it joined.
    pub added_at: TimestampWithTimeZone,
}

/// Refuses a caller who is no admin of the space.
pub fn require_admin(caller: &Caller, space: &str, action: &'static str) -> Result<()> {
    if caller.is_admin() {
        return Ok(());
    }
    Err(Error::Forbidden(Forbidden::Admin { action, admins: admins(caller, space)? }))
}

/// The names of those who manage the space.
pub fn admins(caller: &Caller, space: &str) -> Result<Vec<String>> {
    caller.db().run(&ADMINS, &[arg(space)])?.into_iter().map(|row| row.need(1)).collect()
}

/// Holds the space until the transaction ends; whether joining users own their home.
pub fn lock(caller: &Caller, space: &str) -> Result<bool> {
    match caller.db().row(&LOCK, &[arg(space)])? {
        Some(row) => row.need(1),
        None => Err(Error::Forbidden(Forbidden::Space(space.to_owned()))),
    }
}

/// Runs a change of rosters; it may not take the last user admin away (PRIN-7, judged per call).
pub fn keeping_an_admin<T>(caller: &Caller, space: &str, change: impl FnOnce() -> Result<T>) -> Result<T> {
    let had = has_admin(caller, space)?;
    let result = change()?;
    if had && !has_admin(caller, space)? {
        return Err(Error::LastAdmin { space: space.to_owned() });
    }
    Ok(result)
}

fn has_admin(caller: &Caller, space: &str) -> Result<bool> {
    let row = caller.db().row(&HAS_ADMIN, &[arg(space), arg(caller.cluster())])?;
    Ok(row.and_then(|row| row.get(1)) == Some(true))
}

/// Puts a principal on the roster; whether it is new there. A user that joins owns its home (PRIN-8).
pub fn join(
    caller: &Caller,
    events: &AccessEvents,
    space: &str,
    member: &Named,
    admin: Option<bool>,
    home_grants: bool,
) -> Result<bool> {
    let row = caller.db().row(&ADD, &[arg(space), arg(member.id), admin.and_then(arg)])?;
    let Some(row) = row else { return Ok(false) };
    let joined = row.need::<bool>(1)?;
    let details = json!({ "admin": row.need::<bool>(2)?, "kind": member.kind.word() });
    events.record(caller, space, "member_add", member.subject(), &details)?;
    if joined
        && home_grants
        && let Some(home) = member.home()
    {
        let tree = home.tree();
        own(caller, events, space, member.subject(), tree.as_dotted())?;
    }
    Ok(joined)
}

/// Gives somebody a tree that comes with joining or founding a space.
pub fn own(caller: &Caller, events: &AccessEvents, space: &str, subject: Subject, tree: &str) -> Result<()> {
    caller.db().run(
        &HOME_GRANT,
        &[arg(space), arg(subject.id), arg(tree), arg(Level::Owner as i16), arg(caller.actor_name())],
    )?;
    let details = json!({ "tree": tree, "access": Level::Owner.word() });
    events.record(caller, space, "grant", subject, &details)
}

/// `space_member_add`: the member, and whether it is new.
pub fn add(
    session: &Session,
    name: &PrincipalName,
    kind: Option<Kind>,
    admin: Option<bool>,
) -> Result<(Named, bool)> {
    let space = session.space();
    require_admin(session, space, "manage the roster")?;
    let home_grants = lock(session, space)?;
    let member = principal::enrolled(session, "principal", name, kind)?;
    let joined = keeping_an_admin(session, space, || {
        join(session, &AccessEvents::new(), space, &member, admin, home_grants)
    })?;
    Ok((member, joined))
}

/// `space_member_remove`: whether there was such a member. Its grants go too, its memories stay (PRIN-9).
pub fn remove(session: &Session, name: &PrincipalName) -> Result<bool> {
    let space = session.space();
    require_admin(session, space, "manage the roster")?;
    lock(session, space)?;
    let member = principal::registered_under(session, "principal", name)?;
    keeping_an_admin(session, space, || {
        let db = session.db();
        if db.run(&REMOVE, &[arg(space), arg(member.id)])?.count() == 0 {
            return Ok(false);
        }
        let grants = db.run(&REMOVE_GRANTS, &[arg(space), arg(member.id)])?.count();
        let details = json!({ "grants": grants });
        AccessEvents::new().record(session, space, "member_remove", member.subject(), &details)?;
        Ok(true)
    })
}

/// `space_member_list`: the roster, by name.
pub fn list(session: &Session) -> Result<Vec<Member>> {
    require_admin(session, session.space(), "list the roster")?;
    session
        .db()
        .run(&LIST, &[arg(session.space())])?
        .into_iter()
        .map(|row| {
            Ok(Member {
                name: row.need(1)?,
                kind: stored_kind(&row.need::<String>(2)?)?,
                admin: row.need(3)?,
                added_at: row.need(4)?,
            })
        })
        .collect()
}
