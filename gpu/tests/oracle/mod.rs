//! Reads the reference values of `data/dppo.json`.

use std::path::Path;

use serde_json::Value;

/// The whole file.
pub(crate) fn load() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dppo.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The cases of one kind.
pub(crate) fn cases<'a>(oracle: &'a Value, kind: &str) -> &'a [Value] {
    oracle[kind].as_array().unwrap()
}

/// A number, or the name of what is none.
pub(crate) fn number(value: &Value) -> f64 {
    match value {
        Value::String(name) if name == "nan" => f64::NAN,
        Value::String(name) if name == "-inf" => f64::NEG_INFINITY,
        Value::String(name) if name == "inf" => f64::INFINITY,
        other => other.as_f64().unwrap(),
    }
}

/// A list of numbers.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// A table of numbers, row after row.
pub(crate) fn flat(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().flat_map(numbers).collect()
}

/// A table of 0 and 1, row after row.
pub(crate) fn flags(value: &Value) -> Vec<bool> {
    flat(value).into_iter().map(|flag| flag > 0.5).collect()
}
