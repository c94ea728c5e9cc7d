//! Rows in the order of their ids (SRCH-20), without a statement, where trees are all that is asked: planning would take longer
//! than reading the ten rows of a page.
//!
//! Of two ways the shorter is taken: through the ids, until enough rows pass, or through the subtrees, whose ids are then
//! put in order. Which is shorter depends on how many rows the filter leaves; when the first turns out longer than was
//! expected, the second is taken after all.

use super::also::Also;
use super::filter::Filter;
use super::passing::Passing;
use super::session::Session;
use crate::domain::id::Id;
use crate::error::Result;

/// How many times more rows than expected are looked at by id.
const PATIENCE: f64 = 4.0;
/// How many rows are read in the order of their ids, which is mostly that in which they lie, while one is read by its tree.
const BESIDE: f64 = 2.0;

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
    let (Some((scope, None)), Some(_)) = (filter.scope_and_meta(), also.hidden_only()) else {
        return Ok(None);
    };
    let Some(passing) = Passing::of(session, filter, also)? else { return Ok(None) };
    // Rows to be looked at by id, and by tree.
    let (expected, by_tree) = match scope.is_everything() {
        true => (page.limit as f64, f64::INFINITY),
        false => {
            let in_scope = filter.estimate(session.db())?.max(1.0);
            (page.limit as f64 * passing.rows_expected().max(in_scope) / in_scope, in_scope)
        }
    };
    let behind = page.after.as_ref().map(Id::as_bytes);
    let mut ids: Vec<[u8; 16]> = Vec::with_capacity(page.limit);
    if expected <= by_tree * BESIDE {
        let most = if by_tree.is_finite() { expected * PATIENCE + 100.0 } else { f64::INFINITY };
        let mut looked = 0.0;
        passing.in_order(page.ascending, behind, |id, passes| {
            looked += 1.0;
            if passes {
                ids.push(id);
            }
            ids.len() < page.limit && looked < most
        })?;
        if ids.len() == page.limit || looked < most {
            return Ok(Some(Listed { ids, by_tree: false }));
        }
    }
    let Some(mut ids) = passing.ids(None)? else { return Ok(None) };
    ids.retain(|id| behind.is_none_or(|behind| if page.ascending { id > behind } else { id < behind }));
    if !page.ascending {
        ids.reverse();
    }
    ids.truncate(page.limit);
    Ok(Some(Listed { ids, by_tree: true }))
}
