//! What is wrong with a scenario: where, which key, why, and what to do.

use std::fmt;

use super::document::{Override, Place};

/// One thing that is wrong, before its place is resolved to a line.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    /// Dotted key; empty where the fault lies in the document's syntax.
    pub(crate) key: String,
    pub(crate) reason: String,
    pub(crate) help: String,
}

/// Everything wrong with a scenario. Nothing runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The complaints, in the order of the file; never empty.
    pub complaints: Vec<Complaint>,
}

/// One thing that is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Where the key was given.
    pub location: Location,
    /// Dotted key; empty where the fault lies in the document's syntax.
    pub key: String,
    /// What is wrong.
    pub reason: String,
    /// What to do about it; may be empty.
    pub help: String,
}

/// Where a key was given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// The file as a whole: the key was not given, so that its default is at odds with another key.
    File {
        /// The file.
        file: String,
    },
    /// A line of the file.
    Line {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// How many characters are meant; at least 1.
        width: usize,
        /// The line's text.
        text: String,
    },
    /// An override, as given.
    Override {
        /// `key=value`.
        argument: String,
    },
}

impl Location {
    fn resolve(place: &Place, file: &str, text: &str, overrides: &[Override]) -> Self {
        match place {
            Place::Nowhere => Self::File { file: file.to_owned() },
            Place::Override(index) => {
                let argument = overrides
                    .get(*index)
                    .map(|given| format!("{}={}", given.key, given.value))
                    .unwrap_or_default();
                Self::Override { argument }
            }
            Place::File(span) => {
                let start = floor_boundary(text, span.start);
                let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
                let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
                let stop = floor_boundary(text, span.end).clamp(start, end);
                Self::Line {
                    file: file.to_owned(),
                    line: text[..start].matches('\n').count() + 1,
                    column: text[begin..start].chars().count() + 1,
                    width: text[start..stop].chars().count().max(1),
                    text: text[begin..end].trim_end_matches('\r').to_owned(),
                }
            }
        }
    }
}

/// The nearest character boundary at or below `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0)
}

impl ScenarioError {
    pub(crate) fn new(faults: Vec<Fault>, file: &str, text: &str, overrides: &[Override]) -> Self {
        let complaint = |fault: Fault| Complaint {
            location: Location::resolve(&fault.place, file, text, overrides),
            key: fault.key,
            reason: fault.reason,
            help: fault.help,
        };
        let mut complaints: Vec<Complaint> = faults.into_iter().map(complaint).collect();
        let order = |complaint: &Complaint| match &complaint.location {
            Location::Line { line, column, .. } => (0, *line, *column),
            Location::Override { .. } => (1, 0, 0),
            Location::File { .. } => (2, 0, 0),
        };
        complaints.sort_by_key(order);
        Self { complaints }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, complaint) in self.complaints.iter().enumerate() {
            if index > 0 {
                out.write_str("\n")?;
            }
            complaint.fmt(out)?;
        }
        Ok(())
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Location::File { file } => write!(out, "{file}: ")?,
            Location::Line { file, line, column, .. } => write!(out, "{file}:{line}:{column}: ")?,
            Location::Override { argument } => write!(out, "--set {argument}: ")?,
        }
        if !self.key.is_empty() {
            write!(out, "{}: ", self.key)?;
        }
        out.write_str(&self.reason)?;
        if let Location::Line { line, column, width, text, .. } = &self.location {
            let number = line.to_string();
            let gutter = " ".repeat(number.len());
            // Tabs keep their width when the marker line repeats them.
            let indent: String =
                text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            write!(out, "\n {number} | {text}\n {gutter} | {indent}{}", "^".repeat(*width))?;
        }
        if !self.help.is_empty() {
            write!(out, "\n  help: {}", self.help)?;
        }
        Ok(())
    }
}

/// The name in `known` that `name` most likely meant, if any is near.
pub(crate) fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |candidate: &'a str| (distance(name, candidate), candidate);
    let limit = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(near)
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edit distance: insertions, deletions, substitutions, and swaps of neighbours.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![vec![0_usize; right.len() + 1]; left.len() + 1];
    for i in 0..=left.len() {
        for j in 0..=right.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let differs = usize::from(left[i - 1] != right[j - 1]);
                let edit = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + differs);
                let swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
                if swapped { edit.min(rows[i - 2][j - 2] + 1) } else { edit }
            };
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        assert_eq!(closest("batchs", ["batch", "budget"]), Some("batch"));
        assert_eq!(closest("bacth", ["batch", "budget"]), Some("batch"));
        assert_eq!(closest("frobnicate", ["batch", "budget"]), None);
    }
}
