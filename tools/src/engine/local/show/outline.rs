//! Values as an indented outline: what JSON says, for people.

use serde_json::Value;

/// Columns that a line of numbers fills.
const WIDTH: usize = 100;

/// One field a line; lists of plain values wrapped.
pub(super) fn outline(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text
}

fn write(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                write_field(name, field, depth, out);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                write_field(&format!("[{index}]"), item, depth, out);
            }
        }
        plain => {
            indent(depth, out);
            out.push_str(&spelled(plain));
            out.push('\n');
        }
    }
}

fn write_field(name: &str, field: &Value, depth: usize, out: &mut String) {
    indent(depth, out);
    out.push_str(name);
    out.push(':');
    match field {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            write(field, depth + 1, out);
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(is_plain) => {
            write_list(items, depth + 1, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            write(field, depth + 1, out);
        }
        Value::String(text) if text.contains('\n') => {
            out.push('\n');
            for line in text.lines() {
                indent(depth + 1, out);
                out.push_str("| ");
                out.push_str(line);
                out.push('\n');
            }
        }
        plain => {
            out.push(' ');
            out.push_str(&spelled(plain));
            out.push('\n');
        }
    }
}

/// Plain values, separated by spaces, as many a line as fit; behind the name where they fit there.
fn write_list(items: &[Value], depth: usize, out: &mut String) {
    let words: Vec<String> = items.iter().map(spelled).collect();
    let whole = words.join(" ");
    if whole.len() <= WIDTH / 2 {
        out.push(' ');
        out.push_str(&whole);
        out.push('\n');
        return;
    }
    let mut line = 0;
    for word in words {
        if line == 0 || line + word.len() >= WIDTH {
            out.push('\n');
            indent(depth, out);
            line = 2 * depth;
        } else {
            out.push(' ');
        }
        out.push_str(&word);
        line += word.len() + 1;
    }
    out.push('\n');
}

fn is_plain(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && !text.contains(char::is_control) => text.clone(),
        Value::Array(_) => "none".to_owned(),
        Value::Object(_) => "empty".to_owned(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_outline_keeps_fields_apart_and_lists_together() {
        let numbers: Vec<u32> = (1_000..1_030).collect();
        let value = json!({
            "a": 1, "b": null, "c": [], "d": ["x", "y"], "e": {"f": "one\ntwo", "g": [{"h": true}]}, "i": numbers,
        });
        insta::assert_snapshot!(outline(&value));
    }
}
