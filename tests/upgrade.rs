//! ALTER EXTENSION memory_engine UPDATE leads from every released version to what a fresh installation makes, and
//! loses nothing. Between the new library and the update, what is stored can be read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, Refusal, ensure_role, matcher};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Once;

const CATALOGUE: &str = include_str!("upgrade/catalogue.sql");
/// The version that is installed first, what it had written, and what it answered about that.
const OLD: &str = "0.1.0";
const DATA: &str = include_str!("upgrade/0.1.0.sql");
const ANSWERS: &str = include_str!("upgrade/0.1.0.jsonl");
const SCRIPT: &str = "sql/memory_engine--0.1.0--0.2.0.sql";

/// A database with the old version's objects under the new library.
fn old_database() -> Database {
    let database = Database::empty();
    database
        .admin()
        .batch_execute(&format!("create extension memory_engine version '{OLD}' cascade"))
        .unwrap_or_else(|error| {
            panic!(
                "version {OLD} cannot be installed with this library: {}\nA function that {OLD} declares needs its \
                 symbol for ever: keep the Rust function with #[pg_extern(sql = false)] (docs/development.md).",
                Refusal::from_error(&error).message
            )
        });
    database
}

/// Makes the roles that the data names. Tests share a server, and may come here at the same moment.
fn old_roles() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| ["me_old_reader", "me_old_team", "me_old_gateway"].into_iter().for_each(ensure_role));
}

/// The same with the data that version wrote.
fn old_database_with_data() -> Database {
    old_roles();
    let database = old_database();
    database.admin().batch_execute(DATA).unwrap();
    database
}

fn update(client: &mut Client) {
    client.batch_execute("alter extension memory_engine update").unwrap_or_else(|error| {
        panic!("{SCRIPT} fails: {}", Refusal::from_error(&error).message);
    });
}

/// Each thing of the extension with its definition and the statement that makes it.
fn catalogue(database: &Database) -> BTreeMap<String, (String, String)> {
    let mut client = database.admin();
    client.batch_execute("set search_path = pg_catalog").unwrap();
    let rows = client.query(CATALOGUE, &[]).unwrap();
    rows.iter()
        .map(|row| {
            let statement = row.get::<_, String>(2).replace("$libdir/memory_engine", "MODULE_PATHNAME");
            (row.get(0), (row.get::<_, Option<String>>(1).unwrap_or_default(), statement))
        })
        .collect()
}

#[test]
fn an_updated_catalogue_is_that_of_a_fresh_installation() {
    let (fresh, updated) = (Database::new(), old_database());
    update(&mut updated.admin());
    let (fresh, updated) = (catalogue(&fresh), catalogue(&updated));
    let mut faults = String::new();
    for (thing, (wanted, statement)) in &fresh {
        match updated.get(thing) {
            Some((found, _)) if found == wanted => {}
            Some((found, _)) => {
                let _ = writeln!(
                    faults,
                    "\n{thing} differs\n  updated: {found}\n  fresh:   {wanted}\n  the script lacks, for instance: {statement}"
                );
            }
            None => {
                let _ = writeln!(faults, "\n{thing} is missing\n  the script lacks: {statement}");
            }
        }
    }
    for thing in updated.keys().filter(|thing| !fresh.contains_key(*thing)) {
        let _ = writeln!(faults, "\n{thing} is left over: the script has to drop or revoke it");
    }
    assert!(faults.is_empty(), "{SCRIPT} does not lead to what a fresh installation makes:\n{faults}");
}

/// The C symbols of an installation, with the types they are declared with.
fn symbols(database: &Database) -> BTreeMap<String, String> {
    let sql = "select p.prosrc, format('(%s) returns %s%s', oidvectortypes(p.proargtypes),
          case when p.proretset then 'setof ' else '' end, p.prorettype::regtype)
        from pg_proc as p join pg_language as l on l.oid = p.prolang
        where l.lanname = 'c' and p.pronamespace = 'me'::regnamespace";
    database.admin().query(sql, &[]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[test]
fn no_symbol_of_the_library_has_got_another_signature() {
    let (fresh, old) = (symbols(&Database::new()), symbols(&old_database()));
    assert!(old.len() > 90, "only {} symbols", old.len());
    let mut faults = String::new();
    for (symbol, declared) in &old {
        if let Some(now) = fresh.get(symbol).filter(|now| *now != declared) {
            let _ = writeln!(faults, "\n{symbol}\n  {OLD}: {declared}\n  now:   {now}");
        }
    }
    assert!(
        faults.is_empty(),
        "Version {OLD} calls these symbols with other arguments than they take now. Give the new Rust function another \
         name (the name of the SQL function goes into #[pg_extern(name = …)]) and keep the old one with \
         #[pg_extern(sql = false)] (docs/development.md):\n{faults}"
    );
}

/// What the old version answered, told to differ only by what was added since.
fn differences(client: &mut Client, about: impl Fn(&str) -> bool) -> String {
    client.batch_execute("set timezone = 'UTC'").unwrap();
    let mut faults = String::new();
    for line in ANSWERS.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let sql = line["sql"].as_str().unwrap();
        if !about(sql) {
            continue;
        }
        let row = client.query_one(&format!("select ({sql})::text"), &[]);
        let fault = match row {
            Ok(row) => {
                let answer: Value = serde_json::from_str(row.get(0)).unwrap();
                matcher::differs(&line["answer"], &answer)
            }
            Err(error) => Some(format!("{:?}", Refusal::from_error(&error))),
        };
        if let Some(fault) = fault {
            let _ = writeln!(faults, "\n{sql}\n  {fault}");
        }
    }
    faults
}

#[test]
fn what_the_old_version_wrote_is_there_after_the_update_and_goes_on() {
    let database = old_database_with_data();
    let mut client = database.admin();
    let missing = "select count(*) from pg_extension_update_paths('memory_engine') where path is null
        and target = (select default_version from pg_available_extensions where name = 'memory_engine')";
    assert_eq!(
        client.query_one(missing, &[]).unwrap().get::<_, i64>(0),
        0,
        "no way from a version that is there"
    );
    update(&mut client);
    let faults = differences(&mut client, |_| true);
    assert!(faults.is_empty(), "after the update, not as {OLD} answered:\n{faults}");
    let tables = "select string_agg(status || ': ' || detail, '; ') from me.doctor() where \"check\" = 'vector tables'";
    let tables: String = client.query_one(tables, &[]).unwrap().get(0);
    assert!(tables.starts_with("ok: "), "{tables}");
    let late = client.function("memory_get_by_path", &json!({"path": "share/notes/late"})).unwrap();
    let change =
        json!({"id": late["id"], "version_hash": late["versionHash"], "content": "Changed after the update"});
    assert_eq!(client.function("memory_update", &change).unwrap()["version"], json!(2));
    let capsule = json!({"content": "Found after the update.", "source": "s", "anchor": "a", "kind": "fact"});
    let captured = client.function("capsule_ingest", &capsule).unwrap();
    assert_eq!(captured["outcomes"][0]["status"], "captured", "{captured}");
    client.function("audit_seal", &json!({})).unwrap();
    let verified = client.function("audit_verify", &json!({})).unwrap();
    assert_eq!(verified["ok"], true, "{verified}");
    let mut reader = database.connect("me_old_reader");
    assert_eq!(reader.function("memory_count", &json!({"tree": "share/notes"})).unwrap()["count"], 3);
    let denied =
        reader.function("memory_create", &json!({"content": "x", "tree": "share/notes"})).unwrap_err();
    assert_eq!(denied.kind(), "FORBIDDEN");
}

#[test]
fn a_dump_of_the_old_version_can_be_restored_into_the_new_one() {
    old_roles();
    let database = Database::new();
    let mut client = database.admin();
    client.batch_execute(DATA).unwrap();
    let faults = differences(&mut client, |_| true);
    assert!(faults.is_empty(), "restored, not as {OLD} answered:\n{faults}");
}

#[test]
fn a_new_library_reads_what_an_old_catalogue_holds_and_refuses_to_write_until_the_update() {
    let database = old_database_with_data();
    let mut client = database.admin();
    let faults = differences(&mut client, |sql| sql.contains("me.memories") || sql.contains("me.memory_get"));
    assert!(faults.is_empty(), "before the update, not as {OLD} answered:\n{faults}");
    let before = database.rows();
    let create = json!({"content": "x", "tree": "share"});
    let refused = client.function("memory_create", &create).unwrap_err();
    assert_eq!(
        (refused.kind().as_str(), refused.sqlstate.as_str()),
        ("UPDATE_REQUIRED", "55000"),
        "{refused:?}"
    );
    assert_eq!(refused.field("installed"), OLD);
    assert!(refused.hint.contains("ALTER EXTENSION memory_engine UPDATE"), "{refused:?}");
    for call in
        ["select me.capsule_ingest('c', 's', 'a')", "select me.access_grant('public', 'share', 'read')"]
    {
        let refused = client.rows_of(call).unwrap_err();
        assert_eq!(refused.kind(), "UPDATE_REQUIRED", "{call}: {refused:?}");
    }
    assert_eq!(database.rows(), before);
    // The same session goes on as soon as somebody has updated; and is held back again when that is undone.
    client.batch_execute("begin; alter extension memory_engine update").unwrap();
    client.function("memory_create", &create).unwrap();
    client.batch_execute("rollback").unwrap();
    assert_eq!(client.function("memory_create", &create).unwrap_err().kind(), "UPDATE_REQUIRED");
    update(&mut database.admin());
    client.function("memory_create", &create).unwrap();
}

/// Every function that the old version declares, called without arguments: it answers or refuses, whatever stands
/// behind its symbol now.
#[test]
fn every_function_of_an_old_catalogue_answers_or_refuses() {
    let database = old_database();
    let mut client = database.admin();
    let sql = "select p.proname::text from pg_proc as p
        where p.pronamespace = 'me'::regnamespace and p.proname !~ '^_' and p.pronargs = p.pronargdefaults order by 1";
    let functions: Vec<String> = client.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    assert!(functions.len() > 80, "only {}", functions.len());
    for function in functions {
        if let Err(refused) = client.rows_of(&format!("select me.{function}()")) {
            let known =
                ["UPDATE_REQUIRED", "VALIDATION", "NOT_FOUND", "FORBIDDEN", "EMBEDDING_NOT_CONFIGURED"];
            assert!(known.contains(&refused.kind().as_str()), "{function}: {refused:?}");
        }
    }
}

/// It has to wait for the update, and would otherwise be started again as soon as it has left.
#[test]
fn the_worker_rests_where_the_objects_are_of_another_version() {
    let database = old_database();
    let mut client = database.admin();
    let of_ours = "select backend_start::text from pg_stat_activity
        where datname = current_database() and backend_type = 'memory_engine worker'";
    let mut seen = std::collections::BTreeSet::new();
    // The launcher looks at every database again.
    client.batch_execute("select pg_reload_conf()").unwrap();
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_secs(3) {
        client.batch_execute("select pg_stat_clear_snapshot()").unwrap();
        seen.extend(client.query(of_ours, &[]).unwrap().into_iter().map(|row| row.get::<_, String>(0)));
    }
    // Another test may have the configuration read again meanwhile.
    assert!(seen.len() <= 3, "{} workers began", seen.len());
}
