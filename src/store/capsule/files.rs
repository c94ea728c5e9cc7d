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

/// What stands at a path below a folder. No symbolic link is followed on the way: what lies behind one, or whether
/// anything does, is nobody's business.
#[derive(Debug, PartialEq, Eq)]
pub enum Spot {
    /// A file.
    File(PathBuf),
    /// A folder.
    Folder(PathBuf),
    /// A symbolic link, at the very end of the path.
    Link,
    /// Nothing, something else, or something behind a symbolic link.
    Nothing,
}

/// Looks at a relative path of plain components below a folder.
pub fn spot(root: &Path, path: &Path) -> Spot {
    let mut at = root.to_path_buf();
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        at.push(component);
        let Ok(meta) = at.symlink_metadata() else { return Spot::Nothing };
        let kind = meta.file_type();
        match components.peek() {
            Some(_) if kind.is_dir() => {}
            None if kind.is_dir() => return Spot::Folder(at),
            None if kind.is_file() => return Spot::File(at),
            None if kind.is_symlink() => return Spot::Link,
            _ => return Spot::Nothing,
        }
    }
    Spot::Nothing
}

/// The file at a path below a folder, if no component of it is a symbolic link.
pub fn plain_file(root: &Path, path: &Path) -> Option<PathBuf> {
    match spot(root, path) {
        Spot::File(file) => Some(file),
        _ => None,
    }
}

/// The bytes of a file that is not too large. It must still be the file that was looked at when it is open: a link may
/// have been put in its place.
pub fn read(file: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;
    let looked_at = file.symlink_metadata().ok()?;
    if !looked_at.is_file() {
        return None;
    }
    let open = std::fs::File::open(file).ok()?;
    let opened = open.metadata().ok()?;
    let same = (looked_at.dev(), looked_at.ino()) == (opened.dev(), opened.ino());
    if !same || opened.len() > FILE_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    open.take(FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= FILE_BYTES).then_some(bytes)
}
