//! The lexical index while everything changes: writers insert, update, delete and roll back in spaces of different
//! size, the index is maintained, made anew, and killed on the way; every answer is the one that looking at each
//! memory of the same snapshot gives.
//!
//! LEXICAL_QUERIES says how many queries (160 unless said).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Database, new_role};
use postgres::error::SqlState;
use postgres::{Client, IsolationLevel};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const SPACES: [(&str, usize); 3] = [("small", 30), ("middle", 600), ("large", 2500)];
const TREES: usize = 12;
/// How many kinds the metadata knows, and on how many days something was.
const KINDS: usize = 5;
const DAYS: usize = 28;
/// What the caller with few grants may read.
const GRANTED: [&str; 2] = ["share.t1", "share.t2.u1"];

/// A small generator of our own: the same choices at every run, as far as the others leave them.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    /// Small numbers often, large ones seldom.
    fn word(&mut self) -> String {
        let rank = 1usize << self.below(11);
        // No stemmer shortens it, and no word is the beginning of another.
        format!("w{}q", self.below(rank))
    }

    fn text(&mut self) -> String {
        let words = 3 + self.below(25);
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn tree(&mut self) -> String {
        format!("share.t{}.u{}", self.below(TREES), self.below(3))
    }

    /// Metadata and time of a memory.
    fn rest(&mut self) -> (String, String) {
        let day = 1 + self.below(DAYS);
        (format!("{{\"k\":{}}}", self.below(KINDS)), format!("{{\"start\":\"2025-03-{day:02}T00:00:00Z\"}}"))
    }

    fn space(&mut self) -> &'static str {
        SPACES[[0, 1, 1, 2, 2, 2][self.below(6)]].0
    }
}

fn fill(client: &mut Client, random: &mut Random) {
    for (space, count) in SPACES {
        client.execute("select me.space_create($1, $1)", &[&space]).unwrap();
        for _ in 0..count.div_ceil(500) {
            let items: Vec<String> = (0..count.min(500))
                .map(|_| {
                    let (meta, time) = random.rest();
                    format!(
                        "{{\"content\":\"{}\",\"tree\":\"{}\",\"meta\":{meta},\"temporal\":{time}}}",
                        random.text(),
                        random.tree()
                    )
                })
                .collect();
            let batch = format!("[{}]", items.join(","));
            client
                .execute("select me.memory_batch_create($1::text::jsonb, space => $2)", &[&batch, &space])
                .unwrap();
        }
    }
}

/// One change, committed or not. What another writer holds or has taken away is refused, which is all right.
fn write(client: &mut Client, random: &mut Random) {
    let space = random.space();
    let (meta, time) = random.rest();
    let mut transaction = client.transaction().unwrap();
    let some = format!(
        "select id, version_hash from me.memories where space = '{space}' order by md5(id::text || '{}') limit 3",
        random.below(1000)
    );
    let sql = match random.below(8) {
        0..=2 => format!(
            "select me.memory_create(t.content, '{}', meta => '{meta}', temporal => '{time}', space => '{space}')
             from (values ('{}'), ('{}')) as t (content)",
            random.tree(), random.text(), random.text()
        ),
        3..=4 => format!(
            "select me.memory_update(m.id, m.version_hash, content => '{}', space => '{space}') from ({some}) as m",
            random.text()
        ),
        5 => format!(
            "select me.memory_update(m.id, m.version_hash, tree => '{}', meta => '{meta}', space => '{space}') from ({some}) as m",
            random.tree()
        ),
        6 => format!("select me.memory_delete(m.id, space => '{space}') from ({some}) as m"),
        // Deleted and made again under its id.
        _ => format!(
            "with gone as materialized (select m.id, me.memory_delete(m.id, space => '{space}') from ({some}) as m)
             select me.memory_create('{}', '{}', id => g.id, temporal => '{time}', space => '{space}') from gone as g",
            random.text(), random.tree()
        ),
    };
    let done = transaction.batch_execute(&sql).is_ok();
    if done && random.below(4) > 0 {
        let _ = transaction.commit();
    } else {
        transaction.rollback().unwrap();
    }
}

/// A memory as the reference sees it.
struct Memory {
    id: String,
    tree: String,
    /// Of its metadata, and the day it was on, from 0.
    kind: Option<i32>,
    day: Option<i32>,
    words: HashMap<String, f64>,
    length: f64,
}

fn snapshot_of(client: &mut postgres::Transaction, space: &str) -> Vec<Memory> {
    client
        .query(
            "select id::text, replace(ltrim(tree, '/'), '/', '.'), content, (meta->>'k')::int,
               extract(day from lower(temporal) at time zone 'UTC')::int
             from me.memories where space = $1 order by id",
            &[&space],
        )
        .unwrap()
        .into_iter()
        .map(|row| {
            let content: String = row.get(2);
            let mut words = HashMap::new();
            for word in content.split(' ') {
                *words.entry(word.to_owned()).or_insert(0.0) += 1.0;
            }
            let length = words.values().sum();
            Memory { id: row.get(0), tree: row.get(1), kind: row.get(3), day: row.get(4), words, length }
        })
        .collect()
}

fn reference(
    memories: &[Memory],
    query: &[String],
    passes: impl Fn(&Memory) -> bool,
    limit: usize,
) -> Vec<(f64, String)> {
    let count = memories.len() as f64;
    let average = memories.iter().map(|memory| memory.length).sum::<f64>() / count;
    let idf: Vec<f64> = query
        .iter()
        .map(|word| {
            let documents = memories.iter().filter(|memory| memory.words.contains_key(word)).count() as f64;
            (1.0 + (count - documents + 0.5) / (documents + 0.5)).ln()
        })
        .collect();
    let mut rows: Vec<(f64, String)> = memories
        .iter()
        .filter(|memory| passes(memory))
        .filter_map(|memory| {
            let mut score = 0.0;
            for (word, idf) in query.iter().zip(&idf) {
                if let Some(tf) = memory.words.get(word) {
                    score += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * memory.length / average));
                }
            }
            (score > 0.0).then(|| (score, memory.id.clone()))
        })
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    rows.truncate(limit);
    rows
}

fn below(tree: &str, root: &str) -> bool {
    tree == root || tree.strip_prefix(root).is_some_and(|rest| rest.starts_with('.'))
}

fn check(found: &[(f64, String)], wanted: &[(f64, String)], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (place, (found_row, wanted_row)) in found.iter().zip(wanted).enumerate() {
        assert!(
            (found_row.0 - wanted_row.0).abs() <= 1e-6,
            "{what}: place {place}: {found_row:?} instead of {wanted_row:?}"
        );
        // Scores that are as good as equal may be rounded into another order.
        let near =
            |other: usize| wanted.get(other).is_some_and(|other| (other.0 - wanted_row.0).abs() <= 1e-9);
        let tied = near(place + 1) || (place > 0 && near(place - 1)) || place + 1 == wanted.len();
        assert!(
            found_row.1 == wanted_row.1 || tied,
            "{what}: place {place}: {found_row:?} instead of {wanted_row:?}"
        );
    }
}

/// Some queries under one snapshot, as the superuser and as the caller with few grants.
fn compare(
    database: &Database,
    reader: &str,
    random: &mut Random,
    plans: &mut HashMap<String, usize>,
) -> usize {
    // New sessions: what a session has counted it keeps for a while.
    let (mut admin, mut narrow) = (database.admin(), database.connect(reader));
    let mut all = admin
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .unwrap();
    let name: String = all.query_one("select pg_export_snapshot()", &[]).unwrap().get(0);
    let mut few = narrow
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .unwrap();
    few.batch_execute(&format!("set transaction snapshot '{name}'")).unwrap();
    let space = random.space();
    let memories = snapshot_of(&mut all, space);
    const QUERIES: usize = 20;
    for _ in 0..QUERIES {
        let mut query: Vec<String> = (0..1 + random.below(4)).map(|_| random.word()).collect();
        query.sort();
        query.dedup();
        let limit = [1, 10, 10, 60][random.below(4)];
        let (t, u, k, day) =
            (random.below(TREES), random.below(3), random.below(KINDS), 1 + random.below(DAYS));
        let (tree, pattern) = match random.below(8) {
            0 | 1 => (Some(format!("share.t{t}")), false),
            2 | 3 => (Some(format!("share.t{t}.u{u}")), false),
            4 => (Some(format!("share.*.u{u}")), true),
            _ => (None, false),
        };
        let wanted = (random.below(4) == 0).then_some(k as i32);
        let meta = wanted.map(|k| format!("{{\"k\":{k}}}"));
        let since = (random.below(4) == 0).then_some(day as i32);
        let time = since.map(|day| {
            format!(
                "{{\"within\":{{\"start\":\"2025-03-{day:02}T00:00:00Z\",\"end\":\"2025-04-01T00:00:00Z\"}}}}"
            )
        });
        let narrow = random.below(3) == 0;
        let client = if narrow { &mut few } else { &mut all };
        let text = query.join(" ");
        let found: Vec<(f64, String)> = client
            .query(
                "select s.score, s.id::text from me.search(fulltext => $1, \"limit\" => $2, tree => $3, space => $4,
                   meta => $5::text::jsonb, temporal => $6::text::jsonb) as s
                 order by s.score desc, s.id",
                &[&text, &(limit as i32), &tree, &space, &meta, &time],
            )
            .unwrap()
            .into_iter()
            .map(|row| (row.get(0), row.get(1)))
            .collect();
        let plan: String = client
            .query_one(
                "select me.search_explain(fulltext => $1, \"limit\" => $2, tree => $3, space => $4,
                   meta => $5::text::jsonb, temporal => $6::text::jsonb)->'steps'->0->>'plan'",
                &[&text, &(limit as i32), &tree, &space, &meta, &time],
            )
            .unwrap()
            .get(0);
        let what = format!(
            "space {space}, query {text:?}, limit {limit}, tree {tree:?}, {meta:?}, {time:?}, narrow {narrow}, {plan}"
        );
        *plans.entry(plan).or_default() += 1;
        let passes = |memory: &Memory| {
            let is_there = |tree: &String| match pattern {
                true => memory.tree.ends_with(&format!(".u{u}")),
                false => below(&memory.tree, tree),
            };
            tree.as_ref().is_none_or(is_there)
                && wanted.is_none_or(|kind| memory.kind == Some(kind))
                && since.is_none_or(|since| memory.day.is_some_and(|day| day >= since))
                && (!narrow || GRANTED.iter().any(|granted| below(&memory.tree, granted)))
        };
        check(&found, &reference(&memories, &query, passes, limit), &what);
    }
    QUERIES
}

/// Keeps the index, sometimes from nothing, in spaces by turns; ended now and then by somebody else, it begins anew.
fn maintain(database: &Database, stop: &AtomicBool, turns: &AtomicUsize) {
    let mut random = Random(5);
    let mut client = database.admin();
    while !stop.load(Ordering::Relaxed) {
        let space = random.space();
        let rebuild = random.below(30) == 0;
        let limit = [20, 200, 2000][random.below(3)];
        let done =
            client.execute("select me.lexical_maintain($1, $2, space => $3)", &[&limit, &rebuild, &space]);
        match done {
            Ok(_) => _ = turns.fetch_add(1, Ordering::Relaxed),
            // Without an answer of the server: it was ended before, and the pipe is broken or closed.
            Err(error) if error.code().is_none_or(|code| *code == SqlState::ADMIN_SHUTDOWN) => {
                client = database.admin();
            }
            Err(error) => panic!("maintenance failed: {error:?}"),
        }
        thread::sleep(Duration::from_millis(30));
    }
}

/// Ends whoever is maintaining at a moment that nobody chose.
fn kill(database: &Database, stop: &AtomicBool) -> usize {
    let mut random = Random(6);
    let mut client = database.admin();
    let mut killed = 0;
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(100 + random.below(400) as u64));
        let rows = client.query(
            "select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and state = 'active' and query like 'select me.lexical_maintain(%'",
            &[],
        );
        killed += rows.unwrap().len();
    }
    killed
}

/// What is left when all is quiet: everything in the index, nothing waiting, nothing twice.
fn settle(client: &mut Client) {
    for (space, _) in SPACES {
        for _ in 0..200 {
            let complete: bool = client
                .query_one("select (me.lexical_maintain(space => $1)->>'complete')::boolean", &[&space])
                .unwrap()
                .get(0);
            if complete {
                break;
            }
        }
        let row = client
            .query_one(
                "select (s->>'memories')::int8, (s->>'waiting')::int8,
                   (select count(*) from me.memories as m where m.space = $1),
                   (select count(*) from me.lexical_page as p where p.space = $1
                      and not exists (select from me.lexical_segment as s where s.space = p.space and s.segment = p.segment))
                 from me.lexical_status(space => $1) as s",
                &[&space],
            )
            .unwrap();
        let numbers: [i64; 4] = std::array::from_fn(|at| row.get(at));
        assert_eq!(numbers, [numbers[2], 0, numbers[2], 0], "space {space}");
    }
}

#[test]
fn searches_agree_with_the_reference_while_all_changes() {
    let queries: usize =
        std::env::var("LEXICAL_QUERIES").ok().and_then(|text| text.parse().ok()).unwrap_or(160);
    let database = Database::new();
    let mut admin = database.admin();
    let mut random = Random(1);
    fill(&mut admin, &mut random);
    let reader = new_role("reader");
    for (space, _) in SPACES {
        admin.execute("select me.space_member_add($1, space => $2)", &[&reader, &space]).unwrap();
        for tree in GRANTED {
            admin
                .execute("select me.access_grant($1, $2, 'read', space => $3)", &[&reader, &tree, &space])
                .unwrap();
        }
    }
    let mut plans = HashMap::new();
    // Before there is an index.
    let mut asked = compare(&database, &reader, &mut random, &mut plans);
    let (stop, turns) = (AtomicBool::new(false), AtomicUsize::new(0));
    let killed = thread::scope(|scope| {
        // Whatever fails, the others are told to stop.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let stopper = Stop(&stop);
        for seed in [11, 12] {
            let (database, stop) = (&database, &stop);
            scope.spawn(move || {
                let (mut client, mut random) = (database.admin(), Random(seed));
                while !stop.load(Ordering::Relaxed) {
                    write(&mut client, &mut random);
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        let _maintainer = scope.spawn(|| maintain(&database, &stop, &turns));
        let killer = scope.spawn(|| kill(&database, &stop));
        while asked < queries {
            asked += compare(&database, &reader, &mut random, &mut plans);
        }
        drop(stopper);
        killer.join().unwrap()
    });
    settle(&mut admin);
    for _ in 0..5 {
        compare(&database, &reader, &mut random, &mut plans);
    }
    println!("{asked} queries, {} turns, {killed} killed: {plans:?}", turns.into_inner());
    let seen = |part: &str| plans.keys().any(|plan| plan.contains(part));
    assert!(seen("best first") && seen("then the filter") && seen("the filter first"), "{plans:?}");
}

#[test]
fn memories_and_pages_that_moved_are_found_where_they_are() {
    let database = Database::new();
    let mut admin = database.admin();
    let mut random = Random(7);
    admin.execute("select me.space_create('moved', 'moved')", &[]).unwrap();
    let mut add = |admin: &mut Client, space: &str, count: usize| {
        let items: Vec<String> = (0..count)
            .map(|_| format!("{{\"content\":\"{}\",\"tree\":\"{}\"}}", random.text(), random.tree()))
            .collect();
        admin
            .query(
                "select from me.memory_batch_create($1::text::jsonb, space => $2) offset 1000000",
                &[&format!("[{}]", items.join(",")), &space],
            )
            .unwrap();
    };
    add(&mut admin, "moved", 700);
    let indexed: i64 = admin
        .query_one("select (me.lexical_maintain(space => 'moved')->>'indexed')::int8", &[])
        .unwrap()
        .get(0);
    assert_eq!(indexed, 700);
    let doctor = "select status || ': ' || detail from me.doctor() where \"check\" = 'lexical index'";
    let doctor: String = admin.query_one(doctor, &[]).unwrap().get(0);
    assert!(doctor.starts_with("ok: "), "{doctor}");
    // One session, which remembers where it found what.
    let mut reader = database.admin();
    let mut found = || -> Vec<(String, f64)> {
        let rows = reader
            .query(
                "select t || ' ' || s.id::text, s.score
                 from unnest(array[null, 'share.t1', 'share.t2.u1']) as t,
                   unnest(array['w0q', 'w1q w3q', 'w9q w200q w517q']) as w,
                   lateral me.search(fulltext => w, tree => t, \"limit\" => 30, space => 'moved') as s
                 order by t, w, s.score desc, s.id",
                &[],
            )
            .unwrap();
        rows.iter().map(|row| (row.get::<_, Option<String>>(0).unwrap_or_default(), row.get(1))).collect()
    };
    let wanted = found();
    assert!(wanted.len() > 100, "{}", wanted.len());
    let mut same = |what: &str| assert_eq!(found(), wanted, "{what}");
    same("again");
    // Every third row gets another place, and what it leaves is taken by others.
    admin
        .execute(
            "update me.memory set meta = '{\"moved\":1}'
             where space = 'moved' and get_byte(uuid_send(id), 15) % 3 = 0",
            &[],
        )
        .unwrap();
    same("after an update");
    admin.batch_execute("vacuum me.memory").unwrap();
    admin.execute("select me.space_create('others', 'others')", &[]).unwrap();
    add(&mut admin, "others", 300);
    same("among others");
    admin.batch_execute("vacuum full me.memory").unwrap();
    admin.batch_execute("vacuum full me.lexical_page").unwrap();
    same("in new files");
    admin.execute("select me.space_drop('others')", &[]).unwrap();
    admin.batch_execute("vacuum full me.memory").unwrap();
    same("in a shorter file");
    admin.execute("select me.lexical_maintain(space => 'moved', rebuild => true)", &[]).unwrap();
    same("in an index made anew");
    admin.batch_execute("vacuum full me.lexical_page").unwrap();
    same("whose pages moved");
}
