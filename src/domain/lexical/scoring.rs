//! The part of one term in a score (SRCH-16), and the most it can be.

use crate::domain::search::bm25::{B, Corpus, K1};

/// How often a lexeme stands in a memory and how long that is, both in halves of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Impact {
    /// Occurrences, in halves.
    pub halves: u32,
    /// Length, in halves.
    pub length: u32,
}

/// How many impacts a block keeps.
pub const IMPACTS: usize = 5;

/// Impacts that bound all those given, whatever the average length is: every one has at most as many occurrences and
/// at least the length of one of the result. At most [`IMPACTS`], fewest occurrences last.
#[must_use]
pub fn frontier(mut all: Vec<Impact>) -> Vec<Impact> {
    all.sort_unstable_by(|a, b| b.halves.cmp(&a.halves).then(a.length.cmp(&b.length)));
    let mut best: Vec<Impact> = Vec::new();
    for impact in all {
        if best.last().is_none_or(|last| impact.length < last.length) {
            best.push(impact);
        }
    }
    while best.len() > IMPACTS {
        // The two that are nearest become one that bounds both.
        let gap = |pair: &[Impact]| f64::from(pair[0].halves) / f64::from(pair[1].halves.max(1));
        let nearest = best.windows(2).enumerate().min_by(|a, b| gap(a.1).total_cmp(&gap(b.1)));
        let Some((at, _)) = nearest else { break };
        let halves = best[at].halves;
        best.remove(at);
        best[at].halves = halves;
    }
    best
}

/// What a part of a score needs to know of the space.
#[derive(Debug, Clone, Copy)]
pub struct Norms {
    fixed: f64,
    per_half: f64,
}

impl Norms {
    /// Those of a space.
    #[must_use]
    pub fn of(corpus: &Corpus) -> Self {
        Self { fixed: K1 * (1.0 - B), per_half: K1 * B / corpus.average() / 2.0 }
    }

    /// How much a memory of this length holds its terms back.
    #[must_use]
    pub fn norm(&self, length: u32) -> f64 {
        self.fixed + self.per_half * f64::from(length)
    }

    /// The part of a term in a score; the norm is that of the memory's length.
    #[must_use]
    pub fn part(weight: f64, halves: u32, norm: f64) -> f64 {
        let frequency = f64::from(halves) / 2.0;
        weight * frequency * (K1 + 1.0) / (frequency + norm)
    }

    /// The most that a term can be worth where these impacts bound the rows.
    #[must_use]
    pub fn bound(&self, weight: f64, impacts: &[Impact]) -> f64 {
        impacts
            .iter()
            .map(|impact| Self::part(weight, impact.halves, self.norm(impact.length)))
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_part_is_what_the_formula_says() {
        let corpus = Corpus { count: 10.0, length: 350.0 };
        let norms = Norms::of(&corpus);
        let part = Norms::part(1.7, 6, norms.norm(40));
        assert!((part - corpus.part(1.7, 3.0, 20.0)).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn impacts_bound_every_row_at_every_average(
            rows in prop::collection::vec((1u32..40, 0u32..300), 1..200), average in 1u32..500, weight in 0.01f64..10.0,
        ) {
            let all: Vec<Impact> = rows.iter().map(|(halves, extra)| Impact { halves: *halves, length: halves + extra }).collect();
            let kept = frontier(all.clone());
            prop_assert!(kept.len() <= IMPACTS && !kept.is_empty());
            let norms = Norms::of(&Corpus { count: 2.0, length: f64::from(average) });
            let bound = norms.bound(weight, &kept);
            for impact in all {
                prop_assert!(Norms::part(weight, impact.halves, norms.norm(impact.length)) <= bound);
            }
        }
    }
}
