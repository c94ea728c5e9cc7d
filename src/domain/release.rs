//! Versions of the extension, and which of two is the older one.

/// The version of this library.
pub const LIBRARY: &str = env!("CARGO_PKG_VERSION");

/// Whether `version` came before `other`: numbers are compared as numbers, part by part.
pub fn is_older(version: &str, other: &str) -> bool {
    parts(version).lt(parts(other))
}

fn parts(version: &str) -> impl Iterator<Item = u64> + '_ {
    version.split('.').map(|part| part.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (older, newer) in [("0.1.0", "0.2.0"), ("0.9.0", "0.10.0"), ("0.2.0", "1.0.0"), ("0.2", "0.2.1")]
        {
            assert!(is_older(older, newer), "{older} {newer}");
            assert!(!is_older(newer, older), "{newer} {older}");
            assert!(!is_older(newer, newer));
        }
        assert!(is_older("0.1.0", LIBRARY));
    }
}
