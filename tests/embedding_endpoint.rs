//! The worker against an endpoint that behaves badly: nothing is lost, nothing is stored twice, no key gets out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod common;

use common::{Calls, Database};
use postgres::Client;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the stub does with a request: its number, and the texts.
type Behaviour = dyn Fn(usize, &[String]) -> Reply + Send + Sync;

enum Reply {
    /// A vector for each text.
    Vectors,
    /// The same, last one first.
    Reversed,
    /// These bytes.
    Raw(String),
    /// Nothing, for ever.
    Hang,
}

struct Stub {
    url: String,
    requests: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

/// A vector that tells texts apart: two numbers of the sum of its bytes.
fn vector(text: &str) -> Value {
    let sum: u32 = text.bytes().map(u32::from).sum();
    json!([f64::from(sum % 97) + 1.0, f64::from(sum % 89)])
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

impl Stub {
    fn new(behaviour: impl Fn(usize, &[String]) -> Reply + Send + Sync + 'static) -> Self {
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

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
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
    let items = |reversed: bool| {
        let mut items: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| json!({"index": index, "embedding": vector(text)}))
            .collect();
        if reversed {
            items.reverse();
        }
        http("200 OK", "content-type: application/json\r\n", &json!({ "data": items }).to_string())
    };
    let bytes = match behaviour(number, &texts) {
        Reply::Vectors => items(false),
        Reply::Reversed => items(true),
        Reply::Raw(raw) => raw,
        Reply::Hang => {
            std::thread::sleep(Duration::from_secs(600));
            return None;
        }
    };
    stream.write_all(bytes.as_bytes()).ok()
}

fn use_stub(client: &mut Client, stub: &Stub) {
    let model = json!({"name": "stub", "provider": "openai", "dimensions": 2, "options": {"url": stub.url}});
    client.function("embedding_model_add", &model).unwrap();
    client.function("embedding_model_use", &json!({"name": "stub"})).unwrap();
}

fn write(client: &mut Client, contents: impl Iterator<Item = String>) {
    let memories: Vec<Value> = contents.map(|content| json!({"content": content, "tree": "share"})).collect();
    for batch in memories.chunks(500) {
        client.function("memory_batch_create", &json!({ "memories": batch })).unwrap();
    }
}

fn drained(client: &mut Client, seconds: u64) {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        let status = client.json("me.embedding_status()", &[]).unwrap();
        if status["pending"] == json!(0) {
            return;
        }
        assert!(Instant::now() < end, "{status}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn count(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap().get(0)
}

const EMBEDDED: &str = "select count(*) from me.memories where has_embedding";
const FAILED: &str = "select count(*) from me.embedding_queue where outcome = 'failed'";

#[test]
fn one_bad_text_does_not_sink_its_batch() {
    let database = Database::new();
    let mut client = database.admin();
    let stub = Stub::new(|_, texts| {
        if texts.len() > 32 || texts.iter().any(|text| text.len() > 8000) {
            return Reply::Raw(http("400 Bad Request", "", r#"{"error": {"message": "input is too long"}}"#));
        }
        Reply::Vectors
    });
    use_stub(&mut client, &stub);
    write(&mut client, (0..9).map(|n| format!("short note {n}")).chain(["long ".repeat(8000)]));
    drained(&mut client, 60);
    // The long one is embedded too: in windows that the endpoint takes.
    assert_eq!(count(&mut client, EMBEDDED), 10);
    assert_eq!(count(&mut client, FAILED), 0);
}

#[test]
fn a_rate_limit_is_waited_for_and_costs_nothing() {
    let database = Database::new();
    let mut client = database.admin();
    let stub = Stub::new(|number, _| {
        if number <= 3 {
            return Reply::Raw(http("429 Too Many Requests", "retry-after: 2\r\n", ""));
        }
        Reply::Vectors
    });
    use_stub(&mut client, &stub);
    write(&mut client, (0..47).map(|n| format!("rate limited note {n}")));
    drained(&mut client, 40);
    assert_eq!(count(&mut client, EMBEDDED), 47);
    assert_eq!(count(&mut client, FAILED), 0);
    assert_eq!(count(&mut client, "select max(attempts)::bigint from me.embedding_queue"), 1);
    assert!(stub.requests() <= 10, "{}", stub.requests());
}

#[test]
fn a_poison_row_is_parked_with_a_reason_and_the_rest_goes_on() {
    let database = Database::new();
    let mut client = database.admin();
    let stub = Stub::new(|number, texts| {
        if texts.iter().any(|text| text.contains("poison")) {
            return Reply::Raw(http("500 Internal Server Error", "", r#"{"error": "out of cheese"}"#));
        }
        // A text that is sent alone is served: how often one may fail before it is parked is another matter.
        match if texts.len() == 1 { 0 } else { number % 7 } {
            2 => Reply::Raw(http("500 Internal Server Error", "", "")),
            3 => Reply::Raw("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"data\"".into()),
            4 => Reply::Raw(http("200 OK", "", "<html>down for maintenance</html>")),
            5 => Reply::Reversed,
            _ => Reply::Vectors,
        }
    });
    use_stub(&mut client, &stub);
    write(&mut client, (0..150).map(|n| format!("note {n}")).chain(["poison".to_owned()]));
    let end = Instant::now() + Duration::from_secs(60);
    while count(&mut client, EMBEDDED) < 150 {
        assert!(Instant::now() < end, "{}", client.json("me.embedding_status()", &[]).unwrap());
        std::thread::sleep(Duration::from_millis(200));
    }
    // Each live version is stored once.
    let twice = "select count(*) from (select from me.embedding_queue where outcome = 'completed'
        group by memory_id, content_version having count(*) > 1) as t";
    assert_eq!(count(&mut client, twice), 0);
    let status = client.json("me.embedding_status()", &[]).unwrap();
    assert_eq!(status["lastError"], json!("the provider answered 500: out of cheese"), "{status}");
}

#[test]
fn a_hanging_endpoint_holds_up_neither_a_cancel_nor_a_stop() {
    let database = Database::new();
    let mut client = database.admin();
    let stub = Stub::new(|_, _| Reply::Hang);
    use_stub(&mut client, &stub);
    client.batch_execute("set statement_timeout = '300ms'").unwrap();
    let began = Instant::now();
    let refusal = client.json("to_jsonb(me.embed('a question'))", &[]).unwrap_err();
    assert_eq!(refusal.sqlstate, "57014", "{refusal:?}");
    assert!(began.elapsed() < Duration::from_millis(1300), "{:?}", began.elapsed());
    client.batch_execute("reset statement_timeout").unwrap();
    // The worker hangs there too; its database can be dropped all the same.
    write(&mut client, ["hangs".to_owned()].into_iter());
    let busy = "select count(*) from pg_stat_activity
        where backend_type = 'memory_engine worker' and datname = current_database()";
    let end = Instant::now() + Duration::from_secs(30);
    while count(&mut client, busy) == 0 || stub.requests() < 2 {
        assert!(Instant::now() < end, "no worker came");
        std::thread::sleep(Duration::from_millis(50));
    }
    let began = Instant::now();
    count(
        &mut client,
        "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where backend_type = 'memory_engine worker' and datname = current_database()",
    );
    while count(&mut client, busy) > 0 {
        assert!(began.elapsed() < Duration::from_secs(2), "the worker does not leave");
        std::thread::sleep(Duration::from_millis(20));
    }
    // What it held is given back, not lost.
    assert_eq!(count(&mut client, "select count(*) from me.embedding_queue where outcome is null"), 1);
}

#[test]
fn the_key_is_sent_and_shown_to_nobody() {
    let database = Database::new();
    let mut client = database.admin();
    let key = "sk-test-3f8a9b2c7d";
    let folder = std::env::temp_dir().join(common::unique("key"));
    std::fs::write(&folder, format!("{key}\n")).unwrap();
    let refused = r#"{"error": {"message": "Incorrect API key provided: sk-test-3f8a9b2c7d"}}"#;
    let stub = Stub::new(move |_, _| Reply::Raw(http("401 Unauthorized", "", refused)));
    let setting = format!("alter system set me.embedding_api_key_file = '{}'", folder.display());
    client.batch_execute(&setting).unwrap();
    client.batch_execute("select pg_reload_conf()").unwrap();
    use_stub(&mut client, &stub);
    write(&mut client, ["a note".to_owned()].into_iter());
    let end = Instant::now() + Duration::from_secs(30);
    let sent = || stub.heads.lock().unwrap().iter().any(|head| head.contains(key));
    while !sent() {
        assert!(Instant::now() < end, "the key was never sent");
        std::thread::sleep(Duration::from_millis(100));
    }
    let refusal = loop {
        // The setting reaches this session with its next command.
        let refusal = client.json("to_jsonb(me.embed('a question'))", &[]).unwrap_err();
        if stub.heads.lock().unwrap().last().is_some_and(|head| head.contains(key)) {
            break refusal;
        }
        assert!(Instant::now() < end, "the key was never sent by a backend");
    };
    assert_eq!(refusal.kind(), "EMBEDDING_FAILED");
    assert!(!format!("{refusal:?}").contains(key), "{refusal:?}");
    client.batch_execute("alter system reset me.embedding_api_key_file").unwrap();
    client.batch_execute("select pg_reload_conf()").unwrap();
    let _ = std::fs::remove_file(&folder);
    // Not in a table, and the setting itself is nobody's but a superuser's.
    let rows = client.rows_of(
        "select q::text from me.embedding_queue q union all select m::text from me.embedding_model m",
    );
    assert!(!format!("{rows:?}").contains(key));
    assert_eq!(
        client.json("me.embedding_status()", &[]).unwrap()["lastError"],
        json!("the provider answered 401")
    );
    let role = common::new_role("reader");
    let mut reader = database.connect(&role);
    let shown = reader.rows_of("show me.embedding_api_key_file").unwrap_err();
    assert_eq!(shown.sqlstate, "42501");
    let listed =
        reader.rows_of("select name from pg_settings where name = 'me.embedding_api_key_file'").unwrap();
    assert!(listed.is_empty());
}
