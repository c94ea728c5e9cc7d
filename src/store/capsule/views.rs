//! `memory_export` and `memory_visual`: the space as a document and as pictures (CAP-EXP, CAP-VIS).

use super::graph;
use super::rows::{Stamps, readable_roots};
use super::state;
use crate::domain::capsule::export::{Edge, Entry, Export, Tombstone};
use crate::domain::capsule::project::Fence;
use crate::domain::capsule::record::armour;
use crate::domain::capsule::text::headline;
use crate::domain::capsule::visual;
use crate::domain::capsule::words::{Relation, View};
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::Value;

statement!(
    /// The edges between capsules the caller may read.
    EDGES,
    ["select r.kind, r.from_outcome, r.from_seq, r.to_seq from me.capsule_relation as r
      join me.capsule as b on b.space = r.space and b.seq = r.to_seq
      left join me.capsule as a on a.space = r.space and a.seq = r.from_seq and not r.from_outcome
      where r.space = $1 and ($2::text[] is null
        or (b.tree operator({ltree}.<@) any ($2::{ltree}.ltree[])
          and (r.from_outcome or a.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))))"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    TOMBSTONES,
    ["select d.seq, d.mode, d.reason, d.content_hmac, d.source, d.anchor
      from me.capsule_tombstone as d join me.capsule as c on c.space = d.space and c.seq = d.seq
      where d.space = $1 and ($2::text[] is null or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))
      order by d.seq"],
    [TEXTOID, TEXTARRAYOID]
);

fn edges(session: &Session) -> Result<Vec<Edge>> {
    session
        .db()
        .run(&EDGES, &[arg(session.space()), readable_roots(session)])?
        .into_iter()
        .map(|row| {
            let kind: String = row.need(1)?;
            let kind = Relation::from_word(&kind)
                .ok_or_else(|| Error::Internal(format!("stored relation {kind:?}")))?;
            Ok((kind, (row.need(2)?, row.need(3)?), row.need(4)?))
        })
        .collect()
}

/// Runs `memory_export`.
pub fn export(session: &Session, stamped: bool) -> Result<Value> {
    let now = Stamps::now().stamp;
    let states = state::in_scope(session, &Fence::default())?;
    let entries = states
        .iter()
        .map(|state| {
            Ok(Entry {
                seq: state.seq,
                record: state.live()?,
                kind: state.kind(),
                tier: state.tier,
                superseded: state.superseded,
            })
        })
        .collect::<Result<_>>()?;
    let tombstones = session
        .db()
        .run(&TOMBSTONES, &[arg(session.space()), readable_roots(session)])?
        .into_iter()
        .map(|row| {
            Ok(Tombstone {
                seq: row.need(1)?,
                mode: row.need(2)?,
                reason: row.need(3)?,
                content_hmac: row.need(4)?,
                trace: row.get(5).zip(row.get(6)),
            })
        })
        .collect::<Result<_>>()?;
    let export = Export { entries, tombstones, edges: edges(session)? };
    let mut answer = armour();
    answer.insert("markdown".into(), export.markdown(stamped.then_some(now.text())).into());
    Ok(answer.into())
}

/// Runs `memory_visual`.
pub fn draw(session: &Session, view: View, fence: &Fence) -> Result<Value> {
    let mermaid = match view {
        View::Dag => visual::dag(&graph::load(session)?),
        View::Relations => visual::relations(edges(session)?),
        View::Tiers => {
            let states = state::in_scope(session, fence)?;
            let entry = |state: &state::State| Ok((state.seq, headline(&state.live()?.content), state.tier));
            visual::tiers(&states.iter().map(entry).collect::<Result<Vec<_>>>()?)
        }
    };
    let mut answer = armour();
    answer.insert("mermaid".into(), mermaid.into());
    Ok(answer.into())
}
