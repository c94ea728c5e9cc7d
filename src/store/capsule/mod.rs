//! Capsules in tables: numbers and journal under one lock per space, contents as rows of `me.memory`.

pub mod adopt;
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
pub mod import;
pub mod list;
pub mod merge;
mod postings;
pub mod recall;
pub mod relate;
mod rows;
pub mod sessions;
mod state;
pub mod verify;
pub mod views;
pub mod vocabulary;
