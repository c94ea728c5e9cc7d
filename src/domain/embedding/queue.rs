//! How entries of the queue are claimed, and when a failure is tried again.

use crate::domain::invalid::Invalid;
use crate::domain::limits;
use std::time::Duration;

/// How a worker claims (EMB-7 … EMB-11).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Most entries.
    pub batch: i32,
    /// How long they are this worker's.
    pub lock: Seconds,
    /// An entry that was claimed this often fails instead of being claimed again.
    pub max_attempts: i32,
}

impl Claim {
    /// Checks the arguments; those not given are 10 entries, 5 minutes and 3 attempts (LIM-11).
    pub fn parse(batch: Option<i32>, lock: Option<f64>, max_attempts: Option<i32>) -> Result<Self, Invalid> {
        Ok(Self {
            batch: within("batch_size", batch.unwrap_or(10), i32::from(limits::EMBEDDING_BATCH))?,
            lock: Seconds::parse("lock_seconds", lock.unwrap_or(300.0))?,
            max_attempts: within("max_attempts", max_attempts.unwrap_or(3), 100)?,
        })
    }
}

fn within(argument: &str, value: i32, most: i32) -> Result<i32, Invalid> {
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    Err(Invalid::new(
        argument,
        "EMB-9",
        format!("argument \"{argument}\" is {value}, not between 1 and {most}"),
        format!("Give a number between 1 and {most}, or leave it out."),
    ))
}

/// Checks how many entries one call of `embed_pending` is to work on.
pub fn parse_pending_limit(argument: &str, limit: i32) -> Result<i32, Invalid> {
    within(argument, limit, i32::from(limits::EMBEDDING_BATCH))
}

/// A length of time that a caller gave: 0 seconds to ten years.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds(f64);

impl Seconds {
    const MOST: f64 = 10.0 * 366.0 * 86_400.0;

    /// Checks a number of seconds.
    pub fn parse(argument: &str, seconds: f64) -> Result<Self, Invalid> {
        if (0.0..=Self::MOST).contains(&seconds) {
            return Ok(Self(seconds));
        }
        Err(Invalid::new(
            argument,
            "EMB-10",
            format!("argument \"{argument}\" is {seconds}, not between 0 and {}", Self::MOST),
            "Give a number of seconds that is not negative.",
        ))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl From<Duration> for Seconds {
    fn from(duration: Duration) -> Self {
        Self(duration.as_secs_f64().min(Self::MOST))
    }
}

/// How long a failed entry waits before it may be claimed again: seconds first, then minutes (design §5).
pub fn retry_delay(attempts: i32) -> Seconds {
    match attempts {
        ..=1 => Seconds(5.0),
        2 => Seconds(30.0),
        3 => Seconds(120.0),
        _ => Seconds(600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_ten_entries_five_minutes_three_attempts() {
        let claim = Claim::parse(None, None, None).unwrap();
        assert_eq!((claim.batch, claim.lock.get(), claim.max_attempts), (10, 300.0, 3));
    }

    #[test]
    fn what_would_never_end_is_refused() {
        assert!(Claim::parse(Some(0), None, None).is_err());
        assert!(Claim::parse(Some(1001), None, None).is_err());
        assert!(Claim::parse(None, None, Some(0)).is_err());
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e12] {
            assert_eq!(Seconds::parse("lock_seconds", bad).unwrap_err().rule, "EMB-10", "{bad}");
        }
        assert_eq!(Seconds::parse("lock_seconds", 0.0).unwrap().get(), 0.0);
    }

    #[test]
    fn delays_grow() {
        let delays: Vec<f64> = (0..8).map(|attempts| retry_delay(attempts).get()).collect();
        assert!(delays.is_sorted());
        assert_eq!(delays[1], 5.0);
    }
}
