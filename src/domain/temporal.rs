//! When what a memory says holds: a point in time or a period (TEMP-2 to TEMP-11).

use std::borrow::Cow;

use super::instant::Instant;
use super::invalid::{Invalid, excerpt};
use super::patch::{Json, listed, nearest};

const KEYS: [&str; 2] = ["start", "end"];
const OBJECT_HINT: &str =
    "Give an object such as {\"start\": \"2025-02-01T10:00:00Z\"}, with an \"end\" for a period.";

/// A point, stored as `[t,t]`, or a period, stored as `[start,end)` (TEMP-3). No other bounds exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Temporal {
    start: Instant,
    /// After `start`; absent for a point.
    end: Option<Instant>,
}

impl Temporal {
    /// The point at `instant`.
    #[must_use]
    pub const fn point(instant: Instant) -> Self {
        Self { start: instant, end: None }
    }

    /// The time from `start` up to, not including, `end`; a point when both are the same instant (TEMP-5).
    ///
    /// # Errors
    /// TEMP-4 at `{argument}.end` when it lies before the start.
    pub fn period(argument: &str, start: Instant, end: Instant) -> Result<Self, Invalid> {
        if end < start {
            return Err(Invalid::new(
                format!("{argument}.end"),
                "TEMP-4",
                format!(
                    "argument \"{argument}.end\" lies before the start: \"{}\" is earlier than \"{}\"",
                    end.to_pg_text(),
                    start.to_pg_text()
                ),
                "Give an end after the start, or leave it out for a point in time.",
            ));
        }
        Ok(Self::from_stored(start, end))
    }

    /// The time that a row holds as two instants, equal for a point. The table's own check keeps the end from lying
    /// before the start; were it to, this is the point at `start`.
    #[must_use]
    pub fn from_stored(start: Instant, end: Instant) -> Self {
        Self { start, end: (end > start).then_some(end) }
    }

    /// Reads the JSON text of an argument `{start, end?}`; `null` is no time at all (TEMP-2). An `end` of `null`
    /// makes a point.
    ///
    /// # Errors
    /// TEMP-2 when it is no object or a member is no string, CALL-2 without a `start`, CALL-3 for an unknown member
    /// (with the nearest known one), TEMP-1, TEMP-4 and TEMP-7 for the instants. The place is `{argument}.start` or
    /// `{argument}.end` where there is one.
    pub fn parse(argument: &str, json: &str) -> Result<Option<Self>, Invalid> {
        match read(argument, json)? {
            Json::Bare("null") => Ok(None),
            Json::Object(members) => Self::from_members(argument, &members).map(Some),
            other => Err(not_an_object(argument, &other)),
        }
    }

    /// Reads the shapes that import accepts (IMP-8): a string (the start), an array of one or two strings, or what
    /// [`Temporal::parse`] reads.
    ///
    /// # Errors
    /// IMP-8 for other shapes, else as [`Temporal::parse`]; a place in an array is `{argument}[0]` or `{argument}[1]`.
    pub fn parse_import(argument: &str, json: &str) -> Result<Option<Self>, Invalid> {
        match read(argument, json)? {
            Json::Bare("null") => Ok(None),
            Json::Text(start) => Instant::parse(argument, &start).map(|start| Some(Self::point(start))),
            Json::Array(items) => Self::from_items(argument, &items).map(Some),
            Json::Object(members) => Self::from_members(argument, &members).map(Some),
            other => Err(import_shape(argument, other.kind())),
        }
    }

    /// Whether it is a point.
    #[must_use]
    pub const fn is_point(&self) -> bool {
        self.end.is_none()
    }

    /// The point itself, or the first instant of the period.
    #[must_use]
    pub const fn start(&self) -> Instant {
        self.start
    }

    /// The first instant after the period; none for a point.
    #[must_use]
    pub const fn end(&self) -> Option<Instant> {
        self.end
    }

    /// PostgreSQL's text of the range under TimeZone UTC and DateStyle ISO, whatever the session has set (HASH-6).
    #[must_use]
    pub fn range_text(&self) -> String {
        let start = self.start.to_pg_text();
        match self.end {
            Some(end) => format!("[\"{start}\",\"{}\")", end.to_pg_text()),
            None => format!("[\"{start}\",\"{start}\"]"),
        }
    }

    /// The response form (TEMP-9): an object with both keys, equal for a point, cut to milliseconds.
    #[must_use]
    pub fn to_json(&self) -> String {
        let end = self.end.unwrap_or(self.start);
        format!("{{\"start\":\"{}\",\"end\":\"{}\"}}", self.start.to_iso_millis(), end.to_iso_millis())
    }

    fn from_members(argument: &str, members: &[(Cow<'_, str>, Json<'_>)]) -> Result<Self, Invalid> {
        let (mut start, mut end) = (None, None);
        for (key, value) in members {
            match key.as_ref() {
                "start" => start = optional_text(argument, "start", value)?,
                "end" => end = optional_text(argument, "end", value)?,
                _ => return Err(unknown_member(argument, key)),
            }
        }
        let start_place = format!("{argument}.start");
        let start = start.ok_or_else(|| Invalid::missing(&start_place))?;
        let start = Instant::parse(&start_place, start)?;
        match end {
            None => Ok(Self::point(start)),
            Some(end) => Self::period(argument, start, Instant::parse(&format!("{argument}.end"), end)?),
        }
    }

    fn from_items(argument: &str, items: &[Json<'_>]) -> Result<Self, Invalid> {
        let instant = |at: usize, item: &Json<'_>| match item {
            Json::Text(text) => Instant::parse(&format!("{argument}[{at}]"), text),
            other => Err(import_shape(&format!("{argument}[{at}]"), other.kind())),
        };
        match items {
            [start] => instant(0, start).map(Self::point),
            [start, end] => Self::period(argument, instant(0, start)?, instant(1, end)?),
            _ => Err(import_shape(argument, &format!("an array of {}", items.len()))),
        }
    }
}

fn read<'a>(argument: &str, json: &'a str) -> Result<Json<'a>, Invalid> {
    Json::parse(json).map_err(|_| {
        Invalid::new(
            argument,
            "TEMP-2",
            format!("argument \"{argument}\" is no JSON: {}", excerpt(json)),
            OBJECT_HINT,
        )
    })
}

fn optional_text<'a>(argument: &str, key: &str, value: &'a Json<'_>) -> Result<Option<&'a str>, Invalid> {
    match value {
        Json::Bare("null") => Ok(None),
        Json::Text(text) => Ok(Some(text)),
        other => Err(Invalid::new(
            format!("{argument}.{key}"),
            "TEMP-2",
            format!("argument \"{argument}.{key}\" must be a string, not {}", other.kind()),
            "Give a timestamp with a zone, for instance \"2025-02-01T10:00:00Z\".",
        )),
    }
}

fn not_an_object(argument: &str, found: &Json<'_>) -> Invalid {
    Invalid::new(
        argument,
        "TEMP-2",
        format!("argument \"{argument}\" must be an object, not {}", found.kind()),
        OBJECT_HINT,
    )
}

fn unknown_member(argument: &str, key: &str) -> Invalid {
    Invalid::new(
        argument,
        "CALL-3",
        format!("argument \"{argument}\" has an unknown member {}", excerpt(key)),
        format!("Did you mean \"{}\"? The members are {}.", nearest(key, &KEYS), listed(&KEYS)),
    )
}

fn import_shape(argument: &str, found: &str) -> Invalid {
    Invalid::new(
        argument,
        "IMP-8",
        format!("argument \"{argument}\" is {found}, which is no time"),
        "Give a timestamp, an array of one or two timestamps, or an object with \"start\" and perhaps \"end\".",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(json: &str) -> Temporal {
        Temporal::parse("temporal", json).expect(json).expect("not null")
    }

    fn refused(json: &str) -> (String, &'static str) {
        let refusal = Temporal::parse("temporal", json).expect_err(json);
        assert!(refusal.message.contains(&refusal.argument), "{}", refusal.message);
        (refusal.argument, refusal.rule)
    }

    #[test]
    fn null_is_no_time() {
        assert_eq!(Temporal::parse("temporal", "null"), Ok(None));
        assert_eq!(Temporal::parse_import("temporal", "null"), Ok(None));
    }

    #[test]
    fn a_start_alone_is_a_point() {
        for json in [
            r#"{"start":"2025-03-04T05:06:07.5Z"}"#,
            r#"{"start": "2025-03-04T05:06:07.5Z", "end": null}"#,
            r#"{"end":"2025-03-04T06:06:07.50+01:00","start":"2025-03-04T05:06:07.5Z"}"#,
        ] {
            let point = parsed(json);
            assert!(point.is_point(), "{json}");
            assert_eq!(point.end(), None);
            assert_eq!(point.range_text(), r#"["2025-03-04 05:06:07.5+00","2025-03-04 05:06:07.5+00"]"#);
            assert_eq!(
                point.to_json(),
                r#"{"start":"2025-03-04T05:06:07.500Z","end":"2025-03-04T05:06:07.500Z"}"#
            );
        }
    }

    #[test]
    fn a_period_is_half_open() {
        let period =
            parsed(r#"{"start":"2024-01-01T00:00:00+02:00","end":"2024-12-31T23:59:59.123456-05:00"}"#);
        assert!(!period.is_point());
        assert_eq!(period.range_text(), r#"["2023-12-31 22:00:00+00","2025-01-01 04:59:59.123456+00")"#);
        assert_eq!(
            period.to_json(),
            r#"{"start":"2023-12-31T22:00:00.000Z","end":"2025-01-01T04:59:59.123Z"}"#
        );
    }

    #[test]
    fn a_period_below_a_millisecond_shows_as_a_point_and_is_none() {
        let period = parsed(r#"{"start":"2025-01-01T00:00:00.000001Z","end":"2025-01-01T00:00:00.000002Z"}"#);
        assert!(!period.is_point());
        assert_eq!(
            period.to_json(),
            r#"{"start":"2025-01-01T00:00:00.000Z","end":"2025-01-01T00:00:00.000Z"}"#
        );
    }

    #[test]
    fn an_end_before_the_start_is_refused_at_the_end() {
        let json = r#"{"start":"2025-02-02T00:00:00Z","end":"2025-02-01T00:00:00Z"}"#;
        assert_eq!(refused(json), ("temporal.end".into(), "TEMP-4"));
        let json = r#"["2025-02-02T00:00:00Z","2025-02-01T00:00:00Z"]"#;
        assert_eq!(Temporal::parse_import("temporal", json).expect_err("end first").rule, "TEMP-4");
    }

    #[test]
    fn a_start_is_required() {
        for json in ["{}", r#"{"end":"2025-02-01T10:00:00Z"}"#, r#"{"start":null}"#] {
            assert_eq!(refused(json), ("temporal.start".into(), "CALL-2"), "{json}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in [r#""2025-02-01T10:00:00Z""#, "[]", "1", "true", r#"["2025-02-01T10:00:00Z"]"#, "{", ""] {
            assert_eq!(refused(json), ("temporal".into(), "TEMP-2"), "{json}");
        }
        let refusal = Temporal::parse("temporal", "[]").expect_err("array");
        assert_eq!(refusal.message, "argument \"temporal\" must be an object, not an array");
    }

    #[test]
    fn a_bad_instant_is_refused_at_its_place() {
        assert_eq!(refused(r#"{"start":"2025-02-01"}"#), ("temporal.start".into(), "TEMP-1"));
        assert_eq!(refused(r#"{"start":1738404000}"#), ("temporal.start".into(), "TEMP-2"));
        let json = r#"{"start":"2025-02-01T10:00:00Z","end":"2025-02-01T10:00:00+16:00"}"#;
        assert_eq!(refused(json), ("temporal.end".into(), "TEMP-7"));
        let json = r#"{"start":"2025-02-01T10:00:00Z","end":false}"#;
        assert_eq!(refused(json), ("temporal.end".into(), "TEMP-2"));
    }

    #[test]
    fn an_unknown_member_is_refused_with_the_nearest_known_one() {
        let json = r#"{"start":"2025-02-01T10:00:00Z","ende":"2025-02-01T10:00:00Z"}"#;
        let refusal = Temporal::parse("temporal", json).expect_err("unknown member");
        assert_eq!(refusal.rule, "CALL-3");
        assert!(refusal.message.contains("\"ende\"") && refusal.hint.contains("mean \"end\""));
    }

    #[test]
    fn import_takes_a_string_an_array_and_an_object() {
        let import = |json: &str| Temporal::parse_import("temporal", json).expect(json).expect("not null");
        let point = parsed(r#"{"start":"2025-02-01T10:00:00Z"}"#);
        let period = parsed(r#"{"start":"2025-02-01T10:00:00Z","end":"2025-02-02T10:00:00Z"}"#);
        assert_eq!(import(r#""2025-02-01T10:00:00Z""#), point);
        assert_eq!(import(r#"["2025-02-01T10:00:00Z"]"#), point);
        assert_eq!(import(r#"["2025-02-01T10:00:00Z","2025-02-02T10:00:00Z"]"#), period);
        assert_eq!(import(r#"{"start":"2025-02-01T10:00:00Z","end":"2025-02-02T10:00:00Z"}"#), period);
    }

    #[test]
    fn import_refuses_other_shapes_at_their_place() {
        for (json, place, rule) in [
            ("7", "temporal", "IMP-8"),
            ("[]", "temporal", "IMP-8"),
            (r#"["2025-02-01T10:00:00Z",null]"#, "temporal[1]", "IMP-8"),
            (r#"["a","b","c"]"#, "temporal", "IMP-8"),
            (r#"["soon"]"#, "temporal[0]", "TEMP-1"),
            (r#""soon""#, "temporal", "TEMP-1"),
            ("{}", "temporal.start", "CALL-2"),
        ] {
            let refusal = Temporal::parse_import("temporal", json).expect_err(json);
            assert_eq!((refusal.argument.as_str(), refusal.rule), (place, rule), "{json}");
        }
    }

    #[test]
    fn two_stored_instants_are_the_time_they_were_stored_from() {
        for json in [
            r#"{"start":"2025-02-01T10:00:00Z"}"#,
            r#"{"start":"2025-02-01T10:00:00Z","end":"2025-02-01T10:00:00.000001Z"}"#,
        ] {
            let time = parsed(json);
            let end = time.end().unwrap_or(time.start());
            assert_eq!(Temporal::from_stored(time.start(), end), time);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*", almost in "\\{\"(start|end)\":\"?[0-9TZ:.+-]*\"?\\}") {
            let _ = (Temporal::parse("t", &text), Temporal::parse("t", &almost), Temporal::parse_import("t", &text));
        }

        #[test]
        fn any_two_instants_in_order_make_a_period_or_a_point(a: i64, b: i64) {
            let (start, end) = (Instant::from_micros(a), Instant::from_micros(b));
            match Temporal::period("t", start, end) {
                Ok(temporal) => {
                    prop_assert_eq!(temporal.is_point(), a == b);
                    prop_assert_eq!(temporal.end().unwrap_or(start), end);
                }
                Err(_) => prop_assert!(b < a),
            }
        }
    }
}
