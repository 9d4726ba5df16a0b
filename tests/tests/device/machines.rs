//! Machines with and without a device that can be used: nothing panics, and people are told what is there and what to do.

use std::process::Command;

use tadpole_emulator::Machine;
use tadpole_tests::binary::{self, Outcome};
use tadpole_tests::scratch::workspace;

/// A machine with a device.
pub(crate) fn with_device() -> Machine {
    Machine::with_device(&workspace().join("gpu/kernels")).unwrap_or_else(|error| panic!("{error}"))
}

/// What `tadpole doctor` says about devices on a machine.
fn doctor(machine: &Machine) -> String {
    let mut command = binary::command(["doctor"]);
    let Outcome { code, stdout, stderr } = binary::finish(machine.on(&mut command));
    assert_eq!(code, 0, "{stderr}");
    let found = stdout.lines().skip_while(|line| !line.contains(" CUDA "));
    let mut lines: Vec<&str> = found.take(2).collect();
    // What follows the finding, where it is good, is another finding.
    lines.retain(|line| line.contains(" CUDA ") || line.starts_with("     "));
    lines.join("\n")
}

/// A library without any function.
fn empty_library() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let (source, library) = (directory.path().join("empty.c"), directory.path().join("empty.so"));
    std::fs::write(&source, "int tadpole_is_no_driver;\n").unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(compiled.expect("a C compiler `cc` is needed").success());
    std::fs::read(library).unwrap()
}

#[test]
fn doctor_says_what_was_found_and_why_not() {
    let directory = tempfile::tempdir().unwrap();
    let no_driver = Machine::with_file(directory.path(), b"no library at all").unwrap();
    let mut story = vec![("no driver", doctor(&no_driver))];
    let directory = tempfile::tempdir().unwrap();
    let another = Machine::with_file(directory.path(), &empty_library()).unwrap();
    story.push(("another library of that name", doctor(&another)));
    for (what, settings) in [
        ("a driver that is too old", "driver=12080"),
        ("no device", "devices=0"),
        ("a device that is too old", "capability=75"),
        ("a driver that does not start", "init=999"),
        ("two devices", "devices=2"),
        ("a device", ""),
    ] {
        story.push((what, doctor(&with_device().set(settings))));
    }
    let story: Vec<String> = story.iter().map(|(what, said)| format!("-- {what}\n{said}")).collect();
    insta::assert_snapshot!(story.join("\n"));
}

/// Runs nano in a fresh directory on a machine.
fn nano(machine: &Machine, device: &str) -> Outcome {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let directory = directory.to_str().expect("a path in UTF-8");
    let arguments = ["run", "nano", "--device", device, "--out", directory, "--set", "exec.progress=none"];
    let mut command = binary::command(arguments);
    binary::finish(machine.on(&mut command))
}

#[test]
fn asking_for_a_device_that_is_not_there_fails_and_says_why() {
    let outcome = nano(&with_device().set("devices=0"), "cuda");
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(
        outcome.stderr.contains("no CUDA device can be used: the NVIDIA driver finds no device"),
        "{outcome}"
    );
    assert!(outcome.stderr.contains("tadpole doctor"), "{outcome}");
}

#[test]
fn auto_is_content_with_the_processor() {
    let _done = nano(&with_device().set("driver=12080"), "auto").succeeded();
}

#[test]
fn a_device_without_memory_left_fails_and_says_for_what() {
    let outcome = nano(&with_device().set("memory=4000000"), "cuda");
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(outcome.stderr.contains("the device has no "), "{outcome}");
    assert!(!outcome.stderr.contains("panicked"), "{outcome}");
}
