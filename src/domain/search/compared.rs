//! How many vectors are compared one by one, before an index is asked for the nearest.

/// Up to how many memories are compared one by one, however few there are in all.
pub const FEW: u32 = 3000;
/// And up to how many, however many there are.
const MOST: usize = 50_000;
/// What a row that the index hands out costs, in comparisons: measured at 100,000 and 1,000,000 memories, 384 numbers each.
const HANDED_OUT: f64 = 15.0;

/// Up to how many memories that pass a filter are compared one by one, of so many in all (a negative number: nobody knows).
///
/// To find `limit` of them, the index hands out about `limit * memories / passing` rows. What that costs, in comparisons, is as
/// much as comparing all that pass where their number is the root of `HANDED_OUT * limit * memories`.
pub fn most_compared(limit: usize, memories: f64) -> usize {
    let even = (HANDED_OUT * limit as f64 * memories.max(0.0)).sqrt();
    (even as usize).clamp(FEW as usize, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_are_compared_one_by_one_the_more_there_are() {
        assert_eq!(most_compared(10, -1.0), 3000);
        assert_eq!(most_compared(10, 100_000.0), 3872);
        assert_eq!(most_compared(10, 1_000_000.0), 12_247);
        assert_eq!(most_compared(1000, 1e9), 50_000);
    }
}
