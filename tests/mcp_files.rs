//! Files and resources of the MCP server: import and export by path, and memories as resources.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use common::mcp::{Server, text, url};
use common::{Database, superuser, unique};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A folder that is gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(unique("me-files"));
        fs::create_dir_all(path.join("root")).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join("root").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join("root").join(name)).unwrap()
    }

    fn server(&self, database: &Database) -> Server {
        let root = self.0.join("root");
        Server::open(&url(database.name(), &superuser()), &["--files", root.to_str().unwrap()])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_folder_is_imported_with_all_below_it_in_order() {
    let (database, folder) = (Database::new(), Folder::new());
    folder.write("b/two.md", "---\nname: two.md\ntree: /share/i\n---\nTwo");
    folder.write(
        "a.yaml",
        "- content: one\n  tree: /share/i\n- content: also one\n  tree: /share/i\n  name: n\n",
    );
    folder.write(
        "b/three.jsonl",
        "{\"content\":\"three\",\"tree\":\"/share/i\"}\n{\"content\":\"four\",\"tree\":\"/share/i\"}\n",
    );
    folder.write("ignored.txt", "{");
    let mut server = folder.server(&database);
    let done = server.ok("me_memory_import", json!({"path": "."}));
    assert_eq!((&done["imported"], &done["skipped"], &done["failed"]), (&json!(5), &json!(0), &json!(0)));
    let listed =
        server.ok("me_memory_search", json!({"tree": "/share/i", "order_by": "asc", "select": ["content"]}));
    let contents: Vec<&str> =
        listed["results"].as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect();
    let at = |content: &str| contents.iter().position(|one| *one == content).unwrap();
    assert!(at("one") < at("three") && at("three") < at("four"), "{contents:?}");
    assert!(at("also one") < at("Two"), "{contents:?}");
    // Again: what has a name is there already.
    let done = server.ok("me_memory_import", json!({"path": "b/two.md"}));
    assert_eq!((&done["imported"], &done["skipped"]), (&json!(0), &json!(1)));
    // An absolute path below the root is as good; a file named outright needs no extension.
    folder.write("plain", "[{\"content\": \"x\"}]");
    let absolute = folder.0.join("root/plain");
    assert_eq!(server.ok("me_memory_import", json!({"path": absolute}))["imported"], 1);
}

#[test]
fn one_bad_record_keeps_every_file_out() {
    let (database, folder) = (Database::new(), Folder::new());
    folder.write("a.json", "[{\"content\": \"good\"}]");
    folder.write("z.json", "[{\"content\": \"good\"}, {\"content\": 7}]");
    let mut server = folder.server(&database);
    let (said, particulars) = server.refused("me_memory_import", json!({"path": "."}));
    assert!(said.contains("z.json") && said.contains("record 2"), "{said}");
    assert_eq!(particulars["code"], "VALIDATION");
    assert_eq!(server.ok("me_memory_count", json!({"tree": "*"}))["count"], 0);
}

#[test]
fn a_large_import_goes_in_parts_and_tells_how_far_it_is() {
    let (database, folder) = (Database::new(), Folder::new());
    let lines: String = (0..2500)
        .map(|n| {
            format!(
                "{{\"content\":\"c{n}\",\"tree\":\"/share/many\",\"name\":\"n{}\"}}\n",
                if n == 1500 { 1400 } else { n }
            )
        })
        .collect();
    folder.write("many.ndjson", &lines);
    let mut server = folder.server(&database);
    let answer = server.request(
        "tools/call",
        json!({"name": "me_memory_import", "arguments": {"path": "many.ndjson"}, "_meta": {"progressToken": "p"}}),
    );
    // The part with one name twice is refused, the others arrive.
    let done = &answer["result"]["structuredContent"];
    assert_eq!((&done["imported"], &done["failed"]), (&json!(1500), &json!(1000)), "{answer}");
    assert_eq!(done["errors"][0]["chunkIndex"], 1);
    assert_eq!(done["errors"][0]["itemCount"], 1000);
    let told: Vec<(f64, f64)> = server
        .others
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .inspect(|message| assert_eq!(message["params"]["progressToken"], "p"))
        .map(|message| {
            (message["params"]["progress"].as_f64().unwrap(), message["params"]["total"].as_f64().unwrap())
        })
        .collect();
    assert_eq!(told, [(0.0, 2500.0), (1000.0, 2500.0), (2000.0, 2500.0), (2500.0, 2500.0)]);
}

#[test]
fn what_is_exported_imports_to_the_same() {
    let (database, folder) = (Database::new(), Folder::new());
    let mut server = folder.server(&database);
    for (tree, name, content) in [
        ("/share/e", Some("a"), "one"),
        ("/share/e/f", Some("b.md"), "# Two\n\ntext"),
        ("/share/e", None, "three"),
    ] {
        let mut arguments = json!({"content": content, "tree": tree, "meta": {"n": 1}, "temporal": {"start": "2025-01-01T00:00:00.5Z"}});
        if let Some(name) = name {
            arguments["name"] = name.into();
        }
        server.ok("me_memory_create", arguments);
    }
    let whole = server.ok("me_memory_export", json!({"format": "json", "tree": "/share/e"}));
    for (format, path) in [("json", "out/all.json"), ("yaml", "out/all.yaml")] {
        let done = server.ok("me_memory_export", json!({"format": format, "tree": "/share/e", "path": path}));
        assert_eq!(done, json!({"count": 3, "path": path}));
    }
    assert_eq!(folder.read("out/all.json"), format!("{}\n", whole["content"].as_str().unwrap()));
    let done = server.ok("me_memory_export", json!({"format": "md", "tree": "/share/e", "path": "out/md"}));
    assert_eq!(done, json!({"count": 3, "directory": "out/md"}));
    assert!(folder.read("out/md/share/e/f/b.md").ends_with("---\n\n# Two\n\ntext\n"));
    for path in ["out/all.json", "out/all.yaml", "out/md"] {
        server.ok("me_memory_delete_tree", json!({"tree": "/share", "dry_run": false}));
        assert_eq!(server.ok("me_memory_import", json!({"path": path}))["imported"], 3, "{path}");
        assert_eq!(
            server.ok("me_memory_export", json!({"format": "json", "tree": "/share/e"})),
            whole,
            "{path}"
        );
    }
}

#[test]
fn files_stay_below_the_root() {
    let (database, folder) = (Database::new(), Folder::new());
    fs::write(folder.0.join("secret.json"), "[{\"content\": \"secret\"}]").unwrap();
    let mut server = folder.server(&database);
    let outside = folder.0.join("secret.json");
    for path in [
        "../secret.json",
        "a/../../secret.json",
        outside.to_str().unwrap(),
        "/etc/passwd",
        "missing.json",
        "",
    ] {
        let (said, particulars) = server.refused("me_memory_import", json!({"path": path}));
        assert_eq!(particulars["argument"], "path", "{path}: {said}");
        assert!(!said.contains("secret\""), "{said}");
    }
    let (_, particulars) =
        server.refused("me_memory_export", json!({"format": "json", "path": "../planted.json"}));
    assert_eq!(particulars["argument"], "path");
    assert!(!folder.0.join("planted.json").exists());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, folder.0.join("root/link.json")).unwrap();
        for path in ["link.json", "."] {
            server.refused("me_memory_import", json!({"path": path}));
        }
    }
    assert_eq!(server.ok("me_memory_count", json!({"tree": "*"}))["count"], 0);
    for arguments in
        [json!({"path": 7}), json!({"path": "a.json", "tree": "/x"}), json!({"path": "a.json", "pth": 1})]
    {
        server.refused("me_memory_import", arguments);
    }
}

#[test]
fn without_a_root_there_is_no_path() {
    let database = Database::new();
    let mut server = Server::open(&url(database.name(), &superuser()), &[]);
    let (said, _) = server.refused("me_memory_import", json!({"path": "/etc/passwd"}));
    assert!(said.contains("path"), "{said}");
    for tool in server.tools() {
        let path = tool["inputSchema"]["properties"].get("path");
        assert!(
            path.is_none() || !matches!(tool["name"].as_str(), Some("me_memory_import" | "me_memory_export"))
        );
    }
}

#[test]
fn memories_are_resources() {
    let database = Database::new();
    database
        .admin()
        .batch_execute("select me.space_create('one', 'One'); select me.space_create('two', 'Two')")
        .unwrap();
    let mut server = Server::open(&url(database.name(), &superuser()), &[]);
    for n in 0..150 {
        let space = if n < 100 { "one" } else { "two" };
        server.ok("me_memory_create", json!({"content": format!("# Nr {n}\n\ntext"), "tree": "/share/r", "name": format!("n{n}.md"), "space": space}));
    }
    let nameless =
        server.ok("me_memory_create", json!({"content": "nameless", "tree": "/share", "space": "two"}));
    let mut resources: Vec<Value> = Vec::new();
    let mut cursor = Value::Null;
    let mut pages = 0;
    loop {
        let parameters = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let answer = server.request("resources/list", parameters);
        let page = answer["result"].clone();
        resources.extend(page["resources"].as_array().unwrap_or_else(|| panic!("{answer}")).iter().cloned());
        pages += 1;
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!((resources.len(), pages), (151, 2));
    assert_eq!(resources[0]["uri"], "memory://one/share/r/n0.md");
    assert_eq!(resources[0]["mimeType"], "text/markdown");
    assert_eq!(resources[0]["description"], "# Nr 0");
    let last = format!("memory://two/?id={}", nameless["id"].as_str().unwrap());
    assert_eq!(resources[150]["uri"], last.as_str());
    for (uri, content) in [("memory://two/share/r/n149.md", "# Nr 149\n\ntext"), (&last, "nameless")] {
        let read = server.request("resources/read", json!({"uri": uri}))["result"]["contents"][0].clone();
        assert_eq!((&read["uri"], &read["text"]), (&json!(uri), &json!(content)));
        assert_eq!(read["_meta"]["version"], 1);
    }
    for (uri, code) in
        [("memory://one/share/r/n149.md", -32002), ("file:///etc/passwd", -32602), ("memory://one/", -32602)]
    {
        assert_eq!(server.request("resources/read", json!({"uri": uri}))["error"]["code"], code, "{uri}");
    }
    assert_eq!(server.request("resources/list", json!({"cursor": "x"}))["error"]["code"], -32602);
    let templates = server.request("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "memory://{space}/{+path}");

    let found = server.call("me_memory_search", json!({"fulltext": "nameless", "space": "two"}));
    assert!(text(&found).contains("nameless"));
    assert_eq!(found["content"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&found["content"][1]["type"], &found["content"][1]["uri"]),
        (&json!("resource_link"), &json!(last))
    );

    let mut locked = Server::open(&url(database.name(), &superuser()), &["--space", "two"]);
    let page = locked.request("resources/list", json!({}))["result"].clone();
    assert_eq!(page["resources"].as_array().unwrap().len(), 51);
    assert_eq!(
        locked.request("resources/read", json!({"uri": "memory://one/share/r/n0.md"}))["error"]["code"],
        -32602
    );
    let read = locked.request("resources/read", json!({"uri": last}));
    assert_eq!(read["result"]["contents"][0]["text"], "nameless");
    let found = locked.call("me_memory_search", json!({"fulltext": "nameless"}));
    assert_eq!(found["content"][1]["uri"], last.as_str());
}

#[test]
fn a_search_in_the_space_of_the_session_has_links_too() {
    let database = Database::new();
    let mut server = Server::open(&url(database.name(), &superuser()), &[]);
    server.ok("me_memory_create", json!({"content": "findable", "tree": "/share", "name": "f"}));
    let found =
        server.call("me_memory_search", json!({"fulltext": "findable", "select": ["id", "tree", "name"]}));
    assert_eq!(found["content"][1]["uri"], "memory://default/share/f");
    let found = server.call("me_memory_search", json!({"fulltext": "findable", "select": ["content"]}));
    assert_eq!(found["content"].as_array().unwrap().len(), 1, "nothing to link to");
}
