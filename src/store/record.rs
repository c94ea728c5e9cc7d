//! A memory as callers see it (REC-1), written as the `jsonb` that is stored and sent: its parts are copied once.
//!
//! The layout is PostgreSQL's own, the same on disk since `jsonb` exists: a container begins with a word that says what it is
//! and how many members it has; a word for each key and each value follows, with its type and its length; then come keys
//! and values themselves. An object's keys are in the order of their lengths, those of one length in that of their bytes.
//! Numbers and containers begin at a multiple of four.

use super::jsonb::Jsonb;
use super::macros::tree_display;
use crate::domain::instant::Instant;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

/// What a record is made of.
#[derive(Debug)]
pub struct Record<'a> {
    /// UUIDv7.
    pub id: [u8; 16],
    /// The text.
    pub content: &'a str,
    /// The metadata: the root container of a stored `jsonb`.
    pub meta: &'a [u8],
    /// The tree as the caller sees it.
    pub tree: &'a str,
    /// The leaf name, or none.
    pub name: Option<&'a str>,
    /// Start and end; the same twice for a point.
    pub temporal: Option<(Instant, Instant)>,
    /// Its version.
    pub version: i64,
    /// Its version hash.
    pub version_hash: [u8; 16],
    /// Whether search by meaning finds it.
    pub has_embedding: bool,
    /// When it was made.
    pub created_at: Instant,
    /// Who made it.
    pub created_by: &'a str,
    /// When it was last updated, or none.
    pub updated_at: Option<Instant>,
}

/// The record of a row that a statement found; null when something is null that no memory lacks.
#[pg_extern(immutable, parallel_safe, name = "_record_json")]
#[allow(clippy::too_many_arguments, reason = "a record has that many parts")]
pub(crate) fn record_json(
    id: Option<pgrx::Uuid>,
    content: Option<&str>,
    meta: Option<Jsonb>,
    tree: Option<&str>,
    name: Option<&str>,
    start: Option<TimestampWithTimeZone>,
    end: Option<TimestampWithTimeZone>,
    version: Option<i64>,
    version_hash: Option<pgrx::Uuid>,
    has_embedding: Option<bool>,
    created_at: Option<TimestampWithTimeZone>,
    created_by: Option<&str>,
    updated_at: Option<TimestampWithTimeZone>,
    home: Option<&str>,
) -> std::result::Result<Option<Jsonb>, ErrorReport> {
    let instant = |at: TimestampWithTimeZone| Instant::from_micros(i64::from(at));
    let (Some(tree), Some(meta)) = (tree_display(tree, home), meta) else { return Ok(None) };
    let (Some(id), Some(hash), Some(content)) = (id, version_hash, content) else { return Ok(None) };
    let (Some(version), Some(created_at), Some(created_by)) = (version, created_at, created_by) else {
        return Ok(None);
    };
    let record = Record {
        id: *id.as_bytes(),
        content,
        meta: meta.container(),
        tree: &tree,
        name,
        temporal: start.zip(end).map(|(start, end)| (instant(start), instant(end))),
        version,
        version_hash: *hash.as_bytes(),
        has_embedding: has_embedding == Some(true),
        created_at: instant(created_at),
        created_by,
        updated_at: updated_at.map(instant),
    };
    match record.to_jsonb() {
        Some(record) => Ok(Some(record)),
        None => Err(ErrorReport::new(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "the record of a memory is longer than a jsonb can be",
            "record_json",
        )),
    }
}

/// A value of an object.
enum Value<'a> {
    Null,
    Bool(bool),
    Text(&'a str),
    /// A number as it is stored, with its length word.
    Number(&'a [u8]),
    /// An object or an array as it is stored, without a length word.
    Object(&'a [u8]),
}

impl Record<'_> {
    /// The record as a datum in the current memory context; `None` when it is longer than a `jsonb` can be.
    pub fn to_jsonb(&self) -> Option<Jsonb> {
        self.with_score(None)
    }

    /// The same as the row of a search.
    pub fn scored(&self, score: f64) -> Option<Jsonb> {
        self.with_score(Some(number(score)?))
    }

    fn with_score(&self, score: Option<&[u8]>) -> Option<Jsonb> {
        let id = uuid_text(self.id);
        let hash = format!("{:032x}", u128::from_be_bytes(self.version_hash));
        let created_at = self.created_at.to_iso_millis();
        let updated_at = self.updated_at.map(Instant::to_iso_millis);
        let temporal = self.temporal.map(|(start, end)| {
            let (start, end) = (start.to_iso_millis(), end.to_iso_millis());
            let members = [("end", Value::Text(&end)), ("start", Value::Text(&start))];
            let mut object = vec![0; size(&members)];
            let written = write(&mut object, &members);
            object.truncate(written);
            object
        });
        let version = whole(self.version);
        let mut members = Vec::with_capacity(13);
        members.extend([
            ("id", Value::Text(&id)),
            ("meta", Value::Object(self.meta)),
            ("name", self.name.map_or(Value::Null, Value::Text)),
            ("tree", Value::Text(self.tree)),
        ]);
        members.extend(score.map(|score| ("score", Value::Number(score))));
        members.extend([
            ("content", Value::Text(self.content)),
            ("version", Value::Number(version)),
            ("temporal", temporal.as_deref().map_or(Value::Null, Value::Object)),
            ("createdAt", Value::Text(&created_at)),
            ("createdBy", Value::Text(self.created_by)),
            ("updatedAt", updated_at.as_deref().map_or(Value::Null, Value::Text)),
            ("versionHash", Value::Text(&hash)),
            ("hasEmbedding", Value::Bool(self.has_embedding)),
        ]);
        datum(size(&members), |out| write(out, &members))
    }
}

/// The answer of a search (SRCH-6, SRCH-7) from its rows, in the current memory context; `None` when it is longer than a
/// `jsonb` can be.
pub fn answer(rows: &[Jsonb], limit: usize) -> Option<Jsonb> {
    let rows: Vec<&[u8]> = rows.iter().map(|row| row.container()).collect();
    let size = WORD + rows.iter().map(|row| 2 * WORD - 1 + row.len()).sum::<usize>();
    if size > LENGTH_MOST {
        return None;
    }
    let mut array = vec![0; size];
    let written = write_array(&mut array, &rows);
    array.truncate(written);
    let (limit, total) = (whole(limit as i64), whole(rows.len() as i64));
    let members = [
        ("limit", Value::Number(limit)),
        ("total", Value::Number(total)),
        ("results", Value::Object(&array)),
    ];
    datum(self::size(&members), |out| write(out, &members))
}

/// A `jsonb` of at most `size` bytes, which `write` writes and tells the length of.
fn datum(size: usize, write: impl FnOnce(&mut [u8]) -> usize) -> Option<Jsonb> {
    if size > LENGTH_MOST {
        return None;
    }
    // SAFETY: what is allocated is as long as the header and the bound together; `write` says how much of it is used.
    unsafe {
        let datum: *mut u8 = pg_sys::palloc0(HEADER + size).cast();
        let written = write(std::slice::from_raw_parts_mut(datum.add(HEADER), size));
        pgrx::varlena::set_varsize_4b(datum.cast(), (HEADER + written) as i32);
        Some(Jsonb::from_raw(pg_sys::Datum::from(datum)))
    }
}

/// A whole number as `jsonb` stores it.
fn whole<'a>(number: i64) -> &'a [u8] {
    // SAFETY: the server's own number, a varlena that was just made in the current memory context, which outlives what is
    // written from it: its length word is not a short one.
    unsafe { stored(pg_sys::int64_to_numeric(number)) }
}

/// A number as `jsonb` stores it, with all its digits, whatever the session has set.
fn number<'a>(number: f64) -> Option<&'a [u8]> {
    let text = std::ffi::CString::new(number.to_string()).ok()?;
    let (none, any) = (pg_sys::Datum::from(0), pg_sys::Datum::from(-1i32));
    // SAFETY: the input function of the server's own number, of a NUL-terminated text that is one; as in `whole`.
    unsafe {
        let datum = pgrx::direct_function_call_as_datum(
            pg_sys::numeric_in,
            &[Some(pg_sys::Datum::from(text.as_ptr())), Some(none), Some(any)],
        )?;
        Some(stored(datum.cast_mut_ptr()))
    }
}

/// # Safety
/// The number was just made, in a memory context that outlives what is done with it.
unsafe fn stored<'a>(number: pg_sys::Numeric) -> &'a [u8] {
    let number: *const pg_sys::varlena = number.cast();
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(number.cast::<u8>(), pgrx::varlena::varsize_any(number)) }
}

/// Bytes of the length word before a datum.
const HEADER: usize = 4;
/// Bytes of the words that describe a container and its members.
const WORD: usize = 4;
/// Longest object, so that each length fits into its word.
const LENGTH_MOST: usize = pg_sys::JENTRY_OFFLENMASK as usize;

/// The most bytes the container takes.
fn size(members: &[(&str, Value)]) -> usize {
    let members: usize = members
        .iter()
        .map(|(key, value)| {
            2 * WORD
                + key.len()
                + match value {
                    Value::Null | Value::Bool(_) => 0,
                    Value::Text(text) => text.len(),
                    Value::Number(bytes) | Value::Object(bytes) => WORD - 1 + bytes.len(),
                }
        })
        .sum();
    WORD + members
}

/// Writes an object whose keys are in order, and says how long it is. It has fewer than sixteen members: of longer ones, every
/// thirty-second word would hold an offset instead of a length.
fn write(out: &mut [u8], members: &[(&str, Value)]) -> usize {
    debug_assert!(members.len() < 16);
    debug_assert!(members.is_sorted_by_key(|(key, _)| (key.len(), *key)));
    let first = WORD * (1 + 2 * members.len());
    let mut out = Out { bytes: out, words: 0, end: first };
    out.word(pg_sys::JB_FOBJECT | members.len() as u32);
    for (n, (key, _)) in members.iter().enumerate() {
        let begin = out.end;
        out.put(key.as_bytes());
        // The first word of a container holds an offset, which is the length so far.
        let offset = if n == 0 { pg_sys::JENTRY_HAS_OFF } else { 0 };
        out.word(offset | pg_sys::JENTRY_ISSTRING | (out.end - begin) as u32);
    }
    for (_, value) in members {
        let begin = out.end;
        let kind = match value {
            Value::Null => pg_sys::JENTRY_ISNULL,
            Value::Bool(true) => pg_sys::JENTRY_ISBOOL_TRUE,
            Value::Bool(false) => pg_sys::JENTRY_ISBOOL_FALSE,
            Value::Text(text) => {
                out.put(text.as_bytes());
                pg_sys::JENTRY_ISSTRING
            }
            Value::Number(bytes) => {
                out.align();
                out.put(bytes);
                pg_sys::JENTRY_ISNUMERIC
            }
            Value::Object(bytes) => {
                out.align();
                out.put(bytes);
                pg_sys::JENTRY_ISCONTAINER
            }
        };
        out.word(kind | (out.end - begin) as u32);
    }
    out.end
}

/// Writes an array of containers, and says how long it is. Every thirty-second word holds an offset instead of a length.
fn write_array(out: &mut [u8], members: &[&[u8]]) -> usize {
    let first = WORD * (1 + members.len());
    let mut out = Out { bytes: out, words: 0, end: first };
    out.word(pg_sys::JB_FARRAY | members.len() as u32);
    for (n, member) in members.iter().enumerate() {
        let begin = out.end;
        out.align();
        out.put(member);
        let length = match n % pg_sys::JB_OFFSET_STRIDE as usize {
            0 => pg_sys::JENTRY_HAS_OFF | (out.end - first) as u32,
            _ => (out.end - begin) as u32,
        };
        out.word(pg_sys::JENTRY_ISCONTAINER | length);
    }
    out.end
}

struct Out<'a> {
    bytes: &'a mut [u8],
    words: usize,
    end: usize,
}

impl Out<'_> {
    fn word(&mut self, word: u32) {
        self.bytes[self.words..self.words + WORD].copy_from_slice(&word.to_ne_bytes());
        self.words += WORD;
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// The gap holds zeros, and belongs to what comes after it.
    fn align(&mut self) {
        let aligned = self.end.next_multiple_of(WORD);
        self.bytes[self.end..aligned].fill(0);
        self.end = aligned;
    }
}

/// As PostgreSQL prints a uuid.
fn uuid_text(id: [u8; 16]) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(id));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
