//! What a worker does besides embedding: a list of steps, each looking for places with something to do and working on
//! one of them in a small transaction of its own.
//!
//! Nobody polls. A writer that commits says when the worker shall look (`me.upkeep_delay` later); a step that wants to
//! be back without a writer says when. Between two pieces the worker embeds what is new, so that nothing waits long.

use super::board::Slot;
use super::erasure::vacuum;
use super::transaction::{activity, try_transaction};
use crate::store::capsule::pack;
use crate::store::lexical::litter;
use crate::store::upkeep::{Answer, Look, Piece, now, soon};
use crate::store::{audit, embedding, lexical, reindex, upkeep};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// One kind of upkeep.
struct Step {
    /// What it does, as `pg_stat_activity` and the log say it.
    name: &'static str,
    /// Says where there is something to do.
    look: fn() -> Answer<Look>,
    /// Does a piece of it at a place, from where the last piece ended.
    work: fn(&str, u128) -> Answer<Piece>,
}

/// How many steps there are.
pub const STEPS: usize = LIST.len();

/// All of them, in the order in which they have their turn: history is sealed before it is pruned.
const LIST: [Step; 7] = [
    Step { name: "seal the history", look: audit::unsealed, work: audit::seal_piece },
    Step { name: "prune the history", look: audit::too_old, work: audit::prune_piece },
    Step {
        name: "prune the embedding queue",
        look: embedding::queue::long_finished,
        work: embedding::queue::prune_piece,
    },
    Step { name: "index memories anew", look: reindex::pending, work: reindex::piece },
    Step { name: "keep the lexical index", look: lexical::upkeep::waiting, work: lexical::upkeep::piece },
    Step { name: "pack the capsules", look: pack::waiting, work: pack::piece },
    Step { name: "tidy the text index", look: upkeep::has_text, work: upkeep::tidy_text },
];

/// A place where a step goes on.
struct Task {
    step: usize,
    place: String,
    from: u128,
}

/// One pass over the steps, which lasts as long as there is something to do.
pub struct Upkeep {
    slot: &'static Slot,
    tasks: VecDeque<Task>,
    next: Option<i64>,
    under_way: bool,
}

impl Upkeep {
    /// None under way.
    pub fn new(slot: &'static Slot) -> Self {
        Self { slot, tasks: VecDeque::new(), next: None, under_way: false }
    }

    /// When there will be something to do; `None` when nobody knows of anything.
    pub fn due(&self) -> Option<i64> {
        match self.slot.upkeep.load(Ordering::SeqCst) {
            _ if self.under_way => Some(0),
            0 => None,
            due => Some(due),
        }
    }

    /// Does one piece, if something is due; whether it did.
    pub fn turn(&mut self) -> bool {
        if self.due().is_none_or(|due| due > now()) {
            return false;
        }
        if !self.under_way {
            self.begin();
        }
        match self.tasks.pop_front() {
            Some(task) => self.work(task),
            None => self.end(),
        }
        true
    }

    /// What was begun is begun anew by the next worker.
    pub fn leave(&mut self) {
        if self.under_way {
            self.under_way = false;
            self.slot.look_at(1);
        }
    }

    fn begin(&mut self) {
        // Whoever writes from now on asks for the next pass.
        self.slot.upkeep.store(0, Ordering::SeqCst);
        (self.under_way, self.next) = (true, None);
        for (number, step) in LIST.iter().enumerate() {
            let not_before = &self.slot.steps[number];
            let due = not_before.load(Ordering::SeqCst);
            if due > now() {
                self.be_back(due);
                continue;
            }
            activity(Some(&format!("look: {}", step.name)));
            let Some(look) = try_transaction(step.name, step.look) else {
                self.be_back(soon());
                continue;
            };
            not_before.store(look.next.unwrap_or(0), Ordering::SeqCst);
            if let Some(next) = look.next {
                self.be_back(next);
            }
            self.tasks.extend(look.places.into_iter().map(|place| Task { step: number, place, from: 0 }));
        }
    }

    fn work(&mut self, task: Task) {
        let step = &LIST[task.step];
        activity(Some(&match task.place.as_str() {
            "" => step.name.to_owned(),
            place => format!("{}, space {place}", step.name),
        }));
        match try_transaction(step.name, || (step.work)(&task.place, task.from)) {
            Some(Piece::Done) => {}
            // Behind the others: one large space does not hold up all.
            Some(Piece::More(from)) => self.tasks.push_back(Task { from, ..task }),
            Some(Piece::Later) | None => {
                self.slot.steps[task.step].store(0, Ordering::SeqCst);
                self.be_back(soon());
            }
        }
    }

    fn end(&mut self) {
        self.under_way = false;
        self.sweep();
        if let Some(next) = self.next {
            self.slot.look_at(next);
        }
        activity(None);
    }

    /// Vacuums what the lexical index left, between its transactions.
    fn sweep(&self) {
        const WHAT: &str = "vacuum the lexical index";
        if !litter::may_be_enough() {
            return;
        }
        if let Some(tables) = try_transaction(WHAT, litter::tables).filter(|tables| !tables.is_empty()) {
            activity(Some(WHAT));
            vacuum(WHAT, &tables, true);
        }
    }

    fn be_back(&mut self, at: i64) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

// A step's name in a line of the log is enough to find it here. Not a test: one would be linked with what the steps do,
// which needs a server.
const _: () = {
    let mut step = 1;
    while step < STEPS {
        let mut other = 0;
        while other < step {
            assert!(
                !is_same(LIST[step].name.as_bytes(), LIST[other].name.as_bytes()),
                "two steps of one name"
            );
            other += 1;
        }
        step += 1;
    }
};

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
