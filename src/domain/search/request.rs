//! What a search asks for (SRCH-1 to SRCH-29), apart from the filters that export shares.

use super::Weights;
use super::grep::Pattern;
use crate::domain::id::Id;
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::limits::{FULLTEXT_BYTES, PAGE_ROWS, QUERY_UTF16};
use crate::domain::patch::{Json, listed, nearest};
use crate::domain::utf16;

/// The arguments as they were given.
#[derive(Debug, Default, Clone)]
pub struct Arguments {
    /// See the function.
    pub semantic: Option<String>,
    /// See the function.
    pub embedding: Option<Vec<Option<f32>>>,
    /// See the function.
    pub fulltext: Option<String>,
    /// See the function.
    pub grep: Option<String>,
    /// JSON text.
    pub weights: Option<String>,
    /// See the function.
    pub candidate_limit: Option<i64>,
    /// See the function.
    pub semantic_threshold: Option<f64>,
    /// See the function.
    pub limit: Option<i64>,
    /// See the function.
    pub order_by: Option<String>,
    /// See the function.
    pub after: Option<Id>,
    /// See the function.
    pub fusion: Option<String>,
}

/// A checked request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What to look for by meaning.
    pub semantic: Option<Meaning>,
    /// What to look for by words.
    pub fulltext: Option<Words>,
    /// A condition on the content.
    pub grep: Option<Pattern>,
    /// How the arms count in a hybrid search.
    pub weights: Weights,
    /// How the arms are fused.
    pub fusion: Fusion,
    /// Rows each arm of a hybrid search takes, at most [`PAGE_ROWS`].
    pub candidates: usize,
    /// Similarity below which the semantic arm finds nothing.
    pub threshold: Option<f64>,
    /// Rows of the answer.
    pub limit: usize,
    /// The order of a listing.
    pub order: Order,
    /// The last row of the page before, in a listing.
    pub after: Option<Id>,
}

/// What to look for by meaning.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// A text, to be embedded by the space's model.
    Text(String),
    /// The caller's own vector.
    Vector(Vec<f32>),
}

/// What to look for by words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The text, cut to [`FULLTEXT_BYTES`].
    pub text: String,
    /// How many bytes the caller gave, when they were too many.
    pub cut_from: Option<usize>,
}

/// How the arms of a hybrid search are fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fusion {
    /// By rank (SRCH-19).
    #[default]
    Rrf,
    /// By normalised score, with thread neighbours.
    Blend,
}

/// The order of a listing by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Oldest first.
    Ascending,
    /// Newest first.
    #[default]
    Descending,
}

/// Rows of an answer unless said otherwise.
const LIMIT: i64 = 10;
/// Candidates of an arm unless said otherwise.
const CANDIDATES: i64 = 30;

impl Request {
    /// Checks the arguments.
    ///
    /// # Errors
    /// SRCH-8, SRCH-9, SRCH-14, SRCH-19, SRCH-23 and LIM-4, each with its argument.
    pub fn parse(arguments: Arguments) -> Result<Self, Invalid> {
        let limit = page("limit", arguments.limit, LIMIT)?;
        let candidates = page("candidate_limit", arguments.candidate_limit, CANDIDATES)?;
        let semantic = meaning(arguments.semantic, arguments.embedding)?;
        let fulltext = arguments.fulltext.filter(|text| !(text.is_empty() && semantic.is_some())).map(words);
        let request = Self {
            grep: arguments
                .grep
                .filter(|pattern| !pattern.is_empty())
                .map(|pattern| Pattern::parse("grep", pattern))
                .transpose()?,
            weights: weights(arguments.weights.as_deref())?,
            fusion: word(
                "fusion",
                "SRCH-19",
                arguments.fusion.as_deref(),
                &[("rrf", Fusion::Rrf), ("blend", Fusion::Blend)],
            )?,
            candidates: candidates.max(limit),
            threshold: threshold(arguments.semantic_threshold)?,
            limit,
            order: word(
                "order_by",
                "SRCH-9",
                arguments.order_by.as_deref(),
                &[("asc", Order::Ascending), ("desc", Order::Descending)],
            )?,
            after: arguments.after,
            semantic,
            fulltext,
        };
        if request.after.is_some() && request.is_ranked() {
            return Err(Invalid::new(
                "after",
                "SRCH-10",
                "argument \"after\" continues a listing by id, and this search is ranked",
                "Leave \"after\" out, or search by filters alone.",
            ));
        }
        Ok(request)
    }

    /// Whether there is an arm; without one, rows are listed by id (SRCH-1).
    #[must_use]
    pub fn is_ranked(&self) -> bool {
        self.semantic.is_some() || self.fulltext.is_some()
    }

    /// Refuses `grep` without anything that narrows the rows it reads (SRCH-24, SRCH-25). `filtered`: whether tree,
    /// meta or temporal do.
    ///
    /// # Errors
    /// SRCH-24.
    pub fn check_grep(&self, filtered: bool) -> Result<(), Invalid> {
        let words = self.fulltext.as_ref().is_some_and(|words| !words.text.is_empty());
        if self.grep.is_none() || filtered || words || self.semantic.is_some() {
            return Ok(());
        }
        Err(Invalid::new(
            "grep",
            "SRCH-24",
            "argument \"grep\" alone would read every memory",
            "Add a tree other than \"/\", meta, temporal, fulltext or semantic.",
        ))
    }
}

fn meaning(text: Option<String>, vector: Option<Vec<Option<f32>>>) -> Result<Option<Meaning>, Invalid> {
    let text = text.filter(|text| !text.is_empty());
    let Some(vector) = vector else {
        return Ok(text.map(|text| Meaning::Text(utf16::prefix(&text, QUERY_UTF16).to_owned())));
    };
    if text.is_some() {
        return Err(Invalid::new(
            "embedding",
            "SRCH-11",
            "arguments \"semantic\" and \"embedding\" are both given",
            "Give the text to be embedded, or your own vector.",
        ));
    }
    let numbers: Option<Vec<f32>> =
        vector.into_iter().map(|number| number.filter(|number| number.is_finite())).collect();
    match numbers {
        Some(numbers) if numbers.iter().any(|number| *number != 0.0) => Ok(Some(Meaning::Vector(numbers))),
        _ => Err(Invalid::new(
            "embedding",
            "SRCH-11",
            "argument \"embedding\" must hold finite numbers, and not only zeros",
            "Give the vector that the space's embedding model makes of the query.",
        )),
    }
}

fn words(text: String) -> Words {
    if text.len() <= FULLTEXT_BYTES {
        return Words { text, cut_from: None };
    }
    let mut end = FULLTEXT_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Words { text: text[..end].to_owned(), cut_from: Some(text.len()) }
}

fn page(argument: &str, given: Option<i64>, default: i64) -> Result<usize, Invalid> {
    let rows = given.filter(|rows| *rows > 0).unwrap_or(default);
    if rows > PAGE_ROWS {
        let rule = if argument == "limit" { "SRCH-8" } else { "LIM-4" };
        return Err(Invalid::new(
            argument,
            rule,
            format!("argument \"{argument}\" is {rows}, more than {PAGE_ROWS}"),
            format!("Give at most {PAGE_ROWS}; 0 means {default}."),
        ));
    }
    usize::try_from(rows).map_err(|_| Invalid::missing(argument))
}

fn threshold(given: Option<f64>) -> Result<Option<f64>, Invalid> {
    match given {
        Some(value) if !(0.0..=1.0).contains(&value) => Err(Invalid::new(
            "semantic_threshold",
            "SRCH-14",
            format!("argument \"semantic_threshold\" is {value}, not between 0 and 1"),
            "Give the least cosine similarity wanted, from 0 to 1.",
        )),
        other => Ok(other),
    }
}

fn word<T: Copy + Default>(
    argument: &str,
    rule: &'static str,
    given: Option<&str>,
    known: &[(&str, T)],
) -> Result<T, Invalid> {
    let Some(given) = given else { return Ok(T::default()) };
    if let Some((_, value)) = known.iter().find(|(word, _)| *word == given) {
        return Ok(*value);
    }
    let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    Err(Invalid::new(
        argument,
        rule,
        format!("argument \"{argument}\" has unknown value {}", excerpt(given)),
        format!("Use {}.", listed(&words)),
    ))
}

fn weights(json: Option<&str>) -> Result<Weights, Invalid> {
    const HINT: &str = "Give an object such as {\"semantic\": 0.7, \"fulltext\": 1}, each from 0 to 1.";
    let mut weights = Weights::default();
    let Some(json) = json else { return Ok(weights) };
    let value = Json::parse(json).map_err(|_| {
        Invalid::new(
            "weights",
            "SRCH-19",
            format!("argument \"weights\" is no JSON: {}", excerpt(json)),
            HINT,
        )
    })?;
    let members = match value {
        Json::Bare("null") => return Ok(weights),
        Json::Object(members) => members,
        other => {
            return Err(Invalid::new(
                "weights",
                "CALL-4",
                format!("argument \"weights\" must be an object, not {}", other.kind()),
                HINT,
            ));
        }
    };
    for (key, value) in &members {
        let place = format!("weights.{key}");
        let slot = match key.as_ref() {
            "semantic" => &mut weights.semantic,
            "fulltext" => &mut weights.fulltext,
            other => {
                return Err(Invalid::new(
                    place.as_str(),
                    "CALL-3",
                    format!("unknown argument {}", excerpt(&place)),
                    format!("Did you mean \"{}\"?", nearest(other, &["semantic", "fulltext"])),
                ));
            }
        };
        match value {
            Json::Bare("null") => {}
            Json::Bare(text) if text.parse::<f64>().is_ok_and(|weight| (0.0..=1.0).contains(&weight)) => {
                *slot = text.parse().unwrap_or(1.0);
            }
            Json::Bare(text) if text.parse::<f64>().is_ok() => {
                return Err(Invalid::new(
                    place.as_str(),
                    "SRCH-19",
                    format!("argument \"{place}\" is {}, not between 0 and 1", excerpt(text)),
                    HINT,
                ));
            }
            other => {
                return Err(Invalid::new(
                    place.as_str(),
                    "CALL-4",
                    format!("argument \"{place}\" must be a number, not {}", other.kind()),
                    HINT,
                ));
            }
        }
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: Arguments) -> Result<Request, Invalid> {
        Request::parse(arguments)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn nothing_given_lists_the_newest_ten() {
        let request = parse(Arguments::default()).unwrap();
        assert!(!request.is_ranked());
        assert_eq!((request.limit, request.candidates, request.order), (10, 30, Order::Descending));
        assert_eq!(request.fusion, Fusion::Rrf);
    }

    #[test]
    fn an_empty_semantic_text_is_absent_and_an_empty_fulltext_matches_nothing() {
        assert!(!parse(Arguments { semantic: some(""), ..Default::default() }).unwrap().is_ranked());
        assert!(parse(Arguments { fulltext: some(""), ..Default::default() }).unwrap().fulltext.is_some());
        let both = Arguments { semantic: some("a"), fulltext: some(""), ..Default::default() };
        assert_eq!(parse(both).unwrap().fulltext, None);
    }

    #[test]
    fn limits_of_zero_or_less_mean_the_default_and_too_large_ones_are_refused() {
        let with = |limit, candidate_limit| {
            parse(Arguments {
                limit: Some(limit),
                candidate_limit: Some(candidate_limit),
                ..Default::default()
            })
        };
        let request = with(0, -5).unwrap();
        assert_eq!((request.limit, request.candidates), (10, 30));
        assert_eq!(with(50, 1).unwrap().candidates, 50, "an arm takes at least the limit");
        assert_eq!(with(1001, 1).unwrap_err().rule, "SRCH-8");
        assert_eq!(with(1, 1001).unwrap_err().rule, "LIM-4");
    }

    #[test]
    fn thresholds_weights_and_words_outside_their_range_are_refused() {
        for value in [-0.1, 1.01, f64::NAN, f64::INFINITY] {
            let refused = parse(Arguments { semantic_threshold: Some(value), ..Default::default() });
            assert_eq!(refused.unwrap_err().rule, "SRCH-14");
        }
        for (json, rule) in [
            (r#"{"semantic": 1.5}"#, "SRCH-19"),
            (r#"{"semantic": "1"}"#, "CALL-4"),
            (r#"{"semantics": 1}"#, "CALL-3"),
            ("[1]", "CALL-4"),
            ("{", "SRCH-19"),
        ] {
            let refused = parse(Arguments { weights: some(json), ..Default::default() }).unwrap_err();
            assert_eq!(refused.rule, rule, "{json}");
        }
        let request =
            parse(Arguments { weights: some(r#"{"semantic": 0, "fulltext": null}"#), ..Default::default() });
        assert_eq!(request.unwrap().weights, Weights { semantic: 0.0, fulltext: 1.0 });
        assert_eq!(
            parse(Arguments { order_by: some("newest"), ..Default::default() }).unwrap_err().rule,
            "SRCH-9"
        );
        assert!(parse(Arguments { fusion: some("sum"), ..Default::default() }).is_err());
    }

    #[test]
    fn a_vector_takes_the_place_of_a_text_and_must_be_one() {
        let with = |vector: Vec<Option<f32>>, semantic| {
            parse(Arguments { embedding: Some(vector), semantic, ..Default::default() })
        };
        assert_eq!(with(vec![Some(1.0)], None).unwrap().semantic, Some(Meaning::Vector(vec![1.0])));
        for vector in [vec![], vec![None], vec![Some(f32::NAN)], vec![Some(0.0)]] {
            assert_eq!(with(vector, None).unwrap_err().argument, "embedding");
        }
        assert!(with(vec![Some(1.0)], some("text")).is_err());
    }

    #[test]
    fn long_queries_are_cut_between_characters() {
        let long = "é".repeat(FULLTEXT_BYTES);
        let request = parse(Arguments { fulltext: some(&long), ..Default::default() }).unwrap();
        let words = request.fulltext.unwrap();
        assert_eq!(words.cut_from, Some(long.len()));
        assert!(words.text.len() <= FULLTEXT_BYTES && words.text.ends_with('é'));
        let request = parse(Arguments { semantic: some(&"😀".repeat(5000)), ..Default::default() }).unwrap();
        assert_eq!(request.semantic, Some(Meaning::Text("😀".repeat(4096))));
    }

    #[test]
    fn grep_needs_something_that_narrows() {
        let grep = |fulltext: Option<&str>| {
            parse(Arguments { grep: some("a"), fulltext: fulltext.map(str::to_owned), ..Default::default() })
                .unwrap()
        };
        assert_eq!(grep(None).check_grep(false).unwrap_err().rule, "SRCH-24");
        assert!(grep(Some("")).check_grep(false).is_err());
        assert!(grep(None).check_grep(true).is_ok());
        assert!(grep(Some("a")).check_grep(false).is_ok());
        assert!(parse(Arguments { grep: some(""), ..Default::default() }).unwrap().check_grep(false).is_ok());
    }

    #[test]
    fn a_ranked_search_has_no_next_page() {
        let after = Id::parse("after", "0190a1b2-0000-7000-8000-000000000011").ok();
        assert!(parse(Arguments { after, ..Default::default() }).is_ok());
        let ranked = Arguments { after, fulltext: some("a"), ..Default::default() };
        assert_eq!(parse(ranked).unwrap_err().rule, "SRCH-10");
    }
}
