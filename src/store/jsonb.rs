//! A `jsonb` value handed through as it is: serde would change its numbers and cost more than the query.

use super::spi::in_memory_above;
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::Datum;
use pgrx::nullable::Nullable;
use pgrx::pgrx_sql_entity_graph::metadata::{
    ArgumentError, ReturnsError, ReturnsRef, SqlMappingRef, SqlTranslatable, TypeOrigin,
};
use pgrx::{FromDatum, IntoDatum, direct_function_call, direct_function_call_as_datum, pg_sys};
use std::ffi::CString;

/// A `jsonb` datum. It lives as long as the memory context it was made in: for arguments and results, the call's.
#[derive(Debug, Clone, Copy)]
pub struct Jsonb(pg_sys::Datum);

impl Jsonb {
    /// Wraps a datum of type jsonb.
    pub fn from_raw(datum: pg_sys::Datum) -> Self {
        Self(datum)
    }

    /// The datum, as a statement's parameter.
    pub fn datum(self) -> pg_sys::Datum {
        self.0
    }

    /// Its root container, as it is stored: without the length word.
    pub fn container<'a>(self) -> &'a [u8] {
        // SAFETY: the datum is a varlena that lives as long as the call, as does a copy that is made of it.
        unsafe {
            pgrx::varlena::varlena_to_byte_slice(pg_sys::pg_detoast_datum_packed(self.0.cast_mut_ptr()))
        }
    }

    /// PostgreSQL's own text of it: the canonical form the version hash is made of (HASH-5).
    pub fn text(self) -> String {
        // SAFETY: the datum is a jsonb; jsonb_out answers with a NUL-terminated string in the server's encoding,
        // which the extension requires to be UTF-8.
        unsafe {
            let Some(out) = direct_function_call_as_datum(pg_sys::jsonb_out, &[Some(self.0)]) else {
                return String::new();
            };
            let text: *mut std::ffi::c_char = out.cast_mut_ptr();
            let owned = std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned();
            pg_sys::pfree(text.cast());
            owned
        }
    }

    /// Whether it is JSON `null`.
    pub fn is_json_null(self) -> bool {
        self.text() == "null"
    }

    /// Whether it is the very same datum.
    pub fn is(self, other: Self) -> bool {
        self.0.value() == other.0.value()
    }

    /// Whether it equals another value, as the server compares them: numbers by what they are worth.
    pub fn equals(self, other: Self) -> bool {
        // SAFETY: both datums are jsonb.
        self.is(other)
            || unsafe { direct_function_call::<bool>(pg_sys::jsonb_eq, &[Some(self.0), Some(other.0)]) }
                == Some(true)
    }

    /// Parses JSON text. Text that is no JSON raises the server's own error (22P02, 22P05, 54001).
    ///
    /// The value outlives the connection to SPI in which it may be made: it may be the call's result.
    pub fn parse(text: &str) -> Option<Self> {
        let text = CString::new(text).ok()?;
        // SAFETY: jsonb_in reads the string and allocates its result in the current memory context.
        in_memory_above(|| unsafe {
            direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(pg_sys::Datum::from(text.as_ptr()))])
        })
        .map(Self)
    }
}

impl FromDatum for Jsonb {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        (!is_null).then_some(Self(datum))
    }
}

impl IntoDatum for Jsonb {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(self.0)
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::JSONBOID
    }
}

// SAFETY: the argument is declared jsonb in SQL (below), and its datum is kept as it is.
unsafe impl<'fcx> ArgAbi<'fcx> for Jsonb {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: the caller promises a jsonb argument that is not null.
        unsafe { arg.unbox_arg_using_from_datum() }.unwrap_or(Self(pg_sys::Datum::from(0)))
    }

    unsafe fn unbox_nullable_arg(arg: Arg<'_, 'fcx>) -> Nullable<Self> {
        // SAFETY: as above; null stays null.
        unsafe { arg.unbox_arg_using_from_datum() }.into()
    }
}

// SAFETY: the datum is a jsonb in the memory context of the call.
unsafe impl BoxRet for Jsonb {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: the result is returned at once.
        unsafe { fcinfo.return_raw_datum(self.0) }
    }
}

// SAFETY: the SQL type named is the one the datum holds.
unsafe impl SqlTranslatable for Jsonb {
    const TYPE_IDENT: &'static str = pgrx::pgrx_resolved_type!(Jsonb);
    const TYPE_ORIGIN: TypeOrigin = TypeOrigin::External;
    const ARGUMENT_SQL: Result<SqlMappingRef, ArgumentError> = Ok(SqlMappingRef::literal("jsonb"));
    const RETURN_SQL: Result<ReturnsRef, ReturnsError> = Ok(ReturnsRef::One(SqlMappingRef::literal("jsonb")));
}
