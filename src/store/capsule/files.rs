//! Files below the one folder that the server may look at (CAP-PG-15). Without that folder nothing is read.

use crate::domain::capsule::seal::sha256_hex;
use crate::guc;
use std::path::{Component, Path, PathBuf};

/// Largest file that is hashed or imported, in bytes.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What stands at an anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A file, with its hash if it can be read.
    File(Option<String>),
    /// Nothing, or something behind a symbolic link.
    Nothing,
    /// The anchor names no file below the folder, or there is no folder.
    Unknown,
}

/// Looks at the file of an anchor `path:line`.
pub fn look(anchor: &str) -> Found {
    let Some(root) = guc::capsule_file_root() else { return Found::Unknown };
    let Some(path) = anchored_path(anchor) else { return Found::Unknown };
    match plain_file(Path::new(&root), &path) {
        Some(file) => Found::File(read(&file).map(|bytes| sha256_hex(&bytes))),
        None => Found::Nothing,
    }
}

/// The hash of the file of an anchor, if there is one.
pub fn hash_of_anchor(anchor: &str) -> Option<String> {
    match look(anchor) {
        Found::File(hash) => hash,
        Found::Nothing | Found::Unknown => None,
    }
}

/// The relative path of an anchor `path:digits`.
fn anchored_path(anchor: &str) -> Option<PathBuf> {
    let (path, line) = anchor.rsplit_once(':')?;
    let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    is_line.then(|| relative(path)).flatten()
}

/// A relative path of plain components, or none.
pub fn relative(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(path);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && path.components().next().is_some()).then_some(path)
}

/// The file at a path below a folder, if no component of it is a symbolic link.
pub fn plain_file(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut at = root.to_path_buf();
    for component in path.components() {
        at.push(component);
        let meta = at.symlink_metadata().ok()?;
        if meta.file_type().is_symlink() {
            return None;
        }
    }
    at.is_file().then_some(at)
}

/// The bytes of a file that is not too large.
pub fn read(file: &Path) -> Option<Vec<u8>> {
    if file.metadata().ok()?.len() > FILE_BYTES {
        return None;
    }
    std::fs::read(file).ok()
}
