//! What keeps the functions for plain memories away from capsules (design §7).

use crate::domain::capsule::project::is_capsule_tree;
use crate::domain::path::TreePath;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;

statement!(
    ANY,
    ["select exists (select from me.capsule as c where c.space = $1 and c.memory_id is not null)"],
    [TEXTOID]
);

/// Refuses a tree that belongs to the capsules.
pub fn refuse_tree(tree: &TreePath) -> Result<()> {
    if is_capsule_tree(tree) { Err(Error::FrozenCapsule) } else { Ok(()) }
}

/// Refuses a whole subtree that holds capsules: they stand below one label of the root, so only the root can.
pub fn refuse_subtree(session: &Session, tree: &TreePath) -> Result<()> {
    refuse_tree(tree)?;
    if !tree.is_root() {
        return Ok(());
    }
    let row = session.db().row(&ANY, &[arg(session.space())])?;
    match row.and_then(|row| row.get(1)) {
        Some(true) => Err(Error::FrozenCapsule),
        _ => Ok(()),
    }
}
