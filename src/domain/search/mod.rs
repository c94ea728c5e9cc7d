//! Searching: what a request says, and how what was found is ranked.

pub mod blend;
pub mod bm25;
pub mod compared;
pub mod fields;
pub mod findings;
pub mod grep;
pub mod lexeme;
pub mod request;
pub mod rrf;
pub mod thread;

/// How much each arm of a hybrid search counts, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The arm by meaning.
    pub semantic: f64,
    /// The arm by words.
    pub fulltext: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self { semantic: 1.0, fulltext: 1.0 }
    }
}
