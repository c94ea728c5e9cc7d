//! What an importer says when it removes what its source no longer has (ORPH-1, ORPH-4, LIM-14).

use super::invalid::Invalid;
use super::limits::ORPHAN_KEEP;
use super::memory::Meta;

/// Refuses metadata that marks nothing: every named memory would be an orphan.
///
/// # Errors
/// `{}` is refused under `ORPH-4`.
pub fn check_marks(argument: &str, meta: &Meta) -> Result<(), Invalid> {
    if *meta != Meta::empty() {
        return Ok(());
    }
    Err(Invalid::new(
        argument,
        "ORPH-4",
        format!("argument \"{argument}\" is empty: {{}}"),
        "Name what the memories of one importer have in common, such as {\"source\": \"wiki\"}.",
    ))
}

/// Refuses a keep list that is too long.
///
/// # Errors
/// More than 25000 entries are refused under `LIM-14`.
pub fn check_keep(argument: &str, count: usize) -> Result<(), Invalid> {
    if count <= ORPHAN_KEEP {
        return Ok(());
    }
    Err(Invalid::new(
        argument,
        "LIM-14",
        format!("argument \"{argument}\" has {count} entries, more than the limit of {ORPHAN_KEEP}"),
        "Call once for each of several smaller roots.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_that_marks_nothing_is_refused() {
        assert_eq!(check_marks("meta_contains", &Meta::empty()).unwrap_err().rule, "ORPH-4");
        let meta = Meta::from_canonical("meta_contains", "{\"a\": 1}".into()).unwrap();
        assert!(check_marks("meta_contains", &meta).is_ok());
    }

    #[test]
    fn a_keep_list_is_bounded() {
        assert!(check_keep("keep", 25_000).is_ok());
        assert_eq!(check_keep("keep", 25_001).unwrap_err().rule, "LIM-14");
    }
}
