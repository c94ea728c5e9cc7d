//! A role with SQL and bad intentions: every test is a kind of attempt, and what it must come to. `docs/security.md`
//! lists them; hostile arguments, look-alikes under a search path and random worlds of rights have tests of their own
//! (`bad_input`, `hostile.sql`, `access_model`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::vault::{ABSENT, CANARY, HIDDEN, Vault, text};
use common::{Calls, config};
use postgres::{Client, NoTls};
use std::sync::{Arc, Mutex};

/// Operators and functions beside those of ltree and pgvector, in their own schema, for every pair of types that a
/// statement might be resolved to. Ours run as the owner: one of these among them would run as a superuser.
#[test]
fn look_alikes_in_the_schema_of_ltree_and_pgvector_are_never_taken() {
    let vault = Vault::new();
    let mut stranger = vault.database.connect(&vault.stranger);
    stranger
        .batch_execute(
            "do $plant$
             declare
               o record; l text; r text; n int := 0; body text := 'begin raise exception ''planted''; end';
               types text[] := '{text,varchar,bigint,anyelement,anyarray,ltree,ltree[],lquery,ltxtquery,halfvec,vector,real[]}';
             begin
               foreach l in array types loop
                 foreach r in array types loop
                   begin
                     execute format('create function public.planted(%s, %s) returns bool language plpgsql as %L', l, r, body);
                   exception when others then null;
                   end;
                 end loop;
               end loop;
               for o in select distinct p.oprname from pg_operator as p
                 where p.oprnamespace = 'public'::regnamespace and p.oprkind = 'b'
               loop
                 foreach l in array types loop
                   foreach r in array types loop
                     begin
                       execute format('create operator public.%s (function = public.planted, leftarg = %s, rightarg = %s)',
                         o.oprname, l, r);
                       n := n + 1;
                     exception when others then null;
                     end;
                   end loop;
                 end loop;
               end loop;
               for o in select p.proname, p.pronargs, p.proargtypes::oid[] as of from pg_proc as p
                 where p.pronamespace = 'public'::regnamespace and p.proowner <> 'public'::regnamespace::oid
                   and p.prokind = 'f' and p.pronargs between 1 and 3 and p.proname <> 'planted'
               loop
                 foreach r in array array['text', 'bigint', 'smallint', 'anyelement', 'ltree', 'vector', 'halfvec'] loop
                   begin
                     execute format('create function public.%I(%s) returns bool language plpgsql as %L', o.proname,
                       (select string_agg(case when i = 1 then r else format_type(t, null) end, ', ' order by i)
                        from unnest(o.of) with ordinality as a (t, i)), body);
                     n := n + 1;
                   exception when others then null;
                   end;
                 end loop;
               end loop;
               if n < 1500 then raise exception 'only % planted', n; end if;
             end $plant$",
        )
        .unwrap();
    // They are found by whoever asks in that schema: by statements that are none of ours.
    let found = stranger.rows_of("select 'a'::text operator(public.<@) 'a'::text").unwrap_err();
    assert_eq!(found.message, "planted");

    // Sessions that make their plans now, of a superuser and of a member: calls of every kind.
    let calls = [
        "select me.memory_create('one two three', '/open/a', name => 'n', meta => '{\"k\": [1]}', temporal => '{\"start\": \"2025-01-01T00:00Z\"}')",
        "select me.memory_batch_create('[{\"content\": \"a\", \"tree\": \"/open/b\"}, {\"content\": \"b\", \"tree\": \"/open/b\", \"name\": \"x\"}]', on_conflict => 'ignore')",
        "select me.memory_get_by_path('/open/a/n'), me.memory_get_by_path('/open/a/n', as_of => clock_timestamp())",
        "select me.memory_update((m ->> 'id')::uuid, m ->> 'versionHash', content => 'one two four', tree => '/open/c') from me.memory_get_by_path('/open/a/n') as m",
        "select me.memory_update((m ->> 'id')::uuid, m ->> 'versionHash', meta_patch => '{\"k\": null}') from me.memory_get_by_path('/open/c/n') as m",
        "select me.memory_revert(1, path => '/open/c/n')",
        "select me.memory_history(tree => '/open'), me.memory_history(path => '/open/a/n')",
        "select me.memory_count('/open'), me.memory_count('/open/*'), me.memory_count('open & fill'), me.memory_count('*.fill|a.*{0,2}'), me.memory_tree('/')",
        "select me.memory_search(fulltext => 'two number', tree => '/open', meta => '{}', meta_predicate => '$.k == 1 || 1 == 1', temporal => '{\"after\": \"2020-01-01T00:00Z\"}', grep => 'o')",
        "select me.memory_search(embedding => '{1,0}', tree => 'open.*'), me.memory_search(embedding => '{1,0}', fulltext => 'number', fusion => 'blend'), me.search_explain(embedding => '{1,0}', fulltext => 'number')",
        "select count(*) from me.search(embedding => '{1,0}', fulltext => 'number')",
        "select me.memory_copy('/open/fill', '/open/copied', false), me.memory_mv('/open/copied', '/open/moved', false), me.memory_mv('/open/moved', '/open/moved/deeper', false)",
        "select me.memory_delete_orphans('/open/moved', '{\"k\": 1}', '[]', false), me.memory_delete_tree('/open/moved', false)",
        "select me.embedding_set((m ->> 'id')::uuid, '{0,1}') from me.memory_get_by_path('/open/a/n') as m",
        "select me.memory_import('[{\"content\": \"i\", \"tree\": \"/open/i\", \"name\": \"i\"}]'), me.memory_export('json', tree => '/open/i'), me.memory_export_files(tree => '/open/i')",
        "select count(*) from me.memory_export_rows('/open')",
        "select count(*), count(tree), count(has_embedding) from me.memories where tree like '/open%'",
        "select count(*), count(tree) from me.memory_events",
        "select count(*) from me.embedding_queue_status, me.stat_spaces",
        "select me.capsule_ingest('the pump needs oil', source => 's', anchor => 'a:1', project_id => 'open')",
        "select me.capsule_retrieve(terms => '{pump,oil}', project_prefix => 'open'), me.capsule_list(), me.capsule_digest(), me.capsule_verify(), me.capsule_consolidate(true)",
        "select me.capsule_bootstrap(terms => '{pump}'), me.capsule_export(), me.capsule_dump(), me.capsule_visual(view => 'relations')",
        "select me.capsule_relate('supports', 'cap-2', 'cap-2')",
        "select me.capsule_forget('cap-2', 'purged', 'x')",
        "select me.memory_context(), me.space_list(), me.access_list(tree => '~'), me.embedding_status()",
        "select me.memory_purge((m ->> 'id')::uuid, 'x') from me.memory_get_by_path('/open/a/n') as m",
        "select me.memory_delete_by_path('/open/i/i')",
        "select me.access_grant(current_user, '/open/z', 'read'), me.access_revoke(current_user, '/open/z')",
        "select me.search_reindex()",
        "select me.audit_seal(), me.audit_verify()",
        "select count(*) from me.doctor()",
        "select me.embed_pending(5)",
        "select me.space_create('other'), me.space_drop('other')",
    ];
    for role in [common::superuser(), vault.member.clone()] {
        let mut client = vault.database.connect(&role);
        client.batch_execute("set me.space = 'vault'").unwrap();
        let mut answered = 0;
        for sql in calls {
            match client.rows_of(sql) {
                Ok(_) => answered += 1,
                Err(refusal) => assert!(!refusal.message.contains("planted"), "{role}, {sql}: {refusal:?}"),
            }
        }
        assert!(answered > 18, "{role}: {answered} of {} answered", calls.len());
    }
}

/// EXPLAIN ANALYZE counts the rows that each step lets through. A condition that the server tries on hidden rows would
/// find out their text by halving.
#[test]
fn explain_tells_nothing_of_what_hidden_rows_hold() {
    let vault = Vault::new();
    let mut member = vault.member();
    let conditions = [
        // What holds for the hidden memory, and what holds for none.
        (
            "content >= 'the launch' and content < 'the launchz'",
            "content >= 'the zaunch' and content < 'the zaunchz'",
        ),
        ("name = 'launch'", "name = 'zaunch'"),
        ("name > 'la' and name < 'lb'", "name > 'za' and name < 'zb'"),
        ("name = 'launch' and content > 'the l'", "name = 'zaunch' and content > 'the l'"),
        ("tree = '/secret/ops'", "tree = '/zecret/ops'"),
        ("version = 1 and name = 'launch'", "version = 1 and name = 'zaunch'"),
        ("created_by = 'postgres' and name = 'launch'", "created_by = 'postgres' and name = 'zaunch'"),
        ("space = 'vault' and name = 'launch'", "space = 'vault' and name = 'zaunch'"),
    ];
    let plans = [
        "",
        "set local enable_indexscan = off; set local enable_bitmapscan = off; set local enable_indexonlyscan = off",
        "set local enable_nestloop = off; set local enable_indexscan = off; set local enable_bitmapscan = off",
        "set local enable_hashjoin = off; set local enable_mergejoin = off; set local enable_seqscan = off",
        "set local enable_nestloop = off; set local enable_hashjoin = off",
    ];
    for view in ["me.memories", "me.memory_events"] {
        for plan in plans {
            let mut explain = |condition: &str| {
                member.batch_execute(&format!("begin; {plan}")).unwrap();
                let sql = format!(
                    "explain (analyze, buffers off, timing off, summary off) select 1 from {view} where {condition}"
                );
                let told = text(&mut member, &sql);
                member.batch_execute("rollback").unwrap();
                told
            };
            for (holds, fails) in conditions {
                if view == "me.memories" || !holds.contains("created_by") {
                    let (holds, fails) = (explain(holds), explain(fails));
                    let told = holds.replace("launch", "zaunch").replace("secret", "zecret");
                    let (told, fails) = (
                        told.replace("'la'", "'za'").replace("'lb'", "'zb'"),
                        fails.replace("secret", "zecret"),
                    );
                    assert_eq!(told, fails, "{view} {plan}");
                }
            }
        }
    }
    // What the planner expects says nothing of them either.
    for condition in ["content = '{}'", "name = '{}'", "space = '{}'", "created_by = '{}'"] {
        let expected = |client: &mut Client, value: &str| {
            let condition = condition.replace("{}", value);
            let plan = text(client, &format!("explain select 1 from me.memories where {condition}"));
            plan.replace(value, "")
        };
        if condition.starts_with("created_by") {
            continue;
        }
        let known = if condition.starts_with("space") { "default" } else { "launch" };
        assert_eq!(expected(&mut member, known), expected(&mut member, "zaunch"), "{condition}");
    }
}

/// Functions and operators of the caller's own, as cheap as they can be declared, in every place of a query.
#[test]
fn conditions_of_ones_own_meet_no_hidden_row() {
    let vault = Vault::new();
    let mut member = vault.member();
    member
        .batch_execute(
            "create temporary table seen (what text);
             create function pg_temp.look(what text) returns bool cost 0.0000001 language plpgsql volatile as
               $$ begin insert into pg_temp.seen values (what); return true; end $$;
             create function pg_temp.look_two(a text, b text) returns bool cost 0.0000001 language plpgsql volatile as
               $$ begin insert into pg_temp.seen values (a), (b); return true; end $$;
             create function pg_temp.look_json(what jsonb) returns text cost 0.0000001 language plpgsql volatile as
               $$ begin insert into pg_temp.seen values (what::text); return what::text; end $$;
             create function public.look_at_me(a text, b text) returns bool cost 0.0000001 language plpgsql stable as
               $$ begin if a like '%code%' then raise exception 'seen: %', a; end if; return true; end $$;
             create operator public.=== (function = public.look_at_me, leftarg = text, rightarg = text,
               restrict = eqsel, join = eqjoinsel);
             create domain public.mine as text check (value not like '%code%');
             create table public.words (word text); insert into public.words values ('x'), ('the launch code')",
        )
        .unwrap();
    for sql in [
        "select count(*) from {view} where pg_temp.look(content)",
        "select count(*) from {view} where pg_temp.look_two(name, tree) or content like '%code%'",
        "select count(*) from {view} where pg_temp.look_json(meta) is not null",
        "select count(*) from {view} where content operator(public.===) 'x'",
        "select count(*) from {view} where content::public.mine is not null",
        "select count(*) from {view} where meta::text::public.mine is not null order by 1",
        "select count(*) from {view} join public.words on content operator(public.===) word",
        "select count(*) from {view} where (meta ->> 'owner')::public.mine is not null",
        "select count(*) from {view} where (1 / (case when content like '%code%' then 0 else 1 end)) = 1",
        "select count(*) from {view} where content ~ repeat('(', case when content like '%code%' then 1 else 0 end)",
        "select max(pg_temp.look_json(meta)) from {view} group by pg_temp.look(content) having pg_temp.look(max_name)",
        "select count(*) filter (where pg_temp.look(content)) from {view}",
        "select (v).* from (select m as v from {view} as m where pg_temp.look((m).content)) as s",
        "select count(*) from {view} as m where pg_temp.look(m::text)",
        "declare c cursor for select content from {view} where pg_temp.look(content)",
        "prepare p as select count(*) from {view} where pg_temp.look(content); execute p; deallocate p",
    ] {
        for view in ["me.memories", "me.memory_events"] {
            let sql = sql.replace("{view}", view).replace("max_name", "max(name)");
            member.batch_execute("begin; set local enable_nestloop = off").unwrap();
            let answer = member
                .rows_of(&sql)
                .map_err(|refusal| assert!(!refusal.message.contains(CANARY), "{sql}: {refusal:?}"));
            assert!(answer.is_ok(), "{sql}");
            if sql.starts_with("declare") {
                text(&mut member, "fetch all from c");
            }
            assert_eq!(
                text(
                    &mut member,
                    "select count(*) from pg_temp.seen where what like '%code%' or what like '%secret%'"
                ),
                "0",
                "{sql}"
            );
            member.batch_execute("rollback").unwrap();
        }
    }
    // A plan that a superuser made in this session, or a view of a superuser's, shows no more either.
    let mut admin = vault.database.admin();
    admin
        .batch_execute(
            "create view public.through as select * from me.memories; grant select on public.through to public;
             prepare p as select count(*) from me.memories; prepare q as select me.memory_count('*', space => 'vault') -> 'count'"
        )
        .unwrap();
    assert_ne!(text(&mut admin, "execute p"), "10");
    admin.batch_execute(&format!("set role \"{}\"", vault.member)).unwrap();
    for sql in ["execute p", "execute q", "select count(*) from public.through"] {
        assert_eq!(text(&mut admin, sql), "10", "{sql}");
    }
}

/// Settings that anybody may switch on print statements and plans, with values, to the client.
#[test]
fn no_setting_shows_what_our_statements_work_with() {
    let vault = Vault::new();
    let said = Arc::new(Mutex::new(Vec::new()));
    let notices = said.clone();
    let mut member = config(vault.database.name(), &vault.member)
        .notice_callback(move |notice| {
            notices.lock().unwrap().push(format!("{} {:?}", notice.message(), notice.detail()))
        })
        .connect(NoTls)
        .unwrap();
    member
        .batch_execute(
            "set me.space = 'vault'; select me.capsule_ingest('to be forgotten', source => 's', anchor => 'a:1', project_id => 'open');
             set debug_print_parse = on; set debug_print_rewritten = on; set debug_print_plan = on; set debug_pretty_print = off;
             set trace_sort = on; set client_min_messages = log",
        )
        .unwrap();
    let own = |said: &Mutex<Vec<String>>| {
        let said = std::mem::take(&mut *said.lock().unwrap());
        said.into_iter()
            .filter(|notice| !notice.contains("parse tree") && !notice.contains("rewritten"))
            .collect::<Vec<_>>()
    };
    for sql in [
        "select me.capsule_forget('cap-2', 'purged', 'because')",
        "select me.memory_create('x', '/open', name => 'x')",
        "select me.memory_search(fulltext => 'number', embedding => '{1,0}')",
        "select me.memory_mv('/open/fill', '/open/filled', false)",
        "select me.memory_context()",
    ] {
        own(&said);
        member.batch_execute(sql).unwrap();
        let said = own(&said);
        assert_eq!(said.len(), 1, "{sql}: only the plan of the caller's own statement: {said:#?}");
    }
    let mut admin = vault.database.admin();
    assert_eq!(text(&mut admin, "select count(*) from me.capsule_secret where space = 'vault'"), "1");
    // And afterwards they are what they were.
    assert_eq!(text(&mut member, "show debug_print_plan"), "on");
}

/// Whoever may run SQL may take any advisory lock, and learns in pg_locks which ones others hold.
#[test]
fn locks_that_anybody_may_take_hold_nobody_up() {
    let vault = Vault::new();
    let (mut mover, mut admin) = (vault.member(), vault.database.admin());
    let mut stranger = vault.database.connect(&vault.stranger);
    // Everything that is held by number while subtrees move and what belongs to no space is sealed.
    mover.batch_execute("begin; select me.memory_mv('/open/fill', '/open/filled', false)").unwrap();
    admin.batch_execute("begin; select me.audit_seal('')").unwrap();
    let held = "select classid::bigint, objid::bigint from pg_locks where locktype = 'advisory'
                and database = (select oid from pg_database where datname = current_database()) order by 1, 2";
    let held = stranger.query(held, &[]).unwrap();
    assert!(held.len() >= 2, "they hold locks of their own");
    mover.batch_execute("commit").unwrap();
    admin.batch_execute("commit").unwrap();
    let mut numbers: Vec<(i64, i64)> = held.iter().map(|row| (row.get(0), row.get(1))).collect();
    numbers.extend([(1_835_361_639, 1), (1_835_361_639, 2)]);
    for (first, second) in numbers {
        let take = format!(
            "select pg_advisory_lock({first}::bit(32)::int, {second}::bit(32)::int), pg_advisory_lock(({first}::bigint << 32) | {second}::bigint)"
        );
        stranger.rows_of(&take).unwrap_or_else(|refusal| panic!("{take}: {refusal:?}"));
    }
    for (client, sql) in [
        (&mut mover, "select me.memory_mv('/open/filled', '/open/fill', false)"),
        (
            &mut admin,
            "select me.audit_seal(''); select me.memory_delete_tree('/secret/fill', false, space => 'vault')",
        ),
    ] {
        client.batch_execute("set lock_timeout = '30s'").unwrap();
        text(client, sql);
    }
    // The worker comes too, if there is one.
    admin
        .batch_execute(
            "select me.space_create('words'); set me.space = 'words';
             select me.embedding_model_add('static', 'local', 256, '{\"path\": \"wordllama-256\"}'), me.embedding_model_use('static');
             select me.memory_create('a text for the worker', '/a')",
        )
        .unwrap();
    common::seed::wait_for(
        &mut admin,
        "select (me.embedding_status(space => 'words') ->> 'pending')::int = 0",
    );
}

/// What is hidden, and what does not exist: no answer, code, sentence, detail or hint tells one from the other.
#[test]
fn what_is_hidden_answers_like_what_is_not_there() {
    let vault = Vault::new();
    let mut member = vault.member();
    let hash = "00000000000000000000000000000000";
    let probes = [
        "me.memory_get('{id}')",
        "me.memory_get('{id}', as_of => now())",
        "me.memory_get_by_path('{path}')",
        "me.memory_get_by_path('{path}', as_of => now())",
        "me.memory_update('{id}', '{hash}', content => 'x')",
        "me.memory_update('{id}', '{hash}', tree => '/open')",
        "me.memory_delete('{id}')",
        "me.memory_delete_by_path('{path}')",
        "me.memory_purge('{id}', 'x')",
        "me.memory_revert(1, id => '{id}')",
        "me.memory_revert(1, path => '{path}')",
        "me.memory_revert(1, id => '{id}', expected_version_hash => '{hash}')",
        "me.memory_history(memory_id => '{id}')",
        "me.memory_history(path => '{path}')",
        "me.memory_history(tree => '{tree}')",
        "me.memory_create('x', '{tree}', name => '{name}')",
        "me.memory_create('x', '{tree}', name => '{name}', on_conflict => 'ignore')",
        "me.memory_create('x', '{tree}', name => '{name}', on_conflict => 'replace')",
        "me.memory_batch_create('[{\"content\": \"x\", \"tree\": \"{tree}\", \"name\": \"{name}\"}]', on_conflict => 'ignore')",
        "me.memory_import('[{\"content\": \"x\", \"tree\": \"{tree}\", \"name\": \"{name}\"}]')",
        "me.memory_update((me.memory_get_by_path('/open/fill/o1') ->> 'id')::uuid, me.memory_get_by_path('/open/fill/o1') ->> 'versionHash', tree => '{tree}', name => '{name}')",
        "me.memory_count('{tree}')",
        "me.memory_count('*.{label}.*')",
        "me.memory_count('{label}')",
        "me.memory_tree('{tree}')",
        "me.memory_search(tree => '{tree}')",
        "me.memory_search(grep => '{word}')",
        "me.memory_search(meta => '{\"owner\": \"{word}\"}')",
        "me.memory_search(meta_predicate => '$.owner == \"{word}\"')",
        "me.memory_search(fulltext => '{word}')",
        "me.memory_search(after => '{id}', tree => '/open')",
        "me.memory_export('json', tree => '{tree}')",
        "me.memory_copy('{tree}', '/open/x', true)",
        "me.memory_copy('/open/fill', '{tree}', true)",
        "me.memory_mv('{tree}', '/open/x', true)",
        "me.memory_mv('/open/fill', '{tree}', true)",
        "me.memory_mv('/open/fill', '{tree}', false)",
        "me.memory_delete_tree('{tree}', true)",
        "me.memory_delete_tree('{tree}', false)",
        "me.memory_delete_orphans('{tree}', '{\"owner\": 1}', '[]', true)",
        "me.embedding_set('{id}', '{1,0}')",
        "me.access_list(tree => '{tree}')",
        "me.access_grant('{member}', '{tree}', 'read')",
        "me.access_revoke('{member}', '{tree}')",
        "me.capsule_adopt('{id}')",
        "me.capsule_get('{capsule}')",
        "me.capsule_forget('{capsule}', 'purged', 'x')",
        "me.capsule_relate('supports', '{capsule}', 'cap-2')",
        "me.capsule_relate('supports', 'cap-2', '{capsule}')",
        "me.capsule_pin('{capsule}', true, 'x')",
        "me.capsule_outcome('x', actor => 'a', evidence_ref => 'r', capsule_id => '{capsule}')",
        "me.capsule_preference('{capsule}', 'cap-2', 'pressure', 'a')",
        "me.capsule_vector('{capsule}', '{1,0}', 'tag')",
        "me.capsule_classify(content => 'x', origin => 'owner-stated', kind => 'fact', capsule_id => '{capsule}')",
        "me.capsule_ingest('x', source => 's', anchor => 'a:1', project_id => 'open', supersedes => '{capsule}')",
        "me.capsule_ingest('x', source => 's', anchor => 'a:1', project_id => '{project}')",
        "me.capsule_list(project_prefix => '{project}')",
        "me.capsule_retrieve(terms => '{code}', project_prefix => '{project}')",
        "me.mcp_call('me_memory_get', '{\"id\": \"{id}\"}')",
        "me.memory_get('{id}', space => 'vault')",
    ];
    member
        .batch_execute(
            "select me.capsule_ingest('own', source => 's', anchor => 'a:1', project_id => 'open')",
        )
        .unwrap();
    let hidden = [
        ("{id}", HIDDEN),
        ("{path}", "/secret/ops/launch"),
        ("{tree}", "/secret/ops"),
        ("{name}", "launch"),
        ("{label}", "ops"),
        ("{word}", CANARY),
        ("{capsule}", "cap-1"),
        ("{project}", "closed"),
    ];
    let absent = [
        ("{id}", ABSENT),
        ("{path}", "/secret/oqs/zaunch"),
        ("{tree}", "/secret/oqs"),
        ("{name}", "zaunch"),
        ("{label}", "oqs"),
        ("{word}", "zaunch code"),
        ("{capsule}", "cap-9"),
        ("{project}", "clozed"),
    ];
    let mut answers = |probe: &str, values: &[(&str, &str)]| {
        let mut sql = probe.replace("{hash}", hash).replace("{member}", &vault.member);
        for (slot, value) in values {
            sql = sql.replace(slot, value);
        }
        member.batch_execute("begin").unwrap();
        let answer = match member.rows_of(&format!("select {sql}")) {
            Ok(rows) => format!("{rows:?}"),
            Err(refusal) => format!("{refusal:?}"),
        };
        member.batch_execute("rollback").unwrap();
        assert!(!answer.contains("4711"), "{sql}: {answer}");
        // Only what the caller said itself may differ.
        let mut plain = answer;
        for (slot, value) in values {
            plain = plain.replace(value, slot);
        }
        (sql, plain)
    };
    for probe in probes {
        let ((sql, of_hidden), (_, of_absent)) = (answers(probe, &hidden), answers(probe, &absent));
        assert_eq!(of_hidden, of_absent, "{sql}");
    }
    // An id is a key of the whole space: that it is taken is told, and nothing else.
    for mode in ["error", "ignore", "replace"] {
        for sql in [
            format!("select me.memory_create('x', '/open', id => '{HIDDEN}', on_conflict => '{mode}')"),
            format!(
                "select me.memory_create('x', '/open', id => '{HIDDEN}', name => 'y', on_conflict => '{mode}')"
            ),
            format!(
                "select me.memory_batch_create('[{{\"content\": \"x\", \"tree\": \"/open\", \"id\": \"{HIDDEN}\"}}]', on_conflict => '{mode}')"
            ),
            format!(
                "select me.memory_import('[{{\"content\": \"x\", \"tree\": \"/open\", \"id\": \"{HIDDEN}\"}}]')"
            ),
        ] {
            let answer = format!("{:?}", member.rows_of(&sql));
            let refused = answer.contains("CONFLICT") || mode == "replace" && answer.contains("FORBIDDEN");
            assert!(refused || answer.contains("skipped"), "{sql}: {answer}");
            assert!(!answer.contains("secret") && !answer.contains("launch"), "{sql}: {answer}");
        }
    }
    // The nearest by far is hidden, for every kind of search.
    for search in [
        "embedding => '{1,0}'",
        "embedding => '{1,0}', \"limit\" => 1",
        "embedding => '{1,0}', fulltext => 'launch code number'",
        "embedding => '{1,0}', fulltext => 'launch code number', fusion => 'blend'",
        "embedding => '{1,0}', grep => 'code'",
        "embedding => '{1,0}', meta => '{\"owner\": \"launch code\"}'",
        "fulltext => 'launch', \"limit\" => 1000",
        "order_by => 'asc', tree => '*'",
        "temporal => '{\"before\": \"2030-01-01T00:00Z\"}'",
    ] {
        for call in [
            format!("me.memory_search({search})"),
            format!("(select array_agg(s::text) from me.search({search}) as s)"),
        ] {
            let found = text(&mut member, &format!("select {call}"));
            assert!(!found.contains(HIDDEN) && !found.contains("secret"), "{search}: {found}");
        }
    }
    // Plans of a search count what the caller may find.
    let explained = text(&mut member, "select me.search_explain(fulltext => 'number', embedding => '{1,0}')");
    assert!(!explained.contains("memories") && !explained.contains("estimate"), "{explained}");
    // Spaces.
    let mut stranger = vault.database.connect(&vault.stranger);
    for call in [
        "me.memory_count('*', space => '{}')",
        "me.capsule_digest(space => '{}')",
        "me.embedding_status(space => '{}')",
        "me.space_rename('{}', 'x')",
        "me.space_drop('{}')",
        "me.audit_verify(space => '{}')",
        "me.search_reindex(space => '{}')",
        "me.capsule_merge('{}', space => '{}')",
        "me.space_member_add('x', space => '{}')",
    ] {
        let mut told = |space: &str| {
            let refusal = stranger.rows_of(&format!("select {}", call.replace("{}", space))).unwrap_err();
            format!("{refusal:?}").replace(space, "")
        };
        assert_eq!(told("vault"), told("no-such-space"), "{call}");
    }
    assert_eq!(text(&mut stranger, "select me.space_list() -> 'spaces'"), "[]");
}
