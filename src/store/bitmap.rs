//! Rows that a GIN index finds, without a statement: as a bitmap scan finds them.

use super::ahead::Places;
use super::keyed::{Found, Open, Scan};
use super::nearest::Scratch;
use crate::domain::lexical::place::Place;
use crate::error::Result;
use pgrx::pg_sys;

/// An index of a GIN, open for one look.
struct Gin(pg_sys::Relation);

impl Drop for Gin {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened in `rows`, closed once; the lock stays, as that of a statement does.
            unsafe { pg_sys::index_close(self.0, pg_sys::NoLock as pg_sys::LOCKMODE) };
        }
    }
}

/// Which rows are looked for: those whose column stands to a value as a strategy of the index's operators says.
pub struct Wanted {
    /// The index.
    pub index: pg_sys::Oid,
    /// Its only column, by its place among those of the open table.
    pub column: usize,
    /// The operator, by its number.
    pub strategy: u16,
    /// The value, of the operator's type.
    pub value: pg_sys::Datum,
}

/// Shows the rows that may be wanted, in the order in which they lie, to `each`, which has to look whether they are: an index of
/// this kind does not know for sure. Nothing that `each` allocates by the server's means outlives it. False when the index
/// cannot be asked; no row was shown then.
pub fn rows(
    open: &Open,
    wanted: &Wanted,
    snapshot: pg_sys::Snapshot,
    mut each: impl FnMut(&Found) -> Result<()>,
) -> Result<bool> {
    // SAFETY: the table is open, and its index is while it is looked at. The key has the type of the operator, and lives as long
    // as the look for it. What the server makes for it lies in the current memory context.
    unsafe {
        let index = pg_sys::try_index_open(wanted.index, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        if index.is_null() {
            return Ok(false);
        }
        let index = Gin(index);
        let Some(function) = function(open, &index, wanted) else { return Ok(false) };
        let mut key: pg_sys::ScanKeyData = std::mem::zeroed();
        pg_sys::ScanKeyInit(&raw mut key, 1, wanted.strategy, function, wanted.value);
        key.sk_collation = *(*index.0).rd_indcollation;
        let bitmap = pg_sys::tbm_create((pg_sys::work_mem as usize * 1024) as _, std::ptr::null_mut());
        #[cfg(feature = "pg18")]
        let scan = pg_sys::index_beginscan_bitmap(index.0, snapshot, std::ptr::null_mut(), 1);
        #[cfg(not(feature = "pg18"))]
        let scan = pg_sys::index_beginscan_bitmap(index.0, snapshot, 1);
        pg_sys::index_rescan(scan, &raw mut key, 1, std::ptr::null_mut(), 0);
        pg_sys::index_getbitmap(scan, bitmap);
        pg_sys::index_endscan(scan);
        let scan = Scan::begin(open.table, open.index, snapshot, 0, 0);
        let (mut places, memory) = (Places::default(), Scratch::new());
        let mut show = |places: &mut Places| {
            places.rows(open.table, scan.0, open.slot, |_| {
                pgrx::check_for_interrupts!();
                memory.run(|| each(&open.found()))?;
                Ok(true)
            })
        };
        each_place(bitmap, |place| {
            places.push(&place);
            if places.is_full() {
                show(&mut places)?;
            }
            Ok(())
        })?;
        show(&mut places)?;
        pg_sys::tbm_free(bitmap);
    }
    Ok(true)
}

/// The function of the operator that is asked; `None` where the index is not one the planner would use for it.
///
/// # Safety
/// Table and index are open.
unsafe fn function(open: &Open, index: &Gin, wanted: &Wanted) -> Option<pg_sys::Oid> {
    // SAFETY: the descriptions of an open table and an open index.
    unsafe {
        let form = &*(*index.0).rd_index;
        let fits = form.indrelid == (*open.table).rd_id
            && form.indisvalid
            && !form.indcheckxmin
            && (*(*index.0).rd_rel).relam == pg_sys::GIN_AM_OID
            && form.indkey.values.as_slice(form.indnatts as usize) == [open.places[wanted.column] as i16 + 1]
            && pg_sys::RelationGetIndexPredicate(index.0).is_null();
        if !fits {
            return None;
        }
        let (family, kind) = (*(*index.0).rd_opfamily, *(*index.0).rd_opcintype);
        let operator = pg_sys::get_opfamily_member(family, kind, kind, wanted.strategy as i16);
        (operator != pg_sys::Oid::INVALID).then(|| pg_sys::get_opcode(operator))
    }
}

/// Shows the places that a bitmap holds: of a page of which it holds no more than that, all there may be.
///
/// # Safety
/// The bitmap is whole.
unsafe fn each_place(
    bitmap: *mut pg_sys::TIDBitmap,
    mut each: impl FnMut(Place) -> Result<()>,
) -> Result<()> {
    const LINES: usize = pg_sys::BLCKSZ as usize / 24;
    // SAFETY: as the server's own bitmap scans go through one.
    unsafe {
        #[cfg(feature = "pg18")]
        {
            let mut lines = [0; LINES];
            let mut iterator = pg_sys::tbm_begin_iterate(bitmap, std::ptr::null_mut(), 0);
            let mut page: pg_sys::TBMIterateResult = std::mem::zeroed();
            while pg_sys::tbm_iterate(&raw mut iterator, &raw mut page) {
                let count = match page.lossy {
                    true => LINES,
                    false => pg_sys::tbm_extract_page_tuple(&raw mut page, lines.as_mut_ptr(), LINES as u32)
                        as usize,
                };
                for (line, known) in (1..).zip(&lines[..count]) {
                    each(Place { block: page.blockno, line: if page.lossy { line } else { *known } })?;
                }
            }
            pg_sys::tbm_end_iterate(&raw mut iterator);
        }
        #[cfg(not(feature = "pg18"))]
        {
            let iterator = pg_sys::tbm_begin_iterate(bitmap);
            loop {
                let page = pg_sys::tbm_iterate(iterator);
                if page.is_null() {
                    break;
                }
                let block = (*page).blockno;
                match usize::try_from((*page).ntuples) {
                    Err(_) => (1..=LINES as u16).try_for_each(|line| each(Place { block, line }))?,
                    Ok(count) => {
                        for line in (*page).offsets.as_slice(count) {
                            each(Place { block, line: *line })?;
                        }
                    }
                }
            }
            pg_sys::tbm_end_iterate(iterator);
        }
    }
    Ok(())
}
