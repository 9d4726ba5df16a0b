//! Changes of a repository, as a unified diff.

use std::fmt::Write as _;

use similar::TextDiff;
use tadpole_scenarios::repository::{Entry, Tree};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// What `change` does to `base`, file by file.
pub(super) fn unified(base: &Tree, change: &Tree) -> String {
    let mut text = String::new();
    for (path, entry) in change.iter() {
        let before = base.get(path);
        if before == Some(entry) {
            continue;
        }
        let (old, new) = (before.map(shown).unwrap_or_default(), shown(entry));
        let names = match (before, entry) {
            (None, _) => ("/dev/null".to_owned(), format!("b/{path}")),
            (_, Entry::Absent) => (format!("a/{path}"), "/dev/null".to_owned()),
            _ => (format!("a/{path}"), format!("b/{path}")),
        };
        let diff = TextDiff::from_lines(&old, &new);
        let diff = diff.unified_diff().context_radius(CONTEXT).header(&names.0, &names.1).to_string();
        if diff.is_empty() {
            // Writing to a string cannot fail.
            let _infallible = writeln!(text, "{path}: only its mode differs");
        } else {
            text.push_str(&diff);
        }
    }
    text
}

fn shown(entry: &Entry) -> String {
    match entry {
        Entry::File { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
        Entry::Link { target } => format!("-> {target}\n"),
        Entry::Absent => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_reads_as_a_patch() {
        let mut base = Tree::new();
        base.insert_file("a.py", "x = 1\ny = 2\n").unwrap();
        base.insert_file("gone.py", "z = 3\n").unwrap();
        let mut now = base.clone();
        now.insert_file("a.py", "x = 1\ny = 3\n").unwrap();
        now.insert_file("new.py", "n = 0\n").unwrap();
        now.remove("gone.py");
        let expected = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n\
            --- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-z = 3\n\
            --- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+n = 0\n";
        assert_eq!(unified(&base, &base.diff(&now)), expected);
        assert_eq!(unified(&base, &base), "");
    }
}
