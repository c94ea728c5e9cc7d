//! Dictionary pages: lexemes in order, each without what it shares with the one before, and their lists. A short list
//! stands in the record itself, with the lengths of its memories; a long one in pages of its own.

use super::bits::{Reader, put_varint};
use super::block::{BLOCK, Chunk, Decoded, Skip, encode};
use super::guide::Guide;
use super::page::{Kind, PAGE_BYTES, Sink};
use super::scoring::Impact;
use super::{Damaged, Posting};
use std::rc::Rc;

/// Postings of one page of a long list, as many blocks as surely fit.
const PAGE_POSTINGS: usize = 16 * BLOCK;
/// Longest list of blocks, in bytes, that stands in its record.
const INLINE_BYTES: usize = 1400;

/// Where the postings of a lexeme are.
#[derive(Debug, Clone)]
pub enum List {
    /// Here: fewer than a block, with the lengths of the memories.
    Short(Rc<[(Posting, u32)]>),
    /// Here, in blocks.
    Inline(Rc<Chunk>),
    /// In pages of their own, from this number on, of which this is known.
    Paged(u32, Rc<[Skip]>),
}

/// A lexeme of a segment.
#[derive(Debug, Clone)]
pub struct Record {
    /// In how many memories of the segment it stands.
    pub documents: u32,
    /// Its postings.
    pub list: List,
}

impl Record {
    fn read(body: &[u8], documents: u32) -> Result<Self, Damaged> {
        let mut reader = Reader::new(body);
        if (documents as usize) < BLOCK {
            let mut short = Vec::with_capacity(documents as usize);
            let mut from = 0u32;
            for _ in 0..documents {
                let gap = reader.varint()?;
                let ordinal = from.checked_add(gap >> 1).ok_or(Damaged)?;
                let halves = if gap & 1 == 1 { 2 } else { reader.varint()? };
                short.push((Posting { ordinal, halves }, reader.varint()?));
                from = ordinal.checked_add(1).ok_or(Damaged)?;
            }
            return Ok(Self { documents, list: List::Short(short.into()) });
        }
        let pages = reader.varint()? as usize;
        if pages == 0 {
            let chunk = Chunk::open(reader.rest().into(), 0)?;
            return Ok(Self { documents, list: List::Inline(chunk.into()) });
        }
        let first = reader.varint()?;
        let mut known = Vec::with_capacity(pages.min(body.len()));
        let mut from = 0;
        for _ in 0..pages {
            let skip = Skip::read(&mut reader, from)?;
            from = skip.end;
            known.push(skip);
        }
        Ok(Self { documents, list: List::Paged(first, known.into()) })
    }
}

/// The lexemes of a dictionary page, in order, one after the other.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    reader: Reader<'a>,
    lexeme: Vec<u8>,
}

/// A record that is not read yet.
#[derive(Debug, Clone, Copy)]
pub struct Unread<'a> {
    documents: u32,
    body: &'a [u8],
}

impl Unread<'_> {
    /// Reads it.
    ///
    /// # Errors
    /// The page is damaged.
    pub fn read(&self) -> Result<Record, Damaged> {
        Record::read(self.body, self.documents)
    }
}

impl<'a> Records<'a> {
    /// Those of a page.
    #[must_use]
    pub fn of(page: &'a [u8]) -> Self {
        Self { reader: Reader::new(page), lexeme: Vec::new() }
    }

    /// The lexeme of the record that came last.
    #[must_use]
    pub fn lexeme(&self) -> &[u8] {
        &self.lexeme
    }

    /// The next record.
    ///
    /// # Errors
    /// The page is damaged.
    pub fn next_record(&mut self) -> Result<Option<Unread<'a>>, Damaged> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let shared = self.reader.varint()? as usize;
        let own = self.reader.varint()? as usize;
        if shared > self.lexeme.len() {
            return Err(Damaged);
        }
        self.lexeme.truncate(shared);
        self.lexeme.extend_from_slice(self.reader.take(own)?);
        let documents = self.reader.varint()?;
        let size = self.reader.varint()? as usize;
        Ok(Some(Unread { documents, body: self.reader.take(size)? }))
    }
}

/// The record of a lexeme, which is in this page if it is in the segment.
///
/// # Errors
/// The page is damaged.
pub fn lookup(page: &[u8], lexeme: &[u8]) -> Result<Option<Record>, Damaged> {
    let mut records = Records::of(page);
    while let Some(record) = records.next_record()? {
        match records.lexeme().cmp(lexeme) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => return record.read().map(Some),
            std::cmp::Ordering::Greater => return Ok(None),
        }
    }
    Ok(None)
}

/// Writes the lexemes of a segment, which come in order.
pub struct Writer<'a, S: Sink> {
    sink: &'a mut S,
    /// The length of every memory of the segment.
    lengths: &'a [u32],
    page: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    guide: Guide,
    dictionary_pages: u32,
    posting_pages: u32,
}

impl<'a, S: Sink> Writer<'a, S> {
    /// Writes into a sink a segment whose memories have these lengths.
    pub fn new(sink: &'a mut S, lengths: &'a [u32]) -> Self {
        Self {
            sink,
            lengths,
            page: Vec::new(),
            first: Vec::new(),
            last: Vec::new(),
            guide: Guide::new(Kind::DictionaryGuide),
            dictionary_pages: 0,
            posting_pages: 0,
        }
    }

    /// Adds a lexeme with its postings, rising.
    ///
    /// # Errors
    /// A page could not be stored.
    pub fn add(&mut self, lexeme: &[u8], postings: &[Posting]) -> Result<(), S::Error> {
        if postings.is_empty() {
            return Ok(());
        }
        let body = self.list(postings)?;
        if self.page.len() + body.len() + lexeme.len() > PAGE_BYTES {
            self.flush()?;
        }
        if self.page.is_empty() {
            self.first = lexeme.to_vec();
            self.last.clear();
        }
        let shared = self.last.iter().zip(lexeme).take_while(|(a, b)| a == b).count();
        put_varint(&mut self.page, shared as u32);
        put_varint(&mut self.page, (lexeme.len() - shared) as u32);
        self.page.extend_from_slice(&lexeme[shared..]);
        put_varint(&mut self.page, postings.len() as u32);
        put_varint(&mut self.page, body.len() as u32);
        self.page.extend_from_slice(&body);
        self.last = lexeme.to_vec();
        Ok(())
    }

    fn list(&mut self, postings: &[Posting]) -> Result<Vec<u8>, S::Error> {
        let mut body = Vec::new();
        if postings.len() < BLOCK {
            let mut from = 0;
            for posting in postings {
                let once = posting.halves == 2;
                put_varint(&mut body, ((posting.ordinal - from) << 1) | u32::from(once));
                if !once {
                    put_varint(&mut body, posting.halves);
                }
                put_varint(
                    &mut body,
                    self.lengths.get(posting.ordinal as usize).copied().unwrap_or_default(),
                );
                from = posting.ordinal + 1;
            }
            return Ok(body);
        }
        if postings.len() <= PAGE_POSTINGS {
            let chunk = encode(postings, self.lengths, 0);
            if chunk.len() <= INLINE_BYTES {
                put_varint(&mut body, 0);
                body.extend_from_slice(&chunk);
                return Ok(body);
            }
        }
        put_varint(&mut body, postings.len().div_ceil(PAGE_POSTINGS) as u32);
        put_varint(&mut body, self.posting_pages);
        let mut from = 0;
        for some in postings.chunks(PAGE_POSTINGS) {
            let skip = Skip::of(some, self.lengths);
            skip.put(&mut body, from);
            let page = encode(some, self.lengths, from);
            self.sink.page(Kind::Postings, self.posting_pages, None, page)?;
            self.posting_pages += 1;
            from = skip.end;
        }
        Ok(body)
    }

    fn flush(&mut self) -> Result<(), S::Error> {
        if self.page.is_empty() {
            return Ok(());
        }
        let page = std::mem::take(&mut self.page);
        self.guide.add(self.sink, &self.first)?;
        self.sink.page(Kind::Dictionary, self.dictionary_pages, None, page)?;
        self.dictionary_pages += 1;
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The page could not be stored.
    pub fn finish(mut self) -> Result<(), S::Error> {
        self.flush()?;
        self.guide.flush(self.sink)
    }
}

/// Where pages of long lists come from.
pub trait Lists {
    /// What may go wrong.
    type Error: From<Damaged>;

    /// A page of postings. The next ones, up to the number `last`, may be asked for soon.
    ///
    /// # Errors
    /// The page could not be read.
    fn postings(&mut self, number: u32, last: u32) -> Result<Rc<[u8]>, Self::Error>;
}

impl List {
    /// Every posting of the list.
    ///
    /// # Errors
    /// A page is damaged, or could not be read.
    pub fn all<L: Lists>(&self, lists: &mut L) -> Result<Vec<Posting>, L::Error> {
        let mut all = Vec::new();
        match self {
            Self::Short(short) => all.extend(short.iter().map(|(posting, _)| *posting)),
            Self::Inline(chunk) => chunk.postings(&mut all)?,
            Self::Paged(first, known) => {
                let last = first + known.len() as u32 - 1;
                let mut from = 0;
                for (number, skip) in (*first..).zip(known.iter()) {
                    Chunk::open(lists.postings(number, last)?, from)?.postings(&mut all)?;
                    from = skip.end;
                }
            }
        }
        Ok(all)
    }
}

/// Goes through a list from its front, and over what cannot matter.
#[derive(Debug)]
pub struct Cursor {
    list: List,
    /// The page of a long list that is open.
    page: usize,
    open: Option<Chunk>,
    /// Where the next block to look at is.
    block: usize,
    /// The block that is taken apart, of the open page, and the one of which at least the numbers are.
    decoded: Option<usize>,
    numbered: Option<usize>,
    postings: Decoded,
}

impl Cursor {
    /// At the front of a list.
    #[must_use]
    pub fn new(list: List) -> Self {
        Self {
            list,
            page: 0,
            open: None,
            block: 0,
            decoded: None,
            numbered: None,
            postings: Decoded::default(),
        }
    }

    /// The list.
    #[must_use]
    pub fn list(&self) -> &List {
        &self.list
    }

    /// The most that a posting from `from` up to `to` can be worth, by what is known without reading a page; 0 where there is
    /// nothing. `worth` says it of what bounds a part of the list; a short list is bounded by exactly what is there. Calls must
    /// not go backwards.
    pub fn bound(&self, from: u32, to: u32, mut worth: impl FnMut(&[Impact]) -> f64) -> f64 {
        let known = match &self.list {
            List::Short(short) => {
                let at = short.partition_point(|(posting, _)| posting.ordinal < from);
                let here = short[at..].iter().take_while(|(posting, _)| posting.ordinal < to);
                let impact =
                    |(posting, length): &(Posting, u32)| Impact { halves: posting.halves, length: *length };
                return here.map(|one| worth(&[impact(one)])).fold(0.0, f64::max);
            }
            List::Inline(chunk) => return over(chunk.known_from(self.block), from, to, worth),
            List::Paged(_, known) => known,
        };
        let begin = self.page.checked_sub(1).map_or(0, |before| known[before].end);
        // Of the page that is open, more is known.
        match self.open.as_ref().filter(|_| begin <= from && to <= known[self.page].end) {
            Some(chunk) => over(chunk.known_from(self.block), from, to, worth),
            None => over((begin, known[self.page..].iter()), from, to, worth),
        }
    }

    /// Whether the list says itself how long its memories are.
    #[must_use]
    pub fn has_lengths(&self) -> bool {
        matches!(self.list, List::Short(_))
    }

    /// The first number at or after `from` at which there may be something.
    #[must_use]
    pub fn next_from(&self, from: u32) -> Option<u32> {
        match &self.list {
            List::Short(short) => {
                let at = short.partition_point(|(posting, _)| posting.ordinal < from);
                short.get(at).map(|(posting, _)| posting.ordinal)
            }
            List::Inline(chunk) => chunk.blocks.last().filter(|block| block.skip.end > from).map(|_| from),
            List::Paged(_, known) => known.last().filter(|skip| skip.end > from).map(|_| from),
        }
    }

    /// Calls `each` with the postings from `from` up to `to`, block by block, and with the length of the memory where
    /// the list has it; `wanted` says of what is known of a block whether to read it. Calls must not go backwards.
    ///
    /// # Errors
    /// A page is damaged, or could not be read.
    pub fn each<L: Lists>(
        &mut self,
        lists: &mut L,
        from: u32,
        to: u32,
        mut wanted: impl FnMut(&[Impact]) -> bool,
        mut each: impl FnMut(Posting, Option<u32>) -> Result<(), Damaged>,
    ) -> Result<(), L::Error> {
        if let List::Short(short) = &self.list {
            let at = short.partition_point(|(posting, _)| posting.ordinal < from);
            for (posting, length) in short[at..].iter().take_while(|(posting, _)| posting.ordinal < to) {
                each(*posting, Some(*length))?;
            }
            return Ok(());
        }
        let mut from = from;
        while from < to && self.turn_to(lists, from)? {
            let Some(block) = self.chunk().and_then(|chunk| chunk.blocks.get(self.block)) else { break };
            let end = block.skip.end;
            if wanted(&block.skip.impacts) {
                self.decode()?;
                let begin = self.postings.ordinals.partition_point(|ordinal| *ordinal < from);
                for (ordinal, halves) in self.postings.ordinals.iter().zip(&self.postings.halves).skip(begin)
                {
                    if *ordinal >= to {
                        return Ok(());
                    }
                    each(Posting { ordinal: *ordinal, halves: *halves }, None)?;
                }
            }
            from = end;
        }
        Ok(())
    }

    /// How often the lexeme stands in a memory, in halves; 0 if it does not. Calls must not go backwards.
    ///
    /// # Errors
    /// A page is damaged, or could not be read.
    pub fn halves_at<L: Lists>(&mut self, lists: &mut L, ordinal: u32) -> Result<u32, L::Error> {
        if let List::Short(short) = &self.list {
            let found = short.binary_search_by_key(&ordinal, |(posting, _)| posting.ordinal);
            return Ok(found.ok().and_then(|at| short.get(at)).map_or(0, |(posting, _)| posting.halves));
        }
        if !self.turn_to(lists, ordinal)? {
            return Ok(0);
        }
        if self.numbered != Some(self.block) {
            let mut ordinals = std::mem::take(&mut self.postings.ordinals);
            self.chunk().ok_or(Damaged)?.numbers(self.block, &mut ordinals)?;
            self.postings.ordinals = ordinals;
            (self.numbered, self.decoded) = (Some(self.block), None);
        }
        match self.postings.ordinals.binary_search(&ordinal) {
            Ok(place) => Ok(self.chunk().ok_or(Damaged)?.halves(self.block, place)?),
            Err(_) => Ok(0),
        }
    }

    /// The postings of a short list, with the lengths of their memories.
    #[must_use]
    pub fn short(&self) -> Option<&Rc<[(Posting, u32)]>> {
        match &self.list {
            List::Short(short) => Some(short),
            _ => None,
        }
    }

    /// Shows to `each`, block by block from the front, the postings of a list in blocks, with what bounds them; `wanted` says of
    /// what bounds a page, and then a block, whether to read it.
    ///
    /// # Errors
    /// A page is damaged, or could not be read.
    pub fn blocks<L: Lists, S>(
        &mut self,
        lists: &mut L,
        state: &mut S,
        wanted: impl Fn(&S, &[Impact]) -> bool,
        mut each: impl FnMut(&mut S, &mut L, &Decoded, &[Impact]) -> Result<(), L::Error>,
    ) -> Result<(), L::Error> {
        let mut from = 0;
        loop {
            if let List::Paged(_, known) = &self.list {
                let here = known.partition_point(|page| page.end <= from);
                let rest = known[here..].iter().position(|page| wanted(state, &page.impacts));
                let Some(page) = rest.map(|skipped| here + skipped) else { return Ok(()) };
                from = from.max(page.checked_sub(1).map_or(0, |before| known[before].end));
            }
            if !self.turn_to(lists, from)? {
                return Ok(());
            }
            let Some(block) = self.chunk().and_then(|chunk| chunk.blocks.get(self.block)) else {
                return Ok(());
            };
            from = block.skip.end;
            if wanted(state, &block.skip.impacts) {
                self.decode()?;
                let Some(block) = self.chunk().and_then(|chunk| chunk.blocks.get(self.block)) else {
                    return Ok(());
                };
                each(state, lists, &self.postings, &block.skip.impacts)?;
            }
        }
    }

    fn chunk(&self) -> Option<&Chunk> {
        match &self.list {
            List::Inline(chunk) => Some(chunk),
            _ => self.open.as_ref(),
        }
    }

    /// Goes to the block that ends behind `ordinal`; whether there is one.
    fn turn_to<L: Lists>(&mut self, lists: &mut L, ordinal: u32) -> Result<bool, L::Error> {
        if let List::Paged(first, known) = &self.list {
            let page = self.page + known[self.page..].partition_point(|skip| skip.end <= ordinal);
            if page >= known.len() {
                return Ok(false);
            }
            if page != self.page || self.open.is_none() {
                let base = page.checked_sub(1).map_or(0, |before| known[before].end);
                let last = first + known.len() as u32 - 1;
                let chunk = Chunk::open(lists.postings(first + page as u32, last)?, base)?;
                self.open = Some(chunk);
                (self.page, self.block, self.decoded, self.numbered) = (page, 0, None, None);
            }
        }
        let Some(chunk) = self.chunk() else { return Ok(false) };
        let rest = chunk.blocks.get(self.block..).unwrap_or_default();
        let block = self.block + rest.partition_point(|block| block.skip.end <= ordinal);
        let there = block < chunk.blocks.len();
        if there {
            self.block = block;
        }
        Ok(there)
    }

    fn decode(&mut self) -> Result<(), Damaged> {
        if self.decoded == Some(self.block) {
            return Ok(());
        }
        let mut postings = std::mem::take(&mut self.postings);
        self.chunk().ok_or(Damaged)?.decode(self.block, &mut postings)?;
        self.postings = postings;
        (self.decoded, self.numbered) = (Some(self.block), Some(self.block));
        Ok(())
    }
}

/// The most that those parts of a list can be worth that may reach into an interval; with where the first of them begins.
fn over<'a>(
    (begin, parts): (u32, impl Iterator<Item = &'a Skip>),
    from: u32,
    to: u32,
    mut worth: impl FnMut(&[Impact]) -> f64,
) -> f64 {
    let mut begin = begin;
    let mut most = 0.0;
    for part in parts {
        if begin >= to {
            break;
        }
        if part.end > from {
            most = f64::max(most, worth(&part.impacts));
        }
        begin = part.end;
    }
    most
}
