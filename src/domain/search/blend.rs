//! Fusion by score: a convex combination of the two arms, each normalised, and what neighbours in a thread lend.
//!
//! With f the BM25 score and s the cosine similarity of a row, max over the rows at hand, and floor the lowest similarity
//! among the candidates of the arm by meaning,
//!
//! ```text
//! words     = f / max f
//! meaning   = max(0, s − floor) / (max s − floor)
//! own       = (wf·F·words + ws·S·meaning) / (wf·F + ws·S)
//! score     = own + LENT · max(own of its neighbours)
//! ```
//!
//! A row that an arm did not find by itself is asked for its score there. The constants were chosen on one half of the
//! queries of three collections; docs/search-quality.md has what they give on the other half.

use super::Weights;
use super::bm25::{Scored, best};

/// What BM25 counts (F).
pub const FULLTEXT: f64 = 0.6;
/// What similarity counts (S).
pub const SEMANTIC: f64 = 0.4;
/// How much of its own score a row lends to its neighbours (LENT).
pub const LENT: f64 = 0.5;

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
/// lent are left out. `floor`: the lowest similarity among the candidates of the arm by meaning.
#[must_use]
pub fn blend(rows: &[Evidence], floor: f64, weights: Weights, limit: usize) -> Vec<Scored> {
    let words = Range::of(0.0, rows.iter().filter_map(|row| row.fulltext));
    let meaning = Range::of(floor, rows.iter().filter_map(|row| row.semantic));
    let (f, s) = (
        if words.is_some() { weights.fulltext * FULLTEXT } else { 0.0 },
        if meaning.is_some() { weights.semantic * SEMANTIC } else { 0.0 },
    );
    let own: Vec<f64> = rows
        .iter()
        .map(|row| {
            let words = row.fulltext.zip(words.as_ref()).map_or(0.0, |(score, range)| range.share(score));
            let meaning = row.semantic.zip(meaning.as_ref()).map_or(0.0, |(score, range)| range.share(score));
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

/// What a score is measured against.
struct Range {
    floor: f64,
    most: f64,
}

impl Range {
    fn of(floor: f64, scores: impl Iterator<Item = f64>) -> Option<Self> {
        scores
            .fold(None, |most: Option<f64>, score| Some(most.map_or(score, |most| most.max(score))))
            .map(|most| Self { floor, most })
    }

    /// From 0 at the floor to 1 at the best; where all are equal, each is the best.
    fn share(&self, score: f64) -> f64 {
        let width = self.most - self.floor;
        if width > 0.0 { ((score - self.floor) / width).max(0.0) } else { 1.0 }
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
        let blended = blend(&rows, 0.1, Weights::default(), 10);
        assert_eq!(ids(&blended), [1, 2, 3]);
        assert!((blended[0].score - 1.0).abs() < 1e-12);
        assert!((blended[1].score - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_neighbour_lends_a_part_of_its_score() {
        let rows = [row(1, Some(4.0), None, &[1]), row(2, None, None, &[0]), row(3, Some(0.1), None, &[])];
        let blended = blend(&rows, 0.1, Weights::default(), 10);
        assert_eq!(ids(&blended), [1, 2, 3]);
        assert!((blended[1].score - LENT).abs() < 1e-12);
    }

    #[test]
    fn a_row_that_nothing_speaks_for_is_left_out() {
        let rows = [row(1, Some(1.0), None, &[]), row(2, None, None, &[])];
        assert_eq!(ids(&blend(&rows, 0.1, Weights::default(), 10)), [1]);
    }

    #[test]
    fn a_weight_of_zero_leaves_the_other_arm_alone() {
        let rows = [row(1, Some(1.0), Some(0.9), &[]), row(2, Some(2.0), Some(0.1), &[])];
        let words = Weights { semantic: 0.0, fulltext: 1.0 };
        assert_eq!(ids(&blend(&rows, 0.1, words, 10)), [2, 1]);
        let meaning = Weights { semantic: 1.0, fulltext: 0.0 };
        assert_eq!(ids(&blend(&rows, 0.1, meaning, 10)), [1, 2]);
        let none = Weights { semantic: 0.0, fulltext: 0.0 };
        assert_eq!(ids(&blend(&rows, 0.1, none, 10)), [1, 2], "ties are settled by id");
    }

    proptest! {
        #[test]
        fn scores_stay_within_their_range(
            rows in prop::collection::vec((prop::option::of(0.01f64..50.0), prop::option::of(-1.0f64..1.0), 0usize..12), 0..12),
        ) {
            let rows: Vec<Evidence> = rows.iter().zip(0u8..)
                .map(|((f, s, at), n)| row(n, *f, *s, &[*at])).collect();
            for scored in blend(&rows, 0.1, Weights::default(), 10) {
                prop_assert!((0.0..=1.0 + LENT + 1e-9).contains(&scored.score));
            }
        }
    }
}
