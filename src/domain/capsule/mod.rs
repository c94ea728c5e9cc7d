//! Capsules: memories that carry their origin, are frozen at birth, and can be forgotten (spec/capsules).
//!
//! Rules only: what a capsule is, what a capture may be, what recall answers. Nothing here knows a table or a clock.

pub mod answer;
pub mod bootstrap;
pub mod classify;
pub mod consolidate;
pub mod dag;
pub mod dump;
pub mod export;
pub mod extract;
pub mod fault;
pub mod fence;
pub mod handoff;
pub mod ingest;
pub mod journal;
pub mod posting;
pub mod probe;
pub mod project;
pub mod rank;
pub mod ranking;
pub mod recall;
pub mod record;
pub mod seal;
pub mod shape;
pub mod similar;
pub mod split;
pub mod stamp;
pub mod standing;
pub mod taint;
#[cfg(test)]
mod taint_corpus;
pub mod text;
pub mod visual;
pub mod words;

/// How everything that carries stored text opens (CAP-ENV-1): advice, never an order.
pub const LABEL: &str = "ADVISORY_NOT_AUTHORITY";
/// What stored text is (CAP-ENV-1).
pub const FRAMING: &str = "DATA";
