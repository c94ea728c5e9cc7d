//! What recall shows of capsules beside their rank.

use super::files::{self, Found as Place};
use crate::domain::capsule::ranking::Detail;
use crate::domain::capsule::text::headline;
use crate::error::Result;
use crate::statement;
use crate::store::owner::looking_up;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::json;
use std::collections::HashMap;

statement!(
    /// More of a content than a headline can show is not read.
    DETAILS,
    ["select c.seq, pg_catalog.left(m.content, 300), c.source, c.anchor, c.source_hash, c.valid_from, c.valid_to,
        c.authority_class, c.instruction_taint, e.evidence_state, e.proof_hint, e.stale_if, a.file_hash
      from me.capsule as c
      join me.memory as m on m.space = c.space and m.id = c.memory_id
      left join me.capsule_epistemic as e on e.space = c.space and e.seq = c.seq
      left join me.capsule_anchor as a on a.space = c.space and a.seq = c.seq
      where c.space = $1 and c.seq = any ($2)"],
    [TEXTOID, INT8ARRAYOID]
);

/// The details of some capsules; a forgotten one has none.
pub fn of(session: &Session, seqs: &[i64]) -> Result<HashMap<i64, Detail>> {
    looking_up(|| session.db().run(&DETAILS, &[arg(session.space()), arg(seqs.to_vec())]))?
        .into_iter()
        .map(|row| {
            let (source, anchor): (String, String) = (row.need(3)?, row.need(4)?);
            let place = files::look(&anchor);
            let drift = match (&place, row.get::<String>(13)) {
                (Place::File(Some(now)), Some(then)) if *now == then => "unchanged",
                (Place::File(Some(_)), Some(_)) => "drifted",
                _ => "unknown",
            };
            let live = match place {
                Place::File(_) => json!(true),
                Place::Nothing => json!(false),
                Place::Unknown => json!("unknown"),
            };
            let detail = Detail {
                headline: headline(&row.need::<String>(2)?),
                instruction_taint: row.need(9)?,
                authority: row.need(8)?,
                provenance: json!({"source": source, "anchor": anchor, "source_hash": row.need::<String>(5)?}),
                freshness: json!({"valid_from": row.need::<String>(6)?, "valid_to": row.get::<String>(7)}),
                anchor_live: live,
                anchor_drift: drift,
                evidence_state: row.get(10),
                proof_hint: row.get(11),
                stale_if: row.get(12),
            };
            Ok((row.need(1)?, detail))
        })
        .collect()
}
