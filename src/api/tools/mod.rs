//! The contracts of the MCP tools: one catalogue, read from JSON files, from which `me.mcp_tools` answers and by which
//! `me.mcp_call` knows the arguments of a tool.

use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::patch::nearest;
use crate::error::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::cell::OnceCell;

/// The files of the catalogue; a tool's schemas may use those of every file.
const FILES: &[&str] = &[
    include_str!("access.json"),
    include_str!("capsule.json"),
    include_str!("capsule_answers.json"),
    include_str!("memory.json"),
    include_str!("organise.json"),
    include_str!("search.json"),
    include_str!("history.json"),
];

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    schemas: Map<String, Value>,
    tools: Vec<Tool>,
}

/// One tool as its file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The MCP name.
    pub name: String,
    title: String,
    description: String,
    /// `memory` or `capsule`.
    pub toolset: String,
    /// Tools that work in no space take no `space`.
    #[serde(default)]
    spaceless: bool,
    input: Map<String, Value>,
    required: Vec<String>,
    #[serde(default)]
    output: Option<String>,
    #[serde(default, rename = "outputSchema")]
    output_schema: Option<Value>,
    annotations: Value,
}

/// Every tool, in the order of the files.
pub struct Catalogue {
    schemas: Map<String, Value>,
    tools: Vec<Tool>,
}

impl Catalogue {
    /// The catalogue, read once in a backend: reading it costs more than most calls.
    pub fn load() -> Result<&'static Self> {
        thread_local! {
            static CATALOGUE: OnceCell<&'static Catalogue> = const { OnceCell::new() };
        }
        CATALOGUE.with(|kept| match kept.get() {
            Some(catalogue) => Ok(*catalogue),
            None => {
                let catalogue: &'static Self = Box::leak(Box::new(Self::read()?));
                Ok(*kept.get_or_init(|| catalogue))
            }
        })
    }

    /// Reads the files.
    fn read() -> Result<Self> {
        let mut catalogue = Self { schemas: Map::new(), tools: Vec::new() };
        for text in FILES {
            let file: File = serde_json::from_str(text)
                .map_err(|error| Error::Internal(format!("tool catalogue: {error}")))?;
            catalogue.schemas.extend(file.schemas);
            catalogue.tools.extend(file.tools);
        }
        Ok(catalogue)
    }

    /// The definitions of a toolset, as MCP lists them.
    pub fn definitions(&self, toolset: &str, locked: bool) -> Vec<Value> {
        self.tools
            .iter()
            .filter(|tool| toolset == "all" || tool.toolset == toolset)
            .filter(|tool| !(locked && tool.name == "me_space_list"))
            .map(|tool| self.definition(tool, locked))
            .collect()
    }

    fn definition(&self, tool: &Tool, locked: bool) -> Value {
        let mut properties = tool.input.clone();
        if !tool.spaceless && !locked {
            properties.insert(
                "space".into(),
                json!({"type": "string", "minLength": 1, "description": "Slug of the space; default: the session's."}),
            );
        }
        let mut input = json!({
            "type": "object",
            "properties": properties,
            "required": tool.required,
            "additionalProperties": false
        });
        let mut output = match (&tool.output_schema, &tool.output) {
            (Some(schema), _) => schema.clone(),
            (None, Some(name)) => json!({ "$use": name }),
            (None, None) => json!({"type": "object"}),
        };
        self.expand(&mut input);
        self.expand(&mut output);
        json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": input,
            "outputSchema": output,
            "annotations": tool.annotations,
        })
    }

    /// Puts shared schemas in the place of `{"$use": name}`.
    fn expand(&self, value: &mut Value) {
        if let Some(name) = value.get("$use").and_then(Value::as_str) {
            *value = self.schemas.get(name).cloned().unwrap_or(Value::Bool(true));
        }
        match value {
            Value::Object(fields) => fields.values_mut().for_each(|field| self.expand(field)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.expand(item)),
            _ => {}
        }
    }

    /// The tool of a name. `me_memory_get` reads a memory, `memory_get` a capsule: the prefix is part of the name.
    pub fn find(&self, name: &str) -> Result<&Tool> {
        let known = self.tools.iter().find(|tool| tool.name == name);
        known.ok_or_else(|| {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            Invalid::new(
                "name",
                "CALL-1",
                format!("argument \"name\" is no tool: {}", excerpt(name)),
                format!("Did you mean \"{}\"? me.mcp_tools() lists the tools.", nearest(name, &names)),
            )
            .into()
        })
    }
}

impl Tool {
    /// The names of its arguments.
    pub fn argument_names(&self, locked: bool) -> Vec<&str> {
        let own = self.input.keys().map(String::as_str);
        let space = (!self.spaceless && !locked).then_some("space");
        own.chain(space).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definitions(toolset: &str, locked: bool) -> Vec<Value> {
        Catalogue::load().unwrap().definitions(toolset, locked)
    }

    #[test]
    fn every_shared_schema_that_is_used_exists() {
        fn used(value: &Value, names: &mut Vec<String>) {
            match value {
                Value::Object(fields) => {
                    if let Some(name) = fields.get("$use").and_then(Value::as_str) {
                        names.push(name.to_owned());
                    }
                    fields.values().for_each(|field| used(field, names));
                }
                Value::Array(items) => items.iter().for_each(|item| used(item, names)),
                _ => {}
            }
        }
        let catalogue = Catalogue::load().unwrap();
        let mut names = Vec::new();
        for tool in &catalogue.tools {
            tool.input.values().for_each(|value| used(value, &mut names));
            names.extend(tool.output.clone());
            if let Some(schema) = &tool.output_schema {
                used(schema, &mut names);
            }
        }
        for schema in catalogue.schemas.values() {
            used(schema, &mut names);
        }
        for name in names {
            assert!(catalogue.schemas.contains_key(&name), "{name}");
        }
    }

    #[test]
    fn every_tool_says_all_that_mcp_wants_to_know() {
        for tool in definitions("all", false) {
            for key in ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] {
                assert!(tool.get(key).is_some(), "{} {key}", tool["name"]);
            }
            for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
                assert!(tool["annotations"][hint].is_boolean(), "{} {hint}", tool["name"]);
            }
            assert_eq!(tool["outputSchema"]["type"], "object", "{}", tool["name"]);
        }
    }

    #[test]
    fn every_answer_is_described_down_to_its_leaves() {
        fn look(schema: &Value, place: &str, loose: &mut Vec<String>) {
            let says = |keyword: &str| schema.get(keyword).is_some();
            if !(says("type") || says("enum") || says("const")) {
                loose.push(place.to_owned());
            }
            let is = |kind: &str| match &schema["type"] {
                Value::Array(kinds) => kinds.iter().any(|one| one == kind),
                one => one == kind,
            };
            if is("array") {
                look(&schema["items"], &format!("{place}[]"), loose);
            }
            if is("object") {
                match schema["properties"].as_object() {
                    Some(fields) => {
                        fields
                            .iter()
                            .for_each(|(name, field)| look(field, &format!("{place}.{name}"), loose));
                    }
                    // Metadata is the writer's own.
                    None if place.ends_with(".meta") => {}
                    None => look(&schema["additionalProperties"], &format!("{place}.*"), loose),
                }
            }
        }
        let mut loose = Vec::new();
        for tool in definitions("all", false) {
            let name = tool["name"].as_str().unwrap();
            look(&tool["outputSchema"], name, &mut loose);
            let required = tool["outputSchema"]["required"].as_array().map_or(0, Vec::len);
            assert!(required > 0 || name.starts_with("me_memory_get"), "{name} promises nothing");
        }
        assert!(loose.is_empty(), "{loose:?}");
        look(&json!({"type": "object", "properties": {"a": {}, "b": {"type": "object"}}}), "t", &mut loose);
        assert_eq!(loose, ["t.a", "t.b.*"]);
    }

    #[test]
    fn a_locked_session_has_no_space_argument_and_no_space_list() {
        let locked = definitions("all", true);
        assert!(locked.iter().all(|tool| tool["inputSchema"]["properties"].get("space").is_none()));
        assert!(locked.iter().all(|tool| tool["name"] != "me_space_list"));
        assert!(definitions("all", false).iter().any(|tool| tool["name"] == "me_space_list"));
    }

    #[test]
    fn a_tool_is_found_by_its_whole_name_and_a_misspelt_one_is_named() {
        let catalogue = Catalogue::load().unwrap();
        assert_eq!(catalogue.find("me_memory_get").unwrap().name, "me_memory_get");
        let Err(Error::Invalid(refusal)) = catalogue.find("me_memory_gett") else {
            panic!("a misspelt tool was found");
        };
        assert!(refusal.hint.contains("me_memory_get"), "{}", refusal.hint);
    }
}
