//! What full text search sees of a memory: words for the server's parser, characters for scripts without blanks
//! between words, and how often each lexeme stands there.

use std::borrow::Cow;
use std::collections::HashMap;

/// Occurrences are counted in halves: one in the content is two, one in another field is one. So every field counts,
/// and each below the content.
pub const IN_CONTENT: u32 = 2;
/// See [`IN_CONTENT`].
pub const IN_FIELD: u32 = 1;
/// Most halves of one lexeme in one piece: what the position of a `tsvector` can say.
pub const HALVES: u32 = 16_383;
/// Longest lexeme in bytes, tag included: what a `tsvector` can hold.
pub const LEXEME_BYTES: usize = 2046;
/// Largest piece in bytes of lexemes; a `tsvector` holds 1 MiB, and small ones are quicker to read.
pub const PIECE_BYTES: usize = 512 * 1024;
/// Bytes of the tag in front of every lexeme.
pub const TAG_BYTES: usize = 4;

/// Four characters that stand in front of every lexeme of a space, so that one index holds the spaces apart. Two
/// spaces may share a tag: rows are checked for their space, so that this costs time and nothing else.
#[must_use]
pub fn tag(space: &str) -> [u8; TAG_BYTES] {
    const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    // FNV-1a: stored with the rows, so it may never change.
    let mut hash: u32 = 0x811c_9dc5;
    for byte in space.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash ^= hash >> 24;
    [0, 6, 12, 18].map(|shift| DIGITS[(hash >> shift) as usize & 63])
}

/// Whether a character belongs to a script that PostgreSQL's parser does not split into words: Han, Kana, Hangul,
/// Bopomofo.
#[must_use]
pub fn is_unsplit(found: char) -> bool {
    matches!(u32::from(found),
        0x1100..=0x11FF | 0x3005..=0x3007 | 0x3041..=0x3096 | 0x309D..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x318F
        | 0x31A0..=0x31BF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xA960..=0xA97F
        | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFFDC | 0x20000..=0x3FFFF)
}

/// Punctuation of those scripts. Under some locales the parser would glue it to the words around it.
fn is_wide_punctuation(found: char) -> bool {
    matches!(u32::from(found), 0x3000..=0x3004 | 0x3008..=0x3040 | 0x3097..=0x309C | 0x30A0 | 0x30FB
        | 0xFF01..=0xFF0F | 0xFF1A..=0xFF20 | 0xFF3B..=0xFF40 | 0xFF5B..=0xFF65)
}

/// A text in two parts: what the server's parser reads, and the runs of characters it could not split.
#[derive(Debug, PartialEq, Eq)]
pub struct Split<'a> {
    /// The text with a blank in the place of each unsplit run.
    pub words: Cow<'a, str>,
    /// The runs.
    pub runs: Vec<&'a str>,
}

/// Takes the unsplit runs out of a text.
#[must_use]
pub fn split(text: &str) -> Split<'_> {
    // All of them begin with a byte from 0xE1 on; most texts have none.
    if !text.bytes().any(|byte| byte >= 0xE1) {
        return Split { words: Cow::Borrowed(text), runs: Vec::new() };
    }
    let mut words = String::with_capacity(text.len());
    let mut runs = Vec::new();
    let mut run_from: Option<usize> = None;
    for (at, found) in text.char_indices() {
        if is_unsplit(found) {
            run_from.get_or_insert(at);
            continue;
        }
        if let Some(from) = run_from.take() {
            runs.push(&text[from..at]);
            words.push(' ');
        }
        words.push(if is_wide_punctuation(found) { ' ' } else { found });
    }
    if let Some(from) = run_from {
        runs.push(&text[from..]);
    }
    Split { words: Cow::Owned(words), runs }
}

/// Cuts a text without tags into parts that the server's parser sees the same tokens in, one by one.
///
/// Blanks end its tokens, but not every blank begins it anew: with what comes before them they make one token of things
/// to be left out, in which a sign, a point or a slash does not begin what it would begin by itself. A letter or a digit
/// of ASCII ends that in any case. So a part begins with one of these, behind a blank.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let begins = |pair: &[u8]| is_blank(pair[0]) && pair[1].is_ascii_alphanumeric();
        let end = rest.as_bytes().windows(2).position(begins).map_or(rest.len(), |blank| blank + 1);
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word.trim_end_matches(|found: char| found.is_ascii() && is_blank(found as u8)))
    })
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// The lexemes of a run in a memory: each character, and each pair of neighbours.
pub fn stored_grams(run: &str) -> impl Iterator<Item = &str> {
    grams(run, 1).chain(grams(run, 2))
}

/// The lexemes of a run in a query: its pairs, or its only character.
pub fn query_grams(run: &str) -> impl Iterator<Item = &str> {
    let single = run.chars().nth(1).is_none();
    grams(run, if single { 1 } else { 2 })
}

fn grams(run: &str, size: usize) -> impl Iterator<Item = &str> {
    let ends = move |at: usize| {
        let mut chars = run[at..].chars();
        let mut end = at;
        for _ in 0..size {
            end += chars.next()?.len_utf8();
        }
        Some(end)
    };
    run.char_indices().filter_map(move |(at, _)| ends(at).map(|end| &run[at..end]))
}

/// Counts lexemes.
#[derive(Debug, Default)]
pub struct Counts {
    halves: HashMap<Box<[u8]>, u32>,
    /// Where keys are put together.
    key: Vec<u8>,
}

/// A part of a memory's lexemes that fits a `tsvector`: sorted, each with its halves (1 to [`HALVES`]).
pub type Piece = Vec<(Box<[u8]>, u16)>;

impl Counts {
    /// Adds occurrences of a lexeme; what is too long to be stored is left out.
    pub fn add(&mut self, tag: [u8; TAG_BYTES], lexeme: &[u8], halves: u32) {
        if lexeme.is_empty() || lexeme.len() > LEXEME_BYTES - TAG_BYTES {
            return;
        }
        self.key.clear();
        self.key.extend_from_slice(&tag);
        self.key.extend_from_slice(lexeme);
        match self.halves.get_mut(self.key.as_slice()) {
            Some(count) => *count = count.saturating_add(halves),
            None => {
                self.halves.insert(self.key.as_slice().into(), halves);
            }
        }
    }

    /// The length of the text in halves: its lexemes counted with repetition.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.halves.values().map(|halves| i64::from(*halves)).sum()
    }

    /// The lexemes in pieces, at least one. A lexeme that stands there very often is continued in the next piece.
    #[must_use]
    pub fn into_pieces(self) -> Vec<Piece> {
        let mut all: Vec<(Box<[u8]>, u32)> = self.halves.into_iter().collect();
        all.sort_unstable();
        let mut pieces = Vec::new();
        loop {
            let mut rest = Vec::new();
            let mut piece = Piece::new();
            let mut bytes = 0;
            for (lexeme, halves) in all {
                let here = halves.min(HALVES);
                if halves > here {
                    rest.push((lexeme.clone(), halves - here));
                }
                // Entry, positions and padding take up to nine bytes beside the lexeme.
                bytes += lexeme.len() + 9;
                if bytes > PIECE_BYTES {
                    pieces.push(std::mem::take(&mut piece));
                    bytes = lexeme.len() + 9;
                }
                piece.push((lexeme, u16::try_from(here).unwrap_or(u16::MAX)));
            }
            pieces.push(piece);
            if rest.is_empty() {
                return pieces;
            }
            all = rest;
        }
    }

    /// The lexemes of a query with how often each stands there, in order.
    #[must_use]
    pub fn into_terms(self) -> Vec<(Box<[u8]>, u32)> {
        let mut terms: Vec<_> =
            self.halves.into_iter().map(|(lexeme, halves)| (lexeme, halves / IN_CONTENT)).collect();
        terms.sort_unstable();
        terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_without_unsplit_scripts_is_handed_on_as_it_is() {
        assert!(matches!(split("déjà vu — ok?").words, Cow::Owned(_) | Cow::Borrowed(_)));
        assert!(matches!(split("plain, déjà").words, Cow::Borrowed(_)));
    }

    #[test]
    fn runs_leave_a_blank_and_wide_punctuation_separates() {
        let text = split("PostgreSQL数据库,今天。ok");
        assert_eq!(text.words, "PostgreSQL ,  ok");
        assert_eq!(text.runs, ["数据库", "今天"]);
        assert_eq!(split("서울에서 일했다").runs, ["서울에서", "일했다"]);
    }

    #[test]
    fn a_word_begins_with_a_letter_or_a_digit_behind_a_blank() {
        assert_eq!(words("one, two\n3rd  x").collect::<Vec<_>>(), ["one,", "two", "3rd", "x"]);
        assert_eq!(words("see ./a  ~/b (c) - d").collect::<Vec<_>>(), ["see ./a  ~/b (c) -", "d"]);
        assert_eq!(words(" é ü").collect::<Vec<_>>(), [" é ü"]);
        assert_eq!(words("").count(), 0);
    }

    #[test]
    fn a_memory_has_characters_and_pairs_and_a_query_only_what_it_needs() {
        assert_eq!(stored_grams("部署方").collect::<Vec<_>>(), ["部", "署", "方", "部署", "署方"]);
        assert_eq!(query_grams("部署方").collect::<Vec<_>>(), ["部署", "署方"]);
        assert_eq!(query_grams("部").collect::<Vec<_>>(), ["部"]);
    }

    #[test]
    fn the_tag_of_a_space_never_changes() {
        assert_eq!(&tag("default"), b"DjrE");
        assert_ne!(tag("a"), tag("b"));
    }

    #[test]
    fn many_lexemes_are_spread_over_pieces_and_none_is_lost() {
        let mut counts = Counts::default();
        for n in 0..60_000 {
            counts.add(*b"....", format!("{n:032}").as_bytes(), IN_CONTENT);
        }
        assert_eq!(counts.length(), 120_000);
        let pieces = counts.into_pieces();
        assert!(pieces.len() > 1);
        assert_eq!(pieces.iter().map(Vec::len).sum::<usize>(), 60_000);
    }

    #[test]
    fn a_lexeme_that_stands_there_very_often_keeps_its_count() {
        let mut counts = Counts::default();
        for _ in 0..20_000 {
            counts.add(*b"....", b"ab", IN_CONTENT);
        }
        counts.add(*b"....", b"b", IN_FIELD);
        let pieces = counts.into_pieces();
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces.iter().flatten().map(|(_, halves)| u32::from(*halves)).sum::<u32>(), 40_001);
    }

    #[test]
    fn a_text_without_lexemes_has_one_empty_piece_and_long_lexemes_are_left_out() {
        let mut counts = Counts::default();
        counts.add(*b"....", b"", IN_CONTENT);
        counts.add(*b"....", &[b'x'; LEXEME_BYTES], IN_CONTENT);
        assert_eq!(counts.into_pieces(), vec![Piece::new()]);
    }

    proptest! {
        #[test]
        fn no_character_is_lost_or_made_up(text in "(?s).{0,40}|[a部署。 한ア]{0,20}") {
            let parts = split(&text);
            let kept: usize = parts.words.chars().filter(|found| !found.is_whitespace()).count()
                + parts.runs.iter().map(|run| run.chars().count()).sum::<usize>();
            let there = text.chars().filter(|found| !found.is_whitespace() && !is_wide_punctuation(*found)).count();
            prop_assert_eq!(kept, there);
            prop_assert!(!parts.words.chars().any(is_unsplit));
            for run in parts.runs {
                prop_assert!(query_grams(run).all(|gram| stored_grams(run).any(|stored| stored == gram)));
            }
        }
    }
}
