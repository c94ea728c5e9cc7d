//! The MCP server of `memory_engine`. It moves bytes between MCP clients and the database: tools, schemas, rules and
//! defaults all come from `me.mcp_tools()` and `me.mcp_call()`.
#![forbid(unsafe_code)]

mod arguments;
mod db;
mod files;
mod http;
mod log;
mod options;
mod outcome;
mod resources;
mod server;
mod stdio;
mod tls;
mod tools;
mod turns;

use options::{Options, Start};
use server::MemoryServer;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let options = match Options::from_command_line() {
        Ok(Start::Serve(options)) => options,
        Ok(Start::Say(text)) => {
            log::say(&text);
            return ExitCode::SUCCESS;
        }
        Err(fault) => {
            log::say(&format!("memory-engine-mcp: {fault}\nTry --help."));
            return ExitCode::from(2);
        }
    };
    // A value nested as deep as metadata may be is read and written by recursion.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(8 << 20).build();
    let served = match runtime {
        Ok(runtime) => {
            let served = runtime.block_on(serve(*options));
            // Reading standard input may still hold a thread: nobody waits for it.
            runtime.shutdown_background();
            served
        }
        Err(error) => Err(format!("no threads to work with: {error}")),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            log::line(&fault);
            ExitCode::FAILURE
        }
    }
}

async fn serve(options: Options) -> Result<(), String> {
    let database = Arc::new(db::Database::new(&options)?);
    let server = MemoryServer::new(database, &options)?;
    server.check().await?;
    match &options.listen {
        Some(listen) => http::serve(server, &options, listen).await,
        None => stdio::serve(server, &options).await,
    }
}
