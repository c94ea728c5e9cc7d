//! Points in time as callers write them: RFC 3339 with an offset, kept as written (CAP-MODEL-14).

use std::cmp::Ordering;

/// Seconds from 1970-01-01 to 2000-01-01, where PostgreSQL counts from.
const PG_EPOCH: i64 = 946_684_800;

/// An instant and the text it is shown as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    seconds: i64,
    nanos: u32,
    text: String,
}

impl Stamp {
    /// Reads RFC 3339: full date, time and offset; `t`, `z` and a space between date and time are accepted.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if !text.is_ascii() || bytes.len() < 20 {
            return None;
        }
        let number = |from: usize, to: usize| -> Option<i64> {
            let digits = bytes.get(from..to)?;
            digits.iter().all(u8::is_ascii_digit).then_some(())?;
            text[from..to].parse().ok()
        };
        let mark = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|byte| allowed.contains(byte));
        let marks = mark(4, b"-") && mark(7, b"-") && mark(10, b"Tt ") && mark(13, b":") && mark(16, b":");
        if !marks {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let in_range = (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        if !in_range {
            return None;
        }
        let mut at = 19;
        let mut nanos = 0;
        if mark(19, b".") {
            let digits = bytes[20..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            at = 20 + digits;
            // Finer than a nanosecond is cut off.
            let kept = &text[20..20 + digits.min(9)];
            nanos = format!("{kept:0<9}").parse().ok()?;
        }
        let offset = match &text[at..] {
            "Z" | "z" => 0,
            rest if rest.len() == 6 && mark(at, b"+-") && mark(at + 3, b":") => {
                let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                let size = hours * 3600 + minutes * 60;
                if rest.starts_with('-') { -size } else { size }
            }
            _ => return None,
        };
        let seconds =
            days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
        Some(Self { seconds, nanos, text: show(seconds, nanos, offset) })
    }

    /// The instant so many microseconds after 2000-01-01, shown in UTC.
    pub fn from_pg_micros(micros: i64) -> Self {
        let seconds = micros.div_euclid(1_000_000) + PG_EPOCH;
        let nanos = (micros.rem_euclid(1_000_000) * 1000) as u32;
        Self { seconds, nanos, text: show(seconds, nanos, 0) }
    }

    /// Microseconds since 2000-01-01, rounded down.
    pub fn pg_micros(&self) -> i64 {
        (self.seconds - PG_EPOCH) * 1_000_000 + i64::from(self.nanos / 1000)
    }

    /// The text: the caller's offset (`Z` for zero), the fraction without trailing zeros.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Seconds from the other instant to this one.
    pub fn seconds_since(&self, other: &Self) -> f64 {
        (self.seconds - other.seconds) as f64 + (f64::from(self.nanos) - f64::from(other.nanos)) / 1e9
    }

    /// The instant so many seconds later, in UTC.
    pub fn plus_seconds(&self, seconds: i64) -> Self {
        let seconds = self.seconds + seconds;
        Self { seconds, nanos: self.nanos, text: show(seconds, self.nanos, 0) }
    }
}

impl PartialOrd for Stamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Stamp {
    /// By instant; equal instants written differently are told apart by their text, so that order is total.
    fn cmp(&self, other: &Self) -> Ordering {
        self.instant().cmp(&other.instant()).then_with(|| self.text.cmp(&other.text))
    }
}

impl Stamp {
    /// The instant alone: what comparisons are about.
    pub fn instant(&self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }
}

fn show(seconds: i64, nanos: u32, offset: i64) -> String {
    let local = seconds + offset;
    let (year, month, day) = civil_from_days(local.div_euclid(86_400));
    let of_day = local.rem_euclid(86_400);
    let mut text = format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    );
    if nanos > 0 {
        text.push('.');
        text.push_str(format!("{nanos:09}").trim_end_matches('0'));
    }
    if offset == 0 {
        text.push('Z');
    } else {
        let sign = if offset < 0 { '-' } else { '+' };
        text.push_str(&format!("{sign}{:02}:{:02}", offset.abs() / 3600, offset.abs() / 60 % 60));
    }
    text
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> Option<String> {
        Stamp::parse(text).map(|stamp| stamp.text)
    }

    #[test]
    fn offsets_are_kept_and_zero_is_z() {
        assert_eq!(shown("2024-04-01T06:00:00.500Z").as_deref(), Some("2024-04-01T06:00:00.5Z"));
        assert_eq!(shown("2924-04-01t06:00:00.120+00:00").as_deref(), Some("2924-04-01T06:00:00.12Z"));
        assert_eq!(shown("2026-03-01 00:00:00.000-03:30").as_deref(), Some("2026-03-01T00:00:00-03:30"));
        assert_eq!(shown("0000-01-01T00:00:00-00:00").as_deref(), Some("0000-01-01T00:00:00Z"));
    }

    #[test]
    fn what_is_no_rfc_3339_is_refused() {
        for text in [
            "",
            "tomorrow",
            "2024-01-01",
            "2024-01-01T00:00:00",
            "2024-02-30T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00+0100",
            "2024-01-01T00:00:00Z ",
            "+024-01-01T00:00:00Z",
            "2024-01-01T00:00:00+24:00",
            "２０24-01-01T00:00:00Z",
        ] {
            assert_eq!(shown(text), None, "{text:?}");
        }
    }

    #[test]
    fn comparison_is_on_the_instant() {
        let a = Stamp::parse("2024-01-01T02:00:00+02:00").unwrap();
        let b = Stamp::parse("2024-01-01T00:00:00Z").unwrap();
        assert_eq!(a.instant(), b.instant());
        assert_eq!(a.pg_micros(), b.pg_micros());
    }

    proptest! {
        #[test]
        fn micros_survive_text(micros in -60_000_000_000_000_000i64..200_000_000_000_000_000) {
            let stamp = Stamp::from_pg_micros(micros);
            let again = Stamp::parse(stamp.text()).unwrap();
            prop_assert_eq!(again.pg_micros(), micros);
            prop_assert_eq!(again, stamp);
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".{0,40}") {
            let _ = Stamp::parse(&text);
        }

        #[test]
        fn a_shown_stamp_is_shown_alike(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-][01][0-9]:[0-5][0-9])") {
            if let Some(stamp) = Stamp::parse(&text) {
                let again = Stamp::parse(stamp.text()).unwrap();
                prop_assert_eq!(again.text(), stamp.text());
            }
        }
    }
}
