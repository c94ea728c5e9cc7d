//! The one way a value can be wrong: where it stands, which rule it breaks, and what to do about it.

use std::fmt;

/// A refused argument (kind `VALIDATION`, spec ERR-1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The argument as the caller spelled it, with a place inside it where there is one: `tree`, `memories[2].name`.
    pub argument: String,
    /// The rule of the specification that was broken, for instance `TREE-4`.
    pub rule: &'static str,
    /// What is wrong: lower case, no full stop, names the argument and the offending value (shortened).
    pub message: String,
    /// What the caller can do: one whole sentence.
    pub hint: String,
}

impl Invalid {
    /// Builds a refusal of `argument` under `rule`.
    pub fn new(
        argument: impl Into<String>,
        rule: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { argument: argument.into(), rule, message: message.into(), hint: hint.into() }
    }

    /// The refusal of a required argument that was absent or null (CALL-2).
    pub fn missing(argument: &str) -> Self {
        Self::new(
            argument,
            "CALL-2",
            format!("argument \"{argument}\" is required"),
            format!("Give \"{argument}\" a value that is not null."),
        )
    }

    /// The same refusal, placed inside an outer argument: `name` becomes `memories[2].name`.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.argument = format!("{outer}.{}", self.argument);
        self
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Invalid {}

/// Quotes a caller's value for a message, cut to 60 characters so that an error never repeats a document.
pub fn excerpt(value: &str) -> String {
    const SHOWN: usize = 60;
    let mut chars = value.chars();
    let head: String = chars.by_ref().take(SHOWN).collect();
    if chars.next().is_some() { format!("{head:?}…") } else { format!("{head:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_inside_an_item_names_the_item() {
        let refusal = Invalid::missing("content").within("memories[2]");
        assert_eq!(refusal.argument, "memories[2].content");
    }

    #[test]
    fn a_long_value_is_cut_in_messages() {
        assert_eq!(excerpt("a\nb"), "\"a\\nb\"");
        assert_eq!(excerpt(&"x".repeat(100)).chars().count(), 63);
    }
}
