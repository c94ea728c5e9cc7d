//! The text lane of recall: which capsules hold the searched words, and how well (CAP-RET-6…8, CAP-RET-20).

use super::posting::Posting;
use super::rank::Corpus;
use super::text::{fold, index_tokens};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What the text lane looks for: each term, and what was taught for it.
#[derive(Debug, Clone)]
pub struct Probe {
    terms: Vec<TermProbe>,
    /// How many aliases are searched.
    pub aliases: usize,
}

#[derive(Debug, Clone)]
struct TermProbe {
    term: String,
    direct: Vec<String>,
    aliases: Vec<Vec<String>>,
}

impl Probe {
    /// Prepares the terms. `taught` gives the aliases of a folded term.
    pub fn new(terms: &[String], taught: &HashMap<String, Vec<String>>) -> Self {
        let mut aliases = 0;
        let terms = terms
            .iter()
            .map(|term| {
                let folded = fold(term);
                let known = taught.get(&folded).map(Vec::as_slice).unwrap_or_default();
                let searched: Vec<Vec<String>> = known
                    .iter()
                    .filter(|alias| **alias != folded)
                    .map(|alias| index_tokens(alias))
                    .filter(|tokens| !tokens.is_empty())
                    .collect();
                aliases += searched.len();
                TermProbe { term: term.clone(), direct: index_tokens(term), aliases: searched }
            })
            .collect();
        Self { terms, aliases }
    }

    /// Every token the postings of which are needed.
    pub fn tokens(&self) -> Vec<String> {
        let all: BTreeSet<&String> = self.phrases().flatten().collect();
        all.into_iter().cloned().collect()
    }

    fn phrases(&self) -> impl Iterator<Item = &Vec<String>> {
        self.terms.iter().flat_map(|term| std::iter::once(&term.direct).chain(&term.aliases))
    }

    /// The lane over the postings of these tokens.
    pub fn lane<'a>(&'a self, postings: &'a HashMap<String, Posting>, corpus: Corpus) -> Lane<'a> {
        // Every searched token counts, each time it is searched; in order, so that sums come out alike.
        let mut searched: BTreeMap<&str, (u32, &Posting)> = BTreeMap::new();
        for token in self.phrases().flatten() {
            if let Some(posting) = postings.get(token).filter(|posting| !posting.seqs.is_empty()) {
                searched.entry(token).or_insert((0, posting)).0 += 1;
            }
        }
        let places: HashMap<&str, usize> = searched.keys().copied().zip(0..).collect();
        let phrase = |tokens: &Vec<String>| -> Option<Phrase> {
            tokens.iter().map(|token| places.get(token.as_str()).copied()).collect()
        };
        let terms = self.terms.iter().map(|term| TermPhrases {
            direct: phrase(&term.direct).filter(|phrase| !phrase.is_empty()),
            aliases: term.aliases.iter().filter_map(phrase).collect(),
        });
        let terms: Vec<TermPhrases> = terms.collect();
        let can_match = |n: &usize| terms[*n].direct.is_some() || !terms[*n].aliases.is_empty();
        Lane {
            probe: self,
            held_somewhere: (0..terms.len()).filter(can_match).collect(),
            terms,
            tokens: searched
                .into_values()
                .map(|(times, posting)| Searched {
                    posting,
                    times: f64::from(times),
                    idf: corpus.idf(posting.seqs.len() as i64),
                })
                .collect(),
            corpus,
        }
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// The tokens of a phrase, by their places among the searched ones.
type Phrase = Vec<usize>;

/// A token that is searched and that some capsule holds.
#[derive(Debug)]
struct Searched<'a> {
    posting: &'a Posting,
    times: f64,
    idf: f64,
}

/// What is searched for a term. A phrase that holds a token no capsule holds is left out: nothing matches it.
#[derive(Debug)]
struct TermPhrases {
    direct: Option<Phrase>,
    aliases: Vec<Phrase>,
}

impl TermPhrases {
    fn direct(&self, held: &[u64]) -> bool {
        self.direct.as_ref().is_some_and(|phrase| holds(held, phrase))
    }

    fn alias(&self, held: &[u64]) -> bool {
        self.aliases.iter().any(|phrase| holds(held, phrase))
    }
}

/// Whether all tokens of a phrase are among those that are held, a bit each.
fn holds(held: &[u64], phrase: &[usize]) -> bool {
    phrase.iter().all(|token| held.get(token / 64).is_some_and(|word| word >> (token % 64) & 1 == 1))
}

/// The text lane: it goes over the postings of all tokens once, in order of the capsules.
#[derive(Debug)]
pub struct Lane<'a> {
    probe: &'a Probe,
    terms: Vec<TermPhrases>,
    /// The terms that some capsule may hold: of the others nothing is asked for each capsule.
    held_somewhere: Vec<usize>,
    /// In order of their texts.
    tokens: Vec<Searched<'a>>,
    corpus: Corpus,
}

/// So many numbers of capsules are looked at together at most: what is noted of them stays in the processor's cache.
const WINDOW_MOST: usize = 2048;
/// And so few at least, however many tokens are searched.
const WINDOW_LEAST: usize = 64;
/// So many counts are noted at once, where that leaves enough capsules.
const NOTED: usize = 1 << 20;

impl Lane<'_> {
    /// Shows every capsule that holds a term, in order of number, with what is known of it. `pause` is called now and then.
    pub fn each(&self, mut pause: impl FnMut(), mut show: impl FnMut(i64, Hit)) {
        if let [token] = &self.tokens[..] {
            let (held, matched) = (&[1], self.matched(&[1]));
            let all = if matched > 0 { &token.posting.seqs[..] } else { &[] };
            for (seq, count) in all.iter().zip(token.posting.counts.chunks(1)) {
                show(*seq, Hit { matched, lane: self, held, counts: count, window: 1, place: 0 });
            }
            return;
        }
        let words = self.tokens.len().div_ceil(64);
        let window = (NOTED / self.tokens.len().max(1)).clamp(WINDOW_LEAST, WINDOW_MOST) / 64 * 64;
        let mut held = vec![0u64; window * words];
        let mut counts = vec![0i32; window * self.tokens.len()];
        let mut rest: Vec<(&[i64], &[i32])> =
            self.tokens.iter().map(|token| (&token.posting.seqs[..], &token.posting.counts[..])).collect();
        while let Some(start) = rest.iter().filter_map(|(seqs, _)| seqs.first()).min().copied() {
            pause();
            let mut touched = [0u64; WINDOW_MOST / 64];
            for (n, (seqs, of_seqs)) in rest.iter_mut().enumerate() {
                let (word, bit) = (n / 64, 1 << (n % 64));
                let counts = &mut counts[n * window..(n + 1) * window];
                let mut taken = 0;
                for (seq, count) in seqs.iter().zip(of_seqs.iter()) {
                    let Some(place) = usize::try_from(seq - start).ok().filter(|place| *place < window)
                    else {
                        break;
                    };
                    held[place * words + word] |= bit;
                    touched[place / 64] |= 1 << (place % 64);
                    counts[place] = *count;
                    taken += 1;
                }
                (*seqs, *of_seqs) = (&seqs[taken..], &of_seqs[taken..]);
            }
            for (word, mut bits) in touched.into_iter().enumerate() {
                while bits != 0 {
                    let place = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let held = &mut held[place * words..(place + 1) * words];
                    let matched = self.matched(held);
                    if matched > 0 {
                        show(
                            start + place as i64,
                            Hit { matched, lane: self, held, counts: &counts, window, place },
                        );
                    }
                    held.fill(0);
                }
            }
        }
    }

    fn matched(&self, held: &[u64]) -> u32 {
        let matches = |n: &usize| u32::from(self.terms[*n].direct(held) || self.terms[*n].alias(held));
        self.held_somewhere.iter().map(matches).sum()
    }

    /// The tokens that a capsule holds, a bit each.
    fn held_by(&self, seq: i64) -> Vec<u64> {
        let mut held = vec![0u64; self.tokens.len().div_ceil(64)];
        for (n, token) in self.tokens.iter().enumerate() {
            if token.posting.seqs.binary_search(&seq).is_ok() {
                held[n / 64] |= 1 << (n % 64);
            }
        }
        held
    }

    /// Whether a capsule holds a term.
    pub fn finds(&self, seq: i64) -> bool {
        self.matched(&self.held_by(seq)) > 0
    }

    /// The terms that a capsule holds as rows show them: in the caller's order, `alias:` before one that only an alias matched.
    pub fn shown(&self, seq: i64) -> Vec<String> {
        let held = self.held_by(seq);
        self.probe
            .terms
            .iter()
            .zip(&self.terms)
            .filter_map(|(term, phrases)| match (phrases.direct(&held), phrases.alias(&held)) {
                (true, _) => Some(term.term.clone()),
                (_, true) => Some(format!("alias:{}", term.term)),
                _ => None,
            })
            .collect()
    }
}

/// A capsule that holds a term.
#[derive(Debug)]
pub struct Hit<'a> {
    /// How many terms it holds.
    pub matched: u32,
    lane: &'a Lane<'a>,
    held: &'a [u64],
    counts: &'a [i32],
    window: usize,
    place: usize,
}

impl Hit<'_> {
    /// Its score, if it has so many tokens.
    #[inline]
    pub fn score(&self, length: u32) -> f64 {
        let norm = self.lane.corpus.norm(i64::from(length));
        let mut score = 0.0;
        for (word, mut bits) in self.held.iter().copied().enumerate() {
            while bits != 0 {
                let n = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let token = &self.lane.tokens[n];
                let count = i64::from(self.counts[n * self.window + self.place]);
                score += token.times * self.lane.corpus.weight(token.idf, count, norm);
            }
        }
        score
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn posting(seqs: &[i64]) -> Posting {
        Posting { seqs: seqs.to_vec(), counts: vec![1; seqs.len()] }
    }

    fn found(lane: &Lane) -> Vec<(i64, u32, f64)> {
        let mut found = Vec::new();
        lane.each(|| (), |seq, hit| found.push((seq, hit.matched, hit.score(2))));
        found
    }

    #[test]
    fn a_term_needs_all_its_tokens_and_an_alias_counts_for_it() {
        let taught = HashMap::from([("crane".to_owned(), vec!["crane".to_owned(), "hoist".to_owned()])]);
        let probe = Probe::new(&["Crane".into(), "red pump".into()], &taught);
        assert_eq!(probe.aliases, 1);
        let postings = HashMap::from([
            ("hoist".to_owned(), posting(&[1, 2])),
            ("red".to_owned(), posting(&[2, 3])),
            ("pump".to_owned(), posting(&[2])),
        ]);
        let corpus = Corpus { documents: 9, tokens: 18 };
        let lane = probe.lane(&postings, corpus);
        let found = found(&lane);
        assert_eq!(
            found.iter().map(|(seq, matched, _)| (*seq, *matched)).collect::<Vec<_>>(),
            [(1, 1), (2, 2)]
        );
        assert!(found[1].2 < found[0].2);
        assert_eq!(lane.shown(2), ["alias:Crane", "red pump"]);
        assert!(lane.finds(1) && !lane.finds(3));
    }

    #[test]
    fn a_term_that_matches_itself_and_by_alias_counts_once() {
        let taught = HashMap::from([("crane".to_owned(), vec!["hoist".to_owned()])]);
        let probe = Probe::new(&["crane".into()], &taught);
        let postings =
            HashMap::from([("crane".to_owned(), posting(&[4])), ("hoist".to_owned(), posting(&[4, 5]))]);
        let lane = probe.lane(&postings, Corpus { documents: 9, tokens: 18 });
        assert_eq!(found(&lane)[0].1, 1);
        assert_eq!(lane.shown(4), ["crane"]);
        assert_eq!(lane.shown(5), ["alias:crane"]);
    }

    /// However many words are searched, what is noted of them stays small; words that nothing holds are asked for nothing.
    #[test]
    fn many_words_are_searched_in_shorter_windows() {
        let words: Vec<String> = (0..20_000).map(|n| format!("w{n}")).collect();
        let unknown = (0..20_000).map(|n| format!("u{n}"));
        let terms: Vec<String> = words.iter().cloned().chain(unknown).collect();
        let probe = Probe::new(&terms, &HashMap::new());
        let of = |n: usize| if n == 0 { posting(&[1, 64, 65, 5000]) } else { posting(&[65]) };
        let postings: HashMap<String, Posting> =
            words.iter().enumerate().map(|(n, word)| (word.clone(), of(n))).collect();
        let lane = probe.lane(&postings, Corpus { documents: 9, tokens: 18 });
        let (mut found, mut pauses) = (Vec::new(), 0);
        lane.each(|| pauses += 1, |seq, hit| found.push((seq, hit.matched)));
        assert_eq!((found, pauses), (vec![(1, 1), (64, 1), (65, 20_000), (5000, 1)], 3));
    }

    proptest! {
        /// Each capsule by itself, from its tokens: what the lane finds in one pass.
        #[test]
        fn one_pass_finds_what_looking_at_each_capsule_finds(
            texts in proptest::collection::vec(proptest::collection::vec(0u8..90, 0..6), 1..60),
            stride in prop_oneof![Just(1i64), Just(70), Just(3000)],
            terms in proptest::collection::vec(proptest::collection::vec(0u8..90, 1..3), 1..40),
            aliases in proptest::collection::vec((0usize..40, proptest::collection::vec(0u8..90, 1..3)), 0..6),
        ) {
            let word = |n: &u8| format!("w{n}");
            let phrase = |words: &Vec<u8>| words.iter().map(word).collect::<Vec<_>>().join(" ");
            let terms: Vec<String> = terms.iter().map(phrase).collect();
            let mut taught: HashMap<String, Vec<String>> = HashMap::new();
            for (of, alias) in &aliases {
                if let Some(term) = terms.get(*of) {
                    taught.entry(term.clone()).or_default().push(phrase(alias));
                }
            }
            let probe = Probe::new(&terms, &taught);
            let mut postings: HashMap<String, Posting> = HashMap::new();
            let seqs: Vec<i64> = (0..).map(|n| 1 + n * stride).take(texts.len()).collect();
            for (seq, text) in seqs.iter().zip(&texts) {
                let mut counts: BTreeMap<String, i32> = BTreeMap::new();
                text.iter().for_each(|n| *counts.entry(word(n)).or_default() += 1);
                for (token, count) in counts {
                    let posting = postings.entry(token).or_default();
                    posting.seqs.push(*seq);
                    posting.counts.push(count);
                }
            }
            let corpus = Corpus { documents: 500, tokens: 1500 };
            let lane = probe.lane(&postings, corpus);
            let mut expected = Vec::new();
            for (seq, text) in seqs.iter().zip(&texts) {
                let has = |tokens: &Vec<String>| tokens.iter().all(|token| text.iter().any(|n| word(n) == *token));
                let matched: u32 = probe.terms.iter()
                    .map(|term| u32::from(has(&term.direct) || term.aliases.iter().any(has))).sum();
                if matched == 0 {
                    prop_assert!(!lane.finds(*seq));
                    continue;
                }
                let mut times: BTreeMap<&String, f64> = BTreeMap::new();
                probe.phrases().flatten().for_each(|token| *times.entry(token).or_default() += 1.0);
                let score: f64 = times.iter().filter_map(|(token, times)| {
                    let count = text.iter().filter(|n| word(n) == **token).count() as i64;
                    let idf = corpus.idf(postings.get(*token)?.seqs.len() as i64);
                    (count > 0).then(|| times * corpus.weight(idf, count, corpus.norm(text.len() as i64)))
                }).fold(0.0, |sum, weight| sum + weight);
                expected.push((*seq, matched, score));
                let shown = lane.shown(*seq);
                prop_assert_eq!(shown.len() as u32, matched);
            }
            let mut found = Vec::new();
            lane.each(|| (), |seq, hit| {
                let length = texts[usize::try_from((seq - 1) / stride).unwrap()].len();
                found.push((seq, hit.matched, hit.score(length as u32)));
            });
            prop_assert_eq!(found, expected);
        }
    }
}
