//! Identifiers of memories and operations: UUIDs of version 7 and nothing else (ID-1, ID-2).

use crate::domain::invalid::{Invalid, excerpt};
use std::fmt;

/// The offsets of the hyphens in the one accepted spelling.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
/// The length of the one accepted spelling, in bytes.
const SPELLED: usize = 36;

/// A UUID of version 7 and the RFC variant (ID-1).
///
/// The order is the order of the bytes, which is the order of the spelling and PostgreSQL's own order of `uuid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id([u8; 16]);

impl Id {
    /// Reads the spelling 8-4-4-4-12 in either case (ID-1).
    ///
    /// # Errors
    /// Another spelling is refused under `ID-1`; another version or variant under `ID-2`.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        match spelled(text) {
            Some(bytes) => Self::from_bytes(argument, bytes),
            None => Err(Invalid::new(
                argument,
                "ID-1",
                format!("argument \"{argument}\" is not a UUID: {}", excerpt(text)),
                "Write the id as 8-4-4-4-12 hexadecimal digits with hyphens, for instance \
                 0190a1b2-0000-7000-8000-000000000001.",
            )),
        }
    }

    /// Takes the sixteen bytes of a UUID, for instance those of a value of SQL type `uuid`.
    ///
    /// # Errors
    /// A version other than 7 or a variant other than the RFC's is refused under `ID-2`.
    pub fn from_bytes(argument: &str, bytes: [u8; 16]) -> Result<Self, Invalid> {
        let id = Self(bytes);
        let version = bytes[6] >> 4;
        let fault = if bytes[8] >> 6 != 0b10 {
            "is a UUID of another variant than RFC 9562".to_owned()
        } else if version != 7 {
            format!("is a UUID of version {version}, not 7")
        } else {
            return Ok(id);
        };
        Err(Invalid::new(
            argument,
            "ID-2",
            format!("argument \"{argument}\" {fault}: \"{id}\""),
            "Give a UUID of version 7, or leave the id of a new memory out to have one made.",
        ))
    }

    /// The sixteen bytes, most significant first.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for Id {
    /// Prints the canonical spelling: lower case, hyphenated (ID-1).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// The bytes behind an exact 8-4-4-4-12 spelling, whatever version they are.
fn spelled(text: &str) -> Option<[u8; 16]> {
    if text.len() != SPELLED {
        return None;
    }
    let mut value: u128 = 0;
    for (at, character) in text.char_indices() {
        if HYPHENS.contains(&at) {
            if character != '-' {
                return None;
            }
        } else {
            value = value << 4 | u128::from(character.to_digit(16)?);
        }
    }
    Some(value.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOWER: &str = "0190a1b2-0000-7000-8000-0000000000ab";

    fn rule(text: &str) -> &'static str {
        Id::parse("id", text).unwrap_err().rule
    }

    #[test]
    fn either_case_is_read_and_lower_case_is_written() {
        for text in [LOWER, "0190A1B2-0000-7000-8000-0000000000AB"] {
            assert_eq!(Id::parse("id", text).unwrap().to_string(), LOWER);
        }
    }

    #[test]
    fn every_rfc_variant_digit_is_accepted_and_no_other() {
        for digit in "0123456789abcdef".chars() {
            let text = format!("0190a1b2-0000-7000-{digit}000-000000000001");
            assert_eq!(Id::parse("id", &text).is_ok(), "89ab".contains(digit), "{text}");
            if !"89ab".contains(digit) {
                assert_eq!(rule(&text), "ID-2");
            }
        }
    }

    #[test]
    fn every_version_but_seven_is_refused() {
        for digit in "012345689abcdef".chars() {
            let text = format!("0190a1b2-0000-{digit}000-8000-000000000001");
            assert_eq!(rule(&text), "ID-2", "{text}");
        }
        let refusal = Id::parse("memoryId", "0190a1b2-0000-4000-8000-000000000001").unwrap_err();
        assert_eq!(refusal.argument, "memoryId");
        assert!(refusal.message.contains("version 4"), "{refusal}");
        assert!(refusal.message.contains("0190a1b2-0000-4000"), "{refusal}");
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "",
            "nonsense",
            "0190a1b2000070008000000000000001",
            "{0190a1b2-0000-7000-8000-000000000001}",
            "urn:uuid:0190a1b2-0000-7000-8000-000000000001",
            "0190a1b2-0000-7000-8000-000000000001\n",
            " 0190a1b2-0000-7000-8000-000000000001",
            "0190a1b2-0000-7000-8000-00000000000g",
            "0190a1b20-000-7000-8000-000000000001",
            "0190a1b2-0000-7000-8000-0000000000\u{e9}",
            "0190a1b2-0000-7000-8000--00000000001",
            "+190a1b2-0000-7000-8000-000000000001",
            // Full-width digits are digits elsewhere, not here; the byte length is right.
            "0190a1b2-0000-7000-8000-000000000\u{ff11}",
        ] {
            assert_eq!(rule(text), "ID-1", "{text:?}");
        }
    }

    #[test]
    fn a_refusal_shows_the_offending_value_cut() {
        let refusal = Id::parse("id", &"z".repeat(500)).unwrap_err();
        assert!(refusal.message.contains("\"zzz"), "{refusal}");
        assert!(refusal.message.len() < 150, "{refusal}");
    }

    #[test]
    fn the_order_is_the_order_of_the_spelling() {
        let earlier = Id::parse("id", "0190a1b2-0000-7000-8000-000000000001").unwrap();
        let later = Id::parse("id", "0190a1b2-0001-7000-8000-000000000000").unwrap();
        assert!(earlier < later);
    }

    proptest! {
        #[test]
        fn printing_then_parsing_gives_the_same_id(mut bytes: [u8; 16]) {
            bytes[6] = 0x70 | bytes[6] & 0x0f;
            bytes[8] = 0x80 | bytes[8] & 0x3f;
            let id = Id::from_bytes("id", bytes).unwrap();
            prop_assert_eq!(Id::parse("id", &id.to_string()).unwrap(), id);
            prop_assert_eq!(id.as_bytes(), &bytes);
        }

        #[test]
        fn arbitrary_text_never_panics(text: String) {
            let _ = Id::parse("id", &text);
        }

        #[test]
        fn text_near_a_spelling_never_panics(text in "[0-9a-fA-F\u{e9}-]{30,40}") {
            if let Ok(id) = Id::parse("id", &text) {
                prop_assert_eq!(id.to_string(), text.to_ascii_lowercase());
            }
        }
    }
}
