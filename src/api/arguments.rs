//! Reads a JSON object of arguments: unknown names are refused, scalars are never coerced (CALL-2…4, design §2.3).

use crate::domain::id::Id;
use crate::domain::invalid::{Invalid, excerpt};
use crate::domain::limits;
use crate::domain::patch::nearest;
use crate::error::Result;
use crate::store::jsonb::Jsonb;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The fields of one argument object, absent and null ones left out.
pub struct Arguments {
    place: String,
    fields: BTreeMap<String, Box<RawValue>>,
    names: Vec<String>,
}

impl Arguments {
    /// Reads the object at `place` (empty for the top), in which only the `allowed` names may stand.
    pub fn parse(place: &str, text: &str, allowed: &[&str]) -> Result<Self> {
        let Ok(mut fields) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text) else {
            let argument = if place.is_empty() { "arguments" } else { place };
            return Err(expected(argument, "an object", text).into());
        };
        if let Some(unknown) = fields.keys().find(|name| !allowed.contains(&name.as_str())) {
            let argument = join(place, unknown);
            return Err(Invalid::new(
                argument.as_str(),
                "CALL-3",
                format!("unknown argument {}", excerpt(&argument)),
                match allowed {
                    [] => "This takes no arguments.".to_owned(),
                    _ => format!(
                        "Did you mean \"{}\"? Known are: {}.",
                        nearest(unknown, allowed),
                        allowed.join(", ")
                    ),
                },
            )
            .into());
        }
        let names = fields.keys().cloned().collect();
        fields.retain(|_, value| value.get() != "null");
        Ok(Self { place: place.to_owned(), fields, names })
    }

    /// Whether the name stands there at all, even with null.
    pub fn mentions(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn raw(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|value| value.get())
    }

    fn read<T: serde::de::DeserializeOwned>(&self, name: &str, what: &str) -> Result<Option<T>> {
        self.raw(name)
            .map(|raw| {
                serde_json::from_str(raw).map_err(|_| expected(&join(&self.place, name), what, raw).into())
            })
            .transpose()
    }

    /// A string.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        self.read(name, "a string")
    }

    /// A boolean.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, "a boolean")
    }

    /// A number.
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        self.read(name, "a number")
    }

    /// An integer: any number without a fraction, within what a double holds exactly.
    pub fn integer(&self, name: &str) -> Result<Option<i64>> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let argument = join(&self.place, name);
        let value: f64 = serde_json::from_str(raw).map_err(|_| expected(&argument, "an integer", raw))?;
        if value.fract() != 0.0 || value.abs() > limits::SAFE_INTEGER as f64 {
            return Err(expected(&argument, "an integer", raw).into());
        }
        Ok(Some(value as i64))
    }

    /// An id (ID-1, ID-2).
    pub fn id(&self, name: &str) -> Result<Option<Id>> {
        Ok(self.text(name)?.map(|text| Id::parse(&join(&self.place, name), &text)).transpose()?)
    }

    /// An array of strings; null elements are the domain's to judge.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<Option<String>>>> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let argument = join(&self.place, name);
        let held = held_json(raw, '[');
        serde_json::from_str(held.as_deref().unwrap_or(raw))
            .map(Some)
            .map_err(|_| expected(&argument, "an array of strings", raw).into())
    }

    /// An object or an array, as it is. A string that holds one is accepted in its place, because clients send them.
    pub fn json(&self, name: &str) -> Result<Option<Jsonb>> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let held = held_json(raw, '{').or_else(|| held_json(raw, '['));
        Ok(Jsonb::parse(held.as_deref().unwrap_or(raw)))
    }
}

/// The JSON text that a JSON string holds, if it begins like `opening` and is JSON.
fn held_json(raw: &str, opening: char) -> Option<String> {
    let text: String = serde_json::from_str(raw).ok()?;
    let is_json = text.trim_start().starts_with(opening) && serde_json::from_str::<&RawValue>(&text).is_ok();
    is_json.then_some(text)
}

/// The elements of an array argument.
pub fn items(argument: &str, text: &str) -> Result<Vec<Box<RawValue>>> {
    serde_json::from_str(text).map_err(|_| expected(argument, "an array", text).into())
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn expected(argument: &str, what: &str, raw: &str) -> Invalid {
    Invalid::new(
        argument,
        "CALL-4",
        format!("argument \"{argument}\" must be {what}, not {}", kind(raw)),
        format!("Give \"{argument}\" as {what}; values are not converted."),
    )
}

fn kind(raw: &str) -> String {
    match raw.trim_start().chars().next() {
        Some('{') => "an object".into(),
        Some('[') => "an array".into(),
        Some('"') => "a string".into(),
        Some('t' | 'f') => "a boolean".into(),
        Some('n') => "null".into(),
        _ => format!("the number {}", excerpt(raw)),
    }
}
