//! A condition on metadata, written as an SQL/JSON path (SRCH-22).

use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::memory::check_no_nul;

/// The text of a predicate. Whether it parses is for PostgreSQL to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaPredicate(String);

impl MetaPredicate {
    /// Reads a predicate.
    ///
    /// # Errors
    /// Blank text is refused under `SRCH-22`, U+0000 under `CONT-4`.
    pub fn parse(argument: &str, text: String) -> Result<Self, Invalid> {
        if text.trim().is_empty() {
            return Err(Invalid::new(
                argument,
                "SRCH-22",
                format!("argument \"{argument}\" is blank"),
                "Give an SQL/JSON path predicate such as '$.status == \"open\"'.",
            ));
        }
        check_no_nul(argument, &text)?;
        if names_variable(&text) {
            return Err(Invalid::new(
                argument,
                "SRCH-22",
                format!("argument \"{argument}\" names a variable, and there are none: {}", excerpt(&text)),
                "Write values into the path, as in '$.status == \"open\"'.",
            ));
        }
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it may compare dates or times, which needs a time zone where one side has none.
    ///
    /// Errs on the side of yes: the word may stand in a key or a string, and an escape may hide it.
    pub fn may_compare_times(&self) -> bool {
        ["date", "time", "\\"].iter().any(|sign| self.0.contains(sign))
    }

    /// Whether one row may take it long: a regular expression, or a walk through all that is nested.
    ///
    /// Errs on the side of yes, as [`may_compare_times`](Self::may_compare_times).
    pub fn may_run_long(&self) -> bool {
        ["like_regex", "**", "\\"].iter().any(|sign| self.0.contains(sign))
    }
}

/// Whether a variable stands in a path. The server would refuse it at the first row it looks at, which tells whether
/// there is one, also among those that the caller may not read.
fn names_variable(text: &str) -> bool {
    let mut rest = text.chars().peekable();
    let (mut in_string, mut in_comment) = (false, false);
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        match c {
            '*' if in_comment && next == Some('/') => {
                rest.next();
                in_comment = false;
            }
            _ if in_comment => {}
            // Whatever is escaped ends nothing.
            '\\' => {
                rest.next();
            }
            '"' => in_string = !in_string,
            _ if in_string => {}
            '/' if next == Some('*') => {
                rest.next();
                in_comment = true;
            }
            '$' if next.is_some_and(|next| next == '"' || is_of_name(next)) => return true,
            _ => {}
        }
    }
    false
}

/// Whether a character may stand in a name of a path as it is.
fn is_of_name(c: char) -> bool {
    !"?%$.[]{}()|&!=<>@#,*:-+/\\\" \t\n\r\u{c}".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_text_is_refused() {
        for text in ["", " ", "\n\t"] {
            let refusal = MetaPredicate::parse("meta_predicate", text.to_owned()).unwrap_err();
            assert_eq!((refusal.argument.as_str(), refusal.rule), ("meta_predicate", "SRCH-22"));
        }
        assert!(MetaPredicate::parse("meta_predicate", "$.a\0".to_owned()).is_err());
        assert_eq!(MetaPredicate::parse("m", "$.a == 1".to_owned()).unwrap().as_str(), "$.a == 1");
    }

    #[test]
    fn a_variable_is_refused_wherever_it_stands() {
        for text in [
            "$x == 1",
            "$.a == $x",
            "$1",
            "$\"x\" == 1",
            "$.a /* b */ == $b",
            "@.a == $ä",
            "\"\\\"\" == $x",
            "strict $a",
        ] {
            let refusal = MetaPredicate::parse("meta_predicate", text.to_owned()).unwrap_err();
            assert_eq!(refusal.rule, "SRCH-22", "{text}");
        }
        for text in [
            "$.a == \"$x\"",
            "$ == 1",
            "$.\"$x\" == 1",
            "$[*] ? (@ == 1)",
            "$ /* $x */ .a == 1",
            "$.a == \"\\\"$x\"",
            "$-1 == $",
            "$",
        ] {
            assert!(MetaPredicate::parse("meta_predicate", text.to_owned()).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_predicate_that_names_a_time_is_told_apart() {
        let times = |text: &str| MetaPredicate::parse("m", text.to_owned()).unwrap().may_compare_times();
        assert!(times("$.due.datetime() < \"2025-01-01\".datetime()"));
        assert!(times("$.d.date() < $.e.timestamp_tz()"));
        assert!(!times("$.a == 1"));
    }

    #[test]
    fn a_predicate_that_may_run_long_is_told_apart() {
        let long = |text: &str| MetaPredicate::parse("m", text.to_owned()).unwrap().may_run_long();
        assert!(long("$.a like_regex \"(a*)\\\\1b\""));
        assert!(long("$.**.a == 1"));
        assert!(!long("$.a * 2 == 4 && $.b[*] starts with \"x\""));
    }
}
