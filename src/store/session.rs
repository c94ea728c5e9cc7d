//! A call in a space: who is asking, where, with which rights, decided once when the call begins (ACC-11).

use super::caller::{self, Caller, Intent};
use super::spi::arg;
use super::uuid_v7;
use crate::domain::access::{Grant, Level, Rights};
use crate::domain::invalid::Invalid;
use crate::domain::path::{Home, TreePath};
use crate::error::{Error, Forbidden, Result};
use crate::{guc, statement};
use pgrx::pg_sys::panic::ErrorReport;
use std::ops::Deref;

/// The space that comes into being at a superuser's first write.
const DEFAULT_SPACE: &str = "default";

statement!(
    /// Roster and grants of the caller and of the roles it inherits from.
    RIGHTS,
    [include_str!("rights.sql")],
    [TEXTOID, OIDOID, TEXTOID, UUIDOID]
);
statement!(
    MAKE_DEFAULT,
    ["insert into me.space (slug, id, name, created_at, created_by)
      values ($1, $2, $1, pg_catalog.transaction_timestamp(), $3) on conflict do nothing"],
    [TEXTOID, UUIDOID, TEXTOID]
);

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

/// Runs a call that may write memories; otherwise as [`read`].
pub fn write<P, T>(
    space: Option<&str>,
    parse: impl FnOnce(Option<&Home>) -> Result<P>,
    body: impl FnOnce(&Session, P) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    open(Intent::Write, space, parse, body)
}

/// Runs a call that serves a space as a whole: whoever was given the function may, member or not.
pub fn serve<T>(
    space: Option<&str>,
    body: impl FnOnce(&Session) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    let space = choose_space(space)?;
    caller::begin(Intent::Write, &space, |caller, known| {
        if !known {
            make_space(&caller, &space)?;
        }
        body(&Session { caller, space: space.clone(), rights: Rights::All })
    })
}

fn open<P, T>(
    intent: Intent,
    space: Option<&str>,
    parse: impl FnOnce(Option<&Home>) -> Result<P>,
    body: impl FnOnce(&Session, P) -> Result<T>,
) -> std::result::Result<T, ErrorReport> {
    let space = choose_space(space)?;
    caller::begin(intent, &space, |caller, known| {
        let parsed = parse(caller.home())?;
        let session = Session::admit(caller, space.clone(), known)?;
        body(&session, parsed)
    })
}

impl<'a> Session<'a> {
    /// Refuses somebody who is not admitted to the space; an unknown one answers the same (ACC-2, PRIN-22).
    fn admit(caller: Caller<'a>, space: String, known: bool) -> Result<Self> {
        if !known {
            make_space(&caller, &space)?;
        }
        let rights = if caller.is_superuser() { Rights::All } else { look_up_rights(&caller, &space)? };
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

    /// Refuses a caller without the level at the tree.
    pub fn require(&self, level: Level, tree: &TreePath) -> Result<()> {
        if self.rights.allow(level, tree) {
            return Ok(());
        }
        Err(Error::Forbidden(Forbidden::Tree { level: level.word(), tree: tree.display(self.home()) }))
    }
}

fn look_up_rights(caller: &Caller, space: &str) -> Result<Rights> {
    let [role, cluster, registration] = caller.identity_args();
    let row = caller
        .db()
        .row(&RIGHTS, &[arg(space), role, cluster, registration])?
        .ok_or_else(|| Error::Internal("rights could not be looked up".into()))?;
    if !row.need::<bool>(1)? {
        return Err(Error::Forbidden(Forbidden::Space(space.to_owned())));
    }
    let trees: Vec<String> = row.need(2)?;
    let levels: Vec<i16> = row.need(3)?;
    let grants = trees
        .iter()
        .zip(levels)
        .map(|(tree, level)| {
            Ok(Grant {
                tree: stored_tree(tree)?,
                level: Level::from_number(level)
                    .ok_or_else(|| Error::Internal(format!("stored level {level}")))?,
            })
        })
        .collect::<Result<_>>()?;
    Ok(Rights::Grants(grants))
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
        caller
            .db()
            .run(&MAKE_DEFAULT, &[arg(DEFAULT_SPACE), arg(uuid_v7::next()), arg(caller.actor_name())])?;
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
