//! Reciprocal rank fusion of two arms (SRCH-19).

use super::bm25::{Scored, best};
use std::collections::HashMap;

/// Added to every rank.
const K: f64 = 60.0;

/// Fuses two arms, each in its own order, by rank; the best `limit` rows with their fused scores, in order. Raw
/// scores do not count: the two are not on one scale. A weight of 0 leaves an arm's rows in the result.
#[must_use]
pub fn fuse(fulltext: &[Scored], semantic: &[Scored], weights: super::Weights, limit: usize) -> Vec<Scored> {
    let mut fused: HashMap<[u8; 16], f64> = HashMap::with_capacity(fulltext.len() + semantic.len());
    for (arm, weight) in [(fulltext, weights.fulltext), (semantic, weights.semantic)] {
        for (index, row) in arm.iter().enumerate() {
            *fused.entry(row.id).or_default() += weight / (K + index as f64 + 1.0);
        }
    }
    best(fused.into_iter().map(|(id, score)| Scored { id, score }).collect(), limit)
}

#[cfg(test)]
mod tests {
    use super::super::Weights;
    use super::*;

    fn arm(ids: &[u8]) -> Vec<Scored> {
        ids.iter().map(|n| Scored { id: [*n; 16], score: f64::from(*n) }).collect()
    }

    fn ids(rows: &[Scored]) -> Vec<u8> {
        rows.iter().map(|row| row.id[0]).collect()
    }

    #[test]
    fn first_in_both_arms_scores_two_sixty_firsts() {
        let fused = fuse(&arm(&[1, 2]), &arm(&[1, 3]), Weights::default(), 10);
        assert_eq!(ids(&fused), [1, 2, 3]);
        assert!((fused[0].score - 2.0 / 61.0).abs() < 1e-12);
        assert_eq!(fused[1].score, fused[2].score, "ties are settled by id");
    }

    #[test]
    fn a_weight_of_zero_keeps_the_rows_of_its_arm() {
        let fused = fuse(&arm(&[1]), &arm(&[2]), Weights { semantic: 0.0, fulltext: 1.0 }, 10);
        assert_eq!(ids(&fused), [1, 2]);
        assert_eq!(fused[1].score, 0.0);
    }

    #[test]
    fn the_limit_cuts_after_fusing() {
        assert_eq!(ids(&fuse(&arm(&[4, 1]), &arm(&[2, 1]), Weights::default(), 1)), [1]);
    }
}
