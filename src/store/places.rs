//! Where rows were seen to lie, remembered by the session: a look there is shorter than one through an index.
//!
//! These are guesses. A row is what it is taken for only if it is there, under the snapshot of the call, and has the key that was
//! asked for: a key has one row that a snapshot sees. Otherwise the index is asked. So nothing has to be forgotten when rows
//! move, or when a table is written anew.

use super::keyed::{Found, Key};
use super::reading::Table;
use crate::domain::lexical::place::{Guesses, Place, Trust};
use crate::error::Result;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};

thread_local! {
    static PAGES: RefCell<Guesses> = const { RefCell::new(Guesses::new()) };
    static MEMORIES: RefCell<Guesses> = const { RefCell::new(Guesses::new()) };
    static TRUST: RefCell<Trust> = const { RefCell::new(Trust::new()) };
}

/// The key of a page of the lexical index, as a number.
pub fn page_key(space: &str, segment: i64, kind: i16, number: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (space, segment, kind, number).hash(&mut hasher);
    hasher.finish()
}

/// Where a page of the lexical index may be.
pub fn page(key: u64) -> Option<Place> {
    PAGES.with_borrow(|pages| pages.get(key))
}

/// Remembers where one is.
pub fn note_page(key: u64, place: Place) {
    PAGES.with_borrow_mut(|pages| pages.put(key, place));
}

/// The number of a memory: the end of its id is drawn at random.
fn memory_key(id: &[u8; 16]) -> u64 {
    id.last_chunk::<8>().map_or(0, |end| u64::from_be_bytes(*end))
}

/// Remembers where the row of a memory is.
pub fn note_memory(id: &[u8; 16], place: Place) {
    MEMORIES.with_borrow_mut(|memories| memories.put(memory_key(id), place));
}

/// Takes over where the row of a memory was when it was indexed, unless something is known of it.
pub fn hint_memory(id: &[u8; 16], place: Place) {
    if place != Place::NOWHERE {
        MEMORIES.with_borrow_mut(|memories| {
            let key = memory_key(id);
            if memories.get(key).is_none() {
                memories.put(key, place);
            }
        });
    }
}

/// Rows that are asked for before they are needed.
const AHEAD: usize = 32;

/// Shows the rows of some memories, in their order and with their numbers, from a table that is open by space and id, its first
/// two columns; those that are gone are left out. `show` says whether to go on. False when the table cannot be read so.
pub fn memories(
    table: &Table,
    space: &str,
    ids: &[[u8; 16]],
    mut show: impl FnMut(usize, &Found) -> Result<bool>,
) -> Result<bool> {
    let (mut at, mut go_on) = (0, true);
    while go_on && at < ids.len() {
        let guesses = guessed(&ids[at..ids.len().min(at + AHEAD)]);
        let shown = table.at(&guesses, |place, found| {
            let is_it = found.uuid(1).as_ref() == ids.get(at + place) && found.text(0) == Some(space);
            if is_it && go_on {
                go_on = show(at + place, found)?;
            }
            Ok(is_it && go_on)
        })?;
        if !go_on {
            break;
        }
        TRUST.with_borrow_mut(|trust| {
            (0..shown).for_each(|_| trust.was(true));
            if shown < guesses.len() {
                trust.was(false);
            }
        });
        at += shown;
        if shown == guesses.len() && shown > 0 {
            continue;
        }
        let Some(id) = ids.get(at) else { break };
        let readable = table.rows(&[Key::Text(space), Key::Uuid(id)], |found| {
            note_memory(id, found.place());
            go_on = show(at, found)?;
            Ok(false)
        })?;
        if !readable {
            return Ok(false);
        }
        at += 1;
    }
    Ok(true)
}

/// Where the first of some memories may be, up to one of which nothing is known; nothing when guesses are not worth a look.
fn guessed(ids: &[[u8; 16]]) -> Vec<Place> {
    if !TRUST.with_borrow_mut(Trust::is_worth_a_look) {
        return Vec::new();
    }
    MEMORIES.with_borrow(|memories| ids.iter().map_while(|id| memories.get(memory_key(id))).collect())
}
