//! Nano on a machine in memory, whose power can fail.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tadpole_kernel::decide::Systems;
use tadpole_kernel::driver::{Kernel, KernelError};
use tadpole_kernel::run::{RunError, RunHeader, create_on};
use tadpole_kernel::storage::faulty::{Machine, Point};
use tadpole_kernel::storage::{Storage, Within};
use tadpole_scenarios::schema::Scenario;
use tadpole_systems::assembly::{self, Assembly};

use crate::drive;
use crate::script::Script;

const RUN: &str = "run";

/// What must be equal between two runs, by name.
pub type Content = BTreeMap<String, Arc<Vec<u8>>>;

/// A machine with a run on it, and the directory that holds its lock.
#[derive(Debug)]
pub struct Rig {
    /// The machine.
    pub machine: Machine,
    scenario: Scenario,
    lock: tempfile::TempDir,
}

impl Rig {
    /// A run of `scenario`, to be made on `machine` or there already.
    ///
    /// # Panics
    /// Where there is no place for temporary files.
    #[must_use]
    pub fn over(machine: Machine, scenario: &Scenario) -> Self {
        Self { machine, scenario: scenario.clone(), lock: tempfile::tempdir().unwrap() }
    }

    fn header(&self) -> RunHeader {
        assembly::header(&self.scenario)
    }

    /// Opens the run as `Kernel::resume` does on a disk; makes it where there is none.
    pub fn open(&self, systems: Systems) -> Result<Kernel, KernelError> {
        let medium: Arc<dyn Storage> = Arc::new(self.machine.clone());
        let failed = |error| RunError::Io { path: RUN.into(), error };
        if !medium.exists(RUN).map_err(failed)? {
            create_on(&medium, RUN, &self.scenario.to_toml(), &self.header())?;
        }
        medium.sync_dir("").map_err(failed)?;
        Kernel::resume_on(self.lock.path(), Arc::new(Within::new(medium, RUN)), self.header(), systems)
    }

    /// Takes at most `steps` steps with recorded decisions; returns the step that comes next.
    pub fn recite(&self, script: &Arc<Script>, steps: u64) -> Result<u64, KernelError> {
        let (systems, stage) = script.systems(&self.scenario);
        let mut kernel = self.open(systems)?;
        for _ in 0..steps {
            if stage.step(&mut kernel)?.is_none() {
                break;
            }
        }
        Ok(kernel.next_step().0)
    }

    /// Runs to the end, deciding everything for real.
    ///
    /// # Panics
    /// Where that fails.
    pub fn finish(&self) {
        let Assembly { systems, .. } = drive::assembled(&self.scenario, &drive::on_threads(1));
        self.open(systems).unwrap().run(|_| {}).unwrap();
    }

    /// What must be equal between two runs.
    #[must_use]
    pub fn content(&self) -> Content {
        let parts = ["log/", "blobs/", "effects/"];
        let files = self.machine.content(RUN).into_iter();
        files.filter(|(name, _)| parts.iter().any(|part| name.starts_with(part))).collect()
    }
}

/// A run of nano on a machine that nothing happened to.
#[derive(Debug)]
pub struct Recorded {
    /// Its scenario.
    pub scenario: Scenario,
    /// What it decided.
    pub script: Arc<Script>,
    /// Every state that it went through.
    pub points: Vec<Point>,
    /// Its content by the step that came next.
    pub contents: Vec<Content>,
}

/// The run, from its making to its end.
///
/// # Panics
/// Where it fails.
pub fn recorded() -> &'static Recorded {
    static RECORDED: OnceLock<Recorded> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let scenario = drive::shipped("nano");
        let Assembly { systems, .. } = drive::assembled(&scenario, &drive::on_threads(2));
        let rig = Rig::over(Machine::new(), &scenario);
        rig.machine.record();
        let mut kernel = rig.open(systems).unwrap();
        let mut script = Script::default();
        let mut contents = vec![Content::new(), rig.content()];
        while script.record(&mut kernel).is_some() {
            contents.push(rig.content());
        }
        rig.machine.sync_dir("").unwrap();
        Recorded { script: Arc::new(script), points: rig.machine.take_points(), contents, scenario }
    })
}

/// A machine with a copy of what lies in the directory `dir` of the disk, durable.
///
/// # Panics
/// Where it cannot be read.
#[must_use]
pub fn loaded(dir: &Path, wanted: impl Fn(&str) -> bool) -> Machine {
    let machine = Machine::new();
    for name in crate::bits::files(dir).into_iter().filter(|name| wanted(name)) {
        let bytes = std::fs::read(dir.join(&name)).unwrap();
        machine.put(&name, bytes).unwrap();
    }
    machine
}

/// Copies what lies on a machine to the directory `dir` of the disk.
///
/// # Panics
/// Where it cannot be written.
pub fn spill(machine: &Machine, dir: &Path) {
    for (name, bytes) in machine.content("") {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().expect("a file lies in a directory")).unwrap();
        std::fs::write(path, bytes.as_slice()).unwrap();
    }
}

/// Requires equal content, naming what differs.
///
/// # Panics
/// Where it is not.
pub fn assert_same(what: &str, left: &Content, right: &Content) {
    let differs = left.iter().filter(|(name, bytes)| right.get(*name) != Some(bytes)).map(|(name, _)| name);
    let differs: Vec<_> = differs.chain(right.keys().filter(|name| !left.contains_key(*name))).collect();
    assert!(differs.is_empty(), "{what}: {differs:?} differ");
}
