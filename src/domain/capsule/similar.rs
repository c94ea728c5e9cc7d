//! Near duplicates: how much of two texts is the same words (CAP-ING-21).

use super::probe::Posting;
use super::text::{index_tokens, is_significant, plain_tokens, token_set};
use std::collections::{BTreeSet, HashMap};

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

/// How many capsules of a token are looked at: first few, and more while too few tokens are known whole. Beyond the last
/// the newest count.
pub const LOOKED_AT: [usize; 3] = [32, 256, 1024];
/// Most tokens of a text that are looked up: the longest, which are mostly the rarest.
const HUNTED: usize = 64;

/// The search for texts that share enough words with a new one.
///
/// A text that shares so many of the words must share one of any few of them. So it is enough to look up rare words,
/// as long as there are enough of them; and who shares too few of those cannot reach the threshold with the others.
#[derive(Debug, Clone)]
pub struct Hunt {
    tokens: Vec<String>,
    distinct: usize,
    needed: usize,
}

/// The capsules that are known to hold a token: all of them, or the newest.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The capsules.
    pub posting: Posting,
    /// Whether these are all.
    pub whole: bool,
}

impl Hunt {
    /// The hunt for texts like this one.
    pub fn of(words: &Words) -> Self {
        let tokens: BTreeSet<String> =
            words.tokens().iter().filter_map(|token| index_tokens(token).into_iter().next()).collect();
        let shared = (words.tokens().len() as f64 * THRESHOLD).ceil() as usize;
        // Words that recall takes for one may be several here.
        let needed = shared.saturating_sub(words.tokens().len() - tokens.len()).max(1);
        let distinct = tokens.len();
        let mut tokens: Vec<String> = tokens.into_iter().collect();
        tokens.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        tokens.truncate(HUNTED);
        Self { tokens, distinct, needed }
    }

    /// The tokens to look up that are not known whole.
    pub fn open(&self, known: &HashMap<String, Known>) -> Vec<String> {
        let is_open = |token: &&String| known.get(*token).is_none_or(|known| !known.whole);
        self.tokens.iter().filter(is_open).cloned().collect()
    }

    /// Whether so many are known whole that nothing similar is missed.
    pub fn is_over(&self, known: &HashMap<String, Known>) -> bool {
        let required = match self.distinct <= HUNTED {
            true => self.distinct + 1 - self.needed.min(self.distinct),
            false => HUNTED / 2 + 1,
        };
        self.tokens.len() - self.open(known).len() >= required
    }

    /// The capsules that may share enough, each with how many tokens it is known to share, those that share most first.
    pub fn quarry(&self, known: &HashMap<String, Known>) -> Vec<(i64, usize)> {
        // Of each, in how many lists it was seen, and in how many of those that are whole.
        let mut seen: HashMap<i64, (usize, usize)> = HashMap::new();
        for known in known.values() {
            for seq in &known.posting.seqs {
                let counts = seen.entry(*seq).or_default();
                *counts = (counts.0 + 1, counts.1 + usize::from(known.whole));
            }
        }
        let unknown = self.distinct - known.values().filter(|known| known.whole).count();
        let mut order: Vec<(i64, (usize, usize))> =
            seen.into_iter().filter(|(_, (_, shared))| shared + unknown >= self.needed).collect();
        order.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        order.into_iter().map(|(seq, (_, shared))| (seq, shared)).collect()
    }

    /// Leaves of a quarry what shares enough, when of every token that was not known whole it is known who holds it.
    pub fn close_in(&self, quarry: &mut Vec<(i64, usize)>, holders: &HashMap<i64, usize>) {
        let unknown = self.distinct - self.tokens.len();
        quarry.retain(|(seq, shared)| shared + holders.get(seq).unwrap_or(&0) + unknown >= self.needed);
    }
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
    use proptest::prelude::*;

    #[test]
    fn the_larger_side_counts() {
        let phase = Words::of("phase A covers the northern ferry landing repairs this autumn");
        let loud = Words::of("PHASE A COVERS THE NORTHERN FERRY LANDING REPAIRS THIS AUTUMN!!");
        assert_eq!(phase.similarity(&loud), Some(1.0));
        assert_eq!(shown(1.0), 0.99);
        let short = Words::of("northern ferry landing repairs");
        assert_eq!(phase.similarity(&short), None);
    }

    fn known(posting: &[i64], whole: bool) -> Known {
        Known { posting: Posting { seqs: posting.to_vec(), counts: vec![1; posting.len()] }, whole }
    }

    #[test]
    fn a_hunt_is_over_when_what_is_known_must_hold_one_of_every_similar_text() {
        let hunt = Hunt::of(&Words::of("one two three four five six"));
        assert_eq!((hunt.distinct, hunt.needed), (6, 3));
        let mut found: HashMap<String, Known> = HashMap::new();
        for token in ["three", "four", "five"] {
            found.insert(token.into(), known(&[7], true));
            assert!(!hunt.is_over(&found));
        }
        found.insert("six".into(), known(&[7, 8], true));
        assert!(hunt.is_over(&found));
        // Number 8 shares one of four, and two at most are unknown; number 9 shares too few in any case.
        assert_eq!(hunt.quarry(&found), [(7, 4), (8, 1)]);
        found.insert("one".into(), known(&[9], true));
        assert_eq!(hunt.quarry(&found), [(7, 4)]);
        found.insert("two".into(), known(&[9, 8], false));
        assert_eq!(hunt.open(&found), ["two"]);
        // What is known in part counts once: by who holds it.
        let mut quarry = hunt.quarry(&found);
        assert_eq!(quarry, [(7, 4)]);
        found.insert("two".into(), Known::default());
        found.remove("six");
        assert_eq!(hunt.quarry(&found), [(7, 3), (9, 1)]);
        quarry = hunt.quarry(&found);
        hunt.close_in(&mut quarry, &HashMap::from([(9, 1)]));
        assert_eq!(quarry, [(7, 3)]);
    }

    proptest! {
        #[test]
        fn no_similar_text_escapes_a_hunt(text in "[a-d]{3}( [a-d]{3}){0,9}", other in "[a-d]{3}( [a-d]{3}){0,9}") {
            let (words, others) = (Words::of(&text), Words::of(&other));
            let hunt = Hunt::of(&words);
            let of = |token: &String| {
                let holds = index_tokens(&other).contains(token);
                (token.clone(), known(if holds { &[1] } else { &[] }, true))
            };
            let mut found: HashMap<String, Known> = HashMap::new();
            for token in hunt.open(&HashMap::new()) {
                if hunt.is_over(&found) {
                    break;
                }
                found.extend([of(&token)]);
            }
            if words.similarity(&others).is_some() {
                prop_assert_eq!(hunt.quarry(&found).first().map(|(seq, _)| *seq), Some(1));
            }
        }
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
