//! The edges that readiness is read from.

use super::rows::readable_roots;
use crate::domain::capsule::dag::Graph;
use crate::error::Result;
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;

statement!(
    BLOCKS,
    ["select r.from_seq, r.to_seq from me.capsule_relation as r
      join me.capsule as a on a.space = r.space and a.seq = r.from_seq
      join me.capsule as b on b.space = r.space and b.seq = r.to_seq
      where r.space = $1 and r.kind = 'blocks' and not r.from_outcome
        and ($2::text[] is null
          or (a.tree operator({ltree}.<@) any ($2::{ltree}.ltree[]) and b.tree operator({ltree}.<@) any ($2::{ltree}.ltree[])))
      order by r.from_seq, r.to_seq"],
    [TEXTOID, TEXTARRAYOID]
);
statement!(
    /// Of some capsules: which are replaced or forgotten, and which are witnessed.
    ENDS,
    ["select c.seq,
        c.memory_id is null or exists (
          select from me.capsule_relation as r
          where r.space = $1 and r.kind = 'supersedes' and r.to_seq = c.seq),
        exists (
          select from me.capsule_relation as r
          where r.space = $1 and r.kind = 'witnesses' and r.to_seq = c.seq)
      from me.capsule as c where c.space = $1 and c.seq = any ($2)"],
    [TEXTOID, INT8ARRAYOID]
);

/// The `blocks` edges between capsules the caller may read, and the state of their ends.
pub fn load(session: &Session) -> Result<Graph> {
    let mut graph = Graph::default();
    for row in session.db().run(&BLOCKS, &[arg(session.space()), readable_roots(session)])? {
        graph.blocks.push((row.need(1)?, row.need(2)?));
    }
    let members: Vec<i64> = graph.members().into_iter().collect();
    if members.is_empty() {
        return Ok(graph);
    }
    for row in session.db().run(&ENDS, &[arg(session.space()), arg(members)])? {
        let seq: i64 = row.need(1)?;
        if row.need(2)? {
            graph.dead.insert(seq);
        }
        if row.need(3)? {
            graph.witnessed.insert(seq);
        }
    }
    Ok(graph)
}
