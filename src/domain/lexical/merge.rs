//! Makes one segment of several, without what is dead.

use super::dictionary::{Lists, Record, Records, Writer};
use super::page::{Sink, write_documents};
use super::place::Place;
use super::{Damaged, Posting};
use std::collections::VecDeque;

/// Most memories of a segment that is made of others: merging takes time in proportion, in one transaction.
pub const SEGMENT_MEMORIES: u64 = 250_000;

/// Which segments to merge now, by how many memories live and are dead in each; none when all is well.
///
/// In the end each segment holds more than all smaller ones together, so that there are few, and no memory is written
/// more often than the logarithm of their number.
#[must_use]
pub fn due(segments: &[(u64, u64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..segments.len()).collect();
    order.sort_unstable_by_key(|at| segments[*at]);
    let (mut sum, mut wanted) = (0, 0);
    for (place, at) in order.iter().enumerate() {
        let (live, _) = segments[*at];
        if place > 0 && live <= sum && sum + live <= SEGMENT_MEMORIES {
            wanted = place + 1;
        }
        sum += live;
    }
    order.truncate(wanted);
    if order.is_empty() {
        // What is dead costs room, and each search a look.
        order.extend(segments.iter().position(|(live, dead)| *dead * 5 > live + dead));
    }
    order
}

/// Where the pages of a segment come from.
pub trait Stored: Lists {
    /// A dictionary page; none behind the last.
    ///
    /// # Errors
    /// It could not be read.
    fn dictionary(&mut self, number: u32) -> Result<Option<Vec<u8>>, Self::Error>;
}

/// The memories of a segment: ids in order, where their rows were, their lengths, and the numbers of those that are dead,
/// in order.
#[derive(Debug, Default)]
pub struct Members {
    /// The ids.
    pub ids: Vec<[u8; 16]>,
    /// Where their rows were.
    pub places: Vec<Place>,
    /// Their lengths, in halves.
    pub lengths: Vec<u32>,
    /// The numbers of the dead.
    pub dead: Vec<u32>,
}

/// The memories of a segment to be, and which they were.
#[derive(Debug, Default)]
pub struct Joined {
    /// The ids, in order.
    pub ids: Vec<[u8; 16]>,
    /// Where their rows were.
    pub places: Vec<Place>,
    /// Their lengths, in halves.
    pub lengths: Vec<u32>,
    /// For each segment: the new number of each of its memories that lives on.
    maps: Vec<Vec<Option<u32>>>,
}

impl Joined {
    /// The living memories of some segments.
    #[must_use]
    pub fn of(parts: &[Members]) -> Self {
        let mut all: Vec<([u8; 16], usize, usize)> = Vec::new();
        for (part, members) in parts.iter().enumerate() {
            let mut dead = members.dead.iter().copied().peekable();
            for (at, id) in members.ids.iter().enumerate() {
                if dead.next_if(|number| *number as usize == at).is_none() {
                    all.push((*id, part, at));
                }
            }
        }
        all.sort_unstable();
        let maps = parts.iter().map(|members| vec![None; members.ids.len()]).collect();
        let mut joined = Self { maps, ..Self::default() };
        for (id, part, at) in all {
            if joined.ids.last() == Some(&id) {
                continue;
            }
            joined.maps[part][at] = Some(joined.ids.len() as u32);
            joined.ids.push(id);
            joined.places.push(parts[part].places.get(at).copied().unwrap_or(Place::NOWHERE));
            joined.lengths.push(parts[part].lengths.get(at).copied().unwrap_or_default());
        }
        joined
    }
}

/// The lexemes of one segment, in order.
struct Lexemes<'a, S> {
    stored: &'a mut S,
    next_page: u32,
    waiting: VecDeque<(Vec<u8>, Record)>,
}

impl<S: Stored> Lexemes<'_, S> {
    fn fill(&mut self) -> Result<(), S::Error> {
        while self.waiting.is_empty() {
            let Some(page) = self.stored.dictionary(self.next_page)? else { return Ok(()) };
            self.next_page += 1;
            let mut records = Records::of(&page);
            while let Some(record) = records.next_record()? {
                self.waiting.push_back((records.lexeme().to_vec(), record.read()?));
            }
        }
        Ok(())
    }
}

/// Writes the segment that the parts become.
///
/// # Errors
/// A page is damaged, could not be read, or could not be stored.
pub fn merge<S: Stored, K: Sink<Error = S::Error>>(
    parts: &mut [S],
    joined: &Joined,
    sink: &mut K,
) -> Result<(), S::Error> {
    if parts.len() != joined.maps.len() {
        return Err(Damaged.into());
    }
    write_documents(sink, &joined.ids, &joined.places, &joined.lengths)?;
    let mut writer = Writer::new(sink, &joined.lengths);
    let mut all: Vec<Lexemes<S>> =
        parts.iter_mut().map(|stored| Lexemes { stored, next_page: 0, waiting: VecDeque::new() }).collect();
    let mut postings: Vec<Posting> = Vec::new();
    loop {
        for lexemes in &mut all {
            lexemes.fill()?;
        }
        let heads = all.iter().filter_map(|lexemes| lexemes.waiting.front().map(|(lexeme, _)| lexeme));
        let Some(lexeme) = heads.min().cloned() else { break };
        postings.clear();
        for (lexemes, map) in all.iter_mut().zip(&joined.maps) {
            let Some((_, record)) = lexemes.waiting.pop_front_if(|(head, _)| *head == lexeme) else {
                continue;
            };
            for posting in record.list.all(lexemes.stored)? {
                if let Some(ordinal) = map.get(posting.ordinal as usize).copied().ok_or(Damaged)? {
                    postings.push(Posting { ordinal, ..posting });
                }
            }
        }
        if !postings.is_sorted_by(|a, b| a.ordinal < b.ordinal) {
            postings.sort_unstable();
        }
        writer.add(&lexeme, &postings)?;
    }
    writer.finish()
}
