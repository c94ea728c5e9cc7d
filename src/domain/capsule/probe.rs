//! The text lane of recall: which capsules hold the searched words, and how well (CAP-RET-6…8, CAP-RET-20).

use super::rank::Corpus;
use super::standing::Standing;
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

    /// Which capsules hold which terms, and how well.
    pub fn lane(&self, postings: &HashMap<String, Posting>, corpus: Corpus, standing: &Standing) -> Lane {
        let top = postings.values().filter_map(|posting| posting.seqs.last()).max().copied().unwrap_or(0);
        let room = usize::try_from(top).map_or(0, |top| top + 1);
        let mut lane =
            Lane { terms: Vec::new(), found: Vec::new(), counts: vec![0; room], scores: vec![0.0; room] };
        for term in &self.terms {
            let direct = all_of(&term.direct, postings);
            let mut alias: BTreeSet<i64> =
                term.aliases.iter().flat_map(|alias| all_of(alias, postings)).collect();
            direct.iter().for_each(|seq| {
                alias.remove(seq);
            });
            direct.iter().chain(&alias).for_each(|seq| lane.count(*seq));
            lane.terms.push(TermHits { direct, alias: alias.into_iter().collect() });
        }
        // Every searched token counts, each time it is searched.
        let mut searched: BTreeMap<&String, i64> = BTreeMap::new();
        for token in self.phrases().flatten() {
            *searched.entry(token).or_default() += 1;
        }
        for (token, times) in searched {
            let Some(posting) = postings.get(token) else { continue };
            let idf = corpus.idf(posting.seqs.len() as i64);
            for (seq, count) in posting.seqs.iter().zip(&posting.counts) {
                let Some(place) =
                    usize::try_from(*seq).ok().filter(|place| lane.counts.get(*place) > Some(&0))
                else {
                    continue;
                };
                let length = standing.frame(*seq).map_or(0, |frame| i64::from(frame.length));
                lane.scores[place] += times as f64 * corpus.weight(idf, i64::from(*count), length);
            }
        }
        lane
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The matched terms as rows show them: in the caller's order, `alias:` before one that only an alias matched.
    pub fn shown(&self, lane: &Lane, seq: i64) -> Vec<String> {
        let holds = |seqs: &[i64]| seqs.binary_search(&seq).is_ok();
        self.terms
            .iter()
            .zip(&lane.terms)
            .filter_map(|(term, hits)| match (holds(&hits.direct), holds(&hits.alias)) {
                (true, _) => Some(term.term.clone()),
                (_, true) => Some(format!("alias:{}", term.term)),
                _ => None,
            })
            .collect()
    }
}

/// What the text lane found.
#[derive(Debug, Default)]
pub struct Lane {
    terms: Vec<TermHits>,
    found: Vec<i64>,
    counts: Vec<u32>,
    scores: Vec<f64>,
}

/// The capsules that hold a term itself, and those that hold one of its aliases alone.
#[derive(Debug)]
struct TermHits {
    direct: Vec<i64>,
    alias: Vec<i64>,
}

impl Lane {
    fn count(&mut self, seq: i64) {
        if let Some(count) = usize::try_from(seq).ok().and_then(|place| self.counts.get_mut(place)) {
            if *count == 0 {
                self.found.push(seq);
            }
            *count += 1;
        }
    }

    /// Every capsule it found.
    pub fn found(&self) -> &[i64] {
        &self.found
    }

    /// How many terms a capsule holds, and its score; nothing if it holds none.
    pub fn hit(&self, seq: i64) -> Option<(u32, f64)> {
        let place = usize::try_from(seq).ok()?;
        let count = *self.counts.get(place)?;
        (count > 0).then(|| (count, self.scores[place]))
    }
}

/// The capsules that hold a token, and how often.
#[derive(Debug, Clone, Default)]
pub struct Posting {
    /// Numbers, rising.
    pub seqs: Vec<i64>,
    /// Beside each, how often.
    pub counts: Vec<i32>,
}

impl Posting {
    /// Leaves out some capsules.
    pub fn retain(&mut self, keep: impl Fn(i64) -> bool) {
        let kept = self.seqs.iter().zip(&self.counts).filter(|(seq, _)| keep(**seq));
        let (seqs, counts) = kept.map(|(seq, count)| (*seq, *count)).unzip();
        (self.seqs, self.counts) = (seqs, counts);
    }
}

/// The capsules that hold every one of the tokens.
fn all_of(tokens: &[String], postings: &HashMap<String, Posting>) -> Vec<i64> {
    let mut lists: Vec<&Posting> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match postings.get(token) {
            Some(posting) => lists.push(posting),
            None => return Vec::new(),
        }
    }
    lists.sort_by_key(|posting| posting.seqs.len());
    match lists.split_first() {
        Some((first, others)) => first
            .seqs
            .iter()
            .filter(|seq| others.iter().all(|other| other.seqs.binary_search(seq).is_ok()))
            .copied()
            .collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posting(seqs: &[i64]) -> Posting {
        Posting { seqs: seqs.to_vec(), counts: vec![1; seqs.len()] }
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
        let lane = probe.lane(&postings, Corpus { documents: 9, tokens: 18 }, &Standing::default());
        let mut found = lane.found().to_vec();
        found.sort_unstable();
        assert_eq!(found, [1, 2]);
        assert_eq!((lane.hit(1).unwrap().0, lane.hit(2).unwrap().0, lane.hit(3)), (1, 2, None));
        assert!(lane.hit(2).unwrap().1 < lane.hit(1).unwrap().1);
        assert_eq!(probe.shown(&lane, 2), ["alias:Crane", "red pump"]);
    }

    #[test]
    fn a_term_that_matches_itself_and_by_alias_counts_once() {
        let taught = HashMap::from([("crane".to_owned(), vec!["hoist".to_owned()])]);
        let probe = Probe::new(&["crane".into()], &taught);
        let postings =
            HashMap::from([("crane".to_owned(), posting(&[4])), ("hoist".to_owned(), posting(&[4, 5]))]);
        let lane = probe.lane(&postings, Corpus { documents: 9, tokens: 18 }, &Standing::default());
        assert_eq!(lane.hit(4).unwrap().0, 1);
        assert_eq!(probe.shown(&lane, 4), ["crane"]);
        assert_eq!(probe.shown(&lane, 5), ["alias:crane"]);
    }
}
