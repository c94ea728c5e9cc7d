//! What a space is called (PRIN-1 as amended by design §10).

use super::invalid::{Invalid, excerpt};

/// The immutable key of a space: 1–63 of `a-z 0-9 -`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slug(String);

impl Slug {
    /// Longest slug, in characters: what a PostgreSQL name holds.
    pub const CHARS: usize = 63;
    /// Length of a slug that is made when none is given.
    const MADE: usize = 12;

    /// Checks a slug.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        let fits = (1..=Self::CHARS).contains(&text.len());
        if fits && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::new(
            argument,
            "PRIN-1",
            format!("argument \"{argument}\" is no slug: {}", excerpt(text)),
            "Use 1 to 63 of the characters a-z, 0-9 and \"-\".",
        ))
    }

    /// Makes a slug of 12 characters `a-z 0-9` out of random bytes.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut rest = u128::from_be_bytes(bytes);
        let text = (0..Self::MADE)
            .map(|_| {
                let digit = DIGITS[(rest % 36) as usize];
                rest /= 36;
                char::from(digit)
            })
            .collect();
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The display name of a space: 1–100 characters, none of them a control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceName(String);

impl SpaceName {
    const CHARS: usize = 100;

    /// Checks a display name.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        let chars = text.chars().count();
        if (1..=Self::CHARS).contains(&chars)
            && !text.trim().is_empty()
            && !text.chars().any(char::is_control)
        {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::new(
            argument,
            "PRIN-1",
            format!("argument \"{argument}\" is no display name: {}", excerpt(text)),
            "Use 1 to 100 characters without control characters.",
        ))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What full text search of a space sees, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FulltextFields(Vec<&'static str>);

impl FulltextFields {
    const KNOWN: [&'static str; 5] = ["content", "name", "tree", "meta", "temporal"];

    /// Checks a list of fields: each of the known ones at most once, at least one.
    ///
    /// # Errors
    /// Anything else is refused under `SRCH-16`.
    pub fn parse(argument: &str, fields: &[Option<String>]) -> Result<Self, Invalid> {
        let refused = |message: String| {
            let hint = "Use one or more of \"content\", \"name\", \"tree\", \"meta\" and \"temporal\".";
            Invalid::new(argument, "SRCH-16", message, hint)
        };
        if fields.is_empty() {
            return Err(refused(format!("argument \"{argument}\" is empty")));
        }
        let mut known: Vec<&'static str> = Vec::with_capacity(fields.len());
        for field in fields {
            let field = field.as_deref();
            let Some(field) = field else {
                return Err(refused(format!("argument \"{argument}\" holds a null")));
            };
            let Some(found) = Self::KNOWN.into_iter().find(|known| *known == field) else {
                return Err(refused(format!(
                    "argument \"{argument}\" holds an unknown field {}",
                    excerpt(field)
                )));
            };
            if known.contains(&found) {
                return Err(refused(format!("argument \"{argument}\" holds \"{found}\" twice")));
            }
            known.push(found);
        }
        Ok(Self(known))
    }

    /// Their names.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_short_lower_case_labels() {
        assert_eq!(Slug::parse("slug", "team-1").unwrap().as_str(), "team-1");
        assert!(Slug::parse("slug", &"a".repeat(63)).is_ok());
        for bad in ["", "Team", "a_b", "a b", "é", "a\n", &"a".repeat(64)] {
            assert_eq!(Slug::parse("slug", bad).unwrap_err().rule, "PRIN-1", "{bad:?}");
        }
    }

    #[test]
    fn made_slugs_are_twelve_characters_and_valid() {
        for bytes in [[0; 16], [255; 16], [7; 16]] {
            let slug = Slug::from_random(bytes);
            assert_eq!(slug.as_str().len(), 12);
            assert_eq!(Slug::parse("slug", slug.as_str()), Ok(slug));
        }
    }

    #[test]
    fn display_names_are_not_blank() {
        assert!(SpaceName::parse("name", "Équipe 1").is_ok());
        for bad in ["", "  ", "a\tb", &"x".repeat(101)] {
            assert!(SpaceName::parse("name", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn fulltext_fields_are_known_ones_each_once() {
        let parse = |fields: &[&str]| {
            let fields: Vec<Option<String>> = fields.iter().map(|field| Some((*field).to_owned())).collect();
            FulltextFields::parse("fulltext_fields", &fields)
        };
        assert_eq!(parse(&["content", "name"]).unwrap().names(), ["content", "name"]);
        for bad in [&[][..], &["Content"], &["name", "name"], &["id"]] {
            assert_eq!(parse(bad).unwrap_err().rule, "SRCH-16", "{bad:?}");
        }
        assert!(FulltextFields::parse("fulltext_fields", &[None]).is_err());
    }
}
