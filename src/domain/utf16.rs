//! Lengths, offsets and slices in UTF-16 code units; the only file that knows about surrogate pairs.
//!
//! Clients count text the way JavaScript does (SEL-6): a character beyond U+FFFF counts two.

/// The length of `text` in UTF-16 code units.
pub fn len(text: &str) -> usize {
    // Each character has one byte that is no continuation byte; four-byte characters need a pair.
    text.bytes().map(|byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
}

/// The code units from `start` up to but not including `end`, or to the end of `text` (SEL-4).
///
/// Bounds beyond the end are cut; an empty or backward range gives `""` (SEL-7). A surrogate pair cut in two leaves
/// U+FFFD for the half that lies inside (SEL-16), because text cannot hold half a character.
pub fn slice(text: &str, start: usize, end: Option<usize>) -> String {
    if end.is_some_and(|end| end <= start) {
        return String::new();
    }
    let from = locate(text, start);
    let to = end.map_or(Place::whole(text.len()), |end| locate(text, end));
    let first = if from.splits { from.byte + PAIR_BYTES } else { from.byte };
    let body = text.get(first..to.byte).unwrap_or_default();
    let mut out = String::with_capacity(body.len() + 2 * char::REPLACEMENT_CHARACTER.len_utf8());
    if from.splits {
        out.push(char::REPLACEMENT_CHARACTER);
    }
    out.push_str(body);
    if to.splits {
        out.push(char::REPLACEMENT_CHARACTER);
    }
    out
}

/// The longest start of `text` that has at most `units` code units and splits no pair (LIM-9).
pub fn prefix(text: &str, units: usize) -> &str {
    text.get(..locate(text, units).byte).unwrap_or_default()
}

/// A character that needs a surrogate pair takes this many bytes in UTF-8.
const PAIR_BYTES: usize = 4;

/// Where an offset in code units falls in the UTF-8 text.
struct Place {
    /// The offset in bytes, on a character boundary, never beyond the end.
    byte: usize,
    /// Whether the offset falls inside the pair of the character that starts at `byte`.
    splits: bool,
}

impl Place {
    fn whole(byte: usize) -> Self {
        Self { byte, splits: false }
    }
}

fn locate(text: &str, units: usize) -> Place {
    let mut passed = 0;
    for (byte, character) in text.char_indices() {
        if passed >= units {
            return Place::whole(byte);
        }
        passed += character.len_utf16();
        if passed > units {
            return Place { byte, splits: true };
        }
    }
    Place::whole(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "ab😀cdefghij";

    #[test]
    fn a_character_beyond_the_basic_plane_counts_two() {
        assert_eq!(len(TEXT), 12);
        assert_eq!(len("\u{ffff}\u{e9}a"), 3);
        assert_eq!(len(""), 0);
    }

    #[test]
    fn the_end_is_not_part_of_a_slice() {
        assert_eq!(slice(TEXT, 0, Some(4)), "ab😀");
        assert_eq!(slice(TEXT, 2, Some(5)), "😀c");
        assert_eq!(slice(TEXT, 10, None), "ij");
    }

    #[test]
    fn bounds_beyond_the_end_are_cut() {
        assert_eq!(slice(TEXT, 0, Some(500)), TEXT);
        assert_eq!(slice(TEXT, 11, Some(usize::MAX)), "j");
        assert_eq!(slice(TEXT, 12, None), "");
        assert_eq!(slice(TEXT, usize::MAX, None), "");
        assert_eq!(slice("", 0, None), "");
    }

    #[test]
    fn an_empty_or_backward_range_is_empty_even_inside_a_pair() {
        assert_eq!(slice(TEXT, 0, Some(0)), "");
        assert_eq!(slice(TEXT, 5, Some(5)), "");
        assert_eq!(slice(TEXT, 5, Some(2)), "");
        assert_eq!(slice(TEXT, 3, Some(3)), "");
    }

    #[test]
    fn each_half_of_a_cut_pair_becomes_the_replacement_character() {
        assert_eq!(slice(TEXT, 0, Some(3)), "ab\u{fffd}");
        assert_eq!(slice(TEXT, 3, Some(5)), "\u{fffd}c");
        assert_eq!(slice(TEXT, 3, None), "\u{fffd}cdefghij");
        assert_eq!(slice(TEXT, 2, Some(3)), "\u{fffd}");
        assert_eq!(slice(TEXT, 3, Some(4)), "\u{fffd}");
        assert_eq!(slice("😀😀", 1, Some(3)), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_prefix_never_splits_a_pair() {
        assert_eq!(prefix(TEXT, 2), "ab");
        assert_eq!(prefix(TEXT, 3), "ab");
        assert_eq!(prefix(TEXT, 4), "ab😀");
        assert_eq!(prefix(TEXT, 0), "");
        assert_eq!(prefix(TEXT, 99), TEXT);
    }

    fn mixed() -> impl Strategy<Value = String> {
        proptest::collection::vec(prop_oneof![any::<char>(), Just('😀'), Just('a'), Just('\u{e9}')], 0..40)
            .prop_map(|characters| characters.into_iter().collect())
    }

    proptest! {
        #[test]
        fn lengths_and_slices_agree_with_an_array_of_code_units(
            text in mixed(), start in 0_usize..90, end in proptest::option::of(0_usize..90),
        ) {
            let units: Vec<u16> = text.encode_utf16().collect();
            prop_assert_eq!(len(&text), units.len());
            let to = end.unwrap_or(units.len()).min(units.len());
            let from = start.min(to);
            prop_assert_eq!(slice(&text, start, end), String::from_utf16_lossy(&units[from..to]));
        }

        #[test]
        fn a_prefix_is_the_longest_that_fits(text in mixed(), units in 0_usize..90) {
            let cut = prefix(&text, units);
            prop_assert!(text.starts_with(cut));
            prop_assert!(len(cut) <= units);
            if let Some(next) = text[cut.len()..].chars().next() {
                prop_assert!(len(cut) + next.len_utf16() > units);
            }
        }
    }
}
