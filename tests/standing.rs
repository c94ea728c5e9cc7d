//! What a session keeps of who its callers are and what they may, and what that must not outlive.
//!
//! A transaction that only reads under one snapshot is where everything is kept that can be: the tests that take
//! something away do so under its eyes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database, new_role};
use postgres::Client;
use serde_json::json;

const ONE_SNAPSHOT: &str = "begin isolation level repeatable read";

/// A space with one memory, a role that may read it by a grant of its own, and one that may not.
struct World {
    database: Database,
    admin: Client,
    member: String,
    stranger: String,
    id: String,
}

impl World {
    fn new() -> Self {
        let database = Database::new();
        let mut admin = database.admin();
        admin.batch_execute("select me.space_create('meeting', home_grants => false)").unwrap();
        admin.batch_execute("set me.space = 'meeting'").unwrap();
        let args = json!({"content": "x", "tree": "/share", "name": "n"});
        let record = admin.function("memory_create", &args).unwrap();
        let (member, stranger) = (new_role("member"), new_role("stranger"));
        let grant = json!({"principal": member, "tree": "/share", "access": "read"});
        admin.function("access_grant", &grant).unwrap();
        Self { database, admin, member, stranger, id: record["id"].as_str().unwrap().to_owned() }
    }

    fn connect(&self, role: &str) -> Client {
        let mut client = self.database.connect(role);
        client.batch_execute("set me.space = 'meeting'").unwrap();
        client
    }

    /// What the next calls by id and by path answer in a session: both the same.
    fn kind(&self, client: &mut Client) -> String {
        let mut kind = |function: &str, args| {
            client.function(function, &args).map_or_else(|refusal| refusal.kind(), |_| "ok".to_owned())
        };
        // A refused call must not end the transaction it is made in.
        let by_id = kind("memory_get", json!({"id": self.id}));
        let by_path = match by_id.as_str() {
            "ok" => kind("memory_get_by_path", json!({"path": "/share/n"})),
            _ => by_id.clone(),
        };
        assert_eq!(by_id, by_path);
        by_id
    }

    /// The same, behind a savepoint: the transaction goes on.
    fn kind_within(&self, client: &mut Client) -> String {
        client.batch_execute("savepoint before").unwrap();
        let kind = self.kind(client);
        client.batch_execute("rollback to before").unwrap();
        kind
    }
}

#[test]
fn rows_that_a_superuser_changes_by_hand_count_for_the_next_call() {
    let mut world = World::new();
    let mut member = world.connect(&world.member);
    let kept = "create table grants as table me.tree_grant; create table members as table me.space_member";
    world.admin.batch_execute(kept).unwrap();
    let name = world.member.clone();
    for (change, kind) in [
        ("select 1", "ok"),
        ("delete from me.tree_grant", "NOT_FOUND"),
        ("insert into me.tree_grant table grants", "ok"),
        ("truncate me.space_member", "FORBIDDEN"),
        ("insert into me.space_member table members", "ok"),
        ("update me.tree_grant set tree = 'elsewhere'", "NOT_FOUND"),
        ("update me.tree_grant set tree = ''", "ok"),
        ("truncate me.tree_grant", "NOT_FOUND"),
        ("insert into me.tree_grant table grants", "ok"),
        // Its name belongs to another role then: only a rebind would let it in again.
        (&format!("update me.principal set role_oid = 1 where name = '{name}'"), "FORBIDDEN"),
    ] {
        world.admin.batch_execute(change).unwrap();
        for _ in 0..2 {
            assert_eq!(world.kind(&mut member), kind, "{change}");
        }
    }
}

#[test]
fn membership_that_ends_counts_at_once_even_under_a_snapshot_that_stays() {
    let mut world = World::new();
    let (group, role) = (new_role("group"), new_role("joined"));
    let grant = json!({"principal": group, "tree": "/share", "access": "read"});
    world.admin.function("access_grant", &grant).unwrap();
    world.admin.batch_execute(&format!("grant {group} to {role}")).unwrap();
    let mut joined = world.connect(&role);
    joined.batch_execute(ONE_SNAPSHOT).unwrap();
    assert_eq!(world.kind_within(&mut joined), "ok");
    assert_eq!(world.kind_within(&mut joined), "ok");
    world.admin.batch_execute(&format!("revoke {group} from {role}")).unwrap();
    assert_eq!(world.kind_within(&mut joined), "FORBIDDEN");
    world.admin.batch_execute(&format!("grant {group} to {role}")).unwrap();
    assert_eq!(world.kind_within(&mut joined), "ok");
    world.admin.batch_execute(&format!("grant {group} to {role} with inherit false")).unwrap();
    assert_eq!(world.kind_within(&mut joined), "FORBIDDEN");
}

#[test]
fn a_superuser_who_is_none_any_more_may_no_more_than_others() {
    let mut world = World::new();
    let role = new_role("super");
    world.admin.batch_execute(&format!("alter role {role} superuser")).unwrap();
    let mut client = world.connect(&role);
    client.batch_execute(ONE_SNAPSHOT).unwrap();
    assert_eq!(world.kind_within(&mut client), "ok");
    world.admin.batch_execute(&format!("alter role {role} nosuperuser")).unwrap();
    assert_eq!(world.kind_within(&mut client), "FORBIDDEN");
    world.admin.batch_execute(&format!("alter role {role} superuser")).unwrap();
    assert_eq!(world.kind_within(&mut client), "ok");
}

#[test]
fn a_role_made_anew_under_an_old_name_gets_nothing_of_the_old_one() {
    let mut world = World::new();
    let mut member = world.connect(&world.member);
    assert_eq!(world.kind(&mut member), "ok");
    drop(member);
    let name = world.member.clone();
    world.admin.batch_execute(&format!("drop role {name}; create role {name} login")).unwrap();
    let mut member = world.connect(&name);
    assert_eq!(world.kind(&mut member), "FORBIDDEN");
    world.admin.batch_execute(&format!("select me.principal_rebind('{name}', '{name}')")).unwrap();
    assert_eq!(world.kind(&mut member), "ok");
}

#[test]
fn what_one_identity_of_a_session_may_is_not_what_another_may() {
    let mut world = World::new();
    let (member, stranger) = (world.member.clone(), world.stranger.clone());
    world
        .admin
        .batch_execute(&format!(
            "create function public.as_member(id uuid) returns jsonb language sql security definer
               begin atomic select me.memory_get(id, space => 'meeting'); end;
             alter function public.as_member owner to {member};"
        ))
        .unwrap();
    let mut client = world.connect(&common::superuser());
    client.batch_execute(ONE_SNAPSHOT).unwrap();
    for _ in 0..2 {
        assert_eq!(world.kind_within(&mut client), "ok");
        for become_it in ["set local role", "set local session authorization"] {
            client.batch_execute(&format!("{become_it} {member}")).unwrap();
            assert_eq!(world.kind_within(&mut client), "ok");
            client.batch_execute("set local role none; set local session authorization default").unwrap();
            client.batch_execute(&format!("{become_it} {stranger}")).unwrap();
            assert_eq!(world.kind_within(&mut client), "FORBIDDEN");
            // A function that runs as its owner asks as its owner; what it found is not the caller's.
            let through = client.json(&format!("public.as_member('{}')", world.id), &[]).unwrap();
            assert_eq!(through["content"], json!("x"));
            assert_eq!(world.kind_within(&mut client), "FORBIDDEN");
            client.batch_execute("set local role none; set local session authorization default").unwrap();
        }
    }
}

#[test]
fn what_a_savepoint_takes_back_was_never_granted() {
    let world = World::new();
    let stranger = world.stranger.clone();
    let mut client = world.connect(&common::superuser());
    let as_stranger = |client: &mut Client| {
        client.batch_execute(&format!("set local role {stranger}")).unwrap();
        let kind = world.kind_within(client);
        client.batch_execute("set local role none").unwrap();
        kind
    };
    for end in ["rollback", "commit"] {
        client.batch_execute("begin").unwrap();
        assert_eq!(as_stranger(&mut client), "FORBIDDEN");
        client.batch_execute("savepoint granted").unwrap();
        let grant = json!({"principal": stranger, "tree": "/share", "access": "read"});
        client.function("access_grant", &grant).unwrap();
        assert_eq!(as_stranger(&mut client), "ok");
        client.batch_execute("rollback to granted").unwrap();
        assert_eq!(as_stranger(&mut client), "FORBIDDEN");
        client.batch_execute(end).unwrap();
        client.batch_execute("begin").unwrap();
        assert_eq!(as_stranger(&mut client), "FORBIDDEN");
        client.batch_execute("rollback").unwrap();
    }
}

#[test]
fn a_space_whose_making_or_dropping_is_taken_back_is_as_it_was() {
    let world = World::new();
    let mut client = world.connect(&common::superuser());
    client.batch_execute("begin; select me.space_create('brief')").unwrap();
    let args = json!({"content": "y", "tree": "/share", "name": "n", "space": "brief"});
    let record = client.function("memory_create", &args).unwrap();
    let get = json!({"id": record["id"], "space": "brief"});
    assert_eq!(client.function("memory_get", &get).unwrap()["content"], json!("y"));
    client.batch_execute("rollback").unwrap();
    assert_eq!(client.function("memory_get", &get).unwrap_err().kind(), "NOT_FOUND");

    assert_eq!(world.kind(&mut client), "ok");
    client.batch_execute("begin").unwrap();
    client.batch_execute("select me.space_drop('meeting')").unwrap();
    assert_eq!(world.kind_within(&mut client), "NOT_FOUND");
    client.batch_execute("rollback").unwrap();
    assert_eq!(world.kind(&mut client), "ok");
    client.batch_execute("select me.space_drop('meeting')").unwrap();
    assert_eq!(world.kind(&mut client), "NOT_FOUND");
}

#[test]
fn what_a_prepared_transaction_takes_away_is_gone_when_it_is_committed() {
    let mut world = World::new();
    let mut member = world.connect(&world.member);
    let revoke = json!({"principal": world.member, "tree": "/share"});
    for (end, after) in [("rollback", "ok"), ("commit", "NOT_FOUND")] {
        assert_eq!(world.kind(&mut member), "ok");
        world.admin.batch_execute("begin").unwrap();
        world.admin.function("access_revoke", &revoke).unwrap();
        let name = common::unique("prepared");
        world.admin.batch_execute(&format!("prepare transaction '{name}'")).unwrap();
        assert_eq!(world.kind(&mut member), "ok");
        world.admin.batch_execute(&format!("{end} prepared '{name}'")).unwrap();
        assert_eq!(world.kind(&mut member), after);
    }
}

#[test]
fn a_session_goes_on_after_discarding_all_and_after_the_extension_came_anew() {
    let world = World::new();
    let mut client = world.connect(&common::superuser());
    assert_eq!(world.kind(&mut client), "ok");
    client.batch_execute("discard all").unwrap();
    let get = json!({"id": world.id});
    // The setting is gone with everything else, and there is no default space.
    assert_eq!(client.function("memory_get", &get).unwrap_err().kind(), "NOT_FOUND");
    client.batch_execute("set me.space = 'meeting'").unwrap();
    assert_eq!(world.kind(&mut client), "ok");
    client.batch_execute("drop extension memory_engine cascade; create extension memory_engine").unwrap();
    assert_eq!(world.kind(&mut client), "NOT_FOUND");
    client.batch_execute("select me.space_create('meeting')").unwrap();
    assert_eq!(world.kind(&mut client), "NOT_FOUND");
    let args = json!({"id": world.id, "content": "z", "tree": "/share", "name": "n"});
    client.function("memory_create", &args).unwrap();
    assert_eq!(client.function("memory_get", &get).unwrap()["content"], json!("z"));
    let mut member = world.connect(&world.member);
    assert_eq!(world.kind(&mut member), "FORBIDDEN");
}

#[test]
fn rows_are_found_also_where_keys_do_not_lead_to_them() {
    let world = World::new();
    let mut client = world.connect(&common::superuser());
    let member = world.member.clone();
    let record = client.function("memory_get", &json!({"id": world.id})).unwrap();
    for change in [
        "alter index me.memory_pkey rename to other; alter index me.memory_path_key rename to another",
        "alter index me.space_pkey rename to other",
        "alter index me.principal_role_key rename to other",
        "alter index me.space_member_pkey rename to other",
        "alter index me.tree_grant_pkey rename to other",
        "alter index me.embedding_use_state_key rename to other",
        // Rows of a table that inherits from another are rows of that one too.
        "create table below () inherits (me.memory); with moved as (delete from only me.memory returning *)
           insert into below select * from moved",
        "create table below () inherits (me.space_member);
         with moved as (delete from only me.space_member returning *) insert into below select * from moved",
        "create table below () inherits (me.tree_grant);
         with moved as (delete from only me.tree_grant returning *) insert into below select * from moved",
        // What an extension that distributes tables brings along.
        "set local allow_system_table_mods = on; create table pg_catalog.pg_dist_partition ()",
        "alter table me.memory add column more int default 1",
    ] {
        client.batch_execute(&format!("begin; {change}")).unwrap();
        for role in ["none", &member] {
            client.batch_execute(&format!("set local role {role}")).unwrap();
            assert_eq!(world.kind_within(&mut client), "ok", "{change} as {role}");
            let found = client.function("memory_get", &json!({"id": world.id})).unwrap();
            assert_eq!(found, record, "{change}");
        }
        client.batch_execute("rollback").unwrap();
    }
}
