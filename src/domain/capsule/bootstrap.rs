//! What an agent should know before it begins, within a budget (CAP-BOOT).

use super::rank::{cost, cost_of_chars};
use super::record::armour;
use super::text::search_tokens;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Most decisions, traps and ready ones.
const SECTION_ROWS: usize = 10;

/// The sections, each in its order, not cut yet.
#[derive(Debug, Default)]
pub struct Sections {
    /// What must hold.
    pub constraints: Vec<Value>,
    /// What can be done now; the first is the next action.
    pub ready: Vec<Value>,
    /// Ids that wait for each other, if they do.
    pub cycle: Option<Vec<String>>,
    /// What was settled.
    pub decisions: Vec<Value>,
    /// How things fail.
    pub traps: Vec<Value>,
}

/// How many of the terms a text matches: each needs all its tokens.
pub fn terms_matched(terms: &[Vec<String>], content: &str) -> usize {
    if terms.is_empty() {
        return 0;
    }
    let tokens: BTreeSet<String> = search_tokens(content).into_iter().collect();
    terms.iter().filter(|term| !term.is_empty() && term.iter().all(|token| tokens.contains(token))).count()
}

/// Spends a budget: what is kept costs; after the first row that does not fit nothing more is kept.
struct Purse {
    budget: u64,
    used: u64,
    closed: bool,
    trimmed: usize,
}

impl Purse {
    fn force(&mut self, row: &Value) {
        self.used += cost(row);
    }

    fn keep(&mut self, rows: Vec<Value>) -> Vec<Value> {
        let mut kept = Vec::new();
        for row in rows {
            let cost = cost(&row);
            self.closed |= self.used + cost > self.budget;
            if self.closed {
                self.trimmed += 1;
            } else {
                self.used += cost;
                kept.push(row);
            }
        }
        kept
    }
}

/// The answer.
pub fn answer(sections: Sections, budget: u64) -> Value {
    let totals = [&sections.constraints, &sections.ready, &sections.decisions, &sections.traps].map(Vec::len);
    let capped = |mut rows: Vec<Value>| {
        rows.truncate(SECTION_ROWS);
        rows
    };
    let mut purse = Purse { budget, used: 0, closed: budget == 0, trimmed: 0 };
    let (mut constraints, mut ready) = (sections.constraints, capped(sections.ready));
    let mut next_action = None;
    let mut first_constraint = Vec::new();
    if budget > 0 {
        if !ready.is_empty() {
            let next = ready.remove(0);
            purse.force(&next);
            next_action = Some(next);
        }
        if !constraints.is_empty() {
            let first = constraints.remove(0);
            purse.force(&first);
            first_constraint.push(first);
        }
    }
    first_constraint.extend(purse.keep(constraints));
    let constraints = first_constraint;
    let ready = purse.keep(ready);
    let decisions = purse.keep(capped(sections.decisions));
    let traps = purse.keep(capped(sections.traps));

    let shown = constraints.iter().chain(&next_action).chain(&ready).chain(&decisions).chain(&traps);
    let mut seen = BTreeSet::new();
    let mut handles = Vec::new();
    for id in shown.filter_map(|row| row["id"].as_str()) {
        if seen.insert(id.to_owned()) {
            let cost = cost_of_chars(id.chars().count());
            if purse.used + cost <= budget {
                purse.used += cost;
                handles.push(Value::from(id));
            }
        }
    }
    let mut ready_section = json!({"ready": ready, "ready_total": totals[1]});
    if let Some(next) = next_action {
        ready_section["next_action"] = next;
    }
    if let Some(cycle) = sections.cycle {
        ready_section["cycle"] = cycle.into();
    }
    let mut answer: Map<String, Value> = armour();
    for (key, rows, total) in [
        ("constraints", constraints, totals[0]),
        ("decisions", decisions, totals[2]),
        ("traps", traps, totals[3]),
    ] {
        answer.insert(format!("{key}_total"), total.into());
        if !rows.is_empty() {
            answer.insert(key.to_owned(), rows.into());
        }
    }
    answer.insert("ready".into(), ready_section);
    if !handles.is_empty() {
        answer.insert("handles".into(), handles.into());
    }
    answer.insert(
        "budget".into(),
        json!({"token_budget": budget, "used_tokens": purse.used, "trimmed_by_budget": purse.trimmed}),
    );
    answer.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, chars: usize) -> Value {
        json!({"id": id, "headline": "x".repeat(chars)})
    }

    #[test]
    fn the_next_action_and_the_first_constraint_are_always_kept() {
        let sections = Sections {
            constraints: vec![row("cap-1", 10), row("cap-2", 10)],
            ready: vec![row("cap-3", 10)],
            ..Sections::default()
        };
        let shown = answer(sections, 1);
        assert_eq!(shown["constraints"].as_array().map(Vec::len), Some(1));
        assert_eq!(shown["ready"]["next_action"]["id"], "cap-3");
        assert_eq!(shown["budget"]["trimmed_by_budget"], 1);
        assert!(shown.get("handles").is_none());
    }

    #[test]
    fn a_budget_of_zero_keeps_nothing_and_counts_everything() {
        let sections = Sections {
            constraints: vec![row("cap-1", 1)],
            ready: vec![row("cap-3", 1)],
            ..Sections::default()
        };
        let shown = answer(sections, 0);
        assert_eq!(shown["budget"], json!({"token_budget": 0, "used_tokens": 0, "trimmed_by_budget": 2}));
        assert_eq!(shown["constraints_total"], 1);
    }

    #[test]
    fn nothing_is_kept_behind_a_row_that_does_not_fit() {
        let sections = Sections {
            constraints: vec![row("cap-1", 1), row("cap-2", 400), row("cap-3", 1)],
            traps: vec![row("cap-4", 1)],
            ..Sections::default()
        };
        let shown = answer(sections, 60);
        assert_eq!(shown["budget"]["trimmed_by_budget"], 3);
        assert!(shown.get("traps").is_none());
        assert_eq!(shown["handles"], json!(["cap-1"]));
    }

    #[test]
    fn a_term_needs_all_its_tokens() {
        let terms = vec![vec!["red".into(), "pump".into()], vec!["tar".into()], vec![]];
        assert_eq!(terms_matched(&terms, "The pump is RED."), 1);
    }
}
