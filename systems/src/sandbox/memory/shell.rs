//! The shell: bashkit over [`Files`], with Python as commands, on a clock that stands still.
//!
//! Its runtime is paused and `sleep` returns at once, so no time passes: `SECONDS`, `time` and `timeout` are deterministic. `RANDOM` starts from a fixed seed; `SRANDOM`, which the shell takes from the operating
//! system, is made another name of `RANDOM` before the command runs, and a call that spells it (in the command or in a
//! script of the tree), and so might undo that, is refused. Of `sort` the random order is taken away. Background jobs run
//! when they are started.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashkit::hooks::{HookAction, ToolEvent};
use bashkit::{
    Bash, Builtin, BuiltinContext, Error, ExecResult, ExecutionBudgetExceeded, ExecutionLimits,
    LimitExceeded, MemoryLimits, async_trait,
};
use tadpole_scenarios::repository::{Entry, Tree};
use tokio::runtime::Runtime;

use crate::sandbox::{BashOutcome, Limits, TestReport, Verdict};

use super::files::{Checkout, EPOCH_SECONDS, Files};
use super::pytest::{self, Ran};
use super::python::{self, Scripts};
use super::{ROOT, commands};

/// Runs before every command.
const PRELUDE: &str = "declare -n SRANDOM=RANDOM; RANDOM=1";

/// The variable that has no place here.
const ENTROPY: &str = "SRANDOM";

/// Longer than any call: time is virtual, and what a call spends is counted.
const FOREVER: Duration = Duration::from_hours(8760);

/// The longest command line, bytes.
const COMMAND_BYTES_MAX: usize = 1 << 20;

/// Runs a command line in a fresh shell at the root of `tree`.
pub(super) fn run(tree: &Tree, command: &str, limits: &Limits) -> BashOutcome {
    let Some(runtime) = runtime() else { return stopped(Verdict::Aborted) };
    if command.contains(ENTROPY) || tree.iter().any(|(path, entry)| is_script_with_entropy(path, entry)) {
        return failed(1, &format!("bash: {ENTROPY}: not available in this sandbox"));
    }
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

/// A runtime of its own for each call: its clock starts alike.
fn runtime() -> Option<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().ok()
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
        .memory_limits(MemoryLimits::new())
        .before_tool(Box::new(|event| HookAction::Continue(tamed(event))));
    for name in ["python", "python3"] {
        builder =
            builder.builtin(name, Box::new(Command { call: Arc::clone(call), kind: CommandKind::Python }));
    }
    for name in ["pytest", "py.test"] {
        builder =
            builder.builtin(name, Box::new(Command { call: Arc::clone(call), kind: CommandKind::Pytest }));
    }
    for name in ["pip", "pip3"] {
        builder = builder.builtin(name, Box::new(Command { call: Arc::clone(call), kind: CommandKind::Pip }));
    }
    builder.builtin("sleep", Box::new(Command { call: Arc::clone(call), kind: CommandKind::Sleep })).build()
}

/// A command without what would make it random: `sort` keeps its order, and a child shell gets the prelude too.
fn tamed(mut event: ToolEvent) -> ToolEvent {
    match event.name.as_str() {
        "sort" => event.args = in_order(event.args),
        "bash" | "sh" => {
            let is_command =
                |flag: &String| flag.starts_with('-') && !flag.starts_with("--") && flag.contains('c');
            if let Some(at) = event.args.iter().position(is_command)
                && let Some(text) = event.args.get_mut(at + 1)
            {
                *text = format!("{PRELUDE}; {text}");
            }
        }
        _ => {}
    }
    event
}

/// The arguments of `sort` without those that ask for a random order.
fn in_order(arguments: Vec<String>) -> Vec<String> {
    let mut is_key = false;
    let mut kept = Vec::new();
    for mut argument in arguments {
        if argument == "--random-sort" || argument == "--sort=random" {
            continue;
        }
        let is_short = argument.len() > 1 && argument.starts_with('-') && !argument.starts_with("--");
        let was_key =
            std::mem::replace(&mut is_key, (is_short && argument.ends_with('k')) || argument == "--key");
        if is_short || was_key || argument.starts_with("--key=") {
            argument = argument.replace('R', "");
        }
        // A lone `-R` leaves nothing.
        if !(is_short && argument == "-") {
            kept.push(argument);
        }
    }
    kept
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
            failed(exit_code, message.trim_end())
        }
    }
}

fn failed(exit_code: i32, message: &str) -> BashOutcome {
    BashOutcome { exit_code, stderr: format!("{message}\n").into_bytes(), ..BashOutcome::default() }
}

/// Whether an entry is a shell script that names the variable without a place here.
fn is_script_with_entropy(path: &str, entry: &Entry) -> bool {
    let Entry::File { bytes, .. } = entry else { return false };
    let is_script = bytes.starts_with(b"#!") || matches!(path.rsplit_once('.'), Some((_, "sh" | "bash")));
    is_script && bytes.windows(ENTROPY.len()).any(|window| window == ENTROPY.as_bytes())
}

fn verdict_of(limit: &LimitExceeded) -> Verdict {
    match limit {
        LimitExceeded::Memory(_)
        | LimitExceeded::ExecutionBudget(ExecutionBudgetExceeded::LiveBytes { .. }) => Verdict::OutOfMemory,
        _ => Verdict::OutOfFuel,
    }
}

fn stopped(verdict: Verdict) -> BashOutcome {
    BashOutcome { verdict, ..failed(verdict.exit_code(), verdict.text()) }
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
    Sleep,
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
            CommandKind::Sleep => sleep(context.args),
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

/// Checks the arguments of `sleep` and returns.
fn sleep(arguments: &[String]) -> Ran {
    let is_time = |text: &String| {
        let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
        number == "infinity" || number.parse::<f64>().is_ok_and(|seconds| seconds >= 0.0)
    };
    match arguments.iter().find(|argument| !is_time(argument)) {
        Some(argument) => Ran::failed(1, &format!("sleep: invalid time interval '{argument}'")),
        None if arguments.is_empty() => Ran::failed(1, "sleep: missing operand"),
        None => Ran::default(),
    }
}

/// Script files anywhere in the file system.
struct ScriptFiles<'a> {
    files: &'a Files,
    directory: &'a Path,
}

impl Scripts for ScriptFiles<'_> {
    fn script(&self, argument: &str) -> Result<Vec<u8>, String> {
        self.files
            .read_following(&self.directory.join(argument))
            .ok_or_else(|| "No such file or directory".to_owned())
    }
}
