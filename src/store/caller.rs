//! Who is asking: the role of the call, its registration and its home.

use super::owner::AsOwner;
use super::spi::{self, Db, arg};
use super::uuid_v7;
use crate::domain::path::Home;
use crate::error::{Error, Forbidden, Result};
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
    /// Whether it is a user: only users have a home (HOME-2).
    pub is_user: bool,
}

/// One call: a connection as the extension's owner, and who made the call.
pub struct Caller<'a> {
    db: &'a Db,
    memory: MemoryRelation,
    role: pg_sys::Oid,
    superuser: bool,
    principal: Option<Principal>,
    home: Option<Home>,
}

statement!(
    /// Whether the space exists, and the caller's registration, in one look.
    WHO,
    [include_str!("who.sql")],
    [TEXTOID, TEXTOID, OIDOID]
);
statement!(
    /// The caller's registration by name: under another id of the same cluster it is somebody else.
    WHO_BY_NAME,
    [include_str!("who_by_name.sql")],
    [TEXTOID]
);
statement!(REGISTER, [include_str!("register.sql")], [UUIDOID, TEXTOID, TEXTOID, OIDOID, TEXTOID]);
statement!(
    BIND_ANEW,
    ["update me.principal set role_oid = $2, cluster = $3 where id = $1"],
    [UUIDOID, OIDOID, TEXTOID]
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
    begin(intent, "", |caller, _| body(&caller))
}

/// Runs `body` as the extension's owner; it learns who is asking and whether the space exists.
pub(super) fn begin<T>(
    intent: Intent,
    space: &str,
    body: impl FnOnce(Caller, bool) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    // SAFETY: reads the backend's own identity.
    let role = unsafe { pg_sys::GetUserId() };
    let result = spi::connected(intent == Intent::Read, |db| {
        let memory = memory_relation()?;
        if intent == Intent::Write {
            // Before the space is looked up: dropping a space waits for writers, and later writers see it gone.
            memory.lock(pg_sys::RowExclusiveLock);
        }
        let _owner = AsOwner::enter(memory.owner);
        let (caller, known) = Caller::identify(db, memory, role, space)?;
        body(caller, known)
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
    fn identify(db: &'a Db, memory: MemoryRelation, role: pg_sys::Oid, space: &str) -> Result<(Self, bool)> {
        let mut caller = Self {
            db,
            memory,
            role,
            // SAFETY: a catalogue lookup.
            superuser: unsafe { pg_sys::superuser_arg(role) },
            principal: None,
            home: None,
        };
        let (known, principal) = caller.look_up(space)?;
        let principal = match principal {
            Some(principal) => Some(principal),
            None => caller.registered_by_name()?,
        };
        caller.set_principal(principal);
        if !db.is_read_only() && caller.principal.is_none() {
            caller.register()?;
        }
        Ok((caller, known))
    }

    fn look_up(&self, space: &str) -> Result<(bool, Option<Principal>)> {
        let row = self
            .db
            .row(&WHO, &[arg(space), arg(cluster()), arg(self.role)])?
            .ok_or_else(|| Error::Internal("the caller could not be looked up".into()))?;
        let principal = match row.get::<pgrx::Uuid>(2) {
            Some(id) => {
                Some(Principal { id: *id.as_bytes(), name: role_name(self.role), is_user: row.need(3)? })
            }
            None => None,
        };
        Ok((row.need(1)?, principal))
    }

    /// The connection.
    pub fn db(&self) -> &Db {
        self.db
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

    /// The API key the caller came with.
    pub fn api_key_id(&self) -> Option<pg_sys::Datum> {
        None
    }

    /// Its name.
    pub fn api_key_name(&self) -> Option<pg_sys::Datum> {
        None
    }

    /// Whether the caller is a superuser, who may do everything (design §4).
    pub fn is_superuser(&self) -> bool {
        self.superuser
    }

    /// What statements that look for the caller's memberships need: its role, this cluster, its registration.
    pub fn identity_args(&self) -> [Option<pg_sys::Datum>; 3] {
        [arg(self.role), arg(cluster()), self.actor_id()]
    }

    /// Waits for every writer of memories to finish, and holds off new ones until the transaction ends.
    pub fn hold_off_writers(&self) {
        self.memory.lock(pg_sys::ShareRowExclusiveLock);
    }

    fn set_principal(&mut self, principal: Option<Principal>) {
        self.home =
            principal.as_ref().filter(|principal| principal.is_user).map(|principal| Home::of(principal.id));
        self.principal = principal;
    }

    /// A registration made in another cluster binds to the role of that name here; one made in this cluster for
    /// another role of that name locks the caller out.
    fn registered_by_name(&self) -> Result<Option<Principal>> {
        let name = role_name(self.role);
        let Some(row) = self.db.row(&WHO_BY_NAME, &[arg(name.as_str())])? else {
            return Ok(None);
        };
        if row.need::<String>(3)? == cluster() {
            return Err(Error::Forbidden(Forbidden::Rebind(name)));
        }
        let id: pgrx::Uuid = row.need(1)?;
        let is_user = row.need(2)?;
        if !self.db.is_read_only() {
            self.db.run(&BIND_ANEW, &[arg(id), arg(self.role), arg(cluster())])?;
        }
        Ok(Some(Principal { id: *id.as_bytes(), name, is_user }))
    }

    fn register(&mut self) -> Result<()> {
        let name = role_name(self.role);
        self.db.run(
            &REGISTER,
            &[arg(uuid_v7::next()), arg(name.as_str()), arg("user"), arg(self.role), arg(cluster())],
        )?;
        // Another session may have registered the role at the same moment: its row counts.
        let (_, principal) = self.look_up("")?;
        if principal.is_none() {
            return Err(Error::Forbidden(Forbidden::Rebind(name)));
        }
        self.set_principal(principal);
        Ok(())
    }
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

fn role_name(role: pg_sys::Oid) -> String {
    // SAFETY: answers with a palloc'd string, or null when the role is gone.
    unsafe {
        let name = pg_sys::GetUserNameFromId(role, true);
        if name.is_null() {
            return String::new();
        }
        std::ffi::CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}

/// The system identifier of this cluster: role OIDs mean nothing in another one.
fn cluster() -> String {
    // SAFETY: reads shared memory that is set at start.
    unsafe { pg_sys::GetSystemIdentifier() }.to_string()
}
