//! Handoffs: what one session leaves for the next (CAP-DIG-7).

use super::text::first_chars;

/// Where the capsule of a handoff comes from (CAP-SES-4).
pub const SOURCE: &str = "memory_session_finish";
/// How a text begins that hands on a thread.
const ACTIVE: &str = "ACTIVE(";
/// Longest thread that is told apart, in characters: it leads an index entry.
const THREAD_CHARS: usize = 200;

/// The thread that a capsule hands on: empty for a session's, `None` for one that is no handoff.
pub fn thread_of(source: &str, content: &str) -> Option<String> {
    if source == SOURCE {
        return Some(String::new());
    }
    let (thread, _) = content.strip_prefix(ACTIVE)?.split_once(')')?;
    (!thread.trim().is_empty()).then(|| first_chars(thread.trim(), THREAD_CHARS).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_active_threads_hand_on() {
        assert_eq!(thread_of(SOURCE, "next: oil the winch").as_deref(), Some(""));
        assert_eq!(thread_of("notes", "ACTIVE( tower ): paint").as_deref(), Some("tower"));
        assert_eq!(thread_of("notes", "ACTIVE()"), None);
        assert_eq!(thread_of("notes", "the tower is ACTIVE(x)"), None);
    }
}
