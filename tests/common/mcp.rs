//! A client of the MCP server over standard input and output: plain JSON-RPC, nothing shared with the server's code.
//! Every line the server writes must be JSON, and every result must match the output schema of its tool.

use super::schema;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// A running server and the client's end of its pipes.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    errors: Option<JoinHandle<String>>,
    /// Answers that came while another one was awaited.
    waiting: HashMap<String, Value>,
    /// Messages without an id.
    pub others: Vec<Value>,
    next_id: u64,
    schemas: HashMap<String, Value>,
}

/// The URL of a database for the server, over the socket the tests use.
pub fn url(database: &str, role: &str) -> String {
    let host = std::env::var("PGHOST").expect("PGHOST is set").replace('/', "%2F");
    let port = std::env::var("PGPORT").expect("PGPORT is set");
    format!("postgres://{role}@{host}:{port}/{database}")
}

/// The server's program.
pub fn program() -> Command {
    let path = std::env::var("MEMORY_ENGINE_MCP").expect("MEMORY_ENGINE_MCP is set: run scripts/test client");
    let mut command = Command::new(path);
    command.env_remove("MEMORY_ENGINE_URL");
    command
}

impl Server {
    /// Starts the server without a word of the protocol.
    pub fn start(url: &str, arguments: &[&str]) -> Self {
        Self::spawn(program().env("MEMORY_ENGINE_URL", url).args(arguments))
    }

    /// Starts a program that is one.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                let line = line.expect("the server writes UTF-8");
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut stderr = child.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
            errors: Some(errors),
            waiting: HashMap::new(),
            others: Vec::new(),
            next_id: 1,
            schemas: HashMap::new(),
        }
    }

    /// Starts it, shakes hands and reads the tools.
    pub fn open(url: &str, arguments: &[&str]) -> Self {
        let mut server = Self::start(url, arguments);
        server.shake_hands("2025-11-25");
        for tool in server.tools() {
            server.schemas.insert(tool["name"].as_str().unwrap().to_owned(), tool["outputSchema"].clone());
        }
        server
    }

    /// The handshake of the revisions that have one; answers with what the server says of itself.
    pub fn shake_hands(&mut self, revision: &str) -> Value {
        let answer = self.request(
            "initialize",
            json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].clone()
    }

    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("the server reads");
        input.flush().unwrap();
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request and does not wait; answers with its id.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next_id);
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and answers with the whole answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(&id)
    }

    /// The answer to a request.
    pub fn answer(&mut self, id: &Value) -> Value {
        loop {
            if let Some(answer) = self.waiting.remove(&id.to_string()) {
                return answer;
            }
            match self.lines.recv_timeout(PATIENCE) {
                Ok(message) => self.keep(message),
                Err(error) => panic!("no answer to request {id}: {error}"),
            }
        }
    }

    /// The next message, whatever it is.
    pub fn next_message(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("no message: {error}"))
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next message without an id.
    pub fn other(&mut self) -> Value {
        loop {
            if !self.others.is_empty() {
                return self.others.remove(0);
            }
            match self.lines.recv_timeout(PATIENCE) {
                Ok(message) => self.keep(message),
                Err(error) => panic!("no message without an id: {error}"),
            }
        }
    }

    fn keep(&mut self, message: Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        match &message["id"] {
            Value::Null => self.others.push(message),
            id => {
                let before = self.waiting.insert(id.to_string(), message.clone());
                assert!(before.is_none(), "two answers to one request: {message}");
            }
        }
    }

    /// Whether nothing at all comes for a while.
    pub fn is_silent(&mut self, time: Duration) -> bool {
        matches!(self.lines.recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }

    /// The tools it lists.
    pub fn tools(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", json!({}));
        answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools: {answer}")).clone()
    }

    /// Calls a tool and does not wait; answers with the request's id.
    pub fn start_call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The output schema of a tool.
    pub fn schema(&self, tool: &str) -> &Value {
        self.schemas.get(tool).unwrap_or_else(|| panic!("{tool} is not listed"))
    }

    /// Calls a tool: its result, in which the structured answer matches the tool's schema.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = answer.get("result").unwrap_or_else(|| panic!("{tool} {arguments}: {answer}")).clone();
        if result["isError"] == true {
            assert!(result.get("structuredContent").is_none(), "{result}");
        } else {
            schema::check(self.schema(tool), &result["structuredContent"], tool);
        }
        result
    }

    /// Calls a tool that has to succeed: the structured answer.
    pub fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that has to fail: the text, and the particulars.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        (text(&result), result["_meta"]["error"].clone())
    }

    /// Closes the input and waits for the end: the answers not yet read, and what it said on standard error.
    pub fn finish(mut self) -> (Vec<Value>, String) {
        drop(self.input.take());
        let mut answers: Vec<Value> = self.waiting.drain().map(|(_, answer)| answer).collect();
        answers.extend(self.lines.iter());
        assert!(self.child.wait().unwrap().success());
        (answers, self.errors.take().unwrap().join().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a result.
pub fn text(result: &Value) -> String {
    assert_eq!(result["content"][0]["type"], "text", "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}
