//! Principals by the names callers give: found, registered, bound to a role anew.

use super::access_event::{AccessEvents, Subject};
use super::caller::{Caller, stored_kind};
use super::spi::{Db, arg};
use super::{roles, uuid_v7};
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::path::Home;
use crate::domain::principal::{Kind, PrincipalName};
use crate::error::{Error, Forbidden, Result, Taken};
use crate::statement;
use pgrx::pg_sys;
use serde_json::json;

statement!(FIND, [include_str!("principal_find.sql")], [TEXTOID, TEXTOID]);
statement!(
    /// A registration by name: under another OID of the same cluster it is somebody else.
    BY_NAME,
    ["select p.id, p.kind, p.cluster, p.role_oid from me.principal as p where p.name = $1"],
    [TEXTOID]
);
statement!(REGISTER, [include_str!("register.sql")], [UUIDOID, TEXTOID, TEXTOID, OIDOID, TEXTOID]);
statement!(
    BIND,
    ["update me.principal set role_oid = $2, cluster = $3 where id = $1"],
    [UUIDOID, OIDOID, TEXTOID]
);
statement!(
    /// A name that a role gave up, which another one has now.
    GIVE_UP_NAME,
    ["update me.principal set name = case
        when exists (select from me.principal as p where p.name = $2) then $2 || ' ' || id::text else $2 end
      where id = $1"],
    [UUIDOID, TEXTOID]
);
statement!(SET_KIND, ["update me.principal set kind = $2 where id = $1"], [UUIDOID, TEXTOID]);
statement!(
    /// The roles that are groups of an application user; $2 this cluster.
    GROUPS,
    ["select coalesce(here.oid, named.oid)
      from me.group_member as m
      join me.principal as g on g.id = m.group_id
      left join pg_catalog.pg_authid as here on g.cluster = $2 and here.oid = g.role_oid
      left join pg_catalog.pg_authid as named on g.cluster <> $2 and named.rolname::text = g.name
      where m.member_id = $1 and coalesce(here.oid, named.oid) is not null"],
    [UUIDOID, TEXTOID]
);

statement!(
    /// Takes away what joining gave a user that turns out to be a group: its home.
    DISOWN,
    ["delete from me.tree_grant as g
      where g.principal_id = $1 and g.tree operator({ltree}.=) $2::{ltree}.ltree returning g.space"],
    [UUIDOID, TEXTOID]
);

/// A principal somebody named.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its registration.
    pub id: pgrx::Uuid,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its role in this cluster, if it has one.
    pub role: Option<pg_sys::Oid>,
}

impl Named {
    /// As the subject of an event.
    pub fn subject(&self) -> Subject<'_> {
        Subject { id: self.id, name: &self.name }
    }

    /// Its home, if it is a user.
    pub fn home(&self) -> Option<Home> {
        (self.kind == Kind::User).then(|| Home::of(*self.id.as_bytes()))
    }

    /// The roles whose rosters entries and grants count for it, besides its own.
    pub fn inherits(&self, caller: &Caller) -> Result<Vec<pg_sys::Oid>> {
        if let Some(role) = self.role {
            return Ok(roles::inherited(&[role]));
        }
        let mut groups = caller
            .db()
            .run(&GROUPS, &[arg(self.id), arg(caller.cluster())])?
            .into_iter()
            .map(|row| row.need(1))
            .collect::<Result<Vec<pg_sys::Oid>>>()?;
        groups.extend(roles::inherited(&groups));
        Ok(groups)
    }
}

/// What a name may stand for.
enum Found {
    Registered(Named),
    /// A role without registration, and what it looks like.
    Role(pg_sys::Oid, Kind),
    Nobody,
}

/// What the name of a role leads to, where its OID led to nothing.
pub enum ByName {
    /// No registration that is, or may become, the role's.
    Nobody,
    /// One made in another cluster, where names bind anew; or by another session since the role was looked up.
    Registered(pgrx::Uuid, Kind),
}

/// The registration of a role that is not known by its OID.
///
/// One made in another cluster binds to the role of that name here. One made in this cluster for another role of
/// that name locks the role out, unless that other role lives on under another name.
pub fn by_name(db: &Db, cluster: &str, role: pg_sys::Oid, name: &str) -> Result<ByName> {
    let Some(row) = db.row(&BY_NAME, &[arg(name)])? else {
        return Ok(ByName::Nobody);
    };
    let id: pgrx::Uuid = row.need(1)?;
    let locked_out = || Err(Error::Forbidden(Forbidden::Rebind(name.to_owned())));
    let Some(registered) = row.get::<pg_sys::Oid>(4) else {
        return locked_out();
    };
    let kind = stored_kind(&row.need::<String>(2)?)?;
    if row.need::<String>(3)? == cluster {
        if registered == role {
            return Ok(ByName::Registered(id, kind));
        }
        let present = roles::name(registered);
        if present.is_empty() {
            return locked_out();
        }
        if !db.is_read_only() {
            db.run(&GIVE_UP_NAME, &[arg(id), arg(present)])?;
        }
        return Ok(ByName::Nobody);
    }
    if !db.is_read_only() {
        db.run(&BIND, &[arg(id), arg(role), arg(cluster)])?;
    }
    Ok(ByName::Registered(id, kind))
}

/// Registers a principal, unless another session does so at the same moment.
pub fn register(db: &Db, cluster: &str, name: &str, kind: Kind, role: Option<pg_sys::Oid>) -> Result<()> {
    db.run(
        &REGISTER,
        &[arg(uuid_v7::next()), arg(name), arg(kind.word()), role.and_then(arg), arg(cluster)],
    )?;
    Ok(())
}

/// The id registered under a name.
pub fn id_of(db: &Db, name: &str) -> Result<Option<pgrx::Uuid>> {
    Ok(db.row(&BY_NAME, &[arg(name)])?.and_then(|row| row.get(1)))
}

fn find(caller: &Caller, name: &PrincipalName) -> Result<Found> {
    let (db, name) = (caller.db(), name.as_str());
    let row = db
        .row(&FIND, &[arg(name), arg(caller.cluster())])?
        .ok_or_else(|| Error::Internal("a principal could not be looked up".into()))?;
    let named = |column: i32, role| -> Result<Option<Named>> {
        let Some(id) = row.get::<pgrx::Uuid>(column) else { return Ok(None) };
        let kind = stored_kind(&row.need::<String>(column + 1)?)?;
        Ok(Some(Named { id, name: name.to_owned(), kind, role }))
    };
    let Some(role) = row.get::<pg_sys::Oid>(1) else {
        return Ok(named(5, None)?.map_or(Found::Nobody, Found::Registered));
    };
    if let Some(known) = named(3, Some(role))? {
        return Ok(Found::Registered(known));
    }
    match by_name(db, caller.cluster(), role, name)? {
        ByName::Registered(id, kind) => {
            Ok(Found::Registered(Named { id, name: name.to_owned(), kind, role: Some(role) }))
        }
        ByName::Nobody => {
            let kind = if row.need::<bool>(2)? { Kind::Group } else { Kind::User };
            Ok(Found::Role(role, kind))
        }
    }
}

/// The principal of a name, for adding to what it may do; a role is registered by it.
pub fn known(caller: &Caller, argument: &str, name: &PrincipalName) -> Result<Named> {
    match find(caller, name)? {
        Found::Registered(named) => Ok(named),
        Found::Role(role, kind) => {
            register(caller.db(), caller.cluster(), name.as_str(), kind, Some(role))?;
            registered(caller, argument, name)
        }
        Found::Nobody => Err(unknown(argument, name)),
    }
}

/// The principal of a role that takes members: one that cannot log in is a group from now on.
pub fn known_group(
    caller: &Caller,
    argument: &str,
    name: &PrincipalName,
    role: pg_sys::Oid,
) -> Result<Named> {
    let named = known(caller, argument, name)?;
    if named.kind != Kind::User || roles::can_login(role) {
        return Ok(named);
    }
    set_kind(caller, named, Kind::Group)
}

fn set_kind(caller: &Caller, named: Named, kind: Kind) -> Result<Named> {
    caller.db().run(&SET_KIND, &[arg(named.id), arg(kind.word())])?;
    if let Some(home) = named.home().filter(|_| kind != Kind::User) {
        let (home, events) = (home.tree(), AccessEvents::new());
        for row in caller.db().run(&DISOWN, &[arg(named.id), arg(home.as_dotted())])? {
            let details = json!({ "tree": home.as_dotted() });
            events.record(caller, &row.need::<String>(1)?, "revoke", named.subject(), &details)?;
        }
    }
    Ok(Named { kind, ..named })
}

/// The principal of a name, for a roster entry of this kind: an application user comes into being by it.
pub fn enrolled(caller: &Caller, argument: &str, name: &PrincipalName, kind: Option<Kind>) -> Result<Named> {
    match (find(caller, name)?, kind) {
        (Found::Registered(named), Some(kind)) if named.kind != kind => {
            if !caller.is_superuser() || (named.role.is_none() && kind == Kind::Group) {
                return Err(Invalid::new(
                    "kind",
                    "PRIN-2",
                    format!("principal {} is a {} already", excerpt(name.as_str()), named.kind.word()),
                    "Leave \"kind\" out; a superuser can change the kind of a role.",
                )
                .into());
            }
            set_kind(caller, named, kind)
        }
        (Found::Registered(named), _) => Ok(named),
        (Found::Role(role, seems), kind) => {
            let kind = kind.unwrap_or(seems);
            register(caller.db(), caller.cluster(), name.as_str(), kind, Some(role))?;
            registered(caller, argument, name)
        }
        (Found::Nobody, Some(kind @ (Kind::User | Kind::Service))) => {
            register(caller.db(), caller.cluster(), name.as_str(), kind, None)?;
            registered(caller, argument, name)
        }
        (Found::Nobody, _) => Err(unknown(argument, name)),
    }
}

fn registered(caller: &Caller, argument: &str, name: &PrincipalName) -> Result<Named> {
    match find(caller, name)? {
        Found::Registered(named) => Ok(named),
        _ => Err(unknown(argument, name)),
    }
}

/// The principal of a name, for taking away what it may do: one whose role is gone is found too.
pub fn registered_under(caller: &Caller, argument: &str, name: &PrincipalName) -> Result<Named> {
    match find(caller, name) {
        Ok(Found::Registered(named)) => Ok(named),
        Ok(_) => Err(unknown(argument, name)),
        Err(Error::Forbidden(Forbidden::Rebind(_))) => {
            let row = caller
                .db()
                .row(&BY_NAME, &[arg(name.as_str())])?
                .ok_or_else(|| Error::Internal("a principal vanished".into()))?;
            let kind = stored_kind(&row.need::<String>(2)?)?;
            Ok(Named { id: row.need(1)?, name: name.as_str().to_owned(), kind, role: None })
        }
        Err(error) => Err(error),
    }
}

/// Nobody of that name is known (GRA-5).
fn unknown(argument: &str, name: &PrincipalName) -> Error {
    Invalid::new(
        argument,
        "GRA-5",
        format!("argument \"{argument}\" names nobody: {}", excerpt(name.as_str())),
        "Name a role of this cluster, or register an application user with me.space_member_add(principal, 'user').",
    )
    .into()
}

/// Binds a registration to a role: its own made anew, or another one that takes its place.
pub fn rebind(caller: &Caller, name: &PrincipalName, role_name: &PrincipalName) -> Result<()> {
    let db = caller.db();
    let role = roles::by_name(role_name.as_str()).ok_or_else(|| {
        Invalid::new(
            "role",
            "PRIN-18",
            format!("argument \"role\" names no role: {}", excerpt(role_name.as_str())),
            "Create the role first.",
        )
    })?;
    let row = db
        .row(&FIND, &[arg(role_name.as_str()), arg(caller.cluster())])?
        .ok_or_else(|| Error::Internal("a role could not be looked up".into()))?;
    let holder: Option<pgrx::Uuid> = row.get(3);
    let id = db.row(&BY_NAME, &[arg(name.as_str())])?.and_then(|row| row.get::<pgrx::Uuid>(1));
    let id = id.ok_or_else(|| unknown("principal", name))?;
    match holder {
        Some(holder) if holder == id => return Ok(()),
        Some(_) => {
            let name = role_name.as_str().to_owned();
            return Err(Error::KeyTaken(Taken::Name { what: "principal of role", name }));
        }
        None => {}
    }
    db.run(&BIND, &[arg(id), arg(role), arg(caller.cluster())])?;
    if name != role_name {
        db.run(&GIVE_UP_NAME, &[arg(id), arg(role_name.as_str())])?;
    }
    AccessEvents::new().record(
        caller,
        "",
        "principal_rebind",
        Subject { id, name: name.as_str() },
        &json!({ "role": role_name.as_str() }),
    )
}
