//! Capsules that are near in meaning without holding a searched word. They are offered as such: never as evidence.

use super::details;
use super::recall::unwritable;
use super::standing::Now;
use crate::domain::capsule::answer::Neighbours;
use crate::domain::capsule::fence::{Reach, stopped};
use crate::domain::capsule::project::{ROOT, tree_of};
use crate::domain::capsule::rank::cost_of_chars;
use crate::domain::capsule::recall::{NEIGHBOURS, Query};
use crate::domain::capsule::record::rounded;
use crate::domain::embedding::Provider;
use crate::domain::filter::{Criteria, TreeFilter};
use crate::domain::path::TreePath;
use crate::domain::search::bm25::Scored;
use crate::domain::search::request::Meaning;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::also::Also;
use crate::store::embedding;
use crate::store::filter::Filter;
use crate::store::semantic::{self, Target};
use crate::store::session::Session;
use crate::store::spi::arg;
use std::collections::HashMap;

statement!(
    SEQS,
    ["select c.memory_id, c.seq from me.capsule as c where c.space = $1 and c.memory_id = any ($2)"],
    [TEXTOID, UUIDARRAYOID]
);

/// So much of the terms is embedded: more than any query means.
const MEANT_CHARS: usize = 2000;
/// How many of the nearest are looked at for each that is wanted, first and at last: fences may stop most.
const LOOKED_AT: [usize; 2] = [4, 40];

/// A search for neighbours, beside a recall.
pub struct Search<'a, 'b> {
    /// The call.
    pub session: &'a Session<'b>,
    /// What is recalled.
    pub query: &'a Query,
    /// The capsules.
    pub now: &'a Now,
    /// Which of them are looked at.
    pub reach: &'a Reach,
    /// The clock of the call.
    pub at: i64,
    /// Tokens that the rows of the recall left.
    pub budget: u64,
    /// Whether the recall found something.
    pub is_grounded: bool,
}

impl Search<'_, '_> {
    /// The neighbours as answers show them. None without a model that reads texts; and unless the caller wants them, none
    /// beside something that was found, and none when the model fails.
    pub fn offer(&self, is_known: impl Fn(i64) -> bool) -> Result<Option<Neighbours>> {
        let wanted = match (self.query.neighbours, self.is_grounded) {
            (Some(wanted), _) => wanted,
            (None, false) => NEIGHBOURS.1,
            (None, true) => 0,
        };
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let reads = |model: embedding::Registered| model.model.provider != Provider::Manual;
        if wanted == 0 || self.budget == 0 || !embedding::current(self.session)?.is_some_and(reads) {
            return Ok(None);
        }
        let meant: String = self.query.terms.join(" ").chars().take(MEANT_CHARS).collect();
        let target = match Target::of(self.session, &Meaning::Text(meant)) {
            Ok(target) => target,
            Err(Error::EmbeddingFailed { .. }) if self.query.neighbours.is_none() => return Ok(None),
            Err(other) => return Err(other),
        };
        let near = self.near(&target, wanted, is_known)?;
        let seqs: Vec<i64> = near.iter().map(|(seq, _)| *seq).collect();
        let mut details = details::of(self.session, &seqs)?;
        let (mut rows, mut used) = (Vec::new(), 0);
        for (seq, similarity) in near {
            let Some(detail) = details.remove(&seq) else { continue };
            let mut row = detail.shown(seq);
            row.similarity = Some(rounded(similarity, 4));
            let row = unwritable(row.text())?;
            used += cost_of_chars(row.get().chars().count());
            if used > self.budget {
                break;
            }
            rows.push(row);
        }
        Ok(Neighbours::of(rows))
    }

    /// The nearest that pass every fence of the recall.
    fn near(
        &self,
        target: &Target,
        wanted: usize,
        is_known: impl Fn(i64) -> bool,
    ) -> Result<Vec<(i64, f64)>> {
        let tree = match (&self.query.fence.project_id, &self.query.fence.prefix) {
            (Some(project), _) => tree_of(project),
            _ => TreePath::from_dotted(ROOT).unwrap_or_else(TreePath::root),
        };
        let filter = Filter::readable(self.session, Criteria::on_tree(TreeFilter::Path(tree)));
        let also = Also::of(self.session, None)?;
        let mut passed = Vec::new();
        for times in LOOKED_AT {
            let found = semantic::find(self.session, &filter, &also, target, Some(0.0), wanted * times)?.best;
            let ended = found.len() < wanted * times;
            let seqs = self.seqs(&found)?;
            passed = found
                .iter()
                .filter_map(|scored| Some((*seqs.get(&scored.id)?, scored.score)))
                .filter(|(seq, score)| *score > 0.0 && !is_known(*seq) && self.passes(*seq))
                .take(wanted)
                .collect();
            if ended || passed.len() == wanted {
                break;
            }
        }
        Ok(passed)
    }

    fn passes(&self, seq: i64) -> bool {
        self.now.standing.frame(seq).is_some_and(|frame| {
            self.reach.admits(seq, frame)
                && stopped(frame, || self.now.standing.event(seq), self.query, self.at).is_none()
        })
    }

    fn seqs(&self, found: &[Scored]) -> Result<HashMap<[u8; 16], i64>> {
        let ids: Vec<pgrx::Uuid> = found.iter().map(|scored| pgrx::Uuid::from_bytes(scored.id)).collect();
        self.session
            .db()
            .run(&SEQS, &[arg(self.session.space()), arg(ids)])?
            .into_iter()
            .map(|row| Ok((*row.need::<pgrx::Uuid>(1)?.as_bytes(), row.need(2)?)))
            .collect()
    }
}
