//! Predicates on the time of a memory (SRCH-26 to SRCH-29).

use crate::domain::instant::Instant;
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::patch::{Json, listed, nearest};

const KEYS: [&str; 5] = ["before", "after", "contains", "overlaps", "within"];
const ENDS: [&str; 2] = ["start", "end"];
const HINT: &str = "Give an object such as {\"after\": \"2025-02-01T00:00:00Z\"}; the keys are before, after, \
                    contains, overlaps and within.";

/// The instants from `start` up to, not including, `end`: none when they are equal (SRCH-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first instant.
    pub start: Instant,
    /// The first instant after it.
    pub end: Instant,
}

/// What the time of a row must satisfy; all given predicates hold together, and rows without a time match none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TemporalFilter {
    /// The row's time lies strictly before.
    pub before: Option<Instant>,
    /// The row's time starts after.
    pub after: Option<Instant>,
    /// The row's time covers the instant.
    pub contains: Option<Instant>,
    /// The row's time shares an instant with the window.
    pub overlaps: Option<Window>,
    /// The row's time lies inside the window.
    pub within: Option<Window>,
}

impl TemporalFilter {
    /// Reads the JSON text of an argument; `null` is no filter.
    ///
    /// # Errors
    /// SRCH-26 when it is no object or no predicate is given, CALL-3 for an unknown key (with the nearest known one),
    /// SRCH-28 for a window whose end lies before its start, SRCH-29 for a window without both ends or a value of
    /// another kind, TEMP-1 and TEMP-7 for the instants. The place is `{argument}.before`, `{argument}.within.end` …
    pub fn parse(argument: &str, json: &str) -> Result<Option<Self>, Invalid> {
        let value = Json::parse(json).map_err(|_| {
            Invalid::new(
                argument,
                "SRCH-26",
                format!("argument \"{argument}\" is no JSON: {}", excerpt(json)),
                HINT,
            )
        })?;
        let members = match value {
            Json::Bare("null") => return Ok(None),
            Json::Object(members) => members,
            other => {
                return Err(Invalid::new(
                    argument,
                    "SRCH-26",
                    format!("argument \"{argument}\" must be an object, not {}", other.kind()),
                    HINT,
                ));
            }
        };
        let mut filter = Self::default();
        for (key, value) in &members {
            let place = format!("{argument}.{key}");
            match key.as_ref() {
                "before" => filter.before = instant(&place, value)?,
                "after" => filter.after = instant(&place, value)?,
                "contains" => filter.contains = instant(&place, value)?,
                "overlaps" => filter.overlaps = window(&place, value)?,
                "within" => filter.within = window(&place, value)?,
                _ => return Err(unknown(argument, key, &KEYS)),
            }
        }
        if filter == Self::default() {
            return Err(Invalid::new(
                argument,
                "SRCH-26",
                format!("argument \"{argument}\" holds no predicate"),
                HINT,
            ));
        }
        Ok(Some(filter))
    }
}

fn unknown(argument: &str, key: &str, known: &[&str]) -> Invalid {
    Invalid::new(
        argument,
        "CALL-3",
        format!("argument \"{argument}\" has an unknown member {}", excerpt(key)),
        format!("Did you mean \"{}\"? The members are {}.", nearest(key, known), listed(known)),
    )
}

fn instant(place: &str, value: &Json<'_>) -> Result<Option<Instant>, Invalid> {
    match value {
        Json::Bare("null") => Ok(None),
        Json::Text(text) => Instant::parse(place, text).map(Some),
        other => Err(Invalid::new(
            place,
            "SRCH-29",
            format!("argument \"{place}\" must be a string, not {}", other.kind()),
            "Give a timestamp with a zone, for instance \"2025-02-01T10:00:00Z\".",
        )),
    }
}

fn window(place: &str, value: &Json<'_>) -> Result<Option<Window>, Invalid> {
    let members = match value {
        Json::Bare("null") => return Ok(None),
        Json::Object(members) => members,
        other => {
            return Err(Invalid::new(
                place,
                "SRCH-29",
                format!("argument \"{place}\" must be an object, not {}", other.kind()),
                "Give {\"start\": …, \"end\": …} with two timestamps.",
            ));
        }
    };
    let (mut start, mut end) = (None, None);
    for (key, value) in members {
        match key.as_ref() {
            "start" => start = instant(&format!("{place}.start"), value)?,
            "end" => end = instant(&format!("{place}.end"), value)?,
            _ => return Err(unknown(place, key, &ENDS)),
        }
    }
    let start = start.ok_or_else(|| Invalid::missing(&format!("{place}.start")))?;
    let end = end.ok_or_else(|| Invalid::missing(&format!("{place}.end")))?;
    if end < start {
        return Err(Invalid::new(
            format!("{place}.end"),
            "SRCH-28",
            format!(
                "argument \"{place}.end\" lies before the start: \"{}\" is earlier than \"{}\"",
                end.to_pg_text(),
                start.to_pg_text()
            ),
            "Give an end after the start.",
        ));
    }
    Ok(Some(Window { start, end }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> Instant {
        Instant::parse("t", text).unwrap()
    }

    fn refused(json: &str) -> (String, &'static str) {
        let refusal = TemporalFilter::parse("temporal", json).expect_err(json);
        (refusal.argument, refusal.rule)
    }

    #[test]
    fn every_predicate_is_read_and_null_is_none() {
        let json = r#"{"before":"2025-01-02T00:00:00Z","after":null,"contains":"2025-01-03T00:00:00Z",
            "overlaps":{"start":"2025-01-01T00:00:00Z","end":"2025-01-02T00:00:00Z"},
            "within":{"end":"2025-01-01T01:00:00+01:00","start":"2025-01-01T00:00:00Z"}}"#;
        let first = at("2025-01-01T00:00:00Z");
        let second = at("2025-01-02T00:00:00Z");
        assert_eq!(
            TemporalFilter::parse("temporal", json).unwrap().unwrap(),
            TemporalFilter {
                before: Some(second),
                after: None,
                contains: Some(at("2025-01-03T00:00:00Z")),
                overlaps: Some(Window { start: first, end: second }),
                within: Some(Window { start: first, end: first }),
            }
        );
        assert_eq!(TemporalFilter::parse("temporal", "null"), Ok(None));
    }

    #[test]
    fn a_filter_without_a_predicate_is_refused() {
        for json in ["{}", r#"{"before":null}"#, "[]", "5", r#""2025-01-01T00:00:00Z""#, "{", ""] {
            assert_eq!(refused(json), ("temporal".into(), "SRCH-26"), "{json}");
        }
    }

    #[test]
    fn a_bad_value_is_refused_at_its_place() {
        for (json, place, rule) in [
            (r#"{"before":"soon"}"#, "temporal.before", "TEMP-1"),
            (r#"{"after":5}"#, "temporal.after", "SRCH-29"),
            (r#"{"contains":{}}"#, "temporal.contains", "SRCH-29"),
            (r#"{"overlaps":"2025-01-01T00:00:00Z"}"#, "temporal.overlaps", "SRCH-29"),
            (r#"{"within":{"start":"2025-01-01T00:00:00Z"}}"#, "temporal.within.end", "CALL-2"),
            (r#"{"within":{"end":"2025-01-01T00:00:00Z"}}"#, "temporal.within.start", "CALL-2"),
            (r#"{"within":{"start":"x","end":"y"}}"#, "temporal.within.start", "TEMP-1"),
            (
                r#"{"overlaps":{"start":"2025-01-02T00:00:00Z","end":"2025-01-01T00:00:00Z"}}"#,
                "temporal.overlaps.end",
                "SRCH-28",
            ),
            (r#"{"overlaps":{"from":"2025-01-02T00:00:00Z"}}"#, "temporal.overlaps", "CALL-3"),
            (r#"{"befor":"2025-01-02T00:00:00Z"}"#, "temporal", "CALL-3"),
        ] {
            assert_eq!(refused(json), (place.into(), rule), "{json}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*", almost in "\\{\"(before|within|overlaps)\":(\"[0-9TZ:.+-]*\"|\\{\"start\":\"[0-9TZ:-]*\"\\})\\}") {
            let _ = (TemporalFilter::parse("t", &text), TemporalFilter::parse("t", &almost));
        }
    }
}
