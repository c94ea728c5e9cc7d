//! A moment in time as memories carry it: strict to read, kept to the microsecond, printed the same in every session.

use std::fmt;

use super::invalid::{Invalid, excerpt};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Days from 1970-01-01, where the date arithmetic counts from, to 2000-01-01, where PostgreSQL does.
const UNIX_TO_POSTGRES_DAYS: i64 = 10_957;
/// 0001-01-01T00:00:00Z, the earliest instant that four digits can write.
const EARLIEST: i64 = (days_from_civil(1, 1, 1) - UNIX_TO_POSTGRES_DAYS) * MICROS_PER_DAY;
/// 10000-01-01T00:00:00Z, the first instant that they cannot.
const TOO_LATE: i64 = (days_from_civil(10_000, 1, 1) - UNIX_TO_POSTGRES_DAYS) * MICROS_PER_DAY;

const GRAMMAR_HINT: &str = "Write date, capital T, time and zone, for instance \"2025-02-01T10:00:00Z\" or \"2025-02-01T10:00:00.25+05:30\".";

/// Microseconds since 2000-01-01T00:00:00Z, PostgreSQL's own count, without leap seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

impl Instant {
    /// Reads the timestamp grammar of TEMP-1. A fraction of any length is rounded to the microsecond, half
    /// upwards (TEMP-6); the offset is applied and forgotten.
    ///
    /// # Errors
    /// TEMP-1 when the text does not match the grammar or names no day or time; TEMP-7 for the year 0000, an offset
    /// beyond ±15:59, or an instant whose UTC year is not 0001 to 9999.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        Parts::scan(text)
            .ok_or(Refusal::Grammar)
            .and_then(Parts::instant)
            .map_err(|refusal| refusal.at(argument, text))
    }

    /// The instant that PostgreSQL stores as this number.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 2000-01-01T00:00:00Z.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// `YYYY-MM-DDTHH:MM:SS.mmmZ` (REC-4). What is finer than a millisecond is cut, towards the past also before 2000.
    #[must_use]
    pub fn to_iso_millis(self) -> String {
        let (date, time, micros) = self.fields();
        format!("{date}T{time}.{:03}Z", micros / 1_000)
    }

    /// `YYYY-MM-DDTHH:MM:SS.mmmmmmZ`: all of it, in the grammar of TEMP-1.
    #[must_use]
    pub fn to_iso_micros(self) -> String {
        let (date, time, micros) = self.fields();
        format!("{date}T{time}.{micros:06}Z")
    }

    /// PostgreSQL's text under TimeZone UTC and DateStyle ISO (HASH-6): `2025-03-04 05:06:07.5+00`.
    #[must_use]
    pub fn to_pg_text(self) -> String {
        let (date, time, micros) = self.fields();
        if micros == 0 {
            return format!("{date} {time}+00");
        }
        let fraction = format!("{micros:06}");
        format!("{date} {time}.{}+00", fraction.trim_end_matches('0'))
    }

    fn fields(self) -> (Date, Time, i64) {
        let days = self.0.div_euclid(MICROS_PER_DAY);
        let of_day = self.0.rem_euclid(MICROS_PER_DAY);
        let seconds = of_day / MICROS_PER_SECOND;
        (
            civil_from_days(days + UNIX_TO_POSTGRES_DAYS),
            Time { hour: seconds / 3600, minute: seconds / 60 % 60, second: seconds % 60 },
            of_day % MICROS_PER_SECOND,
        )
    }
}

/// Why a text is no instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Grammar,
    NoSuchDay,
    NoSuchTime,
    Offset,
    Range,
}

impl Refusal {
    fn at(self, argument: &str, text: &str) -> Invalid {
        let value = excerpt(text);
        let (rule, message, hint) = match self {
            Self::Grammar => (
                "TEMP-1",
                format!("argument \"{argument}\" is no timestamp with a zone: {value}"),
                GRAMMAR_HINT,
            ),
            Self::NoSuchDay => (
                "TEMP-1",
                format!("argument \"{argument}\" names a day that does not exist: {value}"),
                "Give a day of the Gregorian calendar.",
            ),
            Self::NoSuchTime => (
                "TEMP-1",
                format!("argument \"{argument}\" names a time that does not exist: {value}"),
                "Give an hour of 00 to 23 and minutes and seconds of 00 to 59.",
            ),
            Self::Offset => (
                "TEMP-7",
                format!("argument \"{argument}\" has an offset that no zone has: {value}"),
                "Give \"Z\" or an offset between \"-15:59\" and \"+15:59\".",
            ),
            Self::Range => (
                "TEMP-7",
                format!("argument \"{argument}\" is outside the years 0001 to 9999: {value}"),
                "Give an instant whose year in UTC is 0001 to 9999.",
            ),
        };
        Invalid::new(argument, rule, message, hint)
    }
}

/// The digits of a timestamp that matches the grammar, not yet checked against calendar and clock.
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    offset_sign: i64,
    offset_hour: i64,
    offset_minute: i64,
}

impl Parts {
    fn scan(text: &str) -> Option<Self> {
        let mut rest = Scanner(text.as_bytes());
        let year = rest.digits(4)?;
        rest.byte(b'-')?;
        let month = rest.digits(2)?;
        rest.byte(b'-')?;
        let day = rest.digits(2)?;
        rest.byte(b'T')?;
        let hour = rest.digits(2)?;
        rest.byte(b':')?;
        let minute = rest.digits(2)?;
        let (mut second, mut micros) = (0, 0);
        if rest.byte(b':').is_some() {
            second = rest.digits(2)?;
            if rest.byte(b'.').is_some() {
                micros = rest.fraction()?;
            }
        }
        let (mut offset_sign, mut offset_hour, mut offset_minute) = (1, 0, 0);
        if rest.byte(b'Z').is_none() {
            if rest.byte(b'-').is_some() {
                offset_sign = -1;
            } else {
                rest.byte(b'+')?;
            }
            offset_hour = rest.digits(2)?;
            rest.byte(b':')?;
            offset_minute = rest.digits(2)?;
        }
        rest.0.is_empty().then_some(Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
            micros,
            offset_sign,
            offset_hour,
            offset_minute,
        })
    }

    fn instant(self) -> Result<Instant, Refusal> {
        if self.year == 0 {
            return Err(Refusal::Range);
        }
        if self.day < 1 || self.day > days_in_month(self.year, self.month) {
            return Err(Refusal::NoSuchDay);
        }
        if self.hour > 23 || self.minute > 59 || self.second > 59 {
            return Err(Refusal::NoSuchTime);
        }
        if self.offset_hour > 15 || self.offset_minute > 59 {
            return Err(Refusal::Offset);
        }
        let days = days_from_civil(self.year, self.month, self.day) - UNIX_TO_POSTGRES_DAYS;
        let offset = self.offset_sign * (self.offset_hour * 3600 + self.offset_minute * 60);
        let seconds = self.hour * 3600 + self.minute * 60 + self.second - offset;
        let micros = days * MICROS_PER_DAY + seconds * MICROS_PER_SECOND + self.micros;
        if !(EARLIEST..TOO_LATE).contains(&micros) {
            return Err(Refusal::Range);
        }
        Ok(Instant(micros))
    }
}

/// The bytes not read yet. Each method takes what it names from the front, or nothing.
struct Scanner<'a>(&'a [u8]);

impl Scanner<'_> {
    fn byte(&mut self, wanted: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[wanted])?;
        Some(())
    }

    fn digit(&mut self) -> Option<i64> {
        let (first, rest) = self.0.split_first()?;
        if !first.is_ascii_digit() {
            return None;
        }
        self.0 = rest;
        Some(i64::from(first - b'0'))
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        (0..count).try_fold(0, |number, _| Some(number * 10 + self.digit()?))
    }

    /// One digit or more after the point, as microseconds. The seventh digit alone decides the rounding.
    fn fraction(&mut self) -> Option<i64> {
        let (mut micros, mut scale) = (0, MICROS_PER_SECOND);
        micros += self.digit()? * (scale / 10);
        scale /= 10;
        let mut rounded = false;
        while let Some(digit) = self.digit() {
            scale /= 10;
            if scale > 0 {
                micros += digit * scale;
            } else if !rounded {
                micros += i64::from(digit >= 5);
                rounded = true;
            }
        }
        Some(micros)
    }
}

struct Date {
    year: i64,
    month: i64,
    day: i64,
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

struct Time {
    hour: i64,
    minute: i64,
    second: i64,
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }
}

/// Days of a month of the proleptic Gregorian calendar; none for a month that does not exist.
const fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    }
}

/// Days since 1970-01-01. Years are counted from March, so that the leap day is a year's last.
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of [`days_from_civil`].
const fn civil_from_days(days: i64) -> Date {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    Date {
        year: era * 400 + year + if month <= 2 { 1 } else { 0 },
        month,
        day: of_year - (153 * shifted + 2) / 5 + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn iso(text: &str) -> String {
        match Instant::parse("start", text) {
            Ok(instant) => instant.to_iso_millis(),
            Err(refusal) => format!("{} {}", refusal.rule, refusal.message),
        }
    }

    fn micros(text: &str) -> i64 {
        Instant::parse("start", text).expect(text).micros()
    }

    fn rule(text: &str) -> &'static str {
        Instant::parse("start", text).expect_err(text).rule
    }

    #[test]
    fn seconds_and_fraction_may_be_absent_and_the_offset_is_applied() {
        assert_eq!(iso("2025-02-01T10:00Z"), "2025-02-01T10:00:00.000Z");
        assert_eq!(iso("2025-02-01T10:00:00.25+05:30"), "2025-02-01T04:30:00.250Z");
        assert_eq!(iso("2025-02-02T00:00-03:30"), "2025-02-02T03:30:00.000Z");
        assert_eq!(iso("2024-02-29T23:59:59-00:00"), "2024-02-29T23:59:59.000Z");
        assert_eq!(iso("2025-06-01T00:00:00+15:59"), "2025-05-31T08:01:00.000Z");
    }

    #[test]
    fn a_text_outside_the_grammar_is_refused() {
        #[rustfmt::skip]
        let texts = [
            "", "now", "infinity", "2025-02-01", "2025-02-01T10Z", "2025-02-01T10:00:00", "2025-02-01 10:00:00Z",
            "2025-02-01t10:00:00Z", "2025-02-01T10:00:00z", "2025-02-01T10:00:00+0530", "2025-02-01T10:00:00+05",
            "2025-02-01T10:00:00+05:3", "2025-02-01T10:00:00,5Z", "2025-02-01T10:00:00.Z", "2025-02-01T10:00.5Z",
            "02025-02-01T10:00:00Z", "12025-02-01T10:00:00Z", "-2025-02-01T10:00:00Z", "2025-2-1T10:00:00Z",
            " 2025-02-01T10:00:00Z", "2025-02-01T10:00:00Z\n", "2025-02-01T10:00:00Z ", "2025-02-01T10:00:00ZZ",
            "2025-02-01T10:00:00\u{2212}05:00", "２025-02-01T10:00:00Z", "2025-02-01T10:00:00Z BC",
        ];
        for text in texts {
            assert_eq!(rule(text), "TEMP-1", "{text:?}");
        }
    }

    #[test]
    fn a_day_or_time_that_does_not_exist_is_refused() {
        #[rustfmt::skip]
        let texts = [
            "2025-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2025-04-31T00:00:00Z",
            "2025-00-01T00:00:00Z", "2025-13-01T00:00:00Z", "2025-01-00T00:00:00Z", "2025-01-32T00:00:00Z",
            "2025-02-01T24:00:00Z", "2025-02-01T10:60:00Z", "2025-02-01T10:00:60Z",
        ];
        for text in texts {
            assert_eq!(rule(text), "TEMP-1", "{text}");
        }
        assert_eq!(iso("2000-02-29T00:00:00Z"), "2000-02-29T00:00:00.000Z");
    }

    #[test]
    fn an_instant_beyond_four_digit_years_or_real_offsets_is_refused() {
        #[rustfmt::skip]
        let texts = [
            "0000-12-31T00:00:00Z", "2025-06-01T00:00:00+23:59", "2025-06-01T00:00:00+16:00",
            "2025-06-01T00:00:00-16:00", "2025-06-01T00:00:00+05:60", "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:00-00:01", "9999-12-31T23:59:59.9999995Z",
        ];
        for text in texts {
            assert_eq!(rule(text), "TEMP-7", "{text}");
        }
        assert_eq!(iso("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00.000Z");
        assert_eq!(iso("9999-12-31T23:59:59.9999994Z"), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn further_digits_are_rounded_to_the_microsecond() {
        let base = micros("2025-02-01T10:00:00Z");
        for (fraction, expected) in [
            ("5", 500_000),
            ("000001", 1),
            ("0000014", 1),
            ("0000015", 2),
            ("00000149999999999999999999", 1),
            ("123456789", 123_457),
            ("9999995", 1_000_000),
            ("0000025", 3),
            ("0000005", 1),
        ] {
            assert_eq!(micros(&format!("2025-02-01T10:00:00.{fraction}Z")) - base, expected, "{fraction}");
        }
        assert_eq!(micros(&format!("2025-02-01T10:00:00.{}Z", "0".repeat(100_000))), base);
        assert_eq!(micros("1999-12-31T23:59:59.9999995Z"), 0);
    }

    #[test]
    fn the_epoch_is_postgres_s() {
        assert_eq!(micros("2000-01-01T00:00:00Z"), 0);
        assert_eq!(micros("1970-01-01T00:00:00Z"), -946_684_800_000_000);
    }

    #[test]
    fn output_is_cut_to_the_millisecond_towards_the_past() {
        assert_eq!(iso("2025-02-01T10:00:00.9999Z"), "2025-02-01T10:00:00.999Z");
        assert_eq!(Instant::from_micros(-1).to_iso_millis(), "1999-12-31T23:59:59.999Z");
        assert_eq!(iso("1969-12-31T23:59:59.0019Z"), "1969-12-31T23:59:59.001Z");
    }

    #[test]
    fn postgres_text_has_no_trailing_zeros() {
        let pg = |text: &str| Instant::parse("start", text).expect(text).to_pg_text();
        assert_eq!(pg("2025-03-04T05:06:07.5Z"), "2025-03-04 05:06:07.5+00");
        assert_eq!(pg("2025-03-04T05:06:07Z"), "2025-03-04 05:06:07+00");
        assert_eq!(pg("2024-12-31T23:59:59.123456-05:00"), "2025-01-01 04:59:59.123456+00");
        assert_eq!(pg("0001-01-01T00:00:00.000010Z"), "0001-01-01 00:00:00.00001+00");
        assert_eq!(Instant::from_micros(-1).to_pg_text(), "1999-12-31 23:59:59.999999+00");
    }

    #[test]
    fn the_refusal_names_argument_and_value() {
        let refusal = Instant::parse("temporal.start", "soon").expect_err("no timestamp");
        assert_eq!(refusal.argument, "temporal.start");
        assert!(refusal.message.contains("temporal.start") && refusal.message.contains("\"soon\""));
    }

    #[test]
    fn every_day_of_the_calendar_follows_the_one_before() {
        let mut expected = days_from_civil(1, 1, 1);
        for year in 1..=9999 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    assert_eq!(days_from_civil(year, month, day), expected);
                    let date = civil_from_days(expected);
                    assert_eq!((date.year, date.month, date.day), (year, month, day));
                    expected += 1;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn printing_then_parsing_is_the_same(micros in EARLIEST..TOO_LATE) {
            let instant = Instant::from_micros(micros);
            let text = instant.to_pg_text().replace(' ', "T").replace("+00", "Z");
            prop_assert_eq!(Instant::parse("start", &text), Ok(instant));
        }

        #[test]
        fn no_number_panics_when_printed(micros: i64) {
            let _ = (Instant::from_micros(micros).to_pg_text(), Instant::from_micros(micros).to_iso_millis());
        }

        #[test]
        fn no_text_panics(text in ".*", almost in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{0,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?") {
            let _ = (Instant::parse("start", &text), Instant::parse("start", &almost));
        }
    }
}
