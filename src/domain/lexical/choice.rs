//! How a filtered search goes: the best first and see which pass, or those that pass first and score them.

/// Never more candidates than this are checked at once; there may be several turns.
const CANDIDATES_MOST: f64 = 50_000.0;
/// How many more candidates than expected to be needed are looked at: they may be unevenly spread.
const MARGIN: f64 = 1.5;
/// What checking a candidate costs, next to scoring a row that passes.
const CHECK_COST: f64 = 0.7;

/// The way to the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// So many of the best, of which those are kept that pass.
    BestFirst(usize),
    /// Those that pass.
    FilterFirst,
}

/// What is known of a search before it begins.
#[derive(Debug, Clone, Copy)]
pub struct Outlook {
    /// How many rows are wanted.
    pub limit: f64,
    /// How many memories the space has.
    pub memories: f64,
    /// How many of them are expected to pass.
    pub passing: f64,
    /// How many hold a term, at most.
    pub matching: f64,
}

impl Outlook {
    /// The way that is expected to cost less.
    #[must_use]
    pub fn choose(&self) -> Way {
        let share = (self.passing / self.memories.max(1.0)).clamp(1e-9, 1.0);
        let needed = (self.limit / share * MARGIN + 10.0).min(self.matching);
        self.weigh(needed)
    }

    /// The next turn, after `looked` candidates of which `passed` passed were not enough.
    #[must_use]
    pub fn again(&self, looked: usize, passed: usize) -> Way {
        let share = (passed as f64 / looked.max(1) as f64).max(0.5 / looked.max(1) as f64);
        let needed = (self.limit / share * MARGIN).max(looked as f64 * 4.0).min(self.matching);
        self.weigh(needed)
    }

    fn weigh(&self, needed: f64) -> Way {
        let few = self.passing.min(self.matching).max(self.limit);
        if needed > CANDIDATES_MOST || needed * CHECK_COST > few {
            return Way::FilterFirst;
        }
        Way::BestFirst(needed.ceil().max(1.0) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlook(passing: f64, matching: f64) -> Outlook {
        Outlook { limit: 10.0, memories: 100_000.0, passing, matching }
    }

    #[test]
    fn a_wide_filter_is_checked_and_a_narrow_one_goes_first() {
        assert_eq!(outlook(10_000.0, 33_000.0).choose(), Way::BestFirst(160));
        assert_eq!(outlook(100.0, 33_000.0).choose(), Way::FilterFirst);
    }

    #[test]
    fn of_a_seldom_term_all_matches_are_checked() {
        assert_eq!(outlook(1000.0, 40.0).choose(), Way::BestFirst(40));
    }

    #[test]
    fn an_estimate_that_was_wrong_is_given_up() {
        assert_eq!(outlook(10_000.0, 33_000.0).again(160, 3), Way::BestFirst(800));
        assert_eq!(outlook(10_000.0, 33_000.0).again(800, 0), Way::FilterFirst);
    }
}
