//! Takes what was made of a memory's content out of the lexical index, for good.

use super::pages::{Pages, locate};
use super::{maintain, segments};
use crate::error::Result;
use crate::statement;
use crate::store::owner;
use crate::store::session::Session;
use crate::store::spi::arg;

statement!(
    FORGET,
    ["delete from me.lexical_tail as t where t.space = $1 and t.memory_id = $2"],
    [TEXTOID, UUIDOID]
);

/// Erases a memory from every segment that holds it, dead or alive: they are written anew without it. Its lexemes are
/// gone already, so that nothing takes it in again.
pub fn erase(session: &Session, id: pgrx::Uuid) -> Result<()> {
    owner::by_index(|| {
        // Whoever is taking it in at this moment ends first.
        maintain::hold(session)?;
        let (segments, _) = segments(session, 0)?;
        for (place, ordinal) in locate(&Pages::by_statement(session), &segments, &[*id.as_bytes()])? {
            let Some(mut segment) = segments.get(place).cloned() else { continue };
            if let Err(at) = segment.dead.binary_search(&ordinal) {
                segment.dead.insert(at, ordinal);
            }
            maintain::rewrite(session, vec![segment])?;
        }
        session.db().run(&FORGET, &[arg(session.space()), arg(id)])?;
        Ok(())
    })
}
