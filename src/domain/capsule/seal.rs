//! Hashes: of content, and the keyed fingerprint that is left of it (CAP-MODEL-5, CAP-FGT-3).

use sha2::{Digest, Sha256};

/// What the fingerprint is about, so that the key's other uses give other values.
const FORGET_DOMAIN: &[u8; 25] = b"nmemory-tombstone-hmac-v1";
/// The block of SHA-256, which HMAC pads its key to.
const BLOCK_BYTES: usize = 64;

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// HMAC-SHA-256 (RFC 2104) over the parts, one after the other.
fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0u8; BLOCK_BYTES];
    if key.len() > BLOCK_BYTES {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new();
    inner.update(block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::new();
    outer.update(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// What a tombstone says about the content it stands for: only who holds the key and the content can confirm it.
pub fn fingerprint(key: &[u8], id: &str, content: &str) -> String {
    let mac = hmac_sha256(key, &[FORGET_DOMAIN, id.as_bytes(), &[0], content.as_bytes()]);
    format!("hmac-sha256:{}", hex(&mac))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_is_that_of_rfc_4231() {
        assert_eq!(
            hex(&hmac_sha256(&[0x0b; 20], &[b"Hi There"])),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            hex(&hmac_sha256(
                &[0xaa; 131],
                &[b"Test Using Larger Than Block-Size Key", b" - Hash Key First"]
            )),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn fingerprints_are_those_of_the_specification() {
        let of = |id: &str, content: &str| fingerprint(b"conformance-key", id, content);
        assert_eq!(
            of("cap-1", "The vault code is 7781."),
            "hmac-sha256:27b5f7094c760b52a45f3a9dc48b20e55d5a8472bf24761413b8c79ec521a7e0"
        );
        assert_eq!(
            of("cap-2", "The vault code is 7781."),
            "hmac-sha256:ca212a4a03688942cfca93022349f6b74d79e0a2a65c1e40701580c8ba37236e"
        );
        assert_eq!(
            of("cap-5", "The vault code is 7781."),
            "hmac-sha256:4011c3f3e2343de5a4714285199c4f9370b2e54d015e72932561cd58ae123d90"
        );
        assert_eq!(
            of("cap-6", "Old crew list: Ana, Bo."),
            "hmac-sha256:e15788f77e26f102a879dd1d1bd9d4a2a175cefbd0a151ec6cc04d1a14d9c4c6"
        );
    }
}
