//! `memory_classify`: labels and what supports a capsule (CAP-CLS).

use super::book::Book;
use super::state;
use crate::domain::capsule::LABEL;
use crate::domain::capsule::classify::Classify;
use crate::domain::capsule::ingest::Epistemics;
use crate::domain::capsule::record::id_of;
use crate::domain::capsule::words::{Kind, Scope};
use crate::error::Result;
use crate::statement;
use crate::store::spi::arg;
use serde_json::{Value, json};

statement!(
    KIND,
    ["select k.kind from me.capsule_classification as k where k.space = $1 and k.seq = $2"],
    [TEXTOID, INT8OID]
);
statement!(
    LABEL_IT,
    ["insert into me.capsule_classification (space, seq, kind, scope, at) values ($1, $2, $3, $4, $5)
      on conflict (space, seq) do update set kind = excluded.kind, scope = excluded.scope, at = excluded.at"],
    [TEXTOID, INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID]
);
statement!(
    /// What is sent replaces, what is not sent stays (CAP-ING-18).
    ANNOTATE,
    ["insert into me.capsule_epistemic as e (space, seq, evidence_state, proof_hint, stale_if, at)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (space, seq) do update set
        evidence_state = coalesce(excluded.evidence_state, e.evidence_state),
        proof_hint = coalesce(excluded.proof_hint, e.proof_hint),
        stale_if = coalesce(excluded.stale_if, e.stale_if),
        at = excluded.at"],
    [TEXTOID, INT8OID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID]
);

/// The reason of a journal row about a label, and about what supports a capsule.
const LABELLED: &str = "kind";
const ANNOTATED: &str = "epistemics";

/// Labels a capsule and answers with the kind it had before.
pub fn label(book: &mut Book, seq: i64, kind: Kind, scope: Scope) -> Result<Option<Kind>> {
    let session = book.session();
    let row = session.db().row(&KIND, &[arg(session.space()), arg(seq)])?;
    let was = row.and_then(|row| row.get::<String>(1)).and_then(|word| Kind::from_word(&word));
    session.db().run(
        &LABEL_IT,
        &[arg(session.space()), arg(seq), arg(kind.word()), arg(scope.word()), arg(book.now_at())],
    )?;
    book.note("memory_classify", &id_of(seq), Some(&format!("{LABELLED} {}", kind.word())));
    Ok(was)
}

/// Merges what supports a capsule.
pub fn annotate(book: &mut Book, seq: i64, epistemics: &Epistemics) -> Result<()> {
    let session = book.session();
    session.db().run(
        &ANNOTATE,
        &[
            arg(session.space()),
            arg(seq),
            epistemics.evidence_state.and_then(|state| arg(state.word())),
            epistemics.proof_hint.as_deref().and_then(arg),
            epistemics.stale_if.as_deref().and_then(arg),
            arg(book.now_at()),
        ],
    )?;
    book.note("memory_classify", &id_of(seq), Some(ANNOTATED));
    Ok(())
}

/// What a call derives, without a capsule to label.
pub fn derived(call: &Classify) -> Value {
    json!({
        "label": LABEL,
        "kind": call.kind.word(),
        "scope": call.scope.word(),
        "authority_class": call.authority.word(),
        "instruction_taint": call.instruction_taint,
    })
}

/// Labels the capsule of a call, forgotten or not.
pub fn classify(book: &mut Book, call: &Classify, id: &str) -> Result<Value> {
    let state = state::find_writable(book.session(), id)?;
    label(book, state.seq, call.kind, call.scope)?;
    if !call.epistemics.is_empty() {
        annotate(book, state.seq, &call.epistemics)?;
    }
    let mut answer = derived(call);
    answer["persisted"] = id.into();
    if let Some(record) = &state.record {
        answer["content_matches_capsule"] = (record.content == call.content).into();
    }
    Ok(answer)
}
