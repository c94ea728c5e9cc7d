//! The steps of a case: calls, and references from one to the results of those before it.

use serde_json::{Map, Value};

/// The results that references point to: those of the setup steps in order, and that of the call.
#[derive(Debug, Default)]
pub struct Results {
    steps: Vec<Value>,
    call: Value,
}

impl Results {
    /// Notes the result of the next setup step; null for one that had to fail.
    pub fn push(&mut self, result: Value) {
        self.steps.push(result);
    }

    /// Notes the result of the call.
    pub fn set_call(&mut self, result: Value) {
        self.call = result;
    }

    /// The value with every string that is wholly `$N.key` or `$call.key` replaced by what it points to.
    pub fn resolve(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::String(text) => match reference(text) {
                Some((step, path)) => {
                    self.look_up(step, path).ok_or_else(|| format!("{text} points to nothing"))
                }
                None => Ok(value.clone()),
            },
            Value::Array(items) => items.iter().map(|item| self.resolve(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, field)| Ok((key.clone(), self.resolve(field)?)))
                .collect::<Result<Map<_, _>, String>>()
                .map(Value::Object),
            _ => Ok(value.clone()),
        }
    }

    fn look_up(&self, step: Option<usize>, path: &str) -> Option<Value> {
        let mut value = match step {
            Some(number) => self.steps.get(number.checked_sub(1)?)?,
            None => &self.call,
        };
        for piece in path.split('.') {
            value = match value {
                Value::Array(items) => items.get(piece.parse::<usize>().ok()?)?,
                _ => value.get(piece)?,
            };
        }
        Some(value.clone())
    }
}

/// The step (none for the call) and the path of a reference. Other strings that start with `$` are data.
fn reference(text: &str) -> Option<(Option<usize>, &str)> {
    let (step, path) = text.strip_prefix('$')?.split_once('.')?;
    match step {
        "call" => Some((None, path)),
        number => number.parse().ok().map(|number| (Some(number), path)),
    }
}
