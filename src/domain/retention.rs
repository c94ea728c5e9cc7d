//! How long history is kept: the text of `me.history_retention`.

/// A length of time that is kept; its absence means for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    micros: i64,
}

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

impl Retention {
    /// Reads amounts with units, for instance `30 days`, `90d` or `1 year 6 months`; a month has 30 days, a year 365.
    /// Empty text, and nothing but zero, mean for ever: `Ok(None)`.
    ///
    /// # Errors
    /// `Err(())` for any other text.
    #[allow(clippy::result_unit_err, reason = "a setting is refused by the server's own words")]
    pub fn parse(text: &str) -> Result<Option<Self>, ()> {
        let mut rest = text.trim();
        let mut micros = 0i64;
        while !rest.is_empty() {
            let (amount, behind) = split(rest, |character| character.is_ascii_digit());
            let (unit, behind) = split(behind.trim_start(), |character| character.is_ascii_alphabetic());
            let amount: i64 = amount.parse().map_err(|_| ())?;
            // A bare zero is the one amount that needs no unit.
            let unit = match unit {
                "" if amount == 0 => 1,
                unit => unit_micros(&unit.to_ascii_lowercase()).ok_or(())?,
            };
            let part = amount.checked_mul(unit).ok_or(())?;
            micros = micros.checked_add(part).ok_or(())?;
            rest = behind.trim_start();
        }
        Ok((micros > 0).then_some(Self { micros }))
    }

    /// Microseconds.
    pub fn micros(self) -> i64 {
        self.micros
    }
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|character| !belongs(character)).unwrap_or(text.len()))
}

fn unit_micros(unit: &str) -> Option<i64> {
    Some(match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "min" | "mins" | "minute" | "minutes" => 60 * SECOND,
        "h" | "hour" | "hours" => 3600 * SECOND,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => 7 * DAY,
        "mon" | "mons" | "month" | "months" => 30 * DAY,
        "y" | "year" | "years" => 365 * DAY,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_are_read_with_their_units() {
        for (text, days) in
            [("30 days", 30), ("90d", 90), (" 2 WEEKS ", 14), ("1 year 6 months", 545), ("24h 24 hours", 2)]
        {
            assert_eq!(Retention::parse(text), Ok(Some(Retention { micros: days * DAY })), "{text}");
        }
        assert_eq!(Retention::parse("1 min 1 s"), Ok(Some(Retention { micros: 61 * SECOND })));
    }

    #[test]
    fn nothing_and_zero_mean_for_ever() {
        for text in ["", "  ", "0", "0 days"] {
            assert_eq!(Retention::parse(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "30",
            "days",
            "-1 day",
            "1.5 days",
            "1 fortnight",
            "30 days ago",
            "99999999999999999999 d",
            "999999999999 y",
        ] {
            assert_eq!(Retention::parse(text), Err(()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = Retention::parse(&text);
        }
    }
}
