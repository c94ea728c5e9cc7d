//! A database with something in every table, and what can be compared about a copy of it.

use super::Calls;
use postgres::Client;
use std::time::{Duration, Instant};

/// The login role that reads in the seeded database.
pub const READER: &str = "me_reader";

/// Fills the database of a connection as superuser; every content has its vectors afterwards.
pub fn plant(client: &mut Client) {
    roles(client);
    client.simple_query(include_str!("seed.sql")).unwrap();
    wait_for(client, "select (me.embedding_status()->>'pending')::int = 0");
}

/// Makes the roles that the seeded database names.
pub fn roles(client: &mut Client) {
    // Tests share a server, and may come here at the same moment, in databases that share no lock: who comes second waits for
    // the first one's row, and finds all of it there.
    client
        .batch_execute(
            "do $$
             begin
               if to_regrole('me_reader') is null then
                 create role me_reader login;
                 create role me_gateway login;
                 create role me_team;
                 grant me_team to me_reader;
               end if;
             exception when unique_violation or duplicate_object then
               null;
             end $$",
        )
        .unwrap();
}

/// Waits until a query answers true.
pub fn wait_for(client: &mut Client, sql: &str) {
    let end = Instant::now() + Duration::from_secs(120);
    while !client.query_one(sql, &[]).unwrap().get::<_, bool>(0) {
        assert!(Instant::now() < end, "never: {sql}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A table, the number of its rows, and a checksum of them in any order.
pub type Sum = (String, i64, String);

/// One checksum for every table of the schema: contents, versions, history, digests, seals, grants, vectors, capsules.
/// Without those that dumps leave empty on purpose: the key of the capsules' fingerprints, what was erased.
pub fn checksums(client: &mut Client) -> Vec<Sum> {
    let tables = "select format('%I.%I', n.nspname, c.relname)
        from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = 'me' and c.relkind in ('r', 'p') and not c.relispartition and not exists (
          select from pg_extension as e, unnest(e.extconfig, e.extcondition) as t (relation, condition)
          where t.relation = c.oid and t.condition = 'where false')
        order by 1";
    let tables: Vec<String> = client.query(tables, &[]).unwrap().into_iter().map(|row| row.get(0)).collect();
    tables
        .into_iter()
        .map(|table| {
            let sum = format!(
                "select count(*), coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') from {table} as t"
            );
            let row = client.query_one(&sum, &[]).unwrap();
            (table, row.get(0), row.get(1))
        })
        .collect()
}

/// What calls answer about the seeded database, as a superuser and as the reader.
pub fn answers(client: &mut Client) -> Vec<String> {
    let questions = [
        "me.memory_get_by_path('share/ops/snapshots.md')",
        "me.memory_history(tree => 'share/ops')",
        "me.memory_search(semantic => 'copies kept elsewhere', \"limit\" => 5)",
        "me.memory_search(fulltext => 'pump', \"limit\" => 5)",
        "me.memory_search(embedding => '{1,0,0.25}', space => 'lab')",
        "me.audit_verify()",
        "me.audit_verify('lab')",
        "me.capsule_verify()",
        "me.capsule_list()",
        "me.access_list()",
        "me.space_member_list()",
        "me.api_key_list()",
        "(select jsonb_agg(to_jsonb(m) order by m.space, m.id) from me.memories as m)",
    ];
    questions
        .iter()
        .map(|question| {
            let answer = client.json(question, &[]);
            format!("{question}: {}", answer.unwrap_or_else(|refusal| panic!("{question}: {refusal:?}")))
        })
        .collect()
}
