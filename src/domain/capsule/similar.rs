//! Near duplicates: how much of two texts is the same words (CAP-ING-21).

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

/// The words of a new text, for comparing it with many others.
#[derive(Debug, Clone)]
pub struct Compared<'a> {
    tokens: Vec<&'a str>,
    probe: Vec<String>,
}

impl<'a> Compared<'a> {
    /// The words of `text`, if it says enough to be like another.
    pub fn new(words: &'a Words, text: &str) -> Option<Self> {
        let tokens = words.tokens.iter().map(String::as_str).collect();
        words.eligible.then(|| Self { tokens, probe: probe(text) })
    }

    /// How similar another text is, as [`Words::similarity`]; only if it holds a word that candidates are looked for with.
    pub fn with(&self, other: &str) -> Option<f64> {
        let lower = other.to_lowercase();
        let is_split = |char: char| !char.is_alphanumeric();
        let mut tokens: Vec<&str> = lower.split(is_split).filter(|token| !token.is_empty()).collect();
        tokens.sort_unstable();
        tokens.dedup();
        let significant = tokens.iter().filter(|token| is_significant(token)).count();
        let mut mine = self.tokens.iter().peekable();
        let common = tokens
            .iter()
            .filter(|token| {
                while mine.next_if(|one| one < token).is_some() {}
                mine.peek() == Some(token)
            })
            .count();
        let score = common as f64 / self.tokens.len().max(tokens.len()) as f64;
        let is_found = || self.probe.iter().any(|probe| tokens.binary_search(&probe.as_str()).is_ok());
        (significant >= SIGNIFICANT_TOKENS && score >= THRESHOLD && is_found()).then_some(score)
    }
}

/// The first distinct significant tokens of a text: what candidates are looked for with.
fn probe(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    plain_tokens(text)
        .into_iter()
        .filter(|token| is_significant(token) && seen.insert(token.clone()))
        .take(PROBE_TOKENS)
        .collect()
}

/// Capsules of a token that are looked at to begin with, the newest.
pub const LOOKED_AT: usize = 32;
/// Capsules that are looked at besides, of all tokens of a text together.
pub const FURTHER: usize = 1500;
/// Most tokens of a text that are looked up: the longest, which are mostly the rarest.
const HUNTED: usize = 64;
/// Of so many words that are known whole, a similar text shares a quarter: by far most likely.
const KNOWN_WELL: usize = 8;

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

/// The capsules that are known to hold a token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    /// The newest, newest first.
    pub seqs: Vec<i64>,
    /// Whether these are all.
    pub whole: bool,
}

impl Known {
    /// What `seqs` says, of which no more than `limit` were looked at.
    pub fn new(mut seqs: Vec<i64>, limit: usize) -> Self {
        let whole = seqs.len() <= limit;
        seqs.truncate(limit);
        Self { seqs, whole }
    }

    /// How many more there may be, if they are as frequent among the older capsules.
    fn further(&self, newest: i64) -> f64 {
        match self.seqs.last() {
            Some(oldest) if !self.whole => {
                self.seqs.len() as f64 / (newest - oldest + 1).max(1) as f64 * *oldest as f64
            }
            _ => 0.0,
        }
    }

    /// Whether it is known of a capsule if it holds the token.
    fn covers(&self, seq: i64) -> bool {
        self.whole || self.seqs.last().is_some_and(|oldest| *oldest <= seq)
    }
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

    /// The tokens to look up. What is known of them stands in the same order.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// The token to look up further, by its place: the rarest that is not known whole, if there are not enough that are,
    /// and if there is hope that `left` capsules are all that hold it.
    pub fn next(&self, known: &[Known], newest: i64, left: usize) -> Option<usize> {
        if known.iter().filter(|known| known.whole).count() >= self.enough() {
            return None;
        }
        let open = known.iter().enumerate().filter(|(_, known)| !known.whole);
        let further = open.map(|(place, known)| (place, known.further(newest)));
        let (place, further) = further.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))?;
        (further <= left as f64).then_some(place)
    }

    /// So many tokens known whole that a similar text must share one of them; and one more, by which those that share just
    /// one are out.
    fn enough(&self) -> usize {
        let required = match self.distinct <= HUNTED {
            true => self.distinct + 1 - self.needed.min(self.distinct),
            false => HUNTED / 2 + 1,
        };
        (required + 1).min(self.tokens.len())
    }

    /// The capsules that may share enough, those that share the rarest words first.
    pub fn quarry(&self, known: &[Known], newest: i64) -> Vec<i64> {
        struct Seen {
            shared: usize,
            of_whole: usize,
            weight: f64,
        }
        let mut seen: HashMap<i64, Seen> = HashMap::new();
        for known in known {
            let holders = known.seqs.len() as f64 + known.further(newest);
            let weight = (1.0 + newest as f64 / holders.max(1.0)).ln();
            for seq in &known.seqs {
                let seen = seen.entry(*seq).or_insert(Seen { shared: 0, of_whole: 0, weight: 0.0 });
                seen.shared += 1;
                seen.of_whole += usize::from(known.whole);
                seen.weight += weight;
            }
        }
        let whole = known.iter().filter(|known| known.whole).count();
        let beyond = self.distinct - self.tokens.len();
        let may_share_enough = |seq: i64, seen: &Seen| {
            let unknown = beyond + known.iter().filter(|known| !known.covers(seq)).count();
            let likely = whole < KNOWN_WELL || 4 * seen.of_whole >= whole || unknown == 0;
            seen.shared + unknown >= self.needed && likely
        };
        let mut order: Vec<(i64, f64)> = seen
            .into_iter()
            .filter(|(seq, seen)| may_share_enough(*seq, seen))
            .map(|(seq, seen)| (seq, seen.weight))
            .collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order.into_iter().map(|(seq, _)| seq).collect()
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

    fn whole(seqs: &[i64]) -> Known {
        Known { seqs: seqs.to_vec(), whole: true }
    }

    #[test]
    fn a_hunt_is_over_when_whoever_is_similar_shares_a_word_that_is_known_whole() {
        let hunt = Hunt::of(&Words::of("one two three four five six"));
        assert_eq!((hunt.distinct, hunt.needed), (6, 3));
        assert_eq!(hunt.tokens(), ["three", "five", "four", "one", "six", "two"]);
        let open = Known { seqs: (69..=100).rev().collect(), whole: false };
        let mut known = vec![open; 6];
        // Of a word that is held by every capsule, all of them would have to be looked at.
        assert_eq!(hunt.next(&known, 100, 50), None);
        assert_eq!(hunt.next(&known, 100, 100), Some(0));
        known[2].seqs = vec![100, 4];
        assert_eq!(hunt.next(&known, 100, 50), Some(2), "the rarest");
        for place in 0..5 {
            assert!(hunt.next(&known, 100, 100).is_some());
            known[place] = whole(&[7]);
        }
        assert_eq!(hunt.next(&known, 100, 100), None);
        // Number 7 shares five; of number 80 it is known that it shares one only; nobody else is known to share any.
        assert_eq!(hunt.quarry(&known, 100), [7]);
    }

    #[test]
    fn who_shares_too_few_words_is_no_quarry() {
        let hunt = Hunt::of(&Words::of("one two three four five six"));
        let mut known: Vec<Known> =
            [&[7, 8][..], &[7], &[7, 9], &[8]].iter().map(|seqs| whole(seqs)).collect();
        known.push(Known { seqs: vec![20, 19], whole: false });
        known.push(Known { seqs: vec![20, 8], whole: false });
        // Number 8 shares three; 9 one, and another perhaps; 20 two that are all there is to know of it.
        assert_eq!(hunt.quarry(&known, 20), [7, 8]);
        known[5].seqs = vec![20];
        // Who is older than what is known of two words may share both.
        assert_eq!(hunt.quarry(&known, 20), [7, 8, 9]);
    }

    #[test]
    fn who_shares_rarer_words_comes_first() {
        let hunt = Hunt::of(&Words::of("alpha beta gamma delta"));
        let known = [whole(&[5, 4, 3, 2]), whole(&[5, 2]), whole(&[4, 3]), whole(&[3, 2, 1])];
        assert_eq!(hunt.quarry(&known, 100), [2, 3, 4, 5]);
    }

    proptest! {
        #[test]
        fn no_similar_text_escapes_a_hunt(text in "[a-d]{3}( [a-d]{3}){0,6}", other in "[a-d]{3}( [a-d]{3}){0,9}") {
            let (words, others) = (Words::of(&text), Words::of(&other));
            let hunt = Hunt::of(&words);
            let held = index_tokens(&other);
            let of = |token: &String| whole(if held.contains(token) { &[1] } else { &[] });
            // As many as make it over, whichever they are.
            let open = Known { seqs: vec![9], whole: false };
            let mut known = vec![open; hunt.tokens().len()];
            while let Some(place) = hunt.next(&known, 9, 1000) {
                known[place] = of(&hunt.tokens()[place]);
            }
            if words.similarity(&others).is_some() {
                prop_assert_eq!(hunt.quarry(&known, 9).contains(&1), true);
            }
        }

        #[test]
        fn a_text_is_compared_as_its_words_are(text in "[a-cA-C]{3}([ ,.]+[a-cA-C\u{e9}]{1,3}){0,9}", other in "[a-cA-C]{3}([ ,.]+[a-cA-C\u{e9}]{1,3}){0,9}") {
            let (words, others) = (Words::of(&text), Words::of(&other));
            let expected = words.similarity(&others).filter(|_| probe(&text).iter().any(|one| others.tokens().contains(one)));
            prop_assert_eq!(Compared::new(&words, &text).and_then(|compared| compared.with(&other)), expected);
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
