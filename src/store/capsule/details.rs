//! What recall shows of capsules beside their rank.

use super::files::{self, Found as Place};
use super::point;
use crate::domain::capsule::answer::Detail;
use crate::domain::capsule::text::headline;
use crate::error::Result;
use crate::guc;
use crate::statement;
use crate::store::keyed::{Key, Keyed, Kind, need};
use crate::store::owner::looking_up;
use crate::store::reading::{Reading, require};
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::{Value, json};
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

/// More characters than a headline has.
const FRONT: usize = 300;

static CAPSULE: Keyed = Keyed {
    table: c"capsule",
    index: c"capsule_pkey",
    keys: &[0, 1],
    columns: &[
        (c"space", Kind::Text),
        (c"seq", Kind::Int8),
        (c"memory_id", Kind::Uuid),
        (c"source", Kind::Text),
        (c"anchor", Kind::Text),
        (c"source_hash", Kind::Text),
        (c"valid_from", Kind::Text),
        (c"valid_to", Kind::Text),
        (c"authority_class", Kind::Text),
        (c"instruction_taint", Kind::Bool),
    ],
};
static ANCHOR: Keyed = Keyed {
    table: c"capsule_anchor",
    index: c"capsule_anchor_pkey",
    keys: &[0, 1],
    columns: &[(c"space", Kind::Text), (c"seq", Kind::Int8), (c"file_hash", Kind::Text)],
};

/// The details of some capsules; a forgotten one has none.
pub fn of(session: &Session, seqs: &[i64]) -> Result<HashMap<i64, Detail>> {
    if let Some(details) = session.db().under_snapshot(|_| by_key(session.space(), seqs))? {
        return Ok(details);
    }
    looking_up(|| session.db().run(&DETAILS, &[arg(session.space()), arg(seqs.to_vec())]))?
        .into_iter()
        .map(|row| {
            let (source, anchor): (String, String) = (row.need(3)?, row.need(4)?);
            let file_hash: Option<String> = row.get(13);
            let (live, drift) = at_anchor(&anchor, || Ok(file_hash))?;
            let detail = Detail {
                headline: headline(&row.need::<String>(2)?),
                instruction_taint: row.need(9)?,
                authority: row.need(8)?,
                source,
                anchor,
                source_hash: row.need(5)?,
                valid_from: row.need(6)?,
                valid_to: row.get(7),
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

/// The same by key, under the snapshot that is active; `None` where that cannot be.
fn by_key(space: &str, seqs: &[i64]) -> Result<Option<HashMap<i64, Detail>>> {
    let Some(reading) = Reading::now() else { return Ok(None) };
    let open = |keyed| reading.open(keyed);
    let (Some(capsules), Some(contents), Some(epistemics)) =
        (open(&CAPSULE), open(&point::CONTENT), open(&point::EPISTEMIC))
    else {
        return Ok(None);
    };
    // Nobody asks for the hash of a file where none may be looked at.
    let anchors = guc::capsule_file_root().and_then(|_| open(&ANCHOR));
    if anchors.is_none() && guc::capsule_file_root().is_some() {
        return Ok(None);
    }
    // In most spaces nothing is said beside the capsules: one look says so.
    let mut any_epistemics = false;
    let mut readable = epistemics.rows(&[Key::Text(space)], |_| {
        any_epistemics = true;
        Ok(false)
    })?;
    let mut details = HashMap::with_capacity(seqs.len());
    for seq in seqs {
        let key = [Key::Text(space), Key::Int8(*seq)];
        let mut detail = None;
        readable &= capsules.rows(&key, |found| {
            let Some(memory) = found.uuid(2) else { return Ok(false) };
            let (source, anchor) = (need(found.text(3))?, need(found.text(4))?);
            let file_hash = || {
                let mut file_hash = None;
                if let Some(anchors) = &anchors {
                    require(anchors.rows(&key, |found| {
                        file_hash = found.text(2).map(str::to_owned);
                        Ok(false)
                    })?)?;
                }
                Ok(file_hash)
            };
            let (live, drift) = at_anchor(anchor, file_hash)?;
            readable &= contents.rows(&[Key::Text(space), Key::Uuid(&memory)], |content| {
                detail = Some(Detail {
                    headline: headline(need(content.text_front(2, FRONT))?),
                    instruction_taint: need(found.bool(9))?,
                    authority: need(found.text(8))?.to_owned(),
                    source: source.to_owned(),
                    anchor: anchor.to_owned(),
                    source_hash: need(found.text(5))?.to_owned(),
                    valid_from: need(found.text(6))?.to_owned(),
                    valid_to: found.text(7).map(str::to_owned),
                    anchor_live: live.clone(),
                    anchor_drift: drift,
                    evidence_state: None,
                    proof_hint: None,
                    stale_if: None,
                });
                Ok(false)
            })?;
            Ok(false)
        })?;
        if let Some(detail) = detail.as_mut().filter(|_| any_epistemics) {
            readable &= epistemics.rows(&key, |found| {
                let text = |column| found.text(column).map(str::to_owned);
                (detail.evidence_state, detail.proof_hint, detail.stale_if) = (text(2), text(3), text(4));
                Ok(false)
            })?;
        }
        if !readable {
            return Ok(None);
        }
        details.extend(detail.map(|detail| (*seq, detail)));
    }
    Ok(Some(details))
}

/// What stands at an anchor: whether something does, and whether it is what the recorded hash of the file says.
fn at_anchor(
    anchor: &str,
    file_hash: impl FnOnce() -> Result<Option<String>>,
) -> Result<(Value, &'static str)> {
    Ok(match files::look(anchor) {
        Place::File(now) => {
            let drift = match now.zip(file_hash()?) {
                Some((now, then)) if now == then => "unchanged",
                Some(_) => "drifted",
                None => "unknown",
            };
            (json!(true), drift)
        }
        Place::Nothing => (json!(false), "unknown"),
        Place::Unknown => (json!("unknown"), "unknown"),
    })
}
