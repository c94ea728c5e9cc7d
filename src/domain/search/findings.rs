//! What the collecting aggregate is told and what it answers: both cross SQL as text and bytes of our own.

use super::bm25::{Collector, Corpus, Scored, best};
use serde::{Deserialize, Serialize};

/// A query, as the aggregate needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// The distinct terms with their tags, in order.
    pub terms: Vec<String>,
    /// How often each stands in the query.
    pub in_query: Vec<u32>,
    /// In how many memories of the space each stands, where that is known; else the rows themselves say it, and
    /// have to be all rows of the space that hold a term.
    pub documents: Option<Vec<u64>>,
    /// Number of memories in the space, and words in all of them.
    pub corpus: (f64, f64),
    /// How many rows are wanted.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    /// Rows that pass and hold a term. How many hold one without passing is not told: of two terms together it would
    /// say whether rows that the caller may not read hold both.
    pub matched: u64,
    /// In how many of them each term stands.
    pub documents: Vec<u64>,
    /// The best rows, in order.
    pub best: Vec<Scored>,
}

impl Query {
    /// Scores what was collected.
    #[must_use]
    pub fn finish(&self, found: &Collector) -> Findings {
        let documents = found.documents();
        let corpus = Corpus { count: self.corpus.0, length: self.corpus.1 };
        let known = self.documents.as_ref().unwrap_or(&documents);
        let scores = found.scores(&corpus, &self.in_query, known);
        Findings { matched: scores.len() as u64, documents, best: best(scores, self.limit) }
    }
}

impl Findings {
    /// As bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut number = |value: u64| bytes.extend_from_slice(&value.to_be_bytes());
        number(self.matched);
        number(self.documents.len() as u64);
        self.documents.iter().for_each(|count| number(*count));
        number(self.best.len() as u64);
        for row in &self.best {
            bytes.extend_from_slice(&row.id);
            bytes.extend_from_slice(&row.score.to_bits().to_be_bytes());
        }
        bytes
    }

    /// From bytes; `None` when they are not what [`Findings::to_bytes`] makes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let matched = number(&mut rest)?;
        let documents = (0..number(&mut rest)?).map(|_| number(&mut rest)).collect::<Option<_>>()?;
        let best = rows(&mut rest)?;
        rest.is_empty().then_some(Self { matched, documents, best })
    }
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (head, tail) = rest.split_first_chunk::<8>()?;
    *rest = tail;
    Some(u64::from_be_bytes(*head))
}

fn rows(rest: &mut &[u8]) -> Option<Vec<Scored>> {
    (0..number(rest)?)
        .map(|_| {
            let (id, tail) = rest.split_first_chunk::<16>()?;
            *rest = tail;
            Some(Scored { id: *id, score: f64::from_bits(number(rest)?) })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_survive_the_way_through_sql() {
        let row = |n: u8, score| Scored { id: [n; 16], score };
        let findings =
            Findings { matched: 7, documents: vec![3, 0], best: vec![row(1, 0.1 + 0.2), row(2, 1e-300)] };
        let bytes = findings.to_bytes();
        assert_eq!(Findings::from_bytes(&bytes), Some(findings));
        assert_eq!(Findings::from_bytes(&bytes[1..]), None);
        assert_eq!(Findings::from_bytes(&[]), None);
    }

    #[test]
    fn known_frequencies_take_the_place_of_those_found() {
        let mut found = Collector::new(1);
        for n in 1..4u8 {
            found.add([n; 16], 20, 1, n != 3, |halves| halves[0] = u32::from(n) * 2);
        }
        let query = |documents| Query {
            terms: vec!["....a".into()],
            in_query: vec![1],
            documents,
            corpus: (10.0, 100.0),
            limit: 1,
        };
        let (counted, known) = (query(None).finish(&found), query(Some(vec![3])).finish(&found));
        assert_eq!((counted.matched, counted.documents.as_slice()), (2, &[3][..]));
        assert_eq!(counted.best[0].id, [2; 16]);
        assert_eq!(counted.best, known.best);
        assert!(query(Some(vec![9])).finish(&found).best[0].score < known.best[0].score);
    }
}
