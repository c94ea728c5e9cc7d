//! What a model is called, who computes it, and how long its vectors are.

use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::limits;
use serde::Deserialize;

/// The name a model is registered under.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelName(String);

impl ModelName {
    /// Checks a name: 1–100 of letters, digits and `. _ : / @ + -`, which covers what providers use.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::MODEL_NAME_CHARS).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:/@+-".contains(&byte)) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::new(
            argument,
            "EMB-24",
            format!("argument \"{argument}\" is no model name: {}", excerpt(text)),
            "Use 1 to 100 letters, digits or any of \".\", \"_\", \":\", \"/\", \"@\", \"+\" and \"-\".",
        ))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of a table for the model's vectors, made unique by eight hexadecimal digits of `random`.
    pub fn relation(&self, random: [u8; 16]) -> String {
        const READABLE: usize = 40;
        let readable: String = self
            .0
            .chars()
            .take(READABLE)
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
            .collect();
        let digits: String = random.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("vectors_{readable}_{digits}")
    }
}

/// Who computes a model's vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// This server, from files.
    Local,
    /// An endpoint of the OpenAI protocol (EMB-24).
    OpenAi,
    /// Callers bring vectors.
    Manual,
}

impl Provider {
    /// Reads the word.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        match text {
            "local" => Ok(Self::Local),
            "openai" => Ok(Self::OpenAi),
            "manual" => Ok(Self::Manual),
            _ => Err(Invalid::new(
                argument,
                "EMB-24",
                format!("argument \"{argument}\" has unknown value {}", excerpt(text)),
                "Use one of \"local\", \"openai\" or \"manual\".",
            )),
        }
    }

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::OpenAi => "openai",
            Self::Manual => "manual",
        }
    }
}

/// The length of a model's vectors: what an HNSW index over half-precision vectors can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions(u16);

impl Dimensions {
    /// Checks a length.
    pub fn parse(argument: &str, value: i32) -> Result<Self, Invalid> {
        u16::try_from(value)
            .ok()
            .filter(|value| (1..=limits::DIMENSIONS).contains(value))
            .map(Self)
            .ok_or_else(|| {
                Invalid::new(
                    argument,
                    "EMB-25",
                    format!("argument \"{argument}\" is {value}, not between 1 and {}", limits::DIMENSIONS),
                    "Give the length of the model's vectors.",
                )
            })
    }

    /// The number.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

/// Settings of a provider, as they are registered with a model. Never a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelOptions {
    /// `local`: the directory of the model, instead of the one of `me.local_model_path`.
    pub path: Option<String>,
    /// `openai`: the endpoint, instead of `me.embedding_url`.
    pub url: Option<String>,
    /// `openai`: the name the endpoint knows the model by, instead of the registered one.
    pub model: Option<String>,
    /// `openai`: whether to ask the endpoint for vectors of the registered length.
    pub send_dimensions: Option<bool>,
    /// `openai`: the most texts of one request.
    pub batch: Option<u16>,
    /// `openai`: the longest window of a text, in UTF-16 units: for endpoints that cut longer ones without saying so.
    pub window: Option<u16>,
}

/// What there is, for whoever gave something else.
const OPTIONS: &str = "Options are: path (local); url, model, send_dimensions, batch, window (openai).";

impl ModelOptions {
    /// Reads the options of a provider; those of another one are refused.
    pub fn parse(argument: &str, provider: Provider, text: &str) -> Result<Self, Invalid> {
        let refuse = |what: String, hint: &str| Invalid::new(argument, "EMB-24", what, hint);
        let options: Self = serde_json::from_str(text).map_err(|error| {
            let told = error.to_string();
            let told = told.split(" at line").next().unwrap_or_default();
            refuse(format!("argument \"{argument}\" cannot be used: {told}"), OPTIONS)
        })?;
        let http = options.url.is_some()
            || options.model.is_some()
            || options.send_dimensions.is_some()
            || options.batch.is_some()
            || options.window.is_some();
        let foreign = match provider {
            Provider::Local => http,
            Provider::OpenAi => options.path.is_some(),
            Provider::Manual => http || options.path.is_some(),
        };
        if foreign {
            return Err(refuse(
                format!(
                    "argument \"{argument}\" has options of another provider than \"{}\"",
                    provider.word()
                ),
                OPTIONS,
            ));
        }
        if options.batch == Some(0) || options.batch.is_some_and(|batch| batch > limits::EMBEDDING_BATCH) {
            return Err(refuse(
                format!("argument \"{argument}.batch\" is not between 1 and {}", limits::EMBEDDING_BATCH),
                "Give the most texts that the endpoint takes in one request.",
            ));
        }
        if options.window.is_some_and(|window| !limits::ENDPOINT_WINDOW.contains(&window)) {
            let (least, most) = (limits::ENDPOINT_WINDOW.start(), limits::ENDPOINT_WINDOW.end());
            return Err(refuse(
                format!("argument \"{argument}.window\" is not between {least} and {most}"),
                "Give the longest part of a text to send at once, in UTF-16 units; a token has about four.",
            ));
        }
        if let Some(url) = options.url.as_deref().filter(|url| !is_endpoint(url)) {
            return Err(refuse(
                format!("argument \"{argument}.url\" is no endpoint: {}", excerpt(url)),
                "Give an address that begins with https:// or http:// and holds no user, query or fragment.",
            ));
        }
        Ok(options)
    }

    /// Whether something in it decides which files are read or where texts are sent. The plain name of a model that
    /// was installed with the extension does not.
    pub fn reaches_out(&self) -> bool {
        let plain = |path: &str| !path.contains(['/', '\\', '\0']) && path != "..";
        self.url.is_some() || self.path.as_deref().is_some_and(|path| !plain(path))
    }
}

/// Whether an address can be the base of an endpoint. A user or a query could hold a secret, which the registry shows.
fn is_endpoint(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !url.chars().any(|c| matches!(c, '@' | '?' | '#') || c.is_whitespace() || c.is_control())
}

/// A registered model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name.
    pub name: ModelName,
    /// Who computes it.
    pub provider: Provider,
    /// The length of its vectors.
    pub dimensions: Dimensions,
    /// What its provider needs to know.
    pub options: ModelOptions,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_providers_use() {
        for good in ["text-embedding-3-small", "nomic-embed-text:latest", "BAAI/bge-small-en-v1.5", "m"] {
            assert_eq!(ModelName::parse("name", good).unwrap().as_str(), good);
        }
        for bad in ["", " m", "a b", "é", "a\"b", "a;b", &"m".repeat(101)] {
            assert_eq!(ModelName::parse("name", bad).unwrap_err().rule, "EMB-24", "{bad:?}");
        }
    }

    #[test]
    fn a_relation_is_a_short_plain_name() {
        let name = ModelName::parse("name", &format!("BAAI/Bge.{}", "x".repeat(90))).unwrap();
        let relation = name.relation([0xab; 16]);
        assert_eq!(relation, format!("vectors_baai_bge_{}_abababab", "x".repeat(31)));
        assert!(relation.len() <= 63);
    }

    #[test]
    fn dimensions_fit_an_index() {
        assert_eq!(Dimensions::parse("dimensions", 4000).unwrap().get(), 4000);
        for bad in [0, -1, 4001, i32::MAX] {
            assert_eq!(Dimensions::parse("dimensions", bad).unwrap_err().rule, "EMB-25");
        }
    }

    #[test]
    fn options_belong_to_their_provider() {
        let parse = |provider, text| ModelOptions::parse("options", provider, text);
        assert!(parse(Provider::Local, r#"{"path": "/models/a"}"#).unwrap().reaches_out());
        assert!(parse(Provider::Local, r#"{"path": "../a"}"#).unwrap().reaches_out());
        assert!(!parse(Provider::Local, r#"{"path": "wordllama-256"}"#).unwrap().reaches_out());
        assert!(!parse(Provider::OpenAi, r#"{"model": "m", "batch": 32}"#).unwrap().reaches_out());
        for (provider, text) in [
            (Provider::Local, r#"{"url": "http://h"}"#),
            (Provider::OpenAi, r#"{"path": "/a"}"#),
            (Provider::Manual, r#"{"path": "/a"}"#),
            (Provider::OpenAi, r#"{"key": "secret"}"#),
            (Provider::OpenAi, r#"{"batch": 0}"#),
            (Provider::OpenAi, r#"{"window": 99}"#),
            (Provider::OpenAi, r#"{"window": 24001}"#),
            (Provider::Manual, r#"{"window": 2000}"#),
            (Provider::OpenAi, r#"[]"#),
        ] {
            let refusal = parse(provider, text).unwrap_err();
            assert_eq!(refusal.rule, "EMB-24", "{text}");
            assert!(!refusal.message.contains("secret"), "{}", refusal.message);
        }
    }

    #[test]
    fn an_endpoint_holds_no_place_for_a_secret() {
        for good in ["http://localhost:11434", "https://api.example.com/v1"] {
            assert!(is_endpoint(good), "{good}");
        }
        for bad in [
            "",
            "ftp://h",
            "http://",
            "http:///x",
            "https://user:pw@h/",
            "https://h/?key=1",
            "https://h/#a",
            "https://h/ x",
        ] {
            assert!(!is_endpoint(bad), "{bad}");
        }
    }
}
