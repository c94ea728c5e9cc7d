//! Who is asking, and all it may do in the space of the call: decided once, when the call begins (ACC-11).

use super::api_key::{self, KeyUse};
use super::catalogue;
use super::owner::AsOwner;
use super::principal::{self, ByName, Named};
use super::roles;
use super::session::stored_tree;
use super::spi::{self, Db, Row, arg};
use super::standing;
use crate::domain::access::{Grant, Level, Rights};
use crate::domain::path::Home;
use crate::domain::principal::Kind;
use crate::error::{Error, Forbidden, Result};
use crate::guc::{self, Acting};
use crate::statement;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;

/// A registered principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// UUIDv7; its digits label the home.
    pub id: [u8; 16],
    /// The role's present name, or the application user's.
    pub name: String,
    /// Only users have a home (HOME-2).
    pub kind: Kind,
}

/// The space of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceRow {
    /// UUIDv7.
    pub id: [u8; 16],
    /// Its display name.
    pub name: String,
}

/// What the rosters and grants of one space say about the caller.
#[derive(Debug, Default)]
struct Standing {
    space: Option<SpaceRow>,
    /// The registrations that count for the caller: its own, and those of the roles it inherits from.
    mine: Vec<pgrx::Uuid>,
    admitted: bool,
    admin: bool,
    grants: Vec<Grant>,
    /// Whether the registration has another name than the role has now.
    renamed: bool,
    /// Whether it is known that no registration has the name of the role.
    unnamed: bool,
}

/// Behind whose rights the call stands.
enum Identity {
    /// A role, found by its OID.
    Role(pg_sys::Oid),
    /// An application user of a gateway: its name, its registration, the roles it counts as a member of.
    Application { name: String, id: Option<pgrx::Uuid>, roles: Vec<pg_sys::Oid> },
}

/// One call: a connection as the extension's owner, and who made the call.
pub struct Caller<'a> {
    db: &'a Db,
    memory: MemoryRelation,
    identity: Identity,
    cluster: String,
    superuser: bool,
    key: Option<KeyUse>,
    principal: Option<Principal>,
    home: Option<Home>,
    standing: Standing,
}

statement!(
    /// The space and the caller.
    WHO,
    [include_str!("who.sql")],
    [TEXTOID, TEXTOID, OIDOID],
    planned_once
);
statement!(
    /// The same by a registration: of an application user, or of a role that is not bound to it here.
    WHO_BY_ID,
    [include_str!("who_by_id.sql")],
    [TEXTOID, UUIDOID],
    planned_once
);
statement!(
    /// The registrations of the roles a caller inherits from.
    GROUPS,
    [include_str!("groups.sql")],
    [TEXTOID, OIDARRAYOID, TEXTARRAYOID],
    planned_once
);
statement!(
    /// What rosters and grants of the space say about registrations.
    RIGHTS,
    [include_str!("rights.sql")],
    [TEXTOID, UUIDARRAYOID],
    planned_once
);
statement!(
    /// An application user, and the roles that are its groups.
    APPLICATION_USER,
    [include_str!("application_user.sql")],
    [TEXTOID, TEXTOID]
);
statement!(
    /// Whether a role is a gateway.
    GATEWAY,
    ["select exists (select from me.gateway as g
        where g.cluster = $2 and g.role_oid = $1 or g.cluster <> $2 and g.role_name = $3)"],
    [OIDOID, TEXTOID, TEXTOID]
);
statement!(
    /// Keeps the name of a renamed role, so that a dump finds it by name; unless another registration has it.
    RENAME,
    ["update me.principal set name = $2
      where id = $1 and not exists (select from me.principal as p where p.name = $2)"],
    [UUIDOID, TEXTOID]
);
/// What a call is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Only read, under the snapshot of the calling query.
    Read,
    /// Write memories.
    Write,
    /// Write what is not memories: spaces, grants, models.
    Manage,
}

/// Runs a call that belongs to no space.
pub fn call<T>(
    intent: Intent,
    body: impl FnOnce(&Caller) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    begin(intent, "", |caller| body(&caller))
}

/// Runs `body` as the extension's owner; it learns who is asking and how it stands in the space.
pub(super) fn begin<T>(
    intent: Intent,
    space: &str,
    body: impl FnOnce(Caller) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    // SAFETY: reads the backend's own identity.
    let role = unsafe { pg_sys::GetUserId() };
    let acting = guc::principal();
    if intent != Intent::Read {
        refuse_where_nothing_may_be_written()?;
    }
    let result = spi::connected(intent == Intent::Read, |db| {
        let memory = memory_relation()?;
        if intent == Intent::Write {
            // Before the space is looked up: dropping a space waits for writers, and later writers see it gone.
            memory.lock(pg_sys::RowExclusiveLock);
        }
        let _owner = AsOwner::enter(memory.owner);
        catalogue::check(db)?;
        body(Caller::identify(db, memory, role, acting, space)?)
    });
    Ok(result?)
}

/// Says so before the first statement that writes would, which the server names in its own words: `SELECT`, for one that
/// stores and answers.
fn refuse_where_nothing_may_be_written() -> Result<()> {
    // SAFETY: reads the backend's own state.
    let (read_only, standby) = unsafe { (pg_sys::XactReadOnly, pg_sys::RecoveryInProgress()) };
    match read_only || standby {
        true => Err(Error::ReadOnly { standby }),
        false => Ok(()),
    }
}

/// Runs the work of a background process, which nobody asked for: as the extension's owner.
pub(super) fn background<T>(body: impl FnOnce(Caller) -> Result<T>) -> std::result::Result<T, ErrorReport> {
    let result = spi::connected(false, |db| {
        let memory = memory_relation()?;
        memory.lock(pg_sys::RowExclusiveLock);
        let role = memory.owner;
        let _owner = AsOwner::enter(role);
        catalogue::check(db)?;
        body(Caller {
            db,
            memory,
            identity: Identity::Role(role),
            cluster: roles::cluster(),
            superuser: true,
            principal: None,
            home: None,
            key: None,
            standing: Standing::default(),
        })
    });
    Ok(result?)
}

/// Goes on with a call of the same query that has decided what the caller may read: as the extension's owner.
pub(super) fn resume<T>(body: impl FnOnce(&Db) -> Result<T>) -> std::result::Result<T, ErrorReport> {
    let result = spi::connected(true, |db| {
        let memory = memory_relation()?;
        let _owner = AsOwner::enter(memory.owner);
        body(db)
    });
    Ok(result?)
}

impl<'a> Caller<'a> {
    fn identify(
        db: &'a Db,
        memory: MemoryRelation,
        role: pg_sys::Oid,
        acting: Acting,
        space: &str,
    ) -> Result<Self> {
        let cluster = roles::cluster();
        let (identity, key) = match acting {
            Acting::AsItself => (Identity::Role(role), None),
            Acting::Outlived => return Err(refused_principal(OUTLIVED)),
            Acting::Ambiguous => return Err(refused_principal(AMBIGUOUS)),
            Acting::For(name) => {
                require_gateway(db, role, &cluster)?;
                (application_user(db, &cluster, name)?, None)
            }
            Acting::WithKey(token) => {
                require_gateway(db, role, &cluster)?;
                let holder = api_key::proven(db, &cluster, role, &token)?;
                let identity = match holder.role {
                    Some(role) => Identity::Role(role),
                    None => application_user(db, &cluster, holder.name)?,
                };
                (identity, Some(holder.key))
            }
        };
        // A key gives no more than grants do, also when its holder has become a superuser.
        let superuser =
            key.is_none() && matches!(identity, Identity::Role(role) if roles::is_superuser(role));
        let mut caller = Self {
            db,
            memory,
            identity,
            cluster,
            superuser,
            key,
            principal: None,
            home: None,
            standing: Standing::default(),
        };
        caller.look(space, None)?;
        if caller.principal.is_none()
            && !caller.standing.unnamed
            && let Some(role) = caller.role()
            && let ByName::Registered(id, _) =
                principal::by_name(db, &caller.cluster, role, &caller.own_name())?
        {
            // Where nothing may be written, the registration is not bound to the role and is found by its id.
            caller.look(space, db.is_read_only().then_some(id))?;
        }
        if !db.is_read_only() {
            match &caller.principal {
                None => caller.register(space)?,
                Some(principal) if caller.standing.renamed => {
                    let id = arg(pgrx::Uuid::from_bytes(principal.id));
                    db.run(&RENAME, &[id, arg(principal.name.as_str())])?;
                }
                Some(_) => {}
            }
        }
        Ok(caller)
    }

    /// Finds the caller and its standing; `id` is its registration when its role does not lead to it.
    ///
    /// A role is looked up by keys, where that can be. Otherwise small statements, and only those whose answer can
    /// matter: one that asked everything at once took longer to start than these take to run.
    fn look(&mut self, space: &str, id: Option<pgrx::Uuid>) -> Result<()> {
        if let (Identity::Role(role), None) = (&self.identity, id) {
            let (cluster, superuser) = (self.cluster.as_str(), self.superuser);
            let question = standing::Question { space, cluster, role: *role, superuser };
            if let Some(found) = self.db.under_snapshot(|snapshot| standing::of(question, snapshot))? {
                self.take(&found, space);
                return Ok(());
            }
        }
        let (row, inherited) = match &self.identity {
            Identity::Role(role) => {
                let row = match id {
                    None => self.db.row(&WHO, &[arg(space), arg(self.cluster.as_str()), arg(*role)])?,
                    Some(id) => self.db.row(&WHO_BY_ID, &[arg(space), arg(id)])?,
                };
                (row, if self.superuser { Vec::new() } else { roles::inherited(&[*role]) })
            }
            Identity::Application { id, roles: groups, .. } => {
                let mut all = groups.clone();
                all.extend(roles::inherited(groups));
                (self.db.row(&WHO_BY_ID, &[arg(space), id.and_then(arg)])?, all)
            }
        };
        self.know(&row.ok_or_else(nobody)?)?;
        if self.superuser {
            return Ok(());
        }
        self.standing.mine = self.registrations(inherited)?;
        self.stand(space)
    }

    /// The registrations that count for the caller: its own, and those of the roles it inherits from.
    fn registrations(&self, inherited: Vec<pg_sys::Oid>) -> Result<Vec<pgrx::Uuid>> {
        let mut mine: Vec<pgrx::Uuid> = Vec::with_capacity(1 + inherited.len());
        mine.extend(self.principal.as_ref().map(|principal| pgrx::Uuid::from_bytes(principal.id)));
        if !inherited.is_empty() {
            let names: Vec<String> = inherited.iter().map(|role| roles::name(*role)).collect();
            let args = [arg(self.cluster.as_str()), arg(inherited), arg(names)];
            for row in self.db.run(&GROUPS, &args)? {
                mine.push(row.need(1)?);
            }
        }
        Ok(mine)
    }

    /// Adds up what the roster and the grants of the space say, within what the caller's key leaves of it.
    fn stand(&mut self, space: &str) -> Result<()> {
        let standing = &mut self.standing;
        (standing.admitted, standing.admin, standing.grants) = (false, false, Vec::new());
        if standing.space.is_none() || standing.mine.is_empty() {
            return Ok(());
        }
        // A service manages a space only by an entry of its own (PRIN-6).
        let only = self
            .principal
            .as_ref()
            .filter(|principal| principal.kind == Kind::Service)
            .map(|principal| pgrx::Uuid::from_bytes(principal.id));
        for row in self.db.run(&RIGHTS, &[arg(space), arg(standing.mine.clone())])? {
            match row.get::<i16>(2) {
                Some(level) => standing.grants.push(grant(&row.need::<String>(1)?, level)?),
                None => {
                    standing.admitted = true;
                    let counts = only.is_none() || only == row.get(3);
                    standing.admin |= counts && row.need::<bool>(4)?;
                }
            }
        }
        if !standing.admitted {
            standing.grants.clear();
        }
        self.keep_within_key(space);
        Ok(())
    }

    /// Takes away what the caller's key does not leave of its standing.
    fn keep_within_key(&mut self, space: &str) {
        let Some(key) = &self.key else { return };
        let standing = &mut self.standing;
        standing.grants = key.allow.limit(space, std::mem::take(&mut standing.grants));
        standing.admitted &= key.allow.admits(space);
        standing.admin &= key.allow.admin(space);
    }

    /// Takes the standing of the caller's role.
    fn take(&mut self, found: &standing::Standing, space: &str) {
        let name = self.own_name();
        let registration = found.registration.as_ref();
        self.standing = Standing {
            space: found.space.clone(),
            mine: found.mine.clone(),
            admitted: found.admitted,
            admin: found.admin,
            grants: match &found.rights {
                Rights::All => Vec::new(),
                Rights::Grants(grants) => grants.clone(),
            },
            renamed: registration.is_some_and(|own| own.name != name),
            unnamed: registration.is_none() && !found.has_namesake,
        };
        self.home = registration.and_then(|own| own.home.clone());
        self.principal = registration.map(|own| Principal { id: own.id, name, kind: own.kind });
        self.keep_within_key(space);
    }

    /// Takes the space and the principal.
    fn know(&mut self, row: &Row) -> Result<()> {
        self.standing.space = match row.get::<pgrx::Uuid>(1) {
            Some(id) => Some(SpaceRow { id: *id.as_bytes(), name: row.need(2)? }),
            None => None,
        };
        let name = self.own_name();
        self.standing.renamed = row.get::<String>(5).is_some_and(|stored| stored != name);
        self.principal = match row.get::<pgrx::Uuid>(3) {
            Some(id) => {
                Some(Principal { id: *id.as_bytes(), name, kind: stored_kind(&row.need::<String>(4)?)? })
            }
            None => None,
        };
        self.home = self
            .principal
            .as_ref()
            .filter(|principal| principal.kind == Kind::User)
            .map(|principal| Home::of(principal.id));
        Ok(())
    }

    /// The name the caller has now: its role's, or the application user's.
    pub fn own_name(&self) -> String {
        match &self.identity {
            Identity::Role(role) => roles::name(*role),
            Identity::Application { name, .. } => name.clone(),
        }
    }

    /// The table of the memories.
    pub(super) fn memory_oid(&self) -> pg_sys::Oid {
        self.memory.oid
    }

    /// The connection.
    pub fn db(&self) -> &Db {
        self.db
    }

    /// The caller's registration, if it has one.
    pub fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    /// The caller as a principal that rosters and grants may name; only where it may be registered.
    pub fn as_named(&self) -> Result<Named> {
        let principal = self.principal.as_ref().ok_or_else(nobody)?;
        Ok(Named {
            id: pgrx::Uuid::from_bytes(principal.id),
            name: principal.name.clone(),
            kind: principal.kind,
            role: self.role(),
        })
    }

    /// The caller's role, unless it is an application user, or came with a key that may do less than the role.
    pub fn role(&self) -> Option<pg_sys::Oid> {
        match self.identity {
            Identity::Role(role) if !self.key.as_ref().is_some_and(|key| key.allow.is_restricted()) => {
                Some(role)
            }
            _ => None,
        }
    }

    /// The API key the caller came with.
    pub fn key(&self) -> Option<&KeyUse> {
        self.key.as_ref()
    }

    /// Whether the caller acts as itself and is a gateway.
    pub fn is_gateway(&self) -> Result<bool> {
        match self.identity {
            Identity::Role(role) if self.key.is_none() => is_gateway(self.db, role, &self.cluster),
            _ => Ok(false),
        }
    }

    /// What the caller's key leaves of grants in a space.
    pub fn limit(&self, space: &str, held: Vec<Grant>) -> Vec<Grant> {
        match &self.key {
            Some(key) => key.allow.limit(space, held),
            None => held,
        }
    }

    /// Whether the caller's key is for a space.
    pub fn key_admits(&self, space: &str) -> bool {
        self.key.as_ref().is_none_or(|key| key.allow.admits(space))
    }

    /// The system identifier of this cluster.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The caller's home, if it is a registered user.
    pub fn home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    /// The label of the caller's home, as statements that display trees want it.
    pub fn home_label(&self) -> Option<pg_sys::Datum> {
        self.home.as_ref().and_then(|home| arg(home.label()))
    }

    /// The name the caller's deeds are recorded under.
    pub fn actor_name(&self) -> &str {
        self.principal.as_ref().map_or("", |principal| &principal.name)
    }

    /// The id the caller's deeds are recorded under.
    pub fn actor_id(&self) -> Option<pg_sys::Datum> {
        self.principal.as_ref().and_then(|principal| arg(pgrx::Uuid::from_bytes(principal.id)))
    }

    /// The id of the API key the caller came with.
    pub fn api_key_id(&self) -> Option<pg_sys::Datum> {
        self.key.as_ref().and_then(|key| arg(key.id))
    }

    /// Its name.
    pub fn api_key_name(&self) -> Option<pg_sys::Datum> {
        self.key.as_ref().and_then(|key| arg(key.name.as_str()))
    }

    /// Whether the caller is a superuser, who may do everything (design §4).
    pub fn is_superuser(&self) -> bool {
        self.superuser
    }

    /// The space of the call, if it exists.
    pub fn space_row(&self) -> Option<&SpaceRow> {
        self.standing.space.as_ref()
    }

    /// Whether the caller, or a role it inherits from, is on the roster of the space (ACC-2, design §4).
    pub fn is_admitted(&self) -> bool {
        self.superuser || self.standing.admitted
    }

    /// Whether the caller manages the roster and every grant of the space (PRIN-5, PRIN-6).
    pub fn is_admin(&self) -> bool {
        self.superuser || self.standing.admin
    }

    /// The grants that count for the caller in the space; none for a superuser, who needs none.
    pub(super) fn take_grants(&mut self) -> Vec<Grant> {
        std::mem::take(&mut self.standing.grants)
    }

    /// The registrations that count for the caller: its own, and those of the roles it inherits from.
    pub fn mine(&self) -> Option<pg_sys::Datum> {
        arg(self.standing.mine.clone())
    }

    /// Waits for every writer of memories to finish, and holds off new ones until the transaction ends.
    pub fn hold_off_writers(&self) {
        self.memory.lock(pg_sys::ShareRowExclusiveLock);
    }

    fn register(&mut self, space: &str) -> Result<()> {
        let (name, role) = (self.own_name(), self.role());
        principal::register(self.db, &self.cluster, &name, Kind::User, role)?;
        if let Identity::Application { id, .. } = &mut self.identity {
            *id = principal::id_of(self.db, &name)?;
        }
        self.look(space, None)?;
        match self.principal {
            Some(_) => Ok(()),
            // Another session took the name at the same moment.
            None => Err(Error::Forbidden(Forbidden::Rebind(name))),
        }
    }
}

fn nobody() -> Error {
    Error::Internal("the caller could not be looked up".into())
}

/// A grant as it stands in a table.
pub(super) fn grant(tree: &str, level: i16) -> Result<Grant> {
    Ok(Grant {
        tree: stored_tree(tree)?,
        level: Level::from_number(level).ok_or_else(|| Error::Internal(format!("stored level {level}")))?,
    })
}

/// A kind as it stands in a table.
pub(super) fn stored_kind(word: &str) -> Result<Kind> {
    Kind::parse("kind", word).map_err(|_| Error::Internal(format!("stored kind {word:?}")))
}

/// Why `me.principal` is refused, and what to do instead.
type Refusal = (&'static str, &'static str);

const OUTLIVED: Refusal = (
    "act for a principal that an earlier transaction named",
    "the transaction that says SET LOCAL me.principal",
);
const AMBIGUOUS: Refusal =
    ("act for a principal and with an API key at once", "either of the two; leave me.principal empty");
const NO_GATEWAY: Refusal = ("act for another principal", "gateways; leave me.principal empty");
const HAS_ROLE: Refusal = (
    "act for a principal that has a role",
    "application users without a role; others log in or use SET ROLE",
);

fn refused_principal((action, who): Refusal) -> Error {
    Error::Forbidden(Forbidden::Only { action, who })
}

fn is_gateway(db: &Db, role: pg_sys::Oid, cluster: &str) -> Result<bool> {
    let row = db.row(&GATEWAY, &[arg(role), arg(cluster), arg(roles::name(role))])?;
    Ok(row.and_then(|row| row.get(1)) == Some(true) && !roles::is_superuser(role))
}

fn require_gateway(db: &Db, role: pg_sys::Oid, cluster: &str) -> Result<()> {
    match is_gateway(db, role, cluster)? {
        true => Ok(()),
        false => Err(refused_principal(NO_GATEWAY)),
    }
}

/// The application user a gateway acts for: never a superuser, nor anybody who has a role (design §4).
fn application_user(db: &Db, cluster: &str, name: String) -> Result<Identity> {
    if roles::by_name(&name).is_some() {
        return Err(refused_principal(HAS_ROLE));
    }
    let Some(row) = db.row(&APPLICATION_USER, &[arg(name.as_str()), arg(cluster)])? else {
        crate::domain::principal::PrincipalName::parse("me.principal", &name)?;
        return Ok(Identity::Application { name, id: None, roles: Vec::new() });
    };
    if row.need::<bool>(2)? {
        return Err(refused_principal(HAS_ROLE));
    }
    Ok(Identity::Application { name, id: row.get(1), roles: row.need(3)? })
}

struct MemoryRelation {
    oid: pg_sys::Oid,
    owner: pg_sys::Oid,
}

impl MemoryRelation {
    fn lock(&self, mode: u32) {
        // SAFETY: the relation exists; the lock ends with the transaction.
        unsafe { pg_sys::LockRelationOid(self.oid, mode as i32) };
    }
}

/// The memory table; its owner is the extension's owner, whose rights storage has.
fn memory_relation() -> Result<MemoryRelation> {
    // SAFETY: catalogue lookups by constant names; the cache entry is released before returning.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"me".as_ptr(), true);
        let oid = pg_sys::get_relname_relid(c"memory".as_ptr(), schema);
        let tuple = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::RELOID as i32, oid.into());
        if tuple.is_null() {
            return Err(Error::Internal("table me.memory is missing".into()));
        }
        let class: *mut pg_sys::FormData_pg_class = pg_sys::GETSTRUCT(tuple).cast();
        let owner = (*class).relowner;
        pg_sys::ReleaseSysCache(tuple);
        Ok(MemoryRelation { oid, owner })
    }
}
