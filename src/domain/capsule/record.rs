//! The capsule itself: seven fields, frozen at birth (CAP-MODEL-1).

use super::seal::sha256_hex;
use super::stamp::Stamp;
use super::text::quoted;
use super::words::Authority;
use serde_json::{Map, Value, json};

/// Confidence when none is given.
pub const CONFIDENCE_DEFAULT: f64 = 0.6;
/// Most lines of an anchor.
pub const ANCHOR_LINES: usize = 20;

/// A capsule.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The text, byte for byte.
    pub content: String,
    /// Where it comes from.
    pub source: String,
    /// Where in there.
    pub anchor: String,
    /// SHA-256 of the content.
    pub source_hash: String,
    /// 0 to 1.
    pub confidence: f64,
    /// From when it holds.
    pub valid_from: Stamp,
    /// Until when, both ends included.
    pub valid_to: Option<Stamp>,
    /// The fence it stands behind.
    pub project_id: String,
    /// Who vouches for it.
    pub authority: Authority,
    /// Whether it may be giving orders.
    pub instruction_taint: bool,
}

impl Record {
    /// Whether the fields still are what was captured (CAP-MODEL-4).
    pub fn is_sound(&self) -> bool {
        let filled = |text: &str| !super::text::is_blank(text);
        filled(&self.content)
            && filled(&self.source)
            && filled(&self.anchor)
            && filled(&self.project_id)
            && (0.0..=1.0).contains(&self.confidence)
            && self.source_hash == sha256_hex(self.content.as_bytes())
    }

    /// The fields as answers show them.
    pub fn to_json(&self) -> Value {
        json!({
            "content": self.content,
            "provenance": self.provenance(),
            "confidence": number(self.confidence),
            "freshness": self.freshness(),
            "scope": {"project_id": self.project_id},
            "authority_class": self.authority.word(),
            "instruction_taint": self.instruction_taint,
        })
    }

    /// Source, anchor and hash.
    pub fn provenance(&self) -> Value {
        json!({"source": self.source, "anchor": self.anchor, "source_hash": self.source_hash})
    }

    /// Both ends of when it holds.
    pub fn freshness(&self) -> Value {
        freshness(&self.valid_from, self.valid_to.as_ref())
    }

    /// The canonical form: the fields in their order, no needless whitespace (CAP-MODEL-2).
    pub fn canonical(&self) -> String {
        let valid_to = self.valid_to.as_ref().map_or_else(|| "null".to_owned(), |stamp| quoted(stamp.text()));
        format!(
            "{{\"content\":{},\"provenance\":{{\"source\":{},\"anchor\":{},\"source_hash\":{}}},\"confidence\":{},\
             \"freshness\":{{\"valid_from\":{},\"valid_to\":{valid_to}}},\"scope\":{{\"project_id\":{}}},\
             \"authority_class\":{},\"instruction_taint\":{}}}",
            quoted(&self.content),
            quoted(&self.source),
            quoted(&self.anchor),
            quoted(&self.source_hash),
            number(self.confidence),
            quoted(self.valid_from.text()),
            quoted(&self.project_id),
            quoted(self.authority.word()),
            self.instruction_taint
        )
    }
}

/// Both ends of when a capsule holds.
pub fn freshness(valid_from: &Stamp, valid_to: Option<&Stamp>) -> Value {
    json!({"valid_from": valid_from.text(), "valid_to": valid_to.map(Stamp::text)})
}

/// A number without a needless fraction: `1`, not `1.0`.
pub fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

/// Rounded to so many decimals.
pub fn rounded(value: f64, decimals: i32) -> Value {
    let scale = 10f64.powi(decimals);
    number((value * scale).round() / scale)
}

/// The id of a capsule number.
pub fn id_of(seq: i64) -> String {
    format!("cap-{seq}")
}

/// The number of an id in exactly its one spelling (CAP-GET-1).
pub fn seq_of(id: &str) -> Option<i64> {
    numbered(id, "cap-")
}

/// The number of `<prefix><n>` in exactly its one spelling.
pub fn numbered(id: &str, prefix: &str) -> Option<i64> {
    let digits = id.strip_prefix(prefix)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    if plain { digits.parse().ok() } else { None }
}

/// An object that opens with what every answer with stored text opens with (CAP-ENV-1).
pub fn armour() -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("label".into(), super::LABEL.into());
    map.insert("framing".into(), super::FRAMING.into());
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn sample() -> Record {
        let content = "The Skerry light flashes twice every ten seconds.";
        Record {
            content: content.into(),
            source: "field-notes".into(),
            anchor: "notes.md:4".into(),
            source_hash: sha256_hex(content.as_bytes()),
            confidence: 0.6,
            valid_from: Stamp::parse("2026-03-02T09:15:00.25Z").unwrap(),
            valid_to: None,
            project_id: "demo".into(),
            authority: Authority::Inferred,
            instruction_taint: false,
        }
    }

    #[test]
    fn the_canonical_form_is_the_fields_in_order() {
        assert_eq!(
            sample().canonical(),
            "{\"content\":\"The Skerry light flashes twice every ten seconds.\",\"provenance\":{\"source\":\
             \"field-notes\",\"anchor\":\"notes.md:4\",\"source_hash\":\
             \"24ccfe4ee1db3fd62fb3f09c873584a5d248e54b3df6c78aadbd8dfade098da9\"},\"confidence\":0.6,\"freshness\":\
             {\"valid_from\":\"2026-03-02T09:15:00.25Z\",\"valid_to\":null},\"scope\":{\"project_id\":\"demo\"},\
             \"authority_class\":\"agent-inferred\",\"instruction_taint\":false}"
        );
        let parsed: Value = serde_json::from_str(&sample().canonical()).unwrap();
        assert_eq!(parsed, sample().to_json());
    }

    #[test]
    fn a_changed_record_is_not_sound() {
        assert!(sample().is_sound());
        assert!(!Record { content: "other".into(), ..sample() }.is_sound());
        assert!(!Record { anchor: " ".into(), ..sample() }.is_sound());
        assert!(!Record { confidence: f64::NAN, ..sample() }.is_sound());
    }

    #[test]
    fn an_id_has_one_spelling() {
        assert_eq!(seq_of("cap-12"), Some(12));
        for id in
            ["CAP-1", "cap-01", "cap-", "cap-0", "cap-+1", " cap-1", "1", "out-1", "cap-99999999999999999999"]
        {
            assert_eq!(seq_of(id), None, "{id}");
        }
    }

    #[test]
    fn numbers_have_no_needless_fraction() {
        assert_eq!(rounded(1.0, 2).to_string(), "1");
        assert_eq!(rounded(0.404, 2).to_string(), "0.4");
        assert_eq!(rounded(0.6, 4).to_string(), "0.6");
    }
}
