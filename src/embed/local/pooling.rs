//! How the vectors of tokens become the vector of a text, as the model's own files say.

use serde::Deserialize;
use std::fs;
use std::path::Path;

/// The pooling of a sentence model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean of all tokens.
    Mean,
    /// The first token.
    First,
    /// The greatest value of each dimension.
    Max,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PoolingConfig {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
}

#[derive(Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
}

impl Pooling {
    /// Reads `modules.json` and the pooling it names; without them the mean, which most models use.
    pub fn open(directory: &Path) -> Result<Self, String> {
        let Some(modules) = read::<Vec<Module>>(&directory.join("modules.json"))? else {
            return Ok(Self::Mean);
        };
        let Some(module) = modules.iter().find(|module| module.kind.ends_with(".Pooling")) else {
            return Ok(Self::Mean);
        };
        let path = directory.join(&module.path).join("config.json");
        let config: PoolingConfig = read(&path)?.unwrap_or_default();
        match (config.pooling_mode_mean_tokens, config.pooling_mode_cls_token, config.pooling_mode_max_tokens)
        {
            (true, false, false) | (false, false, false) => Ok(Self::Mean),
            (false, true, false) => Ok(Self::First),
            (false, false, true) => Ok(Self::Max),
            _ => Err(format!("{}: more than one way of pooling is not supported", path.display())),
        }
    }
}

/// How many tokens the model's makers let it read (`sentence_bert_config.json`), if they say.
pub fn max_tokens(directory: &Path) -> Result<Option<usize>, String> {
    let config: Option<SentenceConfig> = read(&directory.join("sentence_bert_config.json"))?;
    Ok(config.and_then(|config| config.max_seq_length))
}

/// A JSON file; none when it is not there.
pub fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, String> {
    match fs::read_to_string(path) {
        Ok(text) => {
            serde_json::from_str(&text).map(Some).map_err(|error| format!("{}: {error}", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}
