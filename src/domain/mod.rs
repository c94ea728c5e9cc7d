//! The rules of memory: plain Rust that parses a value into a type that cannot be wrong, or refuses it.
//!
//! Nothing below this module knows PostgreSQL, does I/O, reads a clock or draws a random number.
#![forbid(unsafe_code)]

pub mod access;
pub mod audit;
pub mod batch;
pub mod capsule;
pub mod conflict;
pub mod embedding;
pub mod filter;
pub mod format;
pub mod history;
pub mod id;
pub mod instant;
pub mod invalid;
pub mod key;
pub mod lexical;
pub mod limits;
pub mod memory;
pub mod nodes;
pub mod orphans;
pub mod patch;
pub mod path;
pub mod principal;
pub mod release;
pub mod retention;
pub mod search;
pub mod select;
pub mod space;
pub mod temporal;
pub mod transfer;
pub mod utf16;
pub mod version;
