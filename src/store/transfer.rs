//! Reads memories out in the order of their ids, page by page, so that memory stays bounded.

use super::caller;
use super::filter::Filter;
use super::jsonb::Jsonb;
use super::memory::{self, NewMemory, Status};
use super::operation::Operation;
use super::session::Session;
use super::spi::{Db, arg};
use crate::domain::access::Level;
use crate::domain::conflict::OnConflict;
use crate::domain::filter::Criteria;
use crate::domain::id::Id;
use crate::domain::invalid::Invalid;
use crate::domain::limits;
use crate::domain::transfer;
use crate::error::{Error, Result};
use crate::filtered;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::collections::VecDeque;

filtered!(
    PAGE,
    [
        "with page as (select m.* from me.memory as m where ",
        include_str!("filter.sql"),
        include_str!("export_page.sql")
    ],
    [UUIDOID, INT8OID, INT8OID, TEXTOID]
);

/// Creates what is new and skips what is there, a part at a time under one operation (IMP-2, IMP-12).
///
/// In the order of the keys from the first part to the last: two imports of the same memories, in whatever order their
/// texts have, wait for each other instead of dying in a deadlock.
pub fn import(
    session: &Session,
    operation: &Operation,
    memories: Vec<NewMemory>,
) -> Result<Vec<(Id, Status)>> {
    for memory in &memories {
        session.require(Level::Write, &memory.tree)?;
    }
    let mut numbered: Vec<(usize, NewMemory)> = memories.into_iter().enumerate().collect();
    numbered.sort_by(|(_, a), (_, b)| a.key().cmp(&b.key()));
    let (numbers, memories): (Vec<usize>, Vec<NewMemory>) = numbered.into_iter().unzip();
    let mut outcomes: Vec<(usize, (Id, Status))> = Vec::with_capacity(memories.len());
    for part in parts(&memories) {
        let numbers = numbers.get(outcomes.len()..).unwrap_or_default();
        if let Some(at) = memory::double_target(session, part)? {
            return Err(two_ways(numbers.get(at).copied().unwrap_or_default()).into());
        }
        let created = memory::create_checked(session, operation, part, OnConflict::Ignore)?;
        outcomes.extend(numbers.iter().copied().zip(created));
    }
    outcomes.sort_unstable_by_key(|(number, _)| *number);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn two_ways(number: usize) -> Invalid {
    transfer::refuse(
        number + 1,
        Invalid::new(
            "id",
            "BAT-6",
            "its id and the name of another record address one stored memory",
            "Leave each stored memory in the text once: by its id or by its tree and name.",
        ),
    )
}

/// Cuts memories into parts that are small enough for one statement.
fn parts(mut memories: &[NewMemory]) -> Vec<&[NewMemory]> {
    let mut parts = Vec::new();
    while !memories.is_empty() {
        let mut bytes = 0;
        let fitting = memories
            .iter()
            .take(limits::BATCH_ITEMS)
            .take_while(|memory| {
                let fits = bytes < PAGE_BYTES;
                bytes += memory.content.as_str().len() as i64;
                fits
            })
            .count();
        let (part, rest) = memories.split_at(fitting);
        parts.push(part);
        memories = rest;
    }
    parts
}

/// Most rows and most bytes of content that a page holds, the last row aside.
const PAGE_ROWS: i64 = 1000;
const PAGE_BYTES: i64 = 4 * 1024 * 1024;

/// A place in an export that is under way. It holds no datum, so it may outlive the statement that began it.
struct Reader {
    filter: Filter,
    home: Option<String>,
    after: Option<pgrx::Uuid>,
}

impl Reader {
    fn begin(session: &Session, criteria: Criteria) -> Self {
        Self {
            filter: Filter::readable(session, criteria),
            home: session.home().map(|home| home.label().to_owned()),
            after: None,
        }
    }

    /// The next rows, at most `most`; none at the end.
    fn page<T>(&mut self, db: &Db, most: i64, read: impl Fn(Jsonb) -> T) -> Result<VecDeque<T>> {
        let home = self.home.as_deref().and_then(arg);
        let own = [self.after.and_then(arg), arg(most.min(PAGE_ROWS)), arg(PAGE_BYTES), home];
        let mut page = VecDeque::new();
        for row in self.filter.run(db, &PAGE, own, 0)? {
            self.after = Some(row.need(1)?);
            let record = row.raw(2).ok_or_else(|| Error::Internal("an exported record is missing".into()))?;
            page.push_back(read(Jsonb::from_raw(record)));
        }
        Ok(page)
    }
}

/// The records that match, as JSON texts in ascending id order, at most `limit`; and whether more match (EXP-1).
pub fn export(session: &Session, criteria: Criteria, limit: i64) -> Result<(Vec<String>, bool)> {
    let mut reader = Reader::begin(session, criteria);
    let mut records: Vec<String> = Vec::new();
    let mut bytes = 0;
    loop {
        let wanted = limit + 1 - records.len() as i64;
        let page = reader.page(session.db(), wanted, Jsonb::text)?;
        let at_end = page.is_empty();
        for record in page {
            if records.len() as i64 == limit {
                return Ok((records, true));
            }
            bytes += record.len();
            if bytes > limits::EXPORT_BYTES {
                return Err(too_large(records.len()).into());
            }
            records.push(record);
        }
        if at_end {
            return Ok((records, false));
        }
    }
}

fn too_large(fitting: usize) -> Invalid {
    Invalid::new(
        "limit",
        "EXP-2",
        format!(
            "the export holds more than {} bytes in one text; {fitting} memories fit",
            limits::EXPORT_BYTES
        ),
        "Give a lower limit or a narrower filter, or read me.memory_export_rows() row by row.",
    )
}

/// Every matching record in ascending id order, read as it is asked for (EXP-5).
pub struct Rows {
    reader: Reader,
    ready: VecDeque<Vec<u8>>,
}

impl Rows {
    /// Begins: rights and home are those of the caller now, to the end of the query (ACC-11).
    pub fn begin(session: &Session, criteria: Criteria) -> Result<Self> {
        let mut rows = Self { reader: Reader::begin(session, criteria), ready: VecDeque::new() };
        rows.read_on(session.db())?;
        Ok(rows)
    }

    fn read_on(&mut self, db: &Db) -> Result<()> {
        self.ready = self.reader.page(db, PAGE_ROWS, bytes_of)?;
        Ok(())
    }

    fn try_next(&mut self) -> std::result::Result<Option<Jsonb>, ErrorReport> {
        if self.ready.is_empty() {
            caller::resume(|db| self.read_on(db))?;
        }
        Ok(self.ready.pop_front().map(|bytes| datum_of(&bytes)))
    }
}

impl Iterator for Rows {
    type Item = Jsonb;

    fn next(&mut self) -> Option<Jsonb> {
        match self.try_next() {
            Ok(record) => record,
            Err(report) => {
                // Raises; an iterator has no other way to fail.
                report.report(PgLogLevel::ERROR);
                None
            }
        }
    }
}

/// Copies a value out of the server's memory: it has to outlive the statement that made it.
fn bytes_of(record: Jsonb) -> Vec<u8> {
    // SAFETY: a jsonb is a varlena; a detoasted one is as long as its header says.
    unsafe {
        let value = pg_sys::pg_detoast_datum(record.datum().cast_mut_ptr());
        std::slice::from_raw_parts(value.cast::<u8>(), pgrx::varsize_any(value)).to_vec()
    }
}

/// Copies a value back, into the memory context of the call.
fn datum_of(bytes: &[u8]) -> Jsonb {
    // SAFETY: palloc answers with memory of the length asked for, or raises.
    unsafe {
        let value = pg_sys::palloc(bytes.len()).cast::<u8>();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), value, bytes.len());
        Jsonb::from_raw(pg_sys::Datum::from(value))
    }
}
