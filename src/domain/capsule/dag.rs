//! What is ready to be done, read from the edges alone (CAP-DAG).

use super::record::id_of;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The edges and states the projection is made of.
#[derive(Debug, Default, Clone)]
pub struct Graph {
    /// Each `blocks` edge: from, to.
    pub blocks: Vec<(i64, i64)>,
    /// Targets of `supersedes`, and forgotten capsules.
    pub dead: BTreeSet<i64>,
    /// Targets of `witnesses`.
    pub witnessed: BTreeSet<i64>,
}

/// What the edges say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Every live member has its place; each list in the order of the ids as text.
    Ok {
        /// Nothing live stands before them.
        ready: Vec<i64>,
        /// Something does.
        blocked: Vec<i64>,
        /// Witnessed.
        done: Vec<i64>,
    },
    /// Members wait for each other: nothing is said about any of them.
    Cycle {
        /// One cycle in blocking direction, smallest first.
        cycle: Vec<i64>,
        /// All that waits in or behind a cycle.
        entangled: Vec<i64>,
    },
}

impl Graph {
    /// Every end of a `blocks` edge.
    pub fn members(&self) -> BTreeSet<i64> {
        self.blocks.iter().flat_map(|(from, to)| [*from, *to]).collect()
    }

    fn is_open(&self, seq: i64) -> bool {
        !self.dead.contains(&seq) && !self.witnessed.contains(&seq)
    }

    /// The edges between members that are neither dead nor done.
    pub fn open_edges(&self) -> Vec<(i64, i64)> {
        let edges = self.blocks.iter().filter(|(from, to)| self.is_open(*from) && self.is_open(*to));
        edges.copied().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The projection.
    pub fn readiness(&self) -> Readiness {
        let edges = self.open_edges();
        let entangled = left_over(&edges);
        if !entangled.is_empty() {
            return Readiness::Cycle {
                cycle: one_cycle(&edges, &entangled),
                entangled: entangled.into_iter().collect(),
            };
        }
        let waiting: BTreeSet<i64> = edges.iter().map(|(_, to)| *to).collect();
        let (mut ready, mut blocked, mut done) = (Vec::new(), Vec::new(), Vec::new());
        for seq in self.members() {
            if self.dead.contains(&seq) {
                continue;
            }
            if self.witnessed.contains(&seq) {
                done.push(seq);
            } else if waiting.contains(&seq) {
                blocked.push(seq);
            } else {
                ready.push(seq);
            }
        }
        for list in [&mut ready, &mut blocked, &mut done] {
            list.sort_by_key(|seq| id_of(*seq));
        }
        Readiness::Ok { ready, blocked, done }
    }
}

/// What topological elimination leaves over.
fn left_over(edges: &[(i64, i64)]) -> BTreeSet<i64> {
    let mut blockers: BTreeMap<i64, usize> = BTreeMap::new();
    let mut blocked_by: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (from, to) in edges {
        blockers.entry(*from).or_default();
        *blockers.entry(*to).or_default() += 1;
        blocked_by.entry(*from).or_default().push(*to);
    }
    let mut free: Vec<i64> = blockers.iter().filter(|(_, count)| **count == 0).map(|(seq, _)| *seq).collect();
    while let Some(seq) = free.pop() {
        blockers.remove(&seq);
        for to in blocked_by.get(&seq).into_iter().flatten() {
            if let Some(count) = blockers.get_mut(to) {
                *count -= 1;
                if *count == 0 {
                    free.push(*to);
                }
            }
        }
    }
    blockers.into_keys().collect()
}

/// Walks backwards from the smallest, each time to the smallest blocker, until one comes again.
fn one_cycle(edges: &[(i64, i64)], entangled: &BTreeSet<i64>) -> Vec<i64> {
    let mut smallest_blocker: BTreeMap<i64, i64> = BTreeMap::new();
    for (from, to) in edges {
        if entangled.contains(from) && entangled.contains(to) {
            let known = smallest_blocker.entry(*to).or_insert(*from);
            *known = (*known).min(*from);
        }
    }
    let mut walked: Vec<i64> = Vec::new();
    let mut seen = BTreeSet::new();
    let Some(mut at) = entangled.first().copied() else { return walked };
    while seen.insert(at) {
        walked.push(at);
        // Everything left over has a blocker that is left over.
        let Some(before) = smallest_blocker.get(&at) else { return Vec::new() };
        at = *before;
    }
    let start = walked.iter().position(|seq| *seq == at).unwrap_or_default();
    let mut cycle = walked.split_off(start);
    cycle.reverse();
    let smallest = (0..cycle.len()).min_by_key(|index| cycle[*index]).unwrap_or_default();
    cycle.rotate_left(smallest);
    cycle
}

/// Ids of at most `cap` numbers.
fn ids(seqs: &[i64], cap: usize) -> Vec<String> {
    seqs.iter().take(cap).map(|seq| id_of(*seq)).collect()
}

impl Readiness {
    /// As the digest shows it: lists of at most `cap`, exact totals.
    pub fn to_json(&self, cap: usize) -> Value {
        match self {
            Self::Ok { ready, blocked, done } => json!({
                "status": "ok",
                "ready": ids(ready, cap),
                "ready_total": ready.len(),
                "blocked": ids(blocked, cap),
                "blocked_total": blocked.len(),
                "done": ids(done, cap),
                "done_total": done.len(),
            }),
            Self::Cycle { cycle, entangled } => json!({
                "status": "cycle",
                "cycle": ids(cycle, usize::MAX),
                "entangled_total": entangled.len(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(blocks: &[(i64, i64)], dead: &[i64], witnessed: &[i64]) -> Graph {
        Graph {
            blocks: blocks.to_vec(),
            dead: dead.iter().copied().collect(),
            witnessed: witnessed.iter().copied().collect(),
        }
    }

    #[test]
    fn ready_is_what_nothing_live_blocks_and_ids_sort_as_text() {
        let of = graph(&[(2, 3), (10, 3), (1, 10)], &[], &[1]);
        assert_eq!(of.readiness(), Readiness::Ok { ready: vec![10, 2], blocked: vec![3], done: vec![1] });
    }

    #[test]
    fn the_dead_block_nobody_and_are_nothing_even_when_done() {
        assert_eq!(
            graph(&[(1, 2)], &[1], &[1]).readiness(),
            Readiness::Ok { ready: vec![2], blocked: vec![], done: vec![] }
        );
    }

    #[test]
    fn a_cycle_is_shown_in_blocking_direction_from_its_smallest() {
        let of = graph(&[(2, 3), (3, 1), (1, 2), (3, 5)], &[], &[]);
        assert_eq!(of.readiness(), Readiness::Cycle { cycle: vec![1, 2, 3], entangled: vec![1, 2, 3, 5] });
    }

    proptest! {
        #[test]
        fn a_reported_cycle_is_one(edges in prop::collection::vec((1i64..9, 1i64..9), 0..24)) {
            let of = graph(&edges, &[], &[]);
            match of.readiness() {
                Readiness::Cycle { cycle, entangled } => {
                    prop_assert!(!cycle.is_empty());
                    for (index, seq) in cycle.iter().enumerate() {
                        prop_assert!(edges.contains(&(*seq, cycle[(index + 1) % cycle.len()])));
                        prop_assert!(entangled.contains(seq));
                    }
                }
                Readiness::Ok { ready, blocked, done } => {
                    prop_assert_eq!(ready.len() + blocked.len() + done.len(), of.members().len());
                }
            }
        }
    }
}
