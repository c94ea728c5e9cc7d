//! Searches the lexical index: what of it lives under the caller's snapshot, and the best of that.

use super::kept::Kept;
use super::pages::{Pages, Reader, locate};
use super::{Segment, segments};
use crate::domain::lexical::Damaged;
use crate::domain::lexical::dictionary::{Cursor, Record, lookup};
use crate::domain::lexical::page::{Kind, WINDOW};
use crate::domain::lexical::scoring::Norms;
use crate::domain::lexical::topk::{self, Best, Candidate, Source, Term, count_in};
use crate::domain::search::bm25::{Corpus, Scored, best};
use crate::domain::search::lexeme::TAG_BYTES;
use crate::error::Result;
use crate::statement;
use crate::store::keyed::{Key, Keyed, Kind as Column, need};
use crate::store::owner;
use crate::store::reading::{Reading, require};
use crate::store::seen::Shelf;
use crate::store::session::Session;
use crate::store::spi::arg;
use crate::store::tsvector::TsVector;
use std::cell::RefCell;
use std::rc::Rc;

/// Longest tail that is looked at memory by memory, whatever is asked for.
const TAIL_SHORT: u64 = 500;
/// Longest tail that is looked at at all.
const TAIL_MOST: u64 = 50_000;
/// A longer tail is worth its while as long as it is not more than this share of the matches: beyond that, the other
/// index is quicker, which has everything.
const TAIL_SHARE: f64 = 0.25;

statement!(
    /// The memories of the tail with what full text search finds them by now; those that are gone have nothing.
    TAIL,
    ["select w.memory_id, w.fresh, l.lexemes, l.length
      from (
        select t.memory_id, bool_and(t.fresh) as fresh
        from me.lexical_tail as t where t.space = $1 group by t.memory_id
      ) as w
      left join lateral (
        select l.lexemes, l.length, l.piece from me.memory_lexeme as l
        where l.space = $1 and l.memory_id = w.memory_id order by l.piece limit 32767
      ) as l on true
      order by w.memory_id, l.piece"],
    [TEXTOID],
    planned_once
);

static TAIL_BY_KEY: Keyed = Keyed {
    table: c"lexical_tail",
    index: c"lexical_tail_pkey",
    keys: &[0],
    columns: &[(c"space", Column::Text), (c"memory_id", Column::Uuid), (c"fresh", Column::Bool)],
};
static LEXEMES_BY_KEY: Keyed = Keyed {
    table: c"memory_lexeme",
    index: c"memory_lexeme_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Column::Text),
        (c"memory_id", Column::Uuid),
        (c"length", Column::Int8),
        (c"lexemes", Column::Tsvector),
    ],
};

/// A memory of the tail.
struct Waiting {
    id: [u8; 16],
    length: u32,
    /// Occurrences of each term, in halves.
    halves: Vec<u32>,
}

/// A segment with what it knows of the terms of a query.
struct Part<'a> {
    segment: Segment,
    reader: Reader<'a>,
    /// Terms by their place in the query.
    records: Vec<(usize, Record)>,
}

/// The index as one query sees it.
pub struct Index<'a> {
    pages: Rc<Pages<'a>>,
    parts: Vec<Part<'a>>,
    tail: Vec<Waiting>,
    /// Number of memories and words of the space, exact.
    pub corpus: Corpus,
    /// In how many memories each term stands, exact.
    pub documents: Vec<u64>,
}

/// What there is of a space before any term is looked up.
struct Directory {
    segments: Vec<Segment>,
    /// The memories of the tail, and whether each is fresh, up to the longest tail that is looked at.
    waiting: Vec<([u8; 16], bool)>,
    /// How many entries these have.
    entries: u64,
    /// Pages of the segments.
    pages: Rc<Kept>,
}

thread_local! {
    static DIRECTORIES: RefCell<Shelf<Directory>> = const { RefCell::new(Shelf::new()) };
}

impl Directory {
    /// Reads it by key; none where a table cannot be read so.
    fn read(session: &Session, reading: Reading) -> Result<Option<Self>> {
        let tables = reading.open(&super::BY_SPACE).zip(reading.open(&TAIL_BY_KEY));
        let Some((directory, tail)) = tables else { return Ok(None) };
        let mut read = Self {
            segments: super::segments_by_key(session, &directory)?,
            waiting: Vec::new(),
            entries: 0,
            pages: Rc::default(),
        };
        if read.segments.is_empty() {
            return Ok(Some(read));
        }
        let readable = tail.rows(&[Key::Text(session.space())], |found| {
            read.entries += 1;
            let (id, fresh) = (need(found.uuid(1))?, need(found.bool(2))?);
            match read.waiting.last_mut() {
                Some((last, all_fresh)) if *last == id => *all_fresh &= fresh,
                _ => read.waiting.push((id, fresh)),
            }
            Ok(read.entries <= TAIL_MOST)
        })?;
        require(readable)?;
        Ok(Some(read))
    }
}

/// The index of the session's space for these terms; none where there is none yet, or where too much waits for it.
pub fn open<'a>(session: &'a Session<'a>, terms: &[String]) -> Result<Option<Index<'a>>> {
    let by_key = match session.db().reading() {
        None => None,
        Some(reading) => reading
            .kept(&DIRECTORIES, session.space(), || Directory::read(session, reading))?
            .and_then(|directory| {
                let pages = Pages::by_key(session, reading, directory.pages.clone())?;
                Some((directory, pages, reading))
            }),
    };
    let Some((directory, pages, reading)) = by_key else {
        return owner::by_index(|| by_statement(session, terms));
    };
    if directory.segments.is_empty() || directory.entries > TAIL_MOST {
        return Ok(None);
    }
    let mut index = Index::new(pages, terms);
    let records = index.look_up(&directory.segments, terms)?;
    if directory.entries > longest_tail(&records) {
        return Ok(None);
    }
    let mut changed: Vec<[u8; 16]> = Vec::new();
    if !directory.waiting.is_empty() {
        let Some(lexemes) = reading.open(&LEXEMES_BY_KEY) else {
            return owner::by_index(|| by_statement(session, terms));
        };
        for (id, _) in &directory.waiting {
            let readable = lexemes.rows(&[Key::Text(session.space()), Key::Uuid(id)], |found| {
                index.take(*id, found.tsvector(3), found.int8(2), terms);
                Ok(true)
            })?;
            require(readable)?;
        }
        changed.extend(directory.waiting.iter().filter(|(_, fresh)| !fresh).map(|(id, _)| *id));
    }
    index.complete(directory.segments.clone(), &changed, records)?;
    Ok(Some(index))
}

/// Longest tail that these matches are worth.
fn longest_tail(records: &[(i64, usize, Record)]) -> u64 {
    let matches: u64 = records.iter().map(|(_, _, record)| u64::from(record.documents)).sum();
    ((matches as f64 * TAIL_SHARE) as u64).clamp(TAIL_SHORT, TAIL_MOST)
}

/// As [`open`], where the tables are not read by key.
fn by_statement<'a>(session: &'a Session<'a>, terms: &[String]) -> Result<Option<Index<'a>>> {
    let (segments, waiting) = segments(session, TAIL_MOST as i64 + 1)?;
    if segments.is_empty() || waiting > TAIL_MOST {
        return Ok(None);
    }
    let mut index = Index::new(Pages::by_statement(session), terms);
    let records = index.look_up(&segments, terms)?;
    if waiting > longest_tail(&records) {
        return Ok(None);
    }
    let changed = if waiting > 0 { index.take_tail(session, terms)? } else { Vec::new() };
    index.complete(segments, &changed, records)?;
    Ok(Some(index))
}

/// The length of some memories of a segment together, in halves; their numbers rise.
pub fn length_of(pages: &Rc<Pages>, segment: i64, ordinals: &[u32]) -> Result<i64> {
    let mut reader = Reader::new(pages, segment);
    let mut sum = 0;
    for window in ordinals.chunk_by(|a, b| *a as usize / WINDOW == *b as usize / WINDOW) {
        let Some(first) = window.first() else { continue };
        let lengths = reader.lengths(first / WINDOW as u32)?;
        for ordinal in window {
            sum += i64::from(lengths.get(*ordinal as usize % WINDOW)?);
        }
    }
    Ok(sum)
}

impl<'a> Index<'a> {
    fn new(pages: Pages<'a>, terms: &[String]) -> Self {
        Self {
            pages: Rc::new(pages),
            parts: Vec::new(),
            tail: Vec::new(),
            corpus: Corpus { count: 0.0, length: 0.0 },
            documents: vec![0; terms.len()],
        }
    }

    /// Finds the terms in the dictionaries: number of the segment, place of the term, and its record.
    fn look_up(&self, segments: &[Segment], terms: &[String]) -> Result<Vec<(i64, usize, Record)>> {
        let keys: Vec<&[u8]> = terms.iter().map(|term| own(term)).collect();
        let numbers: Vec<i64> = segments.iter().map(|segment| segment.number).collect();
        let mut records = Vec::new();
        self.pages.find(Kind::Dictionary, &keys, &numbers, |hit, page| {
            let record = lookup(page, keys.get(hit.place).ok_or(Damaged)?)?;
            records.extend(record.map(|record| (hit.segment, hit.place, record)));
            Ok(())
        })?;
        records.sort_unstable_by_key(|(segment, place, _)| (*segment, *place));
        Ok(records)
    }

    /// Takes the segments, without the memories that changed since they were indexed.
    fn complete(
        &mut self,
        mut segments: Vec<Segment>,
        changed: &[[u8; 16]],
        records: Vec<(i64, usize, Record)>,
    ) -> Result<()> {
        if !changed.is_empty() {
            self.bury(&mut segments, changed)?;
        }
        self.count(&segments);
        self.take_records(segments, records)
    }

    /// Adds the memories that changed since they were indexed to the dead.
    fn bury(&self, segments: &mut [Segment], changed: &[[u8; 16]]) -> Result<()> {
        let mut found = locate(&self.pages, segments, changed)?;
        found.retain(|(place, ordinal)| segments[*place].dead.binary_search(ordinal).is_err());
        found.sort_unstable();
        for group in found.chunk_by(|a, b| a.0 == b.0) {
            let Some(segment) = group.first().and_then(|(place, _)| segments.get_mut(*place)) else {
                continue;
            };
            let ordinals: Vec<u32> = group.iter().map(|(_, ordinal)| *ordinal).collect();
            segment.dead_length += length_of(&self.pages, segment.number, &ordinals)?;
            segment.dead.extend(ordinals);
            segment.dead.sort_unstable();
        }
        Ok(())
    }

    /// Reads the tail; the ids of those that some segment may hold as they were.
    fn take_tail(&mut self, session: &Session, terms: &[String]) -> Result<Vec<[u8; 16]>> {
        let mut changed: Vec<[u8; 16]> = Vec::new();
        for row in session.db().run(&TAIL, &[arg(session.space())])? {
            let id = *row.need::<pgrx::Uuid>(1)?.as_bytes();
            if !row.need::<bool>(2)? && changed.last() != Some(&id) {
                changed.push(id);
            }
            self.take(id, row.get(3), row.get(4), terms);
        }
        Ok(changed)
    }

    /// Takes a piece of a memory of the tail, if it has one.
    fn take(&mut self, id: [u8; 16], lexemes: Option<TsVector>, length: Option<i64>, terms: &[String]) {
        let (Some(lexemes), Some(length)) = (lexemes, length) else { return };
        let lexemes = lexemes.open();
        let halves = terms.iter().map(|term| lexemes.halves(term.as_bytes()));
        match self.tail.last_mut() {
            // A memory in several pieces.
            Some(last) if last.id == id => {
                last.halves.iter_mut().zip(halves).for_each(|(sum, more)| *sum = sum.saturating_add(more));
            }
            _ => self.tail.push(Waiting {
                id,
                length: u32::try_from(length).unwrap_or(u32::MAX),
                halves: halves.collect(),
            }),
        }
    }

    fn count(&mut self, segments: &[Segment]) {
        let (mut memories, mut halves) = (self.tail.len() as u64, 0i64);
        for segment in segments {
            memories += segment.living();
            halves += segment.length - segment.dead_length;
        }
        halves += self.tail.iter().map(|waiting| i64::from(waiting.length)).sum::<i64>();
        self.corpus = Corpus { count: memories as f64, length: halves as f64 / 2.0 };
        for waiting in &self.tail {
            for (documents, halves) in self.documents.iter_mut().zip(&waiting.halves) {
                *documents += u64::from(*halves > 0);
            }
        }
    }

    /// Gives each segment what it has of the terms, and counts the living memories that hold them.
    fn take_records(&mut self, segments: Vec<Segment>, records: Vec<(i64, usize, Record)>) -> Result<()> {
        self.parts = segments
            .into_iter()
            .map(|segment| Part {
                reader: Reader::new(&self.pages, segment.number),
                segment,
                records: Vec::new(),
            })
            .collect();
        for (segment, place, record) in records {
            let part = self.parts.iter_mut().find(|part| part.segment.number == segment).ok_or(Damaged)?;
            let mut living = u64::from(record.documents);
            if !part.segment.dead.is_empty() {
                let mut cursor = Cursor::new(record.list.clone());
                let dead = count_in(&mut part.reader, &mut cursor, &part.segment.dead)?;
                living = living.saturating_sub(dead);
            }
            if let Some(documents) = self.documents.get_mut(place) {
                *documents += living;
            }
            part.records.push((place, record));
        }
        Ok(())
    }

    /// Whether its tables are read by key.
    #[must_use]
    pub fn is_by_key(&self) -> bool {
        self.pages.are_open()
    }

    /// How many memories hold a term, at most.
    #[must_use]
    pub fn matching(&self) -> u64 {
        self.documents.iter().sum()
    }

    /// The `limit` best memories, and how many were scored. `in_query` says how often each term stands in the query.
    pub fn best(&mut self, in_query: &[u32], limit: usize) -> Result<(Vec<Scored>, u64)> {
        match self.pages.are_open() {
            true => self.find(in_query, limit),
            false => owner::by_index(|| self.find(in_query, limit)),
        }
    }

    /// The `limit` best among given memories, whose ids rise, and how many of them hold a term.
    pub fn among(&mut self, in_query: &[u32], ids: &[[u8; 16]], limit: usize) -> Result<(Vec<Scored>, u64)> {
        let (norms, weights) = self.weights(in_query);
        let waiting = self.tail.iter().filter(|waiting| ids.binary_search(&waiting.id).is_ok());
        let mut rows: Vec<Scored> = waiting.filter_map(|waiting| score(waiting, &weights, &norms)).collect();
        let mut scored = rows.len() as u64;
        for part in self.parts.iter_mut().filter(|part| !part.records.is_empty()) {
            let mut ordinals = part.reader.ordinals(&part.segment, ids)?;
            if !part.segment.dead.is_empty() {
                ordinals.retain(|ordinal| part.segment.dead.binary_search(ordinal).is_err());
            }
            let mut found = Best::new(limit, 0.0);
            let mut terms = part.terms(&weights);
            scored += topk::score(&mut part.reader, &mut terms, &norms, &ordinals, &mut found)?;
            rows.extend(part.named(&found.into_sorted())?);
        }
        Ok((best(rows, limit), scored))
    }

    fn weights(&self, in_query: &[u32]) -> (Norms, Vec<f64>) {
        let idf = |documents: &u64| self.corpus.idf(*documents as f64);
        let weights =
            in_query.iter().zip(&self.documents).map(|(count, documents)| idf(documents) * f64::from(*count));
        (Norms::of(&self.corpus), weights.collect())
    }

    fn find(&mut self, in_query: &[u32], limit: usize) -> Result<(Vec<Scored>, u64)> {
        let (norms, weights) = self.weights(in_query);
        let mut rows: Vec<Scored> =
            self.tail.iter().filter_map(|waiting| score(waiting, &weights, &norms)).collect();
        let mut scored = rows.len() as u64;
        rows = best(rows, limit);
        let mut scores: Vec<f64> = rows.iter().map(|row| row.score).collect();
        // The largest first: what it holds keeps most of the others from being looked at.
        let mut order: Vec<&mut Part> =
            self.parts.iter_mut().filter(|part| !part.records.is_empty()).collect();
        order.sort_by_key(|part| std::cmp::Reverse(part.segment.memories));
        let mut found = Vec::with_capacity(order.len());
        for part in &mut order {
            let mut terms = part.terms(&weights);
            let dead = &part.segment.dead;
            let mut best = Best::new(limit, lowest(&scores, limit));
            scored += topk::search(
                &mut part.reader,
                &mut terms,
                &norms,
                part.segment.memories,
                |ordinal| dead.binary_search(&ordinal).is_ok(),
                &mut best,
            )?;
            let best = best.into_sorted();
            scores.extend(best.iter().map(|candidate| candidate.score));
            scores.sort_unstable_by(|a, b| b.total_cmp(a));
            scores.truncate(limit);
            found.push(best);
        }
        // Only what is among the best of all is asked for its id.
        let lowest = lowest(&scores, limit);
        for (part, mut best) in order.into_iter().zip(found) {
            best.retain(|candidate| candidate.score >= lowest);
            rows.extend(part.named(&best)?);
        }
        Ok((best(rows, limit), scored))
    }
}

/// The worst score that still counts, of scores that fall.
fn lowest(scores: &[f64], limit: usize) -> f64 {
    limit.checked_sub(1).and_then(|last| scores.get(last)).copied().unwrap_or(0.0)
}

impl Part<'_> {
    fn terms(&self, weights: &[f64]) -> Vec<Term> {
        let term = |(place, record): &(usize, Record)| Term {
            weight: weights[*place],
            cursor: Cursor::new(record.list.clone()),
        };
        self.records.iter().map(term).collect()
    }

    /// Candidates by their ids.
    fn named<'b>(&self, found: &'b [Candidate]) -> Result<impl Iterator<Item = Scored> + use<'b>> {
        let ordinals: Vec<u32> = found.iter().map(|candidate| candidate.ordinal).collect();
        let ids = self.reader.ids(&ordinals)?;
        Ok(ids.into_iter().zip(found).map(|(id, candidate)| Scored { id, score: candidate.score }))
    }
}

/// A term without the tag of its space.
fn own(term: &str) -> &[u8] {
    term.as_bytes().get(TAG_BYTES..).unwrap_or_default()
}

fn score(waiting: &Waiting, weights: &[f64], norms: &Norms) -> Option<Scored> {
    let norm = norms.norm(waiting.length);
    let parts = waiting.halves.iter().zip(weights).filter(|(halves, _)| **halves > 0);
    let score: f64 = parts.map(|(halves, weight)| Norms::part(*weight, *halves, norm)).sum();
    (score > 0.0).then_some(Scored { id: waiting.id, score })
}
