//! Whether an agent saw what it must not see.

use std::collections::BTreeSet;

use tadpole_scenarios::repository::{Entry, Tree};

use super::Hidden;
use crate::harness::Exchange;

/// Shorter lines say too little to be evidence.
const TELLING_CHARS: usize = 12;

/// Whether an observation shows a line that only the hidden tests hold: not the repository, not the statement, and nothing
/// that the agent wrote itself.
pub fn leaked(hidden: &Hidden<'_>, statement: &str, transcript: &[Exchange]) -> bool {
    let known = lines(hidden.base);
    let secret: Vec<String> = lines(hidden.tests)
        .into_iter()
        .filter(|line| {
            line.chars().count() >= TELLING_CHARS && !known.contains(line) && !statement.contains(line)
        })
        .collect();
    let mut written = String::new();
    transcript.iter().any(|exchange| {
        written.push_str(&unescaped(&exchange.output));
        let seen = |line: &str| exchange.observations.iter().any(|observation| observation.contains(line));
        secret.iter().any(|line| seen(line) && !written.contains(line.as_str()))
    })
}

/// Trimmed lines of every file.
fn lines(tree: &Tree) -> BTreeSet<String> {
    let texts = tree.iter().filter_map(|(_, entry)| match entry {
        Entry::File { bytes, .. } => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    });
    texts.flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()).collect()
}

/// A turn as text, its JSON escapes of quotes, backslashes and line breaks undone.
fn unescaped(output: &str) -> String {
    let mut text = String::with_capacity(output.len());
    let mut characters = output.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, observation: &str, expected: bool) {
        let mut base = Tree::new();
        base.insert_file("tests/test_a.py", "def test_1():\n    assert twice(1) == 2\n").unwrap();
        let mut tests = Tree::new();
        let text = "def test_1():\n    assert twice(1) == 2\n    assert twice(\"ab\") == \"abab\"\n    assert twice(9) == 18\n";
        tests.insert_file("tests/test_a.py", text).unwrap();
        let gold = Tree::new();
        let hidden = Hidden { base: &base, tests: &tests, gold: &gold, fail_to_pass: &[], pass_to_pass: &[] };
        let transcript = [Exchange { output: output.to_owned(), observations: vec![observation.to_owned()] }];
        assert_eq!(
            leaked(&hidden, "See: assert twice(9) == 18", &transcript),
            expected,
            "{output} {observation}"
        );
    }

    #[test]
    fn seeing_a_hidden_line_is_a_leak() {
        check("cat", "3.     assert twice(\"ab\") == \"abab\"", true);
    }

    #[test]
    fn what_the_repository_the_statement_or_the_agent_says_is_none() {
        check("cat", "assert twice(1) == 2", false);
        check("cat", "assert twice(9) == 18", false);
        check("echo 'assert twice(\\\"ab\\\") == \\\"abab\\\"'", "assert twice(\"ab\") == \"abab\"", false);
    }
}
