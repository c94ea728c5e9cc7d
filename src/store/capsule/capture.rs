//! `memory_ingest`: captures (CAP-ING). The rules are the domain's; here they meet what is stored.

use super::book::Book;
use super::classify::{annotate, label};
use super::files;
use super::postings;
use super::relate::{MANUAL, connect};
use super::review;
use super::rows::instant;
use super::sessions;
use super::state::{self, State};
use super::texts;
use super::vocabulary::require_writer;
use crate::domain::access::Level;
use crate::domain::capsule::fault::Fault;
use crate::domain::capsule::handoff::thread_of;
use crate::domain::capsule::ingest::{Capture, Item, Request, rejected, short};
use crate::domain::capsule::project::tree_of;
use crate::domain::capsule::record::{id_of, number};
use crate::domain::capsule::seal::sha256_hex;
use crate::domain::capsule::similar::{Compared, Similar, Words, hint_and_siblings, shown};
use crate::domain::capsule::stamp::Stamp;
use crate::domain::capsule::taint;
use crate::domain::capsule::text::index_tokens;
use crate::domain::capsule::words::{Authority, Kind, Relation, Scope, Verdict};
use crate::error::{Error, Result};
use crate::store::embedding;
use crate::store::jsonb::Jsonb;
use crate::store::keyed::{Key, Keyed, Kind as KeyKind, Tables};
use crate::store::operation::Operation;
use crate::store::owner::looking_up;
use crate::store::session::stored_tree;
use crate::store::spi::arg;
use crate::store::uuid_v7;
use crate::{guc, statement};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

statement!(
    HOLDER,
    ["select c.seq from me.capsule as c where c.space = $1 and c.source_hash = $2"],
    [TEXTOID, TEXTOID]
);
statement!(
    /// Of some capsules those that nothing replaces, and which of them may be shown as siblings.
    SHOWN,
    [
        "select c.seq, c.project_id = $3 and not c.falsified and c.tier = 'active' ",
        include_str!("capsule.sql"),
        " where c.space = $1 and c.seq = any ($2) and not c.superseded"
    ],
    [TEXTOID, INT8ARRAYOID, TEXTOID]
);
statement!(
    MEMORY,
    [
        include_str!("memory_insert.sql"),
        include_str!("event.sql"),
        include_str!("../queue.sql"),
        "select 1 from stamped"
    ],
    [
        TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, UUIDOID, TEXTOID, TEXTOID, TEXTOID,
        JSONBOID
    ]
);
statement!(
    CAPSULE,
    ["insert into me.capsule (
        space, seq, memory_id, tree, project_id, source, anchor, source_hash, confidence, valid_from, valid_from_at,
        valid_to, valid_to_at, authority_class, instruction_taint, created_at, session_id, length, thread)
      values ($1, $2, $3, $4::{ltree}.ltree, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)"],
    [
        TEXTOID,
        INT8OID,
        UUIDOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        FLOAT8OID,
        TEXTOID,
        TIMESTAMPTZOID,
        TEXTOID,
        TIMESTAMPTZOID,
        TEXTOID,
        BOOLOID,
        TIMESTAMPTZOID,
        TEXTOID,
        INT4OID,
        TEXTOID
    ]
);
statement!(
    TOKENS,
    ["insert into me.capsule_token (space, token, seq, count)
      select $1, g.token, $2, g.count from unnest($3::text[], $4::int4[]) as g (token, count)"],
    [TEXTOID, INT8OID, TEXTARRAYOID, INT4ARRAYOID]
);
statement!(
    EVENT_TIME,
    ["insert into me.capsule_event_time (space, seq, event_from, event_from_at, event_to, event_to_at, declared_at)
      values ($1, $2, $3, $4, $5, $6, $7)"],
    [TEXTOID, INT8OID, TEXTOID, TIMESTAMPTZOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID]
);
statement!(
    ANCHOR,
    ["insert into me.capsule_anchor (space, seq, file_hash, at) values ($1, $2, $3, $4)"],
    [TEXTOID, INT8OID, TEXTOID, TIMESTAMPTZOID]
);
static BY_HASH: Keyed = Keyed {
    table: c"capsule",
    index: c"capsule_hash_key",
    keys: &[0, 1],
    columns: &[(c"space", KeyKind::Text), (c"source_hash", KeyKind::Text), (c"seq", KeyKind::Int8)],
};

/// What became of an item.
pub enum Outcome {
    /// New content.
    Captured(Stored),
    /// Content that was there.
    Deduplicated(Stored),
    /// Nothing was stored: why.
    Rejected(String),
}

/// A capsule that holds the content of an item.
pub struct Stored {
    /// Its number.
    pub seq: i64,
    /// The nearest other text.
    hint: Option<Similar>,
    /// Near texts of its project.
    siblings: Vec<Similar>,
    /// What the scan found in the sent content.
    findings: Vec<String>,
    /// What it replaces.
    superseded: Option<i64>,
    /// A label that was replaced: the old and the new one.
    reclassified: Option<(Kind, Kind)>,
    /// Its standing as a proposal.
    review: Option<String>,
}

/// A new capsule as it is stored, whoever captures it.
pub struct NewCapsule<'a> {
    /// The text.
    pub content: &'a str,
    /// Where it comes from.
    pub source: &'a str,
    /// Where in there.
    pub anchor: &'a str,
    /// SHA-256 of the text.
    pub source_hash: &'a str,
    /// 0 to 1.
    pub confidence: f64,
    /// From when it holds.
    pub valid_from: &'a Stamp,
    /// Until when.
    pub valid_to: Option<&'a Stamp>,
    /// The fence.
    pub project_id: &'a str,
    /// Who vouches for it.
    pub authority: Authority,
    /// Whether it may be giving orders.
    pub instruction_taint: bool,
    /// When it was captured.
    pub created: &'a Stamp,
    /// Its session.
    pub session_id: Option<&'a str>,
}

/// Runs a call: every item in order, then the labels of all, then what supports them (CAP-ING-23).
pub fn ingest(book: &mut Book, request: Request) -> Result<Value> {
    require_writer(book.session())?;
    let (items, batch) = match request {
        Request::Single(item) => (vec![Ok(*item)], false),
        Request::Batch(items) => (items, true),
    };
    let mut outcomes = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        outcomes.push(match item {
            Err(reason) => (None, Outcome::Rejected(reason)),
            Ok(item) => {
                let outcome = match capture(book, item.clone(), "memory_ingest")? {
                    Outcome::Rejected(reason) if batch => {
                        Outcome::Rejected(format!("items[{index}]: {reason}"))
                    }
                    outcome => outcome,
                };
                (Some(item), outcome)
            }
        });
    }
    for (item, outcome) in &mut outcomes {
        let (Some(item), Outcome::Captured(stored) | Outcome::Deduplicated(stored)) = (item, outcome) else {
            continue;
        };
        if let Some(kind) = item.kind {
            let was = label(book, stored.seq, kind, Scope::Project)?;
            stored.reclassified = was.filter(|was| *was != kind).map(|was| (was, kind));
        }
    }
    for (item, outcome) in &outcomes {
        if let (Some(item), Outcome::Captured(stored) | Outcome::Deduplicated(stored)) = (item, outcome)
            && !item.epistemics.is_empty()
        {
            annotate(book, stored.seq, &item.epistemics)?;
        }
    }
    Ok(summary(outcomes.into_iter().map(|(_, outcome)| outcome)))
}

/// The rows of outcomes, and how many there are of each sort (CAP-ING-20).
pub fn summary(outcomes: impl Iterator<Item = Outcome>) -> Value {
    let (mut captured, mut deduped, mut refused) = (0, 0, 0);
    let rows: Vec<Value> = outcomes
        .map(|outcome| match outcome {
            Outcome::Captured(stored) => {
                captured += 1;
                stored.row("captured")
            }
            Outcome::Deduplicated(stored) => {
                deduped += 1;
                stored.row("deduplicated")
            }
            Outcome::Rejected(reason) => {
                refused += 1;
                json!({"status": "rejected", "error": reason})
            }
        })
        .collect();
    json!({"outcomes": rows, "captured": captured, "deduped": deduped, "rejected": refused})
}

impl Stored {
    fn row(self, status: &str) -> Value {
        let mut row = Map::new();
        let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
        put("status", status.into());
        put("id", id_of(self.seq).into());
        let hint =
            self.hint.map(|hint| json!({"similar_id": id_of(hint.seq), "score": number(shown(hint.score))}));
        put("dedup_hint", hint.unwrap_or(Value::Null));
        if !self.siblings.is_empty() {
            let sibling = |one: &Similar| json!({"id": id_of(one.seq), "score": number(shown(one.score))});
            put("siblings", self.siblings.iter().map(sibling).collect::<Vec<_>>().into());
        }
        if let Some(old) = self.superseded {
            put("superseded", id_of(old).into());
        }
        if !self.findings.is_empty() {
            put("taint_findings", self.findings.into());
        }
        if let Some((was, now)) = self.reclassified {
            put("reclassified", json!({"was": was.word(), "now": now.word()}));
        }
        if let Some(state) = self.review {
            put("review", json!({"state": state}));
        }
        row.into()
    }
}

/// Captures one item; its label and what supports it come later. A rejected item leaves nothing behind.
pub fn capture(book: &mut Book, item: Item, action: &'static str) -> Result<Outcome> {
    let refuse = |detail: String| Ok(Outcome::Rejected(rejected(&detail)));
    let capture = match item.check(guc::max_content_bytes()) {
        Ok(capture) => capture,
        Err(detail) => return refuse(detail),
    };
    let target = match supersedes(book, &capture)? {
        Ok(target) => target,
        Err(detail) => return refuse(detail),
    };
    if let Some(session) = &capture.item.session_id
        && let Err(fault) = sessions::check_open(book.session(), session)
    {
        return match fault {
            Error::Capsule(fault @ Fault::Missing { .. }) => refuse(format!("session_id {fault}")),
            other => Err(other),
        };
    }
    let findings: Vec<String> = taint::scan(&capture.item.content).iter().map(ToString::to_string).collect();
    let hash = sha256_hex(capture.item.content.as_bytes());
    let holder = holder(book, &hash)?;
    let (mut stored, is_new) = match holder {
        // Neither its number nor its place nor its fate are for somebody who may not read it.
        Some(state) if !book.session().rights().allow(Level::Read, &state.tree) => {
            return refuse("this content cannot be captured here".into());
        }
        Some(state) if state.is_forgotten() => {
            return refuse(format!("this content was forgotten as {}", state.id()));
        }
        Some(state) => (collapse(book, &capture, &state, findings)?, false),
        None => match capture_new(book, &capture, &hash, target.as_ref(), findings)? {
            Ok(stored) => (stored, true),
            Err(detail) => return refuse(detail),
        },
    };
    let id = id_of(stored.seq);
    book.note(action, &id, Some(if is_new { "captured" } else { "deduplicated" }));
    if let Some(old) = target.filter(|old| old.seq != stored.seq) {
        connect(book, Relation::Supersedes, (false, stored.seq), old.seq, MANUAL)?;
        stored.superseded = Some(old.seq);
    }
    Ok(if is_new { Outcome::Captured(stored) } else { Outcome::Deduplicated(stored) })
}

/// The capsule an item replaces; the reason of the rejection when it cannot be replaced (CAP-ING-11).
fn supersedes(book: &Book, capture: &Capture) -> Result<std::result::Result<Option<State>, String>> {
    let Some(id) = &capture.item.supersedes else { return Ok(Ok(None)) };
    match state::find(book.session(), id) {
        Ok(old) if old.is_forgotten() => Ok(Err(format!("supersedes {} is forgotten", short(id)))),
        Ok(old) => {
            book.session().require_capsule(Level::Write, &old.tree)?;
            Ok(Ok(Some(old)))
        }
        Err(Error::Capsule(Fault::Missing { .. })) => {
            Ok(Err(format!("supersedes {} is not a capsule", short(id))))
        }
        Err(other) => Err(other),
    }
}

/// The capsule that claims a hash, whoever may read it: one per space (CAP-ING-13).
///
/// By key: a plan that was made while the table was small may read all of it for as long as the session lasts.
pub fn holder(book: &Book, hash: &str) -> Result<Option<State>> {
    let session = book.session();
    let mut holder = None;
    let by_key = session.db().under_snapshot(|snapshot| {
        let Some(tables) = Tables::here() else { return Ok(false) };
        tables.rows(&BY_HASH, snapshot, &[Key::Text(session.space()), Key::Text(hash)], |found| {
            holder = found.int8(2);
            Ok(false)
        })
    })?;
    if !by_key {
        let row = looking_up(|| session.db().row(&HOLDER, &[arg(session.space()), arg(hash)]))?;
        holder = row.map(|row| row.need(1)).transpose()?;
    }
    let Some(seq) = holder else { return Ok(None) };
    Ok(state::by_seqs(session, &[seq])?.into_iter().next())
}

/// Content that is there already: nothing of the record changes (CAP-ING-14).
fn collapse(book: &mut Book, capture: &Capture, state: &State, findings: Vec<String>) -> Result<Stored> {
    let item = &capture.item;
    // What is said about a capsule beside its content needs write access where it stands.
    if item.kind.is_some() || !item.epistemics.is_empty() || item.supersedes.is_some() {
        book.session().require_capsule(Level::Write, &state.tree)?;
    }
    let review = item.staged.then(|| state.verdict.clone().unwrap_or_else(|| "already-live".to_owned()));
    Ok(Stored {
        seq: state.seq,
        hint: None,
        siblings: Vec::new(),
        findings,
        superseded: None,
        reclassified: None,
        review,
    })
}

fn capture_new(
    book: &mut Book,
    capture: &Capture,
    hash: &str,
    target: Option<&State>,
    findings: Vec<String>,
) -> Result<std::result::Result<Stored, String>> {
    let item = &capture.item;
    let project = item.project_id.clone().unwrap_or_else(guc::project);
    let now = book.now().clone();
    if let Err(detail) = capture.check_new(&project, &now) {
        return Ok(Err(detail));
    }
    let authority = item.authority.unwrap_or(Authority::Inferred);
    let (hint, siblings) = similar(book, &item.content, &project, target.map(|old| old.seq))?;
    let seq = store(
        book,
        &NewCapsule {
            content: &item.content,
            source: &item.source,
            anchor: &item.anchor,
            source_hash: hash,
            confidence: capture.confidence,
            valid_from: capture.valid_from.as_ref().unwrap_or(&now),
            valid_to: capture.valid_to.as_ref(),
            project_id: &project,
            authority,
            instruction_taint: item.instruction_taint
                || authority == Authority::Imported
                || !findings.is_empty(),
            created: &now,
            session_id: item.session_id.as_deref(),
        },
    )?;
    let db = book.session().db();
    let (space, at) = (arg(book.session().space()), arg(book.now_at()));
    if let Some(event) = &capture.event {
        db.run(
            &EVENT_TIME,
            &[
                space,
                arg(seq),
                arg(event.from.text()),
                instant(&event.from),
                arg(event.to.text()),
                instant(&event.to),
                at,
            ],
        )?;
    }
    if let Some(file_hash) = files::hash_of_anchor(&item.anchor) {
        db.run(&ANCHOR, &[space, arg(seq), arg(file_hash), at])?;
    }
    let mut review = None;
    if item.staged {
        review::append(book, seq, Verdict::Proposed, "staged at capture")?;
        review = Some(Verdict::Proposed.word().to_owned());
    }
    Ok(Ok(Stored { seq, hint, siblings, findings, superseded: None, reclassified: None, review }))
}

/// Stores a capsule under the next number: the memory, the trust record, the tokens.
pub fn store(book: &mut Book, capsule: &NewCapsule) -> Result<i64> {
    let session = book.session();
    let tree = tree_of(capsule.project_id);
    session.require_capsule(Level::Write, &tree)?;
    let seq = book.capsules + 1;
    let memory_id = uuid_v7::next();
    let meta = json!({
        "authority_class": capsule.authority.word(),
        "confidence": number(capsule.confidence),
        "instruction_taint": capsule.instruction_taint,
        "project_id": capsule.project_id,
    });
    let meta = Jsonb::parse(&meta.to_string()).map(Jsonb::datum);
    let operation = Operation::new("capsule_ingest");
    session.db().run(
        &MEMORY,
        &operation.args(
            session,
            [arg(memory_id), arg(tree.as_dotted()), arg(id_of(seq)), arg(capsule.content), meta],
        ),
    )?;
    let tokens = index_tokens(capsule.content);
    let length = i32::try_from(tokens.len()).unwrap_or(i32::MAX);
    session.db().run(
        &CAPSULE,
        &[
            arg(session.space()),
            arg(seq),
            arg(memory_id),
            arg(tree.as_dotted()),
            arg(capsule.project_id),
            arg(capsule.source),
            arg(capsule.anchor),
            arg(capsule.source_hash),
            arg(capsule.confidence),
            arg(capsule.valid_from.text()),
            instant(capsule.valid_from),
            capsule.valid_to.and_then(|stamp| arg(stamp.text())),
            capsule.valid_to.and_then(instant),
            arg(capsule.authority.word()),
            arg(capsule.instruction_taint),
            instant(capsule.created),
            capsule.session_id.and_then(arg),
            arg(length),
            thread_of(capsule.source, capsule.content).and_then(arg),
        ],
    )?;
    let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
    for token in &tokens {
        let count = counts.entry(token).or_default();
        *count = count.saturating_add(1);
    }
    session.db().run(
        &TOKENS,
        &[
            arg(session.space()),
            arg(seq),
            arg(counts.keys().map(|token| (*token).to_owned()).collect::<Vec<_>>()),
            arg(counts.values().copied().collect::<Vec<_>>()),
        ],
    )?;
    embedding::after_write(session, arg(vec![memory_id]))?;
    book.capsules = seq;
    book.tokens += i64::from(length);
    Ok(seq)
}

/// The nearest texts to a new one: of all that the caller may read, and of its own project (CAP-ING-21, CAP-ING-22).
fn similar(
    book: &Book,
    content: &str,
    project: &str,
    target: Option<i64>,
) -> Result<(Option<Similar>, Vec<Similar>)> {
    let words = Words::of(content);
    let Some(compared) = Compared::new(&words, content) else { return Ok((None, Vec::new())) };
    let session = book.session();
    let mut scores = HashMap::new();
    let candidates = postings::similar(book, &words, project)?;
    texts::each(session, &candidates, |seq, tree, content| {
        if Some(seq) != target
            && let Some(score) = compared.with(content)
            && session.rights().allow(Level::Read, &stored_tree(tree)?)
        {
            scores.insert(seq, score);
        }
        Ok(())
    })?;
    let mut found = Vec::new();
    if !scores.is_empty() {
        let seqs: Vec<i64> = scores.keys().copied().collect();
        for row in looking_up(|| session.db().run(&SHOWN, &[arg(session.space()), arg(seqs), arg(project)]))?
        {
            let seq: i64 = row.need(1)?;
            if let Some(score) = scores.get(&seq) {
                found.push(Similar { seq, score: *score, sibling: row.need(2)? });
            }
        }
    }
    Ok(hint_and_siblings(found))
}
