//! `memory_review`: what becomes of a proposal (CAP-REV).

use super::book::Book;
use super::state;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::record::armour;
use crate::domain::capsule::text::is_blank;
use crate::domain::capsule::words::Verdict;
use crate::error::Result;
use crate::statement;
use crate::store::spi::arg;
use serde_json::{Value, json};

statement!(
    APPEND,
    ["insert into me.capsule_review (space, seq, number, verdict, reason, actor, at)
      select $1, $2, coalesce(max(r.number), 0) + 1, $3, $4, $5, $6
      from me.capsule_review as r where r.space = $1 and r.seq = $2"],
    [TEXTOID, INT8OID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID]
);

/// Appends a verdict; the newest one decides.
pub fn append(book: &Book, seq: i64, verdict: Verdict, reason: &str) -> Result<()> {
    let session = book.session();
    session.db().run(
        &APPEND,
        &[
            arg(session.space()),
            arg(seq),
            arg(verdict.word()),
            arg(reason),
            arg(book.actor()),
            arg(book.now_at()),
        ],
    )?;
    Ok(())
}

/// Runs a call. What was captured without being proposed has nothing to be ratified.
pub fn review(book: &mut Book, id: &str, verdict: Verdict, reason: &str) -> Result<Value> {
    let (id, reason) = (id.trim(), reason.trim());
    for (argument, text) in [("id", id), ("reason", reason)] {
        if is_blank(text) {
            return Err(Fault::value(argument, format!("{argument} is blank")).into());
        }
    }
    let state = state::find_writable(book.session(), id)?;
    if state.is_forgotten() {
        return Err(Fault::value("id", format!("{id} is forgotten and cannot be reviewed")).into());
    }
    if state.verdict.is_none() {
        return Err(Fault::value("id", format!("{id} was never proposed: there is nothing to review")).into());
    }
    append(book, state.seq, verdict, reason)?;
    book.note("memory_review", id, Some(reason));
    let mut answer = armour();
    answer.insert("id".into(), id.into());
    answer.insert("review".into(), json!({"state": verdict.word()}));
    answer.insert("reason".into(), reason.into());
    answer.insert("at".into(), book.now().text().into());
    Ok(answer.into())
}
