//! The programs in examples/ do what they say, each with its own driver or ORM, as an ordinary role over TCP. What they
//! leave in the database is looked at from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Database, new_role, unique};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What scripts/setup-drivers has made.
fn drivers() -> PathBuf {
    std::env::var("MEMORY_ENGINE_DRIVERS")
        .unwrap_or_else(|_| panic!("MEMORY_ENGINE_DRIVERS is not set: run scripts/test client"))
        .into()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// A copy of an example's folder, in which node finds its packages; removed at the end.
struct Copy(PathBuf);

impl Copy {
    fn of(example: &str) -> Self {
        let folder = std::env::temp_dir().join(unique("me-example"));
        copy(&examples().join(example), &folder);
        std::os::unix::fs::symlink(drivers().join("node_modules"), folder.join("node_modules")).unwrap();
        Self(folder)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn python() -> Command {
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", drivers().join("python")).arg("main.py");
    command
}

fn node(script: &str) -> Command {
    let mut command = Command::new(drivers().join("bin/node"));
    command.arg(script);
    command
}

fn java() -> Command {
    let mut command = Command::new("java");
    command.arg("-cp").arg(drivers().join("postgresql.jar")).arg("Main.java");
    command
}

/// The client of Prisma is made from its schema. Its engine for migrations would be downloaded; nothing here uses one.
fn generate_prisma() -> Command {
    let mut command = node("node_modules/prisma/build/index.js");
    command.arg("generate").env("PRISMA_SCHEMA_ENGINE_BINARY", "/bin/true").env("CHECKPOINT_DISABLE", "1");
    command
}

/// The last line a program printed; it has to succeed.
fn last_line(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed.lines().last().unwrap_or_default().to_owned()
}

/// Runs an example as a role that may write below /share and owns nothing, and looks at what it left.
fn runs(example: &str, before: Option<Command>, mut program: Command) {
    let (folder, database, role) = (Copy::of(example), Database::new(), new_role("app"));
    let mut admin = database.admin();
    admin
        .batch_execute(&format!(
            "alter role \"{role}\" password 'not-secret'; grant create on schema public to \"{role}\";
             select me.space_member_add('{role}', kind => 'service'), me.access_grant('{role}', 'share', 'write')"
        ))
        .unwrap();
    if let Some(mut before) = before {
        last_line(before.current_dir(&folder.0));
    }
    let port = std::env::var("PGPORT").unwrap();
    program
        .current_dir(&folder.0)
        .env_remove("PGHOST")
        .env("DATABASE_URL", format!("postgres://{role}:not-secret@127.0.0.1:{port}/{}", database.name()));
    assert_eq!(last_line(&mut program), "ok");

    let left: Vec<String> = admin
        .query(
            "select concat_ws(' | ', m.tree, m.name, m.content, m.meta, m.version, m.created_by = $1, t.title)
             from me.memories as m left join tickets as t on t.memory_id = m.id order by m.id",
            &[&role],
        )
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    let expected = [
        r#"/share/app | deploy-day | Deploys happen on Wednesdays. | {"topic": "deploy", "priority": 5} | 2 | t"#,
        "/share/app/tickets | The pump leaks. | {} | 1 | t | The pump leaks.",
    ];
    assert_eq!(left, expected);
    let tickets: i64 = admin.query_one("select count(*) from tickets", &[]).unwrap().get(0);
    assert_eq!(tickets, 1, "a ticket outlived the transaction that took its memory back");
    drop(admin);
    drop(database);
}

#[test]
fn psycopg() {
    runs("psycopg", None, python());
}

#[test]
fn sqlalchemy() {
    runs("sqlalchemy", None, python());
}

#[test]
fn django() {
    runs("django", None, python());
}

#[test]
fn node_postgres() {
    runs("node-postgres", None, node("main.mjs"));
}

#[test]
fn drizzle() {
    runs("drizzle", None, node("main.mjs"));
}

#[test]
fn prisma() {
    runs("prisma", Some(generate_prisma()), node("main.mjs"));
}

#[test]
fn sqlx() {
    runs("sqlx", None, Command::new(drivers().join("bin/example-sqlx")));
}

#[test]
fn jdbc() {
    runs("jdbc", None, java());
}

/// A folder that no test runs would be a promise that nothing keeps.
#[test]
fn every_example_has_a_test() {
    let source = include_str!("examples.rs");
    for entry in std::fs::read_dir(examples()).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            assert!(source.contains(&format!("runs(\"{name}\"")), "no test runs examples/{name}");
        }
    }
}
