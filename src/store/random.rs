//! Random bytes of the server's own strong source.

/// Sixteen of them; all zero when the server has no source of randomness, which it refuses to start without.
pub fn bytes() -> [u8; 16] {
    let mut bytes = [0u8; 16];
    // SAFETY: fills exactly the buffer it is given.
    unsafe { pgrx::pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) };
    bytes
}
