//! One label pattern of a tree filter: a label with modifiers, shared by lquery and ltxtquery (LQ-4, LT-1).

use crate::domain::invalid::excerpt;
use std::fmt;

/// A label with its modifiers, and what it takes for a label to match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    text: String,
    prefix: bool,
    fold: bool,
    words: bool,
}

impl Pattern {
    /// Reads label characters, then each of the modifiers `*`, `@` and `%` at most once.
    ///
    /// PostgreSQL takes a repeated modifier but then reads the surplus as a part of the label, so that nothing
    /// matches; here it is refused.
    ///
    /// # Errors
    /// What is wrong, as the rest of a sentence.
    pub(super) fn parse(source: &str) -> Result<Self, String> {
        let modifiers = source.trim_start_matches(is_label_character);
        let text = source.strip_suffix(modifiers).unwrap_or(source);
        if text.is_empty() {
            return Err(match source.chars().next() {
                None => "it has an empty label".to_owned(),
                Some(found) => format!("a label was expected where {found:?} stands"),
            });
        }
        let mut pattern = Self { text: text.to_owned(), prefix: false, fold: false, words: false };
        for modifier in modifiers.chars() {
            let seen = match modifier {
                '*' => &mut pattern.prefix,
                '@' => &mut pattern.fold,
                '%' => &mut pattern.words,
                other if is_label_character(other) => {
                    return Err(format!(
                        "the modifiers of label {} are followed by {other:?}",
                        excerpt(text)
                    ));
                }
                other => return Err(format!("{other:?} may not stand after label {}", excerpt(text))),
            };
            if *seen {
                return Err(format!("modifier {modifier:?} stands twice after label {}", excerpt(text)));
            }
            *seen = true;
        }
        Ok(pattern)
    }

    /// The length of the label without its modifiers, in bytes (which are characters: labels are ASCII).
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The one label that matches, if there is only one.
    pub(super) fn only(&self) -> Option<&str> {
        (!self.prefix && !self.fold && !self.words).then_some(self.text.as_str())
    }

    /// Whether `label` matches (LQ-4).
    pub(super) fn matches(&self, label: &str) -> bool {
        if !self.words {
            return self.piece_matches(&self.text, label);
        }
        words(&self.text).all(|wanted| words(label).any(|word| self.piece_matches(wanted, word)))
    }

    fn piece_matches(&self, wanted: &str, found: &str) -> bool {
        let compared = if self.prefix { found.get(..wanted.len()).unwrap_or(found) } else { found };
        if self.fold { compared.eq_ignore_ascii_case(wanted) } else { compared == wanted }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        for (set, modifier) in [(self.words, "%"), (self.fold, "@"), (self.prefix, "*")] {
            if set {
                f.write_str(modifier)?;
            }
        }
        Ok(())
    }
}

/// The pieces between underscores; PostgreSQL knows no empty word.
fn words(label: &str) -> impl Iterator<Item = &str> {
    label.split('_').filter(|word| !word.is_empty())
}

/// Whether a character may stand in a label (TREE-2).
pub(super) fn is_label_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, label: &str) -> bool {
        Pattern::parse(pattern).unwrap().matches(label)
    }

    #[test]
    fn a_refusal_repeats_no_long_label() {
        for modifiers in ["é", "*a", "**"] {
            let refused = Pattern::parse(&format!("{}{modifiers}", "x".repeat(5000))).unwrap_err();
            assert!(refused.len() < 200, "{refused}");
        }
    }

    #[test]
    fn a_plain_label_matches_itself_alone() {
        assert!(matches("ab", "ab"));
        for label in ["abc", "a", "AB", "xab"] {
            assert!(!matches("ab", label), "{label}");
        }
    }

    #[test]
    fn modifiers_combine_in_any_order() {
        assert!(matches("pre*", "prefix") && matches("pre*", "pre") && !matches("pre*", "xpre"));
        assert!(matches("PRE@*", "prefix") && matches("PRE*@", "prefix"));
        assert!(!matches("PRE*", "prefix"));
        assert!(matches("AB_CD%@*", "x_cd2_ab1"));
    }

    #[test]
    fn words_match_in_any_position_and_order() {
        for label in ["ab_cd_x", "x_ab_cd", "cd_ab"] {
            assert!(matches("ab_cd%", label), "{label}");
        }
        assert!(!matches("ab_cd%", "ab_cdx"));
        assert!(matches("ab_cd%*", "ab1_cd2_x"));
        assert!(matches("__%", "anything"), "no words ask for nothing");
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "*", "@a", "a*b", "a**", "a%@%", "a b", "é", "a.b", "a~"] {
            assert!(Pattern::parse(text).is_err(), "{text:?}");
        }
    }
}
