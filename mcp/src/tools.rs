//! The tools as the database defines them, remembered between calls.

use crate::db::{Asker, Database};
use crate::files;
use crate::outcome::Failure;
use rmcp::model::Tool;
use serde::Deserialize;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

/// How long definitions are believed. They change when the extension is updated.
pub const FRESH: Duration = Duration::from_secs(60);

/// The definitions of one toolset.
pub struct Tools {
    toolset: Option<String>,
    with_files: bool,
    known: RwLock<Option<(Instant, Arc<Vec<Tool>>)>>,
    space: OnceCell<String>,
}

impl Tools {
    /// Of a toolset, in the words of `me.mcp_tools`; with files, two of them take a path.
    pub fn new(toolset: Option<String>, with_files: bool) -> Self {
        Self { toolset, with_files, known: RwLock::new(None), space: OnceCell::new() }
    }

    /// All of them, as they are now.
    pub async fn list(&self, database: &Database) -> Result<Arc<Vec<Tool>>, Failure> {
        let text = database.tools(self.toolset.as_deref()).await?;
        let mut tools: Vec<Tool> = serde_json::from_str(&text)
            .map_err(|error| Failure::Internal(format!("me.mcp_tools() answered something else: {error}")))?;
        if self.with_files {
            files::describe(&mut tools);
        }
        let tools = Arc::new(tools);
        if let Ok(mut known) = self.known.write() {
            *known = Some((Instant::now(), Arc::clone(&tools)));
        }
        Ok(tools)
    }

    /// The one of a name. A name that is not known is looked for once more: it may be new.
    pub async fn find(&self, database: &Database, name: &str) -> Result<Option<Tool>, Failure> {
        let named = |tools: &[Tool]| tools.iter().find(|tool| tool.name == name).cloned();
        if let Some(tool) = self.fresh().and_then(|tools| named(&tools)) {
            return Ok(Some(tool));
        }
        Ok(named(&self.list(database).await?))
    }

    /// The space of a call that names none, as the database tells it; it is the same for the life of this server.
    pub async fn space(&self, database: &Database, asker: &Asker) -> Option<String> {
        #[derive(Deserialize)]
        struct Context {
            space: Option<Space>,
        }
        #[derive(Deserialize)]
        struct Space {
            slug: String,
        }
        let ask = || async {
            let answer = database.read(asker, "me_memory_context", "{}", None).await.map_err(|_| ())?;
            let context: Context = serde_json::from_str(&answer.json).map_err(|_| ())?;
            context.space.map(|space| space.slug).ok_or(())
        };
        self.space.get_or_try_init(ask).await.ok().cloned()
    }

    fn fresh(&self) -> Option<Arc<Vec<Tool>>> {
        let known = self.known.read().ok()?;
        let (at, tools) = known.as_ref()?;
        (at.elapsed() < FRESH).then(|| Arc::clone(tools))
    }
}

/// Whether a tool only reads.
pub fn reads(tool: &Tool) -> bool {
    tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true)
}

/// Whether a tool lets its caller choose how the text of the answer is written. `compact` tells that `format` from the
/// one of import and export, which is about files.
pub fn has_text_format(tool: &Tool) -> bool {
    let words = || tool.input_schema.get("properties")?.get("format")?.get("enum")?.as_array();
    words().is_some_and(|words| words.iter().any(|word| word == "compact"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn tool(schema: Value, hints: Value) -> Tool {
        serde_json::from_value(json!({"name": "t", "inputSchema": schema, "annotations": hints})).unwrap()
    }

    #[test]
    fn only_a_tool_that_says_so_reads() {
        assert!(reads(&tool(json!({}), json!({"readOnlyHint": true}))));
        assert!(!reads(&tool(json!({}), json!({"readOnlyHint": false}))));
        assert!(!reads(&tool(json!({}), json!(null))));
    }

    #[test]
    fn the_format_of_a_file_is_not_the_format_of_a_text() {
        let with = |words: Value| tool(json!({"properties": {"format": {"enum": words}}}), json!({}));
        assert!(has_text_format(&with(json!(["yaml", "json", "compact"]))));
        assert!(!has_text_format(&with(json!(["json", "yaml", "md"]))));
        assert!(!has_text_format(&tool(json!({}), json!({}))));
    }
}
