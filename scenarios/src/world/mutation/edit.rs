//! Replacements of text, and the mutants that they make.

use std::collections::BTreeSet;

use super::{Mutant, Operator};

/// One replacement; ordered by place first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) operator: Operator,
    pub(super) text: String,
}

/// One mutant for each edit; of edits with the same result, the first.
pub(super) fn apply_each(source: &str, edits: Vec<Edit>) -> Vec<Mutant> {
    let mut seen = BTreeSet::from([source.to_owned()]);
    let mut mutants = Vec::new();
    for mut edit in edits {
        keep_apart(source, &mut edit);
        let mutated = format!("{}{}{}", &source[..edit.start], edit.text, &source[edit.end..]);
        if seen.insert(mutated.clone()) {
            mutants.push(mutant(source, &edit, mutated));
        }
    }
    mutants
}

/// Adds a blank where a word put in would run into the word beside it: `return-1` without its minus.
fn keep_apart(source: &str, edit: &mut Edit) {
    let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if in_word(source[..edit.start].chars().next_back()) && in_word(edit.text.chars().next()) {
        edit.text.insert(0, ' ');
    }
    if in_word(source[edit.end..].chars().next()) && in_word(edit.text.chars().next_back()) {
        edit.text.push(' ');
    }
}

fn mutant(source: &str, edit: &Edit, mutated: String) -> Mutant {
    let line_start = start_of_line(source, edit.start);
    let before = source[line_start..].lines().next().unwrap_or_default().trim().to_owned();
    let lines_left_out = edit.text.is_empty() && edit.start == line_start;
    let after = mutated[line_start..].lines().next().unwrap_or_default().trim().to_owned();
    let previous = source[..line_start].lines().rev().map(str::trim).find(|line| !line.is_empty());
    let removed = source[edit.start..edit.end].trim();
    let description = if edit.text.is_empty() {
        format!("`{removed}` was left out")
    } else if removed.is_empty() {
        format!("`{}` was added", edit.text.trim())
    } else {
        format!("`{removed}` became `{}`", edit.text.trim())
    };
    Mutant {
        operator: edit.operator,
        description,
        start: edit.start as u32,
        end: edit.end as u32,
        line: source[..edit.start].matches('\n').count() as u32 + 1,
        before,
        after: if lines_left_out { None } else { Some(after) },
        previous: previous.unwrap_or_default().to_owned(),
        source: mutated,
    }
}

/// First byte of the line that holds byte `at`.
pub(super) fn start_of_line(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The whole lines that `start..end` fills alone, with the last newline; `None` where other code shares them.
pub(super) fn whole_lines(source: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let first = start_of_line(source, start);
    let last = source[end..].find('\n').map_or(source.len(), |newline| end + newline + 1);
    let tail = source[end..last].trim();
    let alone = source[first..start].trim().is_empty() && (tail.is_empty() || tail.starts_with('#'));
    alone.then_some((first, last))
}
