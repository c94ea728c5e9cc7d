//! The MCP server over HTTP, keys for it, and a plain HTTP client.

use super::mcp::{program, url};
use super::{Database, new_role, schema};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A server that listens, and what it says on standard error.
pub struct Gateway {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    errors: Mutex<Receiver<String>>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Status line and headers in small letters.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

/// A role that is a gateway of the database.
pub fn gateway_role(database: &Database) -> String {
    let role = new_role("gateway");
    database
        .admin()
        .batch_execute(&format!(
            "select me.gateway_add('{role}'); grant execute on function me.api_key_authenticate to \"{role}\""
        ))
        .unwrap();
    role
}

/// A user without a role who may write at `/share`, and a key of theirs.
pub fn user(database: &Database, name: &str, allow: Option<&str>) -> String {
    let mut admin = database.admin();
    let sql = "select me.space_member_add($1, 'user'), me.access_grant($1, '/share', 'write')";
    admin.execute(sql, &[&name]).unwrap();
    key(database, name, allow)["key"].as_str().unwrap().to_owned()
}

/// A key of a principal that is there.
pub fn key(database: &Database, name: &str, allow: Option<&str>) -> Value {
    let sql = "select me.api_key_create($1, 'test', allow => $2::text::jsonb)::text";
    let text: String = database.admin().query_one(sql, &[&name, &allow]).unwrap().get(0);
    serde_json::from_str(&text).unwrap()
}

/// A database with the space that is used when none is named.
pub fn with_space() -> Database {
    let database = Database::new();
    database.admin().batch_execute("select me.space_create('default', 'Default')").unwrap();
    database
}

impl Gateway {
    /// Starts it on a port of its own.
    pub fn start(database: &Database, arguments: &[&str]) -> Self {
        Self::start_as(database, &gateway_role(database), arguments)
    }

    /// Starts it as a gateway that is there.
    pub fn start_as(database: &Database, role: &str, arguments: &[&str]) -> Self {
        schema::load(&mut database.admin());
        let mut child = program()
            .env("MEMORY_ENGINE_URL", url(database.name(), role))
            .args(["--http", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, errors) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || stderr.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        let mut gateway =
            Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)), errors: Mutex::new(errors) };
        gateway.address = gateway.listens_at();
        gateway
    }

    fn listens_at(&self) -> SocketAddr {
        let errors = self.errors.lock().unwrap();
        let mut said = String::new();
        loop {
            let line = errors
                .recv_timeout(Duration::from_secs(30))
                .unwrap_or_else(|_| panic!("it does not listen: {said}"));
            if let Some((_, rest)) = line.split_once("listening on http://") {
                return rest.strip_suffix("/mcp").unwrap().parse().unwrap();
            }
            said.push_str(&line);
        }
    }

    /// Sends a request with this head.
    pub fn send(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
            .write_all(
                format!("{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len()).as_bytes(),
            )
            .unwrap();
        // A server that has refused a body need not read it.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Sends pieces with a moment between them and waits until the server hangs up: all that it said.
    pub fn raw(&self, pieces: &[&[u8]], patience: Duration) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        for piece in pieces {
            // A server that has refused a request need not read it.
            let _ = stream.write_all(piece);
            thread::sleep(Duration::from_millis(50));
        }
        let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => answer.extend_from_slice(&buffer[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    panic!("the server still waits after {patience:?}: {}", String::from_utf8_lossy(&answer))
                }
                Err(_) => break,
            }
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The head of a request, with more headers.
    pub fn head(&self, more: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json{more}",
            self.address
        )
    }

    /// Sends a message under a key.
    pub fn post(&self, key: &str, message: &Value) -> Answer {
        self.send(&self.head(&format!("\r\nAuthorization: Bearer {key}")), message.to_string().as_bytes())
    }

    /// Sends a request that gets an answer of the protocol.
    pub fn request(&self, key: &str, method: &str, params: Value) -> Value {
        let answer = self.post(key, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Calls a tool: its result, in which a structured answer matches the tool's output schema.
    pub fn call(&self, key: &str, tool: &str, arguments: Value) -> Value {
        let answer = self.request(key, "tools/call", json!({"name": tool, "arguments": arguments}));
        let result = answer.get("result").unwrap_or_else(|| panic!("{tool}: {answer}")).clone();
        match result.get("structuredContent") {
            Some(answer) => schema::check_answer(tool, answer),
            None => assert_eq!(result["isError"], true, "{tool}: {result}"),
        }
        result
    }

    /// Calls a tool that has to succeed: the structured answer.
    pub fn ok(&self, key: &str, tool: &str, arguments: Value) -> Value {
        let result = self.call(key, tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that has to fail: the code of its error.
    pub fn code(&self, key: &str, tool: &str, arguments: Value) -> Value {
        let result = self.call(key, tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["_meta"]["error"]["code"].clone()
    }

    /// Ends it: what it said.
    pub fn finish(mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        assert_eq!(stdout, "");
        self.errors.lock().unwrap().iter().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
