//! The command line and the environment.

use crate::tls::Wanted;
use lexopt::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The environment variable that holds the URL when the command line does not.
const URL_VARIABLE: &str = "MEMORY_ENGINE_URL";

const HELP: &str = "\
memory-engine-mcp: serves the tools of memory_engine to MCP clients, on standard input and output or over HTTP.

    memory-engine-mcp [--url URL] [--space SPACE] [--toolset memory|capsule|all] [--files FOLDER]

    --url URL           the database, postgres://role:password@host/database; better given in the variable
                        MEMORY_ENGINE_URL, for a command line can be read by others; ?sslmode=verify-full and
                        &sslrootcert=FILE (or system) encrypt the connection and check the server
    --space SPACE       locks the server to one space: its tools have no argument \"space\"
    --toolset TOOLSET   the tools to offer: memory, capsule or all (all unless said)
    --files FOLDER      lets import and export read and write files below this folder, in the argument \"path\"
    --connections N     the most connections to the database (8 unless said)
    --timeout SECONDS   the longest a call may take (60 unless said)

Over HTTP, every request brings an API key and runs as its holder; the role of the URL is a gateway (me.gateway_add):

    memory-engine-mcp --http ADDRESS:PORT [the options above, but --files]

    --http ADDRESS:PORT for instance 127.0.0.1:8808; the protocol is spoken at /mcp
    --allow-host HOST   another name this server may be called by, beside localhost; may be repeated
    --allow-origin URL  a web page that may call it; may be repeated
    --max-body BYTES    the largest request (33554432 unless said)
    --key-calls N       the most requests of one key at once (16 unless said)

    --help, --version";

/// What to do.
pub enum Start {
    /// Serve.
    Serve(Box<Options>),
    /// Print this and leave.
    Say(String),
}

/// How to serve HTTP.
pub struct Listen {
    /// Where.
    pub address: SocketAddr,
    /// Names of this server beside those of the loopback.
    pub hosts: Vec<String>,
    /// Web pages that may call.
    pub origins: Vec<String>,
    /// The largest request in bytes.
    pub max_body: usize,
    /// The most requests of one key at once.
    pub calls_per_key: usize,
}

/// How to serve.
pub struct Options {
    /// The database.
    pub config: Config,
    /// What encrypts the connections to it.
    pub tls: MakeRustlsConnect,
    /// The one space, in locked mode.
    pub space: Option<String>,
    /// Which tools, in the words of `me.mcp_tools`.
    pub toolset: Option<String>,
    /// The folder that import and export may use.
    pub files: Option<String>,
    /// Over HTTP instead of standard input and output.
    pub listen: Option<Listen>,
    /// The most connections.
    pub connections: usize,
    /// The longest a call may take.
    pub timeout: Duration,
}

impl Options {
    /// Reads the command line of this process.
    pub fn from_command_line() -> Result<Start, String> {
        Self::parse(lexopt::Parser::from_env(), std::env::var(URL_VARIABLE).ok())
    }

    fn parse(mut parser: lexopt::Parser, environment_url: Option<String>) -> Result<Start, String> {
        let (mut url, mut space, mut toolset) = (environment_url, None, None);
        let (mut files, mut http) = (None, None);
        let (mut hosts, mut origins) = (Vec::new(), Vec::new());
        let (mut max_body, mut calls_per_key) = (32 << 20, 16);
        let (mut connections, mut timeout) = (8, 60);
        while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
            match argument {
                Long("url") => url = Some(text(&mut parser)?),
                Long("space") => space = Some(text(&mut parser)?),
                Long("toolset") => toolset = Some(text(&mut parser)?),
                Long("files") => files = Some(text(&mut parser)?),
                Long("connections") => connections = number(&mut parser, "--connections", 1000)?,
                Long("timeout") => timeout = number(&mut parser, "--timeout", 86_400)?,
                Long("http") => http = Some(address(&text(&mut parser)?)?),
                Long("allow-host") => hosts.push(text(&mut parser)?),
                Long("allow-origin") => origins.push(text(&mut parser)?),
                Long("max-body") => max_body = number(&mut parser, "--max-body", 1 << 30)?,
                Long("key-calls") => calls_per_key = number(&mut parser, "--key-calls", 10_000)?,
                Long("help") | Short('h') => return Ok(Start::Say(HELP.to_owned())),
                Long("version") | Short('V') => {
                    return Ok(Start::Say(format!("memory-engine-mcp {}", env!("CARGO_PKG_VERSION"))));
                }
                other => return Err(other.unexpected().to_string()),
            }
        }
        let url = url.ok_or_else(|| format!("no database: give --url or the variable {URL_VARIABLE}"))?;
        if space.as_deref() == Some("") {
            return Err("--space is empty".to_owned());
        }
        if http.is_none() && !(hosts.is_empty() && origins.is_empty()) {
            return Err("--allow-host and --allow-origin are for --http".to_owned());
        }
        // The files belong to whoever started the server, not to whoever holds a key.
        if http.is_some() && files.is_some() {
            return Err("--files is not served over --http".to_owned());
        }
        let listen = http.map(|address| Listen { address, hosts, origins, max_body, calls_per_key });
        let (config, tls) = config(&url)?;
        Ok(Start::Serve(Box::new(Self {
            config,
            tls,
            space,
            toolset,
            files,
            listen,
            connections,
            timeout: Duration::from_secs(timeout as u64),
        })))
    }
}

fn text(parser: &mut lexopt::Parser) -> Result<String, String> {
    parser.value().and_then(|value| value.string()).map_err(|error| error.to_string())
}

fn number(parser: &mut lexopt::Parser, name: &str, most: usize) -> Result<usize, String> {
    let value = text(parser)?;
    match value.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("{name} is no number from 1 to {most}: {value:?}")),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("--http is no address with a port, such as 127.0.0.1:8808: {text:?}"))
}

/// Reads the URL. What is wrong with it is said without repeating it: it may hold a password.
fn config(url: &str) -> Result<(Config, MakeRustlsConnect), String> {
    let (url, wanted) = Wanted::take(url)?;
    let mut config: Config = url.parse().map_err(|_| {
        "the database's URL cannot be read: expected postgres://role:password@host:port/database".to_owned()
    })?;
    if config.get_application_name().is_none() {
        config.application_name("memory-engine-mcp");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(10));
    }
    // A server that vanished without a word is noticed in seconds instead of a quarter of an hour.
    config.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(Duration::from_secs(30));
    let tls = wanted.apply(&mut config)?;
    Ok((config, tls))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str], url: Option<&str>) -> Result<Options, String> {
        match Options::parse(lexopt::Parser::from_args(words), url.map(str::to_owned))? {
            Start::Serve(options) => Ok(*options),
            Start::Say(text) => Err(text),
        }
    }

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let options = parse(&["--url", "postgres://h/one"], Some("postgres://h/two")).unwrap();
        assert_eq!(options.config.get_dbname(), Some("one"));
        assert_eq!(parse(&[], Some("postgres://h/two")).unwrap().config.get_dbname(), Some("two"));
        assert!(parse(&[], None).err().unwrap().contains(URL_VARIABLE));
    }

    #[test]
    fn a_url_that_cannot_be_read_is_not_repeated() {
        let fault = parse(&["--url", "postgres://agent:hunter2@host:port/x"], None).err().unwrap();
        assert!(!fault.contains("hunter2"), "{fault}");
    }

    #[test]
    fn a_connection_says_whose_it_is() {
        let url = Some("postgres://h/x");
        assert_eq!(parse(&[], url).unwrap().config.get_application_name(), Some("memory-engine-mcp"));
        let named = parse(&[], Some("postgres://h/x?application_name=notes")).unwrap();
        assert_eq!(named.config.get_application_name(), Some("notes"));
    }

    #[test]
    fn files_are_not_served_over_http() {
        let words = ["--http", "127.0.0.1:0", "--files", "."];
        assert!(parse(&words, Some("postgres://h/x")).err().unwrap().contains("--files"));
        let options = parse(&words[..2], Some("postgres://h/x")).unwrap();
        assert!(options.listen.unwrap().address.ip().is_loopback());
    }

    #[test]
    fn odd_values_are_refused_by_name() {
        let url = Some("postgres://h/x");
        for (words, name) in [
            (["--connections", "0"], "--connections"),
            (["--timeout", "soon"], "--timeout"),
            (["--space", ""], "--space"),
            (["--spaces", "x"], "--spaces"),
            (["--http", "8808"], "--http"),
            (["--allow-host", "me.example"], "--http"),
        ] {
            assert!(parse(&words, url).err().unwrap().contains(name), "{name}");
        }
    }
}
