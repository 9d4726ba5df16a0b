//! Scenario files that were changed.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseError;
use tadpole_scenarios::assets;
use tadpole_scenarios::schema::{Override, PretrainScenario, Scenario};

/// Values that are wrong somewhere, and right somewhere else.
const VALUES: [&str; 24] = [
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "nan",
    "-inf",
    "0.5",
    "true",
    "\"\"",
    "\"p = 0.5\"",
    "\"0 < p <= \"",
    "\"\\u0000\"",
    "[]",
    "[0, 0]",
    "[1, -1]",
    "{}",
    "{ a = 1 }",
    "1979-05-27",
    "\"embedded\"",
    "\"process\"",
    "'''\n'''",
    "\"é\u{1F438}\"",
];

/// One change to a text.
#[derive(Clone, Debug)]
enum Change {
    Value { line: Index, value: &'static str },
    Drop { line: Index },
    Repeat { line: Index, to: Index },
    Insert { at: Index, text: String },
    Cut { at: Index },
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<Index>(), select(VALUES.as_slice())).prop_map(|(line, value)| Change::Value { line, value }),
        1 => any::<Index>().prop_map(|line| Change::Drop { line }),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(line, to)| Change::Repeat { line, to }),
        1 => (any::<Index>(), "[\\PC\n\"'=\\[\\]{}.#]{1,6}").prop_map(|(at, text)| Change::Insert { at, text }),
        1 => any::<Index>().prop_map(|at| Change::Cut { at }),
    ]
}

/// Fuzzes the parser with changed scenarios of those that ship, and all of their keys.
pub(super) fn fuzz(time: Duration, seed: u64) -> u64 {
    let mut texts: Vec<String> = assets::SCENARIOS.iter().map(|file| file.text.to_owned()).collect();
    texts.push(Scenario::print_defaults());
    texts.push(Scenario::default().to_toml());
    texts.push(assets::PRETRAIN.text.to_owned());
    let overridden = prop::option::of((
        "[a-z_.]{1,12}|exec.threads|curriculum.batch|update.clip",
        select(VALUES.as_slice()),
    ));
    let strategy = (select(texts), vec(change(), 0..5), overridden);
    super::until(time, seed, &strategy, |(text, changes, overridden)| {
        let text = changes.iter().fold(text, |text, change| changed(&text, change));
        judge(&text, overridden.map(|(key, value)| Override::new(key, value.to_owned())))
    })
}

/// What is accepted is accepted again as resolved, and is the same; what is refused says why.
fn judge(text: &str, overridden: Option<Override>) -> Result<(), TestCaseError> {
    match Scenario::parse_with(text, "fuzzed.toml", overridden.as_slice()) {
        Ok(scenario) => {
            let resolved = Scenario::parse(&scenario.to_toml(), "resolved");
            prop_assert_eq!(resolved.map_err(|error| TestCaseError::fail(error.to_string()))?, scenario);
        }
        Err(error) => prop_assert!(!error.to_string().is_empty()),
    }
    if let Err(error) = PretrainScenario::parse(text, "fuzzed.toml") {
        prop_assert!(!error.to_string().is_empty());
    }
    Ok(())
}

fn changed(text: &str, change: &Change) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    match change {
        Change::Value { line, value } => {
            let line = line.get_mut(&mut lines);
            if let Some((key, _)) = line.split_once('=') {
                *line = format!("{key}= {value}");
            }
        }
        Change::Drop { line } => drop(lines.remove(line.index(lines.len()))),
        Change::Repeat { line, to } => {
            let line = line.get(&lines).clone();
            lines.insert(to.index(lines.len() + 1), line);
        }
        Change::Insert { at, text: inserted } => {
            let at = boundary(text, at.index(text.len() + 1));
            return format!("{}{inserted}{}", &text[..at], &text[at..]);
        }
        Change::Cut { at } => return text[..boundary(text, at.index(text.len() + 1))].to_owned(),
    }
    lines.join("\n") + "\n"
}

/// The last end of a character at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
