//! Against a server of a few lines that answers as it is told.

use super::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::Receiver;
use std::time::Instant;

/// Answers one connection after the other with these bytes; hands out the requests.
fn server(answers: Vec<String>) -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let _ = tell.send((head, String::from_utf8(body).unwrap()));
            if answer == "hang" {
                std::mem::forget(stream);
                continue;
            }
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (format!("http://{address}/v1/embeddings"), told)
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

fn endpoint(url: String) -> Endpoint {
    Endpoint {
        url,
        model: "m".into(),
        key: Some("sk-secret-key".into()),
        dimensions: None,
        timeout: Duration::from_secs(5),
        batch: 2,
        window: 24_000,
    }
}

fn ask(answers: Vec<String>, texts: &[&str]) -> Result<Vec<Embedded>, Fault> {
    let (url, _requests) = server(answers);
    endpoint(url).embed(texts, &|| false)
}

#[test]
fn vectors_come_in_any_order() {
    let body =
        r#"{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0.5]}], "model": "m"}"#;
    let (url, requests) = server(vec![http("200 OK", "", body)]);
    let found = endpoint(url).embed(&["a", "b"], &|| false).unwrap();
    assert_eq!(found, [Ok(vec![vec![1.0, 0.5]]), Ok(vec![vec![0.0, 1.0]])]);
    let (head, body) = requests.recv().unwrap();
    assert!(head.starts_with("POST /v1/embeddings "));
    assert!(head.to_lowercase().contains("authorization: bearer sk-secret-key"));
    assert_eq!(body, r#"{"model":"m","input":["a","b"]}"#);
}

#[test]
fn vectors_that_may_be_another_text_s_are_not_taken() {
    let renumbered = "the provider's vectors are not numbered one for each text";
    for (data, said) in [
        // Somebody left out a text and counted anew.
        (r#"{"index": 0, "embedding": [0, 1]}"#, "the provider sent 1 vectors for 2 texts"),
        (r#"{"index": 1, "embedding": [0, 1]}, {"index": 1, "embedding": [1, 1]}"#, renumbered),
        (r#"{"index": 0, "embedding": [0, 1]}, {"index": 2, "embedding": [1, 1]}"#, renumbered),
        (r#"{"index": 0, "embedding": [0, 1]}, {"embedding": [1, 1]}"#, renumbered),
    ] {
        let body = format!(r#"{{"data": [{data}]}}"#);
        assert_eq!(ask(vec![http("200 OK", "", &body)], &["a", "b"]), Err(Fault::Failed(said.into())));
    }
}

#[test]
fn what_is_no_answer_fails_the_batch() {
    for (answer, said) in [
        (http("200 OK", "", "<html>"), "the provider's answer is not a list of vectors"),
        (
            http("200 OK", "", r#"{"data": [{"index": 0, "embedding": [NaN]}]}"#),
            "the provider's answer is not a list of vectors",
        ),
        (http("200 OK", "", r#"{"data": [{"embedding": [1]}]}"#), "the provider sent 1 vectors for 2 texts"),
        (http("500 Internal Server Error", "", "oops"), "the provider answered 500"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"data\"".into(), "the provider's answer broke off"),
    ] {
        assert_eq!(ask(vec![answer], &["a", "b"]), Err(Fault::Failed(said.into())));
    }
}

#[test]
fn a_provider_that_wants_to_be_left_alone_is() {
    let limited = |headers| ask(vec![http("429 Too Many Requests", headers, "")], &["a"]);
    assert_eq!(limited("retry-after: 2\r\n"), Err(Fault::RateLimited(Some(Duration::from_secs(2)))));
    assert_eq!(limited("retry-after-ms: 20\r\n"), Err(Fault::RateLimited(Some(Duration::from_millis(20)))));
    assert_eq!(limited(""), Err(Fault::RateLimited(None)));
    let redirect = ask(vec![http("302 Found", "location: http://127.0.0.1:1/\r\n", "")], &["a"]);
    assert_eq!(redirect, Err(Fault::Unavailable("the provider answered 302".into())));
    let refused = endpoint("http://127.0.0.1:1/v1/embeddings".into()).embed(&["a"], &|| false);
    assert!(matches!(refused, Err(Fault::Unavailable(_))), "{refused:?}");
}

#[test]
fn what_the_provider_says_is_repeated_without_keys_and_texts() {
    let said = |status: &str, body: &str, text: &str| match ask(vec![http(status, "", body)], &[text, "b"]) {
        Err(Fault::Failed(reason) | Fault::Unavailable(reason)) => reason,
        other => panic!("{other:?}"),
    };
    let told = r#"{"error": {"message": "maximum context length exceeded"}}"#;
    assert_eq!(
        said("400 Bad Request", told, "a"),
        "the provider answered 400: maximum context length exceeded"
    );
    let key = r#"{"error": {"message": "bad key sk-secret-key"}}"#;
    assert_eq!(said("500 Error", key, "a"), "the provider answered 500");
    assert_eq!(said("401 Unauthorized", key, "a"), "the provider answered 401");
    let echo = r#"{"error": "cannot embed: the salary of the director is 5"}"#;
    assert_eq!(said("500 Error", echo, "the salary of the director is 5"), "the provider answered 500");
}

#[test]
fn a_text_that_is_too_long_goes_in_smaller_windows() {
    let two = r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [2]}]}"#;
    let last = r#"{"data": [{"index": 0, "embedding": [3]}]}"#;
    let refused = http("400 Bad Request", "", r#"{"error": {"message": "too long"}}"#);
    let text = "a".repeat(3000);
    let found = ask(vec![refused, http("200 OK", "", two), http("200 OK", "", last)], &[&text]).unwrap();
    assert_eq!(found[0].as_ref().unwrap().len(), 3);
}

#[test]
fn an_answer_without_an_end_is_read_to_the_cap() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/embeddings", listener.local_addr().unwrap());
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
        let spaces = vec![b' '; 1024 * 1024];
        (0..1000).take_while(|_| stream.write_all(&spaces).is_ok()).count()
    });
    let patient = Endpoint { timeout: Duration::from_secs(120), ..endpoint(url) };
    assert_eq!(
        patient.embed(&["a"], &|| false),
        Err(Fault::Failed("the provider's answer is too long".into()))
    );
    let mebibytes = sender.join().unwrap();
    assert!((63..100).contains(&mebibytes), "{mebibytes}");
}

#[test]
fn nobody_has_to_wait_for_a_provider_that_hangs() {
    let (url, _requests) = server(vec!["hang".into()]);
    let began = Instant::now();
    let stop = || began.elapsed() > Duration::from_millis(100);
    assert_eq!(endpoint(url).embed(&["a"], &stop), Err(Fault::Interrupted));
    assert!(began.elapsed() < Duration::from_secs(1));
    let (url, _requests) = server(vec!["hang".into()]);
    let impatient = Endpoint { timeout: Duration::from_millis(200), ..endpoint(url) };
    assert_eq!(
        impatient.embed(&["a"], &|| false),
        Err(Fault::Failed("the provider did not answer in time".into()))
    );
}

#[test]
fn the_address_of_the_call_follows_from_the_base() {
    for (base, url) in [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("https://api.example.com/v1/", "https://api.example.com/v1/embeddings"),
        ("https://h/openai/deployments/x", "https://h/openai/deployments/x/embeddings"),
        ("http://h/v1/embeddings", "http://h/v1/embeddings"),
    ] {
        assert_eq!(embeddings_url(base), url);
    }
}

#[test]
fn windows_overlap_and_cover_a_text() {
    let text = "é🙂".repeat(4000);
    let windows = windows(&text, 2400);
    assert!(windows.iter().all(|window| utf16::len(window) <= 2400));
    assert!(windows.len() > 4 && text.ends_with(windows[windows.len() - 1]));
    assert_eq!(super::windows("", 10), [""]);
}

#[test]
fn a_window_of_its_own_cuts_a_text_for_an_endpoint_that_would_do_so_silently() {
    let item = |index: usize| format!(r#"{{"index": {index}, "embedding": [1, {index}]}}"#);
    let two = http("200 OK", "", &format!(r#"{{"data": [{}, {}]}}"#, item(0), item(1)));
    let last = http("200 OK", "", &format!(r#"{{"data": [{}]}}"#, item(0)));
    let (url, requests) = server(vec![two, last]);
    let text = "abcde ".repeat(40);
    let found = Endpoint { window: 100, ..endpoint(url) }.embed(&[&text], &|| false).unwrap();
    assert_eq!(found[0].as_ref().map(Vec::len), Ok(3));
    for _ in 0..2 {
        let (_, body) = requests.recv().unwrap();
        let sent: serde_json::Value = serde_json::from_str(&body).unwrap();
        let texts = sent["input"].as_array().unwrap();
        assert!(texts.iter().all(|text| text.as_str().is_some_and(|text| text.len() <= 100)), "{body}");
    }
}
