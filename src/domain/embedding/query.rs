//! A text that memories are to be compared with.

use crate::domain::invalid::Invalid;
use crate::domain::{limits, utf16};

/// A query: not empty, and cut where a model would stop reading (SRCH-11, LIM-9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query(String);

impl Query {
    /// Checks and cuts a text.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        if text.trim().is_empty() {
            return Err(Invalid::new(
                argument,
                "SRCH-11",
                format!("argument \"{argument}\" is empty"),
                "Give a text that means something.",
            ));
        }
        Ok(Self(utf16::prefix(text, limits::QUERY_UTF16).to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_query_is_cut_between_characters() {
        let long = "a".repeat(limits::QUERY_UTF16 - 1) + "🙂b";
        assert_eq!(Query::parse("input", &long).unwrap().as_str().len(), limits::QUERY_UTF16 - 1);
        assert_eq!(Query::parse("input", " short ").unwrap().as_str(), " short ");
        assert_eq!(Query::parse("input", " \n").unwrap_err().rule, "SRCH-11");
    }
}
