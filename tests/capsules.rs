//! Capsules under several clients, several roles, and after they are forgotten.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, new_role};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

fn capture(client: &mut Client, content: &str, extra: Value) -> Value {
    let mut args = json!({"content": content, "source": "field-notes", "anchor": "notes.md:4"});
    for (key, value) in extra.as_object().unwrap() {
        args[key] = value.clone();
    }
    client.function("capsule_ingest", &args).unwrap()
}

fn id_of(answer: &Value) -> String {
    answer["outcomes"][0]["id"].as_str().unwrap().to_owned()
}

fn count(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap().get(0)
}

/// How many of so many packs there are: none where tables are cut into partitions, whose rows are not read by key.
fn packs(client: &mut Client, packs: i64) -> i64 {
    let plain = "select count(*) from pg_class where oid = 'me.capsule_posting'::regclass and relkind = 'r'";
    packs * count(client, plain)
}

/// Numbers for choices, the same for the same start.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// How long the writers work: `ME_CAPSULE_SECONDS`, 5 unless said.
fn duration() -> Duration {
    let seconds = std::env::var("ME_CAPSULE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

fn work(client: &mut Client, worker: u64) -> u64 {
    let mut choices = Choices(worker + 1);
    let until = Instant::now() + duration();
    let mut calls = 0;
    while Instant::now() < until {
        let some = |choices: &mut Choices| format!("cap-{}", choices.below(60) + 1);
        let answer = match choices.below(10) {
            0..=4 => {
                // Few contents, so that writers meet in the same one.
                let content = format!("finding number {} about the pumps of hall three", choices.below(150));
                let args = json!({"content": content, "source": "s", "anchor": "a", "kind": "fact"});
                client.function("capsule_ingest", &args)
            }
            5 | 6 => {
                let kind = ["supersedes", "blocks", "witnesses"][choices.below(3) as usize];
                let args = json!({"kind": kind, "from": some(&mut choices), "to": some(&mut choices)});
                client.function("capsule_relate", &args)
            }
            7 => {
                let args = json!({"id": some(&mut choices), "mode": "purged", "reason": "test"});
                client.function("capsule_forget", &args)
            }
            8 if choices.below(4) == 0 => client.function("lexical_maintain", &json!({})),
            _ => client.function("capsule_retrieve", &json!({"terms": ["pumps", "finding"], "limit": 5})),
        };
        if let Err(refusal) = answer {
            // Unknown, forgotten or the same twice: what chance may choose. A deadlock may not reach a client.
            assert!(["P0002", "22023"].contains(&refusal.sqlstate.as_str()), "{refusal:?}");
        }
        calls += 1;
    }
    calls
}

#[test]
fn writers_that_meet_leave_gapless_numbers_one_capsule_per_content_and_a_whole_journal() {
    let database = Database::new();
    let mut admin = database.admin();
    capture(&mut admin, "the first one", json!({}));
    let calls: u64 = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|worker| {
                let mut client = database.admin();
                scope.spawn(move || work(&mut client, worker))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert!(calls > 50, "only {calls} calls");
    assert_eq!(count(&mut admin, "select max(seq) - count(*) from me.capsule"), 0);
    assert_eq!(count(&mut admin, "select min(seq) from me.capsule"), 1);
    let twice =
        "select count(*) from (select source_hash from me.capsule group by 1 having count(*) > 1) as d";
    assert_eq!(count(&mut admin, twice), 0);
    let lost =
        "select count(*) from me.capsule c left join me.memory m on m.space = c.space and m.id = c.memory_id
                where c.memory_id is not null and m.id is null";
    assert_eq!(count(&mut admin, lost), 0);
    let tokens = "select l.tokens - (select coalesce(sum(t.count), 0) from me.capsule_token t) from me.capsule_ledger l";
    assert_eq!(count(&mut admin, &format!("select ({tokens})::bigint")), 0);
    while admin.function("lexical_maintain", &json!({})).unwrap()["complete"] != json!(true) {}
    let sound = "select count(*) from me.doctor() where \"check\" = 'capsule packs' and status = 'ok'";
    assert_eq!(count(&mut admin, sound), 1);
    let report = admin.function("capsule_verify", &json!({})).unwrap();
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(report["verified"], json!(count(&mut admin, "select max(seq) from me.capsule_audit")));
}

#[test]
fn a_changed_a_missing_and_a_cut_row_of_the_journal_are_named() {
    let database = Database::new();
    let mut admin = database.admin();
    for content in ["one", "two", "three"] {
        capture(&mut admin, content, json!({}));
    }
    let mut verdict = |sql: &str| {
        admin.batch_execute(&format!("begin; {sql}")).unwrap();
        let report = admin.function("capsule_verify", &json!({})).unwrap();
        admin.batch_execute("rollback").unwrap();
        (report["ok"].clone(), report["broken_seq"].clone())
    };
    assert_eq!(verdict("select 1"), (json!(true), Value::Null));
    assert_eq!(verdict("update me.capsule_audit set reason = 'x' where seq = 2"), (json!(false), json!(2)));
    assert_eq!(verdict("delete from me.capsule_audit where seq = 1"), (json!(false), json!(1)));
    assert_eq!(verdict("delete from me.capsule_audit where seq = 3"), (json!(false), json!(3)));
    assert_eq!(
        verdict("update me.capsule_audit set at = at + '1 s' where seq = 3"),
        (json!(false), json!(3))
    );
}

/// Words that stand nowhere else.
const SECRET: &str = "zyxquartz";
const SOURCE: &str = "qwvledger";

/// Tables of the database whose rows hold a text.
fn tables_with(client: &mut Client, text: &str) -> BTreeSet<String> {
    let tables = client
        .query(
            "select distinct coalesce(pg_partition_root(c.oid), c.oid::regclass)::text
             from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where c.relkind in ('r', 'm') and n.nspname not in ('information_schema')
               and has_table_privilege(c.oid, 'select')",
            &[],
        )
        .unwrap();
    let mut found = BTreeSet::new();
    for row in tables {
        let table: String = row.get(0);
        let sql = format!("select exists (select from {table} as t where t::text ilike '%' || $1 || '%')");
        if client.query_one(&sql, &[&text]).is_ok_and(|row| row.get(0)) {
            found.insert(table);
        }
    }
    found
}

/// Relations of the database, indexes and toasted values included, whose files hold a text. A partition goes by the name of
/// the whole.
fn files_with(client: &mut Client, text: &str) -> BTreeSet<String> {
    client.batch_execute("checkpoint").unwrap();
    client
        .query(
            "select (select w.relname::text from pg_class w where w.oid = coalesce(pg_partition_root(c.oid), c.oid))
             from pg_class c
             where c.relkind in ('r', 'i', 't', 'm') and pg_relation_filepath(c.oid) is not null
               and position(convert_to($1, 'UTF8') in pg_read_binary_file(pg_relation_filepath(c.oid), 0,
                 pg_relation_size(c.oid), true)) > 0",
            &[&text],
        )
        .unwrap()
        .into_iter()
        .map(|row| row.get(0))
        .collect()
}

#[test]
fn a_forgotten_content_is_in_no_table_and_after_a_vacuum_in_no_file() {
    let database = Database::new();
    let mut admin = database.admin();
    let model = json!({"name": "by-hand", "provider": "manual", "dimensions": 3});
    admin.function("embedding_model_add", &model).unwrap();
    admin.function("embedding_model_use", &json!({"name": "by-hand"})).unwrap();
    for other in 0..20 {
        capture(&mut admin, &format!("an ordinary note number {other}"), json!({}));
    }
    let content =
        format!("The {SECRET} code is seven thousand. {}", "Long enough to be toasted. ".repeat(400));
    let answer = capture(&mut admin, &content, json!({"source": SOURCE, "kind": "fact"}));
    let id = id_of(&answer);
    let memory: String =
        admin.query_one("select id::text from me.memories where name = $1", &[&id]).unwrap().get(0);
    admin.function("embedding_set", &json!({"id": memory, "vector": [0.1, 0.2, 0.3]})).unwrap_or(Value::Null);
    let vector = json!({"capsule_id": id, "embedding": [0.5, 0.25], "model_tag": "m"});
    admin.function("capsule_vector", &vector).unwrap();
    admin.function("capsule_retrieve", &json!({"terms": ["code"]})).unwrap();
    admin.batch_execute("analyze").unwrap();
    let before = tables_with(&mut admin, SECRET);
    assert!(before.contains("me.memory") && before.contains("me.capsule_token"), "{before:?}");
    assert!(!files_with(&mut admin, SECRET).is_empty());

    admin.function("capsule_forget", &json!({"id": id, "mode": "purged", "reason": "leaked"})).unwrap();
    // What the planner sampled of the full text index stays until the next analyze.
    let mut left = tables_with(&mut admin, SECRET);
    left.remove("pg_statistic");
    assert_eq!(left, BTreeSet::new());
    assert_eq!(tables_with(&mut admin, SOURCE), BTreeSet::new());
    let waiting = format!("select count(*) from me.embedding_queue where memory_id = '{memory}'");
    assert_eq!(count(&mut admin, &waiting), 0);
    assert_eq!(count(&mut admin, "select count(*) from me.capsule_vector"), 0);
    let again = capture(&mut admin, &content, json!({}));
    assert_eq!(again["outcomes"][0]["status"], "rejected");

    // A vacuum keeps what a snapshot elsewhere may still see, that of an automatic analyze for instance.
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        admin.batch_execute("vacuum (full, analyze)").unwrap();
        let left: BTreeSet<String> =
            [SECRET, SOURCE].iter().flat_map(|text| files_with(&mut admin, text)).collect();
        if left.is_empty() {
            break;
        }
        assert!(Instant::now() < patience, "still in the files of {left:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
    assert_eq!(tables_with(&mut admin, SECRET), BTreeSet::new());
}

#[test]
fn a_token_that_only_forgotten_capsules_held_is_in_no_pack_and_no_file() {
    let database = Database::new();
    let mut admin = database.admin();
    let items: Vec<Value> = (0..70)
        .map(|n| {
            let content = if n < 66 { format!("{SECRET} harbour {n}") } else { format!("harbour {n}") };
            json!({"content": content, "source": "s", "anchor": "a"})
        })
        .collect();
    admin.function("capsule_ingest", &json!({ "items": items })).unwrap();
    while admin.function("lexical_maintain", &json!({})).unwrap()["complete"] != json!(true) {}
    let packed = packs(&mut admin, 1);
    assert_eq!(i64::from(tables_with(&mut admin, SECRET).contains("me.capsule_posting")), packed);
    let mut forget = |seq: i64| {
        let args = json!({"id": format!("cap-{seq}"), "mode": "purged", "reason": "leaked"});
        admin.function("capsule_forget", &args).unwrap();
        let recalled = admin.function("capsule_retrieve", &json!({"terms": [SECRET], "limit": 1})).unwrap();
        recalled["matched"].as_i64()
    };
    // One from the middle, the first and the last, and then the others.
    assert_eq!((forget(30), forget(1), forget(66)), (Some(65), Some(64), Some(63)));
    let rest: Vec<i64> = (2..66).filter(|seq| *seq != 30).collect();
    let left: Vec<Option<i64>> = rest.into_iter().map(&mut forget).collect();
    assert_eq!(left.last(), Some(&None), "{left:?}");
    assert_eq!(tables_with(&mut admin, SECRET), BTreeSet::from(["me.capsule_miss".to_owned()]));
    admin.batch_execute("delete from me.capsule_miss").unwrap();
    let held = "select count(*) from me.capsule_posting where token = 'harbour'";
    assert_eq!(count(&mut admin, held), packed);
    let recalled = admin.function("capsule_retrieve", &json!({"terms": ["harbour"], "limit": 1})).unwrap();
    assert_eq!(recalled["matched"], 4, "{recalled}");
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        admin.batch_execute("vacuum (full, analyze)").unwrap();
        let left = files_with(&mut admin, SECRET);
        if left.is_empty() {
            break;
        }
        assert!(Instant::now() < patience, "still in the files of {left:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn a_role_sees_and_writes_the_capsules_of_its_projects_alone() {
    let database = Database::new();
    let mut admin = database.admin();
    for (content, project) in [("kelp in the bay", "bay"), ("kelp in the harbour", "harbour")] {
        capture(&mut admin, content, json!({"project_id": project}));
    }
    admin.function("capsule_relate", &json!({"kind": "blocks", "from": "cap-1", "to": "cap-2"})).unwrap();
    let (reader, writer) = (new_role("capsule_reader"), new_role("capsule_writer"));
    for (role, access) in [(&reader, "read"), (&writer, "write")] {
        admin.function("space_member_add", &json!({"principal": role, "kind": "user"})).unwrap();
        let grant = json!({"principal": role, "tree": "/capsules/bay", "access": access});
        admin.function("access_grant", &grant).unwrap();
    }
    let mut reader = database.connect(&reader);
    let listed = reader.function("capsule_list", &json!({})).unwrap();
    assert_eq!(listed["returned"], 1, "{listed}");
    let recalled = reader.function("capsule_retrieve", &json!({"terms": ["kelp", "cap-2"]})).unwrap();
    assert_eq!(recalled["matched"], 1, "{recalled}");
    let got = reader.function("capsule_get", &json!({"id": "cap-1"})).unwrap();
    assert_eq!(got["relations"], json!([]), "an edge shows a capsule that may not be read");
    let hidden = reader.function("capsule_get", &json!({"id": "cap-2"})).unwrap_err();
    let absent = reader.function("capsule_get", &json!({"id": "cap-9"})).unwrap_err();
    assert_eq!(hidden.message.replace("cap-2", "cap-9"), absent.message);
    assert_eq!(hidden.detail.replace("cap-2", "cap-9"), absent.detail);
    let digest = reader.function("capsule_digest", &json!({})).unwrap();
    assert_eq!((&digest["total"], &digest["dag"]["ready_total"]), (&json!(1), &json!(0)), "{digest}");
    for (function, args) in [
        ("capsule_ingest", json!({"content": "x y", "source": "s", "anchor": "a", "project_id": "bay"})),
        ("capsule_forget", json!({"id": "cap-1", "mode": "purged", "reason": "r"})),
        ("capsule_pin", json!({"id": "cap-1", "pinned": true, "reason": "r"})),
        ("capsule_alias", json!({"term": "a", "alias": "b"})),
        ("capsule_session_start", json!({})),
    ] {
        let refusal = reader.function(function, &args).unwrap_err();
        assert_eq!(refusal.kind(), "FORBIDDEN", "{function}: {refusal:?}");
    }

    let mut writer = database.connect(&writer);
    let own = json!({"content": "more kelp", "source": "s", "anchor": "a", "project_id": "bay/north"});
    assert_eq!(writer.function("capsule_ingest", &own).unwrap()["captured"], 1);
    let other = json!({"content": "foreign kelp", "source": "s", "anchor": "a", "project_id": "harbour"});
    assert_eq!(writer.function("capsule_ingest", &other).unwrap_err().kind(), "FORBIDDEN");
    let forget = json!({"id": "cap-2", "mode": "purged", "reason": "r"});
    assert_eq!(writer.function("capsule_forget", &forget).unwrap_err().kind(), "NOT_FOUND");
    let replace = json!({"content": "kelp anew", "source": "s", "anchor": "a", "project_id": "bay", "supersedes": "cap-2"});
    assert_eq!(writer.function("capsule_ingest", &replace).unwrap()["rejected"], 1);
    let report = admin.function("capsule_verify", &json!({})).unwrap();
    assert_eq!(report["ok"], true, "{report}");
}

#[test]
fn a_dropped_space_leaves_no_capsule_behind() {
    let database = Database::new();
    let mut admin = database.admin();
    admin.function("space_create", &json!({"slug": "short"})).unwrap();
    let before = database.rows();
    admin.batch_execute("set me.space = 'short'").unwrap();
    capture(&mut admin, "one", json!({"kind": "fact", "stale_if": "x", "event_at": "2020-01-01T00:00:00Z"}));
    capture(&mut admin, "two", json!({"staged": true}));
    let items: Vec<Value> =
        (0..70).map(|n| json!({"content": format!("word {n}"), "source": "s", "anchor": "a"})).collect();
    admin.function("capsule_ingest", &json!({ "items": items })).unwrap();
    assert_eq!(admin.function("lexical_maintain", &json!({})).unwrap()["packed"], packs(&mut admin, 1));
    admin.function("capsule_pin", &json!({"id": "cap-1", "pinned": true, "reason": "r"})).unwrap();
    admin.function("capsule_relate", &json!({"kind": "blocks", "from": "cap-1", "to": "cap-2"})).unwrap();
    admin.function("capsule_session_start", &json!({})).unwrap();
    admin.function("capsule_alias", &json!({"term": "a", "alias": "b"})).unwrap();
    admin.function("capsule_retrieve", &json!({"terms": ["one", "nothing"]})).unwrap();
    admin.function("capsule_forget", &json!({"id": "cap-1", "mode": "purged", "reason": "r"})).unwrap();
    admin.batch_execute("reset me.space").unwrap();
    admin.function("space_drop", &json!({"slug": "short"})).unwrap();
    let kept = |rows: Vec<(String, i64)>| -> Vec<(String, i64)> {
        rows.into_iter()
            .filter(|(table, _)| table.starts_with("capsule") || table.starts_with("memory"))
            .collect()
    };
    assert_eq!(kept(database.rows()), kept(before));
}

#[test]
fn a_piece_that_comes_back_takes_its_place_again() {
    let database = Database::new();
    let mut admin = database.admin();
    let mut import = |text: &str| {
        let file = format!("# Notes\nhead\n\n## Alpha\n{text}\n\n## Beta\nsame\n");
        let args = json!({"source": "project-claude-md", "files": {"CLAUDE.md": file}});
        admin.function("capsule_import", &args).unwrap()
    };
    assert_eq!(import("ring the bell")["captured"], 3);
    assert_eq!(import("ring the bell twice")["captured"], 1);
    assert_eq!(import("ring the bell")["deduped"], 3);
    let recalled = admin.function("capsule_retrieve", &json!({"terms": ["bell"]})).unwrap();
    assert_eq!(recalled["results"][0]["id"], "cap-2", "{recalled}");
    assert_eq!(recalled["excluded"], json!({"superseded": 1}));
    let got = admin.function("capsule_get", &json!({"id": "cap-2"})).unwrap();
    assert_eq!(got["relations"].as_array().map(Vec::len), Some(1), "{got}");
    assert_eq!(got["relations"][0]["origin"], "import");
    assert_eq!(got["relations"][0]["from"], "cap-2");
}

#[test]
fn a_plain_memory_is_taken_into_trust_and_stays() {
    let database = Database::new();
    let mut admin = database.admin();
    let memory = admin
        .function("memory_create", &json!({"content": "The mole is closed.", "tree": "/share"}))
        .unwrap();
    let args = json!({"id": memory["id"], "source": "harbour-board", "anchor": "minutes.md:3"});
    assert_eq!(admin.function("capsule_adopt", &args).unwrap()["captured"], 1);
    let got = admin.function("capsule_get", &json!({"id": "cap-1"})).unwrap();
    assert_eq!(got["capsule"]["content"], "The mole is closed.");
    assert_eq!(got["capsule"]["provenance"]["source"], "harbour-board");
    assert!(admin.function("memory_get", &json!({"id": memory["id"]})).is_ok());
}

#[test]
fn who_forgets_and_who_embeds_do_not_wait_for_each_other_in_a_circle() {
    let database = Database::new();
    let mut client = database.admin();
    // Vectors that nobody in the background brings.
    client
        .function("embedding_model_add", &json!({"name": "m", "provider": "manual", "dimensions": 2}))
        .unwrap();
    client.function("embedding_model_use", &json!({"name": "m"})).unwrap();
    let id = id_of(&capture(&mut client, "The pump of hall three leaks.", json!({})));
    // Whoever embeds has the memory first and its place in the queue afterwards.
    let mut embedding = database.admin();
    let mut finish = embedding.transaction().unwrap();
    assert_eq!(finish.execute("select from me.memory for share", &[]).unwrap(), 1);
    std::thread::scope(|scope| {
        let forgetting = scope.spawn(|| {
            let mut other = database.admin();
            other.function("capsule_forget", &json!({"id": id, "mode": "purged", "reason": "r"}))
        });
        let until = Instant::now() + Duration::from_secs(60);
        let waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while count(&mut client, waits) == 0 {
            assert!(Instant::now() < until, "nobody waits");
        }
        let done =
            "update me.embedding_queue set outcome = 'completed', finished_at = now() where outcome is null";
        assert_eq!(finish.execute(done, &[]).unwrap(), 1);
        finish.commit().unwrap();
        assert_eq!(forgetting.join().unwrap().unwrap()["outcome"], "tombstoned");
    });
    assert_eq!(count(&mut client, "select count(*) from me.embedding_queue"), 0);
}

/// Waits until the worker has done what erasing left to do.
fn wait_for_the_worker(client: &mut Client) {
    let patience = Instant::now() + Duration::from_secs(180);
    while count(client, "select count(*) from me.erasure") > 0 {
        assert!(Instant::now() < patience, "the worker has not vacuumed");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn the_worker_takes_what_was_forgotten_out_of_the_files() {
    let database = Database::new();
    let mut admin = database.admin();
    for other in 0..20 {
        capture(&mut admin, &format!("an ordinary note number {other}"), json!({}));
    }
    let content = format!("The {SECRET} code is nine. {}", "Long enough to be toasted. ".repeat(400));
    let id = id_of(&capture(&mut admin, &content, json!({"source": SOURCE})));
    let plain = json!({"content": format!("{SECRET} once more"), "tree": "share"});
    let plain = admin.function("memory_create", &plain).unwrap();
    assert!(!files_with(&mut admin, SECRET).is_empty());
    admin.function("capsule_forget", &json!({"id": id, "mode": "purged", "reason": "leaked"})).unwrap();
    admin.function("memory_purge", &json!({"id": plain["id"], "reason": "leaked"})).unwrap();
    wait_for_the_worker(&mut admin);
    // A GIN index keeps its words, though they lead nowhere, until it is made anew; a sample of the planner's until the
    // next analyze.
    let mut left = files_with(&mut admin, SECRET);
    left.extend(files_with(&mut admin, SOURCE));
    left.retain(|file| file != "memory_lexeme_lexemes_idx" && !file.starts_with("pg_"));
    assert_eq!(left, BTreeSet::new());
    admin.batch_execute("reindex table me.memory_lexeme").unwrap();
    assert!(!files_with(&mut admin, SECRET).contains("memory_lexeme_lexemes_idx"));
    // What is left is whole.
    assert_eq!(admin.function("capsule_list", &json!({})).unwrap()["returned"], 20);
    let recalled = admin.function("capsule_retrieve", &json!({"terms": ["ordinary"], "limit": 1})).unwrap();
    assert_eq!(recalled["matched"], 20, "{recalled}");
}

#[test]
fn without_a_worker_a_vacuum_and_a_call_do_the_same() {
    let database = Database::new();
    let mut admin = database.admin();
    let id = id_of(&capture(&mut admin, &format!("{SECRET} is short"), json!({})));
    admin.function("capsule_forget", &json!({"id": id, "mode": "purged", "reason": "leaked"})).unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    loop {
        admin.batch_execute("vacuum (index_cleanup on)").unwrap();
        admin.query_one("select me.erasure_scrub()", &[]).unwrap();
        let mut left = files_with(&mut admin, SECRET);
        left.retain(|file| file != "memory_lexeme_lexemes_idx" && !file.starts_with("pg_"));
        if left.is_empty() {
            break;
        }
        // A vacuum keeps what a snapshot elsewhere may still see.
        assert!(Instant::now() < patience, "still in the files of {left:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
    let nobody = new_role("capsule_nobody");
    let refusal = database.connect(&nobody).query_one("select me.erasure_scrub()", &[]).unwrap_err();
    assert_eq!(refusal.code().map(|code| code.code()), Some("42501"));
}

/// What a session answers, in a transaction that leaves no trace: a recall, and everything else at a glance.
fn seen(client: &mut Client) -> (Vec<String>, Value, Value, Value) {
    client.batch_execute("begin read only").unwrap();
    let query = json!({"terms": ["pumps", "number 7", "hoist"], "limit": 40, "token_budget": 100_000});
    let recalled = client.function("capsule_retrieve", &query).unwrap();
    let digest = client.function("capsule_digest", &json!({"headlines": 3})).unwrap();
    client.batch_execute("rollback").unwrap();
    let rows = recalled["results"].as_array().into_iter().flatten();
    let ids = rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    (ids, recalled["matched"].clone(), recalled["excluded"].clone(), digest)
}

#[test]
fn a_session_that_keeps_what_it_knows_answers_like_a_new_one() {
    let database = Database::new();
    let (mut keeper, mut writer) = (database.admin(), database.admin());
    writer.function("space_create", &json!({"slug": "other"})).unwrap();
    for number in 0..12 {
        capture(&mut writer, &format!("finding number {number} about the pumps"), json!({}));
    }
    let mut choices = Choices(42);
    for round in 0..36 {
        let some = |choices: &mut Choices| format!("cap-{}", choices.below(14) + 1);
        let id = some(&mut choices);
        let edge =
            |kind: &str, from: String| ("capsule_relate", json!({"kind": kind, "from": from, "to": id}));
        let (function, args) = match round % 12 {
            0 => edge("supersedes", some(&mut choices)),
            1 => edge("blocks", some(&mut choices)),
            2 => ("capsule_pin", json!({"id": id, "pinned": choices.below(2) == 0, "reason": "r"})),
            3 => {
                let content = format!("proposal {round} about the pumps");
                let staged = json!({"content": content, "source": "s", "anchor": "a", "staged": true});
                ("capsule_ingest", staged)
            }
            4 => {
                let verdict = ["ratified", "rejected"][choices.below(2) as usize];
                (
                    "capsule_review",
                    json!({"id": format!("cap-{}", 13 + choices.below(4)), "verdict": verdict, "reason": "r"}),
                )
            }
            5 => ("capsule_outcome", json!({"description": "d", "actor": "a"})),
            6 => edge("falsifies", format!("out-{}", round / 12 + 1)),
            7 => ("capsule_forget", json!({"id": id, "mode": "redacted", "reason": "r"})),
            8 => {
                let text = format!("# Notes\nhead {}\n\n## Alpha\nthe pumps {}\n", round % 5, round % 24);
                ("capsule_import", json!({"source": "project-claude-md", "files": {"CLAUDE.md": text}}))
            }
            9 => {
                // Contents that are here too, with an edge between them.
                let items = json!([
                    {"content": "finding number 1 about the pumps", "source": "s", "anchor": "a"},
                    {"content": format!("finding number {} about the pumps", round + 100), "source": "s", "anchor": "a"}
                ]);
                writer.batch_execute("set me.space = 'other'").unwrap();
                let captured = writer.function("capsule_ingest", &json!({"items": items})).unwrap();
                let ids = &captured["outcomes"];
                let edge = json!({"kind": "supersedes", "from": ids[1]["id"], "to": ids[0]["id"]});
                writer.function("capsule_relate", &edge).unwrap();
                writer.batch_execute("reset me.space").unwrap();
                ("capsule_merge", json!({"from": "other"}))
            }
            10 => ("capsule_consolidate", json!({"apply_tiers": true})),
            _ => ("capsule_alias", json!({"term": "hoist", "alias": format!("number {}", choices.below(9))})),
        };
        if let Err(refusal) = writer.function(function, &args) {
            assert!(["P0002", "22023"].contains(&refusal.sqlstate.as_str()), "{function}: {refusal:?}");
        }
        // What it did itself and took back leaves nothing in what it knows.
        keeper.batch_execute("begin").unwrap();
        let own = format!("own finding number 7 about the pumps {round}");
        let replaced = id_of(&capture(&mut keeper, &own, json!({})));
        let edge = json!({"kind": "supersedes", "from": replaced, "to": "cap-1"});
        keeper.function("capsule_relate", &edge).unwrap();
        keeper.function("capsule_retrieve", &json!({"terms": ["own"]})).unwrap();
        keeper.batch_execute("rollback").unwrap();
        assert_eq!(seen(&mut keeper), seen(&mut database.admin()), "round {round}: {function} {args}");
    }
    let report = writer.function("capsule_verify", &json!({})).unwrap();
    assert_eq!(report["ok"], true, "{report}");
}

#[test]
fn an_import_tells_nothing_of_what_stands_behind_a_symbolic_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = std::env::temp_dir().join(common::unique("capsule_links"));
    for place in ["outside/notes", "root"] {
        std::fs::create_dir_all(folder.join(place)).unwrap();
    }
    std::fs::write(folder.join("outside/CLAUDE.md"), "## Secret\nseven\n").unwrap();
    std::fs::write(folder.join("outside/notes/a.md"), "## Secret\neight\n").unwrap();
    symlink(folder.join("outside/CLAUDE.md"), folder.join("outside/AGENTS.md")).unwrap();
    symlink(folder.join("outside"), folder.join("root/link")).unwrap();
    for place in ["", "outside", "outside/notes", "root"] {
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.join(place), open).unwrap();
    }
    let database = Database::new();
    let mut admin = database.admin();
    let root = folder.join("root");
    admin.execute("select set_config('me.capsule_file_root', $1, false)", &[&root.to_str()]).unwrap();
    // A file, a link and nothing behind the link: all are not there.
    let mut outcome = |args: Value| admin.function("capsule_import", &args).unwrap()["outcome"].clone();
    for args in [
        json!({"source": "project-claude-md", "base": "link"}),
        json!({"source": "project-agents-md", "base": "link"}),
        json!({"source": "user-claude-md", "base": "link"}),
        json!({"source": "memory-dir", "dir": "link"}),
        json!({"source": "memory-dir", "dir": "link/notes"}),
        json!({"source": "memory-dir", "dir": "link/nothing"}),
    ] {
        assert_eq!(outcome(args.clone()), "absent", "{args}");
    }
    for anchor in ["link/CLAUDE.md:1", "link/AGENTS.md:1", "link/nothing.md:1"] {
        let content = format!("anchored at {anchor}");
        capture(&mut admin, &content, json!({"anchor": anchor}));
    }
    let recalled = admin.function("capsule_retrieve", &json!({"terms": ["anchored"]})).unwrap();
    let rows = recalled["results"].as_array().unwrap();
    assert!(rows.len() == 3 && rows.iter().all(|row| row["anchor_live"] == false), "{recalled}");
    std::fs::remove_dir_all(folder).unwrap();
}
