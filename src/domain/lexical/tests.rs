//! The index against a reference that looks at everything.

use super::Damaged;
use super::block::BLOCK;
use super::build::Builder;
use super::dictionary::{Cursor, Lists, lookup};
use super::guide::page_of;
use super::merge::{Joined, Members, SEGMENT_MEMORIES, Stored, due, merge};
use super::page::tests::Pages;
use super::page::{Ids, Kind, Lengths, WINDOW};
use super::place::Place;
use super::scoring::Norms;
use super::topk::{Best, Candidate, Source, Term, count_in, score, search};
use crate::domain::search::bm25::Corpus;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A segment in memory, which counts the pages that are read.
#[derive(Debug, Default, Clone)]
struct Shelf {
    pages: Pages,
    read: usize,
}

impl Lists for Shelf {
    type Error = Damaged;

    fn postings(&mut self, number: u32, _last: u32) -> Result<Rc<[u8]>, Damaged> {
        self.read += 1;
        self.pages.bodies.get(&(Kind::Postings, number)).map(|page| page[..].into()).ok_or(Damaged)
    }
}

impl Source for Shelf {
    fn lengths(&mut self, window: u32) -> Result<Lengths, Damaged> {
        Lengths::open(self.pages.bodies.get(&(Kind::Lengths, window)).ok_or(Damaged)?[..].into())
    }
}

impl Stored for Shelf {
    fn dictionary(&mut self, number: u32) -> Result<Option<Vec<u8>>, Damaged> {
        Ok(self.pages.bodies.get(&(Kind::Dictionary, number)).cloned())
    }
}

impl Shelf {
    fn cursor(&self, lexeme: &str) -> Option<Cursor> {
        let wanted = (Kind::DictionaryGuide, lexeme.as_bytes().to_vec());
        let (_, guide) = self.pages.firsts.range((Kind::DictionaryGuide, Vec::new())..=wanted).next_back()?;
        let number =
            page_of(&self.pages.bodies[&(Kind::DictionaryGuide, *guide)], lexeme.as_bytes()).unwrap()?;
        let page = &self.pages.bodies[&(Kind::Dictionary, number)];
        lookup(page, lexeme.as_bytes()).unwrap().map(|record| Cursor::new(record.list))
    }
}

/// The same memories at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Small numbers often, large ones seldom.
    fn skewed(&mut self, bound: u64) -> u64 {
        let shift = self.below(u64::from(bound.ilog2()) + 1);
        self.below((bound >> shift).max(1))
    }
}

type Texts = Vec<(u64, BTreeMap<u64, u32>)>;

fn texts(random: &mut Random, count: usize, vocabulary: u64) -> Texts {
    let mut key = 0;
    (0..count)
        .map(|_| {
            key += 1 + random.below(9);
            let mut words = BTreeMap::new();
            for _ in 0..random.below(40) {
                *words.entry(random.skewed(vocabulary)).or_insert(0) += 1 + random.below(2) as u32;
            }
            (key, words)
        })
        .collect()
}

fn id(key: u64) -> [u8; 16] {
    u128::from(key).to_be_bytes()
}

fn place(key: u64) -> Place {
    Place { block: key as u32 + 3, line: 1 + key as u16 % 7 }
}

fn word(n: u64) -> String {
    format!("word{n:03}")
}

fn length(words: &BTreeMap<u64, u32>) -> u32 {
    words.values().sum()
}

fn shelf(texts: &Texts) -> (Shelf, Members) {
    let mut builder = Builder::default();
    for (key, words) in texts {
        builder.memory(id(*key), place(*key), length(words));
        words.iter().for_each(|(n, halves)| builder.lexeme(word(*n).as_bytes(), *halves));
    }
    let mut shelf = Shelf::default();
    builder.write(&mut shelf.pages).unwrap();
    let members = Members {
        ids: builder.ids().to_vec(),
        places: texts.iter().map(|(key, _)| place(*key)).collect(),
        lengths: builder.lengths().to_vec(),
        dead: Vec::new(),
    };
    (shelf, members)
}

fn reference(
    texts: &Texts,
    query: &[(u64, f64)],
    norms: &Norms,
    dead: &[u32],
    limit: usize,
) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = (0u32..)
        .zip(texts)
        .filter(|(ordinal, (_, words))| {
            !dead.contains(ordinal) && query.iter().any(|(n, _)| words.contains_key(n))
        })
        .map(|(ordinal, (_, words))| {
            let norm = norms.norm(length(words));
            let parts =
                query.iter().filter_map(|(n, weight)| Some(Norms::part(*weight, *words.get(n)?, norm)));
            Candidate { score: parts.sum(), ordinal }
        })
        .collect();
    all.sort_unstable();
    all.truncate(limit);
    all
}

fn found(
    shelf: &mut Shelf,
    query: &[(u64, f64)],
    norms: &Norms,
    documents: usize,
    dead: &[u32],
    best: Best,
) -> Vec<Candidate> {
    let mut terms: Vec<Term> = query
        .iter()
        .filter_map(|(n, weight)| Some(Term { weight: *weight, cursor: shelf.cursor(&word(*n))? }))
        .collect();
    let mut best = best;
    search(shelf, &mut terms, norms, documents as u32, |ordinal| dead.contains(&ordinal), &mut best).unwrap();
    best.into_sorted()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_best_are_those_of_the_reference(
        seed in any::<u64>(), count in 1usize..5000, vocabulary in 2u64..400, limit in 1usize..40,
        words in prop::collection::btree_map(0u64..40, 1u32..3, 1..6),
    ) {
        let mut random = Random(seed);
        let texts = texts(&mut random, count, vocabulary);
        let (mut shelf, members) = shelf(&texts);
        let dead: Vec<u32> = (0..count as u32).filter(|_| random.below(20) == 0).collect();
        let total: u32 = members.lengths.iter().sum();
        let norms = Norms::of(&Corpus { count: count as f64, length: f64::from(total) / 2.0 });
        let query: Vec<(u64, f64)> = words.iter().map(|(n, times)| {
            let documents = texts.iter().filter(|(_, words)| words.contains_key(n)).count();
            (*n, f64::from(*times) * ((count as f64 + 1.0) / (documents as f64 + 0.5)).ln().max(0.01))
        }).collect();
        let wanted = reference(&texts, &query, &norms, &dead, limit);
        let best = found(&mut shelf, &query, &norms, count, &dead, Best::new(limit, 0.0));
        prop_assert_eq!(&best, &wanted);
        // What is known to be beaten elsewhere need not be found; what equals it has to be.
        if let Some(floor) = wanted.get(wanted.len() / 2).map(|candidate| candidate.score) {
            let above = found(&mut shelf, &query, &norms, count, &dead, Best::new(limit, floor));
            let wanted: Vec<_> = wanted.into_iter().filter(|candidate| candidate.score >= floor).collect();
            prop_assert_eq!(above, wanted);
        }
        let (given, others): (Vec<u32>, Vec<u32>) =
            (0..count as u32).partition(|at| !dead.contains(at) && random.below(3) == 0);
        let mut terms: Vec<Term> = query
            .iter()
            .filter_map(|(n, weight)| Some(Term { weight: *weight, cursor: shelf.cursor(&word(*n))? }))
            .collect();
        let mut best = Best::new(limit, 0.0);
        score(&mut shelf, &mut terms, &norms, &given, &mut best).unwrap();
        prop_assert_eq!(best.into_sorted(), reference(&texts, &query, &norms, &others, limit));
        for (n, _) in &query {
            let documents = dead.iter().filter(|at| texts[**at as usize].1.contains_key(n)).count();
            if let Some(mut cursor) = shelf.cursor(&word(*n)) {
                prop_assert_eq!(count_in(&mut shelf, &mut cursor, &dead), Ok(documents as u64));
            }
        }
    }

    #[test]
    fn merging_makes_what_building_anew_makes(seed in any::<u64>(), counts in prop::collection::vec(0usize..1500, 1..4), mixed in any::<bool>()) {
        let mut random = Random(seed);
        let mut all: Texts = texts(&mut random, counts.iter().sum(), 300);
        // The memories of a part lie in one interval of ids, or anywhere.
        let mut parts: Vec<Texts> = vec![Vec::new(); counts.len()];
        for (at, text) in all.drain(..).enumerate() {
            let part = if mixed { random.below(counts.len() as u64) as usize } else { at * counts.len() / counts.iter().sum::<usize>().max(1) };
            parts[part.min(counts.len() - 1)].push(text);
        }
        let (mut shelves, mut members) = (Vec::new(), Vec::new());
        let mut living = Texts::new();
        for part in &parts {
            let (shelf, mut known) = shelf(part);
            known.dead = (0..part.len() as u32).filter(|_| random.below(10) == 0).collect();
            living.extend((0u32..).zip(part).filter(|(at, _)| !known.dead.contains(at)).map(|(_, text)| text.clone()));
            shelves.push(shelf);
            members.push(known);
        }
        living.sort_unstable_by_key(|(key, _)| *key);
        let joined = Joined::of(&members);
        let mut merged = Pages::default();
        merge(&mut shelves, &joined, &mut merged).unwrap();
        let (anew, known) = shelf(&living);
        prop_assert_eq!(&joined.ids, &known.ids);
        prop_assert_eq!(&joined.lengths, &known.lengths);
        prop_assert_eq!(&merged.bodies, &anew.pages.bodies);
        prop_assert_eq!(&merged.firsts, &anew.pages.firsts);
    }

    #[test]
    fn merging_comes_to_an_end_with_few_segments(sizes in prop::collection::vec((1u64..400_000, 0u64..1000), 0..30)) {
        let mut segments = sizes;
        let mut turns = 0;
        loop {
            let wanted = due(&segments);
            if wanted.is_empty() { break }
            let live: u64 = wanted.iter().map(|at| segments[*at].0).sum();
            prop_assert!(wanted.len() == 1 || live <= SEGMENT_MEMORIES);
            let mut at = 0;
            segments.retain(|_| { at += 1; !wanted.contains(&(at - 1)) });
            segments.push((live, 0));
            turns += 1;
            prop_assert!(turns < 100);
        }
        let mut small: Vec<u64> = segments.iter().map(|(live, _)| *live).collect();
        small.sort_unstable();
        let mut sum = 0;
        for live in small {
            prop_assert!(sum == 0 || live > sum || sum + live > SEGMENT_MEMORIES);
            sum += live;
        }
    }

    #[test]
    fn any_page_is_read_or_refused(page in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = lookup(&page, b"word");
        let _ = Ids::open(&page).map(|ids| ids.all().count());
        let _ = Lengths::open(page.into()).map(|lengths| lengths.all());
    }
}

#[test]
fn a_common_word_is_answered_from_few_pages() {
    // Every memory has the word; some, late, have it often and little else.
    let texts: Texts = (0..60_000u64)
        .map(|n| {
            let often = n % 5000 == 4321;
            (n, BTreeMap::from([(0, if often { 12 } else { 2 }), (1 + n % 50, if often { 2 } else { 30 })]))
        })
        .collect();
    let (mut shelf, _) = shelf(&texts);
    let norms = Norms::of(&Corpus { count: 60_000.0, length: 960_000.0 });
    let query = [(0, 1.5)];
    let best = found(&mut shelf, &query, &norms, texts.len(), &[], Best::new(10, 0.0));
    assert_eq!(best, reference(&texts, &query, &norms, &[], 10));
    let pages = shelf.pages.bodies.keys().filter(|(kind, _)| *kind == Kind::Postings).count();
    assert!(shelf.read < pages, "{} of {pages}", shelf.read);
}

#[test]
fn equal_memories_are_found_in_the_order_of_their_ids() {
    let texts: Texts = (0..3 * WINDOW as u64).map(|n| (n, BTreeMap::from([(0, 2), (1, 4)]))).collect();
    let (mut shelf, _) = shelf(&texts);
    let norms = Norms::of(&Corpus { count: 100.0, length: 300.0 });
    let best = found(&mut shelf, &[(0, 0.3), (1, 0.7)], &norms, texts.len(), &[], Best::new(BLOCK, 0.0));
    let ordinals: Vec<u32> = best.iter().map(|candidate| candidate.ordinal).collect();
    assert_eq!(ordinals, (0..BLOCK as u32).collect::<Vec<_>>());
}

#[test]
fn a_damaged_list_is_noticed() {
    let (mut shelf, _) = shelf(&(0..9000u64).map(|n| (n, BTreeMap::from([(0, 2 + n as u32 % 7)]))).collect());
    for body in
        shelf.pages.bodies.iter_mut().filter(|((kind, _), _)| *kind == Kind::Postings).map(|(_, body)| body)
    {
        body.truncate(body.len() / 2);
    }
    let cursor = shelf.cursor(&word(0)).unwrap();
    assert!(matches!(cursor.list().all(&mut shelf), Err(Damaged)));
}
