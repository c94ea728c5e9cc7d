//! Clients of the HTTP server with bad intentions, beside those of `mcp_hostile` and `mcp_http`: requests within requests,
//! keys that are guessed or borrowed, addresses that lead elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::gateway::{Gateway, key, user, with_space};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

fn create(content: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
           "params": {"name": "me_memory_create", "arguments": {"content": content, "tree": "/share"}}})
    .to_string()
}

/// A second request that hides in the first: whatever is between server and client, both must see one message.
#[test]
fn no_request_hides_in_another() {
    let database = with_space();
    let gateway = Gateway::start(&database, &["--timeout", "2"]);
    let key = user(&database, "user@example.org", None);
    let hidden = format!(
        "{}\r\nAuthorization: Bearer {key}\r\nContent-Length: {}\r\n\r\n{}",
        gateway.head(""),
        create("hidden").len(),
        create("hidden")
    );
    // The first request comes without a key, so that whatever is stored was stored by the one that hides.
    let head = gateway.head("");
    let chunked = format!("0\r\n\r\n{hidden}");
    let length = hidden.len();
    let requests = [
        (
            "a length and chunks",
            format!("{head}\r\nContent-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}", 5),
        ),
        (
            "chunks and a length",
            format!("{head}\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n{chunked}"),
        ),
        ("two lengths", format!("{head}\r\nContent-Length: 0\r\nContent-Length: {length}\r\n\r\n{hidden}")),
        ("two lengths in one", format!("{head}\r\nContent-Length: 0, {length}\r\n\r\n{hidden}")),
        ("a signed length", format!("{head}\r\nContent-Length: +0\r\n\r\n{hidden}")),
        ("a negative length", format!("{head}\r\nContent-Length: -1\r\n\r\n{hidden}")),
        ("a length in another base", format!("{head}\r\nContent-Length: 0x0\r\n\r\n{hidden}")),
        (
            "a length beyond numbers",
            format!("{head}\r\nContent-Length: 18446744073709551617\r\n\r\n{hidden}"),
        ),
        ("a coding that is none", format!("{head}\r\nTransfer-Encoding: xchunked\r\n\r\n{chunked}")),
        (
            "chunked that is not last",
            format!("{head}\r\nTransfer-Encoding: chunked, identity\r\n\r\n{chunked}"),
        ),
        (
            "chunked twice",
            format!("{head}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}"),
        ),
        ("a space before the colon", format!("{head}\r\nContent-Length : {length}\r\n\r\n{hidden}")),
        ("a folded header", format!("{head}\r\nX-A: b\r\n Content-Length: {length}\r\n\r\n{hidden}")),
        ("a chunk of no size", format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n;x\r\n\r\n{hidden}")),
        (
            "a chunk that is too long",
            format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{hidden}"),
        ),
        ("a zero byte in the head", format!("{head}\r\nX-A: \0\r\nContent-Length: 0\r\n\r\n{hidden}")),
        (
            "a return in the head",
            format!("{head}\r\nX-A: a\rAuthorization: Bearer {key}\r\nContent-Length: 0\r\n\r\n{hidden}"),
        ),
        (
            "another version",
            format!("{}\r\nContent-Length: 0\r\n\r\n{hidden}", head.replace("HTTP/1.1", "HTTP/1.7")),
        ),
        ("no version", format!("POST /mcp\r\n\r\n{hidden}")),
        (
            "an upgrade",
            format!(
                "{head}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Length: 0\r\n\r\n"
            ),
        ),
        ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
    ];
    for (what, request) in requests {
        let answer = gateway.raw(&[request.as_bytes()], PATIENCE);
        // What is said of a message without a key may be followed by the answer to another whole message, but only where
        // both ends agree where the first one ends: then it is no hiding, and the connection may as well be closed.
        let first = answer.lines().next().unwrap_or_default();
        assert!(!first.starts_with("HTTP/1.1 2"), "{what}: {answer}");
        assert!(!first.starts_with("HTTP/1.1 101"), "{what}: {answer}");
        assert!(!answer.contains("hidden"), "{what}: {answer}");
    }
    let stored: i64 = database.admin().query_one("select count(*) from me.memory", &[]).unwrap().get(0);
    assert_eq!(stored, 0);
    // A proper one is served as before.
    gateway.ok(&key, "me_memory_create", json!({"content": "open", "tree": "/share"}));
}

/// Keys that are guessed, taken from elsewhere, or given in another place.
#[test]
fn a_key_counts_whole_in_its_place_and_for_its_holder() {
    let database = with_space();
    let gateway = Gateway::start(&database, &[]);
    let (mine, theirs) =
        (user(&database, "mine@example.org", None), user(&database, "theirs@example.org", None));
    let mut admin = database.admin();
    admin.batch_execute("select me.access_grant('theirs@example.org', '/theirs', 'owner')").unwrap();
    let hidden = gateway.ok(
        &theirs,
        "me_memory_create",
        json!({"content": "the launch code", "tree": "/theirs", "name": "n"}),
    );
    let count = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();

    // Public part and secret of different keys, parts of a key, and more than a key.
    let parts = |key: &str| key.split('.').map(str::to_owned).collect::<Vec<_>>();
    let (m, t) = (parts(&mine), parts(&theirs));
    let digest: String =
        admin.query_one("select encode(sha256(convert_to($1, 'UTF8')), 'hex')", &[&m[2]]).unwrap().get(0);
    let mut bodies = BTreeSet::new();
    for key in [
        format!("me.{}.{}", m[1], t[2]),
        format!("me.{}.{}", t[1], m[2]),
        format!("me.{}.{}", m[1], &m[2][..31]),
        format!("{mine}0"),
        format!("me.{}.sha256:{digest}", m[1]),
        format!("me.{}.SHA256:{digest}", m[1]),
        format!("{}.{}", m[1], m[2]),
        mine.to_lowercase() + "A",
        mine.replace("me.", "ME."),
        "me.%.%".to_owned(),
        "me.' or true --.x".to_owned(),
        "null".to_owned(),
        "undefined".to_owned(),
        "x".repeat(8000),
    ] {
        let answer =
            gateway.send(&gateway.head(&format!("\r\nAuthorization: Bearer {key}")), count.as_bytes());
        assert_eq!(answer.status, 401, "{key}: {answer:?}");
        bodies.insert(answer.body);
    }
    for more in [
        format!("\r\nCookie: Authorization=Bearer {mine}"),
        format!("\r\nProxy-Authorization: Bearer {mine}"),
        format!("\r\nX-Api-Key: {mine}"),
        format!("\r\nAuthorization: {mine}"),
        format!("\r\nAuthorization: Token {mine}"),
        "\r\nAuthorization: Bearer".to_owned(),
        "\r\nAuthorization:".to_owned(),
    ] {
        let answer = gateway.send(&gateway.head(&more), count.as_bytes());
        assert_eq!(answer.status, 401, "{more}: {answer:?}");
        bodies.insert(answer.body);
    }
    let address = gateway.head("").replacen("/mcp", &format!("/mcp?key={mine}&access_token={mine}"), 1);
    assert_eq!(gateway.send(&address, count.as_bytes()).status / 100, 4);
    assert_eq!(bodies.len(), 1, "whatever is wrong, the answer is the same: {bodies:?}");

    // Nothing that a client says makes it another one: not in the arguments, in `_meta`, or in the head.
    for arguments in [
        json!({"id": hidden["id"]}),
        json!({"id": hidden["id"], "principal": "theirs@example.org"}),
        json!({"id": hidden["id"], "space": "default", "me.principal": "theirs@example.org"}),
    ] {
        let result = gateway.call(&mine, "me_memory_get", arguments.clone());
        assert_eq!(result["isError"], true, "{arguments}: {result}");
    }
    for more in [
        "\r\nX-Forwarded-User: theirs@example.org".to_owned(),
        "\r\nX-Me-Principal: theirs@example.org".to_owned(),
        "\r\nForwarded: for=theirs@example.org".to_owned(),
        format!("\r\nMcp-Session-Id: {theirs}"),
        format!("\r\nLast-Event-ID: {theirs}"),
    ] {
        let head = gateway.head(&format!("\r\nAuthorization: Bearer {mine}{more}"));
        let read = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "me_memory_get",
            "arguments": {"id": hidden["id"]}, "_meta": {"principal": "theirs@example.org", "me.api_key": theirs}}});
        let answer = gateway.send(&head, read.to_string().as_bytes());
        assert!(!answer.body.contains("launch code"), "{more}: {answer:?}");
    }
    // One connection, one key after the other: each message counts by its own.
    let both = |first: &str, second: &str| {
        let read = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "me_memory_get", "arguments": {"id": hidden["id"]}}}).to_string();
        let message = |key: &str, more: &str| {
            format!(
                "{}\r\nAuthorization: Bearer {key}{more}\r\nContent-Length: {}\r\n\r\n{read}",
                gateway.head(""),
                read.len()
            )
        };
        gateway.raw(
            &[message(first, "").as_bytes(), message(second, "\r\nConnection: close").as_bytes()],
            PATIENCE,
        )
    };
    let answers = both(&theirs, &mine);
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
    assert_eq!(
        answers.matches("the launch code").count(),
        both(&mine, &theirs).matches("the launch code").count()
    );
    let (_, last) = answers.rsplit_once("HTTP/1.1 200").unwrap();
    assert!(!last.contains("the launch code"), "{last}");
    // What a key may is what its holder may, and a key of nobody's makes no other.
    let narrow = key(
        &database,
        "theirs@example.org",
        Some(r#"{"spaces": {"default": {"trees": {"/share": "read"}}}}"#),
    );
    let narrow = narrow["key"].as_str().unwrap();
    for (tool, arguments) in [
        ("me_memory_get", json!({"id": hidden["id"]})),
        ("me_memory_create", json!({"content": "x", "tree": "/share"})),
        ("me_memory_delete", json!({"id": hidden["id"]})),
        ("me_memory_mv", json!({"source": "/theirs", "destination": "/share/x", "dry_run": false})),
    ] {
        assert_eq!(gateway.call(narrow, tool, arguments)["isError"], true, "{tool}");
    }
}

/// Addresses, methods and media types that lead to something else than the one door.
#[test]
fn there_is_one_door() {
    let database = with_space();
    let gateway = Gateway::start(&database, &[]);
    let key = user(&database, "user@example.org", None);
    let authorized = format!("\r\nAuthorization: Bearer {key}");
    let body = create("through another door");
    for path in [
        "/",
        "/mcp/",
        "/mcp/..",
        "/mcp/../mcp",
        "//mcp",
        "/./mcp",
        "/MCP",
        "/mcp%2f",
        "/%6dcp/../etc/passwd",
        "/mcp;x=y",
        "/mcp/%00",
        "/../../etc/passwd",
        "/metrics",
        "/health/../mcp",
        "/.well-known/../mcp",
        "\\mcp",
        "*",
        "mcp",
        "",
    ] {
        let head = gateway.head(&authorized).replacen("POST /mcp ", &format!("POST {path} "), 1);
        let answer = gateway.raw(
            &[format!("{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
                .as_bytes()],
            PATIENCE,
        );
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(answer.is_empty() || status.starts_with('4'), "{path}: {answer}");
        assert!(!answer.contains("root:"), "{path}: {answer}");
    }
    for method in
        ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "post", "XYZZY", "P\u{d8}ST"]
    {
        let head = gateway.head(&authorized).replacen("POST", method, 1);
        let answer = gateway.raw(
            &[format!("{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
                .as_bytes()],
            PATIENCE,
        );
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(answer.is_empty() || status.starts_with('4') || status == "501", "{method}: {answer}");
        assert!(!answer.to_lowercase().contains("access-control-allow"), "{method}: {answer}");
    }
    for kind in [
        "text/html",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/jsonp",
        "application/json, text/plain",
    ] {
        let head = gateway
            .head(&authorized)
            .replace("Content-Type: application/json", &format!("Content-Type: {kind}"));
        assert_eq!(gateway.send(&head, body.as_bytes()).status / 100, 4, "{kind}");
    }
    for coding in ["gzip", "deflate", "br", "identity, gzip"] {
        let head = gateway.head(&format!("{authorized}\r\nContent-Encoding: {coding}"));
        let answer = gateway.send(&head, b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03");
        assert_eq!(answer.status / 100, 4, "{coding}: {answer:?}");
    }
    let stored: i64 = database.admin().query_one("select count(*) from me.memory", &[]).unwrap().get(0);
    assert_eq!(stored, 0);
    let answer: Value = gateway.ok(&key, "me_memory_count", json!({"tree": "*"}));
    assert_eq!(answer["count"], 0);
}
