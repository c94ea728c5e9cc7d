//! Recall reads packs where there are any, and says what the statements say: whatever is captured, undone, forgotten or packed
//! meanwhile, for whoever asks, in whatever transaction.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, new_role};
use postgres::Client;
use serde_json::{Value, json};

/// Numbers for choices, the same for the same start.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A word: the lower its number, the more texts hold it.
    fn word(&mut self) -> String {
        let most = self.below(60) + 1;
        let most = self.below(most) + 1;
        format!("word{}", self.below(most))
    }
}

fn count(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap().get(0)
}

/// Captures so many short texts, each in one of three projects.
fn capture(client: &mut Client, choices: &mut Choices, texts: u64) {
    let items: Vec<Value> = (0..texts)
        .map(|_| {
            let words: Vec<String> = (0..=choices.below(7)).map(|_| choices.word()).collect();
            let project = ["bay", "harbour", "harbour/mole"][choices.below(3) as usize];
            let unlike = choices.below(1 << 30);
            json!({"content": format!("{} u{unlike}", words.join(" ")), "source": "s", "anchor": "a", "project_id": project})
        })
        .collect();
    client.function("capsule_ingest", &json!({ "items": items })).unwrap();
}

fn pack(client: &mut Client, limit: i64) -> Value {
    client.function("lexical_maintain", &json!({ "limit": limit })).unwrap()
}

fn pack_all(client: &mut Client) {
    while pack(client, 100_000)["complete"] != json!(true) {}
}

/// What recalls answer, each in a transaction of some sort that leaves no trace.
fn told(client: &mut Client, begin: &str) -> Vec<Value> {
    let queries = [
        json!({"terms": ["word0"], "limit": 10}),
        json!({"terms": ["word0", "word1", "word2"], "limit": 5}),
        json!({"terms": ["word3 word0", "word7"], "token_budget": 100_000}),
        json!({"terms": ["word5", "taught"], "project_prefix": "harbour", "limit": 20}),
        json!({"terms": ["word40", "nothing"], "project_id": "bay"}),
        json!({"terms": ["word2"], "limit": 0}),
        json!({"terms": ["cap-3", "nothing"]}),
    ];
    let answers = queries.map(|query| {
        client.batch_execute(begin).unwrap();
        let mut answer = client.function("capsule_retrieve", &query).unwrap();
        client.batch_execute("rollback").unwrap();
        answer.as_object_mut().unwrap().remove("receipt_id");
        answer
    });
    answers.into()
}

/// Lets nobody read these tables by key any more, or again.
fn close(admin: &mut Client, tables: &[&str], closed: bool) {
    let word = if closed { "enable" } else { "disable" };
    for table in tables {
        admin.batch_execute(&format!("alter table me.{table} {word} row level security")).unwrap();
    }
}

const BEGINS: [&str; 4] = [
    "begin",
    "begin read only",
    "begin isolation level repeatable read",
    "begin isolation level serializable",
];

#[test]
fn packs_and_entries_say_what_the_statements_say() {
    let database = Database::new();
    let (mut admin, mut writer) = (database.admin(), database.admin());
    let mut choices = Choices(7);
    capture(&mut writer, &mut choices, 60);
    let reader = new_role("capsule_reader");
    admin.function("space_member_add", &json!({"principal": reader, "kind": "user"})).unwrap();
    let grant = json!({"principal": reader, "tree": "/capsules/harbour", "access": "read"});
    admin.function("access_grant", &grant).unwrap();
    let mut clients = [database.admin(), database.connect(&reader)];
    let mut packs = Vec::new();
    for round in 0..8 {
        match round {
            1 => {
                drop(writer.function("capsule_alias", &json!({"term": "taught", "alias": "word1"})).unwrap())
            }
            2 => {
                for n in 0..20 {
                    let of = format!("cap-{}", 40 + n);
                    let edge = json!({"kind": "supersedes", "from": of, "to": format!("cap-{}", 1 + n)});
                    writer.function("capsule_relate", &edge).unwrap();
                }
            }
            _ => {}
        }
        // What is undone leaves entries under numbers that others get.
        writer.batch_execute("begin").unwrap();
        capture(&mut writer, &mut choices, 30);
        if round == 5 {
            pack(&mut writer, 100_000);
        }
        writer.batch_execute("rollback").unwrap();
        capture(&mut writer, &mut choices, 40 + 40 * (round % 3));
        match round {
            3 | 6 => pack_all(&mut writer),
            // Half of it.
            4 => drop(pack(&mut writer, 60)),
            _ => {}
        }
        if round > 3 {
            for _ in 0..3 {
                let id = format!("cap-{}", choices.below(300) + 1);
                drop(writer.function("capsule_forget", &json!({"id": id, "mode": "purged", "reason": "r"})));
            }
        }
        packs.push(count(&mut admin, "select count(*) from me.capsule_posting"));
        let begin = BEGINS[round as usize % BEGINS.len()];
        let by_key: Vec<_> = clients.iter_mut().map(|client| told(client, begin)).collect();
        for closed in [
            &["capsule_posting"][..],
            &["capsule_token", "capsule", "capsule_usage", "capsule_alias", "capsule_ledger"],
        ] {
            close(&mut admin, closed, true);
            let by_statement: Vec<_> = clients.iter_mut().map(|client| told(client, begin)).collect();
            close(&mut admin, closed, false);
            assert_eq!(by_key, by_statement, "round {round}, {begin}, without {closed:?}");
        }
        assert_eq!(by_key[0][0]["outcome"], "grounded");
        assert!(by_key[0][0]["matched"].as_i64() > by_key[1][0]["matched"].as_i64(), "the reader sees less");
    }
    assert!(packs[2] == 0 && packs[3] > 2 && packs[4] > packs[3] && packs[5] == packs[4], "{packs:?}");
    let wrong = "select count(*) from me.doctor() where \"check\" = 'capsule packs' and status <> 'ok'";
    assert_eq!(count(&mut admin, wrong), 0);
    // What the packs say counts: without this one, nobody would find these capsules.
    admin
        .batch_execute(
            "update me.capsule_posting set postings = '\\x00', last_seq = 1000000 where token = 'word0'",
        )
        .unwrap();
    assert_eq!(count(&mut admin, wrong), 1);
    let answer = told(&mut clients[0], "begin").remove(0);
    assert!(answer["matched"] == 1 || answer["excluded_count"] == 1, "{answer}");
    admin.function("lexical_maintain", &json!({"rebuild": true})).unwrap();
    pack_all(&mut admin);
    assert_eq!(count(&mut admin, wrong), 0);
    // One that cannot be read is none.
    let before = told(&mut clients[0], "begin");
    admin.batch_execute("update me.capsule_posting set postings = '\\x80' where token = 'word0'").unwrap();
    assert_eq!(told(&mut clients[0], "begin"), before);
    assert_eq!(count(&mut admin, wrong), 1);
}

#[test]
fn an_older_snapshot_sees_what_it_saw_while_others_pack_and_forget() {
    let database = Database::new();
    let (mut writer, mut old) = (database.admin(), database.admin());
    let mut choices = Choices(11);
    capture(&mut writer, &mut choices, 200);
    let query = json!({"terms": ["word0"], "limit": 3});
    let matched =
        |client: &mut Client| client.function("capsule_retrieve", &query).unwrap()["matched"].clone();
    old.batch_execute("begin isolation level repeatable read read only").unwrap();
    let before = matched(&mut old);
    pack_all(&mut writer);
    assert!(count(&mut writer, "select count(*) from me.capsule_posting") > 0);
    assert_eq!(matched(&mut old), before, "before anything was packed");
    old.batch_execute("commit; begin isolation level repeatable read read only").unwrap();
    assert_eq!(matched(&mut old), before);
    let holder: i64 = count(&mut writer, "select min(seq) from me.capsule_token where token = 'word0'");
    let forget = json!({"id": format!("cap-{holder}"), "mode": "purged", "reason": "r"});
    writer.function("capsule_forget", &forget).unwrap();
    capture(&mut writer, &mut choices, 200);
    pack_all(&mut writer);
    assert_eq!(matched(&mut old), before, "before one was forgotten and others came");
    let after = matched(&mut writer);
    old.batch_execute("commit").unwrap();
    assert_eq!(matched(&mut old), after);
    assert!(after.as_i64() > before.as_i64());
}

#[test]
fn who_packs_waits_for_nobody_who_captures() {
    let database = Database::new();
    let (mut writer, mut other) = (database.admin(), database.admin());
    let mut choices = Choices(13);
    capture(&mut writer, &mut choices, 200);
    writer.batch_execute("begin").unwrap();
    capture(&mut writer, &mut choices, 1);
    let turn = pack(&mut other, 1000);
    assert_eq!((&turn["busy"], &turn["packed"], &turn["complete"]), (&json!(true), &json!(0), &json!(false)));
    writer.batch_execute("commit").unwrap();
    // Under one snapshot for the whole transaction nothing is packed: it would not know what came since.
    other.batch_execute("begin isolation level repeatable read").unwrap();
    assert_eq!(pack(&mut other, 1000)["packed"], 0);
    other.batch_execute("commit").unwrap();
    assert!(pack(&mut other, 1000)["packed"].as_i64() > Some(0));
    assert_eq!(pack(&mut other, 1000)["packed"], 0);
}
