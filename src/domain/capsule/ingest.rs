//! What a capture may be: its form, then its values (CAP-ING).

use super::dump::PROJECT_BYTES;
use super::fault::{Fault, Result};
use super::record::{ANCHOR_LINES, CONFIDENCE_DEFAULT};
use super::shape::Shape;
use super::stamp::Stamp;
use super::text::is_blank;
use super::words::{Authority, EvidenceState, Kind};
use serde_json::{Map, Value};

/// The keys of one item.
const ITEM: &[&str] = &[
    "content",
    "source",
    "anchor",
    "confidence",
    "valid_from",
    "valid_to",
    "project_id",
    "authority_class",
    "instruction_taint",
    "supersedes",
    "session_id",
    "kind",
    "evidence_state",
    "proof_hint",
    "stale_if",
    "event_at",
    "event_from",
    "event_to",
    "staged",
];

/// The epistemic fields: each is kept unless it is sent (CAP-ING-18).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Epistemics {
    /// How well it is supported.
    pub evidence_state: Option<EvidenceState>,
    /// How to check it: shown, never executed.
    pub proof_hint: Option<String>,
    /// When it stops being so: shown, never evaluated.
    pub stale_if: Option<String>,
}

impl Epistemics {
    /// Reads the fields of a call.
    pub fn take(shape: &mut Shape) -> Result<Self> {
        Ok(Self {
            evidence_state: shape.word("evidence_state", EvidenceState::WORDS, EvidenceState::from_word)?,
            proof_hint: shape.text("proof_hint")?,
            stale_if: shape.text("stale_if")?,
        })
    }

    /// Whether none is sent.
    pub fn is_empty(&self) -> bool {
        self.evidence_state.is_none() && self.proof_hint.is_none() && self.stale_if.is_none()
    }
}

/// One item, of the right form; its values are not judged yet.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Item {
    /// The text.
    pub content: String,
    /// Where it comes from.
    pub source: String,
    /// Where in there.
    pub anchor: String,
    /// 0 to 1.
    pub confidence: Option<f64>,
    /// From when it holds.
    pub valid_from: Option<String>,
    /// Until when.
    pub valid_to: Option<String>,
    /// The fence.
    pub project_id: Option<String>,
    /// Who vouches for it.
    pub authority: Option<Authority>,
    /// Raises the flag.
    pub instruction_taint: bool,
    /// The id it replaces.
    pub supersedes: Option<String>,
    /// The open session it belongs to.
    pub session_id: Option<String>,
    /// Its label.
    pub kind: Option<Kind>,
    /// What supports it.
    pub epistemics: Epistemics,
    /// A point the text is about.
    pub event_at: Option<String>,
    /// Or the begin of a time.
    pub event_from: Option<String>,
    /// And its end.
    pub event_to: Option<String>,
    /// Whether it is only proposed.
    pub staged: bool,
}

/// The call: one item, or a batch whose items may each have a wrong form.
#[derive(Debug)]
pub enum Request {
    /// One item; a wrong form of it is a wrong form of the call.
    Single(Box<Item>),
    /// A batch; an item of a wrong form is a rejected row.
    Batch(Vec<std::result::Result<Item, String>>),
}

/// Reads a call.
pub fn parse(mut fields: Map<String, Value>) -> Result<Request> {
    if fields.get("items").is_some_and(Value::is_null) {
        fields.remove("items");
    }
    if !fields.contains_key("items") {
        return Ok(Request::Single(Box::new(item(String::new(), fields)?)));
    }
    let stray: Vec<&str> = fields.keys().map(String::as_str).filter(|key| *key != "items").collect();
    if !stray.is_empty() {
        return Err(Fault::shape(
            stray[0],
            format!("items stands alone: {} cannot stand beside it", stray.join(", ")),
        ));
    }
    let items = Shape::new(fields, &["items"])?.array("items")?.unwrap_or_default();
    let rows = items.into_iter().enumerate().map(|(index, value)| match value {
        Value::Object(fields) => item(format!("items[{index}]."), fields).map_err(|fault| match fault {
            Fault::Shape { argument, message, .. } => format!("{argument}: {}", rejected(&message)),
            other => format!("items[{index}]: {}", rejected(&other.to_string())),
        }),
        _ => Err(format!("items[{index}]: {}", rejected("an item must be an object"))),
    });
    Ok(Request::Batch(rows.collect()))
}

/// A reason in the grammar of rejections (CAP-ING-25).
pub fn rejected(detail: &str) -> String {
    format!("ingest rejected: {detail}")
}

fn item(place: String, fields: Map<String, Value>) -> Result<Item> {
    let mut shape = Shape::at(place, fields, ITEM)?;
    Ok(Item {
        content: shape.need_text("content")?,
        source: shape.need_text("source")?,
        anchor: shape.need_text("anchor")?,
        confidence: shape.number("confidence")?,
        valid_from: shape.text("valid_from")?,
        valid_to: shape.text("valid_to")?,
        project_id: shape.text("project_id")?,
        authority: shape.word("authority_class", Authority::WORDS, Authority::from_word)?,
        instruction_taint: shape.boolean("instruction_taint")?.unwrap_or(false),
        supersedes: shape.text("supersedes")?,
        session_id: shape.text("session_id")?,
        kind: shape.word("kind", Kind::WORDS, Kind::from_word)?,
        epistemics: Epistemics::take(&mut shape)?,
        event_at: shape.text("event_at")?,
        event_from: shape.text("event_from")?,
        event_to: shape.text("event_to")?,
        staged: shape.boolean("staged")?.unwrap_or(false),
    })
}

/// When the fact was, as the caller declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventTime {
    /// The begin.
    pub from: Stamp,
    /// The end; for a point, the begin.
    pub to: Stamp,
}

/// An item whose own values are right; what depends on the store is not judged yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// The item.
    pub item: Item,
    /// Its confidence.
    pub confidence: f64,
    /// From when it holds, if it says so.
    pub valid_from: Option<Stamp>,
    /// Until when, if it says so.
    pub valid_to: Option<Stamp>,
    /// When the fact was, if it says so.
    pub event: Option<EventTime>,
}

impl Item {
    /// Judges the values that need no store, in their order (CAP-ING-3). The error is the reason of the rejection.
    pub fn check(self, max_content_bytes: usize) -> std::result::Result<Capture, String> {
        let confidence = self.confidence.unwrap_or(CONFIDENCE_DEFAULT);
        if !(0.0..=1.0).contains(&confidence) {
            return Err(format!("confidence {confidence} is not between 0 and 1"));
        }
        let stamp = |field: &str, text: &Option<String>| {
            text.as_deref()
                .map(|text| {
                    Stamp::parse(text).ok_or_else(|| {
                        format!("{field} is no RFC 3339 timestamp with an offset: {}", short(text))
                    })
                })
                .transpose()
        };
        let valid_from = stamp("valid_from", &self.valid_from)?;
        let valid_to = stamp("valid_to", &self.valid_to)?;
        let event_at = stamp("event_at", &self.event_at)?;
        let event_from = stamp("event_from", &self.event_from)?;
        let event_to = stamp("event_to", &self.event_to)?;
        let event = event_time(event_at, event_from, event_to)?;
        if self.staged && self.supersedes.is_some() {
            return Err("staged and supersedes exclude each other: a proposal replaces nothing".into());
        }
        for (field, text) in [("source", &self.source), ("anchor", &self.anchor), ("content", &self.content)]
        {
            if is_blank(text) {
                return Err(format!("{field} is blank"));
            }
            if text.contains('\0') {
                return Err(format!("{field} holds a zero byte"));
            }
        }
        let lines = self.anchor.lines().count();
        if lines > ANCHOR_LINES {
            return Err(format!("anchor has {lines} lines, more than {ANCHOR_LINES}"));
        }
        if self.content.len() > max_content_bytes {
            return Err(format!("content has {} bytes, more than {max_content_bytes}", self.content.len()));
        }
        Ok(Capture { item: self, confidence, valid_from, valid_to, event })
    }
}

fn event_time(
    at: Option<Stamp>,
    from: Option<Stamp>,
    to: Option<Stamp>,
) -> std::result::Result<Option<EventTime>, String> {
    match (at, from, to) {
        (None, None, None) => Ok(None),
        (Some(at), None, None) => Ok(Some(EventTime { from: at.clone(), to: at })),
        (Some(_), _, _) => {
            Err("event_at stands alone: event_from and event_to are another way to say it".into())
        }
        (None, Some(from), Some(to)) if to.instant() < from.instant() => {
            Err("event_to is before event_from".into())
        }
        (None, Some(from), Some(to)) => Ok(Some(EventTime { from, to })),
        (None, Some(_), None) => Err("event_to is missing beside event_from".into()),
        (None, None, Some(_)) => Err("event_from is missing beside event_to".into()),
    }
}

impl Capture {
    /// The rules that only new content has to meet: a project, and a window that does not run backwards
    /// (CAP-ING-9, CAP-ING-10).
    pub fn check_new(&self, project: &str, now: &Stamp) -> std::result::Result<(), String> {
        if is_blank(project) {
            return Err("project_id is blank".into());
        }
        if project.len() > PROJECT_BYTES {
            return Err(format!("project_id has {} bytes, more than {PROJECT_BYTES}", project.len()));
        }
        if project.contains('\0') {
            return Err("project_id holds a zero byte".into());
        }
        let from = self.valid_from.as_ref().unwrap_or(now);
        match &self.valid_to {
            Some(to) if to.instant() < from.instant() => {
                Err(format!("valid_to {} is before valid_from {}", to.text(), from.text()))
            }
            _ => Ok(()),
        }
    }
}

/// A value for a message, never a whole document.
pub fn short(text: &str) -> String {
    crate::domain::invalid::excerpt(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(value: Value) -> Result<Request> {
        match value {
            Value::Object(fields) => parse(fields),
            _ => Err(Fault::shape("", "no object")),
        }
    }

    fn single(extra: Value) -> Item {
        let mut fields = json!({"content": "c", "source": "s", "anchor": "a"});
        for (key, value) in extra.as_object().unwrap() {
            fields[key] = value.clone();
        }
        match request(fields) {
            Ok(Request::Single(item)) => *item,
            other => panic!("{other:?}"),
        }
    }

    fn reason(extra: Value) -> String {
        single(extra).check(1000).unwrap_err()
    }

    #[test]
    fn items_stands_alone() {
        let fault = request(json!({"items": [], "content": "x", "source": "y"}));
        assert!(matches!(fault, Err(Fault::Shape { message, .. }) if message.contains("content, source")));
        assert!(request(json!({"items": 3})).is_err());
    }

    #[test]
    fn a_bad_item_is_a_row_that_names_its_place() {
        let Ok(Request::Batch(rows)) = request(json!({"items": [
            {"content": "x", "source": "s", "anchor": "a", "kind": "poem"}, 3,
            {"content": "x", "source": "s", "anchor": "a"}, {"source": "s"}
        ]})) else {
            panic!("no batch");
        };
        assert!(rows[0].as_ref().unwrap_err().starts_with("items[0].kind: ingest rejected: "));
        assert!(rows[1].as_ref().unwrap_err().starts_with("items[1]: ingest rejected: "));
        assert!(rows[2].is_ok());
        assert!(rows[3].as_ref().unwrap_err().starts_with("items[3].content: ingest rejected: "));
    }

    #[test]
    fn values_are_judged_in_order() {
        assert!(reason(json!({"confidence": 1.01, "valid_to": "x"})).contains("confidence"));
        assert!(reason(json!({"valid_to": "tomorrow", "source": " "})).contains("valid_to"));
        assert!(reason(json!({"source": " ", "anchor": " "})).contains("source"));
        assert!(reason(json!({"anchor": "\t\n", "content": ""})).contains("anchor"));
        assert!(reason(json!({"content": "\u{a0}"})).contains("content"));
        assert!(reason(json!({"anchor": "x\n".repeat(21)})).contains("anchor"));
        assert!(single(json!({"anchor": "x\n".repeat(20)})).check(1000).is_ok());
    }

    #[test]
    fn event_time_is_a_point_or_a_whole_range() {
        let at = "2020-01-01T00:00:00Z";
        assert!(reason(json!({"event_at": at, "event_from": at, "event_to": at})).contains("event_at"));
        assert!(reason(json!({"event_from": at})).contains("event_to"));
        assert!(reason(json!({"event_from": "2020-02-01T00:00:00Z", "event_to": at})).contains("event_to"));
        let event = single(json!({"event_at": at})).check(1000).unwrap().event.unwrap();
        assert_eq!(event.from, event.to);
    }

    #[test]
    fn only_new_content_needs_a_project_and_a_window() {
        let now = Stamp::parse("2026-01-01T00:00:00Z").unwrap();
        let capture = single(json!({"valid_to": "2025-01-01T00:00:00Z"})).check(1000).unwrap();
        assert!(capture.check_new("demo", &now).unwrap_err().contains("valid_to"));
        let zero =
            single(json!({"valid_from": "2024-01-01T02:00:00+02:00", "valid_to": "2024-01-01T00:00:00Z"}));
        assert_eq!(zero.check(1000).unwrap().check_new("demo", &now), Ok(()));
    }
}
