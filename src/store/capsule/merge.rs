//! `memory_merge`: folds the capsules of another space into this one (CAP-MRG).

use super::book::Book;
use super::capture::{NewCapsule, holder, store};
use super::forget::destroy;
use super::relate::connect_at;
use super::rows::{readable_roots, stamp_of};
use super::state::{self, State};
use super::vocabulary::require_writer;
use crate::domain::access::Level;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::project::Fence;
use crate::domain::capsule::record::{armour, id_of};
use crate::domain::capsule::stamp::Stamp;
use crate::domain::capsule::words::{Mode, Relation};
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::Value;
use std::collections::HashMap;

statement!(
    EDGES,
    ["select r.kind, r.from_seq, r.to_seq, r.at, r.origin from me.capsule_relation as r
      where r.space = $1 and not r.from_outcome order by r.at, r.kind, r.from_seq, r.to_seq"],
    [TEXTOID]
);
statement!(
    TOMBSTONES,
    ["select c.source_hash, d.mode, d.reason, d.at
      from me.capsule_tombstone as d join me.capsule as c on c.space = d.space and c.seq = d.seq
      where d.space = $1 and ($2::text[] is null or c.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]))
      order by d.seq"],
    [TEXTOID, TEXTARRAYOID]
);

struct Edge {
    kind: Relation,
    from: i64,
    to: i64,
    at: Stamp,
    origin: String,
}

struct Tombstone {
    source_hash: String,
    mode: Mode,
    reason: String,
    at: Stamp,
}

/// What the caller may read of another space.
pub struct Source {
    capsules: Vec<State>,
    edges: Vec<Edge>,
    tombstones: Vec<Tombstone>,
}

/// Reads a space that is to be folded into another one.
pub fn read(session: &Session) -> Result<Source> {
    let unknown = |word: String| Error::Internal(format!("stored word {word:?}"));
    let space = arg(session.space());
    let edges = session
        .db()
        .run(&EDGES, &[space])?
        .into_iter()
        .map(|row| {
            let kind: String = row.need(1)?;
            Ok(Edge {
                kind: Relation::from_word(&kind).ok_or_else(|| unknown(kind))?,
                from: row.need(2)?,
                to: row.need(3)?,
                at: stamp_of(row.need(4)?),
                origin: row.need(5)?,
            })
        })
        .collect::<Result<_>>()?;
    let tombstones = session
        .db()
        .run(&TOMBSTONES, &[space, readable_roots(session)])?
        .into_iter()
        .map(|row| {
            let mode: String = row.need(2)?;
            Ok(Tombstone {
                source_hash: row.need(1)?,
                mode: Mode::from_word(&mode).ok_or_else(|| unknown(mode))?,
                reason: row.need(3)?,
                at: stamp_of(row.need(4)?),
            })
        })
        .collect::<Result<_>>()?;
    Ok(Source { capsules: state::in_scope(session, &Fence::default())?, edges, tombstones })
}

/// Folds it in.
pub fn merge(book: &mut Book, from: &str, source: &Source) -> Result<Value> {
    require_writer(book.session())?;
    book.note("memory_merge", from, None);
    let mut mapping: HashMap<i64, i64> = HashMap::new();
    let mut added = 0;
    for capsule in &source.capsules {
        let seq = match holder(book, &capsule.source_hash)? {
            // Neither its number nor its fate are for somebody who may not read it.
            Some(local) if !book.session().rights().allow(Level::Read, &local.tree) => {
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
        if let (Some(from), Some(to)) = (mapping.get(&edge.from), mapping.get(&edge.to))
            && connect_at(book, edge.kind, (false, *from), *to, &edge.origin, &edge.at)?
        {
            relations += 1;
        }
    }
    let mut forgotten = 0;
    for tombstone in &source.tombstones {
        if let Some(local) = holder(book, &tombstone.source_hash)?.filter(|local| !local.is_forgotten()) {
            book.session().require_capsule(Level::Write, &local.tree)?;
            destroy(book, &local, tombstone.mode, &tombstone.reason, super::rows::instant(&tombstone.at))?;
            book.note("memory_merge", &local.id(), Some(&tombstone.reason));
            forgotten += 1;
        }
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

/// A capsule travels as it is; its sidecars stay behind (CAP-MRG-3).
fn append(book: &mut Book, capsule: &State) -> Result<i64> {
    let record = capsule.live()?;
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
