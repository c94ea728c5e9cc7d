//! A regular expression on the content (SRCH-23): how large it may become before the server compiles it.

use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::limits::{GREP_BYTES, GREP_STATES};

/// A pattern of bounded size. Whether it is a regular expression is for PostgreSQL to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// SRCH-23 when it is longer than [`GREP_BYTES`], or its repetitions unfold to more than [`GREP_STATES`] parts.
    pub fn parse(argument: &str, text: String) -> Result<Self, Invalid> {
        let refuse = |what: String| {
            Invalid::new(
                argument,
                "SRCH-23",
                format!("argument \"{argument}\" {what}: {}", excerpt(&text)),
                "Use a shorter pattern with fewer counted repetitions inside each other.",
            )
        };
        if text.len() > GREP_BYTES {
            return Err(refuse(format!("has {} bytes, more than {GREP_BYTES}", text.len())));
        }
        if unfolded(&text) > GREP_STATES {
            return Err(refuse(format!("unfolds to more than {GREP_STATES} parts")));
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// About how many parts the pattern has when counted repetitions are written out. It need not be exact, and need not
/// understand what is no regular expression anyway.
fn unfolded(text: &str) -> u64 {
    if text.starts_with("***=") {
        return text.len() as u64;
    }
    let mut groups: Vec<u64> = Vec::new();
    let (mut size, mut last) = (0u64, 0u64);
    let mut rest = text.chars();
    while let Some(found) = rest.next() {
        match found {
            '\\' => {
                rest.next();
                (size, last) = (size.saturating_add(1), 1);
            }
            '[' => {
                skip_bracket(&mut rest);
                (size, last) = (size.saturating_add(1), 1);
            }
            '(' => {
                groups.push(size);
                (size, last) = (0, 0);
            }
            ')' => {
                last = size.max(1);
                size = groups.pop().unwrap_or_default().saturating_add(last);
            }
            '{' => {
                let bounds: String = rest.by_ref().take_while(|found| *found != '}').collect();
                let most = bounds
                    .rsplit(',')
                    .find_map(|number| number.trim().parse::<u64>().ok())
                    .unwrap_or(1)
                    .max(1);
                let repeated = last.saturating_mul(most);
                size = size.saturating_sub(last).saturating_add(repeated);
                last = repeated;
            }
            '*' | '+' | '?' => {}
            _ => (size, last) = (size.saturating_add(1), 1),
        }
    }
    groups.into_iter().fold(size, u64::saturating_add)
}

fn skip_bracket(rest: &mut std::str::Chars) {
    let mut first = true;
    while let Some(found) = rest.next() {
        match found {
            '^' if first => continue,
            ']' if !first => return,
            '\\' => {
                rest.next();
            }
            _ => {}
        }
        first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_patterns_pass() {
        for pattern in [
            "^L.W$",
            "b.*e",
            "(a+)+(b+)+$",
            r"\d{4}-\d{2}",
            "[]a{1,255}]",
            "(unclosed",
            "***=a{255}{255}{255}",
        ] {
            assert!(Pattern::parse("grep", pattern.to_owned()).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn repetitions_inside_repetitions_are_refused() {
        for pattern in [
            "(((((a{1,255}){1,255}){1,255}){1,255})){1,2}",
            "((a{255}){255}",
            "(ab|cd){200}{200}",
            "((x{100}){100}){100,}",
        ] {
            assert_eq!(Pattern::parse("grep", pattern.to_owned()).unwrap_err().rule, "SRCH-23", "{pattern}");
        }
        assert!(Pattern::parse("grep", "a".repeat(GREP_BYTES + 1)).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"(?s).{0,40}|[a(){}\[\]\\^,0-9*|]{0,40}") {
            let _ = Pattern::parse("grep", text);
        }
    }
}
