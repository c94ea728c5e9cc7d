//! A role with SQL and bad intentions, second part: being somebody else, touching what is closed, turning settings, and
//! words that want to become SQL. `docs/security.md` lists the attempts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::vault::{CANARY, Vault, text};
use common::{Calls, argument_types, new_role};
use postgres::Client;

/// Runs each statement in a transaction that is taken back; each has to be refused with one of these.
fn refused<'a>(client: &mut Client, statements: impl IntoIterator<Item = &'a str>, expected: &[&str]) {
    for sql in statements {
        client.batch_execute("begin").unwrap();
        match client.rows_of(sql) {
            Ok(rows) => panic!("{sql}: went through, and answered {rows:?}"),
            Err(refusal) => {
                assert!(expected.contains(&refusal.sqlstate.as_str()), "{sql}: {refusal:?}");
                assert!(!format!("{refusal:?}").contains(CANARY), "{sql}: {refusal:?}");
            }
        }
        client.batch_execute("rollback").unwrap();
    }
}

/// Every way of saying that one is somebody else.
#[test]
fn nobody_becomes_another() {
    let vault = Vault::new();
    let mut admin = vault.database.admin();
    let (gateway, other) = (new_role("gateway"), new_role("other"));
    let member = &vault.member;
    let made = format!(
        "set me.space = 'vault'; select me.gateway_add('{gateway}');
         grant execute on function me.api_key_authenticate, me.api_key_create, me.api_key_revoke to \"{gateway}\";
         select me.space_member_add('user-1', 'user'), me.access_grant('user-1', '/secret', 'owner');
         select me.space_member_add('{other}', 'user'), me.access_grant('{other}', '/secret', 'read');
         select me.api_key_create('user-1', 'k') ->> 'key'"
    );
    let key = text(&mut admin, &made).lines().last().unwrap().to_owned();
    let count = "select me.memory_count('secret', space => 'vault') -> 'count'";

    // Roles that are no gateway, in every spelling.
    let mut client = vault.member();
    for set in [
        "set local me.principal = 'user-1'".to_owned(),
        format!("set local me.principal = '{other}'"),
        "set local me.principal = 'postgres'".to_owned(),
        "set local me.api_key = 'x'".to_owned(),
        format!("set local me.api_key = '{key}'"),
        "select set_config('me.principal', 'user-1', true)".to_owned(),
    ] {
        refused(&mut client, [format!("{set}; {count}").as_str()], &["42501"]);
        refused(&mut client, [format!("{set}; select * from me.memories").as_str()], &["42501"]);
    }
    refused(&mut client, ["select me.api_key_authenticate('x')"], &["42501"]);
    // What is settled in the role or its session counts no more.
    client.batch_execute(&format!("alter role \"{member}\" set me.principal = 'user-1'")).unwrap();
    refused(&mut vault.member(), [count], &["42501"]);
    client.batch_execute(&format!("alter role \"{member}\" reset me.principal")).unwrap();
    let options = common::config(vault.database.name(), member).options("-c me.principal=user-1").clone();
    let mut session = options.connect(postgres::NoTls).unwrap();
    refused(&mut session, [count], &["42501"]);
    refused(
        &mut client,
        [
            "set role postgres",
            "set session authorization postgres",
            &format!("set role \"{other}\""),
            &format!("set session authorization \"{other}\""),
            &format!("grant \"{other}\" to \"{member}\""),
            &format!("alter role \"{other}\" rename to x"),
            &format!("alter database \"{}\" set me.principal = 'user-1'", vault.database.name()),
        ],
        &["42501"],
    );
    // A name is a name: neither the client's own nor what it says of itself is anybody's right.
    for set in ["set application_name = 'postgres'", "set me.actor = 'postgres'", "set me.project = 'closed'"]
    {
        client.batch_execute(set).unwrap();
        assert_eq!(text(&mut client, count), "0", "{set}");
    }
    client.batch_execute("reset me.project").unwrap();
    let made = text(
        &mut client,
        "select me.memory_create('x', '/open', meta => '{\"createdBy\": \"postgres\"}') ->> 'createdBy'",
    );
    assert_eq!(&made, member);
    let actor = text(&mut client, "select distinct actor_name from me.memory_events where tree = '/open'");
    assert_eq!(&actor, member, "whatever it called itself");

    // A gateway: never a superuser, never somebody who has a role, and no key but one that proves itself.
    let mut gate = vault.database.connect(&gateway);
    gate.batch_execute("set me.space = 'vault'").unwrap();
    for name in [
        "postgres",
        other.as_str(),
        gateway.as_str(),
        member.as_str(),
        "user-2",
        "",
        " user-1",
        "USER-1",
        "user-1\n",
    ] {
        let sql = format!("set local me.principal = '{name}'; {count}");
        let answer = gate.rows_of(&format!("begin; {sql}; rollback"));
        let _ = gate.batch_execute("rollback");
        match answer {
            Ok(rows) => assert_eq!(rows[0][0].as_deref(), Some("0"), "{name:?}"),
            Err(refusal) => {
                assert!(["42501", "22023"].contains(&refusal.sqlstate.as_str()), "{name:?}: {refusal:?}")
            }
        }
    }
    let digits = key.split('.').nth(1).unwrap();
    let zero = "0".repeat(64);
    let wrong = [
        String::new(),
        "me..".to_owned(),
        format!("me.{digits}"),
        format!("me.{digits}."),
        format!("me.{digits}.{}", "a".repeat(32)),
        format!("me.{digits}.sha256:{zero}"),
        format!("{key} "),
        format!("{key}x"),
        key.to_uppercase(),
        key.replacen("me.", "ME.", 1),
        format!("me.{digits}.%"),
        format!("me.{digits}.' or true --"),
        format!("me.%.{}", "a".repeat(32)),
    ];
    let mut words = std::collections::BTreeSet::new();
    for key in &wrong {
        let refusal =
            gate.rows_of(&format!("begin; select me.api_key_authenticate({})", quoted(key))).unwrap_err();
        gate.batch_execute("rollback").unwrap();
        assert!(!format!("{refusal:?}").contains(digits), "{key}: {refusal:?}");
        words.insert((refusal.sqlstate, refusal.message, refusal.hint));
    }
    assert!(words.len() <= 2, "wrong keys are refused in the same words: {words:?}");
    // What stands for a proven key is of use in that transaction and to that role alone.
    gate.batch_execute("begin").unwrap();
    text(&mut gate, &format!("select me.api_key_authenticate('{key}')"));
    assert_ne!(text(&mut gate, count), "0");
    let token = text(&mut gate, "select current_setting('me.api_key')");
    refused_here(&mut gate, "select me.api_key_create('user-1', 'mine')");
    gate.batch_execute("rollback").unwrap();
    let forged: String = token.chars().rev().collect();
    for (client, token) in [(&mut gate, forged.as_str()), (&mut client, token.as_str())] {
        refused(client, [format!("set local me.api_key = {}; {count}", quoted(token)).as_str()], &["42501"]);
    }
    let second = new_role("gateway");
    text(&mut admin, &format!("select me.gateway_add('{second}')"));
    let mut second = vault.database.connect(&second);
    refused(
        &mut second,
        [format!("set local me.api_key = {}; {count}", quoted(&token)).as_str()],
        &["42501"],
    );
    text(
        &mut admin,
        "select count(me.api_key_revoke((k ->> 'id')::uuid)) from jsonb_array_elements(me.api_key_list('user-1') -> 'keys') as k",
    );
    refused(&mut gate, [format!("set local me.api_key = {}; {count}", quoted(&token)).as_str()], &["42501"]);
}

fn refused_here(client: &mut Client, sql: &str) {
    client.batch_execute("savepoint here").unwrap();
    let refusal = client.rows_of(sql).unwrap_err();
    assert_eq!(refusal.sqlstate, "42501", "{sql}: {refusal:?}");
    client.batch_execute("rollback to here").unwrap();
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Tables, their copies, what the server keeps beside them, and the extension's own objects.
#[test]
fn what_is_closed_stays_closed() {
    let vault = Vault::new();
    let mut member = vault.member();
    let tables = "select c.oid::regclass::text from pg_class as c
                  where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p') order by 1";
    let tables: Vec<String> = member.query(tables, &[]).unwrap().into_iter().map(|row| row.get(0)).collect();
    assert!(tables.len() > 30);
    for table in &tables {
        let attempts: Vec<String> = [
            "select ctid from {t} limit 1", "select xmin from {t}", "select count(*) from only {t}", "table {t}",
            "copy {t} to stdout", "copy {t} from stdin", "copy (select * from {t}) to stdout", "select t from {t} as t",
            "create table mine (like {t})", "create table mine () inherits ({t})", "select * from {t} tablesample system (100)",
            "update {t} set space = space", "merge into {t} as t using (select 1) as s on false when not matched then do nothing",
            "create rule r as on select to {t} do instead nothing", "create trigger t before insert on {t} execute function pg_catalog.suppress_redundant_updates_trigger()",
            "create policy p on {t}", "create statistics s on space, space from {t}", "cluster {t}", "reindex table {t}",
            "comment on table {t} is 'x'", "grant select on {t} to public", "alter table {t} owner to current_user",
            "alter table {t} set schema public", "create publication p for table {t}", "create index concurrently on {t} (space)",
            "select * from {t} for update", "explain select * from {t}", "declare c cursor for select * from {t}",
            "security label on table {t} is 'x'",
        ].iter().map(|sql| sql.replace("{t}", table)).collect();
        for sql in attempts {
            member.batch_execute("begin").unwrap();
            let refusal = member.rows_of(&sql).map(|_| panic!("{sql} went through")).unwrap_err();
            // Refused for the right, or before it came to that.
            let early = ["42P17", "42703", "25001", "22023", "0A000", "42809", "42601", "42P16"];
            assert!(
                refusal.sqlstate == "42501" || early.contains(&refusal.sqlstate.as_str()),
                "{sql}: {refusal:?}"
            );
            member.batch_execute("rollback").unwrap();
        }
    }
    // A lone table counts as closed only when nothing of it comes out: statistics, large values, other schemas.
    for (sql, expected) in [
        ("select count(*) from pg_stats where schemaname = 'me'", "0"),
        ("select count(*) from pg_stats_ext where schemaname = 'me'", "0"),
        ("select count(*) from pg_stat_activity where query ~* 'memory_engine: |launch' and pid <> pg_backend_pid()", "0"),
        ("select count(*) from pg_class where relnamespace = 'me'::regnamespace and relkind = 'S'", "0"),
        ("select count(*) from pg_proc where pronamespace = 'me'::regnamespace and prosecdef", "0"),
        ("select count(*) from pg_largeobject_metadata", "0"),
        ("select count(*) from pg_listening_channels()", "0"),
        ("select count(*) from pg_prepared_statements", "0"),
        ("select bool_or(has_schema_privilege('me', 'create'))", "f"),
        ("select count(*) from pg_class as c where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p')
            and (has_table_privilege(c.oid, 'select,insert,update,delete,truncate,references,trigger') or has_any_column_privilege(c.oid, 'select,insert,update,references'))", "0"),
        ("select count(*) from pg_tables where tablename like 'vectors%' and has_table_privilege(schemaname || '.' || tablename, 'select')", "0"),
    ] {
        assert_eq!(text(&mut member, sql), expected, "{sql}");
    }
    let toast = text(
        &mut member,
        "select string_agg(t.oid::regclass::text, ' ') from pg_class as c join pg_class as t on t.oid = c.reltoastrelid where c.relnamespace = 'me'::regnamespace",
    );
    for table in toast.split(' ') {
        refused(&mut member, [format!("select * from {table}").as_str()], &["42501"]);
    }
    refused(
        &mut member,
        [
            "select * from pg_statistic",
            "select * from pg_statistic_ext_data",
            "select lo_import('/etc/passwd')",
            "select pg_read_file('postgresql.conf')",
        ],
        &["42501"],
    );

    // The views show, and nothing more.
    for view in ["me.memories", "me.memory_events", "me.embedding_queue_status", "me.stat_spaces"] {
        for sql in [
            "insert into {v} default values",
            "delete from {v}",
            "truncate {v}",
            "copy {v} from stdin",
            "alter view {v} set (security_barrier = false)",
            "create or replace view {v} as select 1 as space",
            "drop view {v}",
            "create rule r as on insert to {v} do instead nothing",
            "create trigger t instead of insert on {v} execute function pg_catalog.suppress_redundant_updates_trigger()",
            "lock {v} in access exclusive mode",
            "comment on view {v} is 'x'",
        ] {
            refused(&mut member, [sql.replace("{v}", view).as_str()], &["42501", "55000", "0A000", "42809"]);
        }
    }
    // Functions beside ours, instead of ours, and the extension itself.
    refused(
        &mut member,
        [
            "create function me.memory_get(id text) returns jsonb language sql as 'select null::jsonb'",
            "create or replace function me.memory_count(tree text, max_count int, space text) returns jsonb language sql as 'select null::jsonb'",
            "create table me.t ()",
            "create type me.t as enum ()",
            "create view me.v as select 1",
            "create operator me.= (function = texteq, leftarg = text, rightarg = text)",
            "alter function me.memory_count security definer",
            "alter function me.memory_count set search_path = public",
            "alter function me.memory_count owner to current_user",
            "drop function me.memory_count",
            "grant execute on function me.doctor to current_user",
            "comment on function me.memory_count is 'x'",
            "alter extension memory_engine update",
            "drop extension memory_engine cascade",
            "drop schema me cascade",
            "alter schema me rename to x",
            "alter extension memory_engine add table public.nothing",
            "create extension memory_engine",
            "create event trigger e on ddl_command_start execute function pg_catalog.suppress_redundant_updates_trigger()",
            "create function public.f() returns void language c as 'memory_engine', 'memory_count_wrapper'",
            "load '/tmp/x.so'",
            "create cast (text as uuid) with inout as implicit",
            "create operator class public.o default for type ltree using btree as operator 1 <",
            "create server s foreign data wrapper nothing",
            "create subscription s connection '' publication p with (connect = false)",
        ],
        &["42501", "42704", "42710", "42883", "42P01", "0A000", "42602", "42P17", "42809"],
    );
}

/// What a setting may be, and who may set it.
#[test]
fn settings_are_for_those_they_are_for() {
    let vault = Vault::new();
    let (mut admin, mut member) = (vault.database.admin(), vault.member());
    let settings = "select name, context, vartype from pg_settings where name like 'me.%' order by 1";
    let settings: Vec<(String, String, String)> = admin
        .query(settings, &[])
        .unwrap()
        .into_iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    assert!(settings.len() > 15, "{settings:?}");
    let for_all = [
        "me.actor",
        "me.api_key",
        "me.embed_sync",
        "me.principal",
        "me.project",
        "me.space",
        "me.space_locked",
    ];
    for (name, context, _) in &settings {
        assert_eq!(context == "user", for_all.contains(&name.as_str()), "{name}: {context}");
        if context != "user" {
            let value = text(&mut admin, &format!("select setting from pg_settings where name = '{name}'"));
            let value = quoted(&value);
            refused(
                &mut member,
                [
                    format!("set {name} = {value}"), format!("set local {name} to default"), format!("select set_config('{name}', {value}, false)"),
                    format!("alter role current_user set {name} = {value}"),
                    format!("create function public.f() returns int language sql set {name} = {value} as 'select 1'; select public.f()"),
                    format!("alter system set {name} = {value}"),
                ].iter().map(String::as_str),
                &["42501", "55P02", "25001"],
            );
        }
    }
    // Where files and addresses are is for superusers to see.
    for name in [
        "me.embedding_api_key_file",
        "me.embedding_url",
        "me.local_model_path",
        "me.capsule_key_file",
        "me.capsule_file_root",
    ] {
        refused(
            &mut member,
            [format!("show {name}").as_str(), format!("select current_setting('{name}')").as_str()],
            &["42501"],
        );
        assert_eq!(
            text(
                &mut member,
                &format!("select count(setting) from pg_settings where name = '{name}' and setting <> ''")
            ),
            "0",
            "{name}"
        );
    }
    // A role that sets a thing before the library is there: tried where the library comes with the session, by name.
    for (name, _, kind) in &settings {
        let values: &[&str] = match kind.as_str() {
            "integer" => {
                &["0", "2147483648", "99999999999999999999", "NaN", "1e400", "'x'", "'-0'", "'1 parsec'"]
            }
            "bool" => &["'maybe'", "2", "''"],
            _ => &["repeat('x', 100000)", "E'\\n'", "'%s%n'", "'../../x'"],
        };
        for value in values {
            let sql = format!(
                "begin; select set_config('{name}', ({value})::text, true); select me.memory_count('*', space => 'vault'), me.memory_context(); rollback"
            );
            let sql = sql.replace("NaN", "'NaN'");
            if let Err(refusal) = admin.rows_of(&sql) {
                admin.batch_execute("rollback").unwrap();
                let states = ["22023", "55P02", "42501", "22003", "P0002"];
                assert!(states.contains(&refusal.sqlstate.as_str()), "{sql}: {refusal:?}");
            }
        }
    }
    // Those of the server that change what text means, how plans run, or what is shown.
    let ask = "select me.memory_get_by_path('/open/fill/o1') - '{createdAt,updatedAt}'::text[], me.memory_count('*'), me.memory_search(fulltext => 'number', tree => '/open') -> 'total', me.memory_search(embedding => '{1,0}') -> 'total', (select count(*) from me.memories)";
    let before = text(&mut member, ask);
    for set in [
        "transform_null_equals = on",
        "array_nulls = off",
        "standard_conforming_strings = off",
        "quote_all_identifiers = on",
        "backslash_quote = off",
        "bytea_output = escape",
        "extra_float_digits = -15",
        "row_security = off",
        "plan_cache_mode = force_generic_plan",
        "plan_cache_mode = force_custom_plan",
        "enable_seqscan = off",
        "enable_indexscan = off",
        "default_text_search_config = 'pg_catalog.german'",
        "xmloption = document",
        "debug_parallel_query = on",
        "constraint_exclusion = on",
        "jit_above_cost = 0",
        "from_collapse_limit = 1",
        "join_collapse_limit = 1",
        "geqo_threshold = 2",
        "work_mem = '64kB'",
        "client_encoding = 'SQL_ASCII'",
        "default_transaction_isolation = serializable",
        "default_transaction_read_only = on",
        "cursor_tuple_fraction = 0",
        "recursive_worktable_factor = 1000000",
        "hnsw.ef_search = 1",
        "hnsw.max_scan_tuples = 1",
        "gin_fuzzy_search_limit = 1",
        "search_path = ''",
        "search_path = pg_temp, public, me",
        "check_function_bodies = off",
        "statement_timeout = 0",
    ] {
        member.batch_execute(&format!("begin; set local {set}")).unwrap();
        if set.starts_with("default_transaction") {
            member.batch_execute(&format!("rollback; set {set}; begin")).unwrap();
        }
        let answer = member.rows_of(ask);
        member
            .batch_execute(
                "rollback; reset default_transaction_isolation; reset default_transaction_read_only",
            )
            .unwrap();
        match answer {
            Ok(_) if set == "client_encoding = 'SQL_ASCII'" => {}
            Ok(rows) => {
                let rows: Vec<String> = rows[0].iter().map(|value| value.clone().unwrap()).collect();
                assert_eq!(rows.join(" | "), before, "{set}");
            }
            Err(refusal) => assert_eq!(refusal.sqlstate, "54001", "{set}: {refusal:?}"),
        }
    }
}

/// Words that want to be SQL, patterns, paths or commands, in every text that a function takes.
#[test]
fn no_word_becomes_a_command() {
    let vault = Vault::new();
    let mut member = vault.member();
    let rows = vault.database.rows();
    let words = [
        "' or true --",
        "'; drop table me.memory; --",
        "\" or 1=1 --",
        "$1",
        "$$; select 1; $$",
        "{ltree}",
        "{in_scope}",
        "\\",
        "\\' or true --",
        "*",
        "*.*{0,}",
        "secret.*",
        "launch & !x | secret",
        "' : *",
        "$.** ? (@ like_regex \".*\")",
        "strict $",
        "$[*] ? (1 == 1)",
        ".*",
        "launch",
        "(a|a?)*$",
        "id, content from me.memory --",
        "content:1:0) from me.memory --",
        "xmin",
        "/",
        "/../secret",
        "/secret/ops/../ops",
        "~/../..",
        "vault'--",
        "english'::regconfig) || (select content",
        "simple",
        "json'; select 1",
        "rrf; blend",
        "cap-1",
        "cap-1 or true",
        "0",
        "-1",
        "01900000-0000-7000-8000-00000000aaaa",
        "file:///etc/passwd",
        "http://127.0.0.1/",
        "${PATH}",
        "`id`",
        "%s%n",
        "\u{fffe}",
        "ﬀ",
    ];
    let states = [
        "22023", "22P02", "P0002", "42501", "55000", "23505", "58000", "25006", "22P05", "22021", "22003",
        "22007", "22008",
    ];
    let functions =
        "select proname::text from pg_proc as p where pronamespace = 'me'::regnamespace and proname !~ '^_'
                     and has_function_privilege(p.oid, 'execute') order by 1";
    let functions: Vec<String> =
        member.query(functions, &[]).unwrap().into_iter().map(|row| row.get(0)).collect();
    assert!(functions.len() > 50);
    member.batch_execute("set statement_timeout = '20s'; begin").unwrap();
    let mut answered = 0;
    for function in &functions {
        let types = argument_types(&mut member, function);
        for (argument, kind) in
            types.iter().filter(|(_, kind)| ["text", "text[]", "jsonb"].contains(&kind.as_str()))
        {
            for word in words {
                let value = match kind.as_str() {
                    "text" => quoted(word),
                    "text[]" => format!("array[{}]::text[]", quoted(word)),
                    _ => quoted(&serde_json::json!({word: word, "content": word, "start": word}).to_string()),
                };
                // What else is required, harmless.
                let others = types.iter().filter(|(name, _)| name != argument).filter_map(|(name, kind)| {
                    let value = match (name.as_str(), kind.as_str()) {
                        ("tree" | "source", "text") => "'/open/fill'",
                        ("destination", "text") => "'/open/there'",
                        ("path", "text") => "'/open/fill/o1'",
                        ("format", "text") => "'json'",
                        ("content" | "input" | "reason", "text") if !function.contains("search") => {
                            "'harmless'"
                        }
                        ("dry_run", "boolean") => "true",
                        _ => return None,
                    };
                    Some(format!("\"{name}\" => {value}"))
                });
                let arguments: Vec<String> =
                    std::iter::once(format!("\"{argument}\" => {value}")).chain(others).collect();
                let sql = format!("select * from me.\"{function}\"({})", arguments.join(", "));
                member.batch_execute("savepoint word").unwrap();
                match member.rows_of(&sql) {
                    Ok(rows) => {
                        answered += 1;
                        let said = format!("{rows:?}");
                        assert!(
                            !said.contains(CANARY)
                                && !said.contains("secret number")
                                && !said.contains("root:"),
                            "{sql}: {said}"
                        );
                    }
                    Err(refusal) => {
                        assert!(states.contains(&refusal.sqlstate.as_str()), "{sql}: {refusal:?}");
                        assert!(
                            !refusal.message.contains(CANARY) || word.contains(CANARY),
                            "{sql}: {refusal:?}"
                        );
                    }
                }
                member.batch_execute("rollback to word").unwrap();
            }
        }
    }
    assert!(answered > 400, "{answered} answered");
    member.batch_execute("rollback").unwrap();
    assert_eq!(vault.database.rows(), rows);
}

/// Anchors are looked up in one folder of the server, and nowhere else.
#[test]
fn no_anchor_leaves_its_folder() {
    let vault = Vault::new();
    let mut admin = vault.database.admin();
    let folder = std::env::temp_dir().join(common::unique("anchors"));
    std::fs::create_dir_all(folder.join("root/in")).unwrap();
    std::fs::write(folder.join("outside.md"), "x").unwrap();
    std::fs::write(folder.join("root/in/here.md"), "x").unwrap();
    let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    for place in [".", "root", "root/in"] {
        std::fs::set_permissions(folder.join(place), open.clone()).unwrap();
    }
    let root = folder.join("root");
    let live = |admin: &mut Client, anchor: &str| {
        admin.batch_execute("begin").unwrap();
        let sql = format!(
            "set local me.capsule_file_root = {}; set local me.space = 'vault';
             select me.capsule_ingest('anchored', source => 's', anchor => {}, project_id => 'anchors');
             select r -> 'anchor_live' from jsonb_array_elements(me.capsule_retrieve(terms => '{{anchored}}') -> 'results') as r",
            quoted(root.to_str().unwrap()), quoted(anchor)
        );
        let told = text(admin, &sql).lines().last().unwrap().to_owned();
        admin.batch_execute("rollback").unwrap();
        told
    };
    assert_eq!(live(&mut admin, "in/here.md:1"), "true");
    assert_eq!(live(&mut admin, "in/gone.md:1"), "false");
    let outside = folder.join("outside.md");
    for anchor in [
        "../outside.md:1",
        "in/../../outside.md:1",
        "in/../in/here.md:1",
        "/etc/passwd:1",
        "//etc/passwd:1",
        "./in/here.md:1",
        "in/./../../outside.md:1",
        "..:1",
    ] {
        assert!(["\"unknown\"", "false"].contains(&live(&mut admin, anchor).as_str()), "{anchor}");
    }
    for anchor in
        ["~/x:1", "in/here.md\u{1}:1", "in/here.md%00:1", "%2e%2e/outside.md:1", "in\\..\\..\\outside.md:1"]
    {
        assert_eq!(live(&mut admin, anchor), "false", "{anchor}");
    }
    assert_eq!(live(&mut admin, &format!("{}:1", outside.display())), "\"unknown\"");
    std::fs::remove_dir_all(folder).unwrap();
    // Members set no folder and name no file.
    let mut member = vault.member();
    refused(&mut member, [format!("set me.capsule_file_root = {}", quoted("/")).as_str()], &["42501"]);
}

/// Anybody who may create in a database may have made ltree there, and may drop it: with all that is built upon it.
#[test]
fn what_a_stranger_could_drop_is_not_built_upon() {
    let database = common::Database::empty();
    let mut admin = database.admin();
    let stranger = new_role("stranger");
    admin
        .batch_execute(&format!("grant create on database \"{}\" to \"{stranger}\"", database.name()))
        .unwrap();
    let mut client = database.connect(&stranger);
    client.batch_execute("create schema mine; create extension ltree schema mine").unwrap();
    refused(&mut admin, ["create extension memory_engine cascade"], &["42501"]);
    // Once it belongs to somebody who may, it is taken; and what changes later is reported.
    let owner = common::superuser();
    admin.batch_execute(&format!("reassign owned by \"{stranger}\" to \"{owner}\"")).unwrap();
    admin.batch_execute("create extension memory_engine cascade").unwrap();
    let reported = "select count(*) from me.doctor() where \"check\" = 'privileges' and status = 'error' and detail ~ 'may drop extension ltree'";
    assert_eq!(text(&mut admin, reported), "0");
    refused(&mut client, ["drop extension ltree cascade", "drop schema mine cascade"], &["42501"]);
    admin.batch_execute(&format!("alter schema mine owner to \"{stranger}\"")).unwrap();
    assert_eq!(text(&mut admin, reported), "1");
    admin
        .batch_execute(&format!(
            "drop extension memory_engine cascade; drop schema mine cascade; drop owned by \"{stranger}\""
        ))
        .unwrap();
}
