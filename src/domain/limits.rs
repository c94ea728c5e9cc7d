//! Every maximum, with its unit and reason. No number of these is repeated elsewhere.

use super::invalid::Invalid;

/// Longest memory name, in characters (NAME-1, LIM-6).
pub const NAME_CHARS: usize = 128;
/// Longest tree label, in characters (TREE-2, LIM-7): what `ltree` holds.
pub const LABEL_CHARS: usize = 1000;
/// Longest dotted form of a tree, in bytes (TREE-3): a b-tree entry on (space, tree, name) must fit a page.
pub const TREE_BYTES: usize = 2000;
/// Largest stored form of a tree, in bytes (TREE-3): `ltree` rounds each label up to 8 bytes. A GiST index keeps two
/// trees in an entry, and needs room for two entries in a page of 8192 bytes; beyond this it cannot split pages.
pub const TREE_STORED_BYTES: usize = 2024;
/// Deepest metadata, in nested arrays and objects (design §10): parsers and printers recurse.
pub const META_DEPTH: usize = 500;
/// Most memories of one batch (BAT-3, LIM-2).
pub const BATCH_ITEMS: usize = 1000;
/// Largest `limit` of search, export and history (LIM-3) and largest `candidateLimit` (LIM-4).
pub const PAGE_ROWS: i64 = 1000;
/// Largest `levels` of `memory_tree` (LIM-5).
pub const TREE_LEVELS: i64 = 100;
/// Most entries of the keep list of `memory_delete_orphans` (LIM-14).
pub const ORPHAN_KEEP: usize = 25_000;
/// Longest part of a semantic query that is embedded, in UTF-16 code units (SRCH-11, LIM-9).
pub const QUERY_UTF16: usize = 8192;
/// Integers of JSON arguments lie within ± this (CALL-4): what a double holds exactly.
pub const SAFE_INTEGER: i64 = 9_007_199_254_740_991;
/// Default of `me.max_content_bytes`: the largest content of one memory, in bytes (design §10).
pub const CONTENT_BYTES_DEFAULT: usize = 16 * 1024 * 1024;
/// Longest full text query, in bytes: what is beyond is cut, and said.
pub const FULLTEXT_BYTES: usize = 64 * 1024;
/// Most distinct terms of a full text query; the others are left out, and it is said.
pub const FULLTEXT_TERMS: usize = 1024;
/// Longest regular expression of a search, in bytes.
pub const GREP_BYTES: usize = 4096;
/// Most parts of a regular expression with its repetitions written out: compiling takes time in proportion.
pub const GREP_STATES: u64 = 10_000;
/// Most bytes of all records of one `memory_export`: its text is one string of a jsonb, which holds 256 MiB.
pub const EXPORT_BYTES: usize = 128 * 1024 * 1024;
/// Longest name of an embedding model, in characters.
pub const MODEL_NAME_CHARS: usize = 100;
/// Longest vector: what an HNSW index over half-precision vectors holds.
pub const DIMENSIONS: u16 = 4000;
/// Most texts of one embedding request and of one claim.
pub const EMBEDDING_BATCH: u16 = 1000;
/// How long the windows of a text may be that an endpoint is sent, in UTF-16 units.
pub const ENDPOINT_WINDOW: std::ops::RangeInclusive<u16> = 100..=24_000;
/// Most windows, and so vectors, of one content.
pub const WINDOWS: usize = 1000;

/// The number of rows an export returns (EXP): none given, or 0 or less, is the most there may be.
///
/// # Errors
/// More than 1000 is refused under `LIM-3`.
pub fn export_limit(argument: &str, limit: Option<i64>) -> Result<i64, Invalid> {
    match limit {
        Some(limit) if limit > PAGE_ROWS => Err(Invalid::new(
            argument,
            "LIM-3",
            format!("argument \"{argument}\" is {limit}, more than the limit of {PAGE_ROWS}"),
            "Ask for fewer, or read me.memory_export_rows(), which has no limit.",
        )),
        Some(limit) if limit > 0 => Ok(limit),
        _ => Ok(PAGE_ROWS),
    }
}
/// Longest reason of a purge, in characters: it stays in the history for ever.
pub const REASON_CHARS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_returns_all_it_may_unless_told_otherwise() {
        for (given, applied) in
            [(None, 1000), (Some(0), 1000), (Some(-3), 1000), (Some(1), 1), (Some(1000), 1000)]
        {
            assert_eq!(export_limit("limit", given), Ok(applied));
        }
        assert_eq!(export_limit("limit", Some(1001)).unwrap_err().rule, "LIM-3");
    }
}
