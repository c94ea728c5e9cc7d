//! The connection of the MCP server to a database that speaks TLS: what is encrypted, and which server is believed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::mcp::{Server, program};
use common::tls::{Authority, Front, Identity};
use common::{Database, superuser, unique};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The URL of a database behind a front, by a name of its host.
fn url(database: &Database, front: &Front, host: &str, more: &str) -> String {
    format!("postgres://{}:hunter2@{host}:{}/{}?{more}", superuser(), front.port, database.name())
}

/// What a call says through a server that connects to this URL: its answer, or the text of its error.
fn call(url: &str) -> Result<Value, String> {
    call_on_a_system(url, Path::new("/dev/null"))
}

/// The same on a system that trusts these certificates.
fn call_on_a_system(url: &str, certificates: &Path) -> Result<Value, String> {
    let mut server =
        Server::spawn(program().env("MEMORY_ENGINE_URL", url).env("SSL_CERT_FILE", certificates));
    server.shake_hands("2025-11-25");
    let result = server.request("tools/call", json!({"name": "me_memory_tree"}))["result"].clone();
    let (_, said) = server.finish();
    assert!(!format!("{result}{said}").contains("hunter2"), "{result}{said}");
    match result["isError"] == true {
        true => Err(result["content"][0]["text"].as_str().unwrap().to_owned()),
        false => Ok(result["structuredContent"].clone()),
    }
}

#[test]
fn a_connection_is_as_encrypted_and_the_server_as_trusted_as_the_url_asks_for() {
    let database = Database::new();
    let (ours, theirs) = (Authority::new(), Authority::new());
    let (here, elsewhere) = (ours.certify("127.0.0.1"), ours.certify("db.example"));
    let (expired, alone) = (ours.certify_for_the_past("127.0.0.1"), Identity::self_signed("127.0.0.1"));
    let (of_ours, of_theirs) =
        (format!("sslrootcert={}", ours.file.display()), format!("sslrootcert={}", theirs.file.display()));
    let own = std::env::temp_dir().join(unique("me-own"));
    std::fs::write(&own, &alone.pem).unwrap();
    let of_own = format!("sslrootcert={}", own.display());

    let unknown = Err("UnknownIssuer");
    // The certificate, the mode, the authorities, what becomes of it.
    let cases: [(&Identity, &str, &str, Result<(), &str>); 17] = [
        (&here, "", "", Ok(())),
        (&elsewhere, "sslmode=prefer", "", Ok(())),
        (&elsewhere, "sslmode=require", "", Ok(())),
        (&expired, "sslmode=require", "", Ok(())),
        (&alone, "sslmode=require", "", Ok(())),
        (&elsewhere, "sslmode=require", &of_ours, Ok(())),
        (&here, "sslmode=require", &of_theirs, unknown),
        (&here, "sslmode=verify-ca", &of_ours, Ok(())),
        (&elsewhere, "sslmode=verify-ca", &of_ours, Ok(())),
        (&here, "sslmode=verify-ca", &of_theirs, unknown),
        (&alone, "sslmode=verify-ca", &of_ours, Err("invalid peer certificate")),
        (&expired, "sslmode=verify-ca", &of_ours, Err("expired")),
        (&here, "sslmode=verify-full", &of_ours, Ok(())),
        (&elsewhere, "sslmode=verify-full", &of_ours, Err("not valid for name")),
        (&here, "sslmode=verify-full", &of_theirs, unknown),
        (&expired, "sslmode=verify-full", &of_ours, Err("expired")),
        (&alone, "sslmode=verify-full", &of_own, Ok(())),
    ];
    for (identity, mode, roots, expected) in cases {
        let front = Front::start(Some(identity));
        let more = [mode, roots].join("&");
        let answer = call(&url(&database, &front, "127.0.0.1", more.trim_matches('&')));
        let (encrypted, plain) = front.connections();
        match (expected, &answer) {
            (Ok(()), Ok(_)) => assert!(encrypted > 0, "{more}: not encrypted"),
            (Err(part), Err(said)) => {
                assert!(said.contains(part) && said.contains("cannot be reached"), "{more}: {said}");
            }
            _ => panic!("{more}: wanted {expected:?}, got {answer:?}"),
        }
        assert_eq!(plain, 0, "{more}: no word without encryption");
    }
    // The name counts, not the address that it stands for.
    let front = Front::start(Some(&elsewhere));
    let more = format!("hostaddr=127.0.0.1&sslmode=verify-full&{of_ours}");
    call(&url(&database, &front, "db.example", &more)).unwrap();
    assert!(
        call(&url(&database, &front, "other.example", &more)).unwrap_err().contains("not valid for name")
    );
    // The system's authorities count for whoever says so, and then the name counts too.
    for (more, of_system, identity, part) in [
        ("sslmode=verify-full&sslrootcert=system", &ours, &here, None),
        ("sslrootcert=system", &ours, &here, None),
        ("sslrootcert=system", &ours, &elsewhere, Some("not valid for name")),
        ("sslrootcert=system", &theirs, &here, Some("UnknownIssuer")),
    ] {
        let front = Front::start(Some(identity));
        let answer = call_on_a_system(&url(&database, &front, "127.0.0.1", more), &of_system.file);
        assert_eq!(answer.is_ok(), part.is_none(), "{more}: {answer:?}");
        assert!(part.is_none_or(|part| answer.unwrap_err().contains(part)), "{more}");
    }
    // Who asks for none has none.
    let front = Front::start(Some(&here));
    call(&url(&database, &front, "127.0.0.1", "sslmode=disable")).unwrap();
    assert_eq!(front.connections().0, 0);
    std::fs::remove_file(own).unwrap();
}

#[test]
fn a_server_without_tls_serves_those_who_do_not_insist() {
    let (database, authority) = (Database::new(), Authority::new());
    let front = Front::start(None);
    for more in ["", "sslmode=prefer", "sslmode=disable"] {
        call(&url(&database, &front, "127.0.0.1", more)).unwrap();
    }
    let roots = format!("sslrootcert={}", authority.file.display());
    for mode in ["require", "verify-ca", "verify-full"] {
        let said =
            call(&url(&database, &front, "127.0.0.1", &format!("sslmode={mode}&{roots}"))).unwrap_err();
        assert!(said.contains("does not support TLS"), "{mode}: {said}");
    }
}

#[test]
fn a_call_over_tls_is_cancelled_over_tls() {
    let (database, authority) = (Database::new(), Authority::new());
    let front = Front::start(Some(&authority.certify("127.0.0.1")));
    let more = format!("sslmode=verify-full&sslrootcert={}", authority.file.display());
    let mut server = Server::open(&url(&database, &front, "127.0.0.1", &more), &[]);
    let made = server.ok("me_memory_create", json!({"content": "c", "tree": "/share"}));
    let (mut holder, mut admin) = (database.admin(), database.admin());
    let mut lock = holder.transaction().unwrap();
    lock.execute("select from me.memory for update", &[]).unwrap();
    let id = server.start_call("me_memory_delete", json!({"id": made["id"]}));
    let until = Instant::now() + Duration::from_secs(30);
    let blocked = "select count(*) from pg_stat_activity where datname = current_database()
                   and application_name = 'memory-engine-mcp' and wait_event_type = 'Lock'";
    let mut await_blocked = |number: i64| {
        while admin.query_one(blocked, &[]).unwrap().get::<_, i64>(0) != number {
            assert!(Instant::now() < until, "{number} calls should hang");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    await_blocked(1);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    await_blocked(0);
    lock.rollback().unwrap();
    assert_eq!(server.ok("me_memory_count", json!({"tree": "*"}))["count"], 1);
    assert_eq!(front.connections().1, 0);
}

#[test]
fn a_file_of_authorities_that_cannot_be_read_stops_the_start() {
    for more in
        ["sslmode=verify-full&sslrootcert=/nowhere/root.crt", "sslmode=verify-full&sslrootcert=/dev/null"]
    {
        let output = program()
            .env("MEMORY_ENGINE_URL", format!("postgres://a:hunter2@127.0.0.1/x?{more}"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains("sslrootcert") && !said.contains("hunter2"),
            "{said}"
        );
    }
}
