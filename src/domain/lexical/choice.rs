//! How a filtered search goes: the best first and see which pass, or those that pass first and score them.

/// Never more candidates than this are checked at once; there may be several turns.
const CANDIDATES_MOST: f64 = 50_000.0;
/// How many more candidates than expected to be needed are looked at: they may be unevenly spread.
const MARGIN: f64 = 1.5;
/// What checking a candidate costs, next to finding and scoring a row that passes.
const CHECK_COST: f64 = 0.7;
/// What a statement costs before it finds anything, in such rows: where candidates are checked without one.
const STATEMENT_COST: f64 = 200.0;
/// Of rows of which nothing is known, one in so many is taken to pass.
const FEW: f64 = 10.0;

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
    /// How many of them are expected to pass; not known where more are in scope than [`Outlook::worth`].
    pub passing: Option<f64>,
    /// How many hold a term, at most.
    pub matching: f64,
    /// Whether candidates are checked without a statement.
    pub by_key: bool,
}

impl Outlook {
    /// How many rows may be in scope for going through them by key to be the way; counting more is of no use. Candidates
    /// cost as much: of this many rows in scope, as many of the best have to be checked.
    #[must_use]
    pub fn worth(&self) -> usize {
        (self.limit * self.memories * MARGIN).sqrt().min(self.matching).ceil() as usize
    }

    /// The way that is expected to cost less.
    #[must_use]
    pub fn choose(&self) -> Way {
        let Some(passing) = self.passing else {
            let needed = self.limit * FEW * MARGIN + 10.0;
            return Way::BestFirst(needed.min(self.matching).ceil().max(1.0) as usize);
        };
        let share = (passing / self.memories.max(1.0)).clamp(1e-9, 1.0);
        let needed = (self.limit / share * MARGIN + 10.0).min(self.matching);
        self.weigh(needed, passing)
    }

    /// The next turn, after `looked` candidates of which `passed` passed were not enough. Where it is not known how many
    /// pass in all, `in_scope` counts, up to a number, those of which some may.
    ///
    /// # Errors
    /// Those of `in_scope`.
    pub fn again<E>(
        &self,
        looked: usize,
        passed: usize,
        in_scope: impl FnOnce(usize) -> Result<usize, E>,
    ) -> Result<Way, E> {
        let share = (passed as f64 / looked.max(1) as f64).max(0.5 / looked.max(1) as f64);
        let needed = (self.limit / share * MARGIN).max(looked as f64 * 4.0).min(self.matching);
        if let Some(passing) = self.passing {
            return Ok(self.weigh(needed, passing));
        }
        let most = needed.min(CANDIDATES_MOST).ceil() as usize;
        Ok(if in_scope(most)? < most { Way::FilterFirst } else { Way::BestFirst(most.max(1)) })
    }

    fn weigh(&self, needed: f64, passing: f64) -> Way {
        // A statement finds what passes through either index; without one all that passes is gone through.
        let few = match self.by_key {
            true => passing + STATEMENT_COST,
            false => passing.min(self.matching).max(self.limit),
        };
        if needed > CANDIDATES_MOST || needed * CHECK_COST > few {
            return Way::FilterFirst;
        }
        Way::BestFirst(needed.ceil().max(1.0) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlook(passing: impl Into<Option<f64>>, matching: f64) -> Outlook {
        Outlook { limit: 10.0, memories: 100_000.0, passing: passing.into(), matching, by_key: false }
    }

    fn again(outlook: Outlook, looked: usize, passed: usize, in_scope: usize) -> Way {
        outlook.again(looked, passed, |most| Ok::<_, ()>(in_scope.min(most))).unwrap()
    }

    #[test]
    fn a_wide_filter_is_checked_and_a_narrow_one_goes_first() {
        assert_eq!(outlook(10_000.0, 33_000.0).choose(), Way::BestFirst(160));
        assert_eq!(outlook(100.0, 33_000.0).choose(), Way::FilterFirst);
    }

    #[test]
    fn of_a_seldom_term_all_matches_are_checked() {
        assert_eq!(outlook(1000.0, 40.0).choose(), Way::BestFirst(40));
        assert_eq!(outlook(None, 40.0).choose(), Way::BestFirst(40));
    }

    #[test]
    fn more_is_checked_where_that_needs_no_statement() {
        let narrow = outlook(1000.0, 33_000.0);
        assert_eq!(Outlook { by_key: true, ..narrow }.choose(), Way::BestFirst(1510));
        assert_eq!(Outlook { limit: 20.0, ..narrow }.choose(), Way::FilterFirst);
        assert_eq!(Outlook { by_key: true, ..outlook(300.0, 33_000.0) }.choose(), Way::FilterFirst);
    }

    #[test]
    fn an_estimate_that_was_wrong_is_given_up() {
        assert_eq!(again(outlook(10_000.0, 33_000.0), 160, 3, 0), Way::BestFirst(800));
        assert_eq!(again(outlook(10_000.0, 33_000.0), 800, 0, 0), Way::FilterFirst);
    }

    #[test]
    fn scopes_that_are_larger_than_what_is_to_be_checked_are_not_gone_through() {
        assert_eq!(outlook(None, 33_000.0).worth(), 1225);
        assert_eq!(outlook(None, 40.0).worth(), 40);
        assert_eq!(outlook(None, 33_000.0).choose(), Way::BestFirst(160));
        assert_eq!(again(outlook(None, 33_000.0), 160, 3, 2000), Way::BestFirst(800));
        assert_eq!(again(outlook(None, 33_000.0), 160, 0, 2000), Way::FilterFirst);
        assert_eq!(again(outlook(None, 33_000.0), 160, 0, 50_000), Way::BestFirst(4800));
    }
}
