//! What is wrong with a result, in words.

use super::{Example, Outcome};

/// What a call does wrong, as the rest of a sentence about it: `gives a number that is too low`.
pub(super) fn symptom(example: &Example) -> String {
    let got = match &example.outcome {
        Outcome::Endless => return "never ends".to_owned(),
        Outcome::Error(error) => return format!("fails with {}", error_name(error)),
        Outcome::Value(got) => got.as_str(),
    };
    let expected = example.expected.as_str();
    match (kind(expected), kind(got)) {
        (_, Kind::Nothing) => "gives nothing".to_owned(),
        (Kind::Number(right), Kind::Number(wrong)) => {
            format!("gives a number that is too {}", if wrong < right { "low" } else { "high" })
        }
        (Kind::Truth, Kind::Truth) => format!("gives {got} where it should give {expected}"),
        (Kind::Text, Kind::Text) => match got.chars().count().cmp(&expected.chars().count()) {
            std::cmp::Ordering::Less => "gives a text that is too short".to_owned(),
            std::cmp::Ordering::Equal => "gives a text with wrong letters".to_owned(),
            std::cmp::Ordering::Greater => "gives a text that is too long".to_owned(),
        },
        (Kind::Group, Kind::Group) => match elements(got).cmp(&elements(expected)) {
            std::cmp::Ordering::Less => "leaves out values".to_owned(),
            std::cmp::Ordering::Equal => "gives wrong values".to_owned(),
            std::cmp::Ordering::Greater => "gives too many values".to_owned(),
        },
        _ => "gives a result of the wrong kind".to_owned(),
    }
}

/// The type of an error alone: what stands before its message.
pub(super) fn error_name(error: &str) -> &str {
    error.split([':', '\n']).next().unwrap_or_default().trim()
}

enum Kind {
    Nothing,
    Number(i128),
    Truth,
    Text,
    Group,
    Other,
}

fn kind(literal: &str) -> Kind {
    match literal {
        "None" => return Kind::Nothing,
        "True" | "False" => return Kind::Truth,
        _ => {}
    }
    if let Ok(number) = literal.parse() {
        return Kind::Number(number);
    }
    match literal.chars().next() {
        Some('\'' | '"') => Kind::Text,
        Some('[' | '(' | '{') => Kind::Group,
        _ => Kind::Other,
    }
}

/// Number of elements of a list, tuple or dictionary literal.
fn elements(literal: &str) -> usize {
    let (mut depth, mut commas, mut filled) = (0_usize, 0, false);
    let mut quote = None;
    let mut escaped = false;
    for c in literal.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None => match c {
                '[' | '(' | '{' => depth += 1,
                ']' | ')' | '}' => depth = depth.saturating_sub(1),
                ',' if depth == 1 => commas += 1,
                '\'' | '"' => quote = Some(c),
                _ => {}
            },
        }
        filled |= depth >= 1 && !c.is_whitespace() && !(depth == 1 && matches!(c, '[' | '(' | '{' | ','));
    }
    // A tuple of one element ends with a comma.
    let trailing = literal.trim_end_matches([')', ' ']).ends_with(',');
    if filled { commas + usize::from(!trailing) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: &str, outcome: Outcome, words: &str) {
        let example = Example { call: "f()".into(), expected: expected.into(), outcome };
        assert_eq!(symptom(&example), words, "{example:?}");
    }

    #[test]
    fn symptoms_say_how_results_differ() {
        let value = |text: &str| Outcome::Value(text.to_owned());
        check("3", value("2"), "gives a number that is too low");
        check("-3", value("2"), "gives a number that is too high");
        check("True", value("False"), "gives False where it should give True");
        check("'ab'", value("'a'"), "gives a text that is too short");
        check("'ab'", value("'ac'"), "gives a text with wrong letters");
        check("[]", value("[1]"), "gives too many values");
        check("[1, [2, 3]]", value("[1]"), "leaves out values");
        check("[',', 2]", value("[1, 2]"), "gives wrong values");
        check("{1: 2}", value("{1: 2, 3: 4}"), "gives too many values");
        check("(1,)", value("(1, 2)"), "gives too many values");
        check("[[]]", value("[]"), "leaves out values");
        check("1", value("None"), "gives nothing");
        check("1", value("'1'"), "gives a result of the wrong kind");
        check("1", Outcome::Error("IndexError: list index out of range".into()), "fails with IndexError");
        check("1", Outcome::Endless, "never ends");
    }
}
