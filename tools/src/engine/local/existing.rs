//! A run that is there already.

use std::path::Path;

use tadpole_kernel::run::RunReader;
use tadpole_scenarios::schema::Scenario;
use tadpole_systems::analysis::RunSummary;
use tadpole_systems::assembly::{self, Assembly};
use tadpole_systems::tokenizer::Tokenizer;

use super::{execution, failures};
use crate::arguments::Speed;
use crate::failure::Failure;

/// A run, open for reading, with its scenario.
pub(super) struct Existing<'a> {
    pub(super) directory: &'a Path,
    pub(super) reader: RunReader,
    pub(super) scenario: Scenario,
}

impl<'a> Existing<'a> {
    /// Opens a run; `speed` replaces what the scenario says about it.
    pub(super) fn open(directory: &'a Path, speed: &Speed) -> Result<Self, Failure> {
        let refused = |error| failures::run(directory, &error);
        let reader = RunReader::open(directory).map_err(refused)?;
        let text = reader.scenario().map_err(refused)?;
        let name = directory.join("scenario.toml").display().to_string();
        let scenario = Scenario::parse_with(&text, &name, &speed.overrides())?;
        Ok(Self { directory, reader, scenario })
    }

    /// Its systems. Where its policy is a file, the path is relative to the current directory.
    pub(super) fn assembled(&self) -> Result<Assembly, Failure> {
        execution::assembled(&self.scenario, Path::new("."))
    }

    /// Its tokenizer. Where its policy is a file, the path is relative to the current directory.
    pub(super) fn tokenizer(&self) -> Result<Tokenizer, Failure> {
        assembly::tokenizer(&self.scenario, Path::new(".")).map_err(failures::assembly)
    }
}

/// Scenario and seed.
pub(super) fn title(scenario: &Scenario) -> String {
    format!("{}, seed {}", scenario.name, scenario.seed)
}

/// A run in figures.
pub(super) fn summary(directory: &Path) -> Result<RunSummary, Failure> {
    let refused = |error| failures::run(directory, &error);
    RunSummary::read(&RunReader::open(directory).map_err(refused)?).map_err(refused)
}
