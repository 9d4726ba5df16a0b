//! Resumed equals uninterrupted: whatever ended a run, going on with it leads to the same bytes.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use tadpole_tests::bits::{Bits, assert_same};
use tadpole_tests::nano::{nano, run};
use tadpole_tests::{binary, drive};

#[test]
fn stopped_after_every_step() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let execution = drive::on_threads(2);
    drop(drive::start(&nano().scenario, &directory, &execution));
    while drive::reopen(&nano().scenario, &directory, &execution).step().unwrap().is_some() {}
    assert_same("stopped after every step", run(), &directory);
}

#[test]
fn killed_by_the_system_at_several_instants() {
    let parent = tempfile::tempdir().unwrap();
    let whole = Bits::of(run()).log_bytes() as u64;
    for share in [1, 3, 5, 7, 9] {
        let directory = parent.path().join(share.to_string());
        let name = directory.to_str().unwrap();
        let start = ["run", "nano", "--threads", "2", "--out", name, "--set", "exec.progress=none"];
        kill_at(
            binary::command(start).stdout(std::process::Stdio::null()).spawn().unwrap(),
            &directory,
            whole * share / 10,
        );
        let _summary = binary::run(["resume", name]).succeeded();
        assert_same(&format!("killed at {share} tenths of the log"), run(), &directory);
    }
}

/// Kills `child` as soon as the log of its run has `bytes`, if it has not ended before.
fn kill_at(mut child: Child, run: &Path, bytes: u64) {
    while child.try_wait().unwrap().is_none() && log_bytes(run) < bytes {
        std::thread::sleep(Duration::from_millis(1));
    }
    // One that has ended cannot be killed.
    child.kill().ok();
    child.wait().unwrap();
}

fn log_bytes(run: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(run.join("log")) else { return 0 };
    entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum()
}
