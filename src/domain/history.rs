//! What a caller may ask of the history: scope, page and order (HIST), the version to revert to (REV).

use super::id::Id;
use super::instant::Instant;
use super::invalid::{Invalid, excerpt};
use super::limits::{PAGE_ROWS, REASON_CHARS};
use super::path::TreePath;

/// How many events a page has unless the caller says otherwise.
const PAGE_DEFAULT: i64 = 20;
/// Microseconds from 1970 to 2000, where PostgreSQL counts from.
const UNIX_TO_POSTGRES_MICROS: i64 = 946_684_800_000_000;
/// Bits of a UUIDv7 below its milliseconds.
const BELOW_MILLIS: u32 = 80;
/// How far the wall clock of an event may lag behind the time in its id, in milliseconds: a backend whose clock was
/// set back goes on counting from the latest id it made. No call takes as long either.
const LAG_MILLIS: i64 = 24 * 3600 * 1000;
const BASE64URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The physical kind of an event (EVT-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A memory came into being, or came back.
    Insert,
    /// Its payload changed.
    Update,
    /// It went.
    Delete,
    /// It went with the payload of its history.
    Purge,
}

impl EventKind {
    /// Reads `insert`, `update`, `delete` or `purge`.
    ///
    /// # Errors
    /// Any other word is refused under `HIST-1`.
    pub fn parse(argument: &str, word: &str) -> Result<Self, Invalid> {
        [Self::Insert, Self::Update, Self::Delete, Self::Purge]
            .into_iter()
            .find(|kind| kind.word() == word)
            .ok_or_else(|| {
                Invalid::new(
                    argument,
                    "HIST-1",
                    format!("argument \"{argument}\" has unknown value {}", excerpt(word)),
                    "Use one of \"insert\", \"update\", \"delete\" or \"purge\".",
                )
            })
    }

    /// The word of events.
    pub fn word(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Purge => "purge",
        }
    }
}

/// In which order events come (HIST-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

impl Order {
    /// Reads `desc` (default) or `asc`.
    ///
    /// # Errors
    /// Any other word is refused under `HIST-5`.
    pub fn parse(argument: &str, word: Option<&str>) -> Result<Self, Invalid> {
        match word {
            None | Some("desc") => Ok(Self::Newest),
            Some("asc") => Ok(Self::Oldest),
            Some(other) => Err(Invalid::new(
                argument,
                "HIST-5",
                format!("argument \"{argument}\" has unknown value {}", excerpt(other)),
                "Use \"desc\" for newest first (default) or \"asc\" for oldest first.",
            )),
        }
    }
}

/// How many events a page has: nothing or ≤ 0 means 20.
///
/// # Errors
/// More than 1000 is refused under `LIM-3`.
pub fn page_size(argument: &str, limit: Option<i64>) -> Result<i64, Invalid> {
    match limit {
        Some(limit) if limit > PAGE_ROWS => Err(Invalid::new(
            argument,
            "LIM-3",
            format!("argument \"{argument}\" is more than {PAGE_ROWS}: {limit}"),
            "Ask for fewer, and go on with \"cursor\".",
        )),
        Some(limit) if limit > 0 => Ok(limit),
        _ => Ok(PAGE_DEFAULT),
    }
}

/// The place where a page ended: the id of its last event (HIST-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(u128);

impl Cursor {
    /// The cursor behind an event.
    pub fn behind(event: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(event))
    }

    /// Reads what [`Cursor::print`] wrote.
    ///
    /// # Errors
    /// Text that is not the base64url of a UUID is refused under `HIST-8`.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        unbase64(text).and_then(|spelled| uuid(&spelled)).map(Self).ok_or_else(|| {
            Invalid::new(
                argument,
                "HIST-8",
                format!("argument \"{argument}\" is no cursor: {}", excerpt(text)),
                "Pass \"nextCursor\" of the page before, unchanged, or leave it out for the first page.",
            )
        })
    }

    /// The base64url of the event's id as text.
    pub fn print(self) -> String {
        let hex = format!("{:032x}", self.0);
        let spelled: Vec<&str> =
            [0..8, 8..12, 12..16, 16..20, 20..32].into_iter().filter_map(|range| hex.get(range)).collect();
        base64(spelled.join("-").as_bytes())
    }
}

/// The bytes come in groups of three: an id has 36 of them.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() / 3 * 4);
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        for shift in [18, 12, 6, 0] {
            text.push(char::from(BASE64URL[(word >> shift & 63) as usize]));
        }
    }
    text
}

fn unbase64(text: &str) -> Option<String> {
    if text.len() != 48 {
        return None;
    }
    let mut bytes = Vec::with_capacity(36);
    for group in text.as_bytes().chunks(4) {
        let mut word = 0u32;
        for byte in group {
            word = word << 6 | u32::try_from(BASE64URL.iter().position(|known| known == byte)?).ok()?;
        }
        bytes.extend_from_slice(&word.to_be_bytes()[1..]);
    }
    String::from_utf8(bytes).ok()
}

/// A UUID of any version in its usual spelling.
fn uuid(text: &str) -> Option<u128> {
    let well_placed = text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (text.len() == 36 && well_placed).then(|| u128::from_str_radix(&text.replace('-', ""), 16).ok())?
}

/// Which events a call asks for; everything given must hold (HIST-4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of one memory.
    pub memory: Option<Id>,
    /// In a tree and below.
    pub tree: Option<TreePath>,
    /// Of one kind.
    pub kind: Option<EventKind>,
    /// Of one call.
    pub operation: Option<Id>,
    /// Not before.
    pub since: Option<Instant>,
    /// Before.
    pub until: Option<Instant>,
}

/// The refusal of a call without a scope (HIST-1).
pub fn no_scope() -> Invalid {
    Invalid::new(
        "tree",
        "CALL-2",
        "no scope is given",
        "Give at least one of memory_id, path, tree, operation_id or since; tree \"/\" is the whole space.",
    )
}

impl Filter {
    /// The ids between which the events lie, both excluded. An index on ids then finds the page at once.
    ///
    /// An event's id is made after its wall clock is read, and after the id of its operation.
    pub fn ids(&self, order: Order, cursor: Option<Cursor>) -> (u128, u128) {
        let mut above = 0;
        let mut below = u128::MAX;
        if let Some(since) = self.since {
            above = above.max(first_id(millis(since)).saturating_sub(1));
        }
        if let Some(operation) = self.operation {
            let made = u128::from_be_bytes(*operation.as_bytes());
            above = above.max(made);
            below = below.min(made.saturating_add((LAG_MILLIS as u128) << BELOW_MILLIS));
        }
        if let Some(until) = self.until {
            below = below.min(first_id(millis(until).saturating_add(LAG_MILLIS)));
        }
        match (order, cursor) {
            (_, None) => {}
            (Order::Newest, Some(Cursor(id))) => below = below.min(id),
            (Order::Oldest, Some(Cursor(id))) => above = above.max(id),
        }
        (above, below)
    }
}

/// The smallest id that can be made at or after an instant.
pub fn first_id_at(at: Instant) -> [u8; 16] {
    first_id(millis(at)).to_be_bytes()
}

fn millis(at: Instant) -> i64 {
    at.micros().saturating_add(UNIX_TO_POSTGRES_MICROS).div_euclid(1000)
}

fn first_id(millis: i64) -> u128 {
    const LATEST: i64 = (1 << 48) - 1;
    (u128::from(millis.clamp(0, LATEST).unsigned_abs())) << BELOW_MILLIS
}

/// The version to revert to.
///
/// # Errors
/// Less than 1 is refused under `REV-1`.
pub fn version(argument: &str, version: i64) -> Result<i64, Invalid> {
    if version >= 1 {
        return Ok(version);
    }
    Err(Invalid::new(
        argument,
        "REV-1",
        format!("argument \"{argument}\" is less than 1: {version}"),
        "Give the \"version\" of an event of me.memory_history().",
    ))
}

/// Why a memory is purged: what stays of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// Takes any text that says something, of up to 1000 characters.
    ///
    /// # Errors
    /// Blank or longer text is refused under `PURGE-1`.
    pub fn parse(argument: &str, text: &str) -> Result<Self, Invalid> {
        let chars = text.chars().take(REASON_CHARS + 1).count();
        let fault = if text.trim().is_empty() {
            format!("argument \"{argument}\" is blank")
        } else if chars > REASON_CHARS {
            format!("argument \"{argument}\" has more than {REASON_CHARS} characters: {}", excerpt(text))
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(Invalid::new(
            argument,
            "PURGE-1",
            fault,
            "Say briefly why; the reason stays in the history when the memory is gone.",
        ))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "0190a1b2-0000-7000-8000-00000000004d";

    fn id() -> Id {
        Id::parse("id", ID).unwrap()
    }

    #[test]
    fn a_page_has_twenty_events_unless_told_and_at_most_a_thousand() {
        assert_eq!(page_size("limit", None), Ok(20));
        assert_eq!(page_size("limit", Some(0)), Ok(20));
        assert_eq!(page_size("limit", Some(-7)), Ok(20));
        assert_eq!(page_size("limit", Some(1)), Ok(1));
        assert_eq!(page_size("limit", Some(1000)), Ok(1000));
        assert_eq!(page_size("limit", Some(1001)).unwrap_err().rule, "LIM-3");
    }

    #[test]
    fn words_are_read_to_the_letter() {
        assert_eq!(Order::parse("order", None), Ok(Order::Newest));
        assert_eq!(Order::parse("order", Some("asc")), Ok(Order::Oldest));
        assert_eq!(Order::parse("order", Some("ASC")).unwrap_err().rule, "HIST-5");
        assert_eq!(EventKind::parse("operation", "delete"), Ok(EventKind::Delete));
        assert_eq!(EventKind::parse("operation", "move").unwrap_err().rule, "HIST-1");
        assert_eq!(version("version", 1), Ok(1));
        assert_eq!(version("version", 0).unwrap_err().rule, "REV-1");
    }

    #[test]
    fn a_reason_says_something_and_is_brief() {
        assert_eq!(Reason::parse("reason", " held a secret ").unwrap().as_str(), " held a secret ");
        assert!(Reason::parse("reason", &"é".repeat(1000)).is_ok());
        for wrong in ["", " \t\n", &"x".repeat(1001)] {
            assert_eq!(Reason::parse("reason", wrong).unwrap_err().rule, "PURGE-1", "{wrong:?}");
        }
    }

    #[test]
    fn a_cursor_is_the_base64url_of_the_text_of_an_id() {
        let cursor = Cursor::behind(*id().as_bytes());
        assert_eq!(cursor.print(), "MDE5MGExYjItMDAwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDRk");
        for wrong in ["", "not-a-cursor", ID, &"A".repeat(48), &"é".repeat(24), &"=".repeat(48)] {
            assert_eq!(Cursor::parse("cursor", wrong).unwrap_err().rule, "HIST-8", "{wrong}");
        }
    }

    #[test]
    fn ids_are_bounded_by_time_operation_and_cursor() {
        let at = |text: &str| Some(Instant::parse("at", text).unwrap());
        let since = Filter { since: at("1970-01-01T00:00:00.002Z"), ..Filter::default() };
        assert_eq!(since.ids(Order::Newest, None), ((2 << 80) - 1, u128::MAX));
        let early = Filter { since: at("1969-01-01T00:00:00Z"), ..Filter::default() };
        assert_eq!(early.ids(Order::Oldest, None).0, 0);
        let cursor = Some(Cursor(7 << 80));
        assert_eq!(since.ids(Order::Newest, cursor), ((2 << 80) - 1, 7 << 80));
        assert_eq!(since.ids(Order::Oldest, cursor), (7 << 80, u128::MAX));
        let operation = Filter { operation: Some(id()), ..Filter::default() };
        let made = u128::from_be_bytes(*id().as_bytes());
        assert_eq!(operation.ids(Order::Newest, None), (made, made + (86_400_000 << 80)));
        for extreme in [i64::MIN, i64::MAX] {
            let both = Some(Instant::from_micros(extreme));
            Filter { since: both, until: both, ..Filter::default() }.ids(Order::Newest, None);
        }
    }

    proptest! {
        #[test]
        fn a_printed_cursor_parses_back(bytes in any::<[u8; 16]>()) {
            let cursor = Cursor::behind(bytes);
            prop_assert_eq!(Cursor::parse("cursor", &cursor.print()), Ok(cursor));
        }

        #[test]
        fn no_text_as_cursor_panics(text in any::<String>()) {
            let _ = Cursor::parse("cursor", &text);
        }

        #[test]
        fn an_id_made_after_an_instant_is_not_below_its_first_id(micros in 0i64..4_000_000_000_000_000, later in 0i64..10_000_000) {
            let first = u128::from_be_bytes(first_id_at(Instant::from_micros(micros)));
            let made = first_id(millis(Instant::from_micros(micros + later)));
            prop_assert!(made >= first);
        }
    }
}
