//! Makes the lexemes of a space anew, after its text search configuration or its fields changed.

use super::entries::Indexing;
use super::roster;
use super::session::{self, Session};
use super::spi::arg;
use super::upkeep::{Answer, Look, Piece};
use super::{caller, statistics};
use crate::error::{Error, Result};
use crate::statement;

statement!(STALE, [include_str!("lexeme_stale.sql")], [TEXTOID, INT8OID, INT4OID, UUIDOID]);
statement!(
    REMAINING,
    ["select exists (
        select from me.memory as m
        where m.space = $1 and not exists (
          select from me.memory_lexeme as l
          where l.space = $1 and l.memory_id = m.id and l.piece = 0 and l.content_version = m.content_version
            and l.configuration = $2))"],
    [TEXTOID, INT4OID]
);

statement!(
    /// The spaces whose memories were not found indexed under their present configuration yet.
    PENDING,
    ["select s.slug from me.space as s
      where s.lexeme_configuration is distinct from me._fulltext_configuration(s.text_config, s.fulltext_fields)
      order by s.slug"],
    []
);
statement!(
    COMPLETE,
    [
        "update me.space set lexeme_configuration = $2 where slug = $1 and lexeme_configuration is distinct from $2"
    ],
    [TEXTOID, INT4OID]
);

/// How many memories are indexed anew in the call that changes the configuration. The rest is the worker's.
pub const AT_ONCE: i64 = 5000;
/// How many are indexed anew in one transaction of the worker.
const PIECE: i64 = 250;

/// What a turn did.
pub struct Turn {
    /// Memories indexed anew.
    pub indexed: i64,
    /// Whether there is nothing left to do.
    pub complete: bool,
}

/// Indexes up to `most` memories anew whose lexemes are not of the space's present configuration.
pub fn refresh(session: &Session, most: i64) -> Result<Turn> {
    roster::require_admin(session, session.space(), "index the space anew")?;
    // Else it might be dropped meanwhile, and lexemes would be left behind.
    roster::lock(session, session.space())?;
    let indexing = Indexing::of(session)?;
    let configuration = indexing.fingerprint();
    let (indexed, _) = index(session, most, &indexing, 0)?;
    let complete = is_complete(session, configuration)?;
    if indexed == 0 && complete {
        session.db().run(&COMPLETE, &[arg(session.space()), arg(configuration)])?;
    } else {
        crate::worker::note_upkeep();
    }
    Ok(Turn { indexed, complete })
}

fn vanished() -> Error {
    Error::Internal("the space vanished".into())
}

/// Indexes memories anew, from an id on: how many, and the id of the last.
fn index(session: &Session, most: i64, indexing: &Indexing, from: u128) -> Result<(i64, Option<u128>)> {
    let from = pgrx::Uuid::from_bytes(from.to_be_bytes());
    let args = [arg(session.space()), arg(most), arg(indexing.fingerprint()), arg(from)];
    let stale: Vec<pgrx::Uuid> =
        session.db().run(&STALE, &args)?.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?;
    indexing.refresh(session, &stale)?;
    statistics::forget();
    let last = stale.last().map(|id| u128::from_be_bytes(*id.as_bytes()));
    Ok((stale.len() as i64, last))
}

fn is_complete(session: &Session, configuration: i32) -> Result<bool> {
    let left = session.db().row(&REMAINING, &[arg(session.space()), arg(configuration)])?;
    Ok(!left.ok_or_else(vanished)?.need::<bool>(1)?)
}

/// The spaces that have to be indexed anew, or that were not looked through yet.
pub fn pending() -> Answer<Look> {
    caller::background(|caller| {
        let rows = caller.db().run(&PENDING, &[])?;
        Ok(Look { places: rows.into_iter().map(|row| row.need(1)).collect::<Result<_>>()?, next: None })
    })
}

/// Indexes some memories of a space anew, from an id on. A space counts as done when a whole pass has found nothing to
/// do: what was written under the old configuration may have been committed behind the one before.
pub fn piece(space: &str, from: u128) -> Answer<Piece> {
    session::background(space, |session| {
        let Some(indexing) = Indexing::find(session)? else { return Ok(Piece::Done) };
        let configuration = indexing.fingerprint();
        roster::lock(session, space)?;
        match index(session, PIECE, &indexing, from)? {
            (_, Some(last)) => Ok(Piece::More(last.saturating_add(1))),
            (_, None) if from > 0 || !is_complete(session, configuration)? => Ok(Piece::Later),
            (_, None) => {
                session.db().run(&COMPLETE, &[arg(space), arg(configuration)])?;
                Ok(Piece::Done)
            }
        }
    })
}
