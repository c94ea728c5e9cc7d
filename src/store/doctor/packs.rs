//! Whether the packs that recall reads say what the entries say that they were made of.

use super::{Finding, Status};
use crate::domain::capsule::posting::Posting;
use crate::error::Result;
use crate::statement;
use crate::store::owner::looking_up;
use crate::store::spi::{Db, Row};
use std::collections::BTreeMap;

statement!(
    /// Those that were written last, with their entries: any others were looked at when they were.
    PACKS,
    ["select p.space, p.first_seq, p.postings, t.seqs, t.counts
      from (
        select p.space, p.token, p.first_seq, p.last_seq, p.postings from me.capsule_posting as p
        order by p.last_seq desc, p.space, p.token limit 1000
      ) as p
      cross join lateral (
        select coalesce(pg_catalog.array_agg(t.seq order by t.seq), '{}') as seqs,
          coalesce(pg_catalog.array_agg(t.count order by t.seq), '{}') as counts
        from me.capsule_token as t
        where t.space = p.space and t.token = p.token and t.seq between p.first_seq and p.last_seq
      ) as t"],
    []
);

const CHECK: &str = "capsule packs";

/// A finding for each space whose packs are wrong, or that none is.
pub fn examine(db: &Db) -> Result<Vec<Finding>> {
    let mut wrong: BTreeMap<String, u64> = BTreeMap::new();
    for row in looking_up(|| db.run(&PACKS, &[]))? {
        if !is_right(&row)? {
            *wrong.entry(row.need(1)?).or_default() += 1;
        }
    }
    if wrong.is_empty() {
        return Ok(vec![Finding::fine(CHECK, "recall reads what the capsules hold")]);
    }
    Ok(wrong
        .into_iter()
        .map(|(space, count)| {
            let detail = format!("space {space}: {count} packs of words do not say which capsules hold them");
            let remedy = format!(
                "Call me.lexical_maintain(rebuild => true, space => '{space}'), and then without rebuild until it is complete."
            );
            Finding::bad(CHECK, Status::Error, detail, &remedy)
        })
        .collect())
}

fn is_right(row: &Row) -> Result<bool> {
    let entries = Posting { seqs: row.need(4)?, counts: row.need(5)? };
    let mut packed = Posting::default();
    Ok(packed.unpack(row.need(2)?, &row.need::<Vec<u8>>(3)?).is_ok() && packed == entries)
}
