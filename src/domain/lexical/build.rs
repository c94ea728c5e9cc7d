//! Makes a segment of memories.

use super::Posting;
use super::dictionary::Writer;
use super::page::{Sink, write_documents};
use super::place::Place;
use std::collections::HashMap;

/// The memories of a segment to be, gathered in order of their ids.
#[derive(Debug, Default)]
pub struct Builder {
    ids: Vec<[u8; 16]>,
    rows: Vec<Place>,
    lengths: Vec<u32>,
    places: HashMap<Box<[u8]>, usize>,
    lists: Vec<Vec<Posting>>,
    postings: usize,
}

impl Builder {
    /// Begins a memory, whose id is above those before, and whose row is at that place; its length is in halves of a word.
    pub fn memory(&mut self, id: [u8; 16], place: Place, length: u32) {
        self.ids.push(id);
        self.rows.push(place);
        self.lengths.push(length);
    }

    /// Adds occurrences of a lexeme, in halves, to the memory that was begun last.
    pub fn lexeme(&mut self, lexeme: &[u8], halves: u32) {
        let Some(ordinal) = self.ids.len().checked_sub(1).map(|last| last as u32) else { return };
        if halves == 0 {
            return;
        }
        let place = match self.places.get(lexeme) {
            Some(place) => *place,
            None => {
                self.places.insert(lexeme.into(), self.lists.len());
                self.lists.push(Vec::new());
                self.lists.len() - 1
            }
        };
        let list = &mut self.lists[place];
        match list.last_mut() {
            // A memory in several pieces may have a lexeme in each.
            Some(last) if last.ordinal == ordinal => last.halves = last.halves.saturating_add(halves),
            _ => {
                list.push(Posting { ordinal, halves });
                self.postings += 1;
            }
        }
    }

    /// How many postings there are.
    #[must_use]
    pub fn postings(&self) -> usize {
        self.postings
    }

    /// The ids, in order.
    #[must_use]
    pub fn ids(&self) -> &[[u8; 16]] {
        &self.ids
    }

    /// The lengths.
    #[must_use]
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Writes the pages.
    ///
    /// # Errors
    /// A page could not be stored.
    pub fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        write_documents(sink, &self.ids, &self.rows, &self.lengths)?;
        let mut lexemes: Vec<(&[u8], usize)> =
            self.places.iter().map(|(lexeme, place)| (&lexeme[..], *place)).collect();
        lexemes.sort_unstable();
        let mut writer = Writer::new(sink, &self.lengths);
        for (lexeme, place) in lexemes {
            writer.add(lexeme, &self.lists[place])?;
        }
        writer.finish()
    }
}
