//! What the worker does besides embedding, as clients see it: seals, retention, indexes, without being asked.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database};
use postgres::Client;
use serde_json::json;
use std::time::{Duration, Instant};

/// A database that is looked after a second after each write. On the rest of the server that takes an hour.
fn quick() -> Database {
    let database = Database::new();
    let set = format!("alter database \"{}\" set me.upkeep_delay = '1s'", database.name());
    database.admin().batch_execute(&set).unwrap();
    database
}

fn wait_for(client: &mut Client, what: &str, sql: &str) {
    let end = Instant::now() + Duration::from_secs(90);
    while !client.query_one(sql, &[]).unwrap().get::<_, bool>(0) {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn create(client: &mut Client, contents: impl Iterator<Item = String>) {
    let memories: Vec<_> = contents.map(|content| json!({"content": content, "tree": "share"})).collect();
    client.function("memory_batch_create", &json!({ "memories": memories })).unwrap();
}

const SEALED: &str = "select not exists (
    select from (select space, event_id from me.memory_event union all select space, event_id from me.access_event) as e
    where not exists (select from me.audit_seal as s where s.space = e.space and e.event_id = any (s.event_ids)))";
const LEFT: &str = "select not exists (select from pg_stat_activity
    where backend_type = 'memory_engine worker' and datname = current_database())";

#[test]
fn what_is_written_is_sealed_by_itself_inside_and_outside_of_spaces() {
    let database = quick();
    let mut client = database.admin();
    create(&mut client, (0..30).map(|n| format!("note {n}")));
    client.function("space_create", &json!({"slug": "second", "name": "Second"})).unwrap();
    wait_for(&mut client, "everything is sealed", SEALED);
    wait_for(&mut client, "the worker leaves", LEFT);
    for space in ["default", "second", ""] {
        let proof = client.json("me.audit_verify(space => $1)", &[&space]).unwrap();
        assert_eq!((&proof["ok"], &proof["unsealed"]), (&json!(true), &json!(0)), "{space}: {proof}");
        assert!(proof["sealed"].as_i64() > Some(0), "{space}: {proof}");
    }
}

#[test]
fn what_an_open_transaction_holds_back_is_sealed_when_it_has_ended() {
    let database = quick();
    let mut client = database.admin();
    create(&mut client, (0..3).map(|n| format!("early {n}")));
    wait_for(&mut client, "the first events are sealed", SEALED);
    let mut writer = database.admin();
    let mut open = writer.transaction().unwrap();
    open.batch_execute("select me.memory_create('undone', 'share')").unwrap();
    // A later step of the same pass shows that the worker has been there.
    client.batch_execute("update me.space set lexeme_configuration = null").unwrap();
    create(&mut client, (0..3).map(|n| format!("late {n}")));
    wait_for(&mut client, "the worker comes", "select lexeme_configuration is not null from me.space");
    let unsealed = "select count(*) from me.memory_event as e where not exists (
        select from me.audit_seal as s where s.space = e.space and e.event_id = any (s.event_ids))";
    assert_eq!(client.query_one(unsealed, &[]).unwrap().get::<_, i64>(0), 3);
    // Nobody commits anything any more.
    open.rollback().unwrap();
    wait_for(&mut client, "the rest is sealed", SEALED);
}

#[test]
fn history_and_queue_are_pruned_by_themselves() {
    let database = quick();
    let mut client = database.admin();
    client
        .batch_execute(&format!(
            "alter database \"{}\" set me.history_retention = '2 seconds'",
            database.name()
        ))
        .unwrap();
    client
        .batch_execute(
            "select me.embedding_model_add('mine', 'manual', 2);
             select me.embedding_model_use('mine');
             select me.memory_create('first', 'share', name => 'n');
             select me.memory_create('second', 'share', name => 'n', on_conflict => 'replace');
             update me.embedding_queue set outcome = 'cancelled', finished_at = now() - interval '8 days',
               created_at = now() - interval '8 days' where content_version = 1;
             select me.memory_create('third', 'share', name => 'n', on_conflict => 'replace')",
        )
        .unwrap();
    wait_for(&mut client, "old versions go", "select count(*) = 1 from me.memory_event");
    wait_for(&mut client, "old entries go", "select min(content_version) = 2 from me.embedding_queue");
    let proof = client.json("me.audit_verify()", &[]).unwrap();
    assert_eq!(proof["ok"], json!(true), "{proof}");
    assert_eq!(
        client.json("me.memory_history(path => 'share/n')->'events'->0->'version'", &[]),
        Ok(json!(3))
    );
}

#[test]
fn what_many_capsules_hold_is_packed_by_itself() {
    let database = quick();
    let mut client = database.admin();
    let items: Vec<_> = (0..80)
        .map(|n| json!({"content": format!("pump number {n}"), "source": "s", "anchor": "a"}))
        .collect();
    client.function("capsule_ingest", &json!({ "items": items })).unwrap();
    // Not where tables are cut into partitions, whose rows are not read by key.
    let packed = "select count(*) = 2 or (select relkind <> 'r' from pg_class where oid = 'me.capsule_posting'::regclass)
        from me.capsule_posting where token in ('pump', 'number') and last_seq = 80";
    wait_for(&mut client, "words are packed", packed);
    wait_for(&mut client, "the worker leaves", LEFT);
    assert_eq!(client.json("me.capsule_retrieve(array['pump'])->'matched'", &[]), Ok(json!(80)));
}

#[test]
fn a_space_is_indexed_anew_by_itself() {
    let database = quick();
    let mut client = database.admin();
    create(&mut client, (0..600).map(|n| format!("the running number {n}")));
    wait_for(
        &mut client,
        "the space is looked through",
        "select lexeme_configuration is not null from me.space",
    );
    // As after a restore into a server with other settings: nobody asked for it.
    client.batch_execute("update me.space set text_config = 'simple'").unwrap();
    create(&mut client, ["another".to_owned()].into_iter());
    let done = "select lexeme_configuration = me._fulltext_configuration(text_config, fulltext_fields) from me.space";
    wait_for(&mut client, "the space is indexed anew", done);
    // A stop word no more.
    let found =
        "select count(*) from me.memory_lexeme as l, unnest(l.lexemes) as x where x.lexeme like '%the'";
    assert_eq!(client.query_one(found, &[]).unwrap().get::<_, i64>(0), 600);
}

#[test]
fn a_step_that_fails_holds_up_no_other() {
    let database = quick();
    let mut client = database.admin();
    client
        .batch_execute(
            "select me.embedding_model_add('static', 'local', 256, '{\"path\": \"wordllama-256\"}');
             select me.embedding_model_use('static');
             select me.space_create('broken', 'broken');
             select me.memory_create('a', 'share', space => 'broken');
             update me.space set text_config = 'no.such' where slug = 'broken'",
        )
        .unwrap();
    create(&mut client, (0..10).map(|n| format!("note {n}")));
    wait_for(&mut client, "the queue drains", "select (me.embedding_status()->>'pending')::int = 0");
    wait_for(&mut client, "everything is sealed", SEALED);
    wait_for(
        &mut client,
        "the other space is looked through",
        "select bool_and((lexeme_configuration is null) = (slug = 'broken')) from me.space",
    );
    assert_eq!(
        client
            .query_one("select count(*) from me.embedding_queue where outcome = 'completed'", &[])
            .unwrap()
            .get::<_, i64>(0),
        10
    );
}
