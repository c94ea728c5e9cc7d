//! Memories as text: reading what an import brings and writing what an export takes away (IMP-5 to IMP-10, EXP-3 to
//! EXP-7).
//!
//! Every format is first brought to one JSON object per record, then [`record`] checks its fields; so a rule about a
//! field holds in every format. No record is held twice, and nothing recurses along the input.

mod core_schema;
mod export;
mod json;
mod markdown;
mod record;
mod yaml;

pub use export::{MarkdownFile, export, markdown_files};
pub use record::ImportRecord;

use crate::domain::batch::{Repeat, first_repeat};
use crate::domain::id::Id;
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::memory::Name;
use crate::domain::patch::{listed, nearest};
use crate::domain::path::TreePath;
use record::Place;

/// The argument that holds the text of an import.
const ARGUMENT: &str = "content";

/// How memories are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferFormat {
    /// One object, an array, or one object a line.
    Json,
    /// YAML 1.2, core schema: one mapping or a sequence.
    Yaml,
    /// One memory: front matter in YAML, then the content.
    Markdown,
}

impl TransferFormat {
    /// Reads the word `json`, `yaml` or `md`.
    ///
    /// # Errors
    /// Another word is refused under `IMP-10`, with the nearest known one.
    pub fn parse(argument: &str, word: &str) -> Result<Self, Invalid> {
        const WORDS: [&str; 3] = ["json", "yaml", "md"];
        match word {
            "json" => Ok(Self::Json),
            "yaml" => Ok(Self::Yaml),
            "md" => Ok(Self::Markdown),
            other => Err(Invalid::new(
                argument,
                "IMP-10",
                format!("argument \"{argument}\" is no known format: {}", excerpt(other)),
                format!("Did you mean \"{}\"? The formats are {}.", nearest(other, &WORDS), listed(&WORDS)),
            )),
        }
    }

    /// Tells the format from the first characters that are no white space: `---` is Markdown, `{` or `[` JSON, all
    /// else YAML (IMP-10).
    pub fn detect(content: &str) -> Self {
        let start = without_mark(content).trim_start();
        if start.starts_with("---") {
            Self::Markdown
        } else if start.starts_with(['{', '[']) {
            Self::Json
        } else {
            Self::Yaml
        }
    }
}

/// Reads every record of `content`, in order; without a `format` it is told from the text.
///
/// # Errors
/// The first fault refuses the whole text (IMP-7). The refusal names the argument `content` and, where it lies in a
/// record, the record's number from 1 and its line where the format has one.
pub fn parse(content: &str, format: Option<TransferFormat>) -> Result<Vec<ImportRecord>, Invalid> {
    let text = without_mark(content);
    match format.unwrap_or_else(|| TransferFormat::detect(text)) {
        TransferFormat::Json => json::parse(text),
        TransferFormat::Yaml => yaml::parse(text),
        TransferFormat::Markdown => markdown::parse(text).map(|record| vec![record]),
    }
}

/// The text without a byte order mark in front, which is no part of it in any of the formats.
fn without_mark(content: &str) -> &str {
    content.strip_prefix('\u{feff}').unwrap_or(content)
}

/// The refusal of a record, of which everything but the record's own text is known: `record` counts from 1.
pub fn refuse(record: usize, inner: Invalid) -> Invalid {
    Place { record, line: None }.refuse(inner)
}

/// Refuses two records with the same key (IMP-13).
///
/// # Errors
/// The second of them is refused under `BAT-4` or `BAT-5`.
pub fn check_keys<'a>(
    records: impl Iterator<Item = (Option<Id>, &'a TreePath, Option<&'a Name>)>,
) -> Result<(), Invalid> {
    match first_repeat(records) {
        None => Ok(()),
        Some(Repeat { key, first, second }) => Err(refuse(
            second + 1,
            Invalid::new(
                ARGUMENT,
                key.rule(),
                format!("the {} are those of record {} already", key.words(), first + 1),
                "Leave each memory in the text once.",
            ),
        )),
    }
}

/// The refusal of a text that holds no record at all.
fn nothing(what: &str) -> Invalid {
    Invalid::new(
        ARGUMENT,
        "IMP-9",
        format!("argument \"{ARGUMENT}\" {what}"),
        "Give at least one record, for instance {\"content\": \"text\", \"tree\": \"share/notes\"}.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_twice_names_both_records() {
        let (tree, name) = (TreePath::root(), Name::parse("name", "n").unwrap());
        let records = [(None, &tree, None), (None, &tree, Some(&name)), (None, &tree, Some(&name))];
        let refusal = check_keys(records.into_iter()).unwrap_err();
        assert_eq!((refusal.rule, refusal.argument.as_str()), ("BAT-5", "content"));
        assert_eq!(
            refusal.message,
            "argument \"content\", record 3: the tree and name are those of record 2 already"
        );
    }

    #[test]
    fn three_words_are_formats() {
        for (word, format) in
            [("json", TransferFormat::Json), ("yaml", TransferFormat::Yaml), ("md", TransferFormat::Markdown)]
        {
            assert_eq!(TransferFormat::parse("format", word), Ok(format));
        }
        for word in ["", "JSON", "markdown", "yml", "ndjson", "compact"] {
            let refusal = TransferFormat::parse("format", word).unwrap_err();
            assert_eq!((refusal.argument.as_str(), refusal.rule), ("format", "IMP-10"), "{word}");
        }
    }

    #[test]
    fn the_format_is_told_from_the_start_of_the_text() {
        for (text, format) in [
            ("---\nid: x\n---\n", TransferFormat::Markdown),
            ("\n ---", TransferFormat::Markdown),
            (" \n{}", TransferFormat::Json),
            ("[]", TransferFormat::Json),
            ("\u{feff}[]", TransferFormat::Json),
            ("- content: x", TransferFormat::Yaml),
            ("content: x", TransferFormat::Yaml),
            ("", TransferFormat::Yaml),
        ] {
            assert_eq!(TransferFormat::detect(text), format, "{text:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped_in_every_format() {
        for text in ["{\"content\":\"x\"}", "content: x", "---\ntree: a\n---\nx"] {
            assert_eq!(parse(&format!("\u{feff}{text}"), None).unwrap()[0].content, "x", "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in r#"(?s).{0,40}|[\[\]{}":,a\\\n \-&*!|>%#'0]{0,40}"#) {
            for format in [TransferFormat::Json, TransferFormat::Yaml, TransferFormat::Markdown] {
                let _ = parse(&text, Some(format));
            }
        }
    }
}
