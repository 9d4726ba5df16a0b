//! What the end-to-end tests share: driving runs in this process, finding and starting the binary, and comparing runs.
//!
//! A run is compared by its bits alone: the bytes of `log/` and the set of blobs. No test looks at a clock.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests: they fail by panicking")]

pub mod binary;
pub mod bits;
pub mod crash;
pub mod drive;
pub mod format;
pub mod fuzz;
pub mod machine;
pub mod nano;
pub mod outside;
pub mod programs;
pub mod scratch;
pub mod script;
pub mod smoke;

use std::path::Path;

use tadpole_kernel::event::Event;
use tadpole_kernel::log::Commit;
use tadpole_kernel::run::RunReader;

/// Every event of a run with the commit of its step, from the first.
///
/// # Panics
/// Where the run cannot be read.
pub fn events(run: &Path) -> Vec<(Commit, Event)> {
    let reader = RunReader::open(run).unwrap();
    reader.events().unwrap().map(|event| event.map(|(commit, _, event)| (commit, event)).unwrap()).collect()
}

/// Every commit of a run, from the first.
///
/// # Panics
/// Where the run cannot be read.
pub fn commits(run: &Path) -> Vec<Commit> {
    let groups = RunReader::open(run).unwrap().groups().unwrap();
    groups.map(|group| *group.unwrap().commit()).collect()
}
