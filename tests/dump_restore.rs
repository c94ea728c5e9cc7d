//! A dump carries everything, whichever way it is made and restored: contents, versions, history, the audit chain,
//! vectors, grants, capsules. What was embedded is not embedded again, and the next write works.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::cluster::Cluster;
use common::seed::{self, Sum, wait_for};
use common::{Calls, Database, superuser};
use postgres::Client;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder for dumps, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(common::unique("memory_engine-dump"));
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program of the server's, on one database.
fn program(name: &str, database: &str) -> Command {
    let bin = std::env::var("PG_BIN").expect("PG_BIN");
    let mut command = Command::new(Path::new(&bin).join(name));
    command.args(["--username", &superuser(), "--dbname", database]);
    command
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn dump(database: &str, file: &str, options: &[&str]) {
    run(program("pg_dump", database).args(options).args(["--file", file]));
}

fn psql(database: &str, file: &str) {
    run(program("psql", database).args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "--file", file]));
}

fn restore(database: &str, file: &str, options: &[&str]) {
    run(program("pg_restore", database).arg("--exit-on-error").args(options).arg(file));
}

/// What the source holds and answers.
struct Source {
    sums: Vec<Sum>,
    answers: Vec<String>,
}

impl Source {
    fn of(client: &mut Client) -> Self {
        Self { sums: seed::checksums(client), answers: seed::answers(client) }
    }

    /// The copy holds the same rows, answers alike, does not embed again what has its vectors, and goes on.
    fn compare(&self, way: &str, client: &mut Client) {
        assert_eq!(seed::checksums(client), self.sums, "{way}");
        assert_eq!(seed::answers(client), self.answers, "{way}");
        let pending = client.json("me.embed_pending()", &[]).unwrap();
        assert_eq!(pending["embedded"], json!(0), "{way}: embedded again");
        let embedded = "select count(*) from me.embedded where model = 'static'";
        let before: i64 = client.query_one(embedded, &[]).unwrap().get(0);
        let next = json!({"content": "The next one", "tree": "/share/next"});
        assert_eq!(client.function("memory_create", &next).unwrap()["version"], json!(1), "{way}");
        let capsule = json!({"content": "The next capsule.", "source": "s", "anchor": "a", "kind": "fact"});
        let next = client.function("capsule_ingest", &capsule).unwrap();
        assert_eq!(next["outcomes"][0]["status"], json!("captured"), "{way}: {next}");
        wait_for(client, "select (me.embedding_status()->>'pending')::int = 0");
        let after: i64 = client.query_one(embedded, &[]).unwrap().get(0);
        assert_eq!(after - before, 2, "{way}: only what is new has new vectors");
        client.function("audit_seal", &json!({})).unwrap();
        let verified = client.json("me.audit_verify()", &[]).unwrap();
        assert_eq!(verified["ok"], json!(true), "{way}: {verified}");
    }
}

/// The reader reads what it was granted, and nothing else.
fn compare_reader(mut reader: Client) {
    for (tree, count) in [("share/notes", 3), ("share/ops", 2), ("share", 5), ("share/batch", 0)] {
        let found = reader.function("memory_count", &json!({ "tree": tree })).unwrap();
        assert_eq!(found["count"], json!(count), "{tree}");
    }
    let write = json!({"content": "x", "tree": "share/ops", "name": "by-the-reader"});
    assert_eq!(reader.function("memory_create", &write).unwrap()["version"], json!(1));
    let refused = reader.function("memory_create", &json!({"content": "x", "tree": "share/notes"}));
    assert_eq!(refused.unwrap_err().kind(), "FORBIDDEN");
}

#[test]
fn every_way_of_dumping_and_restoring_carries_everything() {
    let (from, folder) = (Database::new(), Folder::new());
    let mut client = from.admin();
    seed::plant(&mut client);
    let source = Source::of(&mut client);
    let name = from.name();

    let (plain, custom, directory) =
        (folder.file("plain.sql"), folder.file("custom"), folder.file("directory"));
    let to = Database::empty();
    dump(name, &plain, &[]);
    psql(to.name(), &plain);
    source.compare("plain text through psql", &mut to.admin());
    compare_reader(to.connect(seed::READER));

    let to = Database::empty();
    dump(name, &custom, &["--format=custom"]);
    restore(to.name(), &custom, &["--jobs=4"]);
    source.compare("custom format, parallel", &mut to.admin());

    let to = Database::empty();
    dump(name, &directory, &["--format=directory", "--jobs=4"]);
    restore(to.name(), &directory, &["--jobs=4", "--no-owner", "--no-privileges"]);
    source.compare("directory, without owners and rights", &mut to.admin());

    let to = Database::empty();
    let (schema, data) = (folder.file("schema.sql"), folder.file("data.sql"));
    dump(name, &schema, &["--schema-only"]);
    dump(name, &data, &["--data-only"]);
    psql(to.name(), &schema);
    psql(to.name(), &data);
    source.compare("schema first, then data", &mut to.admin());
    compare_reader(to.connect(seed::READER));

    // Into a server where nobody of the rosters has a role.
    let elsewhere = Cluster::start("");
    elsewhere.admin("postgres").batch_execute("create database there").unwrap();
    run(elsewhere.serve(program("pg_restore", "there").arg("--exit-on-error")).arg("--jobs=2").arg(&custom));
    source.compare("another server without the roles", &mut elsewhere.admin("there"));
    seed::roles(&mut elsewhere.admin("postgres"));
    compare_reader(elsewhere.connect("there", seed::READER));
}
