//! What full text search knows of a space as a whole: how many memories and words it holds, and in how many memories
//! a term stands.
//!
//! Writers keep no statistics. They are counted when they are needed and kept by the session for a multiple of the time the
//! counting took, at most some seconds: in a space where it takes no time, they are as good as exact.

use super::session::Session;
use super::spi::arg;
use crate::domain::search::bm25::Corpus;
use crate::error::{Error, Result};
use crate::statement;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How many times longer than it took to count are counts kept.
const KEPT_TIMES: u32 = 50;
/// Longest time.
const KEPT_MOST: Duration = Duration::from_secs(5);
/// Most terms kept by a session.
const TERMS_MOST: usize = 20_000;

statement!(
    COUNT,
    ["select count(*)::float8, coalesce(sum(l.length), 0)::float8 / 2
      from me.memory_lexeme as l where l.space = $1 and l.piece = 0"],
    [TEXTOID]
);

struct Kept<T> {
    value: T,
    until: Instant,
}

impl<T: Copy> Kept<T> {
    fn new(value: T, took: Duration) -> Self {
        Self { value, until: Instant::now() + (took * KEPT_TIMES).min(KEPT_MOST) }
    }

    fn get(&self) -> Option<T> {
        (Instant::now() < self.until).then_some(self.value)
    }
}

#[derive(Default)]
struct Memory {
    corpora: HashMap<String, Kept<Corpus>>,
    documents: HashMap<(String, String), Kept<u64>>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Forgets everything: called when the session itself writes, so that it finds what it wrote by the right numbers.
pub fn forget() {
    MEMORY.with_borrow_mut(|memory| {
        memory.corpora.clear();
        memory.documents.clear();
    });
}

/// How many memories and words the space holds.
pub fn corpus(session: &Session) -> Result<Corpus> {
    let kept = MEMORY.with_borrow(|memory| memory.corpora.get(session.space()).and_then(Kept::get));
    if let Some(corpus) = kept {
        return Ok(corpus);
    }
    let begun = Instant::now();
    let row = session
        .db()
        .row(&COUNT, &[arg(session.space())])?
        .ok_or_else(|| Error::Internal("a count is missing".into()))?;
    let corpus = Corpus { count: row.need(1)?, length: row.need(2)? };
    let kept = Kept::new(corpus, begun.elapsed());
    MEMORY.with_borrow_mut(|memory| memory.corpora.insert(session.space().to_owned(), kept));
    Ok(corpus)
}

/// In how many memories each term stands, if that is known of all of them.
pub fn documents(session: &Session, terms: &[String]) -> Option<Vec<u64>> {
    MEMORY.with_borrow(|memory| {
        terms
            .iter()
            .map(|term| memory.documents.get(&(session.space().to_owned(), term.clone()))?.get())
            .collect()
    })
}

/// Keeps what a search over the whole space has counted.
pub fn learn(session: &Session, terms: &[String], documents: &[u64], took: Duration) {
    MEMORY.with_borrow_mut(|memory| {
        if memory.documents.len() + terms.len() > TERMS_MOST {
            memory.documents.clear();
        }
        for (term, count) in terms.iter().zip(documents) {
            memory.documents.insert((session.space().to_owned(), term.clone()), Kept::new(*count, took));
        }
    });
}
