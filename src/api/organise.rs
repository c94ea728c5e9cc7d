//! `me.*` functions over whole subtrees.

use super::{required, result};
use crate::domain::filter::TreeFilter;
use crate::domain::invalid::Invalid;
use crate::domain::nodes::parse_levels;
use crate::domain::path::TreePath;
use crate::error::{Error, Result};
use crate::store::jsonb::Jsonb;
use crate::store::operation::Operation;
use crate::store::organise as store;
use crate::store::session;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::json;

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
    let nodes: Vec<_> = nodes.iter().map(|(path, count)| json!({"path": path, "count": count})).collect();
    Ok(result(&json!({ "nodes": nodes }).to_string())?)
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
