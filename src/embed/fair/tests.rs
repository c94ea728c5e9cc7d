//! Against providers that fail as they are told.

use super::*;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::time::Duration;

type Answer = Result<Vec<Embedded>, Fault>;

/// Answers a request, given its number and its texts.
struct Told<F: Fn(usize, &[&str]) -> Answer> {
    answer: F,
    requests: Cell<usize>,
}

impl<F: Fn(usize, &[&str]) -> Answer> Embedder for Told<F> {
    fn embed(&self, texts: &[&str], _interrupted: &dyn Fn() -> bool) -> Answer {
        let number = self.requests.get();
        self.requests.set(number + 1);
        (self.answer)(number, texts)
    }

    fn embed_query(&self, _text: &str, _interrupted: &dyn Fn() -> bool) -> Result<Vec<f32>, Fault> {
        Err(Fault::Interrupted)
    }

    fn batch(&self) -> usize {
        8
    }
}

fn good(text: &str) -> Embedded {
    Ok(vec![vec![text.len() as f32, 1.0]])
}

fn all_good(texts: &[&str]) -> Answer {
    Ok(texts.iter().map(|text| good(text)).collect())
}

/// Two numbers are right.
fn check(found: Embedded) -> Result<f32, String> {
    let found = found?;
    match found[0].as_slice() {
        [first, _] => Ok(*first),
        other => Err(format!("{} numbers", other.len())),
    }
}

/// What was settled, in order of places, the end, and the number of requests.
type Ran = (Vec<(usize, Result<f32, String>)>, Result<(), Undecided>, usize);

fn run(texts: &[&str], answer: impl Fn(usize, &[&str]) -> Answer) -> Ran {
    let told = Told { answer, requests: Cell::new(0) };
    let mut settled = Vec::new();
    let end = embed_each(&told, texts, &|| false, &check, &mut |decided| settled.extend(decided));
    settled.sort_by_key(|(place, _)| *place);
    (settled, end, told.requests.get())
}

fn down() -> Answer {
    Err(Fault::Failed("down".into()))
}

#[test]
fn a_batch_that_is_served_takes_one_request() {
    let (settled, end, requests) = run(&["a", "bb"], |_, texts| all_good(texts));
    assert_eq!((settled, end, requests), (vec![(0, Ok(1.0)), (1, Ok(2.0))], Ok(()), 1));
}

#[test]
fn a_text_that_fails_alone_beside_one_that_does_not_has_failed() {
    let (settled, end, requests) = run(&["a", "poison", "c"], |_, texts| match texts.contains(&"poison") {
        true => Err(Fault::Failed("out of cheese".into())),
        false => all_good(texts),
    });
    assert_eq!(settled, [(0, Ok(1.0)), (1, Err("out of cheese".into())), (2, Ok(1.0))]);
    // All, one, the bad one twice, the probe, the last one.
    assert_eq!((end, requests), (Ok(()), 6));
}

#[test]
fn a_bad_answer_for_many_is_no_fault_of_theirs() {
    let bad: [fn(&[&str]) -> Answer; 4] = [
        |texts| Ok(texts.iter().map(|_| Ok(vec![vec![1.0; 3]])).collect()),
        |texts| Ok(texts.iter().map(|_| Err("the provider sent no vector for it".into())).collect()),
        |texts| Ok(texts.iter().skip(1).map(|text| good(text)).collect()),
        |_| down(),
    ];
    for answer in bad {
        let (settled, end, _) =
            run(&["a", "bb"], |_, texts| if texts.len() > 1 { answer(texts) } else { all_good(texts) });
        assert_eq!((settled, end), (vec![(0, Ok(1.0)), (1, Ok(2.0))], Ok(())));
    }
}

#[test]
fn what_came_with_a_bad_answer_is_kept() {
    let (settled, end, requests) = run(&["a", "bb", "ccc"], |number, texts| match number {
        0 => Ok(vec![good("a"), Err("missing".into()), good("ccc")]),
        _ => all_good(texts),
    });
    assert_eq!(settled, [(0, Ok(1.0)), (1, Ok(2.0)), (2, Ok(3.0))]);
    assert_eq!((end, requests), (Ok(()), 2));
}

#[test]
fn a_provider_that_is_down_fails_no_text() {
    let (settled, end, requests) = run(&["a", "bb"], |_, _| down());
    assert_eq!(settled, []);
    assert_eq!(end, Err(Undecided { places: vec![0, 1], fault: Fault::Unavailable("down".into()) }));
    assert_eq!(requests, 4);
    // Nor does one that has vectors of another length for everything: somebody registered the wrong model.
    let (settled, end, _) =
        run(&["a"], |_, texts| Ok(texts.iter().map(|_| Ok(vec![vec![1.0; 3]])).collect()));
    assert_eq!(settled, []);
    assert_eq!(end, Err(Undecided { places: vec![0], fault: Fault::Unavailable("3 numbers".into()) }));
}

#[test]
fn what_is_left_when_the_provider_stops_serving_is_undecided() {
    for fault in [Fault::RateLimited(Some(Duration::from_secs(2))), Fault::Interrupted] {
        let (settled, end, _) = run(&["a", "bb", "ccc"], |number, texts| match number {
            0 => down(),
            1 => all_good(texts),
            _ => Err(fault.clone()),
        });
        assert_eq!(settled, [(0, Ok(1.0))]);
        assert_eq!(end, Err(Undecided { places: vec![1, 2], fault }));
    }
}

proptest! {
    #[test]
    fn every_text_is_settled_or_undecided_once(
        count in 1usize..12,
        whims in proptest::collection::vec(0u8..7, 60),
        poison in proptest::collection::hash_set(0usize..12, 0..4),
    ) {
        let texts: Vec<String> = (0..count).map(|n| "x".repeat(n + 1)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let seen = RefCell::new(Vec::new());
        let (settled, end, _) = run(&texts, |number, texts| {
            let bad = texts.iter().any(|text| !text.starts_with('m') && poison.contains(&(text.len() - 1)));
            let whim = if bad { 0 } else { whims[number % whims.len()] };
            seen.borrow_mut().push((texts.len(), texts[0].len(), whim));
            match whim {
                0 => down(),
                1 => Ok(Vec::new()),
                2 => Ok(texts.iter().enumerate().map(|(n, text)| if n % 2 == 0 { good(text) } else { Err("missing".into()) }).collect()),
                3 => Ok(texts.iter().map(|_| Ok(vec![vec![0.0; 3]])).collect()),
                4 => Err(Fault::RateLimited(None)),
                _ => all_good(texts),
            }
        });
        let undecided = end.err().map(|undecided| undecided.places).unwrap_or_default();
        let mut places: Vec<usize> = settled.iter().map(|(place, _)| *place).chain(undecided).collect();
        places.sort_unstable();
        prop_assert_eq!(places, (0..count).collect::<Vec<_>>(), "{:?}", seen);
        for (place, outcome) in settled {
            if let Ok(first) = outcome {
                prop_assert!(!poison.contains(&place));
                prop_assert_eq!(first, (place + 1) as f32);
            }
        }
    }
}
