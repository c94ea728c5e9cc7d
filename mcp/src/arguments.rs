//! The arguments of a tool call as the client wrote them.
//!
//! They go to the database as text, never through values of ours: numbers keep their digits, and depth, repeated names
//! and odd characters are judged in one place, the database. So they are lifted out of a message before it is parsed.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// The text of the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments(pub Arc<str>);

impl Arguments {
    /// Whether they are an object, as the protocol wants them.
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Self("{}".into())
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// The id of a message, for an answer to one that cannot be read any further.
pub fn id_of(message: &str) -> Option<rmcp::model::RequestId> {
    #[derive(Deserialize)]
    struct Id {
        id: rmcp::model::RequestId,
    }
    serde_json::from_str::<Id>(message).ok().map(|message| message.id)
}

/// Takes the arguments out of a `tools/call` message: answers with the message without them, and them.
/// Other messages come back as they are.
pub fn lift(message: &str) -> (Cow<'_, str>, Option<Arguments>) {
    lifted(message)
        .map_or((Cow::Borrowed(message), None), |(message, arguments)| (Cow::Owned(message), Some(arguments)))
}

fn lifted(message: &str) -> Option<(String, Arguments)> {
    let outer: Message = serde_json::from_str(message).ok()?;
    if outer.method.as_deref() != Some("tools/call") {
        return None;
    }
    let params: Params = serde_json::from_str(outer.params?.get()).ok()?;
    let text = params.arguments?.get();
    // The raw value is a piece of the message: its place follows from where it lies.
    let start = (text.as_ptr() as usize).checked_sub(message.as_ptr() as usize)?;
    let (before, after) = (message.get(..start)?, message.get(start + text.len()..)?);
    Some((format!("{before}{{}}{after}"), Arguments(text.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifts(message: &str) -> (String, Option<String>) {
        let (rest, arguments) = lift(message);
        (rest.into_owned(), arguments.map(|arguments| arguments.0.to_string()))
    }

    #[test]
    fn arguments_are_taken_out_byte_for_byte() {
        let message = r#"{"id":1,"method":"tools/call","params":{"arguments": {"n":1.10,"n":2e400,"s":"\ud800 ü"} ,"name":"t"}}"#;
        let (rest, arguments) = lifts(message);
        assert_eq!(arguments.unwrap(), r#"{"n":1.10,"n":2e400,"s":"\ud800 ü"}"#);
        assert_eq!(rest, r#"{"id":1,"method":"tools/call","params":{"arguments": {} ,"name":"t"}}"#);
    }

    #[test]
    fn deep_arguments_are_not_walked_through() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200_000), "]".repeat(200_000));
        let message = format!(r#"{{"method":"tools/call","params":{{"name":"t","arguments":{deep}}}}}"#);
        assert_eq!(lifts(&message).1.unwrap(), deep);
    }

    #[test]
    fn what_is_no_call_with_arguments_stays_as_it_is() {
        for message in [
            r#"{"id":1,"method":"tools/list","params":{"arguments":{"a":1}}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":null}}"#,
            r#"{"id":1,"method":"tools/call","params":7}"#,
            r#"{"id":1,"method":"tools/call"}"#,
            "{",
            "[]",
            "",
        ] {
            assert_eq!(lifts(message), (message.to_owned(), None));
        }
    }

    #[test]
    fn arguments_of_another_kind_are_told_apart() {
        let message = r#"{"method":"tools/call","params":{"name":"t","arguments":"{}"}}"#;
        assert!(!lift(message).1.unwrap().is_object());
        assert!(Arguments::default().is_object());
    }
}
