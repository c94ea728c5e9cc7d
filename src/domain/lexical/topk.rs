//! The best memories of a segment for some terms, without looking at those that cannot be among them.
//!
//! The segment is gone through in windows. In each, what the terms can be worth there is known from their lists; terms
//! that together cannot lift a memory among the best are only looked up for memories that others have brought up.

use super::dictionary::{Cursor, Lists};
use super::page::{Lengths, WINDOW};
use super::scoring::Norms;
use super::{Damaged, Posting};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Where the rest of a segment comes from.
pub trait Source: Lists {
    /// The lengths of the memories of a window.
    ///
    /// # Errors
    /// The page could not be read.
    fn lengths(&mut self, window: u32) -> Result<Lengths, Self::Error>;
}

/// A term of a query in a segment.
#[derive(Debug)]
pub struct Term {
    /// Its weight in the query: inverse document frequency times occurrences.
    pub weight: f64,
    /// Its list.
    pub cursor: Cursor,
}

/// A memory of the segment with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The score.
    pub score: f64,
    /// Its number.
    pub ordinal: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// The worse is the greater: it is what a heap gives up first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.ordinal.cmp(&other.ordinal))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best candidates so far. Of equal ones the lower number is better.
#[derive(Debug)]
pub struct Best {
    limit: usize,
    /// What was found elsewhere: below this, nothing is wanted.
    floor: f64,
    heap: BinaryHeap<Candidate>,
}

impl Best {
    /// Keeps `limit` candidates, none with a score below `floor`.
    #[must_use]
    pub fn new(limit: usize, floor: f64) -> Self {
        Self { limit, floor, heap: BinaryHeap::new() }
    }

    /// Whether a memory that comes after all others, with at most this score, has no place.
    fn refuses(&self, score: f64) -> bool {
        score < self.floor
            || (self.heap.len() >= self.limit && self.heap.peek().is_none_or(|worst| score <= worst.score))
    }

    fn offer(&mut self, candidate: Candidate) {
        if self.refuses(candidate.score) {
            return;
        }
        if self.heap.len() >= self.limit {
            self.heap.pop();
        }
        self.heap.push(candidate);
    }

    /// The candidates, best first.
    #[must_use]
    pub fn into_sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec()
    }
}

/// What is gathered of the memories of one window.
struct Gathered {
    /// Occurrences: a window for each term.
    halves: Vec<u32>,
    sums: Vec<f64>,
    norms: Vec<f64>,
    touched: Vec<u64>,
}

impl Gathered {
    fn new(terms: usize) -> Self {
        Self {
            halves: vec![0; terms * WINDOW],
            sums: vec![0.0; WINDOW],
            norms: vec![0.0; WINDOW],
            touched: vec![0; WINDOW / 64],
        }
    }

    fn is_touched(&self, place: usize) -> bool {
        self.touched[place / 64] & (1 << (place % 64)) != 0
    }

    fn add(&mut self, term: usize, weight: f64, place: usize, halves: u32) {
        self.touched[place / 64] |= 1 << (place % 64);
        self.halves[term * WINDOW + place] = halves;
        self.sums[place] += Norms::part(weight, halves, self.norms[place]);
    }

    /// The score, summed in the order of the terms: equal memories have equal scores, however they were found.
    fn score(&self, terms: &[Term], place: usize) -> f64 {
        let parts = terms.iter().zip(self.halves.iter().skip(place).step_by(WINDOW));
        parts
            .filter(|(_, halves)| **halves > 0)
            .map(|(term, halves)| Norms::part(term.weight, *halves, self.norms[place]))
            .sum()
    }

    fn forget(&mut self, place: usize, terms: usize) {
        self.sums[place] = 0.0;
        for term in 0..terms {
            self.halves[term * WINDOW + place] = 0;
        }
    }
}

/// Offers the memories of a segment that may be among the best; how many were scored. `is_dead` says which memories
/// are not in it any more.
///
/// # Errors
/// A page is damaged, or could not be read.
pub fn search<S: Source>(
    source: &mut S,
    terms: &mut [Term],
    norms: &Norms,
    documents: u32,
    is_dead: impl Fn(u32) -> bool,
    best: &mut Best,
) -> Result<u64, S::Error> {
    if terms.iter().all(|term| term.cursor.short().is_some()) {
        return Ok(search_short(terms, norms, is_dead, best));
    }
    if let [term] = terms {
        return search_one(source, term, norms, is_dead, best);
    }
    // Sums are rounded differently in another order.
    let slack = 1.0 + 1e-9;
    let mut gathered = Gathered::new(terms.len());
    let mut bounds = vec![0.0; terms.len()];
    let mut order: Vec<usize> = Vec::with_capacity(terms.len());
    let mut scored = 0;
    let mut at = 0;
    while let Some(next) = terms.iter().filter_map(|term| term.cursor.next_from(at)).min() {
        if next >= documents {
            break;
        }
        let window = next / WINDOW as u32;
        let from = window * WINDOW as u32;
        let to = documents.min(from.saturating_add(WINDOW as u32));
        at = to;
        order.clear();
        for (number, term) in terms.iter().enumerate() {
            bounds[number] = term.cursor.bound(from, to, |impacts| norms.bound(term.weight, impacts));
            if bounds[number] > 0.0 {
                order.push(number);
            }
        }
        order.sort_unstable_by(|a, b| bounds[*a].total_cmp(&bounds[*b]));
        // The terms that are worth so little that together they lift nothing among the best.
        let mut beside = 0.0;
        let mut essential = 0;
        for number in &order {
            if !best.refuses((beside + bounds[*number]) * slack) {
                break;
            }
            beside += bounds[*number];
            essential += 1;
        }
        let (few, many) = order.split_at(essential);
        if many.is_empty() {
            continue;
        }
        let lengths = match many.iter().any(|number| !terms[*number].cursor.has_lengths()) {
            true => Some(source.lengths(window)?),
            false => None,
        };
        let total: f64 = order.iter().map(|number| bounds[*number]).sum();
        for number in many {
            let Term { weight, cursor } = &mut terms[*number];
            let (weight, others) = (*weight, total - bounds[*number]);
            cursor.each(
                source,
                from,
                to,
                |impacts| !best.refuses((norms.bound(weight, impacts) + others) * slack),
                |Posting { ordinal, halves }, length| {
                    let place = (ordinal - from) as usize;
                    if !gathered.is_touched(place) {
                        let length = match (length, &lengths) {
                            (Some(length), _) => length,
                            (None, Some(lengths)) => lengths.get(place)?,
                            (None, None) => return Err(Damaged),
                        };
                        gathered.norms[place] = norms.norm(length);
                    }
                    gathered.add(*number, weight, place, halves);
                    Ok(())
                },
            )?;
        }
        for word in 0..gathered.touched.len() {
            let mut bits = std::mem::take(&mut gathered.touched[word]);
            while bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let ordinal = from + place as u32;
                let mut sum = gathered.sums[place];
                let mut rest = beside;
                let mut hopeless = best.refuses((sum + rest) * slack) || is_dead(ordinal);
                for number in few.iter().rev() {
                    if hopeless {
                        break;
                    }
                    let halves = terms[*number].cursor.halves_at(source, ordinal)?;
                    gathered.halves[*number * WINDOW + place] = halves;
                    if halves > 0 {
                        sum += Norms::part(terms[*number].weight, halves, gathered.norms[place]);
                    }
                    rest -= bounds[*number];
                    hopeless = best.refuses((sum + rest.max(0.0)) * slack);
                }
                if !hopeless {
                    scored += 1;
                    best.offer(Candidate { score: gathered.score(terms, place), ordinal });
                }
                gathered.forget(place, terms.len());
            }
        }
    }
    Ok(scored)
}

/// [`search`] where all lists are short: their memories one by one.
fn search_short(terms: &[Term], norms: &Norms, is_dead: impl Fn(u32) -> bool, best: &mut Best) -> u64 {
    let mut rests: Vec<(f64, &[(Posting, u32)])> =
        terms.iter().filter_map(|term| Some((term.weight, &term.cursor.short()?[..]))).collect();
    let mut scored = 0;
    while let Some(ordinal) =
        rests.iter().filter_map(|(_, rest)| rest.first().map(|(posting, _)| posting.ordinal)).min()
    {
        let mut score = 0.0;
        for (weight, rest) in &mut rests {
            if let [(posting, length), after @ ..] = *rest
                && posting.ordinal == ordinal
            {
                score += Norms::part(*weight, posting.halves, norms.norm(*length));
                *rest = after;
            }
        }
        if !best.refuses(score) && !is_dead(ordinal) {
            scored += 1;
            best.offer(Candidate { score, ordinal });
        }
    }
    scored
}

/// [`search`] for one term whose list is in blocks.
fn search_one<S: Source>(
    source: &mut S,
    term: &mut Term,
    norms: &Norms,
    is_dead: impl Fn(u32) -> bool,
    best: &mut Best,
) -> Result<u64, S::Error> {
    let Term { weight, cursor } = term;
    let weight = *weight;
    let mut scored = 0;
    let mut open: Option<(u32, Lengths)> = None;
    cursor.blocks(
        source,
        best,
        |best, impacts| !best.refuses(norms.bound(weight, impacts)),
        |best, source, postings, impacts| {
            // None of the block is shorter: most have too few occurrences for any length.
            let shortest = norms.norm(impacts.iter().map(|impact| impact.length).min().unwrap_or(0));
            let mut hopeless = 0;
            for (ordinal, halves) in postings.ordinals.iter().zip(&postings.halves) {
                if *halves <= hopeless {
                    continue;
                }
                if best.refuses(Norms::part(weight, *halves, shortest)) {
                    hopeless = *halves;
                    continue;
                }
                let window = ordinal / WINDOW as u32;
                let lengths = match &open {
                    Some((number, lengths)) if *number == window => lengths,
                    _ => &open.insert((window, source.lengths(window)?)).1,
                };
                let norm = norms.norm(lengths.get(*ordinal as usize % WINDOW)?);
                let score = Norms::part(weight, *halves, norm);
                if !best.refuses(score) && !is_dead(*ordinal) {
                    scored += 1;
                    best.offer(Candidate { score, ordinal: *ordinal });
                }
            }
            Ok(())
        },
    )?;
    Ok(scored)
}

/// Offers given memories of a segment, of which the numbers rise; how many hold a term.
///
/// # Errors
/// A page is damaged, or could not be read.
pub fn score<S: Source>(
    source: &mut S,
    terms: &mut [Term],
    norms: &Norms,
    ordinals: &[u32],
    best: &mut Best,
) -> Result<u64, S::Error> {
    let many = ordinals.len();
    let mut halves = vec![0; terms.len() * many];
    for (term, row) in terms.iter_mut().zip(halves.chunks_exact_mut(many.max(1))) {
        for (slot, ordinal) in row.iter_mut().zip(ordinals) {
            *slot = term.cursor.halves_at(source, *ordinal)?;
        }
    }
    let mut scored = 0;
    let mut at = 0;
    for window in ordinals.chunk_by(|a, b| *a as usize / WINDOW == *b as usize / WINDOW) {
        let places = at..at + window.len();
        at = places.end;
        let held = |place: usize| halves.iter().skip(place).step_by(many);
        if places.clone().all(|place| held(place).all(|halves| *halves == 0)) {
            continue;
        }
        let Some(first) = window.first() else { continue };
        let lengths = source.lengths(first / WINDOW as u32)?;
        for (place, ordinal) in places.zip(window) {
            if held(place).all(|halves| *halves == 0) {
                continue;
            }
            let norm = norms.norm(lengths.get(*ordinal as usize % WINDOW)?);
            let parts = terms.iter().zip(held(place)).filter(|(_, halves)| **halves > 0);
            let score: f64 = parts.map(|(term, halves)| Norms::part(term.weight, *halves, norm)).sum();
            if score > 0.0 {
                scored += 1;
                best.offer(Candidate { score, ordinal: *ordinal });
            }
        }
    }
    Ok(scored)
}

/// How many of the memories, of which the numbers rise, hold the lexeme of a list.
///
/// # Errors
/// A page is damaged, or could not be read.
pub fn count_in<L: Lists>(lists: &mut L, cursor: &mut Cursor, ordinals: &[u32]) -> Result<u64, L::Error> {
    let mut count = 0;
    for ordinal in ordinals {
        count += u64::from(cursor.halves_at(lists, *ordinal)? > 0);
    }
    Ok(count)
}
