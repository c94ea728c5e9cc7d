//! How every capsule of a space stands: what recall has to know of each before it reads any text.

use super::words::Tier;
use crate::domain::path::TreePath;
use std::collections::HashMap;

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

/// The capsules of a space that are not forgotten, by number.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    frames: Vec<Option<Frame>>,
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
        self.frames.get_mut(index(seq)?)?.as_mut()
    }

    /// Puts a capsule in its place, or takes it out.
    pub fn put(&mut self, seq: i64, frame: Option<Frame>) {
        let Some(index) = index(seq) else { return };
        if index >= self.frames.len() {
            self.frames.resize(index + 1, None);
        }
        self.frames[index] = frame;
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
}
