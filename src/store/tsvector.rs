//! The server's `tsvector`, made and read in place. Ours says in the only "position" of a lexeme how often it stands
//! in a memory, in halves of a word.

use crate::domain::search::lexeme::Piece;
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::Datum;
use pgrx::nullable::Nullable;
use pgrx::pgrx_sql_entity_graph::metadata::{
    ArgumentError, ReturnsError, ReturnsRef, SqlMappingRef, SqlTranslatable, TypeOrigin,
};
use pgrx::{FromDatum, IntoDatum, pg_sys};

/// Bytes before the entries: the varlena header and the number of entries.
const HEADER: usize = 8;
const ENTRY: usize = size_of::<pg_sys::WordEntry>();

/// A `tsvector` as an argument.
#[derive(Debug, Clone, Copy)]
pub struct TsVector(pg_sys::Datum);

/// A `tsvector` as a result.
#[derive(Debug)]
pub struct NewTsVector(pub Piece);

/// The bytes of a `tsvector` behind its length, unpacked where it was compressed.
pub struct Lexemes<'a> {
    body: &'a [u8],
    count: usize,
}

impl TsVector {
    /// Opens it; what it is unpacked into lives as long as the current memory context.
    pub fn open(&self) -> Lexemes<'_> {
        // SAFETY: the datum is a tsvector. Packed or not, its data begin with the number of entries.
        let body = unsafe {
            let detoasted = pg_sys::pg_detoast_datum_packed(self.0.cast_mut_ptr());
            pgrx::varlena_to_byte_slice(detoasted)
        };
        let count = body.first_chunk::<4>().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
        Lexemes { body, count: usize::try_from(count).unwrap_or_default() }
    }
}

impl Lexemes<'_> {
    fn entry(&self, index: usize) -> Option<pg_sys::WordEntry> {
        let at = HEADER - 4 + index * ENTRY;
        let bytes = self.body.get(at..at + ENTRY)?;
        // SAFETY: the slice holds one entry, which is plain bits; it need not be aligned.
        Some(unsafe { bytes.as_ptr().cast::<pg_sys::WordEntry>().read_unaligned() })
    }

    fn word(&self, entry: &pg_sys::WordEntry) -> &[u8] {
        let from = HEADER - 4 + self.count * ENTRY + entry.pos() as usize;
        self.body.get(from..from + entry.len() as usize).unwrap_or_default()
    }

    /// How many halves of this lexeme there are; 0 when it is not there.
    pub fn halves(&self, lexeme: &[u8]) -> u32 {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(entry) = self.entry(middle) else { return 0 };
            match self.word(&entry).cmp(lexeme) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.position(&entry),
            }
        }
        0
    }

    /// Calls `each` with every lexeme and its halves.
    pub fn each(&self, mut each: impl FnMut(&[u8], u32)) {
        for entry in (0..self.count).map_while(|index| self.entry(index)) {
            each(self.word(&entry), self.position(&entry));
        }
    }

    fn position(&self, entry: &pg_sys::WordEntry) -> u32 {
        if entry.haspos() == 0 {
            return 0;
        }
        // Aligned within the strings, then one number (how many positions) and the position.
        let end = (entry.pos() + entry.len()) as usize;
        let at = HEADER - 4 + self.count * ENTRY + end + end % 2 + 2;
        self.body
            .get(at..at + 2)
            .and_then(|bytes| bytes.first_chunk::<2>())
            .map_or(0, |bytes| u32::from(u16::from_ne_bytes(*bytes) & 0x3FFF))
    }
}

impl IntoDatum for NewTsVector {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        let strings: usize = self.0.iter().map(|(lexeme, _)| lexeme.len() + lexeme.len() % 2 + 4).sum();
        let size = HEADER + self.0.len() * ENTRY + strings;
        let mut entries: Vec<u8> = Vec::with_capacity(size - 4);
        entries.extend_from_slice(&i32::try_from(self.0.len()).ok()?.to_ne_bytes());
        let mut texts: Vec<u8> = Vec::with_capacity(strings);
        for (lexeme, halves) in &self.0 {
            let entry = pg_sys::WordEntry {
                _bitfield_align_1: [],
                _bitfield_1: pg_sys::WordEntry::new_bitfield_1(
                    1,
                    u32::try_from(lexeme.len()).ok()?,
                    u32::try_from(texts.len()).ok()?,
                ),
            };
            // SAFETY: an entry is plain bits.
            entries.extend_from_slice(unsafe {
                std::slice::from_raw_parts((&raw const entry).cast::<u8>(), ENTRY)
            });
            texts.extend_from_slice(lexeme);
            if texts.len() % 2 == 1 {
                texts.push(0);
            }
            texts.extend_from_slice(&1u16.to_ne_bytes());
            texts.extend_from_slice(&halves.to_ne_bytes());
        }
        entries.extend_from_slice(&texts);
        // SAFETY: allocates and fills exactly what the length in the header says.
        unsafe {
            let varlena: *mut u8 = pg_sys::palloc(entries.len() + 4).cast();
            varlena.add(4).copy_from_nonoverlapping(entries.as_ptr(), entries.len());
            pgrx::set_varsize_4b(varlena.cast(), i32::try_from(entries.len() + 4).ok()?);
            Some(pg_sys::Datum::from(varlena))
        }
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::TSVECTOROID
    }
}

// SAFETY: the datum is a tsvector in the memory context of the call.
unsafe impl BoxRet for NewTsVector {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        match self.into_datum() {
            // SAFETY: the result is returned at once.
            Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
            None => fcinfo.return_null(),
        }
    }
}

impl FromDatum for TsVector {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        (!is_null).then_some(Self(datum))
    }
}

// SAFETY: the argument is declared tsvector in SQL, and its datum is kept as it is.
unsafe impl<'fcx> ArgAbi<'fcx> for TsVector {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: the caller promises a tsvector argument that is not null.
        unsafe { arg.unbox_arg_using_from_datum() }.unwrap_or(Self(pg_sys::Datum::from(0)))
    }

    unsafe fn unbox_nullable_arg(arg: Arg<'_, 'fcx>) -> Nullable<Self> {
        // SAFETY: as above; null stays null.
        unsafe { arg.unbox_arg_using_from_datum() }.into()
    }
}

macro_rules! is_tsvector {
    ($name:ident) => {
        // SAFETY: the SQL type named is the one the datum holds.
        unsafe impl SqlTranslatable for $name {
            const TYPE_IDENT: &'static str = pgrx::pgrx_resolved_type!($name);
            const TYPE_ORIGIN: TypeOrigin = TypeOrigin::External;
            const ARGUMENT_SQL: Result<SqlMappingRef, ArgumentError> = Ok(SqlMappingRef::literal("tsvector"));
            const RETURN_SQL: Result<ReturnsRef, ReturnsError> =
                Ok(ReturnsRef::One(SqlMappingRef::literal("tsvector")));
        }
    };
}
is_tsvector!(TsVector);
is_tsvector!(NewTsVector);
