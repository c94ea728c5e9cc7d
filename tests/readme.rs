//! The documentation is true: every SQL block of it runs, its links lead somewhere, and it names every function and
//! setting as they are.
//!
//! A block marked `sql` has to run as it stands, one marked `sql error` has to end in an error. The blocks of a file
//! run in one psql session, in order, in a fresh database.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::Database;
use postgres::Client;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md and docs/*.md, with their text.
fn documents() -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.push(root().join("README.md"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// A fenced block: the words after its fence, the line it starts at, its text.
struct Block {
    info: String,
    line: usize,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Block { info: info.trim().to_owned(), line: index + 1, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// The script for psql: each block says where it is, and one that has to fail is left only by failing.
fn script(name: &str, blocks: &[Block]) -> String {
    let mut script = String::from("\\set ON_ERROR_STOP on\n\\pset pager off\n");
    for block in blocks {
        let place = format!("{name}:{}", block.line);
        script.push_str(&format!("\\echo '== {place}'\n\\warn '== {place}'\n"));
        match block.info.as_str() {
            "sql" => script.push_str(&block.text),
            "sql error" => {
                script.push_str("\\set ON_ERROR_STOP off\n");
                script.push_str(&block.text);
                script.push_str(
                    "\\if :ERROR\n\\else\n\\warn 'the block had to end in an error'\n\\q 4\n\\endif\n",
                );
                script.push_str("\\set ON_ERROR_STOP on\n");
            }
            _ => {}
        }
    }
    script.push_str("\\echo '== done'\n");
    script
}

/// Runs a script; what went wrong, if anything did.
fn psql(database: &Database, script: &str) -> Result<(), String> {
    let program = std::env::var("PG_BIN").map_or("psql".into(), |bin| Path::new(&bin).join("psql"));
    let mut child = Command::new(program)
        .args(["-X", "-d", database.name()])
        .env_remove("DATABASE_URL")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let script = script.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // It fails when psql has left before the end, which the status says.
    let _ = writer.join().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.success() && out.ends_with("== done\n") {
        true => Ok(()),
        false => Err(err.into_owned()),
    }
}

fn roles(client: &mut Client) -> BTreeSet<String> {
    client
        .query("select rolname::text from pg_roles", &[])
        .unwrap()
        .into_iter()
        .map(|row| row.get(0))
        .collect()
}

#[test]
fn every_sql_block_of_the_documentation_runs() {
    let mut admin = common::connect("postgres", &common::superuser());
    let mut failures = Vec::new();
    let mut ran = 0;
    for (path, text) in documents() {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let blocks: Vec<Block> =
            blocks(&text).into_iter().filter(|block| block.info.starts_with("sql")).collect();
        for block in &blocks {
            let known = ["sql", "sql error"].contains(&block.info.as_str());
            assert!(known, "{name}:{}: no block is left out, and \"{}\" is no mark", block.line, block.info);
        }
        if blocks.is_empty() {
            continue;
        }
        let before = roles(&mut admin);
        let database = Database::new();
        if let Err(said) = psql(&database, &script(&name, &blocks)) {
            let tail: Vec<&str> = said.lines().rev().take(12).collect();
            failures.push(tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        ran += blocks.len();
        drop(database);
        // Roles outlive a database; the next document starts without those of this one.
        for role in roles(&mut admin).difference(&before) {
            admin.batch_execute(&format!("drop role \"{role}\"")).unwrap();
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(ran > 10, "only {ran} blocks");
}

#[test]
fn blocks_that_break_their_promise_are_found() {
    let database = Database::new();
    let run = |document: &str| psql(&database, &script("x", &blocks(document)));
    assert_eq!(run("```sql\nselect 1;\n```\n```sql error\nselect 1/0;\n```\n```\nno sql\n```\n"), Ok(()));
    assert!(run("```sql\nselect 1/0;\n```\n").is_err());
    assert!(run("```sql error\nselect 1;\n```\n").is_err());
}

#[test]
fn links_within_the_project_lead_to_files() {
    let mut broken = Vec::new();
    for (path, text) in documents() {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let local = !file.is_empty() && !link.contains("://") && !link.starts_with("mailto:");
            if local && !path.parent().unwrap().join(file).exists() {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// `me.name(argument type, …) → result` as the catalogue has it.
const SIGNATURES: &str = "
    select 'me.' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ') → '
        || pg_get_function_result(p.oid), 'me.' || p.proname || '('
    from pg_proc as p
    where p.pronamespace = 'me'::regnamespace and p.proname not like '\\_%'
    order by 1";

#[test]
fn every_function_is_documented_as_it_is_and_has_an_example_that_runs() {
    let database = Database::new();
    // The catalogue is made from the database; what is meant here was written for readers.
    let reference: String = documents()
        .into_iter()
        .filter(|(path, _)| !path.ends_with("catalogue.md"))
        .map(|(_, text)| text)
        .collect();
    let examples: String = documents()
        .iter()
        .flat_map(|(_, text)| blocks(text))
        .filter(|block| block.info.starts_with("sql"))
        .map(|block| block.text)
        .collect();
    let mut missing = Vec::new();
    for row in database.admin().query(SIGNATURES, &[]).unwrap() {
        let (signature, call): (String, String) = (row.get(0), row.get(1));
        if !reference.contains(&format!("`{signature}`")) {
            missing.push(format!("no document has `{signature}`"));
        }
        if !examples.contains(&call) {
            missing.push(format!("no SQL block calls {call}…)"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_setting_is_in_the_readme() {
    let database = Database::new();
    let mut client = database.admin();
    client.batch_execute("select me.space_list()").unwrap();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let settings =
        client.query("select name from pg_settings where name like 'me.%' order by 1", &[]).unwrap();
    let missing: Vec<String> = settings
        .into_iter()
        .map(|row| row.get::<_, String>(0))
        .filter(|name| !readme.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "README.md lacks {missing:?}");
}

#[test]
fn every_error_code_is_in_the_readme() {
    let source = std::fs::read_to_string(root().join("src/error.rs")).unwrap();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let codes: BTreeSet<&str> = source
        .split("pub fn code(")
        .nth(1)
        .unwrap()
        .split("\n    }\n")
        .next()
        .unwrap()
        .split('"')
        .filter(|word| word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        .collect();
    assert!(codes.len() > 8, "{codes:?}");
    let missing: Vec<&&str> =
        codes.iter().filter(|code| !readme.contains(&format!("| `{code}` |"))).collect();
    assert!(missing.is_empty(), "README.md lacks {missing:?}");
}

#[test]
fn the_catalogue_page_is_that_of_a_fresh_database() {
    let database = Database::new();
    let output =
        Command::new(root().join("scripts/catalogue")).args(["print", database.name()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let now = String::from_utf8(output.stdout).unwrap();
    let page = std::fs::read_to_string(root().join("docs/catalogue.md")).unwrap();
    let differs = now.lines().zip(page.lines()).position(|(now, page)| now != page);
    assert!(
        now == page,
        "docs/catalogue.md is out of date (line {}): run scripts/catalogue write",
        differs.unwrap_or_else(|| now.lines().count().min(page.lines().count())) + 1
    );
}

#[test]
fn every_page_is_in_the_index() {
    let index = std::fs::read_to_string(root().join("docs/README.md")).unwrap();
    for (path, _) in documents() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let listed = name == "README.md" || index.contains(&format!("]({name})"));
        assert!(listed, "docs/README.md does not list {name}");
    }
}
