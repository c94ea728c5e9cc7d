//! `memory_get`: one capsule with all that is known of it (CAP-GET). In one statement here; `point.rs` finds the same without.

use super::rows::{Stamps, readable_roots, stamp_of};
use super::state::{COLUMNS, State};
use crate::domain::access::Level;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::record::{Record, armour, id_of, seq_of};
use crate::domain::capsule::stamp::Stamp;
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

/// What is told of a capsule beside its [`State`].
#[derive(Default)]
pub struct Beside {
    /// What is left of a forgotten one.
    pub tombstone: Option<Tombstone>,
    /// Its edges, as far as their other ends may be read; in any order.
    pub edges: Vec<Edge>,
    /// What the journal says of it last.
    pub mutation: Option<Mutation>,
    /// What was said of it as a proposal, in order.
    pub reviews: Vec<Review>,
}

/// What is left of a forgotten capsule.
pub struct Tombstone {
    /// `purged` or `redacted`.
    pub mode: String,
    /// The fingerprint.
    pub content_hmac: String,
    /// When it was forgotten.
    pub at: Stamp,
    /// Why.
    pub reason: String,
    /// Source and anchor of a redacted one.
    pub trace: Option<(String, String)>,
}

/// An edge, by its ends.
pub struct Edge {
    /// When it was first recorded.
    pub at: Stamp,
    /// Its kind.
    pub kind: String,
    /// Who does it.
    pub from: String,
    /// To whom.
    pub to: String,
    /// Whether the import wrote it.
    pub import: bool,
}

/// The newest row of the journal about a capsule.
pub struct Mutation {
    /// Who.
    pub actor: String,
    /// When.
    pub at: Stamp,
    /// What.
    pub event: String,
}

/// A verdict.
pub struct Review {
    /// The verdict.
    pub verdict: String,
    /// Why.
    pub reason: String,
    /// Who.
    pub actor: String,
    /// When.
    pub at: Stamp,
}

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
    answer(&state, Beside::from_row(&row)?, &Stamps::now().stamp)
}

impl Beside {
    /// Reads what `get.sql` selects behind the columns of a state.
    fn from_row(row: &Row) -> Result<Self> {
        let tombstone = match row.get::<String>(COLUMNS + 1) {
            None => None,
            Some(mode) => Some(Tombstone {
                mode,
                content_hmac: row.need(COLUMNS + 2)?,
                at: stamp_of(row.need(COLUMNS + 3)?),
                reason: row.need(COLUMNS + 4)?,
                trace: row.get(COLUMNS + 5).zip(row.get(COLUMNS + 6)),
            }),
        };
        let mutation = match row.get::<String>(COLUMNS + 8) {
            None => None,
            Some(actor) => {
                Some(Mutation { actor, at: stamp_of(row.need(COLUMNS + 9)?), event: row.need(COLUMNS + 10)? })
            }
        };
        Ok(Self {
            tombstone,
            edges: listed(row, COLUMNS + 7, edge)?,
            mutation,
            reviews: listed(row, COLUMNS + 11, review)?,
        })
    }
}

/// What callers are told of a capsule, forgotten or not.
pub fn answer(state: &State, beside: Beside, now: &Stamp) -> Result<Value> {
    let mut answer = match &state.record {
        Some(record) => living(state, record, &beside.reviews, now)?,
        None => forgotten(state, beside.tombstone)?,
    };
    answer.insert("relations".into(), relations(beside.edges));
    if let Some(mutation) = beside.mutation {
        let mutation = json!({"actor": mutation.actor, "at": mutation.at.text(), "event": mutation.event});
        answer.insert("last_mutation".into(), mutation);
    }
    Ok(answer.into())
}

fn living(state: &State, record: &Record, reviews: &[Review], now: &Stamp) -> Result<Map<String, Value>> {
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
    if state.is_expired(now) {
        put("expired", true.into());
    }
    if state.pinned {
        put("pinned", true.into());
    }
    let findings: Vec<String> = taint::scan(&record.content).iter().map(ToString::to_string).collect();
    if !findings.is_empty() {
        put("taint_findings", findings.into());
    }
    if let Some(newest) = reviews.last() {
        let history: Vec<Value> = reviews
            .iter()
            .map(|one| json!({"verdict": one.verdict, "reason": one.reason, "actor": one.actor, "at": one.at.text()}))
            .collect();
        put("review_state", json!({"state": newest.verdict, "history": history}));
    }
    Ok(answer)
}

fn forgotten(state: &State, tombstone: Option<Tombstone>) -> Result<Map<String, Value>> {
    // A destroyed record without a tombstone would be a lie about an unknown id (CAP-GET-23).
    let tombstone = tombstone
        .ok_or_else(|| Error::Internal(format!("{} has neither content nor tombstone", state.id())))?;
    let mut answer = armour();
    let mut put = |key: &str, value: Value| answer.insert(key.to_owned(), value);
    put("outcome", "tombstoned".into());
    put("id", state.id().into());
    if tombstone.mode == "redacted" {
        let (source, anchor) = tombstone
            .trace
            .ok_or_else(|| Error::Internal(format!("{} was redacted and has no source", state.id())))?;
        put("provenance", json!({"source": source, "anchor": anchor}));
    }
    put("mode", tombstone.mode.into());
    put("at", tombstone.at.text().into());
    put("reason", tombstone.reason.into());
    put("content_hmac", tombstone.content_hmac.into());
    Ok(answer)
}

/// The edges in their order: when, kind, from, to (CAP-GET-6).
fn relations(mut edges: Vec<Edge>) -> Value {
    let order = |a: &Edge, b: &Edge| {
        let by_time = a.at.instant().cmp(&b.at.instant());
        by_time.then_with(|| (&a.kind, &a.from, &a.to).cmp(&(&b.kind, &b.from, &b.to)))
    };
    edges.sort_by(order);
    let show = |edge: Edge| {
        let at = edge.at.text();
        let mut shown = json!({"kind": edge.kind, "from": edge.from, "to": edge.to, "at": at});
        if edge.import {
            shown["origin"] = "import".into();
        }
        shown
    };
    edges.into_iter().map(show).collect::<Vec<_>>().into()
}

fn edge(value: &Value) -> Option<Edge> {
    let from = value[2].as_i64()?;
    Some(Edge {
        at: Stamp::parse(value[4].as_str()?)?,
        kind: value[0].as_str()?.to_owned(),
        from: if value[1] == true { format!("out-{from}") } else { id_of(from) },
        to: id_of(value[3].as_i64()?),
        import: value[5] == "import",
    })
}

fn review(value: &Value) -> Option<Review> {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    Some(Review {
        verdict: text("verdict")?,
        reason: text("reason")?,
        actor: text("actor")?,
        at: Stamp::parse(value["at"].as_str()?)?,
    })
}

/// A column that lists things as JSON; a null lists none.
fn listed<T>(row: &Row, column: i32, read: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>> {
    let broken = || Error::Internal("a part of a capsule could not be read".into());
    let Some(datum) = row.raw(column) else { return Ok(Vec::new()) };
    let listed: Vec<Value> = serde_json::from_str(&Jsonb::from_raw(datum).text()).map_err(|_| broken())?;
    listed.iter().map(|one| read(one).ok_or_else(broken)).collect()
}
