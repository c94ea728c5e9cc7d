//! Fences of recall: which capsules a call looks at, and what stops a match (CAP-RET-4, CAP-RET-11, CAP-RET-28).

use super::recall::Query;
use super::standing::{Frame, Place, Standing};
use super::words::Tier;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Why a match is excluded, in the order they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its tier.
    Quarantined,
    /// Something says that it is not so.
    Falsified,
    /// Its tier.
    Archived,
    /// Another one replaces it.
    Superseded,
    /// Nobody ratified it.
    Proposed,
    /// It held until earlier.
    Expired,
    /// It holds from later on.
    NotYetValid,
    /// A time is asked for, and it declares none.
    Undated,
    /// It declares another time than is asked for.
    OutsideTimeWindow,
    /// It was forgotten.
    Tombstoned,
}

/// How many reasons there are.
const REASONS: usize = Reason::ALL.len();

impl Reason {
    const ALL: [Self; 10] = [
        Self::Quarantined,
        Self::Falsified,
        Self::Archived,
        Self::Superseded,
        Self::Proposed,
        Self::Expired,
        Self::NotYetValid,
        Self::Undated,
        Self::OutsideTimeWindow,
        Self::Tombstoned,
    ];

    /// The reason that is told in this place.
    pub fn of_number(number: usize) -> Option<Self> {
        Self::ALL.get(number).copied()
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Quarantined => "quarantined",
            Self::Falsified => "falsified",
            Self::Archived => "archived",
            Self::Superseded => "superseded",
            Self::Proposed => "proposed",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::Undated => "undated",
            Self::OutsideTimeWindow => "outside_time_window",
            Self::Tombstoned => "tombstoned",
        }
    }
}

/// How many matches each fence stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excluded([u64; REASONS]);

impl Excluded {
    /// Counts one more.
    pub fn note(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// As answers show it; reasons without a match are absent.
    pub fn to_json(&self) -> Value {
        self.told().map(|(reason, count)| (reason.to_owned(), json!(count))).collect::<Map<_, _>>().into()
    }

    /// In words.
    pub fn sentence(&self) -> String {
        self.told().map(|(reason, count)| format!("{count} {reason}")).collect::<Vec<_>>().join(", ")
    }

    fn told(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counted = Reason::ALL.iter().zip(self.0).filter(|(_, count)| *count > 0);
        counted.map(|(reason, count)| (reason.word(), count))
    }
}

/// The first fence that stops a capsule whatever is asked, and at any time.
pub fn always_stopped(frame: &Frame) -> Option<Reason> {
    if frame.tier == Tier::Quarantined {
        return Some(Reason::Quarantined);
    }
    if frame.falsified {
        return Some(Reason::Falsified);
    }
    if frame.tier == Tier::Archived {
        return Some(Reason::Archived);
    }
    if frame.superseded {
        return Some(Reason::Superseded);
    }
    None
}

/// The first fence that stops a capsule (CAP-RET-11): quarantine is never hidden by a softer reason.
pub fn stopped(
    frame: &Frame,
    event: impl FnOnce() -> Option<(i64, i64)>,
    query: &Query,
    now: i64,
) -> Option<Reason> {
    if let Some(reason) = always_stopped(frame) {
        return Some(reason);
    }
    if frame.staged && !query.include_staged {
        return Some(Reason::Proposed);
    }
    if frame.valid_from > now {
        return Some(Reason::NotYetValid);
    }
    if frame.valid_to.is_some_and(|to| to < now) {
        return Some(Reason::Expired);
    }
    let window = query.window.as_ref()?;
    match event() {
        None => Some(Reason::Undated),
        Some(event) if !window.meets(event) => Some(Reason::OutsideTimeWindow),
        Some(_) => None,
    }
}

/// Which capsules a call looks at at all; others are not even counted.
#[derive(Debug)]
pub struct Reach {
    places: Vec<bool>,
    session: Option<Option<u32>>,
    within: Option<HashSet<i64>>,
}

impl Reach {
    /// The capsules behind the fences of a query, at places that the caller may read.
    pub fn new(query: &Query, standing: &Standing, readable: &[bool], within: Option<HashSet<i64>>) -> Self {
        let inside = |(place, readable): (&Place, &bool)| *readable && query.fence.admits(&place.project_id);
        Self {
            places: standing.places().iter().zip(readable).map(inside).collect(),
            session: query.session_id.as_ref().map(|session| standing.known_session(session)),
            within,
        }
    }

    /// Whether it depends on its place alone whether a capsule is looked at.
    pub fn is_of_places(&self) -> bool {
        self.session.is_none() && self.within.is_none()
    }

    /// Whether capsules of a place are looked at, if nothing else decides it.
    pub fn admits_place(&self, place: usize) -> bool {
        self.places.get(place).copied().unwrap_or(false)
    }

    /// Whether a capsule is looked at.
    pub fn admits(&self, seq: i64, frame: &Frame) -> bool {
        self.places.get(frame.place as usize).copied().unwrap_or(false)
            && self.session.is_none_or(|wanted| wanted.is_some() && wanted == frame.session)
            && self.within.as_ref().is_none_or(|within| within.contains(&seq))
    }
}

#[cfg(test)]
mod tests {
    use super::super::recall::parse;
    use super::super::stamp::Stamp;
    use super::*;

    fn micros(text: &str) -> i64 {
        Stamp::parse(text).unwrap().pg_micros()
    }

    #[test]
    fn reasons_stand_where_they_are_counted() {
        for (place, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
        let mut excluded = Excluded::default();
        [Reason::Expired, Reason::Quarantined, Reason::Expired]
            .into_iter()
            .for_each(|reason| excluded.note(reason));
        assert_eq!((excluded.total(), excluded.sentence().as_str()), (3, "1 quarantined, 2 expired"));
        assert_eq!(excluded.to_json(), json!({"quarantined": 1, "expired": 2}));
    }

    #[test]
    fn the_hardest_fence_counts() {
        let Value::Object(fields) = json!({"terms": ["a"], "time_window": {"from": "2021-01-01T00:00:00Z"}})
        else {
            panic!("no object");
        };
        let (of, now) = (parse(fields).unwrap(), micros("2026-01-01T00:00:00Z"));
        let mut all = Frame {
            tier: Tier::Active,
            superseded: false,
            falsified: false,
            staged: false,
            pinned: false,
            place: 0,
            session: None,
            length: 2,
            confidence: 0.6,
            valid_from: micros("2020-01-01T00:00:00Z"),
            valid_to: None,
        };
        all.tier = Tier::Quarantined;
        all.falsified = true;
        all.superseded = true;
        all.staged = true;
        all.valid_to = Some(all.valid_from);
        let mut reasons = vec![stopped(&all, || None, &of, now)];
        all.tier = Tier::Archived;
        reasons.push(stopped(&all, || None, &of, now));
        all.falsified = false;
        reasons.push(stopped(&all, || None, &of, now));
        all.tier = Tier::Active;
        reasons.push(stopped(&all, || None, &of, now));
        all.superseded = false;
        reasons.push(stopped(&all, || None, &of, now));
        all.staged = false;
        reasons.push(stopped(&all, || None, &of, now));
        all.valid_to = None;
        reasons.push(stopped(&all, || None, &of, now));
        reasons.push(stopped(&all, || Some((0, 1)), &of, now));
        let late = micros("2022-01-01T00:00:00Z");
        reasons.push(stopped(&all, || Some((late, late)), &of, now));
        assert_eq!(
            reasons.iter().map(|reason| reason.map_or("none", Reason::word)).collect::<Vec<_>>(),
            [
                "quarantined",
                "falsified",
                "archived",
                "superseded",
                "proposed",
                "expired",
                "undated",
                "outside_time_window",
                "none"
            ]
        );
    }
}
