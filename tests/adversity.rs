//! What stops a call in its middle, and what is left then: a timeout, a lock that does not come, a cancel, a connection
//! that is cut, no connection at all, a worker that is stopped. A clear error, nothing half done, and work goes on.
//! A full disk has a script, `scripts/disk-full`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::seed::{Sum, checksums, plant, wait_for};
use common::server::Server;
use common::{Calls, Database};
use postgres::Client;
use std::collections::BTreeMap;
use std::thread;

/// One call of every kind, small.
const CALLS: [&str; 37] = [
    "select me.memory_create('a new text', 'share/new', name => 'n', meta => '{\"k\": 1}')",
    "set local me.embed_sync = on; select me.memory_create('a text with its vector', 'share/new')",
    "select me.memory_create('A loose note', 'share/ops', name => 'keys', on_conflict => 'replace')",
    "select me.memory_batch_create((select jsonb_agg(jsonb_build_object('content', 'text ' || n, 'tree', 'share/b', 'name', 'n' || n)) from generate_series(1, 5) as n))",
    "select me.memory_import((select jsonb_agg(jsonb_build_object('content', 'text ' || n, 'tree', 'share/b')) from generate_series(1, 5) as n)::text)",
    "select me.memory_update((m ->> 'id')::uuid, m ->> 'versionHash', content => 'changed', tree => 'share/elsewhere') from me.memory_get_by_path('share/ops/keys') as m",
    "select me.memory_update((m ->> 'id')::uuid, m ->> 'versionHash', meta_patch => '{\"n\": 3}') from me.memory_get_by_path('share/ops/keys') as m",
    "select me.memory_revert(1, path => 'share/ops/snapshots.md')",
    "select me.memory_copy('share/batch', 'share/copy', false)",
    "select me.memory_mv('share/batch', 'share/moved', false)",
    "select me.memory_mv('share/ops', 'share/ops/deeper', false)",
    "select me.memory_delete_by_path('share/ops/keys')",
    "select me.memory_delete_tree('share/batch', false)",
    "select me.memory_delete_orphans('share/ops', '{\"topic\": \"backup\"}', '[]', false)",
    "select me.memory_purge((m ->> 'id')::uuid, 'x') from me.memory_get_by_path('share/ops/keys') as m",
    "select me.memory_search(fulltext => 'pump memory')",
    "select me.memory_search(semantic => 'copies kept elsewhere')",
    "select me.memory_search(semantic => 'copies', fulltext => 'pump', fusion => 'blend')",
    "select me.memory_search(grep => 'n.mber', tree => 'share.*')",
    "select me.memory_export('json', tree => 'share'), me.memory_history(tree => 'share')",
    "select count(*) from me.memory_export_rows('share')",
    "select count(*), count(has_embedding) from me.memories",
    "select me.capsule_ingest(content => 'The valve sticks.', source => 's', anchor => 'a:1', project_id => 'plant')",
    "select me.capsule_forget('cap-2', 'redacted', 'x')",
    "select me.capsule_retrieve(terms => '{pump}', project_prefix => 'plant')",
    "select me.capsule_consolidate(true)",
    "select me.capsule_import('project-claude-md', files => '{\"CLAUDE.md\": \"# Guide\\n\\nAnother piece of advice.\"}')",
    "select me.search_reindex()",
    "select me.embed_pending(10)",
    "select me.embedding_set((m ->> 'id')::uuid, array[0, 1, 0]::real[], space => 'lab') from me.memory_get_by_path('versuch/p1', space => 'lab') as m",
    "select me.embedding_model_use('own')",
    "select me.audit_seal()",
    "select me.lexical_maintain()",
    "select me.space_create('another'), me.space_configure(text_config => 'german', space => 'another'), me.space_drop('lab')",
    "select me.space_configure(text_config => 'german')",
    "select me.access_grant('me_reader', 'share', 'write'), me.space_member_remove('me_reader', space => 'lab')",
    "select me.api_key_create('me_reader', 'another')",
];

/// Runs a call within a savepoint that is taken back, and answers with its SQLSTATE, if it had to end.
fn taken_back(client: &mut Client, call: &str) -> Option<String> {
    client.batch_execute("savepoint before").unwrap();
    let state = client.rows_of(call).err().map(|refusal| {
        assert!(!refusal.message.is_empty(), "{call}: {refusal:?}");
        refusal.sqlstate
    });
    client.batch_execute("rollback to before").unwrap();
    state
}

fn seeded() -> (Database, Client) {
    let database = Database::new();
    let mut client = database.admin();
    plant(&mut client);
    (database, client)
}

/// A checksum of every table but those that the worker writes by itself, at its time; so it does in a column of a space.
fn written(client: &mut Client) -> Vec<Sum> {
    let own =
        |table: &str| table == "me.audit_seal" || table == "me.space" || table.starts_with("me.lexical");
    let mut sums: Vec<Sum> = checksums(client).into_iter().filter(|(table, ..)| !own(table)).collect();
    let spaces = "select count(*), string_agg((to_jsonb(s) - 'lexeme_configuration')::text, '' order by s.slug) from me.space as s";
    let spaces = client.query_one(spaces, &[]).unwrap();
    sums.push(("me.space".into(), spaces.get(0), spaces.get(1)));
    sums
}

fn same(before: &[Sum], after: &[Sum]) {
    let differ: Vec<_> = before.iter().zip(after).filter(|(before, after)| before != after).collect();
    assert!(differ.is_empty() && before.len() == after.len(), "half done: {differ:?}");
}

/// Each call meets each table of the extension locked by another session: so each is stopped wherever it goes.
#[test]
fn a_lock_that_does_not_come_leaves_nothing_half_done() {
    let (database, mut client) = seeded();
    let tables = "select c.relname::text from pg_class as c where c.relnamespace = 'me'::regnamespace and c.relkind = 'r' order by 1";
    let tables: Vec<String> = client.query(tables, &[]).unwrap().into_iter().map(|row| row.get(0)).collect();
    let before = written(&mut client);
    let mut holder = database.admin();
    let mut stopped: BTreeMap<&str, usize> = BTreeMap::new();
    for table in &tables {
        holder.batch_execute(&format!("begin; lock table me.\"{table}\" in access exclusive mode")).unwrap();
        client.batch_execute("begin; set local lock_timeout = '2ms'").unwrap();
        for call in CALLS {
            match taken_back(&mut client, call).as_deref() {
                None => {}
                Some("55P03") => *stopped.entry(call).or_default() += 1,
                Some(other) => panic!("{call} with {table} locked: {other}"),
            }
        }
        client.batch_execute("commit").unwrap();
        holder.batch_execute("rollback").unwrap();
    }
    same(&before, &written(&mut client));
    for call in CALLS {
        assert!(stopped.get(call).is_some_and(|times| *times > 1), "{call} was never stopped");
    }
    all_work(&mut client);
}

/// Each call of this session works, as if nothing had been.
fn all_work(client: &mut Client) {
    client.batch_execute("begin").unwrap();
    for call in CALLS {
        assert_eq!(taken_back(client, call), None, "{call}");
    }
    client.batch_execute("rollback").unwrap();
}

/// Time runs out earlier and later, in calls that take their time.
#[test]
fn a_call_whose_time_is_over_leaves_nothing_half_done() {
    let (_database, mut client) = seeded();
    client
        .batch_execute(
            "select count(me.memory_batch_create((select jsonb_agg(jsonb_build_object('content', 'bulk text ' || n || ' of batch ' || b,
               'tree', 'share/bulk/b' || b, 'name', 'n' || n)) from generate_series(1, 50) as n))) from generate_series(1, 6) as b",
        )
        .unwrap();
    wait_for(&mut client, "select (me.embedding_status()->>'pending')::int = 0");
    let long = [
        "select me.memory_batch_create((select jsonb_agg(jsonb_build_object('content', 'text ' || n, 'tree', 'share/b', 'name', 'n' || n)) from generate_series(1, 500) as n))",
        "set local me.embed_sync = on; select me.memory_batch_create((select jsonb_agg(jsonb_build_object('content', 'text ' || n, 'tree', 'share/b')) from generate_series(1, 200) as n))",
        "select me.memory_import((select string_agg('{\"content\": \"text ' || n || '\", \"tree\": \"share/b\"}', E'\\n') from generate_series(1, 500) as n), format => 'json')",
        "select me.memory_copy('share/bulk', 'share/copy', false)",
        "select me.memory_mv('share/bulk', 'share/moved', false)",
        "select me.memory_mv('share/bulk', 'share/bulk/deeper', false)",
        "select me.memory_delete_tree('share/bulk', false)",
        "select me.search_reindex()",
        "select me.memory_search(semantic => 'bulk text', fulltext => 'bulk text batch', fusion => 'blend', \"limit\" => 200)",
        "select me.memory_search(grep => '(b|bu)*lk.*(text|t).*9', tree => 'share.*{1,}')",
        "select me.memory_export('yaml', tree => 'share', \"limit\" => 1000)",
        "select count(*) from me.memory_export_rows('share')",
        "select me.capsule_import('project-claude-md', files => jsonb_build_object('CLAUDE.md', (select string_agg('## Part ' || n || E'\\n\\nAdvice number ' || n || E'\\n', E'\\n') from generate_series(1, 60) as n)))",
        "select me.capsule_consolidate(true)",
        "select me.audit_seal(), me.audit_verify()",
        "select me.space_drop('default')",
    ];
    let before = written(&mut client);
    let mut stopped: BTreeMap<&str, usize> = BTreeMap::new();
    for call in long {
        for milliseconds in [1, 3, 7, 15, 31, 63] {
            client.batch_execute("begin").unwrap();
            let timed = format!("set local statement_timeout = '{milliseconds}ms'; {call}");
            // The timeout is that of one message: what is set in it counts from the next one on.
            client.batch_execute(&format!("set local statement_timeout = '{milliseconds}ms'")).unwrap();
            let state = client.rows_of(call).err().map(|refusal| refusal.sqlstate);
            // It is that of the way back too, where the call has come to its end.
            while let Err(error) = client.batch_execute("rollback") {
                assert_eq!(
                    error.code(),
                    Some(&postgres::error::SqlState::QUERY_CANCELED),
                    "{timed}: {error:?}"
                );
            }
            match state.as_deref() {
                None => break,
                Some("57014") => *stopped.entry(call).or_default() += 1,
                Some(other) => panic!("{timed}: {other}"),
            }
        }
    }
    same(&before, &written(&mut client));
    assert!(stopped.len() > 10, "{stopped:?}");
    all_work(&mut client);
}

/// A call that waits for a row is cancelled, or its connection is cut; and once it may go on.
#[test]
fn a_call_that_is_cancelled_or_cut_off_leaves_nothing_half_done() {
    let (database, mut client) = seeded();
    let waiting = [
        "select me.memory_update((m ->> 'id')::uuid, m ->> 'versionHash', content => 'changed') from me.memory_get_by_path('share/ops/keys') as m",
        "select me.memory_batch_create('[{\"content\": \"a\", \"tree\": \"share/ops\", \"name\": \"a\"}, {\"content\": \"b\", \"tree\": \"share/ops\", \"name\": \"keys\"}]', on_conflict => 'replace')",
        "select me.memory_mv('share/ops', 'share/away', false)",
        "select me.memory_delete_tree('share', false)",
        "select me.memory_purge((m ->> 'id')::uuid, 'x') from me.memory_get_by_path('share/ops/keys') as m",
        "select me.space_drop('default')",
    ];
    let before = written(&mut client);
    let mut holder = database.admin();
    for call in waiting {
        for how in ["pg_cancel_backend", "pg_terminate_backend"] {
            holder
                .batch_execute("begin; select from me.memory where name = 'keys' for update; select from me.space for update")
                .unwrap();
            thread::scope(|scope| {
                let hanging = scope.spawn(|| {
                    let mut client = database.admin();
                    let outcome = client.simple_query(call).map(|_| ());
                    let state = outcome
                        .as_ref()
                        .err()
                        .and_then(|error| error.code())
                        .map(|code| code.code().to_owned());
                    // A cancelled session goes on; one that was cut off is gone.
                    let lives = client.simple_query("select me.memory_count('share')").is_ok();
                    (outcome.is_err(), state, lives)
                });
                wait_for(
                    &mut client,
                    "select count(*) = 1 from pg_stat_activity where datname = current_database()
                       and wait_event_type = 'Lock' and backend_type = 'client backend'",
                );
                client
                    .batch_execute(&format!(
                        "select {how}(pid) from pg_stat_activity where datname = current_database()
                           and wait_event_type = 'Lock' and backend_type = 'client backend'"
                    ))
                    .unwrap();
                let (failed, state, lives) = hanging.join().unwrap();
                assert!(failed, "{call}: {how}");
                match how {
                    "pg_cancel_backend" => {
                        assert_eq!((state.as_deref(), lives), (Some("57014"), true), "{call}")
                    }
                    _ => assert!(!lives && state.is_none_or(|state| state == "57P01"), "{call}"),
                }
            });
            holder.batch_execute("rollback").unwrap();
        }
    }
    same(&before, &written(&mut client));
    wait_for(
        &mut client,
        "select not exists (select from pg_locks as l where l.pid <> pg_backend_pid() and (l.locktype = 'advisory'
           or l.relation in (select oid from pg_class where relnamespace = 'me'::regnamespace and relkind = 'r'))
           and l.database = (select oid from pg_database where datname = current_database()))",
    );
    all_work(&mut client);
}

/// No connection is left, the worker is stopped in every way short of a crash: what was written is embedded in the end.
#[test]
fn the_worker_comes_back_and_needs_no_connection_of_clients() {
    let server = Server::new("max_connections = 6\nsuperuser_reserved_connections = 1\nme.worker_idle = 1s");
    let mut client = server.connect("postgres");
    client
        .batch_execute(
            "create extension memory_engine cascade;
             select me.embedding_model_add('static', 'local', 256, '{\"path\": \"wordllama-256\"}'), me.embedding_model_use('static')",
        )
        .unwrap();
    // All slots are taken; the last one refuses in the server's words.
    let mut others = Vec::new();
    while let Some(other) = server.try_connect("postgres") {
        others.push(other);
        assert!(others.len() < 10, "there is always another one");
    }
    let drained = "select (me.embedding_status()->>'pending')::int = 0";
    client.batch_execute("select me.memory_create('written while no connection was left', 'share')").unwrap();
    wait_for(&mut client, drained);
    drop(others);
    // Stopped as an operator would, while there is work; the session that writes learns nothing of it.
    for (round, how) in ["pg_cancel_backend", "pg_terminate_backend"].into_iter().enumerate() {
        let write = format!(
            "select count(me.memory_batch_create((select jsonb_agg(jsonb_build_object('content', 'round {round} text ' || b || ' ' || n, 'tree', 'share'))
               from generate_series(1, 100) as n))) from generate_series(1, 3) as b"
        );
        client.batch_execute(&write).unwrap();
        let stop = format!(
            "select count({how}(pid)) from pg_stat_activity where backend_type like 'memory_engine%'"
        );
        let stopped: i64 = client.query_one(&stop, &[]).unwrap().get(0);
        assert!(stopped > 0 || round > 0, "there was nobody to stop");
    }
    wait_for(&mut client, drained);
    let unlike = "select count(*) from me.memory as m where not exists
                    (select from me.embedded as e where e.memory_id = m.id and e.content_version = m.content_version)";
    assert_eq!(client.query_one(unlike, &[]).unwrap().get::<_, i64>(0), 0);
    let failed = "select count(*) from me.embedding_queue where outcome = 'failed'";
    assert_eq!(client.query_one(failed, &[]).unwrap().get::<_, i64>(0), 0, "to be stopped is nobody's fault");
    assert_eq!(client.json("me.audit_verify() -> 'ok'", &[]).unwrap(), true);
}
