//! Capsules in tables: numbers and journal under one lock per space, contents as rows of `me.memory`.

pub mod book;
pub mod capture;
pub mod classify;
pub mod consolidate;
pub mod digest;
pub mod erase;
mod files;
pub mod forget;
pub mod get;
mod graph;
pub mod guard;
pub mod list;
mod postings;
pub mod recall;
pub mod relate;
mod rows;
pub mod sessions;
mod state;
pub mod verify;
pub mod vocabulary;
