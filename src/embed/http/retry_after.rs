//! How long a provider asks to wait (EMB-20): `retry-after-ms`, then `retry-after` as seconds or as a date.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longer waits are cut: somebody would have to look at such a provider.
const LONGEST: Duration = Duration::from_secs(3600);

/// Reads the two headers.
pub fn parse(millis: Option<&str>, after: Option<&str>, now: SystemTime) -> Option<Duration> {
    let seconds = |text: &str| text.trim().parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds));
    let wait = match millis.and_then(seconds) {
        Some(millis) => Duration::from_secs_f64(millis / 1000.0),
        None => {
            let after = after?;
            match seconds(after) {
                Some(seconds) => Duration::from_secs_f64(seconds),
                None => date(after.trim())?.duration_since(now).unwrap_or(Duration::ZERO),
            }
        }
    };
    Some(wait.min(LONGEST))
}

/// A date of the form `Wed, 21 Oct 2015 07:28:00 GMT`.
fn date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let parts: Vec<&str> = text.split_ascii_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = parts.as_slice() else { return None };
    let (day, year): (i64, i64) = (day.parse().ok()?, year.parse().ok()?);
    let month = MONTHS.iter().position(|known| known == month)? as i64 + 1;
    let clock: Vec<i64> = time.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hour, minute, second] = clock.as_slice() else { return None };
    if !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    // Days since 1970-01-01 in the Gregorian calendar, with years that begin in March.
    let shifted = if month <= 2 { year - 1 } else { year };
    let of_era = shifted % 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = shifted / 400 * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn all_three_forms_are_read() {
        let now = at(1_445_412_470);
        let wait = |millis, after| parse(millis, after, now);
        assert_eq!(wait(Some("1500"), Some("9")), Some(Duration::from_millis(1500)));
        assert_eq!(wait(None, Some("2")), Some(Duration::from_secs(2)));
        assert_eq!(wait(None, Some("0.5")), Some(Duration::from_millis(500)));
        assert_eq!(wait(None, Some("Wed, 21 Oct 2015 07:28:00 GMT")), Some(Duration::from_secs(10)));
        assert_eq!(wait(None, Some("Wed, 21 Oct 2015 07:00:00 GMT")), Some(Duration::ZERO));
        assert_eq!(wait(None, Some("Tue, 29 Feb 2028 00:00:00 GMT")), Some(LONGEST));
        assert_eq!(wait(None, None), None);
    }

    #[test]
    fn what_says_nothing_is_passed_over() {
        for bad in [
            "",
            "soon",
            "-1",
            "NaN",
            "inf",
            "Wed, 21 Oct 2015",
            "Wed, 40 Oct 2015 07:28:00 GMT",
            "a, b c d e GMT",
        ] {
            assert_eq!(parse(None, Some(bad), at(0)), None, "{bad}");
        }
        assert_eq!(parse(Some("soon"), Some("3"), at(0)), Some(Duration::from_secs(3)));
    }

    #[test]
    fn dates_are_counted_from_1970() {
        assert_eq!(date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(at(0)));
        assert_eq!(date("Fri, 01 Mar 2024 00:00:00 GMT"), Some(at(1_709_251_200)));
        assert_eq!(date("Thu, 29 Feb 2024 12:00:00 GMT"), Some(at(1_709_208_000)));
    }
}
