//! A server of a test's own, which may be killed. Never an assertion about what it holds.

use super::superuser;
use postgres::{Client, Config, NoTls};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A cluster in a folder of its own, gone with the value.
pub struct Server {
    folder: PathBuf,
    settings: String,
}

fn script(command: &str, folder: &std::path::Path, settings: &str) -> Result<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/cluster");
    let output = Command::new(script)
        .arg(command)
        .arg(folder)
        .env("MEMORY_ENGINE_CONF", settings)
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

impl Server {
    /// Makes and starts one, with these settings, one a line.
    pub fn new(settings: &str) -> Self {
        let folder = std::env::temp_dir().join(super::unique("memory_engine_server"));
        let server = Self { folder, settings: format!("fsync = off\n{settings}") };
        server.start();
        server
    }

    /// Starts it, as soon as nothing of an earlier life holds its memory any more.
    pub fn start(&self) {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            match script("start", &self.folder, &self.settings) {
                Ok(_) => return,
                Err(reason) => assert!(Instant::now() < end, "the server does not start: {reason}"),
            }
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    fn config(&self, database: &str) -> Option<Config> {
        let read = |name: &str| std::fs::read_to_string(self.folder.join(name)).ok();
        let mut config = Config::new();
        config.host(read("socket")?.trim()).port(read("port")?.trim().parse().ok()?);
        config.user(&superuser()).dbname(database).application_name("memory_engine tests");
        Some(config)
    }

    /// A connection, if the server takes one now.
    pub fn try_connect(&self, database: &str) -> Option<Client> {
        self.config(database)?.connect(NoTls).ok()
    }

    /// A connection, as soon as the server takes one.
    pub fn connect(&self, database: &str) -> Client {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            if let Some(client) = self.try_connect(database) {
                return client;
            }
            assert!(Instant::now() < end, "the server takes no connection: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The number of the postmaster.
    pub fn postmaster(&self) -> Option<i32> {
        let text = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    /// A program of the server's, which connects here.
    pub fn program(&self, name: &str, database: &str) -> Command {
        let bin = std::env::var("PG_BIN").expect("PG_BIN");
        let read = |name: &str| std::fs::read_to_string(self.folder.join(name)).unwrap().trim().to_owned();
        let mut command = Command::new(PathBuf::from(bin).join(name));
        command.args(["--host", &read("socket"), "--port", &read("port"), "--username", &superuser()]);
        command.args(["--dbname", database]);
        command
    }

    /// All of the log.
    pub fn whole_log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log/server.log")).unwrap()
    }

    /// The last lines of the log.
    pub fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.join("log/server.log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = script("drop", &self.folder, &self.settings);
    }
}

/// Kills a process as nothing can be prepared for, and waits until it is gone: whoever starts a server meanwhile would take
/// the old one for running. Whether there was one.
pub fn kill(process: i32) -> bool {
    let killed = Command::new("kill")
        .args(["-9", &process.to_string()])
        .output()
        .is_ok_and(|output| output.status.success());
    let end = Instant::now() + Duration::from_secs(60);
    while std::fs::read_link(format!("/proc/{process}/cwd")).is_ok() {
        assert!(Instant::now() < end, "process {process} does not die");
        std::thread::sleep(Duration::from_millis(5));
    }
    killed
}
