//! Pages that most searches read, kept as long as what is known of their space: guides, and lengths.

use crate::domain::lexical::page::{Kind, Lengths};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// The guides of one kind of a segment, in order.
pub type Guides = Rc<[Vec<u8>]>;

/// Most pages of lengths that are kept: those of a million memories.
const LENGTHS_MOST: usize = 512;

/// Pages of the segments of a space. The first call that sees the space as it is reads what it needs; what the next ones need is
/// kept.
#[derive(Debug, Default)]
pub struct Kept {
    calls: Cell<u32>,
    guides: RefCell<HashMap<(i64, Kind), Guides>>,
    lengths: RefCell<HashMap<(i64, u32), Lengths>>,
}

impl Kept {
    /// Notes that a call begins.
    pub fn begin(&self) {
        self.calls.set(self.calls.get().saturating_add(1));
    }

    /// Whether it is worth while to keep more than what is asked for: the space has been as it is for a call already.
    pub fn is_settled(&self) -> bool {
        self.calls.get() > 1
    }

    /// Guides that were kept.
    pub fn guides(&self, segment: i64, kind: Kind) -> Option<Guides> {
        self.guides.borrow().get(&(segment, kind)).cloned()
    }

    /// Keeps guides.
    pub fn keep_guides(&self, segment: i64, kind: Kind, guides: Guides) {
        self.guides.borrow_mut().insert((segment, kind), guides);
    }

    /// Lengths that were kept.
    pub fn lengths(&self, segment: i64, window: u32) -> Option<Lengths> {
        self.lengths.borrow().get(&(segment, window)).cloned()
    }

    /// Keeps lengths.
    pub fn keep_lengths(&self, segment: i64, window: u32, lengths: &Lengths) {
        let mut kept = self.lengths.borrow_mut();
        if kept.len() < LENGTHS_MOST {
            kept.insert((segment, window), lengths.clone());
        }
    }
}
