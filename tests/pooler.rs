//! PgBouncer in transaction mode, with prepared statements of the protocol: clients share server connections, and
//! nothing of one transaction reaches the next.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::gateway::{gateway_role, key, with_space};
use common::{Database, Refusal, superuser, unique};
use postgres::{Client, Config, NoTls};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running PgBouncer before one database.
struct Pooler {
    child: Child,
    port: u16,
    folder: PathBuf,
    database: String,
    role: String,
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.trim_ascii() == b"0"
}

impl Pooler {
    /// Before a database, with so many server connections for a role.
    fn start(database: &Database, role: &str, mode: &str, connections: u8) -> Self {
        let drivers = std::env::var("MEMORY_ENGINE_DRIVERS")
            .unwrap_or_else(|_| panic!("MEMORY_ENGINE_DRIVERS is not set: run scripts/test client"));
        let env = |name: &str| std::env::var(name).unwrap();
        let folder = std::env::temp_dir().join(unique("me-pooler"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("users"), format!("\"{role}\" \"\"\n")).unwrap();
        let program = PathBuf::from(drivers).join("bin/pgbouncer");
        // Root it does not serve, and whom it serves instead may not be able to read where it was built.
        std::fs::copy(program, folder.join("pgbouncer")).unwrap();
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let settings = format!(
                "[databases]\n{database} = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
                 unix_socket_dir =\nauth_type = trust\nauth_file = {}/users\npool_mode = {mode}\n\
                 default_pool_size = {connections}\nmax_prepared_statements = 100\nserver_reset_query = discard all\n",
                env("PGHOST"),
                env("PGPORT"),
                folder.display(),
                database = database.name(),
            );
            std::fs::write(folder.join("settings.ini"), settings).unwrap();
            let mut command = Command::new(folder.join("pgbouncer"));
            command.arg("--quiet").arg(folder.join("settings.ini")).stdin(Stdio::null());
            if is_root() {
                command.args(["--user", "postgres"]);
            }
            let log = std::fs::File::create(folder.join("log")).unwrap();
            let mut pooler = Self {
                child: command.stdout(Stdio::null()).stderr(log).spawn().unwrap(),
                port,
                folder: folder.clone(),
                database: database.name().to_owned(),
                role: role.to_owned(),
            };
            if pooler.listens() {
                return pooler;
            }
            // Another took the port meanwhile.
            std::mem::take(&mut pooler.folder);
        }
        panic!("it does not start: {}", std::fs::read_to_string(folder.join("log")).unwrap());
    }

    fn listens(&mut self) -> bool {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until && self.child.try_wait().unwrap().is_none() {
            if self.config().connect(NoTls).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user(&self.role).dbname(&self.database);
        config
    }

    fn connect(&self) -> Client {
        self.config().connect(NoTls).unwrap()
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !self.folder.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn text(client: &mut Client, sql: &str) -> String {
    client.query_one(sql, &[]).unwrap().get::<_, Option<String>>(0).unwrap_or_default()
}

fn server_process(client: &mut Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).unwrap().get(0)
}

/// A space of the gateway's users, with one of them admitted.
fn shop() -> (Database, String) {
    let database = with_space();
    let role = gateway_role(&database);
    database
        .admin()
        .batch_execute(&format!(
            "select me.space_create('shop');
             select me.space_member_add(p, 'user', space => s), me.access_grant(p, 'share', 'write', space => s)
             from unnest(array['user-1@example.org', 'user-2@example.org']) as p, unnest(array['default', 'shop']) as s;
             select me.space_member_add('{role}', 'service'), me.access_grant('{role}', 'share', 'read')"
        ))
        .unwrap();
    (database, role)
}

const WHO: &str = "select me.memory_context() #>> '{principal,name}'";

#[test]
fn a_principal_ends_with_its_transaction_however_that_ends() {
    let (database, role) = shop();
    let pooler = Pooler::start(&database, &role, "transaction", 1);
    let (mut first, mut other) = (pooler.connect(), pooler.connect());
    for end in ["commit", "rollback", "select 1/0; commit", "savepoint s; rollback to s; commit"] {
        let mut transaction = first.transaction().unwrap();
        transaction.batch_execute("set local me.principal = 'user-1@example.org'").unwrap();
        let who: String = transaction.query_one(WHO, &[]).unwrap().get(0);
        assert_eq!(who, "user-1@example.org");
        let served_by: i32 = transaction.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
        let _ = transaction.batch_execute(end);
        drop(transaction);
        let _ = first.batch_execute("rollback");
        assert_eq!(server_process(&mut other), served_by, "both clients share one connection");
        assert_eq!(text(&mut other, WHO), role, "after {end}");
        assert_eq!(text(&mut other, "select current_setting('me.principal', true)"), "", "after {end}");
    }
    // A key counts for one transaction as well.
    let secret = key(&database, "user-2@example.org", None)["key"].as_str().unwrap().to_owned();
    let mut transaction = first.transaction().unwrap();
    transaction.query_one("select me.api_key_authenticate($1)", &[&secret]).unwrap();
    let who: String = transaction.query_one(WHO, &[]).unwrap().get(0);
    assert_eq!(who, "user-2@example.org");
    transaction.commit().unwrap();
    assert_eq!(text(&mut other, WHO), role);
}

#[test]
fn a_principal_set_for_the_session_makes_nobody_act_for_it() {
    let (database, role) = shop();
    let pooler = Pooler::start(&database, &role, "transaction", 1);
    let (mut first, mut other) = (pooler.connect(), pooler.connect());
    first.batch_execute("set me.principal = 'user-1@example.org'").unwrap();
    // The setting is on the shared connection now. Whoever comes next does not act for that user, and is told.
    let refusal = Refusal::from_error(&other.query_one(WHO, &[]).unwrap_err());
    assert_eq!(refusal.sqlstate, "42501", "{refusal:?}");
    // Who names a principal in the transaction acts for that one, and nothing is left of it.
    let mut transaction = other.transaction().unwrap();
    transaction.batch_execute("set local me.principal = 'user-2@example.org'").unwrap();
    let who: String = transaction.query_one(WHO, &[]).unwrap().get(0);
    assert_eq!(who, "user-2@example.org");
    transaction.commit().unwrap();
    other.batch_execute("reset me.principal").unwrap();
    assert_eq!(text(&mut first, WHO), role);
}

#[test]
fn a_space_is_chosen_for_a_transaction() {
    let (database, role) = shop();
    let pooler = Pooler::start(&database, &role, "transaction", 1);
    let (mut first, mut other) = (pooler.connect(), pooler.connect());
    let mut transaction = first.transaction().unwrap();
    transaction
        .batch_execute("set local me.principal = 'user-1@example.org'; set local me.space = 'shop'")
        .unwrap();
    transaction.query_one("select me.memory_create('sold out', 'share', name => 'note')", &[]).unwrap();
    transaction.commit().unwrap();
    let mut transaction = other.transaction().unwrap();
    transaction.batch_execute("set local me.principal = 'user-1@example.org'").unwrap();
    let space: String =
        transaction.query_one("select me.memory_context() #>> '{space,slug}'", &[]).unwrap().get(0);
    assert_eq!(space, "default");
    let counts = transaction
        .query_one(
            "select (me.memory_count('share') ->> 'count')::bigint,
                    (me.memory_count('share', space => 'shop') ->> 'count')::bigint",
            &[],
        )
        .unwrap();
    assert_eq!((counts.get::<_, i64>(0), counts.get::<_, i64>(1)), (0, 1));
    transaction.commit().unwrap();
}

#[test]
fn prepared_statements_follow_a_client_to_any_connection() {
    let database = with_space();
    let pooler = Pooler::start(&database, &superuser(), "transaction", 2);
    let mut clients: Vec<Client> = (0..3).map(|_| pooler.connect()).collect();
    let statements: Vec<_> = clients
        .iter_mut()
        .map(|client| {
            client
                .prepare(
                    "select me.memory_create(content => $1, tree => 'share/pool', name => $2) ->> 'version'",
                )
                .unwrap()
        })
        .collect();
    let mut connections = std::collections::BTreeSet::new();
    for round in 0..6 {
        // One of three holds a connection, the others go through the one that is left.
        let (holder, others) = match round % 3 {
            0 => (0, [1, 2]),
            1 => (1, [2, 0]),
            _ => (2, [0, 1]),
        };
        clients[holder].batch_execute("begin").unwrap();
        connections.insert(server_process(&mut clients[holder]));
        for who in others {
            let name = format!("n-{round}-{who}");
            let version: String = clients[who].query_one(&statements[who], &[&"text", &name]).unwrap().get(0);
            assert_eq!(version, "1");
            connections.insert(server_process(&mut clients[who]));
        }
        let name = format!("n-{round}-{holder}");
        clients[holder].query_one(&statements[holder], &[&"text", &name]).unwrap();
        clients[holder].batch_execute("commit").unwrap();
    }
    assert_eq!(connections.len(), 2, "both connections served");
    let count: i64 = database
        .admin()
        .query_one("select (me.memory_count('share/pool') ->> 'count')::bigint", &[])
        .unwrap()
        .get(0);
    assert_eq!(count, 18);
}

#[test]
fn what_a_client_leaves_on_a_connection_changes_no_answer() {
    let database = with_space();
    let pooler = Pooler::start(&database, &superuser(), "transaction", 1);
    let (mut one, mut two) = (pooler.connect(), pooler.connect());
    let found = "select string_agg(name, ',' order by name) from me.search(fulltext => 'heron')";
    one.query_one("select me.memory_create('the heron waits', 'share', name => 'heron')", &[]).unwrap();
    assert_eq!(text(&mut one, found), "heron");
    // Temporary look-alikes of tables, functions and types, and settings that change how things print and are found.
    one.batch_execute(
        "create temporary table memory (id int); create temporary table memories (id int);
         create temporary table spaces (id int); create domain pg_temp.ltree as text;
         create function pg_temp.to_jsonb(anyelement) returns jsonb language sql as 'select null::jsonb';
         set search_path = pg_temp, pg_catalog; set datestyle = 'German'; set timezone = 'Asia/Tokyo'",
    )
    .unwrap();
    assert_eq!(text(&mut two, found), "heron");
    let made = text(&mut two, "select me.memory_create('another', 'share', name => 'egret') ->> 'createdAt'");
    assert!(made.ends_with('Z'), "{made}");
    // Temporary tables of one transaction work with the functions.
    let mut transaction = two.transaction().unwrap();
    transaction
        .batch_execute("create temporary table wanted on commit drop as select 'heron'::text as name")
        .unwrap();
    let both: i64 = transaction
        .query_one("select count(*) from wanted join me.search(fulltext => 'heron') using (name)", &[])
        .unwrap()
        .get(0);
    assert_eq!(both, 1);
    // An export through a cursor of the protocol, a row at a time.
    let statement = transaction.prepare("select me.memory_export_rows('share') ->> 'name'").unwrap();
    let portal = transaction.bind(&statement, &[]).unwrap();
    for name in ["heron", "egret"] {
        let rows = transaction.query_portal(&portal, 1).unwrap();
        assert_eq!(rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(), [name]);
    }
    transaction.commit().unwrap();
    // What a pooler sends between clients in session mode.
    one.batch_execute("discard all").unwrap();
    assert_eq!(text(&mut two, found), "heron");
    assert_eq!(text(&mut two, "select me.memory_get_by_path('share/egret') ->> 'content'"), "another");
}

#[test]
fn session_mode_forgets_everything_between_clients() {
    let (database, role) = shop();
    let pooler = Pooler::start(&database, &role, "session", 1);
    for round in 0..3 {
        let mut client = pooler.connect();
        assert_eq!(text(&mut client, WHO), role);
        assert_eq!(text(&mut client, "select me.memory_context() #>> '{space,slug}'"), "default");
        client.batch_execute("set me.space = 'shop'; set me.principal = 'user-1@example.org'").unwrap();
        let mut transaction = client.transaction().unwrap();
        transaction.batch_execute("set local me.principal = 'user-1@example.org'").unwrap();
        transaction.query_one("select me.memory_create($1, 'share')", &[&format!("round {round}")]).unwrap();
        transaction.commit().unwrap();
    }
    let count: i64 = database
        .admin()
        .query_one("select (me.memory_count('share', space => 'shop') ->> 'count')::bigint", &[])
        .unwrap()
        .get(0);
    assert_eq!(count, 3);
}
