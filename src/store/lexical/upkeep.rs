//! The worker's part: takes in what was written, some memories at a time.

use super::maintain::{Turn, maintain};
use crate::error::Result;
use crate::statement;
use crate::store::caller;
use crate::store::session;
use crate::store::spi::arg;
use crate::store::upkeep::{Answer, Look, Piece};
use std::cell::Cell;

/// Memories that the worker takes in at once: two seconds' work, and room for a segment that is not merged again soon.
const PIECE: i64 = 20_000;
/// After so many written by a session the worker is called, instead of coming by itself some time later: a long tail
/// makes searches slow.
const MANY: usize = 500;

statement!(
    WAITING,
    ["select s.slug from me.space as s
      where exists (select from me.lexical_tail as t where t.space = s.slug) order by s.slug"],
    []
);
statement!(EXISTS, ["select 1 from me.space as s where s.slug = $1"], [TEXTOID]);

thread_local! {
    static WRITTEN: Cell<usize> = const { Cell::new(0) };
}

/// Counts memories that this session writes.
pub fn note_written(memories: usize) {
    let written = WRITTEN.get() + memories;
    if written < MANY {
        return WRITTEN.set(written);
    }
    WRITTEN.set(0);
    crate::worker::note_upkeep();
}

/// The spaces whose index is behind.
pub fn waiting() -> Answer<Look> {
    caller::background(|caller| {
        let rows = caller.db().run(&WAITING, &[])?;
        Ok(Look { places: rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?, next: None })
    })
}

/// Takes in some memories of a space, and merges what is due.
pub fn piece(space: &str, _from: u128) -> Answer<Piece> {
    session::background(space, |session| {
        if session.db().row(&EXISTS, &[arg(space)])?.is_none() {
            return Ok(Piece::Done);
        }
        Ok(match maintain(session, PIECE, false)? {
            Turn { busy: true, .. } => Piece::Later,
            Turn { complete: true, .. } => Piece::Done,
            Turn { .. } => Piece::More(0),
        })
    })
}
