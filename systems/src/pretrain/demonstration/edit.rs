//! What is to be changed in a file, as edits that a tool can make.

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// A replacement of text that occurs once in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
    /// Line of the file, from 0, at which it starts.
    pub(super) line: usize,
}

impl Edit {
    /// What takes it back.
    pub(super) fn reversed(&self) -> Self {
        Self { old: self.new.clone(), new: self.old.clone(), line: self.line }
    }

    /// The last line that it touches, from 0.
    pub(super) fn line_last(&self) -> usize {
        self.line + self.old.matches('\n').count()
    }
}

/// Name of the function that holds `line` (from 0) of a source.
pub(super) fn function_around(source: &str, line: usize) -> Option<&str> {
    let lines: Vec<&str> = source.lines().take(line + 1).collect();
    lines.into_iter().rev().find_map(|line| line.strip_prefix("def ")?.split('(').next())
}

/// The edits that turn `now` into `gold`, from the top. Each is made of whole lines less their first indentation, with as many
/// lines in front as it takes to be unique in `now`.
pub(super) fn edits(now: &str, gold: &str) -> Vec<Edit> {
    let (old, new): (Vec<&str>, Vec<&str>) = (now.lines().collect(), gold.lines().collect());
    capture_diff_slices(Algorithm::Myers, &old, &new)
        .into_iter()
        .filter(|hunk| hunk.tag() != DiffTag::Equal)
        .map(|hunk| {
            let (mut from, to) = (hunk.old_range().start, hunk.old_range().end);
            let fixed = &new[hunk.new_range()];
            // An insertion is told by the line it follows.
            if from == to && from > 0 {
                from -= 1;
            }
            let mut lead = from..hunk.old_range().start;
            loop {
                let before = old[from..to].join("\n");
                let after = [&old[lead.clone()], fixed].concat().join("\n");
                let (before, after) = unindented(&before, &after);
                if from == 0 || now.matches(before.as_str()).count() == 1 {
                    return Edit { old: before, new: after, line: from };
                }
                from -= 1;
                lead = from..lead.end;
            }
        })
        .collect()
}

/// Both texts less the indentation that their first lines share.
fn unindented(before: &str, after: &str) -> (String, String) {
    let indent = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let shared = indent(before).min(indent(after));
    (before[shared..].to_owned(), after[shared..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(now: &str, gold: &str) -> Vec<Edit> {
        let edits = edits(now, gold);
        let mut text = now.to_owned();
        for edit in &edits {
            assert_eq!(text.matches(&edit.old).count(), 1, "{edit:?} in {text:?}");
            text = text.replacen(&edit.old, &edit.new, 1);
        }
        assert_eq!(text, gold);
        edits
    }

    #[test]
    fn a_changed_line_is_one_short_edit() {
        let edits = check("def f(x):\n    return x + 1\n", "def f(x):\n    return x - 1\n");
        assert_eq!(edits, [Edit { old: "return x + 1".into(), new: "return x - 1".into(), line: 1 }]);
    }

    #[test]
    fn a_dropped_line_comes_back_behind_the_one_before_it() {
        let edits = check("a = 1\nc = 3\n", "a = 1\n    b = 2\nc = 3\n");
        assert_eq!(edits[0].old, "a = 1");
        assert_eq!(edits[0].new, "a = 1\n    b = 2");
    }

    #[test]
    fn a_line_that_stands_twice_takes_its_predecessor_along() {
        let now = "def f(x):\n    return x\n\ndef g(y):\n    return x\n";
        let edits = check(now, "def f(x):\n    return x\n\ndef g(y):\n    return y\n");
        assert_eq!(edits[0].old, "def g(y):\n    return x");
    }

    #[test]
    fn several_changes_are_several_edits() {
        assert_eq!(check("a\nb\nc\nd\n", "A\nb\nc\nD\n").len(), 2);
    }
}
