//! One run of the smoke scenario, cached between test processes until scenario or binary change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tadpole_kernel::id::Digest;

use crate::scratch::{self, Held};
use crate::{binary, drive};

/// The cached run, on two threads, by the binary.
///
/// # Panics
/// Where it fails.
pub fn run() -> &'static Path {
    static SMOKE: OnceLock<(Held, PathBuf)> = OnceLock::new();
    let (_, run) = SMOKE.get_or_init(|| {
        let held = scratch::hold("smoke");
        let run = held.directory.join(key());
        if !run.exists() {
            for stale in fs::read_dir(&held.directory).unwrap() {
                fs::remove_dir_all(stale.unwrap().path()).unwrap();
            }
            let making = held.directory.join("making");
            let _table = binary::finish(&mut command(&making, 2)).succeeded();
            fs::rename(&making, &run).unwrap();
        }
        (held, run)
    });
    run
}

/// A command of the binary that runs smoke in `run`, which does not exist.
///
/// # Panics
/// Where the path is not UTF-8.
pub fn command(run: &Path, threads: usize) -> Command {
    let (threads, run) = (threads.to_string(), run.to_str().expect("a path in UTF-8"));
    binary::command(["run", "smoke", "--threads", &threads, "--out", run, "--set", "exec.progress=none"])
}

/// Names scenario and binary.
fn key() -> String {
    let scenario = Digest::of(&drive::shipped("smoke").semantic_bytes());
    let binary = Digest::of(&fs::read(binary::tadpole()).unwrap());
    Digest::of(&[scenario.0, binary.0].concat()).to_string()
}
