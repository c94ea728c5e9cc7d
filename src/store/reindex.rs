//! Makes the lexemes of a space anew, after its text search configuration or its fields changed.

use super::roster;
use super::session::Session;
use super::spi::arg;
use super::statistics;
use crate::error::{Error, Result};
use crate::statement;

statement!(REFRESH, [include_str!("lexeme_refresh.sql")], [TEXTOID, INT8OID, INT4OID]);
statement!(
    CONFIGURATION,
    [
        "select me._fulltext_configuration(s.text_config, s.fulltext_fields) from me.space as s where s.slug = $1"
    ],
    [TEXTOID]
);
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

/// How many memories are indexed anew in the call that changes the configuration. The rest waits for the next turn.
pub const AT_ONCE: i64 = 5000;

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
    let missing = || Error::Internal("the space vanished".into());
    let configuration: i32 =
        session.db().row(&CONFIGURATION, &[arg(session.space())])?.ok_or_else(missing)?.need(1)?;
    let args = [arg(session.space()), arg(most), arg(configuration)];
    let indexed = session.db().row(&REFRESH, &args)?.ok_or_else(missing)?.need(1)?;
    let left = session.db().row(&REMAINING, &[arg(session.space()), arg(configuration)])?;
    statistics::forget();
    Ok(Turn { indexed, complete: !left.ok_or_else(missing)?.need::<bool>(1)? })
}
