//! `memory_relate`: edges (CAP-REL).

use super::book::Book;
use super::rows::instant;
use super::state;
use crate::domain::access::Level;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::record::{id_of, numbered};
use crate::domain::capsule::stamp::Stamp;
use crate::domain::capsule::words::{Kind, Relation};
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::{Value, json};

statement!(
    CONNECT,
    ["insert into me.capsule_relation (space, kind, to_seq, from_outcome, from_seq, at, origin)
      values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning 1"],
    [TEXTOID, TEXTOID, INT8OID, BOOLOID, INT8OID, TIMESTAMPTZOID, TEXTOID]
);
statement!(
    OUTCOME,
    ["select exists (select from me.capsule_outcome as o where o.space = $1 and o.number = $2)"],
    [TEXTOID, INT8OID]
);

/// The origin of an edge that a caller wrote.
pub const MANUAL: &str = "manual";
/// The origin of an edge that the import wrote.
pub const IMPORT: &str = "import";

/// Refuses a caller who may not write where a capsule stands; one that it may not read is unknown to it.
fn require_end(session: &Session, seq: i64) -> Result<()> {
    state::find_writable(session, &id_of(seq)).map(|_| ())
}

/// Records an edge; false when it was there already, with its first stamp and origin kept (CAP-REL-4).
pub fn connect(book: &Book, kind: Relation, from: (bool, i64), to: i64, origin: &str) -> Result<bool> {
    connect_at(book, kind, from, to, origin, book.now())
}

/// The same, with the stamp it had elsewhere.
///
/// An edge changes how both its ends are recalled, whoever finds the reason for it: the caller needs write at both.
pub fn connect_at(
    book: &Book,
    kind: Relation,
    from: (bool, i64),
    to: i64,
    origin: &str,
    at: &Stamp,
) -> Result<bool> {
    let session = book.session();
    require_end(session, to)?;
    if !from.0 {
        require_end(session, from.1)?;
    }
    let args =
        [arg(session.space()), arg(kind.word()), arg(to), arg(from.0), arg(from.1), instant(at), arg(origin)];
    Ok(session.db().row(&CONNECT, &args)?.is_some())
}

/// Whether an outcome of this number exists.
pub fn outcome_exists(session: &Session, number: i64) -> Result<bool> {
    let row = session.db().row(&OUTCOME, &[arg(session.space()), arg(number)])?;
    row.map_or(Ok(false), |row| row.need(1))
}

/// Runs a call.
pub fn relate(book: &mut Book, kind: Relation, from: &str, to: &str) -> Result<Value> {
    if from == to {
        return Err(Fault::value("to", format!("{from} cannot stand on both ends of {}", kind.word())).into());
    }
    let from_end = from_end(book.session(), kind, from)?;
    let target = state::find(book.session(), to)?;
    book.session().require_capsule(Level::Write, &target.tree)?;
    match kind {
        Relation::PartOf if !matches!(target.kind(), Some(Kind::Epic | Kind::Task)) => {
            return Err(Fault::value(
                "to",
                format!("{to} is neither an epic nor a task: nothing is part_of it"),
            )
            .into());
        }
        Relation::About if target.is_forgotten() => {
            return Err(Fault::value("to", format!("{to} is forgotten: nothing can be about it")).into());
        }
        _ => {}
    }
    let is_new = connect(book, kind, from_end, target.seq, MANUAL)?;
    book.note("memory_relate", from, Some(&format!("{} {}", kind.word(), id_of(target.seq))));
    Ok(json!({
        "kind": kind.word(),
        "from": from,
        "to": to,
        "recorded": true,
        "already_recorded": !is_new,
    }))
}

/// The end that acts: a capsule, or for `falsifies` an outcome (CAP-REL-7).
fn from_end(session: &Session, kind: Relation, from: &str) -> Result<(bool, i64)> {
    if kind == Relation::Falsifies
        && let Some(number) = numbered(from, "out-")
    {
        return if outcome_exists(session, number)? {
            Ok((true, number))
        } else {
            Err(Error::from(Fault::unknown_capsule(from)))
        };
    }
    let state = state::find(session, from)?;
    session.require_capsule(Level::Write, &state.tree)?;
    Ok((false, state.seq))
}
