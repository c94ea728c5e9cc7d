//! Models in this process, read from a directory in the layout their makers publish.
//!
//! A forward pass runs on the thread that asks for it and on no other: in a server process nobody else may run. It is
//! always the same thread that asks.

mod bert;
mod pooling;
mod static_table;
mod tokens;

use super::{Embedded, Embedder, Fault};
use bert::Bert;
use serde::Deserialize;
use static_table::StaticTable;
use std::fs;
use std::path::Path;
use std::sync::Once;
use tokens::Tokens;

/// A model that was read from a directory.
pub struct LocalModel {
    tokens: Tokens,
    network: Network,
}

enum Network {
    Bert(Box<Bert>),
    Static(StaticTable),
}

/// Why a directory is no model: a sentence that names the file.
pub type LoadError = String;

/// What `config.json` says about the kind of a model.
#[derive(Deserialize)]
struct Kind {
    model_type: Option<String>,
}

impl LocalModel {
    /// Reads a model: a BERT-family one when its `config.json` says so, a table of token vectors (Model2Vec's layout,
    /// or any single matrix with a tokenizer) otherwise.
    ///
    /// # Errors
    /// Names the file that is missing or cannot be used.
    pub fn open(directory: &Path) -> Result<Self, LoadError> {
        no_helpers();
        let config = directory.join("config.json");
        let kind = match fs::read_to_string(&config) {
            Ok(text) => {
                let kind: Kind =
                    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", config.display()))?;
                kind.model_type
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("{}: {error}", config.display())),
        };
        match kind.as_deref() {
            Some("bert" | "roberta" | "xlm-roberta" | "camembert") => {
                let bert = Bert::open(directory)?;
                let tokens = Tokens::open(directory, Some(bert.max_tokens()))?;
                Ok(Self { tokens, network: Network::Bert(Box::new(bert)) })
            }
            None | Some("model2vec" | "static") => {
                let tokens = Tokens::open(directory, None)?;
                Ok(Self { tokens, network: Network::Static(StaticTable::open(directory)?) })
            }
            Some(other) => Err(format!("{}: models of type \"{other}\" are not supported", config.display())),
        }
    }

    /// The length of its vectors.
    pub fn dimensions(&self) -> usize {
        match &self.network {
            Network::Bert(bert) => bert.dimensions(),
            Network::Static(table) => table.dimensions(),
        }
    }

    fn embed_windows(
        &self,
        windows: &[Vec<u32>],
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, Fault> {
        one_thread();
        match &self.network {
            Network::Bert(bert) => bert.embed(windows, interrupted),
            Network::Static(table) => Ok(windows.iter().map(|window| table.embed(window)).collect()),
        }
    }
}

impl Embedder for LocalModel {
    fn embed(&self, texts: &[&str], interrupted: &dyn Fn() -> bool) -> Result<Vec<Embedded>, Fault> {
        let mut windows: Vec<Vec<u32>> = Vec::new();
        let mut parts: Vec<Result<std::ops::Range<usize>, String>> = Vec::with_capacity(texts.len());
        for text in texts {
            if interrupted() {
                return Err(Fault::Interrupted);
            }
            parts.push(self.tokens.windows(text, usize::MAX).map(|of_text| {
                let start = windows.len();
                windows.extend(of_text);
                start..windows.len()
            }));
        }
        let vectors = self.embed_windows(&windows, interrupted)?;
        Ok(parts.into_iter().map(|part| part.map(|range| vectors[range].to_vec())).collect())
    }

    fn embed_query(&self, text: &str, interrupted: &dyn Fn() -> bool) -> Result<Vec<f32>, Fault> {
        let windows = self.tokens.windows(text, 1).map_err(Fault::Failed)?;
        let vectors = self.embed_windows(&windows, interrupted)?;
        vectors.into_iter().next().ok_or_else(|| Fault::Failed("the text has no tokens".into()))
    }

    fn batch(&self) -> usize {
        match self.network {
            Network::Bert(_) => 32,
            Network::Static(_) => 256,
        }
    }
}

/// Keeps the tensor library from starting threads of its own when it is first used: a process that reads a model and
/// then forks would leave them behind, and its children would wait for them for ever.
fn no_helpers() {
    static ONCE: Once = Once::new();
    // SAFETY: as in `one_thread`. The variable concerns this library alone.
    ONCE.call_once(|| unsafe { std::env::set_var("CANDLE_NUM_THREADS", "1") });
}

/// Keeps matrix products on the calling thread, for the rest of the process.
fn one_thread() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: called by the one thread of a server process that works with texts; helper threads read no
        // environment. The library asks this variable how many threads it may use, at every product.
        unsafe { std::env::set_var("RAYON_NUM_THREADS", "1") };
        // With the current thread as its only one, the pool starts none: a thread in a server process would be
        // handed the signals that are meant for the process.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
        // Somebody else's pool is there already: then it is theirs to bound.
        drop(pool);
    });
}

#[cfg(test)]
mod tests;
