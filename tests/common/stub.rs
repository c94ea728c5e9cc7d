//! A stub of an embedding endpoint: each request is answered as the test says. Never an assertion.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a stub does with a request: its number, and the texts.
type Behaviour = dyn Fn(usize, &[String]) -> Reply + Send + Sync;

/// How it answers.
pub enum Reply {
    /// A vector for each text.
    Vectors,
    /// The same, last one first.
    Reversed,
    /// What this makes of each text.
    Made(fn(&str) -> Value),
    /// These bytes.
    Raw(String),
    /// Nothing, for ever.
    Hang,
}

/// An endpoint of the OpenAI protocol on this machine.
pub struct Stub {
    /// Its address.
    pub url: String,
    requests: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

/// A vector that tells texts apart: two numbers of the sum of its bytes.
pub fn vector(text: &str) -> Value {
    let sum: u32 = text.bytes().map(u32::from).sum();
    json!([f64::from(sum % 97) + 1.0, f64::from(sum % 89)])
}

/// An answer with a body.
pub fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

impl Stub {
    /// One that behaves so.
    pub fn new(behaviour: impl Fn(usize, &[String]) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        let (counter, seen) = (requests.clone(), heads.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
                let (behaviour, seen) = (behaviour.clone(), seen.clone());
                std::thread::spawn(move || answer(stream, number, &*behaviour, &seen));
            }
        });
        Self { url, requests, heads }
    }

    /// How many requests came.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// The heads of the requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn answer(
    mut stream: TcpStream,
    number: usize,
    behaviour: &Behaviour,
    seen: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    seen.lock().unwrap().push(head);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let texts: Vec<String> = request["input"]
        .as_array()?
        .iter()
        .map(|text| text.as_str().unwrap_or_default().to_owned())
        .collect();
    let items = |reversed: bool, make: fn(&str) -> Value| {
        let mut items: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| json!({"index": index, "embedding": make(text)}))
            .collect();
        if reversed {
            items.reverse();
        }
        http("200 OK", "content-type: application/json\r\n", &json!({ "data": items }).to_string())
    };
    let bytes = match behaviour(number, &texts) {
        Reply::Vectors => items(false, vector),
        Reply::Reversed => items(true, vector),
        Reply::Made(make) => items(false, make),
        Reply::Raw(raw) => raw,
        Reply::Hang => {
            std::thread::sleep(Duration::from_secs(600));
            return None;
        }
    };
    stream.write_all(bytes.as_bytes()).ok()
}
