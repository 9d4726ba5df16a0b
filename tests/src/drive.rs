//! Runs driven in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tadpole_kernel::driver::{Kernel, KernelError};
use tadpole_kernel::storage::Storage;
use tadpole_scenarios::assets;
use tadpole_scenarios::schema::Scenario;
use tadpole_systems::assembly::{Assembly, Execution, assemble};

/// A scenario that ships with the binary.
///
/// # Panics
/// Where there is none of that name.
pub fn shipped(name: &str) -> Scenario {
    let file = assets::scenario(name).expect("a shipped scenario");
    Scenario::parse(file.text, name).unwrap_or_else(|error| panic!("{error}"))
}

/// Execution on `threads` threads, with the sandbox in this process.
pub fn on_threads(threads: usize) -> Execution {
    Execution { threads, workers: None, worker_count: threads, base: PathBuf::from(".") }
}

/// Puts a run together.
///
/// # Panics
/// Where the scenario cannot be run here.
pub fn assembled(scenario: &Scenario, execution: &Execution) -> Assembly {
    assemble(scenario, execution).unwrap_or_else(|error| panic!("{error}"))
}

/// Starts a run in `run`, which does not exist.
///
/// # Panics
/// Where it cannot be started.
pub fn start(scenario: &Scenario, run: &Path, execution: &Execution) -> Kernel {
    let Assembly { systems, header, .. } = assembled(scenario, execution);
    Kernel::create(run, &scenario.to_toml(), header, systems).unwrap()
}

/// Goes on with a run as another process would: nothing but the directory is carried over.
///
/// # Panics
/// Where it cannot be opened.
pub fn reopen(scenario: &Scenario, run: &Path, execution: &Execution) -> Kernel {
    let Assembly { systems, header, .. } = assembled(scenario, execution);
    Kernel::resume(run, header, systems).unwrap()
}

/// [`reopen`] on another medium than the disk.
///
/// # Errors
/// Where the medium fails.
///
/// # Panics
/// Where the scenario cannot be run here.
pub fn reopen_on(
    scenario: &Scenario,
    run: &Path,
    execution: &Execution,
    medium: Arc<dyn Storage>,
) -> Result<Kernel, KernelError> {
    let Assembly { systems, header, .. } = assembled(scenario, execution);
    Kernel::resume_on(run, medium, header, systems)
}

/// Runs a scenario to its end.
///
/// # Panics
/// Where that fails.
pub fn complete(scenario: &Scenario, run: &Path, execution: &Execution) {
    start(scenario, run, execution).run(|_| {}).unwrap();
}
