//! How a run of a program fails: with a Python exception, or by being stopped.

use std::fmt::{self, Write as _};

/// Why a program was stopped from outside. Programs cannot catch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// It used all instructions of its budget.
    OutOfFuel,
    /// It held, or asked for, more memory than its budget.
    OutOfMemory,
    /// It ran longer than the wall-clock watchdog allows, in a loop that counts no instructions.
    Watchdog,
    /// The interpreter itself failed.
    Aborted,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfFuel => "stopped: instruction limit exceeded",
            Self::OutOfMemory => "stopped: memory limit exceeded",
            Self::Watchdog => "stopped: time limit exceeded",
            Self::Aborted => "stopped: the interpreter failed",
        })
    }
}

/// One line of a traceback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The file, relative to the root of the sources.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The function, or `<module>`.
    pub function: String,
    /// The source line, trimmed; empty if there is none.
    pub text: String,
}

/// An exception that nothing caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The name of its type, as a traceback prints it.
    pub kind: String,
    /// Its message; empty if it has none.
    pub message: String,
    /// The calls that led to it, outermost first.
    pub frames: Vec<Frame>,
}

impl Raised {
    /// `ValueError: message`, as the last line of a traceback.
    pub fn summary(&self) -> String {
        if self.message.is_empty() { self.kind.clone() } else { format!("{}: {}", self.kind, self.message) }
    }

    /// The whole traceback as Python prints it (without marks under the source line), with a final newline.
    pub fn traceback(&self) -> String {
        let mut text = String::new();
        if self.kind == "SyntaxError" && self.frames.len() == 1 {
            let frame = &self.frames[0];
            push_line(&mut text, format_args!("  File \"{}\", line {}", frame.path, frame.line));
            if !frame.text.is_empty() {
                push_line(&mut text, format_args!("    {}", frame.text));
            }
        } else if !self.frames.is_empty() {
            text.push_str("Traceback (most recent call last):\n");
            self.push_frames(&mut text);
        }
        push_line(&mut text, format_args!("{}", self.summary()));
        text
    }

    fn push_frames(&self, text: &mut String) {
        // Like Python: of a run of equal frames three are shown.
        const SHOWN: usize = 3;
        let mut at = 0;
        while at < self.frames.len() {
            let frame = &self.frames[at];
            let run = self.frames[at..].iter().take_while(|other| *other == frame).count();
            for _ in 0..run.min(SHOWN) {
                push_line(
                    text,
                    format_args!("  File \"{}\", line {}, in {}", frame.path, frame.line, frame.function),
                );
                if !frame.text.is_empty() {
                    push_line(text, format_args!("    {}", frame.text));
                }
            }
            if run > SHOWN {
                push_line(text, format_args!("  [Previous line repeated {} more times]", run - SHOWN));
            }
            at += run;
        }
    }
}

fn push_line(text: &mut String, line: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    text.write_fmt(line).ok();
    text.push('\n');
}

/// How a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An exception reached the top.
    Raised(Box<Raised>),
    /// The program was stopped.
    Stopped(Stop),
}

impl Fault {
    /// An exception with no traceback.
    pub fn raised(kind: &str, message: impl Into<String>) -> Self {
        Self::Raised(Box::new(Raised { kind: kind.to_owned(), message: message.into(), frames: Vec::new() }))
    }

    /// One line that says what happened.
    pub fn summary(&self) -> String {
        match self {
            Self::Raised(raised) => raised.summary(),
            Self::Stopped(stop) => stop.to_string(),
        }
    }

    /// The traceback of an exception, or the line that says why the program was stopped; with a final newline.
    pub fn report(&self) -> String {
        match self {
            Self::Raised(raised) => raised.traceback(),
            Self::Stopped(stop) => format!("{stop}\n"),
        }
    }
}
