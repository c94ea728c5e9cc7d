//! Full text search, first half: what of a memory is indexed, by the space's text search configuration.

use super::jsonb::Jsonb;
use super::owner;
use super::payload::{Payload, temporal};
use super::tsvector::NewTsVector;
use crate::domain::search::fields::Fields;
use crate::domain::search::lexeme::{self, Counts, IN_CONTENT, IN_FIELD, Piece, TAG_BYTES, split};
use pgrx::iter::TableIterator;
use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, check_for_interrupts};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};

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
    let payload = Payload {
        tree,
        name,
        content,
        meta: if fields.meta { meta.text().into() } else { "".into() },
        stored_meta: None,
        temporal: temporal(start, end),
    };
    let Lexed { pieces, length } = Lexer::new(space, text_config).lexed(fields, &payload);
    let configuration = fields.fingerprint(text_config);
    let count = i16::try_from(pieces.len()).unwrap_or(i16::MAX);
    TableIterator::new(
        pieces
            .into_iter()
            .zip(0i16..)
            .map(move |(piece, number)| (number, count, NewTsVector(piece), length, configuration)),
    )
}

/// What identifies the configuration a row was indexed under.
#[pg_extern(immutable, parallel_safe, name = "_fulltext_configuration")]
pub(crate) fn fulltext_configuration(text_config: &str, fulltext_fields: Vec<Option<String>>) -> i32 {
    Fields::stored(&fulltext_fields).fingerprint(text_config)
}

/// The lexemes of a memory, in as many pieces as a `tsvector` asks for, and its length in halves of a word.
pub struct Lexed {
    /// At least one.
    pub pieces: Vec<Piece>,
    /// Lexemes of the whole memory counted with repetition.
    pub length: i64,
}

/// Takes texts apart by one text search configuration.
pub struct Lexer {
    config: pg_sys::Oid,
    tag: [u8; TAG_BYTES],
    /// What the words seen so far became, if they may be taken apart one by one.
    known: Option<RefCell<HashMap<Box<[u8]>, Lexemes>>>,
}

/// What a word became: its lexemes, or nothing.
type Lexemes = Box<[Box<[u8]>]>;

/// Longest word that is kept, and how many are.
const KNOWN_BYTES: usize = 64;
const KNOWN_WORDS: usize = 50_000;

impl Lexer {
    /// The lexer of a space.
    pub fn new(space: &str, text_config: &str) -> Self {
        Self { config: configuration(text_config), tag: lexeme::tag(space), known: None }
    }

    /// The same for many texts: a word that stands in several of them is taken apart once.
    pub fn of_many(space: &str, text_config: &str) -> Self {
        let lexer = Self::new(space, text_config);
        let known = takes_word_by_word(lexer.config).then(RefCell::default);
        Self { known, ..lexer }
    }

    /// What a memory is found by in a space with these fields.
    pub fn lexed(&self, fields: Fields, payload: &Payload) -> Lexed {
        let mut counts = Counts::default();
        self.stored(&mut counts, payload.content, IN_CONTENT);
        if fields.any() {
            let instants = payload.temporal.map(|time| (time.start(), time.end().unwrap_or(time.start())));
            for text in fields.texts(payload.name, payload.tree, &payload.meta, instants) {
                self.stored(&mut counts, &text, IN_FIELD);
            }
        }
        let length = counts.length();
        let mut pieces = counts.into_pieces();
        pieces.truncate(i16::MAX as usize);
        Lexed { pieces, length }
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
            let parse = |counts: &mut Counts| match &self.known {
                // Between the two ends of a tag there may be blanks; no other token has any.
                Some(known) if !part.contains('<') => {
                    for word in lexeme::words(part) {
                        self.word(counts, &mut known.borrow_mut(), word, halves);
                    }
                }
                _ => self.parse(part, |lexeme| counts.add(self.tag, lexeme, halves)),
            };
            match part.split_ascii_whitespace().any(|word| word.len() > lexeme::LEXEME_BYTES) {
                // The parser would say of each word that is too long that it leaves it out.
                true => owner::without_notices(|| parse(counts)),
                false => parse(counts),
            }
        }
    }

    /// Counts what a word becomes, which is remembered.
    fn word(&self, counts: &mut Counts, known: &mut HashMap<Box<[u8]>, Lexemes>, word: &str, halves: u32) {
        if let Some(lexemes) = known.get(word.as_bytes()) {
            lexemes.iter().for_each(|lexeme| counts.add(self.tag, lexeme, halves));
            return;
        }
        let mut lexemes: Vec<Box<[u8]>> = Vec::new();
        self.parse(word, |lexeme| {
            counts.add(self.tag, lexeme, halves);
            lexemes.push(lexeme.into());
        });
        if word.len() <= KNOWN_BYTES && known.len() < KNOWN_WORDS {
            known.insert(word.as_bytes().into(), lexemes.into_boxed_slice());
        }
    }

    /// Takes a text apart by the server's parser and dictionaries.
    fn parse(&self, text: &str, mut found: impl FnMut(&[u8])) {
        let Ok(length) = i32::try_from(text.len()) else { return };
        let room = length / 6 + 2;
        // SAFETY: `parsetext` reads `length` bytes of the buffer without changing them and fills `words`, which it
        // grows in the current memory context; every word it leaves is `len` bytes long. Nothing allocated inside is
        // kept: what is found is copied into Rust's own memory.
        unsafe {
            PgMemoryContexts::new("memory_engine lexemes").switch_to(|_| {
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
                    found(std::slice::from_raw_parts(word.word.cast::<u8>(), word.len as usize));
                }
            });
        }
    }
}

/// Whether a configuration sees in a text what it sees in its words one by one: it has the server's own parser, which
/// ends every token but a tag at a blank, and dictionaries that look at one token at a time, unlike a thesaurus.
fn takes_word_by_word(config: pg_sys::Oid) -> bool {
    const PARSER: pg_sys::Oid = pg_sys::Oid::from_u32(3722);
    const ONE_AT_A_TIME: [u32; 3] =
        [pg_sys::F_DSIMPLE_LEXIZE, pg_sys::F_DSYNONYM_LEXIZE, pg_sys::F_DISPELL_LEXIZE];
    // SAFETY: look-ups in caches of the server, whose entries live on while nothing else is asked of it; the lists of
    // an entry are as long as it says.
    unsafe {
        let stem = find(c"english_stem", |names| pg_sys::get_ts_dict_oid(names, true));
        let stems = stem.map(|oid| (*pg_sys::lookup_ts_dictionary_cache(oid)).lexizeOid);
        let entry = pg_sys::lookup_ts_config_cache(config);
        if (*entry).prsId != PARSER || (*entry).map.is_null() {
            return false;
        }
        let lists =
            std::slice::from_raw_parts((*entry).map, usize::try_from((*entry).lenmap).unwrap_or_default());
        let dictionaries: Vec<pg_sys::Oid> = lists
            .iter()
            .filter(|list| list.len > 0 && !list.dictIds.is_null())
            .flat_map(|list| {
                std::slice::from_raw_parts(list.dictIds, usize::try_from(list.len).unwrap_or_default())
            })
            .copied()
            .collect();
        dictionaries.into_iter().all(|dictionary| {
            let lexize = (*pg_sys::lookup_ts_dictionary_cache(dictionary)).lexizeOid;
            stems == Some(lexize) || ONE_AT_A_TIME.contains(&lexize.to_u32())
        })
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
    // SAFETY: a look-up in the catalogue.
    find_in(&schema, &name, |names| unsafe { pg_sys::get_ts_config_oid(names, true) })
}

/// What a name stands for in `pg_catalog`.
fn find(name: &CStr, look_up: impl FnOnce(*mut pg_sys::List) -> pg_sys::Oid) -> Option<pg_sys::Oid> {
    find_in(c"pg_catalog", name, look_up)
}

/// What a qualified name stands for, if for anything.
fn find_in(
    schema: &CStr,
    name: &CStr,
    look_up: impl FnOnce(*mut pg_sys::List) -> pg_sys::Oid,
) -> Option<pg_sys::Oid> {
    let mut names = std::ptr::null_mut();
    for part in [schema, name] {
        // SAFETY: the list refers to names that outlive the look-up; an unknown one answers with the invalid OID.
        unsafe {
            names = pg_sys::lappend(names, pg_sys::makeString(part.as_ptr().cast_mut()).cast());
        }
    }
    let oid = look_up(names);
    (oid != pg_sys::Oid::INVALID).then_some(oid)
}
