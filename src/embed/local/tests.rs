//! The models that come with the extension (`scripts/setup-model`), against values another implementation computed.

use super::*;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::thread;

type Work = Box<dyn FnOnce() + Send>;

/// Runs the body of a test on one and the same thread, as a server process does.
fn on_one_thread(test: impl FnOnce() + Send + 'static) {
    static THREAD: OnceLock<Mutex<Sender<Work>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (give, take) = channel::<Work>();
        thread::spawn(move || take.into_iter().for_each(|work| work()));
        Mutex::new(give)
    });
    let (tell, told) = channel();
    let work: Work = Box::new(move || {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        tell.send(outcome).unwrap();
    });
    thread.lock().unwrap().send(work).unwrap();
    if let Err(failure) = told.recv().unwrap() {
        std::panic::resume_unwind(failure);
    }
}

#[derive(Deserialize)]
struct Reference {
    text: String,
    tokens: usize,
    vector: Vec<f32>,
}

fn references() -> Vec<Reference> {
    serde_json::from_str(include_str!("reference.json")).unwrap()
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".dev/models").join(name)
}

fn minilm() -> &'static LocalModel {
    static MODEL: OnceLock<LocalModel> = OnceLock::new();
    MODEL.get_or_init(|| LocalModel::open(&directory("all-MiniLM-L6-v2")).unwrap())
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn never() -> bool {
    false
}

#[test]
fn vectors_match_another_implementation() {
    on_one_thread(|| {
        for reference in references() {
            let vector = minilm().embed_query(&reference.text, &never).unwrap();
            let cosine = cosine(&vector, &reference.vector);
            assert!(cosine >= 0.9999, "{cosine} for {:?}", reference.text);
            let windows = minilm().tokens.windows(&reference.text, 1).unwrap();
            assert_eq!(windows[0].len(), reference.tokens, "{:?}", reference.text);
        }
    });
}

#[test]
fn a_batch_gives_each_text_what_it_would_get_alone() {
    on_one_thread(|| {
        let references = references();
        let texts: Vec<&str> = references.iter().map(|reference| reference.text.as_str()).collect();
        let found = minilm().embed(&texts, &never).unwrap();
        for (reference, vectors) in references.iter().zip(found) {
            let vectors = vectors.unwrap();
            assert!(cosine(&vectors[0], &reference.vector) >= 0.9999, "{:?}", reference.text);
            assert_eq!(vectors.len() > 1, reference.tokens == 256, "{:?}", reference.text);
        }
    });
}

#[test]
fn what_is_said_at_the_end_of_a_long_text_has_a_window() {
    on_one_thread(|| {
        let mut long = "The weather was dull and nothing happened that day. ".repeat(120);
        long.push_str("The password of the vault is kept by the night watchman.");
        let windows = minilm().embed(&[&long], &never).unwrap().remove(0).unwrap();
        let query = minilm().embed_query("Who keeps the vault password?", &never).unwrap();
        let likeness: Vec<f64> = windows.iter().map(|window| cosine(window, &query)).collect();
        assert!(windows.len() > 4);
        assert!(likeness[windows.len() - 1] > likeness[0] + 0.1, "{likeness:?}");
    });
}

#[test]
fn work_is_dropped_when_nobody_waits_for_it() {
    on_one_thread(|| {
        assert_eq!(minilm().embed(&["text"], &|| true), Err(Fault::Interrupted));
        assert_eq!(minilm().embed_query("text", &|| true), Err(Fault::Interrupted));
    });
}

#[test]
fn a_table_of_token_vectors_knows_what_is_alike() {
    on_one_thread(|| {
        let model = LocalModel::open(&directory("wordllama-256")).unwrap();
        assert_eq!(model.dimensions(), 256);
        let of = |text: &str| model.embed(&[text], &never).unwrap().remove(0).unwrap().remove(0);
        let bank = of("The bank raised its interest rates.");
        assert!(
            cosine(&bank, &of("Loans got more expensive.")) > cosine(&bank, &of("A cat sleeps on the sofa."))
        );
        assert!(of("").iter().all(|number| *number == 0.0));
    });
}

#[test]
fn a_directory_without_a_model_is_named() {
    on_one_thread(|| {
        let missing = LocalModel::open(Path::new("/nowhere/at all")).err().unwrap();
        assert!(missing.contains("/nowhere/at all/tokenizer.json"), "{missing}");
    });
}
