//! The lexical index: which memories hold which lexemes, in blocks that say how good the best of them can be.
//!
//! A segment holds some memories of a space, numbered by their ids. For each lexeme it lists the numbers, with how
//! often the lexeme stands there, in blocks; and each block says what its best memory is. So the best of all are found
//! without looking at the rest (`docs/lexical-index.md`). Segments never change: they are made, merged and dropped.

pub mod bits;
pub mod block;
pub mod build;
pub mod choice;
pub mod dictionary;
pub mod guide;
pub mod merge;
pub mod page;
pub mod place;
pub mod scoring;
pub mod topk;

/// Bytes of the index that are not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

/// A memory in a list: its number in the segment, and how often the lexeme stands there, in halves of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting {
    /// Number of the memory.
    pub ordinal: u32,
    /// Occurrences, in halves; at least one.
    pub halves: u32,
}

#[cfg(test)]
mod tests;
