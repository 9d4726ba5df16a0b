//! Text of a test run, after pytest's: short, and the same on every machine.

use std::fmt::Write as _;

use crate::interpreter::{Fault, Frame, Raised};
use crate::sandbox::{TestReport, TestStatus};

use super::suite::{Failure, message_of};

/// The failures that are shown with their assertion; of the others only the id.
const DETAILED_MAX: usize = 10;

/// The frames below the test that are shown.
const FRAMES_MAX: usize = 3;

/// The characters of a failing test's own output that are shown.
const PRINTED_MAX: usize = 1_000;

/// The block of each failure.
pub(super) fn failures(failures: &[Failure]) -> String {
    let mut text = String::new();
    for (at, failure) in failures.iter().enumerate() {
        let kind = if failure.is_error { "ERROR" } else { "FAILED" };
        push(&mut text, format_args!("{kind} {}", failure.id));
        if at < DETAILED_MAX {
            detail(&mut text, failure);
        }
    }
    text
}

fn detail(text: &mut String, failure: &Failure) {
    if let Fault::Raised(raised) = &failure.fault {
        frames(text, raised);
    }
    for line in reason(&failure.fault).lines() {
        push(text, format_args!("E   {line}"));
    }
    let printed = String::from_utf8_lossy(&failure.output);
    if !printed.is_empty() {
        push(text, format_args!("Captured stdout:"));
        let shown: String = printed.chars().take(PRINTED_MAX).collect();
        push(text, format_args!("{}", shown.trim_end_matches('\n')));
    }
}

/// The line of the test itself, then the innermost calls below it.
fn frames(text: &mut String, raised: &Raised) {
    let Some((first, below)) = raised.frames.split_first() else { return };
    if raised.kind == "SyntaxError" {
        push(text, format_args!("    {}: {}", place(first), first.text));
        return;
    }
    push(text, format_args!(">   {}", first.text));
    let hidden = below.len().saturating_sub(FRAMES_MAX);
    if hidden > 0 {
        push(text, format_args!("    ... {hidden} calls"));
    }
    for frame in &below[hidden..] {
        push(text, format_args!("    {}: {}", place(frame), frame.text));
    }
}

fn place(frame: &Frame) -> String {
    format!("{}:{}", frame.path, frame.line)
}

fn reason(fault: &Fault) -> String {
    match fault {
        Fault::Raised(raised) if raised.kind == "AssertionError" && raised.message.is_empty() => {
            "assert False".to_owned()
        }
        other => message_of(other),
    }
}

/// One line for each test, for `-v`.
pub(super) fn listing(report: &TestReport) -> String {
    let mut text = String::new();
    for (id, status) in &report.tests {
        let word = match status {
            TestStatus::Passed => "PASSED",
            TestStatus::Failed { .. } => "FAILED",
            TestStatus::Skipped => "SKIPPED",
            TestStatus::Error { .. } => "ERROR",
        };
        push(&mut text, format_args!("{id} {word}"));
    }
    text
}

/// The last line: `2 failed, 4 passed`.
pub(super) fn summary(report: &TestReport, deselected: usize) -> String {
    let count =
        |takes: fn(&TestStatus) -> bool| report.tests.iter().filter(|(_, status)| takes(status)).count();
    let counts = [
        (count(|status| matches!(status, TestStatus::Failed { .. })), "failed"),
        (count(|status| matches!(status, TestStatus::Passed)), "passed"),
        (count(|status| matches!(status, TestStatus::Skipped)), "skipped"),
        (deselected, "deselected"),
        (count(|status| matches!(status, TestStatus::Error { .. })), "error"),
    ];
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if let Some(last) = parts.last_mut()
        && counts[4].0 > 1
    {
        last.push('s');
    }
    if parts.is_empty() { "no tests ran\n".to_owned() } else { format!("{}\n", parts.join(", ")) }
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).ok();
    text.push('\n');
}
