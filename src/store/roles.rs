//! The roles of the cluster: names, memberships and attributes, as the server's own caches have them.

use pgrx::pg_sys;
use std::ffi::{CStr, CString};

/// Column numbers of `pg_auth_members`, `pg_database` and `pg_authid`, the same in every supported version.
mod column {
    pub const MEMBERSHIP_ROLE: i16 = 2;
    pub const MEMBERSHIP_INHERITS: i16 = 6;
    pub const DATABASE_OWNER: i16 = 3;
}

/// The name of a role; empty when there is no such role.
pub fn name(role: pg_sys::Oid) -> String {
    // SAFETY: answers with a palloc'd string, or null when the role is gone.
    unsafe {
        let name = pg_sys::GetUserNameFromId(role, true);
        if name.is_null() {
            return String::new();
        }
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}

/// The role of a name.
pub fn by_name(name: &str) -> Option<pg_sys::Oid> {
    let name = CString::new(name).ok()?;
    // SAFETY: a catalogue lookup by a NUL-terminated string.
    let role = unsafe { pg_sys::get_role_oid(name.as_ptr(), true) };
    (role != pg_sys::Oid::INVALID).then_some(role)
}

/// Whether a role is a superuser.
pub fn is_superuser(role: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue lookup.
    unsafe { pg_sys::superuser_arg(role) }
}

/// Whether a role can log in: one that cannot, and that others are members of, is a group.
pub fn can_login(role: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue lookup; the entry is released before returning.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::AUTHOID as i32, role.into());
        if tuple.is_null() {
            return false;
        }
        let authid: *mut pg_sys::FormData_pg_authid = pg_sys::GETSTRUCT(tuple).cast();
        let can_login = (*authid).rolcanlogin;
        pg_sys::ReleaseSysCache(tuple);
        can_login
    }
}

/// Whether `member` may give and take membership of `role` (ADMIN OPTION).
pub fn administers(member: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue lookup.
    unsafe { pg_sys::is_admin_of_role(member, role) }
}

/// The roles whose privileges `roles` have by inheritance, nested as Postgres has it, without themselves.
///
/// What `pg_has_role(…, 'USAGE')` would say of each role, without asking about every role there is.
pub fn inherited(roles: &[pg_sys::Oid]) -> Vec<pg_sys::Oid> {
    let mut found = roles.to_vec();
    let owner = database_owner();
    let mut next = 0;
    while let Some(role) = found.get(next).copied() {
        next += 1;
        for parent in parents(role) {
            if !found.contains(&parent) {
                found.push(parent);
            }
        }
        // The owner of a database is a member of this role without an entry in the catalogue.
        let implicit = pg_sys::Oid::from(pg_sys::ROLE_PG_DATABASE_OWNER);
        if Some(role) == owner && !found.contains(&implicit) {
            found.push(implicit);
        }
    }
    found.split_off(roles.len())
}

/// The roles that a role is a direct member of, with inheritance.
fn parents(role: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let cache = pg_sys::SysCacheIdentifier::AUTHMEMMEMROLE as i32;
    let none = pg_sys::Datum::from(0);
    // SAFETY: the list and its tuples are pinned until the release; the columns are those of the catalogue.
    unsafe {
        let list = pg_sys::SearchSysCacheList(cache, 1, role.into(), none, none);
        let members = (*list).members.as_slice((*list).n_members as usize);
        let parents = members
            .iter()
            .filter_map(|member| {
                let tuple = &raw mut (**member).tuple;
                let column = |number| pg_sys::SysCacheGetAttrNotNull(cache, tuple, number);
                let inherits = column(column::MEMBERSHIP_INHERITS).value() as u8 != 0;
                inherits.then(|| oid(column(column::MEMBERSHIP_ROLE)))
            })
            .collect();
        pg_sys::ReleaseCatCacheList(list);
        parents
    }
}

fn database_owner() -> Option<pg_sys::Oid> {
    let cache = pg_sys::SysCacheIdentifier::DATABASEOID as i32;
    // SAFETY: a catalogue lookup; the entry is released before returning.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache, pg_sys::MyDatabaseId.into());
        if tuple.is_null() {
            return None;
        }
        let owner = oid(pg_sys::SysCacheGetAttrNotNull(cache, tuple, column::DATABASE_OWNER));
        pg_sys::ReleaseSysCache(tuple);
        Some(owner)
    }
}

fn oid(datum: pg_sys::Datum) -> pg_sys::Oid {
    pg_sys::Oid::from(datum.value() as u32)
}

/// The system identifier of this cluster: role OIDs mean nothing in another one.
pub fn cluster() -> String {
    // SAFETY: reads shared memory that is set at start.
    unsafe { pg_sys::GetSystemIdentifier() }.to_string()
}
