//! JSON as policies write it: reading that forgives, writing in one spelling.

use serde_json::{Deserializer, Value};

/// `text` escaped to stand between the quotes of a JSON string; characters beyond ASCII stay as they are.
pub(super) fn escape(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The first JSON value of `text` and how many bytes it took. Raw line breaks, tabs and other control characters inside
/// strings, which JSON forbids and models write, are read as meant.
pub(super) fn first_value(text: &str) -> Result<(Value, usize), String> {
    match strict(text) {
        Ok(found) => Ok(found),
        Err(fault) => match mend(text) {
            Some((mended, kept)) => {
                let (value, taken) = strict(&mended).map_err(|_| fault)?;
                Ok((value, kept.get(taken).copied().unwrap_or(text.len())))
            }
            None => Err(fault),
        },
    }
}

fn strict(text: &str) -> Result<(Value, usize), String> {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok((value, values.byte_offset())),
        Some(Err(fault)) => Err(fault.to_string()),
        None => Err("no JSON value".to_owned()),
    }
}

/// `text` with control characters inside strings escaped, and for each byte of the result the offset in `text` that it
/// came from. `None` where there was nothing to mend.
fn mend(text: &str) -> Option<(String, Vec<usize>)> {
    let mut mended = String::with_capacity(text.len() + 16);
    let mut origin = Vec::with_capacity(text.len() + 16);
    let (mut inside, mut escaped, mut changed) = (false, false, false);
    for (at, character) in text.char_indices() {
        if inside && character.is_ascii_control() {
            changed = true;
            mended.push_str(&escape(character.encode_utf8(&mut [0; 4])));
        } else {
            mended.push(character);
        }
        origin.resize(mended.len(), at);
        inside ^= character == '"' && !escaped;
        escaped = inside && character == '\\' && !escaped;
    }
    changed.then_some((mended, origin))
}

/// The value of the first `"name": "..."` in text that is not JSON, so that a broken call still names its tool.
pub(super) fn scavenge_name(text: &str) -> Option<String> {
    let after =
        text.split_once("\"name\"")?.1.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let name = after.split_once('"')?.0;
    (!name.is_empty() && name.len() <= 64).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn raw_control_characters_in_strings_are_read_as_meant() {
        let text = "{\"a\": \"x\n\ty\", \"b\": \"\\n\"} tail";
        let (value, taken) = first_value(text).unwrap();
        assert_eq!(value, json!({"a": "x\n\ty", "b": "\n"}));
        assert_eq!(&text[taken..], " tail");
    }

    #[test]
    fn a_value_that_is_cut_is_a_fault() {
        assert!(first_value("{\"a\": \"x").is_err());
        assert!(first_value("").is_err());
        assert!(first_value("{\"a\": \"x\n").is_err());
    }

    #[test]
    fn a_broken_call_still_names_its_tool() {
        assert_eq!(scavenge_name("{\"name\": \"Read\", \"arguments\": {").as_deref(), Some("Read"));
        assert_eq!(scavenge_name("{\"nam\": 1").as_deref(), None);
        assert_eq!(scavenge_name("\"name\": \"").as_deref(), None);
    }

    #[test]
    fn escaping_leaves_other_scripts_alone() {
        assert_eq!(escape("\"é\u{7}\n"), "\\\"é\\u0007\\n");
    }
}
