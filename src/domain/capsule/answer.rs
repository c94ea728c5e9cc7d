//! What recall answers, and its rows (CAP-RET-10, CAP-RET-12, CAP-RET-13, CAP-RET-18).
//!
//! A row is written once: its text is measured against the budget, and then is a part of the answer.

use super::record::id_of;
use super::{FRAMING, LABEL};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// What a row shows beside its rank.
#[derive(Debug, Clone)]
pub struct Detail {
    /// First line of the content.
    pub headline: String,
    /// Whether it may be giving orders.
    pub instruction_taint: bool,
    /// Who vouches for it.
    pub authority: String,
    /// Where it comes from.
    pub source: String,
    /// Where in there.
    pub anchor: String,
    /// SHA-256 of the content.
    pub source_hash: String,
    /// From when it holds.
    pub valid_from: String,
    /// Until when.
    pub valid_to: Option<String>,
    /// Whether the anchored file is there.
    pub anchor_live: Value,
    /// Whether it changed since.
    pub anchor_drift: &'static str,
    /// The epistemic sidecar.
    pub evidence_state: Option<String>,
    /// Likewise.
    pub proof_hint: Option<String>,
    /// Likewise.
    pub stale_if: Option<String>,
}

impl Detail {
    /// What every row shows of a capsule, whatever found it.
    pub fn shown(&self, seq: i64) -> Shown<'_> {
        Shown {
            label: LABEL,
            framing: FRAMING,
            id: id_of(seq),
            headline: &self.headline,
            instruction_taint: self.instruction_taint,
            authority_class: &self.authority,
            confidence: None,
            decayed_weight: None,
            provenance: Provenance {
                source: &self.source,
                anchor: &self.anchor,
                source_hash: &self.source_hash,
            },
            anchor_live: &self.anchor_live,
            anchor_drift: self.anchor_drift,
            evidence_state: self.evidence_state.as_deref(),
            proof_hint: self.proof_hint.as_deref(),
            stale_if: self.stale_if.as_deref(),
            freshness: Freshness { valid_from: &self.valid_from, valid_to: self.valid_to.as_deref() },
            matched_terms: None,
            relevance: None,
            bm25: None,
            vector_similarity: None,
            fusion_rank: None,
            similarity: None,
        }
    }
}

/// A row, in the order of its keys.
#[derive(Debug, Clone, Serialize)]
pub struct Shown<'a> {
    label: &'static str,
    framing: &'static str,
    id: String,
    headline: &'a str,
    instruction_taint: bool,
    authority_class: &'a str,
    /// 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Value>,
    /// What time left of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decayed_weight: Option<Value>,
    provenance: Provenance<'a>,
    anchor_live: &'a Value,
    anchor_drift: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof_hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_if: Option<&'a str>,
    freshness: Freshness<'a>,
    /// The terms that it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_terms: Option<Vec<String>>,
    /// Its score against the strongest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<Value>,
    /// Its score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bm25: Option<Value>,
    /// Its cosine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_similarity: Option<Value>,
    /// Its rank over both lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fusion_rank: Option<usize>,
    /// How near in meaning a neighbour is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<Value>,
}

#[derive(Debug, Clone, Serialize)]
struct Provenance<'a> {
    source: &'a str,
    anchor: &'a str,
    source_hash: &'a str,
}

#[derive(Debug, Clone, Serialize)]
struct Freshness<'a> {
    valid_from: &'a str,
    valid_to: Option<&'a str>,
}

impl Shown<'_> {
    /// Its text.
    ///
    /// # Errors
    /// It cannot be written as JSON, which does not happen.
    pub fn text(&self) -> serde_json::Result<Box<RawValue>> {
        to_raw_value(self)
    }
}

/// What recall answers.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    /// grounded, `missing_evidence` or abstain.
    pub outcome: &'static str,
    /// The rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<Box<RawValue>>>,
    /// How many matches passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<usize>,
    /// How many are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<usize>,
    /// How many are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimmed: Option<usize>,
    /// Of these, because of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimmed_by_limit: Option<usize>,
    /// Of these, because of the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimmed_by_budget: Option<usize>,
    /// The budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// How many matches the fences stopped, where none passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded_count: Option<u64>,
    /// The same by reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded: Option<Value>,
    /// Why nothing is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is near in meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// Names the recall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt_id: Option<String>,
}

impl Answer {
    /// Its text.
    ///
    /// # Errors
    /// As for [`Shown::text`].
    pub fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

/// What neighbours are, for who reads them.
const NOTE: &str = "near in meaning, but without a searched word: hints where to look, not evidence";

/// What is near in meaning, and no evidence.
#[derive(Debug, Serialize)]
pub struct Neighbours {
    label: &'static str,
    note: &'static str,
    rows: Vec<Box<RawValue>>,
}

impl Neighbours {
    /// Those of these rows; none of none.
    pub fn of(rows: Vec<Box<RawValue>>) -> Option<Self> {
        (!rows.is_empty()).then_some(Self { label: LABEL, note: NOTE, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_shows_what_it_has_and_is_a_part_of_the_answer_as_it_was_written() {
        let detail = Detail {
            headline: "a \"line\"".into(),
            instruction_taint: false,
            authority: "agent-inferred".into(),
            source: "s".into(),
            anchor: "a:1".into(),
            source_hash: "00".into(),
            valid_from: "2020-01-01T00:00:00Z".into(),
            valid_to: None,
            anchor_live: json!("unknown"),
            anchor_drift: "unknown",
            evidence_state: None,
            proof_hint: Some("look".into()),
            stale_if: None,
        };
        let row = Shown { bm25: Some(json!(-1.5)), ..detail.shown(7) }.text().unwrap();
        let text = row.get().to_owned();
        let answer = Answer { outcome: "grounded", results: Some(vec![row]), ..Answer::default() };
        assert_eq!(answer.text().unwrap(), format!(r#"{{"outcome":"grounded","results":[{text}]}}"#));
        let row: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(row["freshness"], json!({"valid_from": "2020-01-01T00:00:00Z", "valid_to": null}));
        assert_eq!(
            (&row["id"], &row["bm25"], &row["headline"]),
            (&json!("cap-7"), &json!(-1.5), &json!("a \"line\""))
        );
        assert_eq!((row.get("stale_if"), &row["proof_hint"]), (None, &json!("look")));
    }

    #[test]
    fn neighbours_of_no_rows_are_none() {
        assert!(Neighbours::of(Vec::new()).is_none());
    }
}
