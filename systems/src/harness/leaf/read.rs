//! Read: path line, then numbered lines.

use super::arguments::Arguments;
use super::files::Files;
use super::{Answer, cut};

const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Shows `limit` lines from `offset` (1-based) of a file, within `chars` characters.
pub(super) fn read(files: &Files, arguments: &Arguments<'_>, chars: usize) -> Answer {
    let path = arguments.file_path()?;
    let offset = arguments.count("offset")?.unwrap_or(1).max(1);
    let limit = arguments.count("limit")?.filter(|&limit| limit > 0).unwrap_or(usize::MAX);
    let text = String::from_utf8_lossy(files.read(path)?);
    let lines = lines(&text);
    let shown = files.shown(path)?;
    if offset > lines.len() && offset > 1 {
        return Err(format!("{shown} has {}; offset {offset} is past its end", counted(lines.len(), "line")));
    }
    let numbered =
        (1..).zip(&lines).skip(offset - 1).take(limit).map(|(number, line)| format!("\n{number}. {line}"));
    Ok(cut(shown + &numbered.collect::<String>(), chars))
}

/// Lines of `text`. Only a line feed ends a line, and a carriage return before it belongs to it: form feeds and their like
/// are characters of their line. A byte order mark is not shown.
fn lines(text: &str) -> Vec<&str> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// `1 line`, `3 lines`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
