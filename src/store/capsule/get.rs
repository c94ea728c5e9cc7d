//! `memory_get`: one capsule with all that is known of it, in one statement (CAP-GET).

use super::book::shown;
use super::rows::{Stamps, readable_roots};
use super::state::{COLUMNS, State};
use crate::domain::access::Level;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::record::{armour, id_of, seq_of};
use crate::domain::capsule::taint;
use crate::error::{Error, Result};
use crate::statement;
use crate::store::jsonb::Jsonb;
use crate::store::session::Session;
use crate::store::spi::{Row, arg};
use serde_json::{Map, Value, json};

statement!(
    GET,
    [
        include_str!("state.sql"),
        include_str!("get.sql"),
        include_str!("capsule.sql"),
        include_str!("get_beside.sql")
    ],
    [TEXTOID, INT8OID, TEXTARRAYOID]
);

/// The capsule of an id, or what is left of it.
pub fn get(session: &Session, id: &str) -> Result<Value> {
    let unknown = || Error::from(Fault::unknown_capsule(id));
    let seq = seq_of(id).ok_or_else(unknown)?;
    let row = session
        .db()
        .row(&GET, &[arg(session.space()), arg(seq), readable_roots(session)])?
        .ok_or_else(unknown)?;
    let state = State::from_row(&row)?;
    if !session.rights().allow(Level::Read, &state.tree) {
        return Err(unknown());
    }
    let relations = relations(&row)?;
    let mutation = row.get::<String>(COLUMNS + 8).map(|actor| -> Result<Value> {
        Ok(json!({
            "actor": actor,
            "at": shown(row.need(COLUMNS + 9)?),
            "event": row.need::<String>(COLUMNS + 10)?,
        }))
    });
    let mutation = mutation.transpose()?;
    let mut answer = match &state.record {
        Some(_) => living(&state, &row)?,
        None => tombstone(&state, &row)?,
    };
    answer.insert("relations".into(), relations.into());
    if let Some(mutation) = mutation {
        answer.insert("last_mutation".into(), mutation);
    }
    Ok(answer.into())
}

fn living(state: &State, row: &Row) -> Result<Map<String, Value>> {
    let record = state.live()?;
    if !record.is_sound() {
        return Err(Error::Internal(format!("{} is not what was captured", state.id())));
    }
    let mut answer = armour();
    let mut put = |key: &str, value: Value| answer.insert(key.to_owned(), value);
    put("id", state.id().into());
    put("seq", state.seq.into());
    put("capsule", record.to_json());
    put("created_at", state.created.text().into());
    if let Some(session) = &state.session_id {
        put("session_id", session.clone().into());
    }
    if let Some((kind, scope, at)) = &state.classification {
        put("classification", json!({"kind": kind.word(), "scope": scope.word(), "at": at.text()}));
    }
    if let Some(epistemics) = state.epistemics_json() {
        put("epistemics", epistemics);
    }
    if let Some((from, to)) = &state.event {
        put(
            "event_time",
            json!({"event_from": from.text(), "event_to": to.text(), "declared_at": state.created.text()}),
        );
    }
    put("tier", state.tier.word().into());
    if state.is_expired(&Stamps::now().stamp) {
        put("expired", true.into());
    }
    if state.pinned {
        put("pinned", true.into());
    }
    let findings: Vec<String> = taint::scan(&record.content).iter().map(ToString::to_string).collect();
    if !findings.is_empty() {
        put("taint_findings", findings.into());
    }
    if let Some(verdict) = &state.verdict {
        let history = json_column(row, COLUMNS + 11)?.unwrap_or_default();
        put("review_state", json!({"state": verdict, "history": history}));
    }
    Ok(answer)
}

fn tombstone(state: &State, row: &Row) -> Result<Map<String, Value>> {
    // A destroyed record without a tombstone would be a lie about an unknown id (CAP-GET-23).
    let mode: String = row
        .get(COLUMNS + 1)
        .ok_or_else(|| Error::Internal(format!("{} has neither content nor tombstone", state.id())))?;
    let mut answer = armour();
    let mut put = |key: &str, value: Value| answer.insert(key.to_owned(), value);
    put("outcome", "tombstoned".into());
    put("id", state.id().into());
    if mode == "redacted" {
        let (source, anchor): (String, String) = (row.need(COLUMNS + 5)?, row.need(COLUMNS + 6)?);
        put("provenance", json!({"source": source, "anchor": anchor}));
    }
    put("mode", mode.into());
    put("at", shown(row.need(COLUMNS + 3)?).into());
    put("reason", row.need::<String>(COLUMNS + 4)?.into());
    put("content_hmac", row.need::<String>(COLUMNS + 2)?.into());
    Ok(answer)
}

/// The edges in their order: when, kind, from, to (CAP-GET-6).
fn relations(row: &Row) -> Result<Vec<Value>> {
    let Some(Value::Array(edges)) = json_column(row, COLUMNS + 7)? else {
        return Ok(Vec::new());
    };
    let mut edges = edges.iter().map(edge).collect::<Result<Vec<_>>>()?;
    edges.sort();
    let show = |edge: Edge| {
        let mut shown = json!({"kind": edge.kind, "from": edge.from, "to": edge.to, "at": edge.at});
        if edge.import {
            shown["origin"] = "import".into();
        }
        shown
    };
    Ok(edges.into_iter().map(show).collect())
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    instant: (i64, u32),
    kind: String,
    from: String,
    to: String,
    at: String,
    import: bool,
}

fn edge(value: &Value) -> Result<Edge> {
    let broken = || Error::Internal("an edge could not be read".into());
    let text = |index: usize| value[index].as_str().map(str::to_owned).ok_or_else(broken);
    let number = |index: usize| value[index].as_i64().ok_or_else(broken);
    let from = number(2)?;
    let at = text(4)?;
    Ok(Edge {
        instant: crate::domain::capsule::stamp::Stamp::parse(&at).ok_or_else(broken)?.instant(),
        kind: text(0)?,
        from: if value[1] == true { format!("out-{from}") } else { id_of(from) },
        to: id_of(number(3)?),
        at,
        import: value[5] == "import",
    })
}

fn json_column(row: &Row, column: i32) -> Result<Option<Value>> {
    row.raw(column)
        .map(|datum| {
            serde_json::from_str(&Jsonb::from_raw(datum).text())
                .map_err(|error| Error::Internal(format!("an answer could not be read: {error}")))
        })
        .transpose()
}
