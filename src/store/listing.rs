//! Rows in the order of their ids (SRCH-20), without a statement, where trees are all that is asked: planning would take longer
//! than reading the ten rows of a page.
//!
//! Of two ways the shorter is taken: through the ids, until enough rows pass, or through the subtrees, whose ids are then
//! put in order. Which is shorter depends on how many rows the filter leaves; when the first turns out longer than was
//! expected, the second is taken after all.

use super::also::Also;
use super::filter::Filter;
use super::keyed::{Key, Keyed, Kind, Tables, need};
use super::session::{Session, stored_tree};
use crate::domain::filter::Scope;
use crate::domain::id::Id;
use crate::error::{Error, Result};
use std::ffi::CString;

static BY_ID: Keyed = Keyed {
    table: c"memory",
    index: c"memory_pkey",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"id", Kind::Uuid), (c"tree", Kind::Other)],
};
static BY_TREE: Keyed = Keyed {
    table: c"memory",
    index: c"memory_path_key",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"tree", Kind::Other), (c"id", Kind::Uuid)],
};

/// How many times more rows than expected are looked at by id.
const PATIENCE: f64 = 4.0;

/// Which rows are wanted.
pub struct Page {
    /// Oldest first.
    pub ascending: bool,
    /// Behind this one.
    pub after: Option<Id>,
    /// So many.
    pub limit: usize,
}

/// What was found, and how.
pub struct Listed {
    /// The ids, in order.
    pub ids: Vec<[u8; 16]>,
    /// Whether the subtrees were read, and not the ids in their order.
    pub by_tree: bool,
}

/// A page; `None` where it cannot be read so.
pub fn page(session: &Session, filter: &Filter, also: &Also, page: &Page) -> Result<Option<Listed>> {
    let (Some((scope, None)), Some(hidden)) = (filter.scope_and_meta(), also.hidden_only()) else {
        return Ok(None);
    };
    let Some(tables) = Tables::here() else { return Ok(None) };
    let (Some(by_id), Some(by_tree)) = (tables.open(&BY_ID), tables.open(&BY_TREE)) else { return Ok(None) };
    let unreadable = || Error::Internal("memories could not be read by their keys".into());
    let is_hidden = |id: &[u8; 16]| hidden.iter().any(|hidden| hidden.as_bytes() == id);
    // Rows to be looked at by id, and by tree.
    let (expected, passing) = match scope.is_everything() {
        true => (page.limit as f64, f64::INFINITY),
        false => {
            let passing = filter.estimate(session.db())?.max(1.0);
            (page.limit as f64 * by_id.rows_expected().max(passing) / passing, passing)
        }
    };
    session.db().under_snapshot(|snapshot| {
        let mut ids: Vec<[u8; 16]> = Vec::with_capacity(page.limit);
        if expected <= passing {
            let most = if passing.is_finite() { expected * PATIENCE + 100.0 } else { f64::INFINITY };
            let mut looked = 0.0;
            let after = page.after.as_ref().map(|id| Key::Uuid(id.as_bytes()));
            let first = Key::Text(session.space());
            let readable = by_id.rows_in_order(snapshot, first, after, page.ascending, |row| {
                looked += 1.0;
                let id = need(row.uuid(1))?;
                let inside = scope.is_everything() || scope.contains(&stored_tree(need(row.output(2))?)?);
                if inside && !is_hidden(&id) {
                    ids.push(id);
                }
                Ok(ids.len() < page.limit && looked < most)
            })?;
            if !readable {
                return Err(unreadable());
            }
            if ids.len() == page.limit || looked < most {
                return Ok(Some(Listed { ids, by_tree: false }));
            }
            ids.clear();
        }
        for (from, to) in intervals(scope)? {
            let (first, to) = (Key::Text(session.space()), to.as_deref().map(Key::Other));
            let readable = by_tree.rows_between(snapshot, first, Key::Other(&from), to, |row| {
                ids.push(need(row.uuid(2))?);
                Ok(true)
            })?;
            if !readable {
                return Err(unreadable());
            }
        }
        let after = page.after.as_ref().map(Id::as_bytes);
        ids.retain(|id| {
            let behind = after.is_none_or(|after| if page.ascending { id > after } else { id < after });
            behind && !is_hidden(id)
        });
        ids.sort_unstable();
        if !page.ascending {
            ids.reverse();
        }
        ids.truncate(page.limit);
        Ok(Some(Listed { ids, by_tree: true }))
    })
}

/// The subtrees of a scope that is not everything, as the input function of trees reads them.
pub fn intervals(scope: &Scope) -> Result<Vec<(CString, Option<CString>)>> {
    let text =
        |text: &str| CString::new(text).map_err(|_| Error::Internal("a tree holds a zero byte".into()));
    let intervals = scope.intervals().into_iter().flatten();
    intervals.map(|(from, to)| Ok((text(from)?, to.as_deref().map(text).transpose()?))).collect()
}
