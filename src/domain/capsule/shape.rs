//! Reads the arguments of a capsule tool: a wrong form is named with its key (CAP-ENV-7…10).

use super::fault::{Fault, Result};
use serde_json::{Map, Value};

/// The arguments of one call, or one item of a batch. Keys are taken out as they are read; [`Shape::end`] refuses
/// what is left.
#[derive(Debug, Clone)]
pub struct Shape {
    place: String,
    fields: Map<String, Value>,
    known: &'static [&'static str],
}

impl Shape {
    /// Takes an object, in which only the known keys may stand.
    pub fn new(fields: Map<String, Value>, known: &'static [&'static str]) -> Result<Self> {
        Self::at(String::new(), fields, known)
    }

    /// The same, for an object inside another one.
    pub fn at(place: String, mut fields: Map<String, Value>, known: &'static [&'static str]) -> Result<Self> {
        let stray: Vec<&str> = fields.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
        if let Some(first) = stray.first() {
            let known_text = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Fault::shape(
                format!("{place}{first}"),
                format!("unknown argument {}; known are: {known_text}", stray.join(", ")),
            ));
        }
        fields.retain(|_, value| !value.is_null());
        Ok(Self { place, fields, known })
    }

    /// Whether a key is given.
    pub fn has(&self, key: &str) -> bool {
        self.fields.contains_key(key)
    }

    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        debug_assert!(self.known.contains(&key));
        self.fields.remove(key)
    }

    fn wrong(&self, key: &str, what: &str) -> Fault {
        Fault::shape(format!("{}{key}", self.place), format!("argument {key} must be {what}"))
    }

    /// A text, if it is given.
    pub fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(key, "a text")),
        }
    }

    /// A text that must be given.
    pub fn need_text(&mut self, key: &str) -> Result<String> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    /// The fault of a required key that is missing.
    pub fn missing(&self, key: &str) -> Fault {
        Fault::missing(format!("{}{key}", self.place))
    }

    /// A boolean, if it is given.
    pub fn boolean(&mut self, key: &str) -> Result<Option<bool>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    /// A number, if it is given.
    pub fn number(&mut self, key: &str) -> Result<Option<f64>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Number(value)) => value.as_f64().map(Some).ok_or_else(|| self.wrong(key, "a number")),
            Some(_) => Err(self.wrong(key, "a number")),
        }
    }

    /// A count: not negative, no fraction.
    pub fn count(&mut self, key: &str) -> Result<Option<u64>> {
        let Some(value) = self.number(key)? else { return Ok(None) };
        if value < 0.0 || value.fract() != 0.0 || value > 9e15 {
            return Err(self.wrong(key, "a whole number from 0 up"));
        }
        Ok(Some(value as u64))
    }

    /// A word of a closed set, if it is given.
    pub fn word<T>(
        &mut self,
        key: &str,
        words: &[&str],
        from_word: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        from_word(&text).map(Some).ok_or_else(|| self.wrong(key, &format!("one of {}", words.join(", "))))
    }

    /// An array of texts, if it is given.
    pub fn texts(&mut self, key: &str) -> Result<Option<Vec<String>>> {
        let Some(items) = self.array(key)? else { return Ok(None) };
        items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Ok(text),
                _ => Err(self.wrong(key, "an array of texts")),
            })
            .collect::<Result<_>>()
            .map(Some)
    }

    /// An array of numbers, each as the nearest 32-bit one.
    pub fn floats(&mut self, key: &str) -> Result<Option<Vec<f32>>> {
        let Some(items) = self.array(key)? else { return Ok(None) };
        items
            .into_iter()
            .map(|item| match item {
                Value::Number(value) => value
                    .as_f64()
                    .map(|value| value as f32)
                    .ok_or_else(|| self.wrong(key, "an array of numbers")),
                _ => Err(self.wrong(key, "an array of numbers")),
            })
            .collect::<Result<_>>()
            .map(Some)
    }

    /// An array, if it is given. A text that holds one is accepted in its place, because clients send them.
    pub fn array(&mut self, key: &str) -> Result<Option<Vec<Value>>> {
        match self.take(key).map(held) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.wrong(key, "an array")),
        }
    }

    /// An object, if it is given; or a text that holds one.
    pub fn object(&mut self, key: &str) -> Result<Option<Map<String, Value>>> {
        match self.take(key).map(held) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(_) => Err(self.wrong(key, "an object")),
        }
    }
}

/// The array or object that a text holds, or the value itself.
fn held(value: Value) -> Value {
    match &value {
        Value::String(text) if text.trim_start().starts_with(['[', '{']) => {
            serde_json::from_str(text).unwrap_or(value)
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::Kind;
    use super::*;
    use serde_json::json;

    fn shape(value: Value) -> Result<Shape> {
        match value {
            Value::Object(fields) => Shape::new(fields, &["id", "n", "list", "kind"]),
            _ => Err(Fault::shape("", "no object")),
        }
    }

    #[test]
    fn every_stray_key_is_named() {
        let Err(Fault::Shape { message, .. }) = shape(json!({"a": 1, "b": 2})) else {
            panic!("stray keys were taken");
        };
        assert!(message.contains("a, b") && message.contains("kind"), "{message}");
    }

    #[test]
    fn null_is_absent_and_a_missing_key_is_named() {
        let mut given = shape(json!({"id": null})).unwrap();
        assert!(matches!(given.need_text("id"), Err(Fault::Shape { message, .. }) if message.contains("id")));
    }

    #[test]
    fn counts_are_whole_and_not_negative() {
        for bad in [json!(-1), json!(1.5), json!("3"), json!(true)] {
            assert!(shape(json!({"n": bad})).unwrap().count("n").is_err(), "{bad}");
        }
        assert_eq!(shape(json!({"n": 3.0})).unwrap().count("n"), Ok(Some(3)));
    }

    #[test]
    fn a_word_outside_its_set_is_told_the_set() {
        let fault = shape(json!({"kind": "poem"})).unwrap().word("kind", Kind::WORDS, Kind::from_word);
        assert!(matches!(fault, Err(Fault::Shape { message, .. }) if message.contains("failure_pattern")));
    }

    #[test]
    fn a_text_that_holds_an_array_is_one() {
        assert_eq!(shape(json!({"list": "[\"a\"]"})).unwrap().texts("list"), Ok(Some(vec!["a".into()])));
        assert!(shape(json!({"list": "otter"})).unwrap().texts("list").is_err());
        assert!(shape(json!({"list": [1]})).unwrap().texts("list").is_err());
    }
}
