//! JSON Schema, as far as the tools use it. A keyword that is not known here fails the test instead of being passed
//! over.

use postgres::Client;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::OnceLock;

// One catalogue for all databases of a run: it is part of the library.
static SCHEMAS: OnceLock<HashMap<String, Value>> = OnceLock::new();

/// Reads the catalogue, unless it was read before.
pub fn load(client: &mut Client) {
    SCHEMAS.get_or_init(|| {
        let text: String = client.query_one("select me.mcp_tools('all')::text", &[]).unwrap().get(0);
        let tools: Vec<Value> = serde_json::from_str(&text).unwrap();
        let named =
            |mut tool: Value| (tool["name"].as_str().unwrap().to_owned(), tool["outputSchema"].take());
        tools.into_iter().map(named).collect()
    });
}

/// Fails unless the answer of a tool matches the output schema that the catalogue has for it.
pub fn check_answer(tool: &str, answer: &Value) {
    let schemas = SCHEMAS.get().expect("the catalogue was read");
    check(schemas.get(tool).unwrap_or_else(|| panic!("{tool} is not listed")), answer, tool);
}

/// The places of a value at which the schema would let something else stand, of a type that no answer has there.
pub fn undescribed(schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut places = Vec::new();
    let mut pointers = Vec::new();
    collect(value, String::new(), &mut pointers);
    for pointer in pointers {
        let mut other = value.clone();
        let spot = other.pointer_mut(&pointer).unwrap();
        *spot = if spot.is_object() { json!("other") } else { json!({ "other": {} }) };
        if matches(schema, &other, place).is_ok() {
            places.push(format!("{place}{pointer}"));
        }
    }
    places
}

fn collect(value: &Value, pointer: String, into: &mut Vec<String>) {
    let mut add = |key: &str, field: &Value| {
        let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        into.push(pointer.clone());
        collect(field, pointer, into);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, field)| add(key, field)),
        Value::Array(items) => items.iter().enumerate().for_each(|(n, item)| add(&n.to_string(), item)),
        _ => {}
    }
}

/// Fails unless a value matches a schema.
pub fn check(schema: &Value, value: &Value, place: &str) {
    if let Err(fault) = matches(schema, value, place) {
        panic!("{fault}\nvalue: {value}\nschema: {schema}");
    }
}

fn matches(schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let keywords = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(keywords) => keywords,
        other => return Err(format!("{place}: no schema: {other}")),
    };
    for (keyword, wanted) in keywords {
        let fits = match keyword.as_str() {
            "description" | "title" | "default" | "format" => true,
            "type" => match wanted {
                Value::Array(names) => names.iter().any(|name| is_of_type(value, name)),
                name => is_of_type(value, name),
            },
            "enum" => wanted.as_array().is_some_and(|words| words.contains(value)),
            "const" => wanted == value,
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= wanted.as_u64().unwrap()),
            "minLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 >= wanted.as_u64().unwrap())
            }
            "required" => {
                let names = wanted.as_array().unwrap();
                value
                    .as_object()
                    .is_none_or(|fields| names.iter().all(|name| fields.contains_key(name.as_str().unwrap())))
            }
            "properties" => {
                for (name, schema) in wanted.as_object().unwrap() {
                    if let Some(field) = value.get(name) {
                        matches(schema, field, &format!("{place}.{name}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                for (name, field) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    match wanted {
                        Value::Bool(false) => return Err(format!("{place}: {name} is not described")),
                        schema => matches(schema, field, &format!("{place}.{name}"))?,
                    }
                }
                true
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    matches(wanted, item, &format!("{place}[{n}]"))?;
                }
                true
            }
            "anyOf" => wanted.as_array().unwrap().iter().any(|one| matches(one, value, place).is_ok()),
            "oneOf" => {
                wanted.as_array().unwrap().iter().filter(|one| matches(one, value, place).is_ok()).count()
                    == 1
            }
            other => return Err(format!("{place}: keyword {other} is not known to this test")),
        };
        if !fits {
            return Err(format!("{place}: does not match {keyword} {wanted}"));
        }
    }
    Ok(())
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_number() && !value.to_string().contains(['.', 'e', 'E']),
        _ => false,
    }
}
