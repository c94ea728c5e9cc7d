//! Databases of the throwaway server, roles, clients, calls and what they answer. Never an assertion.
//!
//! `scripts/test client` prepares the server and names it in PGHOST, PGPORT and PGUSER.

#![allow(dead_code, reason = "no test file uses all of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

pub mod cluster;
pub mod dice;
pub mod gateway;
pub mod killing;
pub mod matcher;
pub mod mcp;
pub mod mutate;
pub mod schema;
pub mod seed;
pub mod server;
pub mod steps;
pub mod stub;
pub mod tls;
pub mod vault;

use postgres::{Client, Config, NoTls, SimpleQueryMessage};
use serde_json::Value;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The connection that the environment describes, to a database and as a role.
pub fn config(database: &str, role: &str) -> Config {
    let env = |name: &str| {
        std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run scripts/test client"))
    };
    let mut config = Config::new();
    config.host(&env("PGHOST")).port(env("PGPORT").parse().expect("PGPORT is a number"));
    config.user(role).dbname(database).application_name("memory_engine tests");
    config
}

/// The superuser of the throwaway server.
pub fn superuser() -> String {
    std::env::var("PGUSER").unwrap_or_else(|_| "postgres".to_owned())
}

/// Connects to a database as a role.
pub fn connect(database: &str, role: &str) -> Client {
    config(database, role)
        .connect(NoTls)
        .unwrap_or_else(|error| panic!("no connection to {database} as {role}: {error:?}"))
}

fn admin() -> Client {
    connect("postgres", &superuser())
}

/// A name that no other test of this server has.
pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Makes a login role unless there is one.
pub fn ensure_role(name: &str) {
    let mut admin = admin();
    if admin.query("select 1 from pg_roles where rolname = $1", &[&name]).unwrap().is_empty() {
        admin.batch_execute(&format!("create role \"{name}\" login")).unwrap();
    }
}

/// Makes a login role of its own and answers with its name.
pub fn new_role(prefix: &str) -> String {
    let name = unique(prefix);
    ensure_role(&name);
    name
}

/// A database that has the extension, copied from a template and dropped at the end.
pub struct Database {
    name: String,
}

impl Database {
    /// A fresh one.
    pub fn new() -> Self {
        static TEMPLATE: OnceLock<String> = OnceLock::new();
        let template = TEMPLATE.get_or_init(|| {
            let template = Self::empty();
            template.admin().batch_execute("create extension memory_engine cascade").unwrap();
            let name = template.name.clone();
            // The server goes with everything in it; nobody may connect to a template meanwhile.
            std::mem::forget(template);
            name
        });
        Self::create(&format!(" template \"{template}\""))
    }

    /// A fresh one without the extension.
    pub fn empty() -> Self {
        Self::create("")
    }

    fn create(options: &str) -> Self {
        let name = unique("db");
        admin().batch_execute(&format!("create database \"{name}\"{options}")).unwrap();
        Self { name }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A connection as superuser.
    pub fn admin(&self) -> Client {
        self.connect(&superuser())
    }

    /// A connection as a role.
    pub fn connect(&self, role: &str) -> Client {
        connect(&self.name, role)
    }

    /// How many rows each table of the extension has, but for those that the worker writes by itself.
    pub fn rows(&self) -> Vec<(String, i64)> {
        let mut client = self.admin();
        let tables = client
            .query(
                "select c.relname::text from pg_class c where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p')
                   and c.relname <> 'audit_seal' and c.relname not like 'lexical%' order by 1",
                &[],
            )
            .unwrap();
        tables
            .into_iter()
            .map(|row| {
                let table: String = row.get(0);
                let count =
                    client.query_one(&format!("select count(*) from me.\"{table}\""), &[]).unwrap().get(0);
                (table, count)
            })
            .collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A test that failed is already unwinding: another panic would hide it.
        if let Ok(mut admin) = config("postgres", &superuser()).connect(NoTls) {
            let _ = admin.batch_execute(&format!("drop database if exists \"{}\" with (force)", self.name));
        }
    }
}

/// What the server said when it refused a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Five characters.
    pub sqlstate: String,
    /// The sentence.
    pub message: String,
    /// The DETAIL as it came.
    pub detail: String,
    /// The HINT, empty when there is none.
    pub hint: String,
}

impl Refusal {
    /// Reads an error of the driver.
    pub fn from_error(error: &postgres::Error) -> Self {
        let Some(error) = error.as_db_error() else {
            panic!("not an answer of the server: {error:?}");
        };
        Self {
            sqlstate: error.code().code().to_owned(),
            message: error.message().to_owned(),
            detail: error.detail().unwrap_or_default().to_owned(),
            hint: error.hint().unwrap_or_default().to_owned(),
        }
    }

    /// The DETAIL as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.detail).unwrap_or(Value::Null)
    }

    /// One field of the DETAIL that holds text; empty when there is none.
    pub fn field(&self, name: &str) -> String {
        self.json()[name].as_str().unwrap_or_default().to_owned()
    }

    /// The code callers branch on. What the server refuses before our code runs counts as VALIDATION.
    pub fn kind(&self) -> String {
        match (self.field("code"), self.sqlstate.as_str()) {
            (code, _) if !code.is_empty() => code,
            (_, "22P02" | "22P05" | "22021" | "22003") => "VALIDATION".to_owned(),
            (_, sqlstate) => format!("SQLSTATE {sqlstate}: {}", self.message),
        }
    }
}

/// What a call answered.
pub type Answer = Result<Value, Refusal>;

/// Calls of the extension over one connection.
pub trait Calls {
    /// Runs SQL whose one value is JSON (or null).
    fn json(&mut self, sql: &str, args: &[&(dyn postgres::types::ToSql + Sync)]) -> Answer;

    /// Runs a tool through `me.mcp_call`; what it answers has to match the tool's output schema.
    fn tool(&mut self, name: &str, args: &Value) -> Answer;

    /// Calls a function of schema `me` by named arguments, each given as JSON and converted to the type it has there.
    /// Names may have the spelling of the MCP tools (`metaPredicate`).
    fn function(&mut self, name: &str, args: &Value) -> Answer;

    /// Runs SQL text that takes no parameters, and answers with the rows' values as text.
    fn rows_of(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Refusal>;
}

impl Calls for Client {
    fn json(&mut self, sql: &str, args: &[&(dyn postgres::types::ToSql + Sync)]) -> Answer {
        let sql = format!("select ({sql})::text");
        let row = self.query_one(&sql, args).map_err(|error| Refusal::from_error(&error))?;
        let text: Option<String> = row.get(0);
        Ok(text.map_or(Value::Null, |text| serde_json::from_str(&text).expect("the answer is JSON")))
    }

    fn tool(&mut self, name: &str, args: &Value) -> Answer {
        let answer = self.json("me.mcp_call($1, $2::text::jsonb)", &[&name, &args.to_string()])?;
        schema::load(self);
        schema::check_answer(name, &answer);
        Ok(answer)
    }

    fn function(&mut self, name: &str, args: &Value) -> Answer {
        let types = argument_types(self, name);
        let mut values: Vec<Option<String>> = Vec::new();
        let mut places = Vec::new();
        for (key, value) in args.as_object().expect("arguments are an object") {
            let key = snake_case(key);
            let of = types.iter().find(|(name, _)| *name == key).map_or("unknown", |(_, of)| of.as_str());
            values.push(match value {
                Value::Null => None,
                Value::String(text) if of != "jsonb" => Some(text.clone()),
                other => Some(other.to_string()),
            });
            let place = values.len();
            places.push(match of {
                "text[]" => format!(
                    "\"{key}\" => case when ${place}::text is not null then array(
                       select e from jsonb_array_elements_text(${place}::text::jsonb) with ordinality as x (e, n)
                       order by n) end"
                ),
                "real[]" => format!(
                    "\"{key}\" => case when ${place}::text is not null then array(
                       select e::real from jsonb_array_elements_text(${place}::text::jsonb) with ordinality as x (e, n)
                       order by n) end"
                ),
                "unknown" => format!("\"{key}\" => ${place}::text"),
                of => format!("\"{key}\" => ${place}::text::{of}"),
            });
        }
        let args: Vec<&(dyn postgres::types::ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        self.json(&format!("me.\"{name}\"({})", places.join(", ")), &args)
    }

    fn rows_of(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Refusal> {
        let messages = self.simple_query(sql).map_err(|error| Refusal::from_error(&error))?;
        Ok(messages
            .into_iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => {
                    Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
                }
                _ => None,
            })
            .collect())
    }
}

/// The names and types of the arguments of a function of schema `me`; none when there is no such function.
pub fn argument_types(client: &mut Client, function: &str) -> Vec<(String, String)> {
    client
        .query(
            "select a.name, a.type::regtype::text
             from pg_proc p, unnest(p.proargnames, p.proargtypes::oid[]) as a (name, type)
             where p.pronamespace = 'me'::regnamespace and p.proname = $1 and a.type is not null",
            &[&function],
        )
        .unwrap()
        .into_iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect()
}

/// Whether schema `me` has the function.
pub fn has_function(client: &mut Client, function: &str) -> bool {
    let sql = "select exists (select from pg_proc where pronamespace = 'me'::regnamespace and proname = $1)";
    client.query_one(sql, &[&function]).unwrap().get(0)
}

fn snake_case(name: &str) -> String {
    name.chars().fold(String::new(), |mut snake, c| {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
        snake
    })
}
