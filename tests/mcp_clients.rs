//! The MCP server as clients see it that others wrote: the official TypeScript and Python clients and the inspector,
//! each over a pipe and over HTTP. What they do is in tests/clients.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::gateway::{Gateway, user, with_space};
use common::mcp::url;
use common::{Database, superuser, unique};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of tests/clients in which node finds its packages.
struct Clients {
    folder: PathBuf,
    installed: PathBuf,
}

impl Clients {
    fn new() -> Self {
        let installed = std::env::var("MEMORY_ENGINE_CLIENTS")
            .unwrap_or_else(|_| panic!("MEMORY_ENGINE_CLIENTS is not set: run scripts/test client"));
        let installed = PathBuf::from(installed);
        let folder = std::env::temp_dir().join(unique("me-clients"));
        std::fs::create_dir(&folder).unwrap();
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        std::os::unix::fs::symlink(installed.join("node_modules"), folder.join("node_modules")).unwrap();
        Self { folder, installed }
    }

    fn node(&self, script: &str) -> Command {
        let mut command = Command::new(self.installed.join("bin/node"));
        command.current_dir(&self.folder).arg(script);
        command
    }

    fn python(&self, script: &str) -> Command {
        let mut command = Command::new("python3");
        command.current_dir(&self.folder).env("PYTHONPATH", self.installed.join("python")).arg(script);
        command
    }

    fn inspector(&self) -> Command {
        let mut command =
            self.node("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
        command.env("HOME", &self.folder).arg("--cli");
        command
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn server() -> String {
    std::env::var("MEMORY_ENGINE_MCP").unwrap()
}

/// Runs a client that has to succeed: what it printed.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// Runs clients over a pipe and over HTTP, one after the other on the same database.
fn both_ways(commands: &[&dyn Fn(&Clients) -> Command]) {
    let (clients, database) = (Clients::new(), with_space());
    let gateway = Gateway::start(&database, &[]);
    let key = user(&database, "user@example.org", None);
    database
        .admin()
        .batch_execute("select me.access_grant('user@example.org', '/capsules', 'write')")
        .unwrap();
    for command in commands {
        let pipe = url(database.name(), &superuser());
        succeed(command(&clients).args(["stdio", &server()]).env("MEMORY_ENGINE_URL", pipe));
        succeed(command(&clients).args(["http", &format!("http://{}/mcp", gateway.address), &key]));
    }
}

#[test]
fn the_official_typescript_client_works() {
    both_ways(&[&|clients: &Clients| clients.node("typescript-v1.mjs")]);
}

#[test]
fn the_second_line_of_the_typescript_client_works_in_both_revisions() {
    let of = |revision: &'static str| {
        move |clients: &Clients| {
            let mut command = clients.node("typescript-v2.mjs");
            command.arg(revision);
            command
        }
    };
    both_ways(&[&of("2025-11-25"), &of("2026-07-28")]);
}

#[test]
fn the_official_python_client_works_in_both_revisions() {
    let of = |revision: &'static str| {
        move |clients: &Clients| {
            let mut command = clients.python("python_client.py");
            command.arg(revision);
            command
        }
    };
    both_ways(&[&of("2025-11-25"), &of("2026-07-28")]);
}

/// One request by the inspector.
fn inspect(clients: &Clients, target: &[String], method: &str, more: &[&str]) -> Value {
    let printed = succeed(clients.inspector().args(target).args(["--method", method]).args(more));
    serde_json::from_str(&printed).unwrap_or_else(|_| panic!("no JSON: {printed}"))
}

#[test]
fn the_inspector_works() {
    let (clients, database) = (Clients::new(), with_space());
    let gateway = Gateway::start(&database, &[]);
    let key = user(&database, "user@example.org", None);
    database
        .admin()
        .batch_execute("select me.access_grant('user@example.org', '/capsules', 'write')")
        .unwrap();
    let pipe =
        vec!["-e".into(), format!("MEMORY_ENGINE_URL={}", url(database.name(), &superuser())), server()];
    let http = vec![
        format!("http://{}/mcp", gateway.address),
        "--transport".into(),
        "http".into(),
        "--header".into(),
        format!("Authorization: Bearer {key}"),
    ];
    for (way, target) in [("pipe", pipe), ("http", http)] {
        let tools = inspect(&clients, &target, "tools/list", &["--strict"]);
        assert!(tools["tools"].as_array().unwrap().len() > 30);
        let call = |tool: &str, arguments: &[String]| {
            let mut more = vec!["--tool-name", tool];
            for argument in arguments {
                more.extend(["--tool-arg", argument]);
            }
            inspect(&clients, &target, "tools/call", &more)
        };
        let made = call(
            "me_memory_create",
            &["content=the heron waits".into(), "tree=/share/inspector".into(), format!("name={way}")],
        );
        let made = &made["structuredContent"];
        let id = made["id"].as_str().unwrap();
        assert_eq!(&call("me_memory_get", &[format!("id={id}")])["structuredContent"], made);
        let found = call("me_memory_search", &["fulltext=heron".into()]);
        assert!(found["structuredContent"].to_string().contains(id));
        let arguments = json!({"id": id, "version_hash": made["versionHash"], "content": "it flew"});
        let arguments: Vec<String> = ["id", "version_hash", "content"]
            .iter()
            .map(|name| format!("{name}={}", arguments[name].as_str().unwrap()))
            .collect();
        assert_eq!(call("me_memory_update", &arguments)["structuredContent"]["version"], 2);
        let stale = Command::output(
            clients
                .inspector()
                .args(&target)
                .args(["--method", "tools/call", "--tool-name", "me_memory_update"])
                .args(arguments.iter().flat_map(|argument| ["--tool-arg", argument])),
        )
        .unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&stale.stdout), String::from_utf8_lossy(&stale.stderr));
        assert!(said.contains("version_hash is stale"), "{said}");
        let capsule = call(
            "memory_ingest",
            &[
                format!("content=Herons nest in March, seen by {way}."),
                "source=field-notes".into(),
                "anchor=notes.md:1".into(),
                "project_id=clients".into(),
            ],
        );
        let text = capsule["structuredContent"].to_string();
        let at = text.find("cap-").unwrap_or_else(|| panic!("{capsule}"));
        let capsule: String = text[at..].chars().take_while(|c| *c != '"').collect();
        let got = call("memory_get", &[format!("id={capsule}")]);
        assert_eq!(got["structuredContent"]["label"], "ADVISORY_NOT_AUTHORITY");
    }
}

#[test]
fn the_shim_in_python_of_the_documentation_works() {
    let page = include_str!("../docs/mcp.md");
    let shim = page.split("```python\n").nth(1).unwrap().split("\n```").next().unwrap();
    assert!(shim.lines().count() <= 55, "{} lines", shim.lines().count());
    let (clients, database) = (Clients::new(), Database::new());
    std::fs::write(clients.folder.join("shim.py"), shim).unwrap();
    // A program that is started without arguments, as the clients start the server.
    let program = clients.folder.join("shim");
    let text = format!(
        "#!/bin/sh\nPYTHONPATH='{}' exec python3 '{}'\n",
        clients.installed.join("python").display(),
        clients.folder.join("shim.py").display()
    );
    std::fs::write(&program, text).unwrap();
    succeed(Command::new("chmod").arg("+x").arg(&program));
    let mut client = clients.python("shim_client.py");
    let pipe = url(database.name(), &superuser());
    succeed(client.arg(&program).env("MEMORY_ENGINE_URL", pipe));
}
