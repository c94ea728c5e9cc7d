//! Rows found by the key of an index and read as they lie, without a statement: what the shortest calls are made of.
//!
//! They are the rows a statement would see under the same snapshot. Where a table is not as this file expects it
//! (partitioned, distributed, altered, its index rebuilt or renamed), it is not read at all, and the caller falls back
//! on its statement: how else to get at the rows is for the planner to know.

use super::jsonb::Jsonb;
use super::tsvector::TsVector;
use crate::domain::lexical::place::Place;
use crate::error::{Error, Result};
use pgrx::{FromDatum, IntoDatum, direct_function_call, pg_sys};
use std::ffi::{CStr, c_int};

/// A type a column may have here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `text`.
    Text,
    /// `uuid`.
    Uuid,
    /// `oid`.
    Oid,
    /// `boolean`.
    Bool,
    /// `smallint`.
    Int2,
    /// `integer`.
    Int4,
    /// `bigint`.
    Int8,
    /// `double precision`.
    Float8,
    /// `bytea`.
    Bytea,
    /// `tsvector`.
    Tsvector,
    /// `timestamptz`.
    Timestamptz,
    /// `tstzrange`.
    Tstzrange,
    /// `jsonb`.
    Jsonb,
    /// A type of another extension; read by its output function.
    Other,
}

impl Kind {
    fn is(self, oid: pg_sys::Oid) -> bool {
        let expected = match self {
            Self::Text => pg_sys::TEXTOID,
            Self::Uuid => pg_sys::UUIDOID,
            Self::Oid => pg_sys::OIDOID,
            Self::Bool => pg_sys::BOOLOID,
            Self::Int2 => pg_sys::INT2OID,
            Self::Int4 => pg_sys::INT4OID,
            Self::Int8 => pg_sys::INT8OID,
            Self::Float8 => pg_sys::FLOAT8OID,
            Self::Bytea => pg_sys::BYTEAOID,
            Self::Tsvector => pg_sys::TSVECTOROID,
            Self::Timestamptz => pg_sys::TIMESTAMPTZOID,
            Self::Tstzrange => pg_sys::TSTZRANGEOID,
            Self::Jsonb => pg_sys::JSONBOID,
            Self::Other => return true,
        };
        oid == expected
    }
}

/// A table of schema `me`, the index its rows are found by, and what is read of them.
pub struct Keyed<'a> {
    /// The table.
    pub table: &'a CStr,
    /// A btree.
    pub index: &'a CStr,
    /// The columns it begins with, by their places in `columns`.
    pub keys: &'static [usize],
    /// The columns that are read.
    pub columns: &'static [(&'static CStr, Kind)],
}

/// A value of an index column.
#[derive(Debug, Clone, Copy)]
pub enum Key<'a> {
    /// Of a `text` column.
    Text(&'a str),
    /// Of a `uuid` column.
    Uuid(&'a [u8; 16]),
    /// Of an `oid` column.
    Oid(pg_sys::Oid),
    /// Of a `smallint` column.
    Int2(i16),
    /// Of an `integer` column.
    Int4(i32),
    /// Of a `bigint` column.
    Int8(i64),
    /// Of a `bytea` column.
    Bytes(&'a [u8]),
    /// Of a column of another extension's type: what its input function reads.
    Other(&'a CStr),
}

/// Most columns that are read of one table.
const COLUMNS_MOST: usize = 16;
/// Most columns of an index that are given.
const KEYS_MOST: usize = 4;
/// The number of equality in a btree.
const EQUAL: u16 = pg_sys::BTEqualStrategyNumber as u16;
/// From the lowest key to the highest.
const FORWARD: pg_sys::ScanDirection::Type = pg_sys::ScanDirection::ForwardScanDirection;
/// The other way.
const BACKWARD: pg_sys::ScanDirection::Type = pg_sys::ScanDirection::BackwardScanDirection;

/// The schema `me`, where its tables may be read by key.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    schema: pg_sys::Oid,
}

impl Tables {
    /// `None` where tables may be distributed: their rows are then elsewhere, and only the planner knows where.
    pub fn here() -> Option<Self> {
        // SAFETY: catalogue lookups by constant names.
        unsafe {
            let catalogue = pg_sys::Oid::from(pg_sys::PG_CATALOG_NAMESPACE);
            if pg_sys::get_relname_relid(c"pg_dist_partition".as_ptr(), catalogue) != pg_sys::Oid::INVALID {
                return None;
            }
            let schema = pg_sys::get_namespace_oid(c"me".as_ptr(), true);
            (schema != pg_sys::Oid::INVALID).then_some(Self { schema })
        }
    }

    /// Shows each row of the key to `each`, which says whether to go on, in the order of the index. False when the table
    /// cannot be read this way; no row was shown then.
    pub fn rows(
        self,
        keyed: &Keyed,
        snapshot: pg_sys::Snapshot,
        keys: &[Key],
        each: impl FnMut(&Found) -> Result<bool>,
    ) -> Result<bool> {
        self.open(keyed).map_or(Ok(false), |open| open.rows(snapshot, keys, each))
    }

    /// Opens a table to look up several keys; `None` when it cannot be read this way.
    pub fn open(self, keyed: &Keyed) -> Option<Open> {
        Open::new(self.schema, keyed)
    }

    /// The schema.
    pub(super) fn schema(self) -> pg_sys::Oid {
        self.schema
    }
}

/// A table and its index, open for the length of some looks; the locks stay until the transaction ends, as those of a
/// statement do.
pub struct Open {
    pub(super) table: pg_sys::Relation,
    pub(super) index: pg_sys::Relation,
    pub(super) slot: *mut pg_sys::TupleTableSlot,
    /// Where in the slot each column is.
    pub(super) places: [u16; COLUMNS_MOST],
    pub(super) last: i16,
    columns: &'static [(&'static CStr, Kind)],
    pub(super) keys: &'static [usize],
}

impl Open {
    /// As [`Tables::rows`].
    pub fn rows(
        &self,
        snapshot: pg_sys::Snapshot,
        keys: &[Key],
        each: impl FnMut(&Found) -> Result<bool>,
    ) -> Result<bool> {
        let conditions = keys.iter().enumerate().map(|(n, key)| (n, EQUAL, *key));
        self.scan(snapshot, conditions, FORWARD, each)
    }

    /// The last row of the key. As [`Tables::rows`].
    pub fn last(
        &self,
        snapshot: pg_sys::Snapshot,
        keys: &[Key],
        mut show: impl FnMut(&Found) -> Result<()>,
    ) -> Result<bool> {
        let conditions = keys.iter().enumerate().map(|(n, key)| (n, EQUAL, *key));
        self.scan(snapshot, conditions, BACKWARD, |found| {
            show(found)?;
            Ok(false)
        })
    }

    /// Shows the `bigint` that follows the keys in the index, of each entry from the last to the first, to `each`, which says
    /// whether to go on. The rows are not looked at: some may be gone, and some never have been. False when that cannot be
    /// read this way; a serializable transaction must be seen to read rows.
    pub fn entries(
        &self,
        snapshot: pg_sys::Snapshot,
        keys: &[Key],
        mut each: impl FnMut(i64) -> bool,
    ) -> Result<bool> {
        debug_assert_eq!(self.columns[self.keys[keys.len()]].1, Kind::Int8);
        // SAFETY: reads the backend's own state.
        if unsafe { pg_sys::XactIsoLevel } == pg_sys::XACT_SERIALIZABLE as i32 {
            return Ok(false);
        }
        // SAFETY: as in `scan`. A btree gives its entries when they are asked for; the one shown lies in the scan until the
        // next is fetched, and its columns are those of the index, of which `new` made sure that this one is a bigint.
        unsafe {
            let mut scan_keys: [pg_sys::ScanKeyData; KEYS_MOST] = std::mem::zeroed();
            let conditions = keys.iter().enumerate().map(|(n, key)| (n, EQUAL, *key));
            let Some(count) = self.fill(conditions, &mut scan_keys) else { return Ok(false) };
            let scan = self.begin(snapshot, count, scan_keys.as_mut_ptr(), true);
            while !pg_sys::index_getnext_tid(scan.0, BACKWARD).is_null() {
                let entry = (*scan.0).xs_itup;
                if entry.is_null() {
                    return Err(Error::Internal("an index does not give its entries".into()));
                }
                let value =
                    pg_sys::nocache_index_getattr(entry, keys.len() as c_int + 1, (*scan.0).xs_itupdesc);
                if !each(value.value() as i64) {
                    break;
                }
            }
        }
        Ok(true)
    }

    /// Rows for which each of the conditions holds: a column of the index, a strategy of a btree, and a key.
    fn scan<'a>(
        &self,
        snapshot: pg_sys::Snapshot,
        conditions: impl Iterator<Item = (usize, u16, Key<'a>)>,
        direction: pg_sys::ScanDirection::Type,
        mut each: impl FnMut(&Found) -> Result<bool>,
    ) -> Result<bool> {
        // SAFETY: table and index are open and fit together (`new`), the keys have the types of the index's columns,
        // and whoever gave the snapshot keeps it active.
        unsafe {
            let mut scan_keys: [pg_sys::ScanKeyData; KEYS_MOST] = std::mem::zeroed();
            let Some(count) = self.fill(conditions, &mut scan_keys) else { return Ok(false) };
            let scan = self.begin(snapshot, count, scan_keys.as_mut_ptr(), false);
            while pg_sys::index_getnext_slot(scan.0, direction, self.slot) {
                pgrx::check_for_interrupts!();
                if !each(&self.found())? {
                    break;
                }
            }
        }
        Ok(true)
    }

    /// The row in the slot, taken apart as far as its columns are read.
    ///
    /// # Safety
    /// The slot holds a row.
    pub(super) unsafe fn found(&self) -> Found<'_> {
        // SAFETY: by the contract of this function.
        unsafe { pg_sys::slot_getsomeattrs_int(self.slot, c_int::from(self.last)) };
        Found { open: self }
    }

    /// How many rows the table was last counted to have.
    pub fn rows_expected(&self) -> f64 {
        // SAFETY: the description of an open table.
        unsafe { f64::from((*(*self.table).rd_rel).reltuples) }
    }

    fn new(schema: pg_sys::Oid, keyed: &Keyed) -> Option<Self> {
        debug_assert!(keyed.keys.len() <= KEYS_MOST && keyed.columns.len() <= COLUMNS_MOST);
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        // SAFETY: catalogue lookups by constant names. The index is looked up under the lock of the table: nobody can
        // replace it meanwhile. What is open is closed by `drop`.
        unsafe {
            let table = pg_sys::get_relname_relid(keyed.table.as_ptr(), schema);
            if table == pg_sys::Oid::INVALID {
                return None;
            }
            let table = pg_sys::table_open(table, lock);
            let mut open = Self {
                table,
                index: std::ptr::null_mut(),
                slot: std::ptr::null_mut(),
                places: [0; COLUMNS_MOST],
                last: 0,
                columns: keyed.columns,
                keys: keyed.keys,
            };
            if !is_plain(&*(*table).rd_rel) || !open.find_columns() {
                return None;
            }
            let index = pg_sys::get_relname_relid(keyed.index.as_ptr(), schema);
            if index == pg_sys::Oid::INVALID {
                return None;
            }
            open.index = pg_sys::index_open(index, lock);
            if !open.index_fits() {
                return None;
            }
            open.slot = pg_sys::table_slot_create(table, std::ptr::null_mut());
            Some(open)
        }
    }

    /// Notes where each column is; false when one is missing or has another type.
    ///
    /// # Safety
    /// The table is open.
    unsafe fn find_columns(&mut self) -> bool {
        // SAFETY: the description of an open table.
        let attributes = unsafe { attributes((*self.table).rd_att) };
        let mut guess = 0;
        for (n, (name, kind)) in self.columns.iter().enumerate() {
            let is = |attribute: &pg_sys::FormData_pg_attribute| {
                // SAFETY: a name is NUL-terminated.
                !attribute.attisdropped && unsafe { CStr::from_ptr(attribute.attname.data.as_ptr()) } == *name
            };
            // Mostly they are asked for in the order in which they are.
            let place = match attributes.get(guess).is_some_and(is) {
                true => guess,
                false => match attributes.iter().position(is) {
                    Some(place) => place,
                    None => return false,
                },
            };
            if !kind.is(attributes[place].atttypid) {
                return false;
            }
            guess = place + 1;
            self.places[n] = place as u16;
            self.last = self.last.max(place as i16 + 1);
        }
        true
    }

    /// Whether the index is one the planner would use, and begins with the columns it is expected to begin with.
    ///
    /// # Safety
    /// Table and index are open.
    unsafe fn index_fits(&self) -> bool {
        // SAFETY: the descriptions of an open table and an open index.
        unsafe {
            let form = &*(*self.index).rd_index;
            let columns = form.indkey.values.as_slice(form.indnkeyatts as usize);
            form.indrelid == (*self.table).rd_id
                && form.indisvalid
                && !form.indcheckxmin
                && (*(*self.index).rd_rel).relam == pg_sys::BTREE_AM_OID
                && columns.len() >= self.keys.len()
                && self.keys.iter().zip(columns).all(|(key, column)| self.places[*key] as i16 + 1 == *column)
        }
    }

    /// Which attribute of the index, from 1, holds a column; `None` when it does not hold it as it is.
    pub(super) fn held_in_index(&self, column: usize) -> Option<c_int> {
        // SAFETY: the description of an open index.
        let held = unsafe {
            let form = &*(*self.index).rd_index;
            form.indkey.values.as_slice(form.indnatts as usize)
        };
        let place = self.places[column] as i16 + 1;
        held.iter().position(|held| *held == place).and_then(|at| c_int::try_from(at + 1).ok())
    }

    /// A key of the n-th column of the index, as a datum.
    ///
    /// # Safety
    /// Table and index are open, and the key is of the column's type.
    pub(super) unsafe fn value(&self, n: usize, key: &Key) -> Option<pg_sys::Datum> {
        match key {
            Key::Text(text) => text.into_datum(),
            Key::Uuid(bytes) => Some(pg_sys::Datum::from(bytes.as_ptr())),
            Key::Oid(oid) => Some(pg_sys::Datum::from(*oid)),
            Key::Int2(number) => number.into_datum(),
            Key::Int4(number) => number.into_datum(),
            Key::Int8(number) => number.into_datum(),
            Key::Bytes(bytes) => bytes.into_datum(),
            // SAFETY: by the contract of this function.
            Key::Other(text) => Some(unsafe { self.input(self.places[self.keys[n]], text) }),
        }
    }

    /// A value of a column, by its place, as its input function reads it.
    ///
    /// # Safety
    /// The table is open.
    pub(super) unsafe fn input(&self, place: u16, text: &CStr) -> pg_sys::Datum {
        let (mut function, mut parameter) = (pg_sys::Oid::INVALID, pg_sys::Oid::INVALID);
        // SAFETY: the input function of the column's own type reads a NUL-terminated string.
        unsafe {
            let kind = attributes((*self.table).rd_att)[place as usize].atttypid;
            pg_sys::getTypeInputInfo(kind, &raw mut function, &raw mut parameter);
            pg_sys::OidInputFunctionCall(function, text.as_ptr().cast_mut(), parameter, -1)
        }
    }

    /// The function that compares the n-th column of the index with a key; `None` when the index has none.
    ///
    /// # Safety
    /// The index is open.
    pub(super) unsafe fn operation(&self, n: usize, strategy: u16, key: &Key) -> Option<pg_sys::Oid> {
        match (key, strategy) {
            (Key::Text(_), EQUAL) => Some(pg_sys::Oid::from(pg_sys::F_TEXTEQ)),
            (Key::Uuid(_), EQUAL) => Some(pg_sys::Oid::from(pg_sys::F_UUID_EQ)),
            (Key::Oid(_), EQUAL) => Some(pg_sys::Oid::from(pg_sys::F_OIDEQ)),
            (Key::Int2(_), EQUAL) => Some(pg_sys::Oid::from(pg_sys::F_INT2EQ)),
            (Key::Int4(_), EQUAL) => Some(pg_sys::Oid::from(pg_sys::F_INT4EQ)),
            (Key::Int8(_), EQUAL) => Some(pg_sys::Oid::from(pg_sys::F_INT8EQ)),
            // SAFETY: the index has that many columns.
            _ => unsafe {
                let family = *(*self.index).rd_opfamily.add(n);
                let kind = *(*self.index).rd_opcintype.add(n);
                let operator = pg_sys::get_opfamily_member(family, kind, kind, strategy as i16);
                (operator != pg_sys::Oid::INVALID).then(|| pg_sys::get_opcode(operator))
            },
        }
    }

    /// Writes conditions (a column of the index, a strategy of a btree, and a key) as the index compares them, and says how
    /// many there are; `None` when it cannot.
    ///
    /// # Safety
    /// Table and index are open, and the keys are of the types of the index's columns.
    unsafe fn fill<'a>(
        &self,
        conditions: impl Iterator<Item = (usize, u16, Key<'a>)>,
        scan_keys: &mut [pg_sys::ScanKeyData; KEYS_MOST],
    ) -> Option<usize> {
        let mut count = 0;
        for (n, strategy, key) in conditions {
            debug_assert!(n < self.keys.len());
            // SAFETY: as promised.
            unsafe {
                let (value, operation) = (self.value(n, &key)?, self.operation(n, strategy, &key)?);
                let scan_key = scan_keys.get_mut(count)?;
                pg_sys::ScanKeyInit(scan_key, n as i16 + 1, strategy, operation, value);
                scan_key.sk_collation = *(*self.index).rd_indcollation.add(n);
            }
            count += 1;
        }
        Some(count)
    }

    /// Begins a scan; of a btree that shall give its entries, if they are `wanted`.
    ///
    /// # Safety
    /// There are as many keys, of the types of the index's columns, and they outlive the scan.
    unsafe fn begin(
        &self,
        snapshot: pg_sys::Snapshot,
        count: usize,
        keys: pg_sys::ScanKey,
        wanted: bool,
    ) -> Scan {
        // SAFETY: table and index are open.
        unsafe {
            let scan = Scan::begin(self.table, self.index, snapshot, count as c_int, 0);
            (*scan.0).xs_want_itup = wanted;
            pg_sys::index_rescan(scan.0, keys, count as c_int, std::ptr::null_mut(), 0);
            scan
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // After an error the transaction's end closes everything, in an order of its own.
        if std::thread::panicking() {
            return;
        }
        let keep = pg_sys::NoLock as pg_sys::LOCKMODE;
        // SAFETY: opened in `new`, closed once.
        unsafe {
            if !self.slot.is_null() {
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
            }
            if !self.index.is_null() {
                pg_sys::index_close(self.index, keep);
            }
            pg_sys::table_close(self.table, keep);
        }
    }
}

/// A scan of an index, ended when it is dropped.
pub(super) struct Scan(pub(super) pg_sys::IndexScanDesc);

impl Scan {
    /// # Safety
    /// Table and index are open, and stay so as long as the scan; the snapshot is active.
    pub(super) unsafe fn begin(
        table: pg_sys::Relation,
        index: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
        keys: c_int,
        orders: c_int,
    ) -> Self {
        // SAFETY: by the contract of this function.
        unsafe {
            #[cfg(feature = "pg18")]
            let scan = pg_sys::index_beginscan(table, index, snapshot, std::ptr::null_mut(), keys, orders);
            #[cfg(not(feature = "pg18"))]
            let scan = pg_sys::index_beginscan(table, index, snapshot, keys, orders);
            Self(scan)
        }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: begun in `begin`, ended once, before its table and index are closed.
            unsafe { pg_sys::index_endscan(self.0) };
        }
    }
}

/// Whether a table's rows are all in it, in the server's own way, for everybody who may read it.
pub(super) fn is_plain(class: &pg_sys::FormData_pg_class) -> bool {
    class.relkind as u8 == pg_sys::RELKIND_RELATION
        && class.relam == pg_sys::HEAP_TABLE_AM_OID
        && !class.relhassubclass
        && !class.relhasrules
        && !class.relrowsecurity
}

/// # Safety
/// The description is that of an open table, and outlives what is done with the answer.
pub(super) unsafe fn attributes<'a>(description: pg_sys::TupleDesc) -> &'a [pg_sys::FormData_pg_attribute] {
    // SAFETY: up to 17 the attributes are the tail of the description; since 18 they come behind as many short ones.
    unsafe {
        let count = (*description).natts as usize;
        #[cfg(feature = "pg18")]
        let first = (*description).compact_attrs.as_ptr().add(count).cast();
        #[cfg(not(feature = "pg18"))]
        let first = (*description).attrs.as_ptr();
        std::slice::from_raw_parts(first, count)
    }
}

/// A row that was found. Columns are counted from 0, in the order in which the table names them; what is borrowed from
/// them lasts as long as the row is looked at.
pub struct Found<'a> {
    pub(super) open: &'a Open,
}

impl Found<'_> {
    fn datum(&self, column: usize) -> Option<pg_sys::Datum> {
        let place = self.open.places[column] as usize;
        // SAFETY: the slot holds a row of the table, of which all columns up to the last wanted were made out.
        unsafe {
            let slot = &*self.open.slot;
            (!*slot.tts_isnull.add(place)).then(|| *slot.tts_values.add(place))
        }
    }

    fn value<T: FromDatum>(&self, column: usize, kind: Kind) -> Option<T> {
        debug_assert_eq!(self.open.columns[column].1, kind);
        let datum = self.datum(column)?;
        // SAFETY: the column has the type that its table names (`find_columns`).
        unsafe { T::from_datum(datum, false) }
    }

    /// The bytes of a `text` or `jsonb`, without their length word.
    fn bytes(&self, column: usize) -> Option<&[u8]> {
        let datum = self.datum(column)?;
        // SAFETY: the value is a varlena in the slot, or one made for it in the current memory context.
        unsafe {
            let value = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
            Some(pgrx::varlena::varlena_to_byte_slice(value))
        }
    }

    /// Where it lies.
    pub fn place(&self) -> Place {
        // SAFETY: the slot holds a row of the table.
        let tid = unsafe { (*self.open.slot).tts_tid };
        Place {
            block: u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo),
            line: tid.ip_posid,
        }
    }

    /// A `text`.
    pub fn text(&self, column: usize) -> Option<&str> {
        debug_assert_eq!(self.open.columns[column].1, Kind::Text);
        // SAFETY: the extension refuses databases of another encoding than UTF-8.
        self.bytes(column).map(|bytes| unsafe { std::str::from_utf8_unchecked(bytes) })
    }

    /// The first characters of a `text`, so many at most; of a long one no more is read.
    pub fn text_front(&self, column: usize, chars: usize) -> Option<&str> {
        debug_assert_eq!(self.open.columns[column].1, Kind::Text);
        let most = i32::try_from(chars * 4).unwrap_or(i32::MAX);
        let datum = self.datum(column)?;
        // SAFETY: as in `bytes`; of a longer value a part is copied into the current memory context.
        let bytes = unsafe {
            pgrx::varlena::varlena_to_byte_slice(pg_sys::pg_detoast_datum_slice(
                datum.cast_mut_ptr(),
                0,
                most,
            ))
        };
        // Its last character may be cut.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(cut) => std::str::from_utf8(&bytes[..cut.valid_up_to()]).ok()?,
        };
        Some(text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end]))
    }

    /// A `bytea`.
    pub fn bytea(&self, column: usize) -> Option<&[u8]> {
        debug_assert_eq!(self.open.columns[column].1, Kind::Bytea);
        self.bytes(column)
    }

    /// A `tsvector`, which lasts as long as the row is looked at.
    pub fn tsvector(&self, column: usize) -> Option<TsVector> {
        self.value(column, Kind::Tsvector)
    }

    /// A value as a datum of the row: it lasts as long as the row is looked at.
    pub fn raw(&self, column: usize) -> Option<pg_sys::Datum> {
        self.datum(column)
    }

    /// A `jsonb`: its root container, as it is stored.
    pub fn jsonb(&self, column: usize) -> Option<&[u8]> {
        debug_assert_eq!(self.open.columns[column].1, Kind::Jsonb);
        self.bytes(column)
    }

    /// A `jsonb`, copied into the current memory context.
    pub fn jsonb_copy(&self, column: usize) -> Option<Jsonb> {
        debug_assert_eq!(self.open.columns[column].1, Kind::Jsonb);
        // SAFETY: the value is a varlena in the slot.
        let copy = |datum: pg_sys::Datum| unsafe { pg_sys::pg_detoast_datum_copy(datum.cast_mut_ptr()) };
        self.datum(column).map(|datum| Jsonb::from_raw(pg_sys::Datum::from(copy(datum))))
    }

    /// Whether a `jsonb` contains another.
    pub fn jsonb_contains(&self, column: usize, other: Jsonb) -> bool {
        debug_assert_eq!(self.open.columns[column].1, Kind::Jsonb);
        // SAFETY: the server's own operator, of two values of its type.
        self.datum(column).is_some_and(|datum| unsafe {
            direct_function_call::<bool>(pg_sys::jsonb_contains, &[Some(datum), Some(other.datum())])
                == Some(true)
        })
    }

    /// A `uuid`.
    pub fn uuid(&self, column: usize) -> Option<[u8; 16]> {
        debug_assert_eq!(self.open.columns[column].1, Kind::Uuid);
        // SAFETY: a uuid is a pointer to sixteen bytes.
        self.datum(column).map(|datum| unsafe { *datum.cast_mut_ptr::<[u8; 16]>() })
    }

    /// An `oid`.
    pub fn oid(&self, column: usize) -> Option<pg_sys::Oid> {
        self.value(column, Kind::Oid)
    }

    /// A `boolean`.
    pub fn bool(&self, column: usize) -> Option<bool> {
        self.value(column, Kind::Bool)
    }

    /// A `smallint`.
    pub fn int2(&self, column: usize) -> Option<i16> {
        self.value(column, Kind::Int2)
    }

    /// An `integer`.
    pub fn int4(&self, column: usize) -> Option<i32> {
        self.value(column, Kind::Int4)
    }

    /// A `bigint`.
    pub fn int8(&self, column: usize) -> Option<i64> {
        self.value(column, Kind::Int8)
    }

    /// A `double precision`.
    pub fn float8(&self, column: usize) -> Option<f64> {
        self.value(column, Kind::Float8)
    }

    /// A `timestamptz`, in PostgreSQL's own count of microseconds.
    pub fn timestamptz(&self, column: usize) -> Option<i64> {
        debug_assert_eq!(self.open.columns[column].1, Kind::Timestamptz);
        self.datum(column).map(|datum| datum.value() as i64)
    }

    /// The bounds of a `tstzrange` that has both.
    pub fn tstzrange(&self, column: usize) -> Option<(i64, i64)> {
        debug_assert_eq!(self.open.columns[column].1, Kind::Tstzrange);
        let range = self.datum(column)?;
        let bound = |function: u32| {
            // SAFETY: functions of one range, which is not null; bounds of this type are passed by value.
            unsafe {
                pg_sys::OidFunctionCall1Coll(pg_sys::Oid::from(function), pg_sys::Oid::INVALID, range).value()
                    as i64
            }
        };
        Some((bound(pg_sys::F_LOWER_ANYRANGE), bound(pg_sys::F_UPPER_ANYRANGE)))
    }

    /// The text that the output function of the column's type makes.
    pub fn output(&self, column: usize) -> Option<&str> {
        let datum = self.datum(column)?;
        // SAFETY: the output function of the column's own type, which answers with a NUL-terminated string in the
        // encoding of the database, UTF-8.
        unsafe {
            let attribute = &attributes((*self.open.table).rd_att)[self.open.places[column] as usize];
            let (mut function, mut is_varlena) = (pg_sys::Oid::INVALID, false);
            pg_sys::getTypeOutputInfo(attribute.atttypid, &raw mut function, &raw mut is_varlena);
            let text = CStr::from_ptr(pg_sys::OidOutputFunctionCall(function, datum));
            Some(std::str::from_utf8_unchecked(text.to_bytes()))
        }
    }
}

/// The value of a column that is never null.
pub fn need<T>(value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::Internal("a column of a row found by key is missing".into()))
}
