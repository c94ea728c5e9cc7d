//! `ltxtquery`: a Boolean expression over the labels of a path, wherever they stand (LT-1 to LT-3).
//!
//! The text is printed anew from what was read, without blanks, superfluous parentheses or doubled negations, because
//! PostgreSQL skips fewer kinds of blanks than its documentation says and keeps a small stack of open operators.

use super::label::{Pattern, is_label_character};
use std::fmt;

/// Deepest nesting of parentheses: reading, printing and matching recurse.
const DEPTH: usize = 100;
/// Longest operand, in characters: PostgreSQL keeps its length in 8 bits.
const OPERAND_CHARS: usize = 255;
/// Most operands: PostgreSQL keeps distances between them in 16 bits and recurses along them.
const OPERANDS: usize = 4096;
/// Most bytes of all operands together, each with a closing byte: PostgreSQL keeps their places in 16 bits.
const OPERAND_BYTES: usize = 65_535;

/// A checked ltxtquery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ltxtquery {
    text: String,
    root: Expression,
}

/// No conjunction lies directly in a conjunction, no disjunction in a disjunction, no negation in a negation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Expression {
    Label(Pattern),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Ltxtquery {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong, as the rest of a sentence that starts with the filter.
    pub(super) fn parse(source: &str) -> Result<Self, String> {
        let mut reader = Reader { rest: source, depth: 0, operands: 0, bytes: 0 };
        let root = reader.any()?;
        match reader.peek() {
            None => Ok(Self { text: root.to_string(), root }),
            Some(')') => Err("a \")\" has no \"(\" before it".to_owned()),
            Some(found) => Err(format!("an operator was expected where {found:?} stands")),
        }
    }

    /// The text to hand to PostgreSQL as `ltxtquery`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a path of these labels satisfies the expression.
    pub(super) fn matches(&self, labels: &[&str]) -> bool {
        self.root.holds(labels)
    }
}

impl Expression {
    fn holds(&self, labels: &[&str]) -> bool {
        match self {
            Self::Label(pattern) => labels.iter().any(|label| pattern.matches(label)),
            Self::Not(inner) => !inner.holds(labels),
            Self::All(parts) => parts.iter().all(|part| part.holds(labels)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(labels)),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(pattern) => write!(f, "{pattern}"),
            Self::Not(inner) => match inner.as_ref() {
                Self::Label(_) => write!(f, "!{inner}"),
                _ => write!(f, "!({inner})"),
            },
            Self::All(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let joint = if at == 0 { "" } else { "&" };
                    match part {
                        Self::Any(_) => write!(f, "{joint}({part})")?,
                        _ => write!(f, "{joint}{part}")?,
                    }
                }
                Ok(())
            }
            Self::Any(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if at == 0 { "" } else { "|" })?;
                }
                Ok(())
            }
        }
    }
}

/// Reads by recursive descent; only parentheses recurse, and their depth is bounded.
struct Reader<'a> {
    rest: &'a str,
    depth: usize,
    operands: usize,
    bytes: usize,
}

impl Reader<'_> {
    fn any(&mut self) -> Result<Expression, String> {
        let mut parts = Vec::new();
        loop {
            match self.all()? {
                Expression::Any(inner) => parts.extend(inner),
                part => parts.push(part),
            }
            if !self.take('|') {
                return Ok(joined(parts, Expression::Any));
            }
        }
    }

    fn all(&mut self) -> Result<Expression, String> {
        let mut parts = Vec::new();
        loop {
            match self.not()? {
                Expression::All(inner) => parts.extend(inner),
                part => parts.push(part),
            }
            if !self.take('&') {
                return Ok(joined(parts, Expression::All));
            }
        }
    }

    fn not(&mut self) -> Result<Expression, String> {
        let mut negated = false;
        while self.take('!') {
            negated = !negated;
        }
        let operand = self.operand()?;
        Ok(match (negated, operand) {
            (false, operand) => operand,
            (true, Expression::Not(inner)) => *inner,
            (true, operand) => Expression::Not(Box::new(operand)),
        })
    }

    fn operand(&mut self) -> Result<Expression, String> {
        if self.take('(') {
            self.depth += 1;
            if self.depth > DEPTH {
                return Err(format!("its parentheses are nested deeper than the limit of {DEPTH}"));
            }
            let inner = self.any()?;
            self.depth -= 1;
            return match self.peek() {
                Some(')') => {
                    self.take(')');
                    Ok(inner)
                }
                None => Err("a \"(\" is not closed".to_owned()),
                Some(found) => Err(format!("an operator was expected where {found:?} stands")),
            };
        }
        let rest = self.rest.trim_start();
        let after =
            rest.trim_start_matches(|found| is_label_character(found) || matches!(found, '*' | '@' | '%'));
        let word = rest.strip_suffix(after).unwrap_or(rest);
        if word.is_empty() {
            return Err(match rest.chars().next() {
                None => "a label is missing at its end".to_owned(),
                Some(found) => format!("a label was expected where {found:?} stands"),
            });
        }
        self.rest = after;
        let pattern = Pattern::parse(word)?;
        if pattern.len() > OPERAND_CHARS {
            return Err(format!(
                "it has a label of {} characters, more than the {OPERAND_CHARS} a Boolean filter can hold",
                pattern.len()
            ));
        }
        self.operands += 1;
        self.bytes += pattern.len() + 1;
        if self.operands > OPERANDS || self.bytes > OPERAND_BYTES {
            return Err(format!(
                "it has more than {OPERANDS} labels or more than {OPERAND_BYTES} bytes of labels"
            ));
        }
        Ok(Expression::Label(pattern))
    }

    fn peek(&self) -> Option<char> {
        self.rest.trim_start().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

/// A list of one part is that part.
fn joined(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (Some(last), false) => {
            parts.push(last);
            many(parts)
        }
        (None, _) => many(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(query: &str, path: &str) -> bool {
        let labels: Vec<&str> = path.split('.').filter(|label| !label.is_empty()).collect();
        Ltxtquery::parse(query).unwrap().matches(&labels)
    }

    #[test]
    fn operands_are_looked_for_anywhere_and_in_any_order() {
        assert!(matches("a & b", "b.x.a") && !matches("a & b", "a.x"));
        assert!(matches("a & !b", "x.a") && !matches("a & !b", "b.a"));
        assert!(matches("!a&!b", "") && matches("!a & b*", "bcd"));
        assert!(matches("A@ & cd%", "a.x_cd") && !matches("A & cd", "a.cd"));
    }

    #[test]
    fn negation_binds_tighter_than_and_and_and_tighter_than_or() {
        assert!(matches("a | b & c", "a") && !matches("a | b & c", "b"));
        assert!(matches("a & b | c", "c") && !matches("(a | c) & b", "c"));
        assert!(matches("!a & b", "b") && !matches("!(a | b)", "b"));
        assert!(matches("!!a", "a") && !matches("!!!a", "a"));
    }

    #[test]
    fn faulty_syntax_is_refused() {
        for text in [
            "", "&", "a&", "&a", "a&&b", "a||b", "a|&b", "a b", "a & b c", "!", "a & !", "()", "a&()", "(a",
            "a)", "(a&b", "a&b)", ")a(", "a(b)", "a.b & c", "~ & a", "a & *", "a & @b", "a* * & b",
            "a*b & c", "é & a", "a ! & b", "a & b{1}",
        ] {
            assert!(Ltxtquery::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn blanks_of_every_kind_are_free_between_tokens_and_gone_in_the_text() {
        assert_eq!(Ltxtquery::parse("\t( a\n& ! b )|\u{a0}c ").unwrap().as_str(), "a&!b|c");
        assert_eq!(Ltxtquery::parse("((a)) & (b & (c | d)) & !(!e)").unwrap().as_str(), "a&b&(c|d)&e");
    }

    #[test]
    fn sizes_postgres_cannot_hold_are_refused() {
        let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        assert!(Ltxtquery::parse(&nested(100)).is_ok());
        assert!(Ltxtquery::parse(&nested(101)).is_err());
        assert!(Ltxtquery::parse(&nested(1_000_000)).is_err());
        assert!(Ltxtquery::parse(&format!("{}a", "!".repeat(1_000_001))).is_ok());
        assert!(Ltxtquery::parse(&"a".repeat(255)).is_ok());
        assert!(Ltxtquery::parse(&"a".repeat(256)).is_err());
        assert!(Ltxtquery::parse(&vec!["a"; 4096].join("&")).is_ok());
        assert!(Ltxtquery::parse(&vec!["a"; 4097].join("&")).is_err());
        assert!(Ltxtquery::parse(&vec!["a".repeat(255); 257].join("|")).is_err());
    }

    proptest! {
        #[test]
        fn print_then_parse_is_the_same(text in r"[ab!&|()* ]{1,24}") {
            if let Ok(query) = Ltxtquery::parse(&text) {
                prop_assert_eq!(Ltxtquery::parse(query.as_str()).unwrap(), query);
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text: String) {
            if let Ok(query) = Ltxtquery::parse(&text) {
                query.matches(&["a"]);
            }
        }
    }
}
