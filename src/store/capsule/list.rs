//! `memory_list` (CAP-LIST).

use super::rows::{Stamps, instant, scope_args};
use super::state::State;
use crate::domain::capsule::fault;
use crate::domain::capsule::project::Fence;
use crate::domain::capsule::record::armour;
use crate::domain::capsule::shape::Shape;
use crate::domain::capsule::words::{Kind, Tier, Verdict};
use crate::error::Result;
use crate::statement;
use crate::store::session::Session;
use crate::store::spi::arg;
use serde_json::{Map, Value};

statement!(
    /// The newest that pass, newest first.
    LIST,
    [
        include_str!("state.sql"),
        include_str!("capsule.sql"),
        " where ",
        include_str!("scope.sql"),
        " and c.memory_id is not null
          and ($5::text is null or c.kind = $5)
          and ($6::text is null or c.tier = $6)
          and ($7::bool is null or coalesce(c.valid_to_at < $8, false) = $7)
          and ($9::text is null or c.verdict = $9)
        order by c.seq desc limit $10"
    ],
    [
        TEXTOID, TEXTARRAYOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, BOOLOID, TIMESTAMPTZOID, TEXTOID, INT8OID
    ]
);

/// A checked call.
pub struct List {
    fence: Fence,
    limit: Option<u64>,
    kind: Option<Kind>,
    tier: Option<Tier>,
    expired: Option<bool>,
    review_state: Option<Verdict>,
}

/// Reads a call.
pub fn parse(fields: Map<String, Value>) -> fault::Result<List> {
    let mut shape = Shape::new(
        fields,
        &["project_id", "project_prefix", "limit", "kind", "tier", "expired", "review_state"],
    )?;
    let (project_id, prefix) = (shape.text("project_id")?, shape.text("project_prefix")?);
    let list = List {
        limit: shape.count("limit")?,
        kind: shape.word("kind", Kind::WORDS, Kind::from_word)?,
        tier: shape.word("tier", Tier::WORDS, Tier::from_word)?,
        expired: shape.boolean("expired")?,
        review_state: shape.word("review_state", Verdict::WORDS, Verdict::from_word)?,
        fence: Fence::default(),
    };
    Ok(List { fence: Fence::new(project_id, prefix)?, ..list })
}

/// Runs a call.
pub fn list(session: &Session, call: &List) -> Result<Value> {
    let now = Stamps::now().stamp;
    let mut entries = newest(session, call, &now)?
        .iter()
        .map(|state| Ok(Value::Object(state.entry(&now)?)))
        .collect::<Result<Vec<_>>>()?;
    entries.reverse();
    let mut answer = armour();
    answer.insert("returned".into(), entries.len().into());
    answer.insert("entries".into(), entries.into());
    Ok(answer.into())
}

/// The newest capsules behind a fence, newest first.
pub fn newest_in(session: &Session, fence: &Fence, limit: u64) -> Result<Vec<State>> {
    let call = List {
        fence: fence.clone(),
        limit: Some(limit),
        kind: None,
        tier: None,
        expired: None,
        review_state: None,
    };
    newest(session, &call, &Stamps::now().stamp)
}

fn newest(session: &Session, call: &List, now: &crate::domain::capsule::stamp::Stamp) -> Result<Vec<State>> {
    let args = scope_args(
        session,
        &call.fence,
        [
            call.kind.and_then(|kind| arg(kind.word())),
            call.tier.and_then(|tier| arg(tier.word())),
            call.expired.and_then(arg),
            instant(now),
            call.review_state.and_then(|verdict| arg(verdict.word())),
            call.limit.and_then(|limit| arg(i64::try_from(limit).unwrap_or(i64::MAX))),
        ],
    );
    session.db().run(&LIST, &args)?.into_iter().map(|row| State::from_row(&row)).collect()
}
