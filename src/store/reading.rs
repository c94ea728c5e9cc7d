//! Tables that are read by key several times in a call, forwards and backwards, and functions that their rows are held
//! against.

use super::ahead::Places;
use super::keyed::{Found, Key, Keyed, Open, Scan, Tables, need};
use super::seen::Shelf;
use crate::domain::lexical::place::Place;
use crate::error::{Error, Result};
use pgrx::pg_sys;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int};
use std::rc::Rc;
use std::thread::LocalKey;

/// How a column of the index stands to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Is {
    /// It is the key.
    Equal,
    /// It is the key or comes after it.
    AtLeast,
    /// It is the key or comes before it.
    AtMost,
    /// It comes before the key.
    Below,
}

impl Is {
    /// Its number in a btree.
    fn strategy(self) -> u16 {
        let number = match self {
            Self::Equal => pg_sys::BTEqualStrategyNumber,
            Self::AtLeast => pg_sys::BTGreaterEqualStrategyNumber,
            Self::AtMost => pg_sys::BTLessEqualStrategyNumber,
            Self::Below => pg_sys::BTLessStrategyNumber,
        };
        number as u16
    }
}

/// What is asked of a column of the index, counted from 0.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The column.
    pub column: usize,
    /// How it stands to the key.
    pub is: Is,
    /// The key.
    pub key: Key<'a>,
}

/// Which end of the index a look begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Its front.
    First,
    /// Its end.
    Last,
}

/// The number of the function by which a btree orders.
const ORDER: i16 = 1;
/// Most that is asked of the columns of an index.
const ASKED_MOST: usize = 6;
/// Most columns that are given as keys alone.
const KEYS_MOST: usize = 4;

/// The tables under the one snapshot of a call that reads.
#[derive(Clone, Copy)]
pub struct Reading {
    tables: Tables,
    snapshot: pg_sys::Snapshot,
}

impl Reading {
    /// Under the snapshot that is active now, and as long as the call; `None` as for [`Tables::here`].
    pub fn now() -> Option<Self> {
        // SAFETY: a function is only ever called under a snapshot.
        let snapshot = unsafe { pg_sys::GetActiveSnapshot() };
        Tables::here().map(|tables| Self { tables, snapshot })
    }

    /// What was kept of a space, or else what `make` reads of it, kept for the next call.
    pub fn kept<T>(
        self,
        shelf: &'static LocalKey<RefCell<Shelf<T>>>,
        space: &str,
        make: impl FnOnce() -> Result<Option<T>>,
    ) -> Result<Option<Rc<T>>> {
        if let Some(kept) = shelf.with_borrow_mut(|shelf| shelf.get(space, self.snapshot)) {
            return Ok(Some(kept));
        }
        let made = make()?.map(Rc::new);
        if let Some(made) = &made {
            shelf.with_borrow_mut(|shelf| shelf.put(space, self.snapshot, made.clone()));
        }
        Ok(made)
    }

    /// Opens a table for several looks; `None` when it cannot be read this way.
    pub fn open(self, keyed: &Keyed) -> Option<Table> {
        self.tables.open(keyed).map(|open| Table::under(open, self.snapshot))
    }

    /// As [`Tables::rows`].
    pub fn rows(self, keyed: &Keyed, keys: &[Key], each: impl FnMut(&Found) -> Result<bool>) -> Result<bool> {
        self.tables.rows(keyed, self.snapshot, keys, each)
    }
}

/// A table that is open. It must not outlive the call that opened it.
pub struct Table {
    /// The last look, to be begun anew with other keys: that is quicker than another.
    last: RefCell<Option<Look>>,
    /// A scan that looks nothing up, by which rows are fetched from their places.
    fetch: RefCell<Option<Scan>>,
    /// How many blocks the table has, once that was asked for.
    blocks: Cell<Option<u32>>,
    open: Open,
    snapshot: pg_sys::Snapshot,
}

/// A look at an index: what it asks but for the keys themselves, and the server's own state of it.
struct Look {
    shape: [(usize, Is); ASKED_MOST],
    count: usize,
    keys: [pg_sys::ScanKeyData; ASKED_MOST],
    scan: Scan,
}

impl Table {
    /// What is open, under a snapshot that is active as long as it.
    pub(super) fn under(open: Open, snapshot: pg_sys::Snapshot) -> Self {
        Self { last: RefCell::new(None), fetch: RefCell::new(None), blocks: Cell::new(None), open, snapshot }
    }

    /// Shows each row of the key to `each`; as [`Tables::rows`].
    pub fn rows(&self, keys: &[Key], each: impl FnMut(&Found) -> Result<bool>) -> Result<bool> {
        let mut asked = [Asked { column: 0, is: Is::Equal, key: Key::Int2(0) }; KEYS_MOST];
        for (column, (slot, key)) in asked.iter_mut().zip(keys).enumerate() {
            *slot = Asked { column, is: Is::Equal, key: *key };
        }
        self.look(&asked[..keys.len()], From::First, each)
    }

    /// Shows the rows for which all that is asked holds, in the order of the index or against it, until `each` says not to
    /// go on. False when the index cannot answer.
    pub fn look(
        &self,
        asked: &[Asked],
        from: From,
        mut each: impl FnMut(&Found) -> Result<bool>,
    ) -> Result<bool> {
        let open = &self.open;
        self.scan(asked, false, |scan| {
            let direction = match from {
                From::First => pg_sys::ScanDirection::ForwardScanDirection,
                From::Last => pg_sys::ScanDirection::BackwardScanDirection,
            };
            // SAFETY: the scan is of the table the slot was made for.
            unsafe {
                while pg_sys::index_getnext_slot(scan, direction, open.slot) {
                    if !each(&open.found())? {
                        break;
                    }
                }
            }
            self.let_go();
            Ok(())
        })
    }

    /// Shows the rows for which all that is asked holds, many and all over the table, in the order of the index, until `each`
    /// says not to go on. False when the index cannot answer.
    pub fn look_through(
        &self,
        asked: &[Asked],
        mut each: impl FnMut(&Found) -> Result<bool>,
    ) -> Result<bool> {
        let open = &self.open;
        self.scan(asked, false, |scan| {
            let (mut places, mut go_on) = (Places::default(), true);
            // SAFETY: the scan is of the table the slot was made for.
            unsafe {
                while go_on {
                    let more = places.take(scan, pg_sys::ScanDirection::ForwardScanDirection);
                    go_on = places.rows(open.table, scan, open.slot, |_| {
                        pgrx::check_for_interrupts!();
                        each(&open.found())
                    })? && more;
                }
            }
            self.let_go();
            Ok(())
        })
    }

    /// Shows a `bigint` and an `integer` that the index holds of each row for which all that is asked holds, in its order.
    /// The row itself is looked at only where the server does not know that everybody sees all of its page. False as for
    /// [`Table::look`], and when the index does not hold them.
    pub fn covered(
        &self,
        asked: &[Asked],
        columns: (usize, usize),
        mut each: impl FnMut(i64, i32) -> Result<()>,
    ) -> Result<bool> {
        let open = &self.open;
        // SAFETY: reads the backend's own state. A serializable transaction must be seen to read rows.
        if unsafe { pg_sys::XactIsoLevel } == pg_sys::XACT_SERIALIZABLE as i32 {
            return self.look(asked, From::First, |found| {
                each(need(found.int8(columns.0))?, need(found.int4(columns.1))?)?;
                Ok(true)
            });
        }
        let (Some(large), Some(small)) = (open.held_in_index(columns.0), open.held_in_index(columns.1))
        else {
            return Ok(false);
        };
        self.scan(asked, true, |scan| {
            let mut pages = SeenPages::of(open.table);
            // SAFETY: a btree gives its entries when they are asked for; the one shown lies in the scan until the next is
            // fetched. The columns are those of the index, and have the types their table names. The page of the index is
            // pinned while the map is asked, so that no vacuum takes the row away meanwhile.
            unsafe {
                loop {
                    pgrx::check_for_interrupts!();
                    let place = pg_sys::index_getnext_tid(scan, pg_sys::ScanDirection::ForwardScanDirection);
                    if place.is_null() {
                        break;
                    }
                    if !pages.all_seen(*place) {
                        let seen = pg_sys::index_fetch_heap(scan, open.slot);
                        self.let_go();
                        if !seen {
                            continue;
                        }
                    }
                    let (entry, shape) = ((*scan).xs_itup, (*scan).xs_itupdesc);
                    if entry.is_null() {
                        return Err(Error::Internal("an index does not give its entries".into()));
                    }
                    each(
                        pg_sys::nocache_index_getattr(entry, large, shape).value() as i64,
                        pg_sys::nocache_index_getattr(entry, small, shape).value() as i32,
                    )?;
                }
            }
            Ok(())
        })
    }

    /// Shows the rows that lie at some places, in their order and with their numbers, each asked for before it is needed; until
    /// at one the snapshot sees no row, or `show` says that it is not the one that was looked for. How many were shown. What
    /// was there once may be gone, and another row in its place: `show` has to look at its key.
    pub fn at(&self, places: &[Place], mut show: impl FnMut(usize, &Found) -> Result<bool>) -> Result<usize> {
        let reached = places.iter().position(|place| !self.reaches(*place)).unwrap_or(places.len());
        let Some(places) = places.get(..reached).filter(|places| !places.is_empty()) else { return Ok(0) };
        let open = &self.open;
        let mut shown = 0;
        // SAFETY: table and index are open and fit together (`Open`), and whoever gave the snapshot keeps it active. The
        // blocks are of the table, which nobody can make shorter while it is open; a line that is not there, or not the begin
        // of a row's versions, is refused by the server. Nothing is asked of the index.
        unsafe {
            let scan = match self.fetch.take() {
                Some(scan) => scan,
                None => Scan::begin(open.table, open.index, self.snapshot, 0, 0),
            };
            Places::known(places).rows(open.table, scan.0, open.slot, |at| {
                if at != shown {
                    return Ok(false);
                }
                let is_it = show(at, &open.found())?;
                shown += usize::from(is_it);
                Ok(is_it)
            })?;
            self.let_go();
            self.fetch.replace(Some(scan));
        }
        Ok(shown)
    }

    /// Whether the table has the block of a place. Only of an ordinary table are places what they are taken for.
    fn reaches(&self, place: Place) -> bool {
        let blocks = self.blocks.get().unwrap_or_else(|| {
            // SAFETY: the table is open.
            let blocks = unsafe {
                match (*(*self.open.table).rd_rel).relam == pg_sys::HEAP_TABLE_AM_OID {
                    true => pg_sys::RelationGetNumberOfBlocksInFork(
                        self.open.table,
                        pg_sys::ForkNumber::MAIN_FORKNUM,
                    ),
                    false => 0,
                }
            };
            self.blocks.set(Some(blocks));
            blocks
        });
        place.block < blocks && place.line > 0
    }

    /// Does not hold on to the page of the server that the last row is in.
    fn let_go(&self) {
        let slot = self.open.slot;
        // SAFETY: the slot is that of the open table.
        unsafe {
            if let Some(clear) = (*(*slot).tts_ops).clear {
                clear(slot);
            }
        }
    }

    /// How many entries the index has for what is asked, whoever sees their rows, counted up to `most`: an estimate.
    pub fn entries(&self, asked: &[Asked], most: usize) -> Result<Option<usize>> {
        let mut count = 0;
        let readable = self.scan(asked, false, |scan| {
            // SAFETY: the scan has begun.
            unsafe {
                let forward = pg_sys::ScanDirection::ForwardScanDirection;
                while count < most && !pg_sys::index_getnext_tid(scan, forward).is_null() {
                    count += 1;
                }
            }
            Ok(())
        })?;
        Ok(readable.then_some(count))
    }

    /// As [`Open::rows_expected`].
    pub fn rows_expected(&self) -> f64 {
        self.open.rows_expected()
    }

    /// With `entries`, the index gives its entries beside the places of the rows.
    fn scan(
        &self,
        asked: &[Asked],
        entries: bool,
        body: impl FnOnce(pg_sys::IndexScanDesc) -> Result<()>,
    ) -> Result<bool> {
        debug_assert!(asked.len() <= ASKED_MOST);
        let last = self.last.take();
        let shaped = |look: &Look| {
            look.count == asked.len()
                && asked.iter().zip(&look.shape).all(|(asked, shape)| (asked.column, asked.is) == *shape)
        };
        let mut look = match last.filter(shaped) {
            Some(look) => look,
            None => match self.begin(asked) {
                Some(look) => look,
                None => return Ok(false),
            },
        };
        for (scan_key, asked) in look.keys.iter_mut().zip(asked) {
            // SAFETY: the table is open; the key has the type of the index's column.
            let Some(value) = (unsafe { self.open.value(asked.column, &asked.key) }) else {
                return Ok(false);
            };
            scan_key.sk_argument = value;
        }
        let count = asked.len() as c_int;
        // SAFETY: the keys are as many as the look was begun with, and live as long as it.
        unsafe {
            (*look.scan.0).xs_want_itup = entries;
            pg_sys::index_rescan(look.scan.0, look.keys.as_mut_ptr(), count, std::ptr::null_mut(), 0);
        }
        body(look.scan.0)?;
        self.last.replace(Some(look));
        Ok(true)
    }

    /// A look whose keys are still missing; `None` when the index has no such order.
    fn begin(&self, asked: &[Asked]) -> Option<Look> {
        let open = &self.open;
        let mut shape = [(0, Is::Equal); ASKED_MOST];
        // SAFETY: table and index are open and fit together (`Open`), and whoever gave the snapshot keeps it active.
        unsafe {
            let mut keys: [pg_sys::ScanKeyData; ASKED_MOST] = std::mem::zeroed();
            for ((key, shape), asked) in keys.iter_mut().zip(&mut shape).zip(asked) {
                let n = asked.column;
                debug_assert!(n < open.keys.len());
                let function = open.operation(n, asked.is.strategy(), &asked.key)?;
                let none = pg_sys::Datum::from(0);
                pg_sys::ScanKeyInit(key, n as i16 + 1, asked.is.strategy(), function, none);
                key.sk_collation = *(*open.index).rd_indcollation.add(n);
                *shape = (n, asked.is);
            }
            Some(Look {
                shape,
                count: asked.len(),
                keys,
                scan: Scan::begin(open.table, open.index, self.snapshot, asked.len() as c_int, 0),
            })
        }
    }

    /// A value of a column as its input function reads it, to hold rows against.
    pub fn input(&self, column: usize, text: &CStr) -> pg_sys::Datum {
        // SAFETY: the table is open.
        unsafe { self.open.input(self.open.places[column], text) }
    }

    /// How the index orders its n-th column; `None` when it does not say.
    pub fn order(&self, n: usize) -> Option<Order> {
        // SAFETY: the index has that many columns; the function is looked up for the length of the call.
        unsafe {
            let family = *(*self.open.index).rd_opfamily.add(n);
            let kind = *(*self.open.index).rd_opcintype.add(n);
            let function = pg_sys::get_opfamily_proc(family, kind, kind, ORDER);
            Function::of(function).map(Order)
        }
    }
}

/// Which pages of a table hold only rows that everybody sees: its visibility map, a page of which stays pinned between two
/// looks.
struct SeenPages {
    table: pg_sys::Relation,
    buffer: pg_sys::Buffer,
}

impl SeenPages {
    fn of(table: pg_sys::Relation) -> Self {
        Self { table, buffer: pg_sys::InvalidBuffer as pg_sys::Buffer }
    }

    /// Whether everybody sees all rows of the page of this one.
    ///
    /// # Safety
    /// The table is open.
    unsafe fn all_seen(&mut self, place: pg_sys::ItemPointerData) -> bool {
        let block = u32::from(place.ip_blkid.bi_hi) << 16 | u32::from(place.ip_blkid.bi_lo);
        // SAFETY: as promised; the buffer is none, or that of the last look.
        let status = unsafe { pg_sys::visibilitymap_get_status(self.table, block, &raw mut self.buffer) };
        u32::from(status) & pg_sys::VISIBILITYMAP_ALL_VISIBLE != 0
    }
}

impl Drop for SeenPages {
    fn drop(&mut self) {
        if self.buffer != pg_sys::InvalidBuffer as pg_sys::Buffer && !std::thread::panicking() {
            // SAFETY: pinned by the last look, released once. After an error the transaction's end releases it.
            unsafe { pg_sys::ReleaseBuffer(self.buffer) };
        }
    }
}

/// Refuses to go on where an index that was opened cannot answer after all: nothing is left out in silence.
pub fn require(readable: bool) -> Result<()> {
    match readable {
        true => Ok(()),
        false => Err(Error::Internal("a table that was opened by key cannot be read".into())),
    }
}

/// A function of the server, looked up for several calls.
pub struct Function(Box<pg_sys::FmgrInfo>);

impl Function {
    /// Looks it up; `None` when there is none.
    pub fn of(function: pg_sys::Oid) -> Option<Self> {
        if function == pg_sys::Oid::INVALID {
            return None;
        }
        // SAFETY: fills what it is given; what the function keeps beside it lives as long as the current memory context.
        unsafe {
            let mut info: Box<pg_sys::FmgrInfo> = Box::new(std::mem::zeroed());
            pg_sys::fmgr_info(function, &raw mut *info);
            Some(Self(info))
        }
    }

    /// Calls it with two values, which are not null and of its types; what it answers is not null.
    ///
    /// # Safety
    /// As said.
    pub unsafe fn call(&self, a: pg_sys::Datum, b: pg_sys::Datum) -> pg_sys::Datum {
        // SAFETY: by the contract of this function. The server writes into it only what it keeps for the next call.
        unsafe {
            let info: *const pg_sys::FmgrInfo = &raw const *self.0;
            pg_sys::FunctionCall2Coll(info.cast_mut(), pg_sys::Oid::INVALID, a, b)
        }
    }
}

/// The order of a column of an index.
pub struct Order(Function);

impl Order {
    /// How a column of a row stands to a value that [`Table::input`] made.
    pub fn compare(&self, found: &Found, column: usize, value: pg_sys::Datum) -> Option<std::cmp::Ordering> {
        let datum = found.raw(column)?;
        // SAFETY: both are of the type of the column, and an order answers with a number.
        Some((unsafe { self.0.call(datum, value) }.value() as i32).cmp(&0))
    }
}
