//! Failures, rendered in one place: what is wrong, where, and what to do.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use tadpole_scenarios::schema::ScenarioError;

/// Why a command did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    kind: Kind,
    what: String,
    place: Option<String>,
    help: Option<String>,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The run or check failed: exit code 1.
    Failed,
    /// The command was asked for something that makes no sense: exit code 2.
    Usage,
    /// Nobody reads the output any more: quietly done.
    Closed,
}

impl Failure {
    /// The run or check failed.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self { kind: Kind::Failed, what: what.into(), place: None, help: None }
    }

    /// The command was asked for something that makes no sense.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, ..Self::failed(what) }
    }

    /// Where: a file, line, key, step or event.
    pub(crate) fn at(self, place: impl fmt::Display) -> Self {
        Self { place: Some(place.to_string()), ..self }
    }

    /// What to do about it.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// A file could not be read or written.
    pub(crate) fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        let help = match error.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::PermissionDenied => "check the permissions of the file and its directory",
            io::ErrorKind::StorageFull => "free some space",
            _ => "",
        };
        let failure = Self::failed(format!("cannot {doing}: {error}")).at(path.display());
        if help.is_empty() { failure } else { failure.help(help) }
    }

    /// What kind it is.
    #[cfg(test)]
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Prints it and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self.kind {
            Kind::Closed => return ExitCode::SUCCESS,
            Kind::Failed | Kind::Usage => tell(self),
        }
        ExitCode::from(if self.kind == Kind::Failed { 1 } else { 2 })
    }
}

/// A line for whoever looks on. Where standard error is closed or full nobody does, and there is nowhere to say so: what is
/// done goes on, and the exit code still tells how it ended.
pub(crate) fn tell(line: &dyn fmt::Display) {
    writeln!(io::stderr(), "{line}").ok();
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error: {}", self.what)?;
        if let Some(place) = &self.place {
            write!(out, "\n   at: {place}")?;
        }
        if let Some(help) = &self.help {
            write!(out, "\n help: {help}")?;
        }
        Ok(())
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::usage(format!("the scenario is refused\n{error}"))
    }
}

/// Output that failed; a closed pipe is no fault.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe { Kind::Closed } else { Kind::Failed };
        Self { kind, ..Self::failed(format!("cannot write the output: {error}")) }
    }
}

/// Prints what the argument parser has to say: help and version are no failures.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    match error.exit_code() {
        0 if printed.is_ok() => ExitCode::SUCCESS,
        0 => ExitCode::FAILURE,
        _ => ExitCode::from(2),
    }
}

#[cfg(test)]
mod tests {
    use tadpole_scenarios::schema::Scenario;

    use super::*;

    #[test]
    fn a_failure_says_what_where_and_what_to_do() {
        let failure = Failure::failed("the log is corrupt")
            .at("log/00000001.seg, byte 128")
            .help("run `tadpole salvage`");
        assert_eq!(
            failure.to_string(),
            "error: the log is corrupt\n   at: log/00000001.seg, byte 128\n help: run `tadpole salvage`"
        );
    }

    #[test]
    fn a_refused_scenario_shows_every_complaint_with_its_line() {
        let error =
            Scenario::parse("seed = 1\nsed = 2\n[update]\nclip = 0\n", "a.toml").expect_err("refused");
        let failure = Failure::from(error);
        assert_eq!(failure.kind(), Kind::Usage);
        let text = failure.to_string();
        assert!(text.contains("a.toml:2:1: sed: unknown key"), "{text}");
        assert!(text.contains("a.toml:4:8: update.clip: 0.0 is out of range"), "{text}");
    }

    #[test]
    fn a_closed_pipe_is_no_fault() {
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).kind(), Kind::Closed);
    }
}
