//! Sessions of work (CAP-SES).

use super::book::Book;
use super::capture::{Outcome, capture};
use super::vocabulary::require_writer;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::handoff::SOURCE;
use crate::domain::capsule::ingest::Item;
use crate::domain::capsule::record::{id_of, numbered};
use crate::error::{Error, Result};
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::{Value, json};

statement!(
    START,
    ["insert into me.capsule_session (space, number, started_at) values ($1, $2, $3)"],
    [TEXTOID, INT8OID, TIMESTAMPTZOID]
);
statement!(
    STATE,
    ["select s.finished_at is not null from me.capsule_session as s where s.space = $1 and s.number = $2"],
    [TEXTOID, INT8OID]
);
statement!(
    FINISH,
    ["update me.capsule_session set finished_at = $3, summary = $4 where space = $1 and number = $2"],
    [TEXTOID, INT8OID, TIMESTAMPTZOID, TEXTOID]
);

/// The number of a session that is open.
pub fn check_open(session: &Session, id: &str) -> Result<i64> {
    let missing = |kind: &'static str| Error::from(Fault::Missing { kind, id: id.to_owned() });
    let number = numbered(id, "sess-").ok_or_else(|| missing("unknown_session"))?;
    let row = session.db().row(&STATE, &[arg(session.space()), arg(number)])?;
    match row.map(|row| row.need::<bool>(1)).transpose()? {
        None => Err(missing("unknown_session")),
        Some(true) => Err(missing("finished_session")),
        Some(false) => Ok(number),
    }
}

/// Opens a session.
pub fn start(book: &mut Book) -> Result<Value> {
    require_writer(book.session())?;
    book.sessions += 1;
    let id = format!("sess-{}", book.sessions);
    let session = book.session();
    session.db().run(&START, &[arg(session.space()), arg(book.sessions), arg(book.now_at())])?;
    book.note("memory_session_start", &id, None);
    Ok(json!({"session_id": id, "started_at": book.now().text()}))
}

/// Closes a session; what is handed on is captured first.
pub fn finish(book: &mut Book, id: &str, summary: Option<String>, handoff: Option<String>) -> Result<Value> {
    require_writer(book.session())?;
    let number = check_open(book.session(), id)?;
    let mut answer = json!({"session_id": id, "finished_at": book.now().text()});
    if let Some(content) = handoff {
        let item = Item {
            content,
            source: SOURCE.into(),
            anchor: id.into(),
            session_id: Some(id.into()),
            ..Item::default()
        };
        let (stored, deduped) = match capture(book, item, "memory_session_finish")? {
            Outcome::Captured(stored) => (stored, false),
            Outcome::Deduplicated(stored) => (stored, true),
            Outcome::Rejected(reason) => {
                return Err(Fault::value("handoff", format!("handoff cannot be captured: {reason}")).into());
            }
        };
        answer["handoff_capsule"] = id_of(stored.seq).into();
        if deduped {
            answer["handoff_deduped"] = true.into();
        }
    }
    let session = book.session();
    session.db().run(
        &FINISH,
        &[arg(session.space()), arg(number), arg(book.now_at()), summary.as_deref().and_then(arg)],
    )?;
    book.note("memory_session_finish", id, None);
    if let Some(summary) = summary {
        answer["summary"] = summary.into();
    }
    Ok(answer)
}
