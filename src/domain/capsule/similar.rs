//! Near duplicates: how much of two texts is the same words (CAP-ING-21).

use super::text::{is_significant, plain_tokens, token_set};
use std::collections::BTreeSet;

/// Least share of common tokens that counts as similar.
pub const THRESHOLD: f64 = 0.5;
/// What is shown for anything above: 1 would mean the same bytes.
const SHOWN_AT_MOST: f64 = 0.99;
/// Least distinct significant tokens on both sides.
const SIGNIFICANT_TOKENS: usize = 4;
/// How many distinct significant tokens of a text candidates are looked for with.
const PROBE_TOKENS: usize = 12;
/// Most candidates that are compared.
pub const CANDIDATES: usize = 128;
/// Most siblings shown.
pub const SIBLINGS: usize = 3;

/// A text as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    tokens: BTreeSet<String>,
    eligible: bool,
}

impl Words {
    /// The words of a text.
    pub fn of(text: &str) -> Self {
        let tokens = token_set(text);
        let eligible = tokens.iter().filter(|token| is_significant(token)).count() >= SIGNIFICANT_TOKENS;
        Self { tokens, eligible }
    }

    /// The distinct tokens.
    pub fn tokens(&self) -> &BTreeSet<String> {
        &self.tokens
    }

    /// The share of common tokens, if both sides say enough and it reaches the threshold.
    pub fn similarity(&self, other: &Self) -> Option<f64> {
        if !(self.eligible && other.eligible) {
            return None;
        }
        let common = self.tokens.intersection(&other.tokens).count();
        let score = common as f64 / self.tokens.len().max(other.tokens.len()) as f64;
        (score >= THRESHOLD).then_some(score)
    }
}

/// The first distinct significant tokens of a text: what candidates are looked for with.
pub fn probe(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    plain_tokens(text)
        .into_iter()
        .filter(|token| is_significant(token) && seen.insert(token.clone()))
        .take(PROBE_TOKENS)
        .collect()
}

/// A score as it is shown.
pub fn shown(score: f64) -> f64 {
    ((score * 100.0).round() / 100.0).min(SHOWN_AT_MOST)
}

/// Something similar to a new text.
#[derive(Debug, Clone, PartialEq)]
pub struct Similar {
    /// The capsule.
    pub seq: i64,
    /// How similar.
    pub score: f64,
    /// Whether it may be shown as a sibling: same project, active, not falsified.
    pub sibling: bool,
}

/// The best one of all, and the best siblings: by score, then by number.
pub fn hint_and_siblings(mut found: Vec<Similar>) -> (Option<Similar>, Vec<Similar>) {
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.seq.cmp(&b.seq)));
    let siblings = found.iter().filter(|similar| similar.sibling).take(SIBLINGS).cloned().collect();
    (found.into_iter().next(), siblings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_side_counts() {
        let phase = Words::of("phase A covers the northern ferry landing repairs this autumn");
        let loud = Words::of("PHASE A COVERS THE NORTHERN FERRY LANDING REPAIRS THIS AUTUMN!!");
        assert_eq!(phase.similarity(&loud), Some(1.0));
        assert_eq!(shown(1.0), 0.99);
        let short = Words::of("northern ferry landing repairs");
        assert_eq!(phase.similarity(&short), None);
    }

    #[test]
    fn both_sides_need_four_significant_words() {
        let few = Words::of("an ox on the run at dawn");
        assert_eq!(few.similarity(&few), None);
    }

    #[test]
    fn the_hint_is_the_best_and_siblings_are_three() {
        let of = |seq, score, sibling| Similar { seq, score, sibling };
        let (hint, siblings) = hint_and_siblings(vec![
            of(5, 0.7, true),
            of(2, 0.9, false),
            of(4, 0.7, true),
            of(3, 0.6, true),
            of(6, 0.5, true),
        ]);
        assert_eq!(hint.map(|similar| similar.seq), Some(2));
        assert_eq!(siblings.iter().map(|similar| similar.seq).collect::<Vec<_>>(), [4, 5, 3]);
    }
}
