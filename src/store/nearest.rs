//! The vectors of a model, read without a statement: in the order in which their HNSW index hands them out, or those of
//! given memories. A statement would take longer to plan than the index takes to answer, and as long as it goes on nobody has
//! to say beforehand how many rows will be needed.
//!
//! What is not as this file expects it is not read at all, as in [`keyed`](super::keyed).

use super::ahead::{AT_ONCE, Places};
use super::keyed::{Scan, Tables, attributes, is_plain};
use super::spi::{Table, arg};
use crate::error::Result;
use pgrx::pg_sys;
use std::ffi::{CStr, CString, c_int};

/// The number of the distance in an operator class that orders by one.
const DISTANCE: i16 = 1;
/// The columns of a table of vectors.
const COLUMNS: [&CStr; 4] = [c"space", c"memory_id", c"content_version", c"vector"];

/// A table of vectors with its indexes, open for one search.
pub struct Vectors {
    table: pg_sys::Relation,
    /// That of the HNSW method.
    index: pg_sys::Relation,
    /// The one that finds a memory's vectors.
    key: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    places: [usize; COLUMNS.len()],
    distance: pg_sys::FmgrInfo,
    query: pg_sys::Datum,
}

/// A row the index handed out.
pub struct Candidate {
    /// The memory.
    pub memory: [u8; 16],
    /// The content the vector was made of.
    pub content_version: i64,
}

impl Vectors {
    /// `None` when the table cannot be read this way. `query` has as many numbers as the table's vectors.
    pub fn open(tables: Tables, table: &Table, query: &[f32]) -> Option<Self> {
        let name = CString::new(table.name()).ok()?;
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        // SAFETY: catalogue lookups by names that are NUL-terminated. What is open is closed by `drop`.
        unsafe {
            let table = pg_sys::get_relname_relid(name.as_ptr(), tables.schema());
            if table == pg_sys::Oid::INVALID {
                return None;
            }
            let mut open = Self {
                table: pg_sys::table_open(table, lock),
                index: std::ptr::null_mut(),
                key: std::ptr::null_mut(),
                slot: std::ptr::null_mut(),
                places: [0; COLUMNS.len()],
                distance: std::mem::zeroed(),
                query: pg_sys::Datum::from(0),
            };
            if !is_plain(&*(*open.table).rd_rel) || !open.find_columns() || !open.find_indexes() {
                return None;
            }
            open.query = open.vector(query)?;
            open.slot = pg_sys::table_slot_create(open.table, std::ptr::null_mut());
            Some(open)
        }
    }

    /// # Safety
    /// The table is open.
    unsafe fn find_columns(&mut self) -> bool {
        // SAFETY: the description of an open table, whose names are NUL-terminated.
        unsafe {
            let attributes = attributes((*self.table).rd_att);
            for (place, name) in self.places.iter_mut().zip(COLUMNS) {
                let found = attributes.iter().position(|attribute| {
                    !attribute.attisdropped && CStr::from_ptr(attribute.attname.data.as_ptr()) == name
                });
                let Some(found) = found else { return false };
                *place = found;
            }
            let kinds = [pg_sys::TEXTOID, pg_sys::UUIDOID, pg_sys::INT8OID];
            self.places.iter().zip(kinds).all(|(place, kind)| attributes[*place].atttypid == kind)
        }
    }

    /// Opens the HNSW index that orders by cosine distance, and the hash index over the memories.
    ///
    /// # Safety
    /// The table is open, and its columns are found.
    unsafe fn find_indexes(&mut self) -> bool {
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        // SAFETY: the indexes of an open table, each open while it is looked at.
        unsafe {
            let method = pg_sys::get_am_oid(c"hnsw".as_ptr(), true);
            let list = pg_sys::RelationGetIndexList(self.table);
            let count = if list.is_null() { 0 } else { (*list).length as usize };
            for n in 0..count {
                let index = pg_sys::index_open((*(*list).elements.add(n)).oid_value, lock);
                if self.index.is_null() && (*(*index).rd_rel).relam == method && self.orders(index) {
                    self.index = index;
                } else if self.key.is_null() && self.finds(index) {
                    self.key = index;
                } else {
                    pg_sys::index_close(index, lock);
                }
            }
            !self.index.is_null() && !self.key.is_null()
        }
    }

    /// Whether an index is one the planner would use, over the memories by hash: a look there costs a third of one in the
    /// primary key, which compares space and memory at each step down.
    ///
    /// # Safety
    /// Table and index are open.
    unsafe fn finds(&self, index: pg_sys::Relation) -> bool {
        // SAFETY: the descriptions of an open table and an open index.
        unsafe {
            let form = &*(*index).rd_index;
            let columns = form.indkey.values.as_slice(form.indnatts as usize);
            form.indisvalid
                && !form.indcheckxmin
                && (*(*index).rd_rel).relam == pg_sys::HASH_AM_OID
                && columns == [self.places[1] as i16 + 1]
                && pg_sys::RelationGetIndexPredicate(index).is_null()
        }
    }

    /// Whether an index is one the planner would use, over the vectors, all of them, and by cosine distance.
    ///
    /// # Safety
    /// Table and index are open.
    unsafe fn orders(&mut self, index: pg_sys::Relation) -> bool {
        // SAFETY: the descriptions of an open table and an open index.
        unsafe {
            let form = &*(*index).rd_index;
            let columns = form.indkey.values.as_slice(form.indnatts as usize);
            let (family, kind) = (*(*index).rd_opfamily, *(*index).rd_opcintype);
            let operator = pg_sys::get_opfamily_member(family, kind, kind, DISTANCE);
            let usable = form.indisvalid
                && !form.indcheckxmin
                && columns == [self.places[3] as i16 + 1]
                && pg_sys::RelationGetIndexPredicate(index).is_null()
                && operator != pg_sys::Oid::INVALID
                && CStr::from_ptr(pg_sys::get_opname(operator)) == c"<=>";
            if usable {
                pg_sys::fmgr_info(pg_sys::get_opcode(operator), &raw mut self.distance);
            }
            usable
        }
    }

    /// Numbers as a vector of the column's type.
    ///
    /// # Safety
    /// The table is open, and its columns are found.
    unsafe fn vector(&self, numbers: &[f32]) -> Option<pg_sys::Datum> {
        // SAFETY: the cast that the type's extension declares, of an array that was just made.
        unsafe {
            let attribute = &attributes((*self.table).rd_att)[self.places[3]];
            let mut cast = pg_sys::Oid::INVALID;
            let path = pg_sys::find_coercion_pathway(
                attribute.atttypid,
                pg_sys::FLOAT4ARRAYOID,
                pg_sys::CoercionContext::COERCION_EXPLICIT,
                &raw mut cast,
            );
            if path != pg_sys::CoercionPathType::COERCION_PATH_FUNC || cast == pg_sys::Oid::INVALID {
                return None;
            }
            let none = pg_sys::Oid::INVALID;
            let (modifier, explicit) = (pg_sys::Datum::from(attribute.atttypmod), pg_sys::Datum::from(true));
            Some(pg_sys::OidFunctionCall3Coll(cast, none, arg(numbers.to_vec())?, modifier, explicit))
        }
    }

    /// Shows the vectors of a space to `passes`, nearest first. The distance of each that passes goes to `take`, which
    /// says whether to go on. Whether the index came to its end.
    pub fn each(
        &mut self,
        space: &str,
        snapshot: pg_sys::Snapshot,
        mut passes: impl FnMut(&Candidate) -> Result<bool>,
        mut take: impl FnMut([u8; 16], f64) -> bool,
    ) -> Result<bool> {
        let memory = Scratch::new();
        // SAFETY: table and index are open and fit together; the order has the type of the index's column; whoever
        // gave the snapshot keeps it active.
        unsafe {
            let scan = Scan::begin(self.table, self.index, snapshot, 0, 1);
            let mut order: pg_sys::ScanKeyData = std::mem::zeroed();
            order.sk_flags = pg_sys::SK_ORDER_BY as c_int;
            order.sk_attno = 1;
            order.sk_strategy = DISTANCE as u16;
            order.sk_collation = *(*self.index).rd_indcollation;
            order.sk_func = self.distance;
            order.sk_argument = self.query;
            pg_sys::index_rescan(scan.0, std::ptr::null_mut(), 0, &raw mut order, 1);
            while self.next(&scan) {
                let go_on = memory.run(|| -> Result<bool> {
                    let Some(candidate) = self.candidate(space) else { return Ok(true) };
                    if !passes(&candidate)? {
                        return Ok(true);
                    }
                    Ok(take(candidate.memory, self.distance()))
                })?;
                if !go_on {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Shows the vectors of some memories of a space, one memory after the other, with the memory's number and the distance.
    pub fn of(
        &mut self,
        space: &str,
        snapshot: pg_sys::Snapshot,
        memories: &[[u8; 16]],
        mut take: impl FnMut(usize, &Candidate, f64),
    ) -> Result<()> {
        let memory = Scratch::new();
        let (mut places, mut of) = (Places::default(), Vec::with_capacity(AT_ONCE));
        // SAFETY: as above; the key has the type of the index's column (`find_columns`), and lives as long as the look for it.
        unsafe {
            let scan = Scan::begin(self.table, self.key, snapshot, 1, 0);
            let mut show = |places: &mut Places, of: &mut Vec<usize>| {
                let (table, slot) = (self.table, self.slot);
                places.rows(table, scan.0, slot, |at| {
                    pgrx::check_for_interrupts!();
                    self.read();
                    memory.run(|| {
                        // Others may have the same hash, and the same id in another space.
                        if let Some(candidate) = self.candidate(space)
                            && memories[of[at]] == candidate.memory
                        {
                            take(of[at], &candidate, self.distance());
                        }
                    });
                    Ok(true)
                })?;
                of.clear();
                Ok(())
            };
            let mut key: pg_sys::ScanKeyData = std::mem::zeroed();
            let (equal, operation) =
                (pg_sys::HTEqualStrategyNumber as u16, pg_sys::Oid::from(pg_sys::F_UUID_EQ));
            pg_sys::ScanKeyInit(&raw mut key, 1, equal, operation, pg_sys::Datum::from(0));
            for n in by_bucket(memories) {
                key.sk_argument = pg_sys::Datum::from(memories[n].as_ptr());
                pg_sys::index_rescan(scan.0, &raw mut key, 1, std::ptr::null_mut(), 0);
                loop {
                    let full = places.take(scan.0, pg_sys::ScanDirection::ForwardScanDirection);
                    of.resize(places.len(), n);
                    if !full {
                        break;
                    }
                    show(&mut places, &mut of)?;
                }
            }
            show(&mut places, &mut of)
        }
    }

    /// The next row, if there is one.
    ///
    /// # Safety
    /// The scan is one of the table's.
    unsafe fn next(&self, scan: &Scan) -> bool {
        pgrx::check_for_interrupts!();
        // SAFETY: table, index and slot are open.
        unsafe {
            let found =
                pg_sys::index_getnext_slot(scan.0, pg_sys::ScanDirection::ForwardScanDirection, self.slot);
            if found {
                self.read();
            }
            found
        }
    }

    /// Takes the row at hand apart, as far as its columns are looked at.
    ///
    /// # Safety
    /// The slot holds a row.
    unsafe fn read(&self) {
        let last = self.places.iter().max().map_or(0, |place| *place as c_int + 1);
        // SAFETY: by the contract of this function.
        unsafe { pg_sys::slot_getsomeattrs_int(self.slot, last) };
    }

    /// The row at hand, if it belongs to the space.
    ///
    /// # Safety
    /// The slot holds a row. Its columns have the types that `find_columns` asked for, and none of them is ever null.
    unsafe fn candidate(&self, space: &str) -> Option<Candidate> {
        let [of_space, of_memory, of_version, _] = self.places;
        // SAFETY: by the contract of this function.
        unsafe {
            let values = (*self.slot).tts_values;
            let text = pg_sys::pg_detoast_datum_packed((*values.add(of_space)).cast_mut_ptr());
            (pgrx::varlena::varlena_to_byte_slice(text) == space.as_bytes()).then(|| Candidate {
                memory: *(*values.add(of_memory)).cast_mut_ptr::<[u8; 16]>(),
                content_version: (*values.add(of_version)).value() as i64,
            })
        }
    }

    /// The distance of the row at hand.
    ///
    /// # Safety
    /// The slot holds a row.
    unsafe fn distance(&mut self) -> f64 {
        // SAFETY: the operator of the column's type; it answers with a double, which is passed by value.
        unsafe {
            let vector = *(*self.slot).tts_values.add(self.places[3]);
            let distance =
                pg_sys::FunctionCall2Coll(&raw mut self.distance, pg_sys::Oid::INVALID, vector, self.query);
            f64::from_bits(distance.value() as u64)
        }
    }
}

impl Drop for Vectors {
    fn drop(&mut self) {
        // After an error the transaction's end closes everything, in an order of its own.
        if std::thread::panicking() {
            return;
        }
        let keep = pg_sys::NoLock as pg_sys::LOCKMODE;
        // SAFETY: opened in `open`, closed once.
        unsafe {
            if !self.slot.is_null() {
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
            }
            for index in [self.index, self.key] {
                if !index.is_null() {
                    pg_sys::index_close(index, keep);
                }
            }
            pg_sys::table_close(self.table, keep);
        }
    }
}

/// The numbers of memories, such that those come together that an index by hash keeps together, however large it is: it puts
/// them by the last bits of the hash.
fn by_bucket(memories: &[[u8; 16]]) -> Vec<usize> {
    let mut order: Vec<(u32, usize)> = memories
        .iter()
        .enumerate()
        .map(|(n, id)| {
            let id = Some(pg_sys::Datum::from(id.as_ptr()));
            // SAFETY: the server's own function, of a value of its type.
            let hash = unsafe { pgrx::direct_function_call_as_datum(pg_sys::uuid_hash, &[id]) };
            (hash.map_or(0, |hash| hash.value() as u32).reverse_bits(), n)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, n)| n).collect()
}

/// Memory for what is looked at, emptied after each row.
pub(super) struct Scratch(pg_sys::MemoryContext);

impl Scratch {
    /// An empty one.
    pub(super) fn new() -> Self {
        // SAFETY: a context below the current one, which an error frees with all that is below it.
        Self(unsafe {
            pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"me row".as_ptr(),
                0,
                8 * 1024,
                64 * 1024,
            )
        })
    }

    /// Runs `body`, of whose allocations nothing may be used afterwards.
    pub(super) fn run<T>(&self, body: impl FnOnce() -> T) -> T {
        // SAFETY: nothing that `body` allocates outlives it.
        unsafe {
            let above = pg_sys::MemoryContextSwitchTo(self.0);
            let made = body();
            pg_sys::MemoryContextSwitchTo(above);
            pg_sys::MemoryContextReset(self.0);
            made
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made in `new`, deleted once.
            unsafe { pg_sys::MemoryContextDelete(self.0) };
        }
    }
}
