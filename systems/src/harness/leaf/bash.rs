//! Bash: a command in a fresh shell over the repository.

use tadpole_scenarios::repository::Tree;

use super::arguments::Arguments;
use super::files::Files;
use super::{LeafConfig, Style, cut};
use crate::sandbox::{BashOutcome, Sandbox, SandboxError, TestReport, TestStatus};

/// What a command led to.
pub(super) struct Run {
    /// The observation.
    pub(super) text: String,
    /// What it changed.
    pub(super) changed: Tree,
    /// Whether a test ran to a verdict.
    pub(super) ran_tests: bool,
}

/// Values above this are milliseconds: no one means a quarter of an hour, and models write both units.
const SECONDS_MAX: f64 = 1_000.0;

/// What a second that a call asks for is worth in units of [`Limits::fuel`](crate::sandbox::Limits::fuel): about what an
/// interpreter does in one, rounded down, so that a limit in seconds means the same on every machine.
const FUEL_PER_SECOND: f64 = 50_000.0;

/// Runs a command. The outer error is the sandbox's, the inner one the call's.
pub(super) fn run(
    files: &Files,
    arguments: &Arguments<'_>,
    config: &LeafConfig,
    sandbox: &dyn Sandbox,
) -> Result<Result<Run, String>, SandboxError> {
    let (command, timeout) = match (arguments.filled("command"), timeout_seconds(arguments)) {
        (Ok(command), Ok(timeout)) => (command, timeout),
        (Err(fault), _) | (_, Err(fault)) => return Ok(Err(fault)),
    };
    let mut limits = config.limits.clone();
    limits.fuel = timeout.map_or(limits.fuel, |seconds| limits.fuel.min((seconds * FUEL_PER_SECOND) as u64));
    let outcome = sandbox.bash(files.tree(), command, &limits)?;
    let ran_tests = outcome.ran_tests.as_ref().is_some_and(ran);
    let text = cut(shown(&outcome, config.style), config.bash_chars);
    Ok(Ok(Run { text, changed: outcome.changed, ran_tests }))
}

/// The limit on a command's time that a call asks for: seconds, unless the value is above 1,000 or the key says
/// milliseconds; never under a tenth of a second.
pub(super) fn timeout_seconds(arguments: &Arguments<'_>) -> Result<Option<f64>, String> {
    let seconds = match arguments.number("timeout_ms")? {
        Some(milliseconds) => Some(milliseconds / 1_000.0),
        None => arguments
            .number("timeout")?
            .map(|value| if value > SECONDS_MAX { value / 1_000.0 } else { value }),
    };
    Ok(seconds.map(|seconds| seconds.max(0.1)))
}

fn shown(outcome: &BashOutcome, style: Style) -> String {
    let (stdout, stderr) =
        (String::from_utf8_lossy(&outcome.stdout), String::from_utf8_lossy(&outcome.stderr));
    let code = outcome.exit_code;
    match style {
        Style::Full => format!("Exit code: {code}\nSTDOUT:\n{stdout}\nSTDERR:\n{stderr}"),
        Style::Terse => {
            let parts = [&format!("Exit code: {code}"), stdout.trim_end(), stderr.trim_end()];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
        }
    }
}

/// Whether a test ran to a verdict: a file that does not load, or a test that is skipped, is not one.
fn ran(report: &TestReport) -> bool {
    report.tests.iter().any(|(_, status)| matches!(status, TestStatus::Passed | TestStatus::Failed { .. }))
}
