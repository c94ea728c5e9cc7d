//! Rows by their places in a table, each asked for some rows before it is needed.
//!
//! An index names rows all over its table. Each is a page elsewhere in memory, or on disk, and a processor that goes from one to
//! the next waits for memory most of the time: for a thousand vectors of 800 bytes, two thirds of it. So places are taken from
//! the index some at once, and while a row is read, what the next ones need is on its way.

use crate::domain::lexical::place::Place;
use crate::error::Result;
use pgrx::pg_sys;

/// Places that are taken from an index at once.
pub const AT_ONCE: usize = 256;
/// How many rows before it is needed a page is asked for, and the row in it.
const PAGE: usize = 8;
const ROW: usize = 4;
/// What a processor fetches at once, in bytes.
const LINE: usize = 64;
/// Longest part of a row that is asked for.
const ROW_MOST: usize = 1024;

/// The places of some rows.
#[derive(Default)]
pub struct Places {
    places: Vec<pg_sys::ItemPointerData>,
    pages: Vec<Option<Page>>,
}

/// A page of a table, where it lies in memory. It is not held, and may give way to another at any time: nothing that stands
/// there is believed.
#[derive(Clone, Copy)]
struct Page(*const u8);

impl Places {
    /// Some that are known.
    pub fn known(places: &[Place]) -> Self {
        Self { places: places.iter().map(pointer).collect(), pages: Vec::new() }
    }

    /// Adds one, which need not be there.
    pub fn push(&mut self, place: &Place) {
        self.places.push(pointer(place));
    }

    /// Whether there are as many as are taken at once.
    pub fn is_full(&self) -> bool {
        self.places.len() >= AT_ONCE
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Takes the next places of a scan, until there are as many as are taken at once. False when the scan has come to its end.
    ///
    /// # Safety
    /// The scan has begun, in the direction given, and its snapshot is active.
    pub unsafe fn take(
        &mut self,
        scan: pg_sys::IndexScanDesc,
        direction: pg_sys::ScanDirection::Type,
    ) -> bool {
        while self.places.len() < AT_ONCE {
            // SAFETY: by the contract of this function; the place stays in the scan until the next is asked for.
            unsafe {
                let place = pg_sys::index_getnext_tid(scan, direction);
                if place.is_null() {
                    return false;
                }
                self.places.push(*place);
            }
        }
        true
    }

    /// Shows the rows that the scan's snapshot sees, in order, each in the slot and with the number of its place; until `each`
    /// says not to go on. Afterwards there are no places any more.
    ///
    /// # Safety
    /// The scan is of the table, under a snapshot of the kind that sees the same rows as long as it is active, and the places
    /// are its, or others in blocks that the table has; the slot is made for the table.
    pub unsafe fn rows(
        &mut self,
        table: pg_sys::Relation,
        scan: pg_sys::IndexScanDesc,
        slot: *mut pg_sys::TupleTableSlot,
        mut each: impl FnMut(usize) -> Result<bool>,
    ) -> Result<bool> {
        let mut go_on = true;
        for at in 0..self.places.len() {
            while self.pages.len() < self.places.len().min(at + PAGE) {
                // SAFETY: the table is open.
                let page = unsafe { self.page(table, self.pages.len()) };
                self.pages.push(page);
            }
            if let Some((page, place)) =
                self.pages.get(at + ROW).copied().flatten().zip(self.places.get(at + ROW))
            {
                // SAFETY: the page lies in memory that the server shares.
                unsafe { page.ask_for(place.ip_posid) };
            }
            // SAFETY: this is how the server itself fetches the row of an entry. That rows turned out dead is told to the
            // index with the next entry that is taken from it, which would be another one: so it is not.
            let found = unsafe {
                (*scan).xs_heaptid = self.places[at];
                (*scan).xs_heap_continue = false;
                let found = pg_sys::index_fetch_heap(scan, slot);
                (*scan).kill_prior_tuple = false;
                found
            };
            if found && !each(at)? {
                go_on = false;
                break;
            }
        }
        self.places.clear();
        self.pages.clear();
        Ok(go_on)
    }

    /// Asks for the page of a place: from disk, if it has to come from there.
    ///
    /// # Safety
    /// The table is open.
    unsafe fn page(&self, table: pg_sys::Relation, at: usize) -> Option<Page> {
        let block = block(&self.places[at]);
        if at > 0 && block == self::block(&self.places[at - 1]) {
            return self.pages[at - 1];
        }
        // SAFETY: by the contract of this function. A page that was in memory a moment ago has an address there for good,
        // whatever comes to stand at it.
        unsafe {
            let buffer = pg_sys::PrefetchBuffer(table, pg_sys::ForkNumber::MAIN_FORKNUM, block).recent_buffer;
            (buffer > 0).then(|| {
                let page = pg_sys::BufferGetBlock(buffer) as *const u8;
                fetch(page);
                fetch(page.wrapping_add(entry(self.places[at].ip_posid)));
                Page(page)
            })
        }
    }
}

impl Page {
    /// Asks for the row of an entry.
    ///
    /// # Safety
    /// The page lies in memory that the server shares.
    unsafe fn ask_for(self, number: u16) {
        let size = pg_sys::BLCKSZ as usize;
        if entry(number) + 4 > size {
            return;
        }
        // SAFETY: four bytes within the page. Others may write there at this moment, so that anything may be read; whatever it
        // is, what is asked for lies within the page, and nothing but time depends on it.
        let entry = unsafe { std::ptr::read_volatile(self.0.add(entry(number)).cast::<u32>()) };
        let (begin, length) = ((entry & 0x7fff) as usize, (entry >> 17) as usize);
        for at in (begin..size.min(begin + length.min(ROW_MOST))).step_by(LINE) {
            // SAFETY: within the page.
            unsafe { fetch(self.0.add(at)) };
        }
    }
}

/// Where in a page the entry of a row stands, which says where the row is.
fn entry(number: u16) -> usize {
    std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp) + 4 * (usize::from(number).max(1) - 1)
}

/// A place as the server writes it.
fn pointer(place: &Place) -> pg_sys::ItemPointerData {
    let (bi_hi, bi_lo) = ((place.block >> 16) as u16, place.block as u16);
    pg_sys::ItemPointerData { ip_blkid: pg_sys::BlockIdData { bi_hi, bi_lo }, ip_posid: place.line }
}

fn block(place: &pg_sys::ItemPointerData) -> pg_sys::BlockNumber {
    (u32::from(place.ip_blkid.bi_hi) << 16) | u32::from(place.ip_blkid.bi_lo)
}

/// Asks for a line of memory.
///
/// # Safety
/// The address is that of memory of the process, or the processor does nothing.
#[inline(always)]
unsafe fn fetch(address: *const u8) {
    // SAFETY: a hint, which does nothing else.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
