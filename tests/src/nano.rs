//! One run of the nano scenario, shared by the tests of a process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tadpole_kernel::event::Event;
use tadpole_kernel::log::Commit;
use tadpole_scenarios::schema::Scenario;

use crate::drive;
use crate::scratch::{self, Held};

/// A finished run of nano.
#[derive(Debug)]
pub struct Nano {
    /// Its scenario.
    pub scenario: Scenario,
    /// Its directory. Read-only by agreement: a test that changes it copies it first.
    pub run: PathBuf,
    /// Its events, each with the commit of its step.
    pub events: Vec<(Commit, Event)>,
    _held: Held,
}

/// The run: on two threads, with the sandbox in this process.
///
/// # Panics
/// Where it fails.
pub fn nano() -> &'static Nano {
    static NANO: OnceLock<Nano> = OnceLock::new();
    NANO.get_or_init(|| {
        let held = scratch::hold("nano");
        let run = held.directory.join("run");
        if run.exists() {
            fs::remove_dir_all(&run).unwrap();
        }
        let scenario = drive::shipped("nano");
        drive::complete(&scenario, &run, &drive::on_threads(2));
        Nano { scenario, events: crate::events(&run), run, _held: held }
    })
}

/// The shared run's directory.
pub fn run() -> &'static Path {
    &nano().run
}
