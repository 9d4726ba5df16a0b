//! Where tools act and tests run: a repository and a request in, an outcome and the change out.
//!
//! A [`Sandbox`] keeps nothing between calls: every request carries the whole tree, so a worker that dies can be replaced
//! and any worker gives the same answer. [`SandboxPool`] is the `memory` sandbox: a real bash language and Python over the
//! tree, in worker processes of the same binary ([`worker`]), or in the calling process for tests and small tools.
//!
//! *Invariants.* The outcome is a function of the request alone: there is no clock (time is virtual), no entropy, no host
//! file, no network, no order of a hash map in it. Every way to end is a [`Verdict`]. The one exception is
//! [`Verdict::Watchdog`] (and [`Verdict::Aborted`], where the machine itself kills workers): they depend on the machine, so
//! whoever records runs records them as effects.

mod memo;
pub mod memory;
mod pool;
mod wire;
mod witness;
pub mod worker;

use tadpole_scenarios::repository::Tree;
use thiserror::Error;

use crate::interpreter::Stop;

pub use pool::{SandboxPool, WorkerCommand};
pub use witness::{KIND as WATCHDOG_EFFECT, Witness};

/// A place to run commands and tests. Any thread may call.
pub trait Sandbox: Send + Sync {
    /// Runs a command line in a fresh shell at the root of `tree`.
    fn bash(&self, tree: &Tree, command: &str, limits: &Limits) -> Result<BashOutcome, SandboxError>;

    /// Runs every test of the test files `files` (paths in `tree`), in order.
    fn test(&self, tree: &Tree, files: &[String], limits: &Limits) -> Result<TestReport, SandboxError>;

    /// Evaluates expressions in the name space of `module` (dotted; empty for none): their `repr`, or what went wrong.
    fn evaluate(
        &self,
        tree: &Tree,
        module: &str,
        expressions: &[String],
        limits: &Limits,
    ) -> Result<Vec<Result<String, String>>, SandboxError>;
}

/// What a request may spend. Everything but `wall_ms` is counted, so that the same request always ends alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Python instructions, in units of 256: for loading a test file with its imports, for each test, for each script.
    pub fuel: u64,
    /// Commands of a shell call; its loops may take ten times as many rounds.
    pub commands: u64,
    /// Bytes a Python program may hold.
    pub memory_bytes: u64,
    /// Bytes kept of standard output, and of standard error.
    pub output_bytes: u64,
    /// Files, directories and links in the file system.
    pub files: u64,
    /// Bytes of all files.
    pub disk_bytes: u64,
    /// The wall-clock watchdog, milliseconds; far above what a request within the other limits takes.
    pub wall_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 20_000,
            commands: 5_000,
            memory_bytes: 4 << 20,
            output_bytes: 120_000,
            files: 4_096,
            disk_bytes: 32 << 20,
            wall_ms: 20_000,
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// By itself, with whatever result.
    #[default]
    Completed,
    /// Stopped: too many instructions, commands or rounds.
    OutOfFuel,
    /// Stopped: too much memory.
    OutOfMemory,
    /// Stopped by the wall clock.
    Watchdog,
    /// The worker process died of it, twice.
    Aborted,
}

impl Verdict {
    /// All verdicts, in order.
    pub const ALL: [Self; 5] =
        [Self::Completed, Self::OutOfFuel, Self::OutOfMemory, Self::Watchdog, Self::Aborted];

    /// The line that tells the one who asked; empty for [`Verdict::Completed`].
    pub fn text(self) -> &'static str {
        match self {
            Self::Completed => "",
            Self::OutOfFuel => "stopped: instruction limit exceeded",
            Self::OutOfMemory => "stopped: memory limit exceeded",
            Self::Watchdog => "stopped: time limit exceeded",
            Self::Aborted => "stopped: the interpreter failed",
        }
    }

    /// The exit code of a command that ended so; 0 for [`Verdict::Completed`].
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Completed => 0,
            Self::OutOfFuel | Self::Watchdog => 124,
            Self::OutOfMemory => 137,
            Self::Aborted => 134,
        }
    }
}

impl From<Stop> for Verdict {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::OutOfFuel => Self::OutOfFuel,
            Stop::OutOfMemory => Self::OutOfMemory,
            Stop::Watchdog => Self::Watchdog,
            Stop::Aborted => Self::Aborted,
        }
    }
}

/// What a shell call came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BashOutcome {
    /// The exit code; that of the verdict where the call was stopped.
    pub exit_code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error; its last line is the verdict's where the call was stopped.
    pub stderr: Vec<u8>,
    /// The paths whose entry changed, each with what it is now (`Absent`: removed). Directories without files are lost.
    pub changed: Tree,
    /// The tests that the call ran, if it came to running any.
    pub ran_tests: Option<TestReport>,
    /// How it ended; for a call that went on after a program in it was stopped, how that program ended.
    pub verdict: Verdict,
}

/// The result of running test files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
    /// Test ids (`path::name`, `path::Class::name`; the bare path for a file that cannot be loaded) and what they came to,
    /// in the order they ran.
    pub tests: Vec<(String, TestStatus)>,
    /// The gravest verdict among them.
    pub verdict: Verdict,
}

impl TestReport {
    /// What the test `id` came to; `None` if it did not run.
    pub fn status(&self, id: &str) -> Option<&TestStatus> {
        self.tests.iter().find(|(name, _)| name == id).map(|(_, status)| status)
    }

    /// The number of tests that passed.
    pub fn passed(&self) -> usize {
        self.tests.iter().filter(|(_, status)| *status == TestStatus::Passed).count()
    }
}

/// What a test came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestStatus {
    /// It returned.
    Passed,
    /// It raised, or was stopped.
    Failed {
        /// The assertion with its values, the exception's summary, or the verdict's line.
        message: String,
    },
    /// It asked to be skipped.
    Skipped,
    /// It could not be run: its file does not load, or it wants a fixture.
    Error {
        /// Why.
        message: String,
    },
}

/// The sandbox itself failed; the request has no outcome.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// A worker process cannot be started.
    #[error("cannot start a sandbox worker: {0}")]
    Spawn(#[source] std::io::Error),
    /// An answer that depends on the machine could not be recorded or read.
    #[error("recording a verdict of the machine: {0}")]
    Record(String),
    /// A worker sent something that is no answer.
    #[error("a sandbox worker sent a malformed answer: {0}")]
    Protocol(&'static str),
    /// The evaluation thread of this process is gone.
    #[error("the sandbox's evaluation thread has ended")]
    Gone,
}
