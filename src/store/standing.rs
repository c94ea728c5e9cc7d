//! How a role stands in a space, as the tables and the roles of the cluster have it.
//!
//! It is looked up at the beginning of every call, by the keys of a handful of rows. A session keeps what it found for as
//! long as another look would find the same: the snapshot sees the same rows, and no role has changed since.

use super::caller::{self, SpaceRow};
use super::keyed::{Found, Key, Keyed, Kind, Tables, need};
use super::roles;
use super::seen::Kept;
use crate::domain::access::Rights;
use crate::domain::path::Home;
use crate::domain::principal::Kind as PrincipalKind;
use crate::error::Result;
use pgrx::pg_sys;
use std::cell::{OnceCell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a role stands in a space.
#[derive(Debug)]
pub struct Standing {
    /// The space, if it exists.
    pub space: Option<SpaceRow>,
    /// The registration of the role, if its OID leads to one.
    pub registration: Option<Registration>,
    /// Whether its OID leads to none, but its name does: what that means is for [`principal`](super::principal) to say.
    pub has_namesake: bool,
    /// The registrations that count for it: its own, and those of the roles it inherits from.
    pub mine: Vec<pgrx::Uuid>,
    /// Whether one of these is on the roster.
    pub admitted: bool,
    /// Whether one that may manages the space.
    pub admin: bool,
    /// Everything for a superuser; what the grants say for whoever is admitted.
    pub rights: Rights,
    /// The model the space searches with, once somebody asked.
    model: OnceCell<Option<String>>,
}

/// A registered role.
#[derive(Debug)]
pub struct Registration {
    /// UUIDv7.
    pub id: [u8; 16],
    /// What it is.
    pub kind: PrincipalKind,
    /// The name it was registered under, or was last seen by a writing call with.
    pub name: String,
    /// Only users have one.
    pub home: Option<Home>,
}

static SPACE: Keyed = Keyed {
    table: c"space",
    index: c"space_pkey",
    keys: &[0],
    columns: &[(c"slug", Kind::Text), (c"id", Kind::Uuid), (c"name", Kind::Text)],
};
static ROLE: Keyed = Keyed {
    table: c"principal",
    index: c"principal_role_key",
    keys: &[0, 1],
    columns: &[
        (c"cluster", Kind::Text),
        (c"role_oid", Kind::Oid),
        (c"id", Kind::Uuid),
        (c"kind", Kind::Text),
        (c"name", Kind::Text),
    ],
};
static NAME: Keyed = Keyed {
    table: c"principal",
    index: c"principal_name_key",
    keys: &[0],
    columns: &[
        (c"name", Kind::Text),
        (c"id", Kind::Uuid),
        (c"cluster", Kind::Text),
        (c"role_oid", Kind::Oid),
    ],
};
static MEMBER: Keyed = Keyed {
    table: c"space_member",
    index: c"space_member_pkey",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"principal_id", Kind::Uuid), (c"admin", Kind::Bool)],
};
static GRANT: Keyed = Keyed {
    table: c"tree_grant",
    index: c"tree_grant_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"principal_id", Kind::Uuid),
        (c"tree", Kind::Other),
        (c"level", Kind::Int2),
    ],
};
static MODEL: Keyed = Keyed {
    table: c"embedding_use",
    index: c"embedding_use_state_key",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"state", Kind::Text), (c"model", Kind::Text)],
};

/// What the standing is asked of.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The slug of the space; empty for a call that belongs to none.
    pub space: &'a str,
    /// The system identifier of this cluster.
    pub cluster: &'a str,
    /// The role.
    pub role: pg_sys::Oid,
    /// Whether it is asked of as a superuser, who needs no roster and no grant.
    pub superuser: bool,
}

struct Answer {
    space: String,
    role: pg_sys::Oid,
    superuser: bool,
    standing: Rc<Standing>,
}

/// The answers of one moment: what no later look could find otherwise.
struct Moment {
    answers: Kept<Vec<Answer>>,
    roles: u64,
}

/// Most answers kept at once; a session of more roles and spaces begins anew.
const ANSWERS_MOST: usize = 32;

thread_local! {
    static MOMENT: RefCell<Option<Moment>> = const { RefCell::new(None) };
}

/// How often roles, their memberships or the owner of the database were said to have changed.
static ROLE_CHANGES: AtomicU64 = AtomicU64::new(0);

unsafe extern "C-unwind" fn roles_changed(_: pg_sys::Datum, _: c_int, _: pg_sys::uint32) {
    ROLE_CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Takes note of what other sessions did to roles, and counts it.
fn role_changes() -> u64 {
    static WATCHING: Once = Once::new();
    // SAFETY: registered once in this process, for its lifetime; the callback only counts. Messages may be accepted
    // wherever a lock may be taken.
    unsafe {
        WATCHING.call_once(|| {
            use pg_sys::SysCacheIdentifier::{AUTHMEMROLEMEM, AUTHOID, DATABASEOID};
            for cache in [AUTHOID, AUTHMEMROLEMEM, DATABASEOID] {
                pg_sys::CacheRegisterSyscacheCallback(
                    cache as c_int,
                    Some(roles_changed),
                    pg_sys::Datum::from(0),
                );
            }
        });
        pg_sys::AcceptInvalidationMessages();
    }
    ROLE_CHANGES.load(Ordering::Relaxed)
}

/// How a role stands under a snapshot; `None` when the tables cannot be read by key, and statements have to say it.
pub fn of(question: Question, snapshot: pg_sys::Snapshot) -> Result<Option<Rc<Standing>>> {
    let roles = role_changes();
    if let Some(kept) = MOMENT.with_borrow_mut(|moment| {
        let moment = moment.as_mut().filter(|moment| moment.roles == roles)?;
        let answers = moment.answers.get(snapshot)?;
        answers.iter().find(|answer| answer.is_to(&question)).map(|answer| answer.standing.clone())
    }) {
        return Ok(Some(kept));
    }
    let Some(standing) = look(question, snapshot)?.map(Rc::new) else { return Ok(None) };
    MOMENT.with_borrow_mut(|moment| {
        let answer = Answer {
            space: question.space.to_owned(),
            role: question.role,
            superuser: question.superuser,
            standing: standing.clone(),
        };
        if let Some(present) = moment.as_mut().filter(|moment| moment.roles == roles)
            && let Some(answers) = present.answers.get(snapshot)
            && answers.len() < ANSWERS_MOST
        {
            answers.push(answer);
            return;
        }
        // Of a transaction that writes nothing is kept, and what was kept before it stays.
        if let Some(answers) = Kept::new(snapshot, vec![answer]) {
            *moment = Some(Moment { answers, roles });
        }
    });
    Ok(Some(standing))
}

impl Answer {
    fn is_to(&self, question: &Question) -> bool {
        self.role == question.role && self.superuser == question.superuser && self.space == question.space
    }
}

fn look(question: Question, snapshot: pg_sys::Snapshot) -> Result<Option<Standing>> {
    let Some(tables) = Tables::here() else { return Ok(None) };
    let look = Look { tables, snapshot, question };
    // Whichever table cannot be read by key: all is left to the statements.
    let (Some(space), Some(registration)) = (look.space()?, look.registration()?) else { return Ok(None) };
    let mut standing = Standing {
        space,
        registration,
        has_namesake: false,
        mine: Vec::new(),
        admitted: false,
        admin: false,
        rights: Rights::All,
        model: OnceCell::new(),
    };
    let complete = look.namesake(&mut standing)?
        && (question.superuser || look.registrations(&mut standing)? && look.rights(&mut standing)?);
    Ok(complete.then_some(standing))
}

impl Standing {
    /// The model the space searches with, if any; the outer `None` when that cannot be read by key. Under the snapshot
    /// the standing was found under, or one that sees the same.
    pub fn model(
        &self,
        space: &str,
        tables: Tables,
        snapshot: pg_sys::Snapshot,
    ) -> Result<Option<Option<&str>>> {
        if self.model.get().is_none() {
            let Some(model) = current_model(space, tables, snapshot)? else { return Ok(None) };
            self.model.get_or_init(|| model);
        }
        Ok(self.model.get().map(Option::as_deref))
    }
}

/// The model a space searches with, if any; the outer `None` when that cannot be read by key.
pub fn current_model(
    space: &str,
    tables: Tables,
    snapshot: pg_sys::Snapshot,
) -> Result<Option<Option<String>>> {
    let mut model = None;
    let readable = tables.rows(&MODEL, snapshot, &[Key::Text(space), Key::Text("current")], |found| {
        model = Some(need(found.text(2))?.to_owned());
        Ok(false)
    })?;
    Ok(readable.then_some(model))
}

struct Look<'a> {
    tables: Tables,
    snapshot: pg_sys::Snapshot,
    question: Question<'a>,
}

impl Look<'_> {
    fn rows(&self, keyed: &Keyed, keys: &[Key], each: impl FnMut(&Found) -> Result<bool>) -> Result<bool> {
        self.tables.rows(keyed, self.snapshot, keys, each)
    }

    /// At most one row; the outer `None` when the table cannot be read.
    fn row<T>(
        &self,
        keyed: &Keyed,
        keys: &[Key],
        make: impl Fn(&Found) -> Result<T>,
    ) -> Result<Option<Option<T>>> {
        let mut made = None;
        let readable = self.rows(keyed, keys, |found| {
            made = Some(make(found)?);
            Ok(false)
        })?;
        Ok(readable.then_some(made))
    }

    fn space(&self) -> Result<Option<Option<SpaceRow>>> {
        if self.question.space.is_empty() {
            return Ok(Some(None));
        }
        self.row(&SPACE, &[Key::Text(self.question.space)], |found| {
            Ok(SpaceRow { id: need(found.uuid(1))?, name: need(found.text(2))?.to_owned() })
        })
    }

    fn registration(&self) -> Result<Option<Option<Registration>>> {
        let keys = [Key::Text(self.question.cluster), Key::Oid(self.question.role)];
        self.row(&ROLE, &keys, |found| {
            let id = need(found.uuid(2))?;
            let kind = caller::stored_kind(need(found.text(3))?)?;
            let home = (kind == PrincipalKind::User).then(|| Home::of(id));
            Ok(Registration { id, kind, name: need(found.text(4))?.to_owned(), home })
        })
    }

    fn namesake(&self, standing: &mut Standing) -> Result<bool> {
        if standing.registration.is_some() {
            return Ok(true);
        }
        let name = roles::name(self.question.role);
        let found = self.row(&NAME, &[Key::Text(&name)], |_| Ok(()))?;
        standing.has_namesake = found.flatten().is_some();
        Ok(found.is_some())
    }

    /// As `groups.sql` has it: a role by its OID, or by its name where it was registered in another cluster.
    fn registrations(&self, standing: &mut Standing) -> Result<bool> {
        standing.mine.extend(standing.registration.as_ref().map(|own| pgrx::Uuid::from_bytes(own.id)));
        for role in roles::inherited(&[self.question.role]) {
            let keys = [Key::Text(self.question.cluster), Key::Oid(role)];
            let Some(mut id) = self.row(&ROLE, &keys, |found| need(found.uuid(2)))? else { return Ok(false) };
            if id.is_none() {
                let name = roles::name(role);
                let elsewhere = self.row(&NAME, &[Key::Text(&name)], |found| {
                    let counts = found.text(2) != Some(self.question.cluster) && found.oid(3).is_some();
                    Ok(found.uuid(1).filter(|_| counts))
                })?;
                let Some(elsewhere) = elsewhere else { return Ok(false) };
                id = elsewhere.flatten();
            }
            standing.mine.extend(id.map(pgrx::Uuid::from_bytes));
        }
        Ok(true)
    }

    /// As `rights.sql` has it.
    fn rights(&self, standing: &mut Standing) -> Result<bool> {
        standing.rights = Rights::Grants(Vec::new());
        if standing.space.is_none() {
            return Ok(true);
        }
        // A service manages a space only by an entry of its own (PRIN-6).
        let only = standing
            .registration
            .as_ref()
            .filter(|own| own.kind == PrincipalKind::Service)
            .map(|own| pgrx::Uuid::from_bytes(own.id));
        for id in &standing.mine {
            let keys = [Key::Text(self.question.space), Key::Uuid(id.as_bytes())];
            let Some(admin) = self.row(&MEMBER, &keys, |found| need(found.bool(2)))? else {
                return Ok(false);
            };
            standing.admitted |= admin.is_some();
            standing.admin |= admin == Some(true) && only.is_none_or(|own| own == *id);
        }
        if !standing.admitted {
            return Ok(true);
        }
        let mut grants = Vec::new();
        for id in &standing.mine {
            let keys = [Key::Text(self.question.space), Key::Uuid(id.as_bytes())];
            let readable = self.rows(&GRANT, &keys, |found| {
                grants.push(caller::grant(need(found.output(2))?, need(found.int2(3))?)?);
                Ok(true)
            })?;
            if !readable {
                return Ok(false);
            }
        }
        standing.rights = Rights::Grants(grants);
        Ok(true)
    }
}
