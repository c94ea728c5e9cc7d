//! What creating a memory does when its key is taken (CONF-1…9).

use super::invalid::{Invalid, excerpt};

/// How a clash on the key is settled; the key is (tree, name) for a named memory, else the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// The call fails.
    #[default]
    Error,
    /// The stored memory takes the submitted values.
    Replace,
    /// The stored memory stays as it is.
    Ignore,
}

impl OnConflict {
    /// Reads `error`, `replace` or `ignore`; null means `error`.
    pub fn parse(argument: &str, word: Option<&str>) -> Result<Self, Invalid> {
        match word {
            None | Some("error") => Ok(Self::Error),
            Some("replace") => Ok(Self::Replace),
            Some("ignore") => Ok(Self::Ignore),
            Some(other) => Err(Invalid::new(
                argument,
                "CONF-2",
                format!("argument \"{argument}\" has unknown value {}", excerpt(other)),
                "Use one of \"error\", \"replace\" or \"ignore\".",
            )),
        }
    }
}

/// Which key of a submitted memory was found taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clash {
    /// Its (tree, name), the key of a named memory.
    Slot,
    /// Its id, the key of an unnamed memory.
    Id,
    /// The id of a named memory whose slot is free: never settled, whatever the mode (CONF-1).
    StrayId,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Refuse with CONFLICT.
    Refuse,
    /// Keep the stored memory.
    Skip,
    /// Give the stored memory the submitted values, if they differ (CONF-6).
    Replace,
}

/// The conflict matrix of spec 10.2.
pub fn settle(clash: Clash, mode: OnConflict) -> Settlement {
    match (clash, mode) {
        (Clash::StrayId, _) | (_, OnConflict::Error) => Settlement::Refuse,
        (_, OnConflict::Ignore) => Settlement::Skip,
        (_, OnConflict::Replace) => Settlement::Replace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_omitted_mode_is_error_and_unknown_words_are_refused() {
        assert_eq!(OnConflict::parse("on_conflict", None), Ok(OnConflict::Error));
        assert_eq!(OnConflict::parse("on_conflict", Some("ignore")), Ok(OnConflict::Ignore));
        for word in ["", "Replace", "update"] {
            let refusal = OnConflict::parse("on_conflict", Some(word)).unwrap_err();
            assert_eq!((refusal.argument.as_str(), refusal.rule), ("on_conflict", "CONF-2"));
        }
    }

    #[test]
    fn a_stray_id_is_a_conflict_in_every_mode() {
        for mode in [OnConflict::Error, OnConflict::Replace, OnConflict::Ignore] {
            assert_eq!(settle(Clash::StrayId, mode), Settlement::Refuse);
        }
    }

    #[test]
    fn the_mode_governs_a_clash_on_the_key() {
        for clash in [Clash::Slot, Clash::Id] {
            assert_eq!(settle(clash, OnConflict::Error), Settlement::Refuse);
            assert_eq!(settle(clash, OnConflict::Ignore), Settlement::Skip);
            assert_eq!(settle(clash, OnConflict::Replace), Settlement::Replace);
        }
    }
}
