//! A call in a space: who is asking, where, with which rights, decided once when the call begins (ACC-11).

use super::caller::{self, Caller, Intent};
use super::capsule::{self, guard};
use super::jsonb::Jsonb;
use super::{point, space};
use crate::domain::access::{Level, Rights};
use crate::domain::id::Id;
use crate::domain::invalid::Invalid;
use crate::domain::path::{Home, MemoryPath, TreePath};
use crate::domain::space::{Slug, SpaceName};
use crate::error::{Error, Forbidden, Result};
use crate::guc;
use pgrx::pg_sys::panic::ErrorReport;
use std::ops::Deref;

/// What belongs to no space is recorded under an empty slug, which no space can have.
pub(super) const NO_SPACE: &str = "";

/// The space that comes into being at a superuser's first write.
const DEFAULT_SPACE: &str = "default";

/// A call by an admitted caller in one space.
pub struct Session<'a> {
    caller: Caller<'a>,
    space: String,
    rights: Rights,
}

impl<'a> Deref for Session<'a> {
    type Target = Caller<'a>;

    fn deref(&self) -> &Caller<'a> {
        &self.caller
    }
}

/// Runs a call that only reads.
///
/// `parse` checks what depends on the caller's home, before anything else is judged (ERR-5, ERR-6); `body` does the
/// work, as the extension's owner.
pub fn read<P, T>(
    space: Option<&str>,
    parse: impl FnOnce(Option<&Home>) -> Result<P>,
    body: impl FnOnce(&Session, P) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    open(Intent::Read, space, parse, body)
}

/// The record of an id, where it is found without opening a call; `None` leaves everything to [`read`].
pub fn read_at_once(space: Option<&str>, id: Id) -> std::result::Result<Option<Jsonb>, ErrorReport> {
    Ok(point::get(&choose_space(space)?, id)?)
}

/// The record of a path, as [`read_at_once`].
pub fn read_path_at_once(
    space: Option<&str>,
    parse: impl FnOnce(Option<&Home>) -> Option<MemoryPath>,
) -> std::result::Result<Option<Jsonb>, ErrorReport> {
    Ok(point::get_by_path(&choose_space(space)?, parse)?)
}

/// What is told of a capsule, as [`read_at_once`].
pub fn read_capsule_at_once(
    space: Option<&str>,
    id: &str,
) -> std::result::Result<Option<serde_json::Value>, ErrorReport> {
    Ok(capsule::point::get(&choose_space(space)?, id)?)
}

/// Whether this transaction may write: false on a standby and in a read-only transaction.
pub fn may_write() -> bool {
    // SAFETY: reads the backend's own state.
    unsafe { !(pgrx::pg_sys::XactReadOnly || pgrx::pg_sys::RecoveryInProgress()) }
}

/// Runs a call that may write memories; otherwise as [`read`].
pub fn write<P, T>(
    space: Option<&str>,
    parse: impl FnOnce(Option<&Home>) -> Result<P>,
    body: impl FnOnce(&Session, P) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    super::statistics::forget();
    open(Intent::Write, space, parse, body)
}

/// Runs a call that may write what is not memories: rosters, grants, settings of the space; otherwise as [`read`].
pub fn manage<P, T>(
    space: Option<&str>,
    parse: impl FnOnce(Option<&Home>) -> Result<P>,
    body: impl FnOnce(&Session, P) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    open(Intent::Manage, space, parse, body)
}

/// Runs a call that serves a space as a whole: whoever was given the function may, member or not.
pub fn serve<T>(
    space: Option<&str>,
    body: impl FnOnce(&Session) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    let space = choose_space(space)?;
    caller::begin(Intent::Write, &space, |caller| {
        if caller.space_row().is_none() {
            make_space(&caller, &space)?;
        }
        body(&Session { caller, space: space.clone(), rights: Rights::All })
    })
}

/// Runs a call about what belongs to no space (gateways, the making and dropping of spaces): for superusers.
pub fn outside<T>(
    intent: Intent,
    action: &'static str,
    body: impl FnOnce(&Session) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    if guc::space_locked() {
        return Err(Error::Forbidden(Forbidden::Locked(guc::space())).into());
    }
    caller::begin(intent, NO_SPACE, |caller| {
        if !caller.is_superuser() {
            return Err(Error::Forbidden(Forbidden::Only { action, who: "superusers" }));
        }
        body(&Session { caller, space: NO_SPACE.to_owned(), rights: Rights::All })
    })
}

/// Runs the work of a background process in a space, which may be gone.
pub(super) fn background<T>(
    space: &str,
    body: impl FnOnce(&Session) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    caller::background(|caller| body(&Session { caller, space: space.to_owned(), rights: Rights::All }))
}

fn open<P, T>(
    intent: Intent,
    space: Option<&str>,
    parse: impl FnOnce(Option<&Home>) -> Result<P>,
    body: impl FnOnce(&Session, P) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    let space = choose_space(space)?;
    caller::begin(intent, &space, |caller| {
        let parsed = parse(caller.home())?;
        let session = Session::admit(caller, space.clone())?;
        body(&session, parsed)
    })
}

impl<'a> Session<'a> {
    /// Refuses somebody who is not admitted to the space; an unknown one answers the same (ACC-2, PRIN-22).
    fn admit(mut caller: Caller<'a>, space: String) -> Result<Self> {
        if caller.space_row().is_none() {
            make_space(&caller, &space)?;
        }
        if !caller.is_admitted() {
            return Err(Error::Forbidden(Forbidden::Space(space)));
        }
        let rights = if caller.is_superuser() { Rights::All } else { Rights::Grants(caller.take_grants()) };
        Ok(Self { caller, space, rights })
    }

    /// The slug of the space.
    pub fn space(&self) -> &str {
        &self.space
    }

    /// What the caller may do here.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Refuses a caller without the level at the tree; and every writer of plain memories where capsules stand.
    pub fn require(&self, level: Level, tree: &TreePath) -> Result<()> {
        if level == Level::Write {
            guard::refuse_tree(tree)?;
        }
        self.require_capsule(level, tree)
    }

    /// Refuses a caller without the level where a capsule stands.
    pub fn require_capsule(&self, level: Level, tree: &TreePath) -> Result<()> {
        if self.rights.allow(level, tree) {
            return Ok(());
        }
        Err(Error::Forbidden(Forbidden::Tree { level: level.word(), tree: tree.display(self.home()) }))
    }
}

/// Unknown spaces do not exist for anybody; only the default one makes itself, for a superuser.
fn make_space(caller: &Caller, space: &str) -> Result<()> {
    if !caller.is_superuser() {
        return Err(Error::Forbidden(Forbidden::Space(space.to_owned())));
    }
    if space != DEFAULT_SPACE {
        return Err(Error::NotFound { what: "space", key: format!("\"{space}\"") });
    }
    if !caller.db().is_read_only() {
        let slug = Slug::parse("space", space)?;
        let name = SpaceName::parse("name", space)?;
        space::create(caller, &slug, &name, true, space::Existing::Keep)?;
    }
    Ok(())
}

/// The space a call works in (CALL-5, design §4).
fn choose_space(argument: Option<&str>) -> Result<String> {
    let setting = guc::space();
    match argument {
        None => Ok(setting),
        Some("") => Err(Invalid::new(
            "space",
            "CALL-5",
            "argument \"space\" is empty",
            "Name a space, or leave the argument out to use me.space.",
        )
        .into()),
        Some(space) if guc::space_locked() && space != setting => {
            Err(Error::Forbidden(Forbidden::Locked(setting)))
        }
        Some(space) => Ok(space.to_owned()),
    }
}

/// A tree as it stands in a table.
pub fn stored_tree(dotted: &str) -> Result<TreePath> {
    TreePath::from_dotted(dotted).ok_or_else(|| Error::Internal(format!("stored tree {dotted:?}")))
}
