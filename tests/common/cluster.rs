//! Servers of a test's own: to be restored into, to follow another one, to be promoted. Gone with the test.

use super::unique;
use postgres::{Client, NoTls};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A server that only this test uses.
pub struct Cluster {
    folder: PathBuf,
}

fn script(arguments: &[&str], settings: &str) -> String {
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/cluster"))
        .args(arguments)
        .env("MEMORY_ENGINE_CONF", format!("fsync = off\nme.upkeep_delay = 1h\n{settings}"))
        .output()
        .expect("scripts/cluster runs");
    assert!(
        output.status.success(),
        "scripts/cluster {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

impl Cluster {
    fn folder() -> Self {
        Self { folder: std::env::temp_dir().join(unique("memory_engine-cluster")) }
    }

    fn name(&self) -> &str {
        self.folder.to_str().expect("a plain name")
    }

    /// An empty one with some settings, one a line.
    pub fn start(settings: &str) -> Self {
        let cluster = Self::folder();
        script(&["start", cluster.name()], settings);
        cluster
    }

    /// A copy of this one that follows it.
    pub fn standby(&self, settings: &str) -> Self {
        let standby = Self::folder();
        script(&["follow", standby.name(), self.name()], settings);
        standby
    }

    /// Ends the following: from now on it is written to.
    pub fn promote(&self) {
        script(&["promote", self.name()], "");
    }

    /// The folder of its socket.
    pub fn host(&self) -> String {
        script(&["socket", self.name()], "")
    }

    /// Its port.
    pub fn port(&self) -> String {
        std::fs::read_to_string(self.folder.join("port")).expect("it was started").trim().to_owned()
    }

    /// Connects as a role.
    pub fn connect(&self, database: &str, role: &str) -> Client {
        let mut config = postgres::Config::new();
        config.host(&self.host()).port(self.port().parse().expect("a number")).user(role).dbname(database);
        config
            .connect(NoTls)
            .unwrap_or_else(|error| panic!("no connection to {database} as {role}: {error:?}"))
    }

    /// Connects as superuser.
    pub fn admin(&self, database: &str) -> Client {
        self.connect(database, "postgres")
    }

    /// Makes a client program talk to this server.
    pub fn serve<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PGHOST", self.host()).env("PGPORT", self.port()).env("PGUSER", "postgres")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/cluster"))
            .args(["drop", self.name()])
            .output();
    }
}
