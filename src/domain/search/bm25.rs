//! BM25 (SRCH-16, SRCH-17): scores of memories from the frequencies of a query's terms.

use std::collections::HashMap;

/// How quickly more occurrences stop to count.
pub const K1: f64 = 1.2;
/// How much long texts are held back.
pub const B: f64 = 0.75;

/// What a space says about itself: number of memories, and the length of them all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corpus {
    /// Memories in the space.
    pub count: f64,
    /// Their length together, in words.
    pub length: f64,
}

impl Corpus {
    /// Average length; 1 in a space without words, where nothing is scored.
    #[must_use]
    pub fn average(&self) -> f64 {
        let average = self.length / self.count;
        if average.is_finite() && average > 0.0 { average } else { 1.0 }
    }

    /// Inverse document frequency of a term that `documents` memories contain. Statistics may lag behind the rows:
    /// what is found counts, so that a score is never zero or below.
    #[must_use]
    pub fn idf(&self, documents: f64) -> f64 {
        let count = self.count.max(documents);
        (1.0 + (count - documents + 0.5) / (documents + 0.5)).ln()
    }

    /// The part of one term in the score: `weight` is idf times the term's frequency in the query.
    #[must_use]
    pub fn part(&self, weight: f64, frequency: f64, length: f64) -> f64 {
        weight * frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * length / self.average()))
    }
}

/// A row that holds at least one term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The memory's id.
    pub id: [u8; 16],
    /// Its score, above zero.
    pub score: f64,
}

/// Orders by score descending, then id ascending (SRCH-17).
#[must_use]
pub fn by_rank(a: &Scored, b: &Scored) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id))
}

/// The best `limit` of the rows, in order.
#[must_use]
pub fn best(mut rows: Vec<Scored>, limit: usize) -> Vec<Scored> {
    if rows.len() > limit && limit > 0 {
        rows.select_nth_unstable_by(limit - 1, by_rank);
    }
    rows.truncate(limit);
    rows.sort_unstable_by(by_rank);
    rows
}

/// Gathers, row by row, what a query's terms found; scores when all of it is known, because only then it is known in
/// how many memories each term stands.
#[derive(Debug)]
pub struct Collector {
    terms: usize,
    rows: Vec<Found>,
    /// Halves of each term: `terms` for each row.
    halves: Vec<u32>,
    /// Rows of memories in several pieces.
    in_pieces: HashMap<[u8; 16], usize>,
}

#[derive(Debug, Clone, Copy)]
struct Found {
    id: [u8; 16],
    length: f64,
    passes: bool,
}

impl Collector {
    /// A collector for a query of so many distinct terms.
    #[must_use]
    pub fn new(terms: usize) -> Self {
        Self { terms, rows: Vec::new(), halves: Vec::new(), in_pieces: HashMap::new() }
    }

    /// Adds a row; `halves` writes how often each term stands in it into the slice it is given. `passes`: whether the
    /// row may be an answer. One that may not still counts in the frequencies of the space.
    pub fn add(
        &mut self,
        id: [u8; 16],
        length_in_halves: i64,
        pieces: i16,
        passes: bool,
        halves: impl FnOnce(&mut [u32]),
    ) {
        let row = self.rows.len();
        if pieces > 1
            && let Some(&known) = self.in_pieces.get(&id)
        {
            let mut more = vec![0; self.terms];
            halves(&mut more);
            for (sum, more) in self.halves[known * self.terms..].iter_mut().zip(more) {
                *sum = sum.saturating_add(more);
            }
            return;
        }
        if pieces > 1 {
            self.in_pieces.insert(id, row);
        }
        self.rows.push(Found { id, length: length_in_halves as f64 / 2.0, passes });
        self.halves.resize((row + 1) * self.terms, 0);
        halves(&mut self.halves[row * self.terms..]);
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// In how many of the rows each term stands.
    #[must_use]
    pub fn documents(&self) -> Vec<u64> {
        let mut documents = vec![0; self.terms];
        for row in self.halves.chunks_exact(self.terms.max(1)) {
            for (count, halves) in documents.iter_mut().zip(row) {
                *count += u64::from(*halves > 0);
            }
        }
        documents
    }

    /// The rows that pass and hold a term, in the order they came. `in_query[t]` is how often term t stands in the
    /// query, `documents[t]` in how many memories of the space.
    #[must_use]
    pub fn scores(&self, corpus: &Corpus, in_query: &[u32], documents: &[u64]) -> Vec<Scored> {
        let weights: Vec<f64> = in_query
            .iter()
            .zip(documents)
            .map(|(count, documents)| corpus.idf(*documents as f64) * f64::from(*count))
            .collect();
        self.rows
            .iter()
            .zip(self.halves.chunks_exact(self.terms.max(1)))
            .filter(|(row, _)| row.passes)
            .filter_map(|(row, halves)| {
                let score: f64 = halves
                    .iter()
                    .zip(&weights)
                    .filter(|(halves, _)| **halves > 0)
                    .map(|(halves, weight)| corpus.part(*weight, f64::from(*halves) / 2.0, row.length))
                    .sum();
                (score > 0.0).then_some(Scored { id: row.id, score })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(n: u8) -> [u8; 16] {
        [n; 16]
    }

    #[test]
    fn the_score_is_the_formula() {
        let corpus = Corpus { count: 10.0, length: 100.0 };
        let mut found = Collector::new(2);
        found.add(id(1), 2 * 20, 1, true, |halves| halves.copy_from_slice(&[6, 0]));
        found.add(id(2), 2 * 5, 1, true, |halves| halves.copy_from_slice(&[2, 2]));
        assert_eq!(found.documents(), [2, 1]);
        let scores = found.scores(&corpus, &[1, 2], &found.documents());
        let idf = |df: f64| (1.0 + (10.0 - df + 0.5) / (df + 0.5)).ln();
        let part = |tf: f64, dl: f64| tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * dl / 10.0));
        assert!((scores[0].score - idf(2.0) * part(3.0, 20.0)).abs() < 1e-12);
        assert!(
            (scores[1].score - idf(2.0) * part(1.0, 5.0) - 2.0 * idf(1.0) * part(1.0, 5.0)).abs() < 1e-12
        );
    }

    #[test]
    fn pieces_of_a_memory_are_one_row_and_count_once() {
        let corpus = Corpus { count: 2.0, length: 60.0 };
        let (mut whole, mut parts) = (Collector::new(2), Collector::new(2));
        whole.add(id(1), 100, 1, true, |halves| halves.copy_from_slice(&[4, 2]));
        parts.add(id(1), 100, 2, true, |halves| halves.copy_from_slice(&[3, 0]));
        parts.add(id(1), 100, 2, true, |halves| halves.copy_from_slice(&[1, 2]));
        assert_eq!(parts.documents(), whole.documents());
        assert_eq!(
            parts.scores(&corpus, &[1, 1], &parts.documents()),
            whole.scores(&corpus, &[1, 1], &whole.documents())
        );
    }

    #[test]
    fn a_row_that_does_not_pass_counts_in_the_statistics_alone() {
        let corpus = Corpus { count: 3.0, length: 6.0 };
        let mut found = Collector::new(1);
        found.add(id(1), 4, 1, false, |halves| halves[0] = 2);
        found.add(id(2), 4, 1, true, |halves| halves[0] = 2);
        assert_eq!(found.documents(), [2]);
        let ids: Vec<_> = found.scores(&corpus, &[1], &found.documents()).iter().map(|row| row.id).collect();
        assert_eq!(ids, [id(2)]);
    }

    #[test]
    fn statistics_that_lag_behind_never_make_a_score_zero() {
        let corpus = Corpus { count: 0.0, length: 0.0 };
        assert!(corpus.idf(5.0) > 0.0 && corpus.part(corpus.idf(5.0), 1.0, 3.0) > 0.0);
    }

    proptest! {
        #[test]
        fn the_best_are_the_first_of_the_sorted(scores in prop::collection::vec(0u8..5, 0..40), limit in 1usize..20) {
            let rows: Vec<Scored> = scores.iter().enumerate()
                .map(|(n, score)| Scored { id: id(n as u8), score: f64::from(*score) }).collect();
            let mut sorted = rows.clone();
            sorted.sort_by(by_rank);
            sorted.truncate(limit);
            prop_assert_eq!(best(rows, limit), sorted);
        }
    }
}
