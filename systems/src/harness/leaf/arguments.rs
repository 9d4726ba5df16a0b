//! Arguments of a call, read as forgivingly as their meaning allows.

use serde_json::{Map, Value};

/// Arguments of a call.
pub(super) struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    pub(super) fn new(arguments: &'a Map<String, Value>) -> Self {
        Self(arguments)
    }

    /// A string that must be there; it may be empty.
    pub(super) fn text(&self, key: &str) -> Result<&'a str, String> {
        match self.0.get(key) {
            Some(Value::String(text)) => Ok(text),
            None | Some(Value::Null) => Err(format!("{key} is required")),
            Some(_) => Err(format!("{key} must be a string")),
        }
    }

    /// A string that must be there and not be empty.
    pub(super) fn filled(&self, key: &str) -> Result<&'a str, String> {
        self.text(key)
            .and_then(|text| if text.is_empty() { Err(format!("{key} is required")) } else { Ok(text) })
    }

    /// The path of a file; `path` is understood as well.
    pub(super) fn file_path(&self) -> Result<&'a str, String> {
        self.filled("file_path").or_else(|fault| self.filled("path").map_err(|_| fault))
    }

    /// A number, if given; digits in a string are one.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, String> {
        let number = match self.0.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_f64(),
        };
        match number.filter(|number: &f64| number.is_finite()) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{key} must be a number")),
        }
    }

    /// A count or position of lines, if given; fractions are dropped and negative values are 0.
    pub(super) fn count(&self, key: &str) -> Result<Option<usize>, String> {
        // A cast from float saturates at both ends.
        self.number(key).map(|number| number.map(|number| number as usize))
    }

    /// A truth value; `false` where it is not given.
    pub(super) fn truth(&self, key: &str) -> bool {
        match self.0.get(key) {
            Some(Value::Bool(truth)) => *truth,
            Some(Value::Number(number)) => number.as_f64() == Some(1.0),
            Some(Value::String(text)) => {
                matches!(text.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
            }
            _ => false,
        }
    }
}
