//! Storage: every statement runs here, as the extension's owner, with valid values only.

mod access_event;
pub mod caller;
pub mod embedding;
pub mod filter;
pub mod fulltext;
pub mod gateway;
pub mod grants;
pub mod jsonb;
pub(crate) mod lexeme;
pub(crate) mod macros;
pub mod memory;
pub mod operation;
pub mod organise;
mod owner;
pub mod principal;
pub mod random;
pub(crate) mod readable;
mod roles;
pub mod roster;
pub mod search;
pub mod session;
pub mod space;
pub mod spi;
pub mod statistics;
pub mod transfer;
pub mod tsvector;
mod uuid_v7;
