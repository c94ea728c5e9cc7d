//! Text scores, decay and budgets (CAP-RET-14…17, CAP-RET-20).

use super::record::rounded;
use super::stamp::Stamp;
use serde_json::Value;

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What stands in for an inverse document frequency that is not positive.
const IDF_FLOOR: f64 = 1e-6;
/// Days in which a weight halves.
const HALF_LIFE_DAYS: f64 = 90.0;
/// Characters that count as one token of a budget.
const CHARS_PER_TOKEN: usize = 4;
/// What a rank is added to before it is inverted.
const FUSION_K: f64 = 60.0;

/// The size of the whole store, for scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corpus {
    /// Capsules ever captured: a forgotten one is an empty document.
    pub documents: i64,
    /// Tokens of all that are left.
    pub tokens: i64,
}

impl Corpus {
    fn average_length(self) -> f64 {
        if self.documents > 0 { self.tokens as f64 / self.documents as f64 } else { 0.0 }
    }

    /// How rare a token is that occurs in `found` documents.
    pub fn idf(self, found: i64) -> f64 {
        let (documents, found) = (self.documents as f64, found as f64);
        let idf = ((documents - found + 0.5) / (found + 0.5)).ln();
        if idf > 0.0 { idf } else { IDF_FLOOR }
    }

    /// How much of a document so long counts against its words.
    pub fn norm(self, length: i64) -> f64 {
        let average = self.average_length();
        let relative = if average > 0.0 { length as f64 / average } else { 0.0 };
        K1 * (1.0 - B + B * relative)
    }

    /// What a token that occurs `count` times adds to the score of a document, of which [`norm`](Self::norm) is known.
    /// Negative: stronger is more so.
    pub fn weight(self, idf: f64, count: i64, norm: f64) -> f64 {
        let count = count as f64;
        -idf * count * (K1 + 1.0) / (count + norm)
    }
}

/// Confidence, halved every 90 days from when the capsule holds (CAP-RET-15). A pinned one does not decay.
pub fn decayed(confidence: f64, valid_from: &Stamp, now: &Stamp, pinned: bool) -> f64 {
    if pinned {
        return confidence;
    }
    let days = (now.seconds_since(valid_from) / 86_400.0).max(0.0);
    confidence * (-days / HALF_LIFE_DAYS).exp2()
}

/// The same, of instants in microseconds: one that begins after now takes nothing.
pub fn decayed_micros(confidence: f64, from: i64, now: i64) -> f64 {
    let days = ((now as f64 - from as f64) / 86_400e6).max(0.0);
    confidence * (-days / HALF_LIFE_DAYS).exp2()
}

/// A score with three significant digits.
pub fn three_digits(score: f64) -> f64 {
    if score == 0.0 || !score.is_finite() {
        return 0.0;
    }
    format!("{score:.2e}").parse().unwrap_or(score)
}

/// A score against the strongest one, 0 to 1, two decimals.
pub fn relevance(score: f64, strongest: f64) -> Value {
    let share = if strongest == 0.0 { 1.0 } else { score / strongest };
    rounded(share.clamp(0.0, 1.0), 2)
}

/// What a rank in one lane adds to the fused score.
pub fn fused(rank: usize) -> f64 {
    1.0 / (FUSION_K + rank as f64)
}

/// The tokens a row costs.
pub fn cost(row: &Value) -> u64 {
    cost_of_chars(row.to_string().chars().count())
}

/// The tokens so many characters cost.
pub fn cost_of_chars(chars: usize) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN) as u64
}

/// How many of the rows fit: in order, the first one always unless the budget is zero (CAP-RET-17).
pub fn fitting(costs: impl IntoIterator<Item = u64>, budget: u64) -> usize {
    let mut used: u64 = 0;
    let mut kept = 0;
    for cost in costs {
        used = used.saturating_add(cost);
        if budget == 0 || (kept > 0 && used > budget) {
            break;
        }
        kept += 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_specification() {
        // Six capsules with 36 tokens; "kelp" in two of them, "bloom" in one.
        let corpus = Corpus { documents: 6, tokens: 36 };
        let first =
            corpus.weight(corpus.idf(2), 2, corpus.norm(5)) + corpus.weight(corpus.idf(1), 1, corpus.norm(5));
        assert_eq!(three_digits(first), -2.24);
        let second = corpus.weight(corpus.idf(2), 1, corpus.norm(10));
        assert_eq!(three_digits(second), -0.462);
        assert_eq!(relevance(second, first).to_string(), "0.21");
        assert_eq!(corpus.idf(6), IDF_FLOOR);
    }

    #[test]
    fn weights_halve_in_ninety_days_and_never_grow() {
        let now = Stamp::parse("2026-04-01T00:00:00Z").unwrap();
        let half = decayed(0.8, &now.plus_seconds(-90 * 86_400), &now, false);
        assert!((half - 0.4).abs() < 1e-9);
        assert_eq!(decayed(0.8, &now.plus_seconds(86_400), &now, false), 0.8);
        assert_eq!(decayed(0.5, &now.plus_seconds(-900 * 86_400), &now, true), 0.5);
    }

    #[test]
    fn both_clocks_decay_alike() {
        let now = Stamp::parse("2026-04-01T00:00:00Z").unwrap();
        let from = now.plus_seconds(-12_345_678);
        let exact = decayed(0.7, &from, &now, false);
        assert!((decayed_micros(0.7, from.pg_micros(), now.pg_micros()) - exact).abs() < 1e-9);
        assert_eq!(decayed_micros(0.7, i64::MAX, now.pg_micros()), 0.7);
    }

    #[test]
    fn the_first_row_always_fits_and_nothing_fits_behind_one_that_does_not() {
        assert_eq!(fitting([50, 1], 10), 1);
        assert_eq!(fitting([5, 6, 1], 10), 1);
        assert_eq!(fitting([5, 5, 1], 10), 2);
        assert_eq!(fitting([5], 0), 0);
    }
}
