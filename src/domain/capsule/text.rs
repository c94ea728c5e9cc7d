//! Words of a text: tokens of recall, tokens of similarity, folded terms, headlines.

use crate::domain::version::write_json_string;
use std::collections::BTreeSet;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Most characters of a headline (CAP-RET-19).
const HEADLINE_CHARS: usize = 140;

/// Empty after trimming Unicode whitespace (CAP-MODEL-3).
pub fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Whether a term can match anything (CAP-RET-2).
pub fn has_alphanumeric(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// The tokens of recall, in order: maximal runs of letters and digits, lower case, Latin letters without the
/// diacritics that decompose (CAP-RET-6).
pub fn search_tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut token = String::new();
    // Set while the last letter was a Latin one: a mark that follows belongs to it.
    let mut after_latin = false;
    for char in text.chars() {
        let in_token = char.is_alphanumeric() || (is_combining_mark(char) && !token.is_empty());
        if !in_token {
            flush(&mut token, &mut tokens);
            after_latin = false;
            continue;
        }
        for lower in char.to_lowercase() {
            let mut parts = std::iter::once(lower).nfd();
            let base = parts.next().unwrap_or(lower);
            if base.is_ascii_alphanumeric() {
                token.push(base);
                after_latin = true;
            } else if !(is_combining_mark(lower) && after_latin) {
                token.push(lower);
                after_latin = false;
            }
        }
    }
    flush(&mut token, &mut tokens);
    tokens
}

/// Longest token that is kept as it is, in bytes: a longer one would not fit an index entry.
const TOKEN_BYTES: usize = 512;

/// The tokens of recall as they are stored: a very long one as its hash, which no other token looks like.
pub fn index_tokens(text: &str) -> Vec<String> {
    let stored = |token: String| match token.len() {
        0..=TOKEN_BYTES => token,
        _ => format!("sha256:{}", super::seal::sha256_hex(token.as_bytes())),
    };
    search_tokens(text).into_iter().map(stored).collect()
}

/// The tokens of similarity: lower case, split at everything that is no letter or digit (CAP-ING-21).
pub fn plain_tokens(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|char: char| !char.is_alphanumeric())
        .filter(|token| !token.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The distinct tokens of similarity.
pub fn token_set(text: &str) -> BTreeSet<String> {
    plain_tokens(text).into_iter().collect()
}

/// At least three characters (CAP-ING-21).
pub fn is_significant(token: &str) -> bool {
    token.chars().nth(2).is_some()
}

/// A term as the vocabulary keeps it: trimmed, lower case, Latin letters reduced to their base (appendix A).
pub fn fold(term: &str) -> String {
    term.trim().to_lowercase().chars().map(base_letter).collect()
}

fn base_letter(char: char) -> char {
    match char {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ì' | 'í' | 'î' | 'ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' => 'i',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ō' | 'ŏ' | 'ő' => 'o',
        'ù' | 'ú' | 'û' | 'ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => 'u',
        'ý' | 'ÿ' => 'y',
        'ď' => 'd',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ĥ' => 'h',
        'ĵ' => 'j',
        'ķ' => 'k',
        'ĺ' | 'ļ' | 'ľ' | 'ł' => 'l',
        'ŕ' | 'ŗ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' => 's',
        'ţ' | 'ť' => 't',
        'ŵ' => 'w',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}

/// The first line, at most 140 characters, with `…` iff something was left out (CAP-RET-19).
pub fn headline(content: &str) -> String {
    let whole = content.strip_suffix('\n').map_or(content, |text| text.strip_suffix('\r').unwrap_or(text));
    let line = whole.split('\n').next().unwrap_or_default();
    let line = line.strip_suffix('\r').unwrap_or(line);
    let shown: &str = match line.char_indices().nth(HEADLINE_CHARS) {
        Some((end, _)) => &line[..end],
        None => line,
    };
    if shown.len() < whole.len() { format!("{shown}…") } else { shown.to_owned() }
}

/// A text as a JSON string with only the standard escapes.
pub fn quoted(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    write_json_string(&mut |part: &[u8]| bytes.extend_from_slice(part), text);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first `count` characters.
pub fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

fn flush(token: &mut String, tokens: &mut Vec<String>) {
    if !token.is_empty() {
        tokens.push(std::mem::take(token));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn latin_letters_lose_what_decomposes_and_others_keep_all() {
        assert_eq!(search_tokens("Café Ålesund, søt łódź ß"), ["cafe", "alesund", "søt", "łodz", "ß"]);
        assert_eq!(search_tokens("e\u{301}te\u{301}"), ["ete"]);
        assert_eq!(search_tokens("йод"), ["йод"]);
    }

    #[test]
    fn punctuation_separates_and_scripts_without_spaces_stay_whole() {
        assert_eq!(search_tokens("v2.1_x-y's"), ["v2", "1", "x", "y", "s"]);
        assert_eq!(search_tokens("灯台の記録 was kept"), ["灯台の記録", "was", "kept"]);
        assert_eq!(search_tokens("!! --"), Vec::<String>::new());
    }

    #[test]
    fn a_token_too_long_for_an_index_is_kept_as_its_hash() {
        let long = "灯".repeat(1000);
        let stored = index_tokens(&long);
        assert_eq!(stored.len(), 1);
        assert!(stored[0].starts_with("sha256:") && stored[0].len() < 100);
        assert_eq!(index_tokens("short"), ["short"]);
    }

    #[test]
    fn folding_reaches_further_than_the_index() {
        assert_eq!(fold("  PÁTIO "), "patio");
        assert_eq!(fold("Øyełß"), "oyelß");
    }

    #[test]
    fn a_headline_says_when_something_is_left_out() {
        assert_eq!(headline("First line only.\nSecond line."), "First line only.…");
        assert_eq!(headline("A trailing newline earns nothing.\n"), "A trailing newline earns nothing.");
        assert_eq!(headline("two\n\n"), "two…");
        assert_eq!(headline("windows\r\n"), "windows");
        assert_eq!(headline(&"é".repeat(140)), "é".repeat(140));
        assert_eq!(headline(&"é".repeat(141)), "é".repeat(140) + "…");
    }

    proptest! {
        #[test]
        fn tokens_are_lower_case_words(text in ".{0,60}") {
            for token in search_tokens(&text) {
                prop_assert!(!token.is_empty());
                prop_assert!(!token.contains(char::is_whitespace));
            }
            let _ = headline(&text);
            let _ = fold(&text);
        }
    }
}
