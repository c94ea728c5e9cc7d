//! Searches the lexical index: what of it lives under the caller's snapshot, and the best of that.

use super::pages::{self, Reader};
use super::{Segment, segments};
use crate::domain::lexical::Damaged;
use crate::domain::lexical::dictionary::{Cursor, Record, lookup};
use crate::domain::lexical::page::{Kind, WINDOW};
use crate::domain::lexical::scoring::Norms;
use crate::domain::lexical::topk::{Best, Source, Term, count_in, search};
use crate::domain::search::bm25::{Corpus, Scored, best};
use crate::domain::search::lexeme::TAG_BYTES;
use crate::error::Result;
use crate::statement;
use crate::store::owner;
use crate::store::session::Session;
use crate::store::spi::{Row, arg};
use crate::store::tsvector::TsVector;

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
    parts: Vec<Part<'a>>,
    tail: Vec<Waiting>,
    /// Number of memories and words of the space, exact.
    pub corpus: Corpus,
    /// In how many memories each term stands, exact.
    pub documents: Vec<u64>,
}

/// The index of the session's space for these terms; none where there is none yet, or where too much waits for it.
pub fn open<'a>(session: &'a Session<'a>, terms: &[String]) -> Result<Option<Index<'a>>> {
    owner::by_index(|| {
        let (mut segments, waiting) = segments(session, TAIL_MOST as i64 + 1)?;
        if segments.is_empty() || waiting > TAIL_MOST {
            return Ok(None);
        }
        let mut index = Index {
            parts: Vec::new(),
            tail: Vec::new(),
            corpus: Corpus { count: 0.0, length: 0.0 },
            documents: vec![0; terms.len()],
        };
        let records = look_up(session, &segments, terms)?;
        if waiting > 0 {
            let matches: u64 = records.iter().map(|(_, _, record)| u64::from(record.documents)).sum();
            if waiting > TAIL_SHORT && waiting as f64 > matches as f64 * TAIL_SHARE {
                return Ok(None);
            }
            let changed = index.take_tail(session, terms)?;
            bury(session, &mut segments, &changed)?;
        }
        index.count(&segments);
        index.take_records(session, segments, records)?;
        Ok(Some(index))
    })
}

/// Finds the terms in the dictionaries: number of the segment, place of the term, and its record.
fn look_up(session: &Session, segments: &[Segment], terms: &[String]) -> Result<Vec<(i64, usize, Record)>> {
    let keys: Vec<Option<Vec<u8>>> = terms.iter().map(|term| Some(own(term).to_vec())).collect();
    let numbers = segments.iter().map(|segment| segment.number).collect();
    let mut records = Vec::new();
    for hit in pages::find(session, Kind::Dictionary, keys, numbers)? {
        let term = terms.get(hit.place).ok_or(Damaged)?;
        records.extend(lookup(&hit.body, own(term))?.map(|record| (hit.segment, hit.place, record)));
    }
    records.sort_unstable_by_key(|(segment, place, _)| (*segment, *place));
    Ok(records)
}

/// Adds the memories that changed since they were indexed to the dead.
fn bury(session: &Session, segments: &mut [Segment], changed: &[[u8; 16]]) -> Result<()> {
    let mut found = pages::locate(session, segments, changed)?;
    found.retain(|(place, ordinal)| segments[*place].dead.binary_search(ordinal).is_err());
    found.sort_unstable();
    for group in found.chunk_by(|a, b| a.0 == b.0) {
        let Some(segment) = group.first().and_then(|(place, _)| segments.get_mut(*place)) else { continue };
        let ordinals: Vec<u32> = group.iter().map(|(_, ordinal)| *ordinal).collect();
        segment.dead_length += length_of(session, segment.number, &ordinals)?;
        segment.dead.extend(ordinals);
        segment.dead.sort_unstable();
    }
    Ok(())
}

/// The length of some memories of a segment together, in halves; their numbers rise.
pub fn length_of(session: &Session, segment: i64, ordinals: &[u32]) -> Result<i64> {
    let mut reader = Reader::new(session, segment);
    let mut sum = 0;
    for window in ordinals.chunk_by(|a, b| *a as usize / WINDOW == *b as usize / WINDOW) {
        let Some(first) = window.first() else { continue };
        let lengths = reader.lengths(first / WINDOW as u32)?;
        for ordinal in window {
            sum += i64::from(*lengths.get(*ordinal as usize % WINDOW).ok_or(Damaged)?);
        }
    }
    Ok(sum)
}

impl<'a> Index<'a> {
    /// Reads the tail; the ids of those that some segment may hold as they were.
    fn take_tail(&mut self, session: &Session, terms: &[String]) -> Result<Vec<[u8; 16]>> {
        let mut changed: Vec<[u8; 16]> = Vec::new();
        for row in session.db().run(&TAIL, &[arg(session.space())])? {
            let id = *row.need::<pgrx::Uuid>(1)?.as_bytes();
            if !row.need::<bool>(2)? && changed.last() != Some(&id) {
                changed.push(id);
            }
            self.take(id, &row, terms);
        }
        Ok(changed)
    }

    fn take(&mut self, id: [u8; 16], row: &Row, terms: &[String]) {
        let (Some(lexemes), Some(length)) = (row.get::<TsVector>(3), row.get::<i64>(4)) else { return };
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
    fn take_records(
        &mut self,
        session: &'a Session<'a>,
        segments: Vec<Segment>,
        records: Vec<(i64, usize, Record)>,
    ) -> Result<()> {
        self.parts = segments
            .into_iter()
            .map(|segment| {
                let reader = Reader::new(session, segment.number);
                Part { segment, reader, records: Vec::new() }
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

    /// How many memories hold a term, at most.
    #[must_use]
    pub fn matching(&self) -> u64 {
        self.documents.iter().sum()
    }

    /// The `limit` best memories, and how many were scored. `in_query` says how often each term stands in the query.
    pub fn best(&mut self, in_query: &[u32], limit: usize) -> Result<(Vec<Scored>, u64)> {
        owner::by_index(|| self.find(in_query, limit))
    }

    fn find(&mut self, in_query: &[u32], limit: usize) -> Result<(Vec<Scored>, u64)> {
        let norms = Norms::of(&self.corpus);
        let weights: Vec<f64> = in_query
            .iter()
            .zip(&self.documents)
            .map(|(count, documents)| self.corpus.idf(*documents as f64) * f64::from(*count))
            .collect();
        let mut rows: Vec<Scored> =
            self.tail.iter().filter_map(|waiting| score(waiting, &weights, &norms)).collect();
        let mut scored = rows.len() as u64;
        rows = best(rows, limit);
        // The largest first: what it holds keeps most of the others from being looked at.
        let mut order: Vec<&mut Part> =
            self.parts.iter_mut().filter(|part| !part.records.is_empty()).collect();
        order.sort_by_key(|part| std::cmp::Reverse(part.segment.memories));
        for part in order {
            let floor = rows.get(limit.wrapping_sub(1)).map_or(0.0, |last| last.score);
            let mut terms: Vec<Term> = part
                .records
                .iter()
                .map(|(place, record)| Term {
                    weight: weights[*place],
                    cursor: Cursor::new(record.list.clone()),
                })
                .collect();
            let dead = &part.segment.dead;
            let mut found = Best::new(limit, floor);
            scored += search(
                &mut part.reader,
                &mut terms,
                &norms,
                part.segment.memories,
                |ordinal| dead.binary_search(&ordinal).is_ok(),
                &mut found,
            )?;
            let found = found.into_sorted();
            let ordinals: Vec<u32> = found.iter().map(|candidate| candidate.ordinal).collect();
            let ids = part.reader.ids(&ordinals)?;
            rows.extend(
                ids.into_iter().zip(found).map(|(id, candidate)| Scored { id, score: candidate.score }),
            );
            rows = best(rows, limit);
        }
        Ok((rows, scored))
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
