//! One run, the same bits: whatever runs it, wherever, on however many threads.

use std::path::Path;
use std::process::Command;

use tadpole_gpu::vector::Isa;
use tadpole_systems::assembly::Execution;
use tadpole_tests::bits::assert_same;
use tadpole_tests::nano::{nano, run};
use tadpole_tests::{binary, drive};

/// A command of the binary that runs nano in `directory`, and says nothing on the way.
fn command(directory: &Path, threads: &str) -> Command {
    let directory = directory.to_str().expect("a path in UTF-8");
    binary::command(["run", "nano", "--threads", threads, "--out", directory, "--set", "exec.progress=none"])
}

/// Runs nano by `command` and compares it with the shared run.
fn compare(what: &str, directory: &Path, command: &mut Command) {
    let _summary = binary::finish(command).succeeded();
    assert_same(what, run(), directory);
}

#[test]
fn on_one_thread_and_on_four() {
    let parent = tempfile::tempdir().unwrap();
    for threads in [1, 4] {
        let directory = parent.path().join(threads.to_string());
        drive::complete(&nano().scenario, &directory, &drive::on_threads(threads));
        assert_same(&format!("{threads} threads"), run(), &directory);
    }
}

#[test]
fn with_the_sandbox_in_this_process_and_in_worker_processes() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let workers = Execution { workers: Some(binary::worker()), worker_count: 3, ..drive::on_threads(2) };
    drive::complete(&nano().scenario, &directory, &workers);
    assert_same("worker processes", run(), &directory);
}

#[test]
fn by_the_binary_on_one_two_and_four_threads() {
    let parent = tempfile::tempdir().unwrap();
    for threads in ["1", "2", "4"] {
        let directory = parent.path().join(threads);
        compare(&format!("--threads {threads}"), &directory, &mut command(&directory, threads));
    }
}

#[test]
fn in_another_directory_and_another_environment() {
    let parent = tempfile::tempdir().unwrap();
    let elsewhere = parent.path().join("a directory with spaces");
    std::fs::create_dir(&elsewhere).unwrap();
    let words = ["run", "nano", "--threads", "2", "--out", "run", "--set", "exec.progress=none"];
    let mut changed = binary::command(words);
    binary::elsewhere(&mut changed, &elsewhere);
    compare("another environment", &elsewhere.join("run"), &mut changed);
}

#[test]
fn under_every_instruction_set_of_this_processor() {
    let parent = tempfile::tempdir().unwrap();
    for isa in Isa::available() {
        let directory = parent.path().join(isa.name());
        let mut command = command(&directory, "2");
        command.env("TADPOLE_ISA", isa.name());
        compare(isa.name(), &directory, &mut command);
    }
}

#[test]
#[ignore = "builds the debug profile, which takes minutes; .ci/run has it, and so has `cargo test --release -p tadpole-tests -- --ignored`"]
fn in_debug_and_in_release() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let mut command = Command::new(binary::debug_tadpole());
    command.args(["run", "nano", "--threads", "2", "--set", "exec.progress=none", "--out"]).arg(&directory);
    compare("the debug profile", &directory, &mut command);
}
