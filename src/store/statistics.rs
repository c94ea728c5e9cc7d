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

statement!(
    UP_TO,
    ["select count(*) from (select from me.memory as m where m.space = $1 limit $2) as m"],
    [TEXTOID, INT8OID]
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
    sizes: HashMap<String, Kept<Option<u32>>>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Forgets everything: called when the session itself writes, so that it finds what it wrote by the right numbers.
pub fn forget() {
    MEMORY.with_borrow_mut(|memory| {
        memory.corpora.clear();
        memory.documents.clear();
        // What was many is so still.
        memory.sizes.retain(|_, kept| kept.value.is_none());
    });
    super::filter::forget_estimates();
}

/// How many memories the space holds, if these are not more than `most`.
pub fn few(session: &Session, most: u32) -> Result<Option<u32>> {
    let kept = MEMORY.with_borrow(|memory| memory.sizes.get(session.space()).and_then(Kept::get));
    if let Some(size) = kept {
        return Ok(size);
    }
    let begun = Instant::now();
    let args = [arg(session.space()), arg(i64::from(most) + 1)];
    let row = session.db().row(&UP_TO, &args)?.ok_or_else(|| Error::Internal("a count is missing".into()))?;
    let size = u32::try_from(row.need::<i64>(1)?).ok().filter(|size| *size <= most);
    let kept = match size {
        Some(_) => Kept::new(size, begun.elapsed()),
        None => Kept { value: size, until: Instant::now() + KEPT_MOST },
    };
    MEMORY.with_borrow_mut(|memory| memory.sizes.insert(session.space().to_owned(), kept));
    Ok(size)
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
