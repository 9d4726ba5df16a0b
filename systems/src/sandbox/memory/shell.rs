//! The shell: bashkit over [`Files`], with Python as commands, on a clock that stands still.
//!
//! Its runtime is paused, so that no time passes but what `sleep` asks for, and that at once: `SECONDS`, `time` and
//! `timeout` are deterministic. `RANDOM` starts from a fixed seed; `SRANDOM`, which the shell takes from the operating
//! system, is made another name of `RANDOM` before the command runs. Background jobs run when they are started.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashkit::{
    Bash, Builtin, BuiltinContext, Error, ExecResult, ExecutionBudgetExceeded, ExecutionLimits, LimitExceeded, MemoryLimits,
    async_trait,
};
use tadpole_scenarios::repository::Tree;
use tokio::runtime::Runtime;

use crate::sandbox::{BashOutcome, Limits, TestReport, Verdict};

use super::files::{Checkout, EPOCH_SECONDS, Files};
use super::pytest::{self, Ran};
use super::python::{self, Scripts};
use super::{ROOT, commands};

/// Runs before every command.
const PRELUDE: &str = "declare -n SRANDOM=RANDOM; RANDOM=1";

/// Longer than any call: time is virtual, and what a call spends is counted.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// The longest command line, bytes.
const COMMAND_BYTES_MAX: usize = 1 << 20;

/// Runs shell calls.
pub(super) struct Shell {
    runtime: Option<Runtime>,
}

impl Shell {
    pub(super) fn new() -> Self {
        Self { runtime: None }
    }

    /// Runs a command line in a fresh shell at the root of `tree`.
    pub(super) fn run(&mut self, tree: &Tree, command: &str, limits: &Limits) -> BashOutcome {
        let Some(runtime) = self.runtime() else { return stopped(Verdict::Aborted) };
        let files = Arc::new(Files::new(tree, limits));
        let call = Arc::new(Call { files: Arc::clone(&files), limits: limits.clone(), ran: Mutex::default() });
        let mut bash = shell(&files, &call, limits);
        let result = runtime.block_on(async {
            bash.exec(PRELUDE).await?;
            bash.exec(command).await
        });
        drop(bash);
        let mut outcome = outcome_of(result, command);
        let ran = std::mem::take(&mut *call.ran());
        outcome.ran_tests = ran.report;
        outcome.verdict = outcome.verdict.max(ran.verdict);
        outcome.stdout.truncate(usize::try_from(limits.output_bytes).unwrap_or(usize::MAX));
        outcome.stderr.truncate(usize::try_from(limits.output_bytes).unwrap_or(usize::MAX));
        outcome.changed = tree.diff(&files.tree());
        outcome
    }

    fn runtime(&mut self) -> Option<&Runtime> {
        if self.runtime.is_none() {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            self.runtime = builder.enable_time().start_paused(true).build().ok();
        }
        self.runtime.as_ref()
    }
}

fn shell(files: &Arc<Files>, call: &Arc<Call>, limits: &Limits) -> Bash {
    let mut builder = Bash::builder()
        .fs(Arc::clone(files) as Arc<dyn bashkit::FileSystem>)
        .rootfs(false)
        .cwd(ROOT)
        .username("user")
        .hostname("sandbox")
        .fixed_epoch(EPOCH_SECONDS as i64)
        .concurrent_jobs(false)
        .builtin_filter(commands::is_kept)
        .limits(execution_limits(limits))
        .memory_limits(MemoryLimits::new());
    for name in ["python", "python3"] {
        builder = builder.builtin(name, Box::new(Command { call: Arc::clone(call), kind: CommandKind::Python }));
    }
    for name in ["pytest", "py.test"] {
        builder = builder.builtin(name, Box::new(Command { call: Arc::clone(call), kind: CommandKind::Pytest }));
    }
    for name in ["pip", "pip3"] {
        builder = builder.builtin(name, Box::new(Command { call: Arc::clone(call), kind: CommandKind::Pip }));
    }
    builder.build()
}

fn execution_limits(limits: &Limits) -> ExecutionLimits {
    let commands = usize::try_from(limits.commands).unwrap_or(usize::MAX);
    let output = usize::try_from(limits.output_bytes).unwrap_or(usize::MAX);
    ExecutionLimits::new()
        .timeout(FOREVER)
        .parser_timeout(FOREVER)
        .max_commands(commands)
        .max_loop_iterations(commands.saturating_mul(10))
        .max_total_loop_iterations(commands.saturating_mul(10))
        .max_input_bytes(COMMAND_BYTES_MAX)
        .max_stdout_bytes(output)
        .max_stderr_bytes(output)
}

fn outcome_of(result: Result<ExecResult, Error>, command: &str) -> BashOutcome {
    match result {
        Ok(result) => BashOutcome {
            exit_code: result.exit_code,
            stdout: result.stdout.into_bytes(),
            stderr: result.stderr.into_bytes(),
            ..BashOutcome::default()
        },
        Err(Error::ResourceLimit(limit)) => stopped(verdict_of(&limit)),
        Err(error) => {
            let (exit_code, message) = match error.syntax_report("bash", command) {
                Some(report) => (2, report),
                None => (1, format!("bash: {error}")),
            };
            BashOutcome { exit_code, stderr: format!("{}\n", message.trim_end()).into_bytes(), ..BashOutcome::default() }
        }
    }
}

fn verdict_of(limit: &LimitExceeded) -> Verdict {
    match limit {
        LimitExceeded::Memory(_) | LimitExceeded::ExecutionBudget(ExecutionBudgetExceeded::LiveBytes { .. }) => {
            Verdict::OutOfMemory
        }
        _ => Verdict::OutOfFuel,
    }
}

fn stopped(verdict: Verdict) -> BashOutcome {
    BashOutcome {
        exit_code: verdict.exit_code(),
        stderr: format!("{}\n", verdict.text()).into_bytes(),
        verdict,
        ..BashOutcome::default()
    }
}

/// What the Python commands of one call share.
struct Call {
    files: Arc<Files>,
    limits: Limits,
    ran: Mutex<RanSoFar>,
}

#[derive(Default)]
struct RanSoFar {
    report: Option<TestReport>,
    verdict: Verdict,
}

impl Call {
    fn ran(&self) -> std::sync::MutexGuard<'_, RanSoFar> {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, report: Option<TestReport>, verdict: Verdict) {
        let mut ran = self.ran();
        ran.verdict = ran.verdict.max(verdict);
        if let Some(report) = report {
            let all = ran.report.get_or_insert_default();
            all.tests.extend(report.tests);
            all.verdict = all.verdict.max(report.verdict);
        }
    }
}

#[derive(Clone, Copy)]
enum CommandKind {
    Python,
    Pytest,
    Pip,
}

/// A command of our own.
struct Command {
    call: Arc<Call>,
    kind: CommandKind,
}

#[async_trait]
impl Builtin for Command {
    async fn execute(&self, context: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let checkout = Checkout::new(&self.call.files, context.cwd);
        let limits = &self.call.limits;
        let ran = match self.kind {
            CommandKind::Pytest => {
                let (ran, report) = pytest::run(&checkout, context.args, limits);
                let verdict = report.as_ref().map(|report| report.verdict).unwrap_or_default();
                self.call.note(report, verdict);
                ran
            }
            CommandKind::Python => {
                let scripts = ScriptFiles { files: &self.call.files, directory: context.cwd };
                let input = context.stdin_bytes().unwrap_or_default();
                let result = python::run(&checkout, &scripts, context.args, input, limits);
                self.call.note(result.report, result.verdict);
                result.ran
            }
            CommandKind::Pip => Ran::failed(1, "ERROR: there is no network; nothing can be installed"),
        };
        Ok(ExecResult {
            stdout: ran.stdout.into(),
            stderr: ran.stderr.into(),
            exit_code: ran.exit_code,
            ..ExecResult::default()
        })
    }
}

/// Script files anywhere in the file system.
struct ScriptFiles<'a> {
    files: &'a Files,
    directory: &'a Path,
}

impl Scripts for ScriptFiles<'_> {
    fn script(&self, argument: &str) -> Result<Vec<u8>, String> {
        self.files.read_following(&self.directory.join(argument)).ok_or_else(|| "No such file or directory".to_owned())
    }
}
