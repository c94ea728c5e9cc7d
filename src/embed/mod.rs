//! Turns texts into vectors: by a model in this process, or by an endpoint. Knows no PostgreSQL.

pub mod fair;
pub mod http;
pub mod local;

use std::time::Duration;

/// The vectors of one text, one for each window of it, or why it has none.
pub type Embedded = Result<Vec<Vec<f32>>, String>;

/// Why no text of a batch was embedded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The provider failed; the text may be its fault, or not. Says what happened, without secrets.
    Failed(String),
    /// The provider cannot be reached or refuses us: not the text's fault. Says why, without secrets.
    Unavailable(String),
    /// The provider asks to wait (EMB-20); how long, if it says so.
    RateLimited(Option<Duration>),
    /// The caller asked to stop.
    Interrupted,
}

/// What computes vectors.
pub trait Embedder {
    /// Embeds texts, in their order. `interrupted` is asked now and then; when it answers true, the work is dropped.
    fn embed(&self, texts: &[&str], interrupted: &dyn Fn() -> bool) -> Result<Vec<Embedded>, Fault>;

    /// Embeds a query: its beginning, if it is longer than the model reads.
    fn embed_query(&self, text: &str, interrupted: &dyn Fn() -> bool) -> Result<Vec<f32>, Fault>;

    /// The most texts that are worth handing over at once.
    fn batch(&self) -> usize;
}

impl<T: Embedder + ?Sized> Embedder for &T {
    fn embed(&self, texts: &[&str], interrupted: &dyn Fn() -> bool) -> Result<Vec<Embedded>, Fault> {
        (**self).embed(texts, interrupted)
    }

    fn embed_query(&self, text: &str, interrupted: &dyn Fn() -> bool) -> Result<Vec<f32>, Fault> {
        (**self).embed_query(text, interrupted)
    }

    fn batch(&self) -> usize {
        (**self).batch()
    }
}
