//! What the server says about itself: lines on standard error. Standard output belongs to the protocol.

use std::io::Write;

/// Writes a text as it is.
pub fn say(text: &str) {
    // Nobody reads it: nothing to be done about that.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes one line under the server's name.
pub fn line(text: &str) {
    say(&format!("memory-engine-mcp: {text}"));
}
