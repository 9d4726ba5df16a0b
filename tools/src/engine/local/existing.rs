//! A run that is there already.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use tadpole_kernel::run::{RunHeader, RunReader};
use tadpole_scenarios::schema::Scenario;
use tadpole_systems::analysis::RunSummary;
use tadpole_systems::assembly::{self, Assembly};
use tadpole_systems::tokenizer::Tokenizer;

use super::{execution, failures};
use crate::arguments::Speed;
use crate::failure::Failure;

/// A run, open for reading, with its scenario.
pub(super) struct Existing {
    pub(super) directory: PathBuf,
    pub(super) reader: RunReader,
    pub(super) scenario: Scenario,
    assembly: OnceCell<Assembly>,
}

impl Existing {
    /// Opens a run; `speed` replaces what the scenario says about it.
    pub(super) fn open(directory: &Path, speed: &Speed) -> Result<Self, Failure> {
        let refused = |error| failures::run(directory, &error);
        let reader = RunReader::open(directory).map_err(refused)?;
        let text = reader.scenario().map_err(refused)?;
        let name = directory.join("scenario.toml").display().to_string();
        let scenario = Scenario::parse_with(&text, &name, &speed.overrides())?;
        Ok(Self { directory: directory.to_path_buf(), reader, scenario, assembly: OnceCell::new() })
    }

    /// The scenarios of the runs that it descends from, the first one first.
    pub(super) fn past(&self) -> Result<Vec<Scenario>, Failure> {
        let past = self.reader.lineage().ancestors().map(|ancestor| {
            let text =
                self.reader.scenario_of(ancestor).map_err(|error| failures::run(&self.directory, &error))?;
            let name = self.directory.join(format!("lineage/{ancestor}.toml")).display().to_string();
            let mut scenario = Scenario::parse(&text, &name)?;
            scenario.exec = self.scenario.exec.clone();
            Ok(scenario)
        });
        past.collect()
    }

    /// Its systems. Where its policy is a file, the path is relative to the current directory.
    pub(super) fn assembled(&self) -> Result<Assembly, Failure> {
        execution::assembled(&self.scenario, Path::new("."))
    }

    /// Its systems, put together once.
    pub(super) fn assembly(&self) -> Result<&Assembly, Failure> {
        if let Some(assembly) = self.assembly.get() {
            return Ok(assembly);
        }
        let assembly = self.assembled()?;
        Ok(self.assembly.get_or_init(|| assembly))
    }

    /// Its tokenizer. Where its policy is a file, the path is relative to the current directory.
    pub(super) fn tokenizer(&self) -> Result<Tokenizer, Failure> {
        assembly::tokenizer(&self.scenario, Path::new(".")).map_err(failures::assembly)
    }
}

/// Refuses a scenario that is not the one that the run was started with: the file beside the log was changed. The version of
/// the arithmetic is for those who compute.
pub(super) fn unchanged(reader: &RunReader, scenario: &Scenario) -> Result<(), Failure> {
    let header = RunHeader { arithmetic: reader.header().arithmetic, ..assembly::header(scenario) };
    reader.agrees(&header).map_err(|error| failures::run(reader.dir(), &error))
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
