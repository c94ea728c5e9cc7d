//! Where a row lies in its table: a guess, which whoever looks there checks by the row's key.

/// A block of the table's file, and a line of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The block.
    pub block: u32,
    /// The line, from 1; at line 0 there is never a row.
    pub line: u16,
}

/// Bytes of a place in a page.
pub const PLACE: usize = 6;

impl Place {
    /// Where no row is.
    pub const NOWHERE: Self = Self { block: 0, line: 0 };

    /// As it stands in a page.
    #[must_use]
    pub fn to_bytes(self) -> [u8; PLACE] {
        let ([a, b, c, d], [e, f]) = (self.block.to_le_bytes(), self.line.to_le_bytes());
        [a, b, c, d, e, f]
    }

    /// What [`Place::to_bytes`] wrote.
    #[must_use]
    pub fn from_bytes([a, b, c, d, e, f]: [u8; PLACE]) -> Self {
        Self { block: u32::from_le_bytes([a, b, c, d]), line: u16::from_le_bytes([e, f]) }
    }
}

/// Guesses that a session remembers: where each of many rows lay, by a number made of its key. A later one takes the room of an
/// earlier one, and two keys may have the same number.
#[derive(Debug, Default)]
pub struct Guesses {
    slots: Vec<(u64, Place)>,
}

/// Guesses that are remembered, a power of two: a quarter of a megabyte.
const SLOTS: usize = 1 << 14;

impl Guesses {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// The guess for a key, if one is remembered.
    #[must_use]
    pub fn get(&self, key: u64) -> Option<Place> {
        self.slots.get(slot(key)).filter(|(known, _)| *known == key).map(|(_, place)| *place)
    }

    /// Remembers one.
    pub fn put(&mut self, key: u64, place: Place) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, (0, Place::NOWHERE));
        }
        if let Some(at) = self.slots.get_mut(slot(key)) {
            *at = (key, place);
        }
    }
}

fn slot(key: u64) -> usize {
    key as usize % SLOTS
}

/// How good guesses were: those of a database that was restored are mostly wrong.
#[derive(Debug, Default)]
pub struct Trust {
    right: u32,
    wrong: u32,
    passed_over: u32,
}

/// So many wrong guesses are forgiven.
const FORGIVEN: u32 = 16;
/// After how many guesses the earlier ones count half.
const REMEMBERED: u32 = 1024;
/// Of guesses that are not trusted, one in so many is tried.
const TRIED: u32 = 32;

impl Trust {
    /// Before the first.
    #[must_use]
    pub const fn new() -> Self {
        Self { right: 0, wrong: 0, passed_over: 0 }
    }

    /// Whether the next is worth a look.
    pub fn is_worth_a_look(&mut self) -> bool {
        if self.wrong <= FORGIVEN + self.right {
            return true;
        }
        self.passed_over = (self.passed_over + 1) % TRIED;
        self.passed_over == 0
    }

    /// How the last was.
    pub fn was(&mut self, right: bool) {
        if right {
            self.right += 1;
            self.wrong -= self.wrong / 8;
        } else {
            self.wrong += 1;
        }
        if self.right + self.wrong > REMEMBERED {
            (self.right, self.wrong) = (self.right / 2, self.wrong / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wrong_guesses_are_soon_not_followed_and_right_ones_again() {
        let mut trust = Trust::new();
        let mut looks = |right: bool, times: u32| {
            (0..times)
                .filter(|_| {
                    let next = trust.is_worth_a_look();
                    if next {
                        trust.was(right);
                    }
                    next
                })
                .count()
        };
        assert_eq!(looks(true, 500), 500);
        assert!(looks(false, 10_000) < 1000);
        looks(true, 5000);
        assert_eq!(looks(true, 500), 500);
    }

    #[test]
    fn a_guess_is_remembered_until_another_needs_its_room() {
        let mut guesses = Guesses::new();
        let (here, there) = (Place { block: 7, line: 1 }, Place { block: 9, line: 2 });
        assert_eq!(guesses.get(0), None);
        guesses.put(5, here);
        assert_eq!((guesses.get(5), guesses.get(6)), (Some(here), None));
        guesses.put(5 + SLOTS as u64, there);
        assert_eq!((guesses.get(5), guesses.get(5 + SLOTS as u64)), (None, Some(there)));
    }

    proptest! {
        #[test]
        fn places_come_back(block in any::<u32>(), line in any::<u16>()) {
            let place = Place { block, line };
            prop_assert_eq!(Place::from_bytes(place.to_bytes()), place);
        }
    }
}
