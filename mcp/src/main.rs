//! The MCP server of `memory_engine`. It answers `--version` until it serves the protocol.
#![forbid(unsafe_code)]

use std::io::Write;

fn main() -> std::io::Result<()> {
    writeln!(std::io::stderr(), "memory-engine-mcp {}", env!("CARGO_PKG_VERSION"))
}
