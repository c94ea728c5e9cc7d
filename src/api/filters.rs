//! The filters that search and export share: decoded here, judged by `domain::filter`.

use super::given;
use crate::domain::filter::{Criteria, MetaPredicate, TemporalFilter, TreeFilter};
use crate::domain::invalid::Invalid;
use crate::domain::memory::Meta;
use crate::domain::path::Home;
use crate::error::Result;
use crate::store::filter::check_predicate;
use crate::store::jsonb::Jsonb;
use crate::store::memory::MetaValue;

/// The filters as they were given.
#[derive(Default)]
pub struct Filters {
    /// A tree filter.
    pub tree: Option<String>,
    /// An object that the metadata contains.
    pub meta: Option<Jsonb>,
    /// A predicate on the metadata.
    pub meta_predicate: Option<String>,
    /// Predicates on the time.
    pub temporal: Option<Jsonb>,
}

/// [`Filters`] checked but for the tree, which needs to know who is asking.
pub struct CheckedFilters {
    tree: Option<String>,
    meta: Option<Meta>,
    meta_predicate: Option<MetaPredicate>,
    temporal: Option<TemporalFilter>,
}

impl Filters {
    /// Checks everything that needs no caller.
    pub fn check(self) -> Result<CheckedFilters> {
        let meta = given(self.meta).map(|meta| MetaValue::from_jsonb("meta", meta)).transpose()?;
        let meta_predicate =
            self.meta_predicate.map(|text| MetaPredicate::parse("meta_predicate", text)).transpose()?;
        if let Some(predicate) = &meta_predicate {
            check_predicate("meta_predicate", predicate)?;
        }
        let temporal = match self.temporal {
            Some(temporal) => TemporalFilter::parse("temporal", &temporal.text())?,
            None => None,
        };
        Ok(CheckedFilters { tree: self.tree, meta: meta.map(|meta| meta.meta), meta_predicate, temporal })
    }
}

impl CheckedFilters {
    /// The filters of a caller with this home; `parse` says what an empty tree means (FILT-1).
    pub fn place(
        self,
        home: Option<&Home>,
        parse: fn(&str, &str, Option<&Home>) -> std::result::Result<TreeFilter, Invalid>,
    ) -> Result<Criteria> {
        let tree = match self.tree {
            Some(tree) => parse("tree", &tree, home)?,
            None => TreeFilter::None,
        };
        Ok(Criteria { tree, meta: self.meta, meta_predicate: self.meta_predicate, temporal: self.temporal })
    }
}
