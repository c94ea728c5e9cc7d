//! Numbers that look like chance and are the same each time.

/// A linear congruential generator: its seed decides all that it answers.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below this one, which is not 0.
    pub fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// A place in something of this length, which is not 0.
    pub fn place(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.place(of.len())]
    }
}
