//! Who acts: the kinds of principal, and their names (spec §15 as amended by the design).

use super::invalid::{Invalid, excerpt};

/// What a principal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Somebody with a home.
    User,
    /// A program: no home, and admin only by its own roster entry (HOME-2, PRIN-6).
    Service,
    /// A role that others are members of.
    Group,
}

impl Kind {
    const ALL: [Self; 3] = [Self::User, Self::Service, Self::Group];

    /// Reads `user`, `service` or `group`.
    ///
    /// # Errors
    /// Anything else is refused under `PRIN-2`.
    pub fn parse(argument: &str, word: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|kind| kind.word() == word).ok_or_else(|| {
            Invalid::new(
                argument,
                "PRIN-2",
                format!("argument \"{argument}\" has unknown value {}", excerpt(word)),
                "Use one of \"user\", \"service\" or \"group\".",
            )
        })
    }

    /// `user`, `service` or `group`.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Service => "service",
            Self::Group => "group",
        }
    }

    /// The letter of `memory_context` (CTX-1).
    pub fn letter(self) -> &'static str {
        &self.word()[..1]
    }
}

/// The name of a principal: a role's, or the one an application gives its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrincipalName(String);

impl PrincipalName {
    /// Longest name, in characters: an e-mail address fits.
    const CHARS: usize = 255;

    /// Checks a name: 1 to 255 characters, none of them a control character, not blank.
    ///
    /// # Errors
    /// Anything else is refused under `PRIN-13`.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        let fits = (1..=Self::CHARS).contains(&text.chars().count());
        if fits && !text.trim().is_empty() && !text.chars().any(char::is_control) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::new(
            argument,
            "PRIN-13",
            format!("argument \"{argument}\" is no name of a principal: {}", excerpt(text)),
            "Use the name of a role, or 1 to 255 characters for an application user.",
        ))
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
    fn kinds_are_three_words() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse("kind", kind.word()), Ok(kind));
        }
        for bad in ["", "User", "u", "role", "users"] {
            assert_eq!(Kind::parse("kind", bad).unwrap_err().rule, "PRIN-2", "{bad:?}");
        }
        assert_eq!(Kind::Service.letter(), "s");
    }

    #[test]
    fn names_are_what_roles_and_mail_addresses_are() {
        for good in ["backend", "user@example.org", "Équipe 1", &"x".repeat(255)] {
            assert_eq!(PrincipalName::parse("principal", good).unwrap().as_str(), good);
        }
        for bad in ["", "  ", "a\nb", "a\u{7f}", &"x".repeat(256)] {
            assert_eq!(PrincipalName::parse("principal", bad).unwrap_err().rule, "PRIN-13", "{bad:?}");
        }
    }
}
