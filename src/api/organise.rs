//! `me.*` functions over whole subtrees.

use super::arguments::Arguments;
use super::{given, required, result};
use crate::domain::filter::TreeFilter;
use crate::domain::invalid::Invalid;
use crate::domain::memory::{Meta, Name};
use crate::domain::nodes::parse_levels;
use crate::domain::orphans::{check_keep, check_marks};
use crate::domain::path::{Home, MemoryPath, TreePath};
use crate::error::{Error, Result};
use crate::store::jsonb::Jsonb;
use crate::store::memory::MetaValue;
use crate::store::operation::Operation;
use crate::store::organise::{self as store, Ends};
use crate::store::session::{self, Session};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;
use std::fmt::Write;

type Answer = std::result::Result<Jsonb, ErrorReport>;

/// Runs `memory_count`.
pub fn count(tree: Option<&str>, max_count: Option<i64>, space: Option<&str>) -> Answer {
    let tree = required("tree", tree)?;
    check_max_count(max_count)?;
    let count = session::read(
        space,
        |home| Ok(TreeFilter::parse_required("tree", tree, home)?),
        |session, tree| store::count(session, tree, max_count),
    )?;
    counted(count)
}

fn check_max_count(max_count: Option<i64>) -> Result<()> {
    match max_count {
        Some(max) if max < 1 => Err(Invalid::new(
            "max_count",
            "CNT-3",
            format!("argument \"max_count\" is {max}"),
            "Give 1 or more, or leave it out to count everything.",
        )
        .into()),
        _ => Ok(()),
    }
}

fn counted(count: i64) -> Answer {
    Ok(result(&json!({ "count": count }).to_string())?)
}

/// Runs `memory_tree`.
pub fn tree(tree: Option<&str>, levels: Option<i64>, space: Option<&str>) -> Answer {
    let levels = parse_levels("levels", levels).map_err(Error::from)?;
    let nodes = session::read(
        space,
        |home| Ok(TreePath::parse("tree", tree.unwrap_or_default(), home)?),
        |session, root| store::list_trees(session, &root, levels),
    )?;
    // Paths hold nothing that JSON would escape.
    let mut json = String::from(r#"{"nodes":["#);
    for (at, (path, count)) in nodes.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(json, r#"{comma}{{"path":"{path}","count":{count}}}"#);
    }
    json.push_str("]}");
    Ok(result(&json)?)
}

/// Runs `memory_delete_tree`.
pub fn delete_tree(tree: Option<&str>, dry_run: Option<bool>, space: Option<&str>) -> Answer {
    let tree = required("tree", tree)?;
    let dry_run = required("dry_run", dry_run)?;
    let count = session::write(
        space,
        |home| Ok(TreePath::parse_required("tree", tree, home)?),
        |session, tree| store::delete_tree(session, &Operation::new("delete_tree"), &tree, dry_run),
    )?;
    counted(count)
}

/// The arguments of `memory_copy` and `memory_mv`.
pub struct Transfer {
    /// See the function.
    pub source: Option<String>,
    /// See the function.
    pub destination: Option<String>,
    /// See the function.
    pub dry_run: Option<bool>,
}

/// Runs `memory_copy`.
pub fn copy(args: &Transfer, space: Option<&str>) -> Answer {
    transfer(args, space, TreePath::parse_required, |session, ends, dry_run| {
        store::copy_tree(session, &Operation::new("copy"), ends, dry_run)
    })
}

/// Runs `memory_mv`, whose destination may be `""` for the root.
pub fn mv(args: &Transfer, space: Option<&str>) -> Answer {
    transfer(args, space, TreePath::parse, |session, ends, dry_run| {
        store::move_tree(session, &Operation::new("move"), ends, dry_run)
    })
}

type ParseTree = fn(&str, &str, Option<&Home>) -> std::result::Result<TreePath, Invalid>;

fn transfer(
    args: &Transfer,
    space: Option<&str>,
    parse_destination: ParseTree,
    run: impl FnOnce(&Session, &Ends, bool) -> Result<i64>,
) -> Answer {
    let source = required("source", args.source.as_deref())?;
    let destination = required("destination", args.destination.as_deref())?;
    let dry_run = required("dry_run", args.dry_run)?;
    let count = session::write(
        space,
        |home| {
            Ok(Ends {
                source: TreePath::parse_required("source", source, home)?,
                destination: parse_destination("destination", destination, home)?,
            })
        },
        |session, ends| run(session, &ends, dry_run),
    )?;
    counted(count)
}

/// Runs `memory_delete_orphans`.
pub fn delete_orphans(
    root: Option<&str>,
    meta_contains: Option<Jsonb>,
    keep: Option<Jsonb>,
    dry_run: Option<bool>,
    space: Option<&str>,
) -> Answer {
    let root = required("root", root)?;
    let meta = marks(required("meta_contains", given(meta_contains))?)?;
    let keep = given(keep).map_or_else(|| Ok(Vec::new()), read_keep)?;
    let paths = session::write(
        space,
        |home| {
            let root = TreePath::parse_required("root", root, home)?;
            let keep = keep
                .into_iter()
                .enumerate()
                .map(|(at, (tree, name))| {
                    Ok(MemoryPath::new(TreePath::parse_required(&keep_place(at, "tree"), &tree, home)?, name))
                })
                .collect::<Result<Vec<_>>>()?;
            Ok((root, keep))
        },
        |session, (root, keep)| {
            let operation = Operation::new("delete_orphans");
            store::delete_orphans(session, &operation, &root, meta, &keep, dry_run.unwrap_or(false))
        },
    )?;
    Ok(result(&json!({"count": paths.len(), "paths": paths}).to_string())?)
}

fn marks(meta: Jsonb) -> Result<Meta> {
    let meta = MetaValue::from_jsonb("meta_contains", meta)?.meta;
    check_marks("meta_contains", &meta)?;
    Ok(meta)
}

fn keep_place(at: usize, field: &str) -> String {
    format!("keep[{at}].{field}")
}

/// The trees, which need to know who is asking, and the names of a keep list.
fn read_keep(keep: Jsonb) -> Result<Vec<(String, Name)>> {
    let text = keep.text();
    let items = super::arguments::items("keep", &text)?;
    check_keep("keep", items.len())?;
    items
        .iter()
        .enumerate()
        .map(|(at, raw)| {
            let item = Arguments::parse(&format!("keep[{at}]"), raw.get(), &["tree", "name"])?;
            let tree = required(&keep_place(at, "tree"), item.text("tree")?)?;
            let name = required(&keep_place(at, "name"), item.text("name")?)?;
            Ok((tree, Name::parse(&keep_place(at, "name"), &name)?))
        })
        .collect()
}

#[pg_extern(stable, parallel_restricted)]
fn memory_count(
    tree: default!(Option<&str>, "NULL"),
    max_count: default!(Option<i32>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    count(tree, max_count.map(i64::from), space)
}

#[pg_extern(stable, parallel_restricted)]
fn memory_tree(
    tree: default!(Option<&str>, "NULL"),
    levels: default!(Option<i32>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    self::tree(tree, levels.map(i64::from), space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_delete_tree(
    tree: default!(Option<&str>, "NULL"),
    dry_run: default!(Option<bool>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    delete_tree(tree, dry_run, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_copy(
    source: default!(Option<String>, "NULL"),
    destination: default!(Option<String>, "NULL"),
    dry_run: default!(Option<bool>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    copy(&Transfer { source, destination, dry_run }, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_mv(
    source: default!(Option<String>, "NULL"),
    destination: default!(Option<String>, "NULL"),
    dry_run: default!(Option<bool>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    mv(&Transfer { source, destination, dry_run }, space)
}

#[pg_extern(volatile, parallel_unsafe)]
fn memory_delete_orphans(
    root: default!(Option<&str>, "NULL"),
    meta_contains: default!(Option<Jsonb>, "NULL"),
    keep: default!(Option<Jsonb>, "NULL"),
    dry_run: default!(Option<bool>, "NULL"),
    space: default!(Option<&str>, "NULL"),
) -> Answer {
    delete_orphans(root, meta_contains, keep, dry_run, space)
}
