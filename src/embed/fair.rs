//! Whose fault it is when texts get no vectors: their own, or the provider's (EMB-21).
//!
//! A text has failed when it fails twice alone, and the provider serves another text right after. So a text is never
//! at fault for what happened to its neighbours, and a provider that is down fails nothing.

use super::{Embedded, Embedder, Fault};

/// A text that every provider has a vector for, unless it is ill.
const PROBE: &str = "memory";
/// How often a text is sent alone: a busy provider fails at random.
const TRIES: u32 = 2;

/// What came of texts, each with its place.
pub type Decided<T> = Vec<(usize, Result<T, String>)>;

/// Texts of which nothing is known, because the provider serves nobody now.
#[derive(Debug, PartialEq, Eq)]
pub struct Undecided {
    /// Their places.
    pub places: Vec<usize>,
    /// What happened.
    pub fault: Fault,
}

/// Embeds texts: together, and those that got no vectors alone. `check` makes of vectors what they are wanted for, or
/// says what is wrong with them. What is decided is handed to `settle` at once; each text is settled, or undecided.
///
/// # Errors
/// The texts that are undecided, and why.
pub fn embed_each<T>(
    embedder: &dyn Embedder,
    texts: &[&str],
    interrupted: &dyn Fn() -> bool,
    check: &dyn Fn(Embedded) -> Result<T, String>,
    settle: &mut dyn FnMut(Decided<T>),
) -> Result<(), Undecided> {
    let mut doubtful: Vec<usize> = Vec::new();
    match together(embedder, texts, interrupted, check) {
        Ok(found) => {
            let mut served = Vec::with_capacity(found.len());
            for (place, outcome) in found.into_iter().enumerate() {
                match outcome {
                    Ok(vectors) => served.push((place, Ok(vectors))),
                    Err(_) => doubtful.push(place),
                }
            }
            if !served.is_empty() {
                settle(served);
            }
        }
        Err(Fault::Failed(_)) => doubtful.extend(0..texts.len()),
        Err(fault) => return Err(Undecided { places: (0..texts.len()).collect(), fault }),
    }
    for (index, place) in doubtful.iter().enumerate() {
        match alone(embedder, texts[*place], interrupted, check) {
            Ok(outcome) => settle(vec![(*place, outcome)]),
            Err(fault) => return Err(Undecided { places: doubtful[index..].to_vec(), fault }),
        }
    }
    Ok(())
}

/// One answer for each text, or none.
fn together<T>(
    embedder: &dyn Embedder,
    texts: &[&str],
    interrupted: &dyn Fn() -> bool,
    check: &dyn Fn(Embedded) -> Result<T, String>,
) -> Result<Vec<Result<T, String>>, Fault> {
    let found = embedder.embed(texts, interrupted)?;
    if found.len() != texts.len() {
        return Err(Fault::Failed(format!("{} texts came back for {}", found.len(), texts.len())));
    }
    Ok(found.into_iter().map(check).collect())
}

/// What comes of one text.
fn alone<T>(
    embedder: &dyn Embedder,
    text: &str,
    interrupted: &dyn Fn() -> bool,
    check: &dyn Fn(Embedded) -> Result<T, String>,
) -> Result<Result<T, String>, Fault> {
    let once = |text: &str| match together(embedder, &[text], interrupted, check) {
        Ok(mut found) => Ok(found.pop().unwrap_or_else(|| Err("no answer came".into()))),
        Err(Fault::Failed(reason)) => Ok(Err(reason)),
        Err(fault) => Err(fault),
    };
    let mut reason = String::new();
    for _ in 0..TRIES {
        match once(text)? {
            Ok(vectors) => return Ok(Ok(vectors)),
            Err(said) => reason = said,
        }
    }
    match once(PROBE)? {
        Ok(_) => Ok(Err(reason)),
        Err(reason) => Err(Fault::Unavailable(reason)),
    }
}

#[cfg(test)]
mod tests;
