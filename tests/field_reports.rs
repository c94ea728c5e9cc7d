//! What went wrong in other projects that keep memories or extend PostgreSQL, as their users reported it: the same
//! steps here. Each test bears the number of its report; the reports that other tests show already are in `ELSEWHERE`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::stub::{Reply, Stub};
use common::{Calls, Database, Refusal, new_role};
use postgres::Client;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Reports that are shown by tests with other names: number, file, test.
const ELSEWHERE: [(&str, &str, &str); 8] = [
    ("05 two clients write at once", "subtrees", "imports_of_the_same_memories_in_any_order_store_each_once"),
    (
        "07 the hash chain forks under load",
        "audit",
        "writers_with_rollbacks_leave_the_chain_whole_while_it_is_sealed",
    ),
    ("22 one bad text sinks its batch", "embedding_endpoint", "one_bad_text_does_not_sink_its_batch"),
    (
        "24 rate limits treated as failures",
        "embedding_endpoint",
        "a_rate_limit_is_waited_for_and_costs_nothing",
    ),
    (
        "26 new library, old definitions",
        "upgrade",
        "a_new_library_reads_what_an_old_catalogue_holds_and_refuses_to_write_until_the_update",
    ),
    // As written, the old vectors are called stale; here they serve until the new ones are complete.
    (
        "30 two vector spaces mixed",
        "embedding_endpoint",
        "a_change_of_the_model_mixes_no_two_kinds_of_vectors",
    ),
    ("31 restored without the data", "dump_restore", "every_way_of_dumping_and_restoring_carries_everything"),
    ("33 row security and backups", "dump_restore", "every_way_of_dumping_and_restoring_carries_everything"),
];

/// The one row that a query answers with, its columns joined; NULL is `-`.
fn row(client: &mut Client, sql: &str) -> String {
    let rows = client.rows_of(sql).unwrap_or_else(|refusal| panic!("{sql}: {refusal:?}"));
    let row = rows.last().unwrap_or_else(|| panic!("{sql}: no row"));
    row.iter().map(|value| value.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" | ")
}

fn refused(client: &mut Client, sql: &str) -> Refusal {
    match client.rows_of(sql) {
        Ok(rows) => panic!("{sql}: had to be refused, and answered {rows:?}"),
        Err(refusal) => refusal,
    }
}

/// Refused as VALIDATION, or by the server before it came to us, with this in the sentence.
fn invalid(client: &mut Client, sql: &str, said: &str) {
    let refusal = refused(client, sql);
    let ours = refusal.sqlstate == "22023" && refusal.detail.contains("\"VALIDATION\"");
    assert!(ours || ["22P02", "22P05", "22021"].contains(&refusal.sqlstate.as_str()), "{sql}: {refusal:?}");
    assert!(refusal.message.contains(said), "{sql}: {refusal:?}");
}

/// A model behind an endpoint that tells two topics apart: texts that begin alike lie together.
fn stub_model(client: &mut Client) -> Stub {
    fn topic(text: &str) -> Value {
        let side = if text.starts_with("gardening") { -1.0 } else { 1.0 };
        let sum: u32 = text.bytes().map(u32::from).sum();
        json!([side, f64::from(sum % 89) * 0.001])
    }
    let stub = Stub::new(|_, _| Reply::Made(topic));
    let model =
        json!({"name": "topics", "provider": "openai", "dimensions": 2, "options": {"url": stub.url}});
    client.function("embedding_model_add", &model).unwrap();
    client.function("embedding_model_use", &json!({"name": "topics"})).unwrap();
    stub
}

fn embedded(client: &mut Client) {
    let end = Instant::now() + Duration::from_secs(600);
    while row(client, "select (me.embedding_status() ->> 'pending')::int = 0") != "t" {
        assert!(Instant::now() < end, "{}", row(client, "select me.embedding_status()"));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_tests_that_show_reports_exist() {
    for (report, file, test) in ELSEWHERE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{file}.rs"));
        let source = std::fs::read_to_string(path).unwrap();
        assert!(source.contains(&format!("#[test]\nfn {test}()")), "{report}: {file} has no {test}");
    }
}

#[test]
fn every_report_has_a_test() {
    let reports = [
        "01", "03", "05", "07", "09", "11", "13", "15", "17", "19", "22", "24", "26", "28", "30", "31", "33",
        "35", "37", "40", "42", "44", "45", "47", "49", "51",
    ];
    for report in reports {
        let here = include_str!("field_reports.rs").contains(&format!("#[test]\nfn report_{report}_"));
        let elsewhere = ELSEWHERE.iter().any(|(name, ..)| name.starts_with(&format!("{report} ")));
        assert!(here != elsewhere, "report {report}");
    }
}

#[test]
fn report_01_a_zero_byte_inside_imported_text() {
    let database = Database::new();
    let mut client = database.admin();
    invalid(
        &mut client,
        r#"select me.memory_import('[{"content": "first ok", "tree": "/share/q"}, {"content": "bad\u0000byte", "tree": "/share/q"},
            {"content": "third ok", "tree": "/share/q"}]', format => 'json')"#,
        "record 2: argument \"content\" contains the character U+0000",
    );
    invalid(&mut client, r#"select me.memory_create('x', '/share/q', meta => '{"k": "a\u0000b"}')"#, "");
    assert_eq!(row(&mut client, "select count(*) from me.memories"), "0");
}

#[test]
fn report_03_chinese_and_japanese_words_are_found() {
    let database = Database::new();
    let mut client = database.admin();
    let _stub = stub_model(&mut client);
    row(&mut client, "select me.memory_create('今天讨论了部署方案', '/share/q', name => 'zh')");
    row(&mut client, "select me.memory_create('release plan discussed today', '/share/q', name => 'en')");
    embedded(&mut client);
    let first = |search: &str| {
        format!(
            "select r -> 'total', r #>> '{{results,0,name}}' from me.memory_search({search}, tree => '/share/q') as r"
        )
    };
    assert_eq!(row(&mut client, &first("fulltext => '部署'")), "1 | zh");
    assert_eq!(row(&mut client, &first("grep => '部署'")), "1 | zh");
    assert_eq!(row(&mut client, &first("semantic => '部署', fulltext => '部署'")), "2 | zh");
}

#[test]
fn report_09_explicit_null_is_not_given() {
    let database = Database::new();
    let mut client = database.admin();
    let created =
        "select me.memory_create(content => 'null probe', tree => '/share/q', name => null, meta => null,
        temporal => null, on_conflict => null, id => null) is not null";
    assert_eq!(row(&mut client, created), "t");
    let found = r#"select r -> 'total', r -> 'limit' from me.memory_search(fulltext => 'probe', semantic => null, grep => null,
        meta => null, meta_predicate => null, tree => '/share/q', temporal => null, weights => null,
        candidate_limit => null, semantic_threshold => null, "limit" => null, order_by => null, "select" => null) as r"#;
    assert_eq!(row(&mut client, found), "1 | 10");
    let strict = "select count(*) from pg_proc
        where pronamespace = 'me'::regnamespace and proname !~ '^_' and proisstrict";
    assert_eq!(row(&mut client, strict), "0");
}

#[test]
fn report_11_an_array_that_begins_with_null() {
    let database = Database::new();
    let mut client = database.admin();
    row(&mut client, "select me.memory_create('hello', '/share/q', name => 'a')");
    for select in ["array[null,'id','content']", "array['id',null]", "array[]::text[]"] {
        invalid(
            &mut client,
            &format!(r#"select me.memory_get_by_path('/share/q/a', "select" => {select})"#),
            "select",
        );
    }
    let keys = r#"select string_agg(k, ',' order by k)
        from jsonb_object_keys(me.memory_get_by_path('/share/q/a', "select" => array['id','content'])) as k"#;
    assert_eq!(row(&mut client, keys), "content,id");
}

#[test]
fn report_13_metadata_that_arrives_as_a_string() {
    let database = Database::new();
    let mut client = database.admin();
    for (arguments, named) in [
        (r#"meta => to_jsonb('{"k": 1}'::text)"#, "meta"),
        ("meta => '[]'", "meta"),
        (r#"temporal => '"2024-01-01T00:00:00Z"'"#, "temporal"),
    ] {
        let refusal = refused(&mut client, &format!("select me.memory_create('x', '/share/q', {arguments})"));
        assert_eq!(refusal.sqlstate, "22023", "{refusal:?}");
        assert!(refusal.message.contains(named) && refusal.message.contains("object"), "{refusal:?}");
    }
    let refusal = refused(&mut client, "select me.memory_search(fulltext => 'x', weights => '5')");
    assert!(refusal.sqlstate == "22023" && refusal.message.contains("weights"), "{refusal:?}");
    assert_eq!(row(&mut client, "select me.memory_create('ok', '/share/q', meta => 'null') -> 'meta'"), "{}");
    assert_eq!(row(&mut client, "select count(*) from me.memories"), "1");
}

#[test]
fn report_15_filters_on_numbers_booleans_and_arrays() {
    let database = Database::new();
    let mut client = database.admin();
    for meta in [
        r#"{"priority": 5, "archived": true, "tags": ["a", "b"]}"#,
        r#"{"priority": "5", "archived": "true", "tags": "a"}"#,
        r#"{"priority": 5.0, "tags": ["a"]}"#,
    ] {
        row(&mut client, &format!("select me.memory_create('r', '/share/q', meta => '{meta}')"));
    }
    for (filter, total) in [
        (r#"meta => '{"priority": 5}'"#, "2"),
        (r#"meta => '{"priority": "5"}'"#, "1"),
        (r#"meta => '{"archived": true}'"#, "1"),
        (r#"meta => '{"tags": ["a"]}'"#, "2"),
        (r#"meta => '{"tags": ["a", "b"]}'"#, "1"),
        (r#"meta => '{"tags": "a"}'"#, "1"),
        ("meta_predicate => '$.priority >= 5'", "2"),
        (r#"meta => '{"tags": ["a"]}', meta_predicate => '$.archived == true'"#, "1"),
    ] {
        let sql = format!("select me.memory_search(tree => '/share/q', {filter}) -> 'total'");
        assert_eq!(row(&mut client, &sql), total, "{filter}");
    }
}

#[test]
fn report_17_a_filtered_vector_search_returns_all_there_are() {
    let database = Database::new();
    let mut client = database.admin();
    let _stub = stub_model(&mut client);
    for (content, tree, count) in [
        ("deploy pipeline checklist step", "near", 4000),
        // The nearest by far are all elsewhere.
        ("gardening note about tomato bed", "far", 15),
    ] {
        let fill = format!(
            "select count(me.memory_create(content => '{content} ' || g, tree => '/share/q17/{tree}')) from generate_series(1, {count}) as g"
        );
        assert_eq!(row(&mut client, &fill), count.to_string());
    }
    embedded(&mut client);
    let found = |tree: &str| {
        format!(
            r#"select string_agg(jsonb_array_length(me.memory_search(semantic => 'deploy pipeline checklist', tree => '/share/q17/{tree}',
                   "limit" => l) -> 'results')::text, ',' order by l)
               from (values (1), (10), (15), (100)) as v (l)"#
        )
    };
    for setting in ["on", "off"] {
        client.batch_execute(&format!("set enable_indexscan = {setting}")).unwrap();
        assert_eq!(row(&mut client, &found("far")), "1,10,15,15", "enable_indexscan = {setting}");
        assert_eq!(row(&mut client, &found("near")), "1,10,15,100", "enable_indexscan = {setting}");
    }
}

#[test]
fn report_19_filters_hold_in_both_arms() {
    let database = Database::new();
    let mut client = database.admin();
    let _stub = stub_model(&mut client);
    for (tree, kind, from, to) in [("a", "adr", "01", "02"), ("b", "note", "09", "10")] {
        row(
            &mut client,
            &format!(
                r#"select me.memory_create(content => 'auth token rotation policy', tree => '/share/q19/{tree}', name => 'x',
                    meta => '{{"kind": "{kind}"}}',
                    temporal => '{{"start": "2024-{from}-10T00:00:00Z", "end": "2024-{to}-10T00:00:00Z"}}')"#
            ),
        );
    }
    embedded(&mut client);
    for filter in [
        "tree => '/share/q19/a'",
        r#"tree => '/share/q19', meta => '{"kind": "adr"}'"#,
        r#"tree => '/share/q19', temporal => '{"before": "2024-06-01T00:00:00Z"}'"#,
        r#"tree => '/share/q19', meta_predicate => '$.kind == "adr"'"#,
    ] {
        for arms in [
            "semantic => 'auth token', fulltext => 'auth token'",
            "semantic => 'auth token', fulltext => 'auth token', fusion => 'blend'",
            "semantic => 'auth token'",
            "fulltext => 'auth token'",
        ] {
            let sql = format!(
                "select string_agg(e ->> 'tree', ',') from jsonb_array_elements(me.memory_search({arms}, {filter}) -> 'results') as e"
            );
            assert_eq!(row(&mut client, &sql), "/share/q19/a", "{arms}, {filter}");
        }
    }
}

#[test]
fn report_28_the_tree_index_finds_what_a_scan_finds() {
    let database = Database::new();
    let mut client = database.admin();
    row(
        &mut client,
        "select count(me.memory_create('n ' || g, '/share/q/Label-' || (g % 10) || '/x_' || g)) from generate_series(1, 300) as g",
    );
    let counts =
        "select me.memory_count('/share/q') -> 'count', me.memory_count('/share/q/Label-7/*') -> 'count',
        me.memory_count('q & x_7') -> 'count'";
    let settings = [
        "set enable_seqscan = off",
        "reset all; set enable_indexscan = off; set enable_bitmapscan = off;
        set enable_indexonlyscan = off",
    ];
    for setting in settings {
        client.batch_execute(setting).unwrap();
        assert_eq!(row(&mut client, counts), "300 | 30 | 1", "{setting}");
    }
}

#[test]
fn report_35_tables_in_pg_temp_shadow_nothing() {
    let database = Database::new();
    let reader = new_role("reader");
    let mut admin = database.admin();
    row(&mut admin, "select me.memory_create('secret', '/share/q/private')");
    row(&mut admin, &format!("select me.access_grant('{reader}', '/share/q/open', 'read')"));
    let mut client = database.connect(&reader);
    client
        .batch_execute(
            "do $$ declare t text; begin
                for t in select relname from pg_class where relnamespace = 'me'::regnamespace and relkind in ('r', 'v', 'p') loop
                    execute format('create temporary table %I (x int)', t);
                end loop;
             end $$",
        )
        .unwrap();
    assert_eq!(row(&mut client, "select me.memory_count('/share/q') -> 'count'"), "0");
    assert_eq!(row(&mut client, "select count(*) from me.memories"), "0");
    let unsafe_functions = r#"select count(*) from pg_proc as p where p.pronamespace = 'me'::regnamespace and p.prosecdef
        and not exists (select from unnest(p.proconfig) as c where c ~ '^search_path=.*pg_temp"?$')"#;
    assert_eq!(row(&mut admin, unsafe_functions), "0");
}

#[test]
fn report_37_a_delete_reaches_what_was_asked() {
    let database = Database::new();
    let mut client = database.admin();
    row(
        &mut client,
        "select count(me.memory_create('d', t)) from unnest(array['/share/q/app', '/share/q/app/x', '/share/q/app2']) as t",
    );
    assert_eq!(
        row(&mut client, "select me.memory_delete_tree('/share/q/app', dry_run => true) -> 'count'"),
        "2"
    );
    invalid(&mut client, "select me.memory_delete_tree('/share/q/*', dry_run => false)", "tree");
    assert_eq!(
        row(&mut client, "select me.memory_delete_tree('/share/q/app', dry_run => false) -> 'count'"),
        "2"
    );
    assert_eq!(row(&mut client, "select me.memory_count('/share/q') -> 'count'"), "1");
    let create =
        "select me.memory_create('d', '/share/q/app2', name => 'same', on_conflict => 'ignore') -> 'version'";
    assert_eq!((row(&mut client, create), row(&mut client, create)), ("1".into(), "1".into()));
    assert_eq!(row(&mut client, "select me.memory_count('/share/q/app2') -> 'count'"), "2");
}

#[test]
fn report_40_a_long_document_is_stored_and_found_to_its_end() {
    let database = Database::new();
    let mut client = database.admin();
    let create = "select length(me.memory_create((select string_agg(md5(i::text), ' ') from generate_series(1, 40000) as i),
        '/share/q', name => 'big') ->> 'content')";
    assert_eq!(row(&mut client, create), "1319999");
    for word in ["1", "40000"] {
        let sql = format!("select count(*) from me.search(fulltext => md5('{word}'), tree => '/share/q')");
        assert_eq!(row(&mut client, &sql), "1", "{word}");
    }
}

#[test]
fn report_42_long_paths_and_hyphens() {
    let database = Database::new();
    let mut client = database.admin();
    let deep =
        "(select '/share/' || string_agg(md5(i::text) || md5((i * 7)::text) || md5((i * 13)::text), '/')
        from generate_series(1, 40) as i)";
    let create = format!("select me.memory_create('x', {deep}, name => 'deep') ->> 'tree' = {deep}");
    // Stored and read back as it was, or refused with the limit.
    match client.rows_of(&create) {
        Ok(rows) => assert_eq!(rows[0][0].as_deref(), Some("t")),
        Err(refusal) => {
            assert_eq!((refusal.sqlstate.as_str(), refusal.message.contains("tree")), ("22023", true))
        }
    }
    invalid(&mut client, "select me.memory_create('x', '/share/' || repeat('a', 2000))", "tree");
    invalid(&mut client, "select me.memory_create('x', '/share/q/has space')", "tree");
    for (tree, content) in [("/share/q/my-proj", "h"), ("/share/q/my_proj", "u")] {
        let sql = format!("select me.memory_create('{content}', '{tree}', name => 'n') ->> 'tree'");
        assert_eq!(row(&mut client, &sql), tree);
        assert_eq!(row(&mut client, &format!("select me.memory_count('{tree}') -> 'count'")), "1");
        assert_eq!(
            row(&mut client, &format!("select me.memory_get_by_path('{tree}/n') ->> 'content'")),
            content
        );
    }
}

#[test]
fn report_44_regular_expressions_of_users() {
    let database = Database::new();
    let mut client = database.admin();
    row(&mut client, "select me.memory_create(repeat('ab', 20000), '/share/q', name => 'r')");
    invalid(&mut client, "select me.memory_search(grep => '(', tree => '/share/q')", "grep");
    invalid(&mut client, "select me.memory_search(grep => 'ab')", "grep");
    let nested =
        "select me.memory_search(grep => '(((((a{1,255}){1,255}){1,255}){1,255})){1,2}', tree => '/share/q')";
    client.batch_execute("set statement_timeout = '20s'").unwrap();
    let refusal = refused(&mut client, nested);
    assert!(["22023", "57014"].contains(&refusal.sqlstate.as_str()), "{refusal:?}");
    assert_eq!(
        row(&mut client, "select count(*) from me.search(grep => '(a+)+(b+)+$', tree => '/share/q')"),
        "1"
    );
}

#[test]
fn report_45_nothing_depends_on_the_time_zone() {
    let database = Database::new();
    let mut client = database.admin();
    client.batch_execute("set timezone = 'UTC'").unwrap();
    let made = row(
        &mut client,
        r#"select me.memory_create('tz', '/share/q', name => 't',
            temporal => '{"start": "2024-03-10T02:30:00Z", "end": "2024-03-10T03:30:00Z"}')"#,
    );
    client
        .batch_execute(
            "set timezone = 'America/New_York'; set datestyle = 'German, DMY'; set extra_float_digits = -10",
        )
        .unwrap();
    assert_eq!(row(&mut client, "select me.memory_get_by_path('/share/q/t')"), made);
    let update = format!(
        "select me.memory_update((r ->> 'id')::uuid, r ->> 'versionHash', content => 'tz 2') -> 'version'
         from (select '{made}'::jsonb) as s (r)"
    );
    assert_eq!(row(&mut client, &update), "2");
    row(&mut client, "select me.audit_seal()");
    assert_eq!(row(&mut client, "select me.audit_verify() -> 'ok'"), "true");
}

#[test]
fn report_47_a_time_filter_holds_on_every_way() {
    let database = Database::new();
    let mut client = database.admin();
    let _stub = stub_model(&mut client);
    for (content, name, temporal) in [
        ("old", "y23", r#"'{"start": "2023-05-01T00:00:00Z", "end": "2023-06-01T00:00:00Z"}'"#),
        ("new", "y24", r#"'{"start": "2024-05-01T00:00:00Z", "end": "2024-06-01T00:00:00Z"}'"#),
        ("undated", "none", "null"),
    ] {
        let create = format!(
            "select me.memory_create(content => 'harbour log {content}', tree => '/share/q47', name => '{name}', temporal => {temporal})"
        );
        row(&mut client, &create);
    }
    embedded(&mut client);
    let after = r#"tree => '/share/q47', temporal => '{"after": "2023-12-31T00:00:00Z"}'"#;
    for arms in [
        "",
        "fulltext => 'harbour', ",
        "semantic => 'harbour log', ",
        "semantic => 'harbour log', fulltext => 'harbour', ",
    ] {
        let sql = format!(
            "select r -> 'total', r #>> '{{results,0,name}}' from me.memory_search({arms}{after}) as r"
        );
        assert_eq!(row(&mut client, &sql), "1 | y24", "{arms}");
    }
    let export = format!("select me.memory_export({after}, format => 'json') -> 'count'");
    assert_eq!(row(&mut client, &export), "1");
    for (after, before, total) in [("2023-01-01", "2024-01-01", "1"), ("2024-12-01", "2024-01-01", "0")] {
        let sql = format!(
            r#"select me.memory_search(tree => '/share/q47',
                temporal => '{{"after": "{after}T00:00:00Z", "before": "{before}T00:00:00Z"}}') -> 'total'"#
        );
        assert_eq!(row(&mut client, &sql), total, "{after} to {before}");
    }
}

#[test]
fn report_49_tool_arguments_that_arrive_as_strings() {
    let database = Database::new();
    let mut client = database.admin();
    row(
        &mut client,
        r#"select me.mcp_call('me_memory_create', '{"content": "{\"looks\":\"like json\"}", "tree": "/share/q", "name": "s",
            "meta": "{\"k\":1}", "temporal": null}')"#,
    );
    let found = r#"select r -> 'total', r -> 'limit' from me.mcp_call('me_memory_search',
        '{"tree": "/share/q", "meta": "{\"k\":1}", "limit": 5, "select": "[\"id\",\"name\"]"}') as r"#;
    assert_eq!(row(&mut client, found), "1 | 5");
    row(&mut client, "select me.mcp_call('me_memory_tree')");
    let stored = "select r ->> 'content', jsonb_typeof(r -> 'meta'), r -> 'meta' -> 'k' from me.memory_get_by_path('/share/q/s') as r";
    assert_eq!(row(&mut client, stored), r#"{"looks":"like json"} | object | 1"#);
}

#[test]
fn report_51_no_argument_is_ignored_and_every_name_is_plain_sql() {
    let database = Database::new();
    let mut client = database.admin();
    for (name, p) in [("a", 3), ("b", 1)] {
        row(
            &mut client,
            &format!(r#"select me.memory_create('p', '/share/q', name => '{name}', meta => '{{"p": {p}}}')"#),
        );
    }
    let unknown = r#"select me.mcp_call('me_memory_search', '{"tree": "/share/q", "tags": ["x"]}')"#;
    invalid(&mut client, unknown, "tags");
    let spelled = r#"select me.mcp_call('me_memory_search', '{"tree": "/share/q", "metaPredicate": "$.p >= 2"}') -> 'total'"#;
    assert_eq!(row(&mut client, spelled), "1");
    assert_eq!(
        row(
            &mut client,
            "select me.memory_search(tree => '/share/q', meta_predicate => '$.p >= 2') -> 'total'"
        ),
        "1"
    );
    let mixed = "select count(*) from pg_proc as p, unnest(p.proargnames) as a
        where p.pronamespace = 'me'::regnamespace and a <> lower(a)";
    assert_eq!(row(&mut client, mixed), "0");
}
