//! How every capsule of a space stands: what recall has to know of each before it reads any text.

use super::fence::{Reason, always_stopped};
use super::words::Tier;
use crate::domain::path::TreePath;
use std::collections::{BTreeSet, HashMap};

/// Where capsules stand: their tree and their project.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Who may read them is decided here.
    pub tree: TreePath,
    /// The fence they stand behind.
    pub project_id: String,
}

/// One capsule that is not forgotten. Instants are in the server's microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Its tier now.
    pub tier: Tier,
    /// Target of a `supersedes` edge.
    pub superseded: bool,
    /// Target of a `falsifies` edge.
    pub falsified: bool,
    /// Reviewed, and not ratified.
    pub staged: bool,
    /// The newest pin event says so.
    pub pinned: bool,
    /// Where it stands, among the places of its [`Standing`].
    pub place: u32,
    /// Its session, among those of its [`Standing`].
    pub session: Option<u32>,
    /// Its length in tokens.
    pub length: u32,
    /// 0 to 1.
    pub confidence: f64,
    /// From when it holds.
    pub valid_from: i64,
    /// Until when.
    pub valid_to: Option<i64>,
}

/// What recall mostly has to know of a capsule, in eight bytes: so much of a large space stays in the processor's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Its length in tokens.
    pub length: u32,
    place: u32,
}

/// What the weight of a capsule is computed of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decay {
    /// 0 to 1.
    pub confidence: f64,
    /// From when on time takes of it; never, if it is pinned.
    pub from: i64,
}

impl Decay {
    fn of(frame: &Frame) -> Self {
        let from = if frame.pinned { i64::MAX } else { frame.valid_from };
        Self { confidence: frame.confidence, from }
    }
}

/// How a capsule passes the fences, as far as neither the query nor the clock decide it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Its frame has to be looked at.
    Unknown,
    /// Nothing stops it.
    Free,
    /// This stops it, whatever is asked.
    Stopped(Reason),
}

impl Mark {
    /// Nothing is known.
    const UNKNOWN: Self = Self { length: 0, place: 0 };
    /// Places that fit beside the pass.
    const PLACES: u32 = 1 << 24;

    fn of(frame: &Frame, now: i64) -> Self {
        let pass = match always_stopped(frame) {
            Some(reason) => reason as u32 + 2,
            None if frame.staged || frame.valid_to.is_some() || frame.valid_from > now => 0,
            None => 1,
        };
        if pass == 0 || frame.place >= Self::PLACES {
            return Self::UNKNOWN;
        }
        Self { length: frame.length, place: frame.place << 8 | pass }
    }

    /// Where it stands; only where its pass is known.
    pub fn place(self) -> usize {
        (self.place >> 8) as usize
    }

    /// How it passes.
    pub fn pass(self) -> Pass {
        match self.place & 0xFF {
            0 => Pass::Unknown,
            1 => Pass::Free,
            other => Reason::of_number(other as usize - 2).map_or(Pass::Unknown, Pass::Stopped),
        }
    }
}

/// The capsules of a space that are not forgotten, by number.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    frames: Vec<Option<Frame>>,
    marks: Vec<Mark>,
    /// Of those that are marked.
    decays: Vec<Decay>,
    /// The latest time from which a capsule holds that is marked as one that nothing stops.
    held_from: i64,
    places: Interned<Place>,
    sessions: Interned<String>,
    events: HashMap<i64, (i64, i64)>,
}

impl Standing {
    /// The capsule of a number.
    pub fn frame(&self, seq: i64) -> Option<&Frame> {
        self.frames.get(index(seq)?)?.as_ref()
    }

    /// The same, to be changed.
    pub fn frame_mut(&mut self, seq: i64) -> Option<&mut Frame> {
        let index = index(seq)?;
        *self.marks.get_mut(index)? = Mark::UNKNOWN;
        self.frames.get_mut(index)?.as_mut()
    }

    /// What is marked of a capsule, if the marks hold at this time.
    pub fn mark(&self, seq: i64, is_current: bool) -> Mark {
        let mark = index(seq).filter(|_| is_current).and_then(|index| self.marks.get(index));
        mark.copied().unwrap_or(Mark::UNKNOWN)
    }

    /// What the weight of a capsule is computed of.
    pub fn decay(&self, seq: i64) -> Option<Decay> {
        let index = index(seq)?;
        match self.marks.get(index)?.pass() {
            Pass::Unknown => self.frames[index].as_ref().map(Decay::of),
            _ => self.decays.get(index).copied(),
        }
    }

    /// Whether the marks hold: not when the clock was set back since.
    pub fn is_marked_for(&self, now: i64) -> bool {
        self.held_from <= now
    }

    /// Marks some capsules as they stand now, or all.
    pub fn mark_all(&mut self, some: Option<&BTreeSet<i64>>, now: i64) {
        let every = 0..self.frames.len();
        let places: Vec<usize> = match some {
            Some(seqs) => seqs.iter().filter_map(|seq| index(*seq)).filter(|at| every.contains(at)).collect(),
            None => every.collect(),
        };
        for at in places {
            let Some(frame) = &self.frames[at] else { continue };
            let mark = Mark::of(frame, now);
            if mark.pass() == Pass::Free {
                self.held_from = self.held_from.max(frame.valid_from);
            }
            (self.marks[at], self.decays[at]) = (mark, Decay::of(frame));
        }
    }

    /// Puts a capsule in its place, or takes it out.
    pub fn put(&mut self, seq: i64, frame: Option<Frame>) {
        let Some(index) = index(seq) else { return };
        if index >= self.frames.len() {
            self.frames.resize(index + 1, None);
            self.marks.resize(index + 1, Mark::UNKNOWN);
            self.decays.resize(index + 1, Decay { confidence: 0.0, from: 0 });
        }
        self.frames[index] = frame;
        self.marks[index] = Mark::UNKNOWN;
        self.events.remove(&seq);
    }

    /// Every capsule, in order of number.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &Frame)> {
        (1..).zip(&self.frames).filter_map(|(seq, frame)| Some((seq, frame.as_ref()?)))
    }

    /// Room that is kept, in capsules.
    pub fn size(&self) -> usize {
        self.frames.len()
    }

    /// The number of a place.
    pub fn place(&mut self, place: Place) -> u32 {
        self.places.number(place)
    }

    /// Every place, in the order of its number.
    pub fn places(&self) -> &[Place] {
        &self.places.items
    }

    /// The number of a session.
    pub fn session(&mut self, session: String) -> u32 {
        self.sessions.number(session)
    }

    /// The number of a session that some capsule belongs to.
    pub fn known_session(&self, session: &str) -> Option<u32> {
        self.sessions.numbers.get(session).copied()
    }

    /// Declares when the fact of a capsule was.
    pub fn put_event(&mut self, seq: i64, event: (i64, i64)) {
        self.events.insert(seq, event);
    }

    /// When the fact of a capsule was, as declared.
    pub fn event(&self, seq: i64) -> Option<(i64, i64)> {
        self.events.get(&seq).copied()
    }
}

fn index(seq: i64) -> Option<usize> {
    usize::try_from(seq.checked_sub(1)?).ok()
}

/// Values that many capsules share, each kept once.
#[derive(Debug, Clone)]
struct Interned<T> {
    items: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { items: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interned<T> {
    fn number(&mut self, item: T) -> u32 {
        if let Some(number) = self.numbers.get(&item) {
            return *number;
        }
        let number = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        self.items.push(item.clone());
        self.numbers.insert(item, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capsules_are_kept_by_number_and_taken_out() {
        let mut standing = Standing::default();
        let place = Place { tree: TreePath::root(), project_id: "demo".into() };
        let number = standing.place(place.clone());
        assert_eq!(standing.place(place), number);
        let frame = Frame {
            tier: Tier::Active,
            superseded: false,
            falsified: false,
            staged: false,
            pinned: false,
            place: number,
            session: None,
            length: 3,
            confidence: 0.5,
            valid_from: 0,
            valid_to: None,
        };
        standing.put(3, Some(frame.clone()));
        standing.put_event(3, (1, 2));
        assert_eq!(standing.iter().map(|(seq, _)| seq).collect::<Vec<_>>(), [3]);
        assert_eq!((standing.frame(1), standing.frame(0), standing.frame(9)), (None, None, None));
        assert_eq!(standing.event(3), Some((1, 2)));
        standing.put(3, None);
        assert_eq!((standing.frame(3), standing.event(3)), (None, None));
    }

    #[test]
    fn a_mark_says_what_neither_query_nor_clock_decide() {
        let mut standing = Standing::default();
        let place = Place { tree: TreePath::root(), project_id: "demo".into() };
        let place = standing.place(place);
        let plain = Frame {
            tier: Tier::Active,
            superseded: false,
            falsified: false,
            staged: false,
            pinned: false,
            place,
            session: None,
            length: 7,
            confidence: 0.5,
            valid_from: 10,
            valid_to: None,
        };
        let frames = [
            plain.clone(),
            Frame { superseded: true, ..plain.clone() },
            Frame { staged: true, ..plain.clone() },
            Frame { valid_to: Some(11), ..plain.clone() },
            Frame { valid_from: 13, ..plain.clone() },
            Frame { place: Mark::PLACES, ..plain.clone() },
            Frame { tier: Tier::Quarantined, superseded: true, ..plain },
        ];
        for (seq, frame) in (1..).zip(frames) {
            standing.put(seq, Some(frame));
        }
        let passes =
            |standing: &Standing| (1..=8).map(|seq| standing.mark(seq, true).pass()).collect::<Vec<_>>();
        assert_eq!(passes(&standing), [Pass::Unknown; 8]);
        standing.mark_all(None, 12);
        let unknown = Pass::Unknown;
        let (superseded, quarantined) =
            (Pass::Stopped(Reason::Superseded), Pass::Stopped(Reason::Quarantined));
        assert_eq!(
            passes(&standing),
            [Pass::Free, superseded, unknown, unknown, unknown, unknown, quarantined, unknown]
        );
        assert_eq!((standing.mark(1, true).length, standing.mark(1, true).place()), (7, 0));
        assert_eq!(standing.mark(1, false).pass(), unknown);
        assert!(standing.is_marked_for(10) && !standing.is_marked_for(9));
        assert_eq!(standing.decay(1), Some(Decay { confidence: 0.5, from: 10 }));
        standing.frame_mut(1).unwrap().pinned = true;
        standing.frame_mut(1).unwrap().superseded = true;
        assert_eq!(passes(&standing)[0], unknown);
        let pinned = Some(Decay { confidence: 0.5, from: i64::MAX });
        assert_eq!((standing.decay(1), standing.decay(8)), (pinned, None));
        standing.mark_all(Some(&BTreeSet::from([1, 5, 99])), 13);
        assert_eq!(passes(&standing)[..5], [superseded, superseded, unknown, unknown, Pass::Free]);
        assert!(!standing.is_marked_for(12));
        assert_eq!(standing.decay(1), pinned);
    }
}
