//! The folder that files may be in. Whatever a path or a link says, nothing outside is opened: the operating system
//! walks the path from the open root, step by step.

use cap_std::ambient_authority;
#[cfg(unix)]
use cap_std::fs::OpenOptionsExt;
use cap_std::fs::{Dir, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest file that is read.
const MAX_FILE: u64 = 128 << 20;

/// The extensions of files with memories, and the format that each means (IMP-10).
const EXTENSIONS: [(&str, &str); 7] = [
    ("json", "json"),
    ("ndjson", "json"),
    ("jsonl", "json"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("md", "md"),
    ("markdown", "md"),
];

/// A folder, open.
pub struct Root {
    dir: Dir,
    /// The folder's name as it was given, and as it really is.
    names: [PathBuf; 2],
}

impl Root {
    /// Opens a folder.
    pub fn open(path: &str) -> Result<Self, String> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| format!("--files {path:?} cannot be opened: {error}"))?;
        let real = std::fs::canonicalize(path).map_err(|error| format!("--files {path:?}: {error}"))?;
        Ok(Self { dir, names: [path.into(), real] })
    }

    /// A path as a client writes it, below the root: relative to it, or absolute and beginning with it.
    pub fn place(&self, path: &str) -> Result<PathBuf, String> {
        let path = Path::new(path);
        let below = match path.is_absolute() {
            false => path,
            true => self
                .names
                .iter()
                .find_map(|name| path.strip_prefix(name).ok())
                .ok_or_else(|| format!("argument \"path\" is outside of the server's root: {path:?}"))?,
        };
        let mut place = PathBuf::new();
        for component in below.components() {
            match component {
                Component::Normal(name) => place.push(name),
                Component::CurDir => {}
                _ => return Err(format!("argument \"path\" leaves the server's root: {path:?}")),
            }
        }
        Ok(place)
    }

    /// The files that a path names: itself, or those with memories below it, in the order of their paths.
    pub fn files(&self, place: &Path) -> Result<Vec<PathBuf>, String> {
        let told = |error: io::Error| problem(place, &error);
        if place != Path::new("") && self.dir.metadata(place).map_err(told)?.is_file() {
            return Ok(vec![place.to_owned()]);
        }
        let mut files = Vec::new();
        let mut folders = vec![place.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match folder.as_os_str().is_empty() {
                true => self.dir.entries(),
                false => self.dir.read_dir(&folder),
            };
            for entry in entries.map_err(|error| problem(&folder, &error))? {
                let entry = entry.map_err(|error| problem(&folder, &error))?;
                let path = folder.join(entry.file_name());
                let kind = entry.file_type().map_err(|error| problem(&path, &error))?;
                // A link to a folder may lead round in circles; a link to a file is followed as far as the root.
                if kind.is_dir() {
                    folders.push(path);
                } else if format(&path).is_some() && self.is_file(&path)? {
                    files.push(path);
                }
            }
        }
        files.sort();
        match files.is_empty() {
            true => Err(format!("argument \"path\" holds no file with memories: {place:?}")),
            false => Ok(files),
        }
    }

    fn is_file(&self, path: &Path) -> Result<bool, String> {
        Ok(self.dir.metadata(path).map_err(|error| problem(path, &error))?.is_file())
    }

    /// The text of a file.
    pub fn read(&self, path: &Path) -> Result<String, String> {
        let told = |error: io::Error| problem(path, &error);
        let mut options = OpenOptions::new();
        options.read(true);
        // Opening a pipe would wait for its other end; and only what is open stays what it is.
        #[cfg(unix)]
        options.custom_flags(libc::O_NONBLOCK);
        let file = self.dir.open_with(path, &options).map_err(told)?;
        if !file.metadata().map_err(told)?.is_file() {
            return Err(format!("{path:?} is no file"));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(told)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(format!("{path:?} has more than {MAX_FILE} bytes"));
        }
        String::from_utf8(bytes).map_err(|_| format!("{path:?} is not UTF-8"))
    }

    /// Writes a file, whole or not at all, and the folders that it is in.
    pub fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        let told = |error: io::Error| problem(path, &error);
        let Some(name) = path.file_name() else {
            return Err(format!("{path:?} is no name of a file"));
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            self.dir.create_dir_all(folder).map_err(told)?;
        }
        // A name of its own for each, so that two who write the same file do not write into each other's; and never
        // one that is there, which may be a link.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let beside =
            path.with_file_name(format!(".{}.{}-{number}.part", name.to_string_lossy(), std::process::id()));
        let written = (|| {
            let mut file = self.dir.open_with(&beside, OpenOptions::new().write(true).create_new(true))?;
            file.write_all(text.as_bytes())?;
            self.dir.rename(&beside, &self.dir, path)
        })();
        if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
            let _ = self.dir.remove_file(&beside);
        }
        written.map_err(told)
    }
}

/// The format that the extension of a file means.
pub fn format(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, format)| *format)
}

fn problem(path: &Path, error: &io::Error) -> String {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    format!("{path:?}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("me-root-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("root/sub/deep")).unwrap();
            Self(path)
        }

        fn write(&self, name: &str) {
            fs::write(self.0.join(name), name).unwrap();
        }

        fn root(&self) -> Root {
            Root::open(self.0.join("root").to_str().unwrap()).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_come_sorted_by_path_and_by_extension() {
        let folder = Folder::new("walk");
        for name in [
            "root/b.md",
            "root/a.JSON",
            "root/sub/x.yml",
            "root/sub/deep/n.jsonl",
            "root/notes.txt",
            "outside.md",
        ] {
            folder.write(name);
        }
        let root = folder.root();
        let files = root.files(Path::new("")).unwrap();
        assert_eq!(files, ["a.JSON", "b.md", "sub/deep/n.jsonl", "sub/x.yml"].map(PathBuf::from));
        assert_eq!(root.files(Path::new("sub/deep")).unwrap().len(), 1);
        // A file that is named outright needs no extension.
        assert_eq!(root.files(Path::new("notes.txt")).unwrap(), [PathBuf::from("notes.txt")]);
        assert!(root.files(Path::new("missing")).is_err());
    }

    #[test]
    fn no_path_leads_out_of_the_root() {
        let folder = Folder::new("out");
        folder.write("secret.md");
        folder.write("root/in.md");
        let root = folder.root();
        for path in [
            "..",
            "../secret.md",
            "sub/../../secret.md",
            "/etc/passwd",
            folder.0.join("secret.md").to_str().unwrap(),
        ] {
            assert!(root.place(path).is_err(), "{path}");
        }
        let absolute = folder.0.join("root/in.md");
        assert_eq!(root.place(absolute.to_str().unwrap()).unwrap(), Path::new("in.md"));
        assert_eq!(root.place("./sub/.").unwrap(), Path::new("sub"));
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_root_are_refused_and_links_inside_followed() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new("links");
        folder.write("secret.md");
        folder.write("root/in.md");
        symlink(folder.0.join("secret.md"), folder.0.join("root/sub/link.md")).unwrap();
        symlink("../in.md", folder.0.join("root/sub/inside.md")).unwrap();
        symlink(&folder.0, folder.0.join("root/up")).unwrap();
        let root = folder.root();
        assert!(root.read(Path::new("sub/link.md")).is_err());
        assert_eq!(root.read(Path::new("sub/inside.md")).unwrap(), "root/in.md");
        assert!(root.read(Path::new("up/secret.md")).is_err());
        assert!(root.files(Path::new("")).unwrap_err().contains("link.md"));
        assert!(root.write(Path::new("up/planted.md"), "x").is_err());
        assert!(root.write(Path::new("sub/link.md"), "new").is_ok(), "the link is replaced, not followed");
        assert_eq!(fs::read_to_string(folder.0.join("secret.md")).unwrap(), "secret.md");
        assert!(!folder.0.join("planted.md").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_no_file_and_nobody_waits_for_it() {
        let folder = Folder::new("pipe");
        let path = folder.0.join("root/pipe.json");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let root = folder.root();
        assert!(root.read(Path::new("pipe.json")).unwrap_err().contains("is no file"));
        assert!(root.read(Path::new("sub")).is_err());
    }

    #[test]
    fn those_who_write_the_same_file_at_once_do_not_mix() {
        let folder = Folder::new("same");
        let root = folder.root();
        let texts: Vec<String> = (0..8).map(|n| n.to_string().repeat(200_000)).collect();
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| root.write(Path::new("out.json"), text).unwrap());
            }
        });
        let written = fs::read_to_string(folder.0.join("root/out.json")).unwrap();
        assert!(texts.contains(&written));
        assert_eq!(fs::read_dir(folder.0.join("root")).unwrap().count(), 2, "the folder and the file");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_changes_while_it_is_used_leads_nowhere() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new("race");
        fs::create_dir_all(folder.0.join("secret")).unwrap();
        fs::write(folder.0.join("secret/a.json"), "secret").unwrap();
        fs::write(folder.0.join("root/sub/a.json"), "inside").unwrap();
        symlink("sub", folder.0.join("root/d")).unwrap();
        let root = folder.root();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (place, next) = (folder.0.join("root/d"), folder.0.join("root/next"));
                for target in ["sub", "../secret"].iter().cycle() {
                    symlink(target, &next).unwrap();
                    fs::rename(&next, &place).unwrap();
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            for n in 0..2000 {
                assert!(root.read(Path::new("d/a.json")).map_or(true, |text| text == "inside"));
                let _ = root.write(Path::new(&format!("d/planted-{}.json", n % 4)), "x");
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read_dir(folder.0.join("secret")).unwrap().count(), 1, "nothing was planted");
    }

    #[test]
    fn a_file_is_written_whole_with_its_folders() {
        let folder = Folder::new("write");
        let root = folder.root();
        root.write(Path::new("new/folder/a.json"), "[]").unwrap();
        root.write(Path::new("new/folder/a.json"), "[1]").unwrap();
        assert_eq!(fs::read_to_string(folder.0.join("root/new/folder/a.json")).unwrap(), "[1]");
        assert_eq!(fs::read_dir(folder.0.join("root/new/folder")).unwrap().count(), 1);
        assert!(root.write(Path::new("sub"), "x").is_err(), "a folder is no file");
        assert!(root.write(Path::new(""), "x").is_err());
    }
}
