//! `memory_merge`: folds the capsules of another space, or of a dump, into this one (CAP-MRG).

use super::book::Book;
use super::capture::{NewCapsule, holder, store};
use super::forget::destroy;
use super::relate::{IMPORT, MANUAL, connect_at};
use super::rows::{instant, readable_roots, stamp_of};
use super::state::{self, State};
use super::vocabulary::require_writer;
use crate::domain::access::Level;
use crate::domain::capsule::dump::{Capsule, Dump, Edge, Tombstone};
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::project::Fence;
use crate::domain::capsule::record::{armour, id_of};
use crate::domain::capsule::words::{Mode, Relation};
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::Value;
use std::collections::HashMap;

statement!(
    /// The edges between capsules that may be read.
    EDGES,
    ["select r.kind, r.from_seq, r.to_seq, r.at, r.origin from me.capsule_relation as r
      join me.capsule as a on a.space = r.space and a.seq = r.from_seq
      join me.capsule as b on b.space = r.space and b.seq = r.to_seq
      where r.space = $1 and not r.from_outcome and ($2::text[] is null
        or (a.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]) and b.tree operator({ltree}.<@) any ($2::{ltree}.ltree[])))
      order by r.at, r.kind, r.from_seq, r.to_seq"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    TOMBSTONES,
    ["select d.seq, c.source_hash, d.mode, d.reason, d.at
      from me.capsule_tombstone as d join me.capsule as c on c.space = d.space and c.seq = d.seq
      where d.space = $1 and ($2::text[] is null or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))
      order by d.seq"],
    [TEXTOID, TEXTARRAYOID]
);

/// What the caller may read of a space, as it travels.
pub fn read(session: &Session) -> Result<Dump> {
    let unknown = |word: String| Error::Internal(format!("stored word {word:?}"));
    let args = [arg(session.space()), readable_roots(session)];
    let edges = session
        .db()
        .run(&EDGES, &args)?
        .into_iter()
        .map(|row| {
            let kind: String = row.need(1)?;
            Ok(Edge {
                kind: Relation::from_word(&kind).ok_or_else(|| unknown(kind))?,
                from: row.need(2)?,
                to: row.need(3)?,
                at: stamp_of(row.need(4)?),
                is_import: row.need::<String>(5)? == IMPORT,
            })
        })
        .collect::<Result<_>>()?;
    let tombstones = session
        .db()
        .run(&TOMBSTONES, &args)?
        .into_iter()
        .map(|row| {
            let mode: String = row.need(3)?;
            Ok(Tombstone {
                seq: row.need(1)?,
                source_hash: row.need(2)?,
                mode: Mode::from_word(&mode).ok_or_else(|| unknown(mode))?,
                reason: row.need(4)?,
                at: stamp_of(row.need(5)?),
            })
        })
        .collect::<Result<_>>()?;
    let capsules =
        state::in_scope(session, &Fence::default())?.into_iter().map(capsule).collect::<Result<_>>()?;
    Ok(Dump { capsules, edges, tombstones })
}

fn capsule(state: State) -> Result<Capsule> {
    let forgotten = Error::Internal(format!("{} has no content", state.id()));
    Ok(Capsule {
        seq: state.seq,
        record: state.record.ok_or(forgotten)?,
        created: state.created,
        session_id: state.session_id,
    })
}

/// Folds it in. `from` is what the journal calls it.
pub fn merge(book: &mut Book, from: &str, source: &Dump) -> Result<Value> {
    require_writer(book.session())?;
    book.note("memory_merge", from, None);
    let mut mapping: HashMap<i64, i64> = HashMap::new();
    let mut added = 0;
    for capsule in &source.capsules {
        let seq = match holder(book, &capsule.record.source_hash)? {
            // Neither its number nor its fate are for somebody who may not read it.
            Some(local) if !may_read(book, &local) => {
                return Err(Fault::value("from", "from holds content that cannot be captured here").into());
            }
            Some(local) if local.is_forgotten() => {
                let message = format!("from holds content that was forgotten here as {}", local.id());
                return Err(Fault::value("from", message).into());
            }
            Some(local) => local.seq,
            None => {
                added += 1;
                let seq = append(book, capsule)?;
                book.note("memory_merge", &id_of(seq), Some("added"));
                seq
            }
        };
        mapping.insert(capsule.seq, seq);
    }
    let mut relations = 0;
    for edge in &source.edges {
        let (Some(from), Some(to)) = (mapping.get(&edge.from), mapping.get(&edge.to)) else { continue };
        let origin = if edge.is_import { IMPORT } else { MANUAL };
        // Two contents of the source may be one here.
        if from != to && connect_at(book, edge.kind, (false, *from), *to, origin, &edge.at)? {
            relations += 1;
        }
    }
    let mut forgotten = 0;
    for tombstone in &source.tombstones {
        let local = holder(book, &tombstone.source_hash)?.filter(|local| !local.is_forgotten());
        // What the caller may not read stays, and nothing tells that it is there.
        let Some(local) = local.filter(|local| may_read(book, local)) else { continue };
        book.session().require_capsule(Level::Write, &local.tree)?;
        destroy(book, &local, tombstone.mode, &tombstone.reason, instant(&tombstone.at))?;
        book.note("memory_merge", &local.id(), Some(&tombstone.reason));
        forgotten += 1;
    }
    let mut answer = armour();
    let mut put = |key: &str, value: Value| answer.insert(key.to_owned(), value);
    put("outcome", "merged".into());
    put("from", from.into());
    put("capsules_added", added.into());
    put("capsules_collapsed", (source.capsules.len() - added).into());
    put("relations_added", relations.into());
    put("tombstones_applied", forgotten.into());
    put("id_remap_size", mapping.len().into());
    Ok(answer.into())
}

fn may_read(book: &Book, local: &State) -> bool {
    book.session().rights().allow(Level::Read, &local.tree)
}

/// A capsule travels as it is; its sidecars stay behind (CAP-MRG-3).
fn append(book: &mut Book, capsule: &Capsule) -> Result<i64> {
    let record = &capsule.record;
    store(
        book,
        &NewCapsule {
            content: &record.content,
            source: &record.source,
            anchor: &record.anchor,
            source_hash: &record.source_hash,
            confidence: record.confidence,
            valid_from: &record.valid_from,
            valid_to: record.valid_to.as_ref(),
            project_id: &record.project_id,
            authority: record.authority,
            instruction_taint: record.instruction_taint,
            created: &capsule.created,
            session_id: capsule.session_id.as_deref(),
        },
    )
}
