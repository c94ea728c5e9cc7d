//! What the collecting aggregate is told and what it answers: both cross SQL as text and bytes of our own.

use super::bm25::{Collector, Corpus, Scored, best};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

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
    /// Ids of rows whose scores are wanted besides, in hexadecimal.
    pub wanted: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    /// Rows that hold a term.
    pub matched: u64,
    /// In how many of them each term stands.
    pub documents: Vec<u64>,
    /// The best rows, in order.
    pub best: Vec<Scored>,
    /// Scores of the wanted rows that hold a term.
    pub wanted: Vec<Scored>,
}

impl Query {
    /// Scores what was collected.
    #[must_use]
    pub fn finish(&self, found: &Collector) -> Findings {
        let documents = found.documents();
        let corpus = Corpus { count: self.corpus.0, length: self.corpus.1 };
        let known = self.documents.as_ref().unwrap_or(&documents);
        let scores = found.scores(&corpus, &self.in_query, known);
        let asked: HashSet<u128> =
            self.wanted.iter().filter_map(|id| u128::from_str_radix(id, 16).ok()).collect();
        let wanted = match asked.is_empty() {
            true => Vec::new(),
            false => {
                scores.iter().filter(|row| asked.contains(&u128::from_be_bytes(row.id))).copied().collect()
            }
        };
        Findings { matched: found.len() as u64, documents, best: best(scores, self.limit), wanted }
    }
}

/// An id as [`Query::wanted`] holds it.
#[must_use]
pub fn hex(id: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*id))
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
        for rows in [&self.best, &self.wanted] {
            bytes.extend_from_slice(&(rows.len() as u64).to_be_bytes());
            for row in rows {
                bytes.extend_from_slice(&row.id);
                bytes.extend_from_slice(&row.score.to_bits().to_be_bytes());
            }
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
        let wanted = rows(&mut rest)?;
        rest.is_empty().then_some(Self { matched, documents, best, wanted })
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
        let findings = Findings {
            matched: 7,
            documents: vec![3, 0],
            best: vec![row(1, 0.1 + 0.2), row(2, 1e-300)],
            wanted: vec![row(9, 2.5)],
        };
        let bytes = findings.to_bytes();
        assert_eq!(Findings::from_bytes(&bytes), Some(findings));
        assert_eq!(Findings::from_bytes(&bytes[1..]), None);
        assert_eq!(Findings::from_bytes(&[]), None);
    }

    #[test]
    fn wanted_rows_are_scored_though_they_are_not_among_the_best() {
        let mut found = Collector::new(1);
        for n in 1..4u8 {
            found.add([n; 16], 20, 1, n != 2, |halves| halves[0] = u32::from(n) * 2);
        }
        let query = Query {
            terms: vec!["....a".into()],
            in_query: vec![1],
            documents: None,
            corpus: (10.0, 100.0),
            limit: 1,
            wanted: vec![hex(&[1; 16]), hex(&[2; 16])],
        };
        let findings = query.finish(&found);
        assert_eq!((findings.matched, findings.documents.as_slice()), (3, &[3][..]));
        assert_eq!(findings.best[0].id, [3; 16]);
        assert_eq!(findings.wanted.iter().map(|row| row.id[0]).collect::<Vec<_>>(), [1]);
    }
}
