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

/// Shows the row of a memory, if there is one, from a table that is open by space and id, its first two columns. False when the
/// table cannot be read so.
pub fn memory(
    table: &Table,
    space: &str,
    id: &[u8; 16],
    mut show: impl FnMut(&Found) -> Result<()>,
) -> Result<bool> {
    let guess = MEMORIES.with_borrow(|memories| memories.get(memory_key(id)));
    if let Some(place) = guess.filter(|_| TRUST.with_borrow_mut(Trust::is_worth_a_look)) {
        let shown = table.at(place, |found| {
            let is_it = found.uuid(1).as_ref() == Some(id) && found.text(0) == Some(space);
            if is_it {
                show(found)?;
            }
            Ok(is_it)
        })?;
        let right = shown == Some(true);
        TRUST.with_borrow_mut(|trust| trust.was(right));
        if right {
            return Ok(true);
        }
    }
    table.rows(&[Key::Text(space), Key::Uuid(id)], |found| {
        note_memory(id, found.place());
        show(found)?;
        Ok(false)
    })
}
