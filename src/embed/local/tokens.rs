//! Texts as windows of token ids.

use std::path::Path;
use tokenizers::Tokenizer;

/// Tokens that neighbouring windows share, so that no sentence is cut in both.
const OVERLAP: usize = 32;
/// Most windows of one text.
const WINDOWS: usize = crate::domain::limits::WINDOWS;
/// What is looked at of a text, in bytes: more than fills the windows.
const BYTES: usize = 4 * 1024 * 1024;

/// A tokenizer, and how many tokens the model reads at once.
pub struct Tokens {
    tokenizer: Tokenizer,
    /// The model's bound, special tokens included; none for a model that adds up tokens.
    most: Option<usize>,
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Tokens {
    /// Reads `tokenizer.json`.
    pub fn open(directory: &Path, most: Option<usize>) -> Result<Self, String> {
        let path = directory.join("tokenizer.json");
        let told = |error: tokenizers::Error| format!("{}: {error}", path.display());
        let mut tokenizer = Tokenizer::from_file(&path).map_err(told)?;
        // What the file says about length and padding is for other programs: windows are ours.
        tokenizer.with_truncation(None).map_err(told)?.with_padding(None);
        let (mut first, mut last) = (Vec::new(), Vec::new());
        if let Some(most) = most {
            let special = tokenizer.encode_fast("", true).map_err(told)?.get_ids().to_vec();
            if let Some((start, end)) = special.split_first() {
                first.push(*start);
                last.extend(end);
            }
            if most <= special.len() + 2 * OVERLAP {
                return Err(format!("{}: the model reads only {most} tokens", path.display()));
            }
        }
        Ok(Self { tokenizer, most, first, last })
    }

    /// The windows of a text, at most `most` of them, each as the model wants to read it.
    pub fn windows(&self, text: &str, most: usize) -> Result<Vec<Vec<u32>>, String> {
        let mut end = text.len().min(BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let encoding = self
            .tokenizer
            .encode_fast(&text[..end], false)
            .map_err(|error| format!("the text cannot be split into tokens: {error}"))?;
        let ids = encoding.get_ids();
        let Some(reads) = self.most else { return Ok(vec![ids.to_vec()]) };
        let room = reads - self.first.len() - self.last.len();
        Ok(starts(ids.len(), room)
            .take(most.min(WINDOWS))
            .map(|start| {
                let end = ids.len().min(start + room);
                [&self.first, &ids[start..end], &self.last].concat()
            })
            .collect())
    }
}

/// Where the windows of `length` tokens begin when each holds `room`: the last one ends with the text.
fn starts(length: usize, room: usize) -> impl Iterator<Item = usize> {
    let step = room - OVERLAP;
    let more = length.saturating_sub(room).div_ceil(step);
    (0..=more).map(move |index| (index * step).min(length.saturating_sub(room)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_text_is_one_window() {
        assert_eq!(starts(0, 254).collect::<Vec<_>>(), [0]);
        assert_eq!(starts(254, 254).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_long_text_ends_with_a_whole_window() {
        assert_eq!(starts(255, 254).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(starts(600, 254).collect::<Vec<_>>(), [0, 222, 346]);
    }

    proptest! {
        #[test]
        fn windows_cover_the_text_and_overlap(length in 0usize..5000, room in 70usize..600) {
            let starts: Vec<usize> = starts(length, room).collect();
            prop_assert_eq!(starts[0], 0);
            prop_assert!(starts[starts.len() - 1] + room >= length);
            for pair in starts.windows(2) {
                prop_assert!(pair[0] < pair[1]);
                prop_assert!(pair[0] + room >= pair[1] + OVERLAP);
            }
        }
    }
}
