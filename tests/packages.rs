//! What is handed to others is whole: packages hold what a build installed, their descriptions agree with it, the
//! container files are well formed, and the bill of materials lists what is shipped.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::unique;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// What a program printed; it has to succeed.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// The rules of the PGXN Meta Spec 1.0.0 that concern what the file has.
#[test]
fn the_description_for_pgxn_keeps_its_specification() {
    let meta: Value = serde_json::from_str(&read("META.json")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for key in ["name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"] {
        assert!(!meta[key].is_null(), "{key} is required");
    }
    let known = [
        "name",
        "version",
        "abstract",
        "maintainer",
        "license",
        "provides",
        "meta-spec",
        "description",
        "generated_by",
        "tags",
        "no_index",
        "prereqs",
        "release_status",
        "resources",
    ];
    for key in meta.as_object().unwrap().keys() {
        assert!(known.contains(&key.as_str()) || key.to_lowercase().starts_with("x_"), "{key} is unknown");
    }
    let name = meta["name"].as_str().unwrap();
    assert!(
        name.len() >= 2 && name.chars().all(|c| !c.is_control() && !c.is_whitespace() && !"/\\".contains(c))
    );
    assert_eq!(meta["version"], version);
    assert_eq!(meta["meta-spec"]["version"], "1.0.0");
    assert!(["stable", "testing", "unstable"].contains(&meta["release_status"].as_str().unwrap()));
    // One of the names that the specification has for licences.
    assert_eq!(meta["license"], "postgresql");
    let provides = meta["provides"].as_object().unwrap();
    assert_eq!(provides.keys().collect::<Vec<_>>(), ["memory_engine"]);
    for extension in provides.values() {
        assert_eq!(extension["version"], version);
        for key in ["file", "docfile"] {
            let file = extension[key].as_str().unwrap();
            assert!(root().join(file).is_file(), "{file}");
        }
    }
    for phase in meta["prereqs"].as_object().unwrap().values() {
        for relation in phase.as_object().unwrap().values() {
            for (what, least) in relation.as_object().unwrap() {
                let least = least.as_str().unwrap();
                let semantic =
                    least.split('.').count() == 3 && least.split('.').all(|n| n.parse::<u32>().is_ok());
                assert!(least == "0" || semantic, "{what}: {least}");
            }
        }
    }
    assert!(meta["tags"].as_array().unwrap().iter().all(|tag| {
        let tag = tag.as_str().unwrap();
        !tag.is_empty() && tag.len() <= 255 && !tag.contains(['/', '\\'])
    }));
    for folder in meta["no_index"]["directory"].as_array().unwrap() {
        assert!(root().join(folder.as_str().unwrap()).is_dir(), "{folder}");
    }
}

#[test]
fn the_bill_of_materials_lists_what_is_shipped() {
    let text = succeed(Command::new(root().join("scripts/dependencies")).arg("sbom").current_dir(root()));
    let bill: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(bill["metadata"]["component"]["version"], env!("CARGO_PKG_VERSION"));
    let components = bill["components"].as_array().unwrap();
    let names: Vec<&str> = components.iter().map(|c| c["name"].as_str().unwrap()).collect();
    for shipped in ["pgrx", "candle-core", "rustls", "rmcp", "tokio-postgres", "memory-engine-mcp"] {
        assert!(names.contains(&shipped), "{shipped} is missing");
    }
    // Only tests have these.
    for tool in ["proptest", "postgres", "rcgen"] {
        assert!(!names.contains(&tool), "{tool} is not shipped");
    }
    let lock = read("Cargo.lock");
    for component in components {
        let (name, version) = (component["name"].as_str().unwrap(), component["version"].as_str().unwrap());
        assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"")), "{name} {version}");
        assert!(component["licenses"][0]["expression"].is_string(), "{name} has no licence");
    }
}

#[test]
fn the_container_files_are_well_formed() {
    let drivers = std::env::var("MEMORY_ENGINE_DRIVERS")
        .unwrap_or_else(|_| panic!("MEMORY_ENGINE_DRIVERS is not set: run scripts/test client"));
    let python = PathBuf::from(drivers).join("python");
    succeed(Command::new(python.join("bin/hadolint")).arg(root().join("docker/Dockerfile")));
    succeed(
        Command::new("python3")
            .env("PYTHONPATH", &python)
            .args([
                "-m",
                "yamllint",
                "--strict",
                "-d",
                "{extends: default, rules: {line-length: disable, document-start: disable}}",
            ])
            .arg(root().join("docker/compose.yaml")),
    );
    succeed(Command::new("bash").arg("-n").arg(root().join("docker/gateway.sh")));

    let dockerfile = read("docker/Dockerfile");
    assert!(dockerfile.contains("HEALTHCHECK"));
    assert!(dockerfile.contains("ARG PG=18"));
    // What is copied from the checkout is there.
    for line in dockerfile.lines().filter(|line| line.starts_with("COPY docker/")) {
        let file = line.split_whitespace().nth(1).unwrap();
        assert!(root().join(file).is_file(), "{file}");
    }
    let convert = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let text = succeed(
        Command::new("python3")
            .env("PYTHONPATH", &python)
            .args(["-c", convert])
            .arg(root().join("docker/compose.yaml")),
    );
    let compose: Value = serde_json::from_str(&text).unwrap();
    let database = &compose["services"]["database"];
    let folder = root().join("docker").join(database["build"]["context"].as_str().unwrap());
    assert!(folder.join(database["build"]["dockerfile"].as_str().unwrap()).is_file());
    let mcp = &compose["services"]["mcp"];
    assert_eq!(mcp["image"], database["image"]);
    assert_eq!(mcp["depends_on"]["database"]["condition"], "service_healthy");
    assert!(mcp["healthcheck"]["test"].is_array());
}

/// A folder that is gone at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn same(one: &Path, other: &Path) {
    assert!(std::fs::read(one).unwrap() == std::fs::read(other).unwrap(), "{} differs", one.display());
}

#[test]
fn a_package_holds_what_a_build_installed() {
    let major = std::env::var("PG_MAJOR").unwrap();
    let out = Folder(std::env::temp_dir().join(unique("me-package")));
    succeed(Command::new(root().join("scripts/package")).args([&major, out.0.to_str().unwrap(), "--debug"]));
    let config = |what: &str| -> PathBuf {
        succeed(Command::new(std::env::var("PG_CONFIG").unwrap()).arg(what)).trim().into()
    };
    let (library, share) =
        (config("--pkglibdir").join("memory_engine.so"), config("--sharedir").join("extension"));
    let version = env!("CARGO_PKG_VERSION");
    let made: Vec<String> = std::fs::read_dir(&out.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();

    let tar = made.iter().find(|name| name.ends_with(".tar.gz")).unwrap();
    assert!(tar.starts_with(&format!("memory_engine-{version}-pg{major}-")), "{tar}");
    succeed(Command::new("tar").arg("-xzf").arg(out.0.join(tar)).arg("-C").arg(&out.0));
    let inside = out.0.join(tar.strip_suffix(".tar.gz").unwrap());
    same(&inside.join("lib/memory_engine.so"), &library);
    let script = format!("memory_engine--{version}.sql");
    for file in ["memory_engine.control", &script] {
        same(&inside.join("extension").join(file), &share.join(file));
    }
    // Each step of the way from older versions, and nothing that only tests install.
    for entry in std::fs::read_dir(root().join("sql")).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("memory_engine--") {
            same(&inside.join("extension").join(&name), &entry.path());
        }
    }
    assert!(!inside.join("extension/memory_engine--0.1.0.sql").exists());
    for file in ["bin/memory-engine-mcp", "LICENSE", "INSTALL", "META.json", "sbom.cdx.json"] {
        assert!(inside.join(file).is_file(), "{file}");
    }
    let said = Command::new(inside.join("bin/memory-engine-mcp")).arg("--version").output().unwrap();
    let said = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
    assert_eq!(said.trim(), format!("memory-engine-mcp {version}"));

    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        // Not on Debian: there is no such package, and `scripts/package` said so by not making one.
        assert!(!made.iter().any(|name| name.ends_with(".deb")));
        return;
    }
    let package = format!("postgresql-{major}-memory-engine");
    let deb = made.iter().find(|name| name.starts_with(&format!("{package}_{version}_"))).unwrap();
    let field = |name: &str| succeed(Command::new("dpkg-deb").arg("--field").arg(out.0.join(deb)).arg(name));
    assert_eq!(field("Package").trim(), package);
    let depends = field("Depends");
    for needed in
        [format!("postgresql-{major}, "), format!("postgresql-{major}-pgvector, "), "libc6 (>= 2.".into()]
    {
        assert!(depends.contains(&needed), "{depends}");
    }
    let unpacked = out.0.join("deb");
    succeed(Command::new("dpkg-deb").arg("-x").arg(out.0.join(deb)).arg(&unpacked));
    same(&unpacked.join(format!("usr/lib/postgresql/{major}/lib/memory_engine.so")), &library);
    let extension = unpacked.join(format!("usr/share/postgresql/{major}/extension"));
    same(&extension.join(&script), &share.join(&script));
    let models = std::fs::read_link(extension.join("memory_engine_models")).unwrap();
    assert_eq!(models, Path::new("../../../memory-engine/models"));
    let licence =
        std::fs::read_to_string(unpacked.join(format!("usr/share/doc/{package}/copyright"))).unwrap();
    assert!(licence.contains("License: PostgreSQL\n Permission to use"), "{licence}");
}
