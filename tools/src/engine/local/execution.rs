//! How a scenario is executed on this machine.

use std::num::NonZero;
use std::path::Path;

use tadpole_scenarios::schema::{Exec, Scenario};
use tadpole_systems::assembly::{Assembly, Execution, assemble};
use tadpole_systems::sandbox::WorkerCommand;

use super::failures;
use crate::failure::Failure;

/// Puts a run together; paths in the scenario are relative to `base`.
pub(super) fn assembled(scenario: &Scenario, base: &Path) -> Result<Assembly, Failure> {
    let execution = execution(&scenario.exec, base)?;
    assemble(scenario, &execution).map_err(failures::assembly)
}

/// Threads and workers as `[exec]` wants them.
pub(super) fn execution(exec: &Exec, base: &Path) -> Result<Execution, Failure> {
    let threads = threads(exec.threads);
    Ok(Execution {
        threads,
        workers: Some(worker_command()?),
        worker_count: if exec.workers == 0 { threads } else { exec.workers as usize },
        base: base.to_path_buf(),
    })
}

/// As many threads as asked for; for 0 as many as the machine runs at once.
pub(super) fn threads(asked: u32) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        count => count as usize,
    }
}

/// How a sandbox worker is started: this program is one.
pub(super) fn worker_command() -> Result<WorkerCommand, Failure> {
    WorkerCommand::this_binary().map_err(|error| {
        Failure::failed(format!("cannot find this program to start sandbox workers: {error}"))
            .help("do not replace the program while it runs")
    })
}
