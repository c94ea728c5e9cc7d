//! What an operator should know of this database: each check answers with what is wrong and what to do about it.

mod packs;

use super::caller::{self, Intent};
use super::embedding;
use super::owner::set_until_dropped;
use super::spi::{Db, Row, Statement, Table, arg};
use crate::domain::embedding::Model;
use crate::domain::lexical::page::IDS;
use crate::error::Result;
use crate::guc;
use crate::{statement, table_statement};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum};
use std::thread::LocalKey;
use std::time::Duration;

statement!(EXTENSIONS, [include_str!("doctor/extensions.sql")], []);
statement!(WORKER, [include_str!("doctor/worker.sql")], [BOOLOID, BOOLOID, BOOLOID]);
statement!(QUEUE, [include_str!("doctor/queue.sql")], []);
statement!(VECTORS, [include_str!("doctor/vectors.sql")], []);
statement!(VECTOR_TABLES, [include_str!("doctor/vector_tables.sql")], []);
table_statement!(ORPHAN_VECTORS, [include_str!("doctor/orphan_vectors.sql")], []);
statement!(SEALS, [include_str!("doctor/seals.sql")], [FLOAT8OID]);
statement!(TEXT, [include_str!("doctor/text.sql")], []);
statement!(LEXICAL, [include_str!("doctor/lexical.sql")], [FLOAT8OID, INT8OID]);
statement!(INDEXES, [include_str!("doctor/indexes.sql")], []);
statement!(per call INDEX_ROWS, [include_str!("doctor/index_rows.sql")], []);
statement!(ADMINS, [include_str!("doctor/admins.sql")], [TEXTOID]);
statement!(PRINCIPALS, [include_str!("doctor/principals.sql")], [TEXTOID]);
statement!(PRIVILEGES, [include_str!("doctor/privileges.sql")], []);
statement!(SERVER, [include_str!("doctor/server.sql")], []);
statement!(
    INSTALLED,
    ["select e.extversion from pg_catalog.pg_extension as e where e.extname = 'memory_engine'"],
    []
);
statement!(MODELS, ["select m.name from me.embedding_model as m order by m.name"], []);

/// How things stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// As it should be.
    Ok,
    /// Works, but not as well as it could, or not for ever.
    Warning,
    /// Does not work.
    Error,
}

impl Status {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a check found.
pub struct Finding {
    /// The check.
    pub check: &'static str,
    /// How things stand.
    pub status: Status,
    /// What was found.
    pub detail: String,
    /// What to do; nothing when there is nothing to do.
    pub remedy: Option<String>,
}

impl Finding {
    /// One that needs nothing to be done.
    pub fn fine(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, status: Status::Ok, detail: detail.into(), remedy: None }
    }

    /// One that needs something to be done.
    pub fn bad(check: &'static str, status: Status, detail: String, remedy: &str) -> Self {
        Self { check, status, detail, remedy: Some(remedy.to_owned()) }
    }
}

/// What the checks cannot see in the database.
pub struct Host {
    /// Whether the server loaded the library when it started.
    pub preloaded: bool,
}

/// How long events may wait for their seal, and changes for the lexical index: long enough for a transaction that takes its time.
const UNSEALED: Duration = Duration::from_secs(3600);

/// Runs the checks, in the order in which an operator should act. Objects of another version are not looked into.
pub fn examine(host: &Host) -> std::result::Result<(Vec<Finding>, Vec<Model>), ErrorReport> {
    caller::call(Intent::Read, |caller| {
        let db = caller.db();
        let mut findings = vec![version(db)?];
        if findings[0].status == Status::Error {
            return Ok((findings, Vec::new()));
        }
        let cluster = arg(caller.cluster());
        // SAFETY: reads the state of the server.
        let standby = unsafe { pg_sys::RecoveryInProgress() };
        let worker = [arg(host.preloaded), arg(guc::embedding::worker()), arg(standby)];
        let unsealed = UNSEALED.max(guc::embedding::upkeep_delay() * 10).as_secs_f64();
        let mut check = |name, statement, args: &[Option<Datum>], fine: &str| -> Result<()> {
            findings.extend(run(db, name, statement, args, fine)?);
            Ok(())
        };
        check("extensions", &EXTENSIONS, &[], "pgvector is recent enough")?;
        let fine = if standby { "a standby needs none" } else { "preloaded, switched on, and there" };
        check("worker", &WORKER, &worker, fine)?;
        check("queue", &QUEUE, &[], "nothing waits longer than it should, nothing was given up")?;
        check("vectors", &VECTORS, &[], "every memory has its vector, or waits for it")?;
        check("vector tables", &VECTOR_TABLES, &[], "every model has its table and index")?;
        check("seals", &SEALS, &[arg(unsealed)], "the history is sealed")?;
        check("text search", &TEXT, &[], "every space is indexed under its configuration")?;
        check(
            "lexical index",
            &LEXICAL,
            &[arg(unsealed), arg(IDS as i64)],
            "nothing waits longer than it should",
        )?;
        check("indexes", &INDEXES, &[], "all are valid")?;
        check("rosters", &ADMINS, &[cluster], "every space has an admin, every grant a member")?;
        check("principals", &PRINCIPALS, &[cluster], "every role is there")?;
        check("privileges", &PRIVILEGES, &[], "nobody but the owner gets past the functions")?;
        check("server", &SERVER, &[], "nothing gets in the way")?;
        set_until_dropped(c"enable_seqscan", c"off");
        check("tree index", &INDEX_ROWS, &[], "memories are found by their trees")?;
        findings.extend(packs::examine(db)?);
        let models = models(db)?;
        findings.extend(orphans(db, &models)?);
        Ok((findings, models.into_iter().map(|registered| registered.model).collect()))
    })
}

fn version(db: &Db) -> Result<Finding> {
    let library = crate::domain::release::LIBRARY;
    let installed = db.row(&INSTALLED, &[])?.and_then(|row| row.get::<String>(1)).unwrap_or_default();
    Ok(if installed == library {
        Finding::fine("version", format!("library and objects are version {library}"))
    } else if crate::domain::release::is_older(&installed, library) {
        let detail = format!("the objects are version {installed}, the library is {library}");
        Finding::bad("version", Status::Error, detail, "ALTER EXTENSION memory_engine UPDATE;")
    } else {
        let detail = format!("the objects are version {installed}, the library is {library}");
        Finding::bad(
            "version",
            Status::Error,
            detail,
            "Restart the server, so that it loads the new library.",
        )
    })
}

fn run(
    db: &Db,
    check: &'static str,
    statement: &'static LocalKey<Statement>,
    args: &[Option<Datum>],
    fine: &str,
) -> Result<Vec<Finding>> {
    let found: Vec<Finding> =
        db.run(statement, args)?.into_iter().map(|row| finding(check, &row)).collect::<Result<_>>()?;
    Ok(if found.is_empty() { vec![Finding::fine(check, fine)] } else { found })
}

fn finding(check: &'static str, row: &Row) -> Result<Finding> {
    let status = if row.need::<String>(1)? == "error" { Status::Error } else { Status::Warning };
    Ok(Finding { check, status, detail: row.need(2)?, remedy: row.get(3) })
}

fn models(db: &Db) -> Result<Vec<embedding::Registered>> {
    let names: Vec<String> =
        db.run(&MODELS, &[])?.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?;
    let mut models = Vec::with_capacity(names.len());
    for name in names {
        models.extend(embedding::find(db, &name)?);
    }
    Ok(models)
}

/// Vectors without a memory, in the tables that are there.
fn orphans(db: &Db, models: &[embedding::Registered]) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for registered in models {
        if !exists(&registered.table) {
            continue;
        }
        let row = db.run_on(&ORPHAN_VECTORS, &registered.table, &[])?.into_iter().next();
        let count = row.map_or(Ok(0), |row| row.need::<i64>(1))?;
        if count > 0 {
            let table = registered.table.qualified()?;
            found.push(Finding {
                check: "orphan vectors",
                status: Status::Warning,
                detail: format!("{count} vectors in {table} are of memories that are gone"),
                remedy: Some(format!(
                    "DELETE FROM {table} AS v WHERE NOT EXISTS (SELECT FROM me.memory AS m WHERE m.space = v.space AND m.id = v.memory_id);"
                )),
            });
        }
    }
    if found.is_empty() {
        found.push(Finding::fine("orphan vectors", "every vector has its memory"));
    }
    Ok(found)
}

fn exists(table: &Table) -> bool {
    let Ok(name) = std::ffi::CString::new(table.name()) else { return false };
    // SAFETY: catalogue lookups by NUL-terminated strings.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"me".as_ptr(), true);
        pg_sys::get_relname_relid(name.as_ptr(), schema) != pg_sys::Oid::INVALID
    }
}
