//! The audit journal: rows that each seal the one before (CAP-JRN).

use super::seal::sha256_hex;
use super::text::quoted;

/// A row of the journal, but for its seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 1-based, gapless.
    pub seq: i64,
    /// When, as stored.
    pub at: String,
    /// Who.
    pub actor: String,
    /// What was done: a tool's name.
    pub action: String,
    /// To what.
    pub subject: String,
    /// Why.
    pub reason: Option<String>,
}

impl Entry {
    /// The seal over the previous row's seal (empty before the first row) and this row (CAP-JRN-2).
    pub fn seal(&self, previous: &str) -> String {
        sha256_hex(format!("{previous}{}", self.line()).as_bytes())
    }

    fn line(&self) -> String {
        let reason = self.reason.as_deref().map_or_else(|| "null".to_owned(), quoted);
        format!(
            "{{\"seq\":{},\"at\":{},\"actor\":{},\"action\":{},\"subject\":{},\"reason\":{reason}}}",
            self.seq,
            quoted(&self.at),
            quoted(&self.actor),
            quoted(&self.action),
            quoted(&self.subject)
        )
    }
}

/// Recomputes a chain row by row (CAP-JRN-5).
#[derive(Debug, Default)]
pub struct Verifier {
    head: String,
    rows: i64,
}

impl Verifier {
    /// Goes on behind rows that were verified before.
    pub fn resume(rows: i64, head: String) -> Self {
        Self { head, rows }
    }

    /// Takes the next row; false when it is not the row that was written there.
    pub fn accept(&mut self, entry: &Entry, stored: &str) -> bool {
        if entry.seq != self.rows + 1 || entry.seal(&self.head) != stored {
            return false;
        }
        stored.clone_into(&mut self.head);
        self.rows += 1;
        true
    }

    /// How many rows were verified.
    pub fn rows(&self) -> i64 {
        self.rows
    }

    /// The last seal: what can be kept elsewhere, so that a cut tail shows.
    pub fn head(&self) -> &str {
        &self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: i64, at: &str, action: &str, subject: &str, reason: Option<&str>) -> Entry {
        Entry {
            seq,
            at: at.into(),
            actor: "keeper".into(),
            action: action.into(),
            subject: subject.into(),
            reason: reason.map(Into::into),
        }
    }

    fn chain() -> Vec<(Entry, &'static str)> {
        vec![
            (
                entry(1, "2026-01-05T08:00:00Z", "memory_ingest", "cap-1", Some("captured")),
                "3921127c71c8a8489185cabef4e0f5b80cd6eb15bafbebc2cf359e98dfba6d46",
            ),
            (
                entry(
                    2,
                    "2026-01-05T08:00:01.5Z",
                    "memory_forget",
                    "cap-1",
                    Some("leaked: the \"vault\" code — Grüße\n"),
                ),
                "53d4957bdd1e218f75ace8015707c967befe3c855ae7a4a3f35e47b6e6dfd884",
            ),
            (
                entry(3, "2026-01-05T08:00:02Z", "memory_session_start", "sess-1", None),
                "d3e4a1ae4c6e446e1baf4f2931453c9e33d76079c6514981e13a15b663c6419c",
            ),
        ]
    }

    #[test]
    fn seals_are_those_of_the_specification() {
        let mut verifier = Verifier::default();
        for (entry, seal) in chain() {
            assert!(verifier.accept(&entry, seal), "{}", entry.seq);
        }
        assert_eq!(verifier.rows(), 3);
    }

    #[test]
    fn a_changed_missing_or_moved_row_breaks_the_chain_where_it_stands() {
        let rows = chain();
        let mut verifier = Verifier::default();
        assert!(verifier.accept(&rows[0].0, rows[0].1));
        assert!(!verifier.accept(&rows[2].0, rows[2].1));
        let changed = Entry { reason: Some("fine".into()), ..rows[1].0.clone() };
        assert!(!verifier.accept(&changed, rows[1].1));
        assert!(verifier.accept(&rows[1].0, rows[1].1));
    }
}
