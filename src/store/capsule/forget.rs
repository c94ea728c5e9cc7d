//! `memory_forget`: destroys a content for good, and leaves a keyed fingerprint (CAP-FGT).

use super::book::Book;
use super::erase;
use super::pack;
use super::state::{self, State};
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::seal::{fingerprint, hex};
use crate::domain::capsule::text::{index_tokens, is_blank};
use crate::domain::capsule::words::Mode;
use crate::error::{Error, Result};
use crate::store::operation::Operation;
use crate::store::random;
use crate::store::session::Session;
use crate::store::spi::arg;
use crate::{guc, statement};

statement!(
    EMPTY,
    ["update me.capsule set memory_id = null, source = null, anchor = null, confidence = null, valid_from = null,
        valid_from_at = null, valid_to = null, valid_to_at = null, thread = null, length = 0
      where space = $1 and seq = $2 returning 1"],
    [TEXTOID, INT8OID]
);
statement!(
    TOKENS,
    ["delete from me.capsule_token where space = $1 and seq = $2 and token = any ($3)"],
    [TEXTOID, INT8OID, TEXTARRAYOID]
);
statement!(VECTOR, ["delete from me.capsule_vector where space = $1 and seq = $2"], [TEXTOID, INT8OID]);
statement!(
    TOMBSTONE,
    ["insert into me.capsule_tombstone (space, seq, mode, content_hmac, at, reason, source, anchor)
      values ($1, $2, $3, $4, $5, $6, $7, $8)"],
    [TEXTOID, INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID]
);
statement!(SECRET, ["select s.key from me.capsule_secret as s where s.space = $1"], [TEXTOID]);
statement!(
    NEW_SECRET,
    ["insert into me.capsule_secret (space, key) values ($1, $2) on conflict do nothing"],
    [TEXTOID, TEXTOID]
);

/// Runs a call.
pub fn forget(book: &mut Book, id: &str, mode: Mode, reason: &str) -> Result<()> {
    if is_blank(reason) {
        return Err(Fault::value("reason", "reason is blank").into());
    }
    let state = state::find_writable(book.session(), id)?;
    if state.is_forgotten() {
        return Err(Fault::Missing { kind: "tombstoned_capsule", id: id.to_owned() }.into());
    }
    let at = arg(book.now_at());
    destroy(book, &state, mode, reason, at)?;
    book.note("memory_forget", id, Some(reason));
    Ok(())
}

/// Destroys the content of a capsule in every table, and marks the place.
pub fn destroy(
    book: &mut Book,
    state: &State,
    mode: Mode,
    reason: &str,
    at: Option<pgrx::pg_sys::Datum>,
) -> Result<()> {
    let session = book.session();
    let record = state.live()?;
    let mac = fingerprint(&key(session)?, &state.id(), &record.content);
    let tokens = index_tokens(&record.content);
    let length = tokens.len() as i64;
    let db = session.db();
    let (space, seq) = (arg(session.space()), arg(state.seq));
    pack::forget(session, state.seq, &tokens)?;
    db.run(&TOKENS, &[space, seq, arg(tokens)])?;
    db.run(&VECTOR, &[space, seq])?;
    db.run(&EMPTY, &[space, seq])?;
    let kept = |text: &str| if mode == Mode::Redacted { arg(text) } else { None };
    db.run(
        &TOMBSTONE,
        &[
            space,
            seq,
            arg(mode.word()),
            arg(mac),
            at,
            arg(reason),
            kept(&record.source),
            kept(&record.anchor),
        ],
    )?;
    if let Some(memory_id) = state.memory_id {
        erase::everywhere(session, &Operation::new("capsule_forget"), memory_id)?;
    }
    book.tokens -= length;
    Ok(())
}

/// The key of the space: that of the configured file, or the one made at the first forgetting (CAP-FGT-8).
fn key(session: &Session) -> Result<Vec<u8>> {
    if let Some(path) = guc::capsule_key_file() {
        let bytes = std::fs::read(path).map_err(|error| {
            Error::Internal(format!("the file of me.capsule_key_file cannot be read: {}", error.kind()))
        })?;
        let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        return match end {
            0 => Err(Error::Internal("the file of me.capsule_key_file is empty".into())),
            end => Ok(bytes[..end].to_vec()),
        };
    }
    let space = [arg(session.space())];
    let stored = |row: Option<crate::store::spi::Row>| row.map(|row| row.need::<String>(1)).transpose();
    if let Some(key) = stored(session.db().row(&SECRET, &space)?)? {
        return Ok(key.into_bytes());
    }
    let made = [random::bytes(), random::bytes()].concat();
    session.db().run(&NEW_SECRET, &[arg(session.space()), arg(hex(&made))])?;
    let key = stored(session.db().row(&SECRET, &space)?)?;
    key.map(String::into_bytes).ok_or_else(|| Error::Internal("a key could not be made".into()))
}
