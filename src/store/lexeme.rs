//! Full text search, first half: what of a memory is indexed, by the space's text search configuration.

use super::jsonb::Jsonb;
use super::owner;
use super::tsvector::NewTsVector;
use crate::domain::instant::Instant;
use crate::domain::search::fields::Fields;
use crate::domain::search::lexeme::{self, Counts, IN_CONTENT, IN_FIELD, TAG_BYTES, split};
use pgrx::iter::TableIterator;
use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, check_for_interrupts};
use std::ffi::CString;

/// How much text is parsed at once, in bytes: what the parser allocates for it is freed before the next part.
const PART_BYTES: usize = 1024 * 1024;

/// The lexemes of a memory, in as many pieces as a `tsvector` asks for, and its length in halves of a word.
#[pg_extern(stable, parallel_restricted, name = "_lexemes")]
#[allow(clippy::type_complexity, clippy::too_many_arguments, reason = "what is indexed has that many parts")]
pub(crate) fn lexemes(
    space: &str,
    text_config: &str,
    fulltext_fields: Vec<Option<String>>,
    content: &str,
    name: Option<&str>,
    tree: &str,
    meta: Jsonb,
    start: Option<TimestampWithTimeZone>,
    end: Option<TimestampWithTimeZone>,
) -> TableIterator<
    'static,
    (
        name!(piece, i16),
        name!(pieces, i16),
        name!(lexemes, NewTsVector),
        name!(length, i64),
        name!(configuration, i32),
    ),
> {
    let fields = Fields::stored(&fulltext_fields);
    let lexer = Lexer { config: configuration(text_config), tag: lexeme::tag(space) };
    let mut counts = Counts::default();
    lexer.stored(&mut counts, content, IN_CONTENT);
    if fields.any() {
        let instants = start.zip(end).map(|(start, end)| {
            (Instant::from_micros(i64::from(start)), Instant::from_micros(i64::from(end)))
        });
        let meta = if fields.meta { meta.text() } else { String::new() };
        for text in fields.texts(name, tree, &meta, instants) {
            lexer.stored(&mut counts, &text, IN_FIELD);
        }
    }
    let configuration = fields.fingerprint(text_config);
    let length = counts.length();
    let pieces = counts.into_pieces();
    let count = i16::try_from(pieces.len()).unwrap_or(i16::MAX);
    TableIterator::new(
        pieces
            .into_iter()
            .take(i16::MAX as usize)
            .zip(0i16..)
            .map(move |(piece, number)| (number, count, NewTsVector(piece), length, configuration)),
    )
}

/// What identifies the configuration a row was indexed under.
#[pg_extern(immutable, parallel_safe, name = "_fulltext_configuration")]
pub(crate) fn fulltext_configuration(text_config: &str, fulltext_fields: Vec<Option<String>>) -> i32 {
    Fields::stored(&fulltext_fields).fingerprint(text_config)
}

/// Takes texts apart by one text search configuration.
pub struct Lexer {
    config: pg_sys::Oid,
    tag: [u8; TAG_BYTES],
}

impl Lexer {
    /// The lexer of a space.
    pub fn new(space: &str, text_config: &str) -> Self {
        Self { config: configuration(text_config), tag: lexeme::tag(space) }
    }

    fn stored(&self, counts: &mut Counts, text: &str, halves: u32) {
        self.count(counts, text, halves, |counts, run| {
            for gram in lexeme::stored_grams(run) {
                counts.add(self.tag, gram.as_bytes(), halves);
            }
        });
    }

    /// The terms of a query with how often each stands in it.
    pub fn query(&self, text: &str) -> Vec<(Box<[u8]>, u32)> {
        let mut counts = Counts::default();
        self.count(&mut counts, text, IN_CONTENT, |counts, run| {
            for gram in lexeme::query_grams(run) {
                counts.add(self.tag, gram.as_bytes(), IN_CONTENT);
            }
        });
        counts.into_terms()
    }

    fn count(&self, counts: &mut Counts, text: &str, halves: u32, runs: impl Fn(&mut Counts, &str)) {
        let parts = split(text);
        for run in &parts.runs {
            runs(counts, run);
        }
        let mut rest: &str = &parts.words;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_end(rest));
            rest = after;
            check_for_interrupts!();
            // SAFETY: nothing allocated inside is kept: the counts are Rust's own memory.
            let parse = |counts: &mut Counts| unsafe {
                PgMemoryContexts::new("memory_engine lexemes")
                    .switch_to(|_| self.parse(counts, part, halves));
            };
            match part.split_ascii_whitespace().any(|word| word.len() > lexeme::LEXEME_BYTES) {
                // The parser would say of each word that is too long that it leaves it out.
                true => owner::without_notices(|| parse(counts)),
                false => parse(counts),
            }
        }
    }

    fn parse(&self, counts: &mut Counts, text: &str, halves: u32) {
        let Ok(length) = i32::try_from(text.len()) else { return };
        let room = length / 6 + 2;
        // SAFETY: `parsetext` reads `length` bytes of the buffer without changing them and fills `words`, which it
        // grows in the current memory context; every word it leaves is `len` bytes long.
        unsafe {
            let mut parsed = pg_sys::ParsedText {
                words: pg_sys::palloc0(room as usize * size_of::<pg_sys::ParsedWord>()).cast(),
                lenwords: room,
                curwords: 0,
                pos: 0,
            };
            pg_sys::parsetext(self.config, &raw mut parsed, text.as_ptr().cast_mut().cast(), length);
            let words = std::slice::from_raw_parts(
                parsed.words,
                usize::try_from(parsed.curwords).unwrap_or_default(),
            );
            for word in words {
                let lexeme = std::slice::from_raw_parts(word.word.cast::<u8>(), word.len as usize);
                counts.add(self.tag, lexeme, halves);
            }
        }
    }
}

/// Where the first part of a text ends: at white space, so that no word is cut, if there is any.
fn part_end(text: &str) -> usize {
    if text.len() <= PART_BYTES {
        return text.len();
    }
    let mut limit = PART_BYTES;
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    text[..limit].rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(limit)
}

/// The configuration of a name, or `simple` when there is none of that name any more: a memory is stored even then.
fn configuration(name: &str) -> pg_sys::Oid {
    let (schema, own) = name.split_once('.').unwrap_or(("pg_catalog", name));
    find_configuration(schema, own).unwrap_or_else(|| {
        warning!("text search configuration \"{name}\" does not exist: \"simple\" is used instead");
        find_configuration("pg_catalog", "simple").unwrap_or(pg_sys::Oid::INVALID)
    })
}

fn find_configuration(schema: &str, name: &str) -> Option<pg_sys::Oid> {
    let (schema, name) = (CString::new(schema).ok()?, CString::new(name).ok()?);
    // SAFETY: lookups in the catalogue by names that outlive the call; an unknown one answers with the invalid OID.
    let oid = unsafe {
        let mut names = std::ptr::null_mut();
        for part in [&schema, &name] {
            names = pg_sys::lappend(names, pg_sys::makeString(part.as_ptr().cast_mut()).cast());
        }
        pg_sys::get_ts_config_oid(names, true)
    };
    (oid != pg_sys::Oid::INVALID).then_some(oid)
}
