//! Fusion by score: a convex combination of the two arms, each normalised, and what neighbours in a thread lend.
//!
//! With f the BM25 score and s the cosine similarity of a row, and max and min over the rows at hand,
//!
//! ```text
//! own       = (wf·F·f/max f + ws·S·(s − min s)/(max s − min s)) / (wf·F + ws·S)
//! score     = own + LENT · max(own of its neighbours)
//! ```
//!
//! A row that an arm did not find by itself is asked for its score there; one without a vector has s = min s.

use super::Weights;
use super::bm25::{Scored, best};

/// What BM25 counts (F).
pub const FULLTEXT: f64 = 0.5;
/// What similarity counts (S).
pub const SEMANTIC: f64 = 0.5;
/// How much of its own score a row lends to its neighbours (LENT).
pub const LENT: f64 = 0.25;

/// What is known of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The memory.
    pub id: [u8; 16],
    /// Its BM25 score; none when it holds no term.
    pub fulltext: Option<f64>,
    /// Its similarity; none when it has no vector.
    pub semantic: Option<f64>,
    /// Its neighbours in a thread, by their place among the rows.
    pub neighbours: Vec<usize>,
}

/// The best `limit` rows with their scores, from 0 to 1 + [`LENT`], in order. Rows without any score of their own or
/// lent are left out.
#[must_use]
pub fn blend(rows: &[Evidence], weights: Weights, limit: usize) -> Vec<Scored> {
    let words = Range::of(rows.iter().filter_map(|row| row.fulltext));
    let meaning = Range::of(rows.iter().filter_map(|row| row.semantic));
    let (f, s) = (
        if words.is_some() { weights.fulltext * FULLTEXT } else { 0.0 },
        if meaning.is_some() { weights.semantic * SEMANTIC } else { 0.0 },
    );
    let own: Vec<f64> = rows
        .iter()
        .map(|row| {
            let words =
                row.fulltext.zip(words.as_ref()).map_or(0.0, |(score, range)| range.above_zero(score));
            let meaning =
                row.semantic.zip(meaning.as_ref()).map_or(0.0, |(score, range)| range.above_least(score));
            if f + s > 0.0 { (f * words + s * meaning) / (f + s) } else { 0.0 }
        })
        .collect();
    let scored = rows
        .iter()
        .zip(&own)
        .filter_map(|(row, score)| {
            let lent =
                row.neighbours.iter().filter_map(|at| own.get(*at)).fold(0.0f64, |most, own| most.max(*own));
            let found = row.fulltext.is_some() || row.semantic.is_some() || lent > 0.0;
            found.then_some(Scored { id: row.id, score: score + LENT * lent })
        })
        .collect();
    best(scored, limit)
}

struct Range {
    least: f64,
    most: f64,
}

impl Range {
    fn of(scores: impl Iterator<Item = f64>) -> Option<Self> {
        scores.fold(None, |range: Option<Self>, score| {
            let range = range.unwrap_or(Self { least: score, most: score });
            Some(Self { least: range.least.min(score), most: range.most.max(score) })
        })
    }

    fn above_zero(&self, score: f64) -> f64 {
        if self.most > 0.0 { score / self.most } else { 0.0 }
    }

    fn above_least(&self, score: f64) -> f64 {
        let width = self.most - self.least;
        if width > 0.0 { (score - self.least) / width } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(n: u8, fulltext: Option<f64>, semantic: Option<f64>, neighbours: &[usize]) -> Evidence {
        Evidence { id: [n; 16], fulltext, semantic, neighbours: neighbours.to_vec() }
    }

    fn ids(rows: &[Scored]) -> Vec<u8> {
        rows.iter().map(|row| row.id[0]).collect()
    }

    #[test]
    fn the_best_in_both_arms_scores_one() {
        let rows = [
            row(1, Some(4.0), Some(0.9), &[]),
            row(2, Some(2.0), Some(0.5), &[]),
            row(3, None, Some(0.1), &[]),
        ];
        let blended = blend(&rows, Weights::default(), 10);
        assert_eq!(ids(&blended), [1, 2, 3]);
        assert!((blended[0].score - 1.0).abs() < 1e-12);
        assert!((blended[1].score - (FULLTEXT * 0.5 + SEMANTIC * 0.5) / (FULLTEXT + SEMANTIC)).abs() < 1e-12);
    }

    #[test]
    fn a_neighbour_lends_a_part_of_its_score() {
        let rows = [row(1, Some(4.0), None, &[1]), row(2, None, None, &[0]), row(3, Some(0.1), None, &[])];
        let blended = blend(&rows, Weights::default(), 10);
        assert_eq!(ids(&blended), [1, 2, 3]);
        assert!((blended[1].score - LENT).abs() < 1e-12);
    }

    #[test]
    fn a_row_that_nothing_speaks_for_is_left_out() {
        let rows = [row(1, Some(1.0), None, &[]), row(2, None, None, &[])];
        assert_eq!(ids(&blend(&rows, Weights::default(), 10)), [1]);
    }

    #[test]
    fn a_weight_of_zero_leaves_the_other_arm_alone() {
        let rows = [row(1, Some(1.0), Some(0.9), &[]), row(2, Some(2.0), Some(0.1), &[])];
        let words = Weights { semantic: 0.0, fulltext: 1.0 };
        assert_eq!(ids(&blend(&rows, words, 10)), [2, 1]);
        let meaning = Weights { semantic: 1.0, fulltext: 0.0 };
        assert_eq!(ids(&blend(&rows, meaning, 10)), [1, 2]);
        let none = Weights { semantic: 0.0, fulltext: 0.0 };
        assert_eq!(ids(&blend(&rows, none, 10)), [1, 2], "ties are settled by id");
    }

    proptest! {
        #[test]
        fn scores_stay_within_their_range(
            rows in prop::collection::vec((prop::option::of(0.01f64..50.0), prop::option::of(-1.0f64..1.0), 0usize..12), 0..12),
        ) {
            let rows: Vec<Evidence> = rows.iter().zip(0u8..)
                .map(|((f, s, at), n)| row(n, *f, *s, &[*at])).collect();
            for scored in blend(&rows, Weights::default(), 10) {
                prop_assert!((0.0..=1.0 + LENT + 1e-9).contains(&scored.score));
            }
        }
    }
}
