//! The toy run on a machine in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use tadpole_kernel::decide::Systems;
use tadpole_kernel::driver::{Kernel, KernelError};
use tadpole_kernel::run::{RunError, create_on};
use tadpole_kernel::storage::faulty::{Machine, Survival};
use tadpole_kernel::storage::{Storage, Within};

use crate::toy::{SCENARIO, header, systems};

pub(crate) const RUN: &str = "run";

/// What must be equal between equal runs, by name.
pub(crate) type Content = BTreeMap<String, Arc<Vec<u8>>>;

/// A machine, and the directory that holds the lock in its stead.
pub(crate) struct Rig {
    pub(crate) machine: Machine,
    lock: tempfile::TempDir,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::over(Machine::new())
    }

    pub(crate) fn over(machine: Machine) -> Self {
        Self { machine, lock: tempfile::tempdir().unwrap() }
    }

    /// A machine on which the run was just made.
    pub(crate) fn created() -> Self {
        let rig = Self::new();
        rig.create().unwrap();
        rig
    }

    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(Within::new(Arc::new(self.machine.clone()), RUN))
    }

    pub(crate) fn create(&self) -> Result<(), RunError> {
        create_on(&(Arc::new(self.machine.clone()) as Arc<dyn Storage>), RUN, SCENARIO, &header())
    }

    /// Opens the run as `Kernel::resume` does on a disk, with other systems.
    pub(crate) fn open(&self, systems: Systems) -> Result<Kernel, KernelError> {
        self.machine.sync_dir("").map_err(|error| RunError::Io { path: RUN.into(), error })?;
        Kernel::resume_on(self.lock.path(), self.storage(), header(), systems)
    }

    pub(crate) fn resume(&self) -> Result<Kernel, KernelError> {
        self.open(systems())
    }

    /// Makes the run where it is not there, and takes at most `steps` steps.
    pub(crate) fn drive(&self, steps: u64) -> Result<u64, KernelError> {
        if !self.machine.exists(RUN).map_err(|error| RunError::Io { path: RUN.into(), error })? {
            self.create()?;
        }
        let mut kernel = self.resume()?;
        for _ in 0..steps {
            if kernel.step()?.is_none() {
                break;
            }
        }
        Ok(kernel.next_step().0)
    }

    pub(crate) fn finish(&self) {
        self.drive(u64::MAX).unwrap();
    }

    pub(crate) fn power_cycle(&self, survival: Survival) {
        self.machine.power_cycle(survival);
    }

    pub(crate) fn content(&self) -> Content {
        let parts = ["log/", "blobs/", "effects/"];
        let files = self.machine.content(RUN).into_iter();
        files.filter(|(name, _)| parts.iter().any(|part| name.starts_with(part))).collect()
    }

    /// Copies the run to a directory of the disk, for what reads one.
    pub(crate) fn spill(&self) -> (tempfile::TempDir, std::path::PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join(RUN);
        for (name, bytes) in self.machine.content(RUN) {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes.as_slice()).unwrap();
        }
        (temp, dir)
    }
}

/// Requires equal content, naming what differs.
pub(crate) fn assert_same(what: &str, left: &Content, right: &Content) {
    let differs = left.iter().filter(|(name, bytes)| right.get(*name) != Some(bytes)).map(|(name, _)| name);
    let differs: Vec<_> = differs.chain(right.keys().filter(|name| !left.contains_key(*name))).collect();
    assert!(differs.is_empty(), "{what}: {differs:?} differ");
}
