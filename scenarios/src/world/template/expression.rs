//! Values of a template's parameters, integer expressions over them, and text with both filled in.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What a parameter or name was drawn as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A number of the specification.
    Int(i64),
    /// A name, an operator, a word.
    Text(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Values by name; a choice binds one `parameter.field` for each field.
pub(crate) type Bindings = BTreeMap<String, Value>;

/// An integer, or an expression over integers and parameters: `limit+1`, `a*b+1`, from left to right.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Expression {
    Literal(i64),
    Text(String),
}

impl Expression {
    /// Its value; the error says which part has none.
    pub(crate) fn evaluate(&self, bindings: &Bindings) -> Result<i64, String> {
        match self {
            Self::Literal(value) => Ok(*value),
            Self::Text(text) => evaluate(text, bindings),
        }
    }
}

fn evaluate(text: &str, bindings: &Bindings) -> Result<i64, String> {
    let (mut total, mut operator, mut rest) = (0_i64, '+', text);
    loop {
        let end = rest.find(['+', '-', '*']).unwrap_or(rest.len());
        let (term, after) = rest.split_at(end);
        let value = match (term.parse::<i64>(), bindings.get(term)) {
            (Ok(value), _) => Ok(value),
            (_, Some(Value::Int(value))) => Ok(*value),
            _ => Err(format!("{term:?} in {text:?} is no number or parameter")),
        }?;
        let combined = match operator {
            '+' => total.checked_add(value),
            '-' => total.checked_sub(value),
            _ => total.checked_mul(value),
        };
        total = combined.ok_or_else(|| format!("{text:?} overflows"))?;
        let mut letters = after.chars();
        let Some(next) = letters.next() else { return Ok(total) };
        (operator, rest) = (next, letters.as_str());
    }
}

/// Fills in `$name`, `$name.field` and `${expression}`. A dot that follows a name without such a field stays.
pub(crate) fn fill(text: &str, bindings: &Bindings) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(braced) = rest.strip_prefix('{') {
            let end = braced.find('}').ok_or_else(|| format!("unclosed brace in {text:?}"))?;
            let inner = &braced[..end];
            match bindings.get(inner) {
                Some(value) => filled.push_str(&value.to_string()),
                None => filled.push_str(&evaluate(inner, bindings)?.to_string()),
            }
            rest = &braced[end + 1..];
        } else {
            let (value, length) = longest(rest, bindings)
                .ok_or_else(|| format!("nothing is called {:?} in {text:?}", &rest[..name_length(rest)]))?;
            filled.push_str(&value.to_string());
            rest = &rest[length..];
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The value at the start of `text`, by `name.field` where there is one and else by `name`, and how long that was.
fn longest<'a>(text: &str, bindings: &'a Bindings) -> Option<(&'a Value, usize)> {
    let name = name_length(text);
    let field = text[name..].strip_prefix('.').map_or(0, name_length);
    let dotted = name + 1 + field;
    let with_field = if field > 0 { bindings.get(&text[..dotted]) } else { None };
    with_field.map(|value| (value, dotted)).or_else(|| Some((bindings.get(&text[..name])?, name)))
}

fn name_length(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bindings() -> Bindings {
        [("n", Value::Int(4)), ("cmp.op", Value::Text("<=".into())), ("xs", Value::Text("rows".into()))]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    #[test]
    fn values_fields_and_expressions_are_filled_in() {
        let filled = fill("$xs.append(${n+1}) $cmp.op $n. ${n*2-n}", &bindings());
        assert_eq!(filled.as_deref(), Ok("rows.append(5) <= 4. 4"));
    }

    #[test]
    fn what_has_no_value_is_an_error_that_names_it() {
        assert!(fill("$what", &bindings()).unwrap_err().contains("what"));
        assert!(fill("${n+xs}", &bindings()).unwrap_err().contains("xs"));
        assert!(fill("${n", &bindings()).unwrap_err().contains("unclosed"));
        assert!(fill("$cmp", &bindings()).is_err());
    }
}
