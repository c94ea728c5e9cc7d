//! A database with something to hide, for tests that try to see it. Never an assertion.

use super::{Calls, Database, new_role};
use postgres::Client;

/// A memory that nobody here may read but superusers.
pub const HIDDEN: &str = "01900000-0000-7000-8000-00000000aaaa";
/// An id that no memory has.
pub const ABSENT: &str = "01900000-0000-7000-8000-00000000bbbb";
/// What stands in hidden rows; no answer to anybody else may hold it.
pub const CANARY: &str = "launch code";

/// A space with something to hide, and roles around it.
pub struct Vault {
    /// Where it is.
    pub database: Database,
    /// May write at `/open` and in the project `open`.
    pub member: String,
    /// May create in schema `public`, and is on no roster.
    pub stranger: String,
}

impl Vault {
    /// A fresh one.
    pub fn new() -> Self {
        let database = Database::new();
        let (member, stranger) = (new_role("member"), new_role("stranger"));
        let mut admin = database.admin();
        let sql = format!(
            "select me.space_create('vault', 'Vault');
             set me.space = 'vault';
             select me.embedding_model_add('plane', 'manual', 2), me.embedding_model_use('plane');
             select me.memory_create('the {CANARY} is 4711 ' || repeat(md5('x'), 300), '/secret/ops', id => '{HIDDEN}',
               name => 'launch', meta => '{{\"owner\": \"{CANARY}\"}}', temporal => '{{\"start\": \"2025-01-01T00:00Z\"}}');
             select me.embedding_set('{HIDDEN}', '{{1,0}}');
             select count(me.memory_create('secret number ' || n, '/secret/fill', name => 'f' || n))
             from generate_series(1, 40) as n;
             select count(me.memory_create('open number ' || n, '/open/fill', name => 'o' || n))
             from generate_series(1, 10) as n;
             select me.capsule_ingest('the {CANARY} of the capsule', source => 's', anchor => 'a:1', project_id => 'closed');
             select me.access_grant('{member}', '/open', 'write'), me.access_grant('{member}', '/capsules/open', 'write');
             grant create on schema public to \"{stranger}\", \"{member}\";
             analyze"
        );
        admin.batch_execute(&sql).unwrap();
        Self { database, member, stranger }
    }

    /// A session of the member, in the space.
    pub fn member(&self) -> Client {
        let mut client = self.database.connect(&self.member);
        client.batch_execute("set me.space = 'vault'").unwrap();
        client
    }
}

/// What a query answers, a row a line.
pub fn text(client: &mut Client, sql: &str) -> String {
    let rows = client.rows_of(sql).unwrap_or_else(|refusal| panic!("{sql}: {refusal:?}"));
    let lines = rows
        .iter()
        .map(|row| row.iter().map(|value| value.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" | "));
    lines.collect::<Vec<_>>().join("\n")
}
