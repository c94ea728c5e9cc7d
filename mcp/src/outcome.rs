//! What became of a call, and how that is told: as a tool's error for the model to read, or as an error of the
//! protocol where the database asks for one.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, MetaObject};
use serde_json::{Map, Value};
use tokio_postgres::error::DbError;

/// Why a call has no answer.
#[derive(Debug)]
pub enum Failure {
    /// The database refused it.
    Refused(Box<Refusal>),
    /// The database cannot be reached, or went away during the call.
    Unavailable(String),
    /// It took too long and was stopped.
    TooSlow,
    /// The client does not want the answer any more.
    Cancelled,
    /// Something here is broken.
    Internal(String),
}

/// What the database said.
#[derive(Debug)]
pub struct Refusal {
    /// Five characters.
    pub sqlstate: String,
    /// The sentence.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// The DETAIL, when it is one of ours: an object with a code.
    pub detail: Map<String, Value>,
}

impl From<&DbError> for Refusal {
    fn from(error: &DbError) -> Self {
        let detail = error.detail().and_then(|text| serde_json::from_str::<Map<_, _>>(text).ok());
        Self {
            sqlstate: error.code().code().to_owned(),
            message: error.message().to_owned(),
            hint: error.hint().map(str::to_owned),
            detail: detail.filter(|detail| detail.contains_key("code")).unwrap_or_default(),
        }
    }
}

impl Refusal {
    /// One of our own, in the database's form.
    pub fn validation(argument: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let mut detail = Map::new();
        detail.insert("code".into(), "VALIDATION".into());
        detail.insert("argument".into(), argument.into());
        Self { sqlstate: "22023".into(), message: message.into(), hint: Some(hint.into()), detail }
    }

    /// Whether the server is going away, or is not the one that takes writes any more: the connection is of no use.
    pub fn ends_connection(&self) -> bool {
        matches!(self.sqlstate.as_str(), "57P01" | "57P02" | "57P03" | "57P05" | "25006")
            || self.sqlstate.starts_with("08")
    }

    /// The hint, ours where the server's own errors have none.
    fn hint(&self) -> Option<&str> {
        match (&self.hint, self.sqlstate.as_str()) {
            (Some(hint), _) => Some(hint),
            (None, "3F000" | "42883") => {
                Some("Install the extension in this database: CREATE EXTENSION memory_engine CASCADE;")
            }
            (None, "57014") => Some("Ask for less at once, or start the server with a longer --timeout."),
            (None, _) => None,
        }
    }

    /// The text for the model: what, what to do, and the particulars.
    fn text(&self) -> String {
        let mut text = self.message.clone();
        if let Some(hint) = self.hint() {
            text.push_str("\nHINT: ");
            text.push_str(hint);
        }
        if !self.detail.is_empty() {
            text.push_str("\nDETAIL: ");
            text.push_str(&Value::Object(self.detail.clone()).to_string());
        }
        text
    }

    /// The error of the protocol that the DETAIL asks for with `rpc`: what else it holds goes along as data.
    fn protocol_error(&self) -> Option<ErrorData> {
        let code = self.detail.get("rpc")?.as_i64().and_then(|code| i32::try_from(code).ok())?;
        let mut data = self.detail.clone();
        data.retain(|key, _| key != "rpc" && key != "code");
        let data = (!data.is_empty()).then_some(Value::Object(data));
        Some(ErrorData::new(ErrorCode(code), self.message.clone(), data))
    }
}

impl Failure {
    /// A sentence.
    pub fn text(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.text(),
            Self::Unavailable(reason) => format!(
                "the database cannot be reached: {reason}\nHINT: Nothing is known to have been written. Try again; if \
                 that was a write, look first whether it arrived."
            ),
            Self::TooSlow => {
                "the call took too long and was stopped\nHINT: Ask for less at once, or start the \
                              server with a longer --timeout."
                    .into()
            }
            Self::Cancelled => "the call was cancelled".into(),
            Self::Internal(reason) => format!("memory-engine-mcp: {reason}"),
        }
    }

    /// As the result of a tool call.
    pub fn into_tool_result(self) -> Result<CallToolResult, ErrorData> {
        if let Self::Refused(refusal) = &self
            && let Some(error) = refusal.protocol_error()
        {
            return Err(error);
        }
        let mut result = CallToolResult::error(vec![ContentBlock::text(self.text())]);
        // Not in structuredContent, which is for answers that match the tool's output schema.
        result.meta = Some(MetaObject(self.particulars()));
        Ok(result)
    }

    fn particulars(&self) -> Map<String, Value> {
        let mut error = match self {
            Self::Refused(refusal) if refusal.detail.is_empty() => code(match refusal.sqlstate.as_str() {
                "22P02" | "22P05" | "22021" | "22003" => "VALIDATION",
                _ => "SERVER",
            }),
            Self::Refused(refusal) => refusal.detail.clone(),
            Self::Unavailable(_) => code("UNAVAILABLE"),
            Self::TooSlow => code("TIMEOUT"),
            Self::Cancelled => code("CANCELLED"),
            Self::Internal(_) => code("INTERNAL"),
        };
        if let Self::Refused(refusal) = self {
            error.insert("sqlstate".into(), refusal.sqlstate.clone().into());
        }
        let mut meta = Map::new();
        meta.insert("error".into(), Value::Object(error));
        meta
    }

    /// As the answer to anything but a tool call.
    pub fn into_protocol_error(self) -> ErrorData {
        if let Self::Refused(refusal) = &self
            && let Some(error) = refusal.protocol_error()
        {
            return error;
        }
        let code = match &self {
            Self::Refused(refusal) => match refusal.detail.get("code").and_then(Value::as_str) {
                Some("VALIDATION") => ErrorCode::INVALID_PARAMS,
                Some("NOT_FOUND") => ErrorCode::RESOURCE_NOT_FOUND,
                _ => ErrorCode::INTERNAL_ERROR,
            },
            _ => ErrorCode::INTERNAL_ERROR,
        };
        ErrorData::new(code, self.text(), None)
    }
}

fn code(word: &str) -> Map<String, Value> {
    let mut detail = Map::new();
    detail.insert("code".into(), word.into());
    detail
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(detail: Value) -> Failure {
        let Value::Object(detail) = detail else { panic!("no object") };
        Failure::Refused(Box::new(Refusal {
            sqlstate: "P0002".into(),
            message: "no such thing".into(),
            hint: Some("Look again.".into()),
            detail,
        }))
    }

    #[test]
    fn a_tool_error_says_what_happened_and_what_to_do() {
        let result = refused(json!({"code": "NOT_FOUND", "what": "memory"})).into_tool_result().unwrap();
        assert_eq!(result.is_error, Some(true));
        assert_eq!(result.structured_content, None);
        let text = &result.content[0].as_text().unwrap().text;
        assert_eq!(
            text,
            "no such thing\nHINT: Look again.\nDETAIL: {\"code\":\"NOT_FOUND\",\"what\":\"memory\"}"
        );
        let meta = Value::Object(result.meta.unwrap().0);
        assert_eq!(meta["error"], json!({"code": "NOT_FOUND", "what": "memory", "sqlstate": "P0002"}));
    }

    #[test]
    fn a_detail_with_rpc_becomes_an_error_of_the_protocol() {
        let error =
            refused(json!({"code": "NOT_FOUND", "kind": "unknown_capsule", "id": "cap-9", "rpc": -32002}))
                .into_tool_result()
                .unwrap_err();
        assert_eq!(error.code, ErrorCode(-32002));
        assert_eq!(error.data, Some(json!({"kind": "unknown_capsule", "id": "cap-9"})));
    }

    #[test]
    fn an_error_of_the_server_itself_is_told_without_particulars() {
        let failure = Failure::Refused(Box::new(Refusal {
            sqlstate: "22P02".into(),
            message: "invalid input syntax for type json".into(),
            hint: None,
            detail: Map::new(),
        }));
        let result = failure.into_tool_result().unwrap();
        assert_eq!(result.content[0].as_text().unwrap().text, "invalid input syntax for type json");
        assert_eq!(result.meta.unwrap().0["error"]["code"], "VALIDATION");
    }
}
