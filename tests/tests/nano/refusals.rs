//! What makes no sense is refused before anything runs: exit code 2, and where and why.

use std::fs;

use tadpole_tests::binary;
use tadpole_tests::nano::run;

/// Asks for a run of `scenario`, in a directory of its own so that messages name no path of this machine.
fn refused(scenario: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("mine.toml"), scenario).unwrap();
    let outcome =
        binary::finish(binary::command(["run", "mine.toml", "--out", "run"]).current_dir(directory.path()));
    assert_eq!(outcome.code, 2, "{outcome}");
    assert_eq!(outcome.stdout, "", "{outcome}");
    assert!(!directory.path().join("run").exists(), "nothing was made");
    outcome.stderr
}

#[test]
fn an_unknown_key() {
    insta::assert_snapshot!(refused("seed = 1\n\n[curriculum]\nbatchs = 4\n"));
}

#[test]
fn a_value_of_the_wrong_type() {
    insta::assert_snapshot!(refused("[update]\nlearning_rate = \"small\"\n"));
}

#[test]
fn a_value_out_of_range() {
    insta::assert_snapshot!(refused("# Comment\n[rollout]\ngroup = 1\n"));
}

#[test]
fn a_length_penalty_that_lets_a_success_fall_to_a_failure() {
    insta::assert_snapshot!(refused("[reward.length]\nfrom_iteration = 1\nfree_tokens = 1\nalpha = 0.5\n"));
}

#[test]
fn several_faults_at_once() {
    insta::assert_snapshot!(refused("sed = 1\n[update]\nclip = 0\nbeta1 = 1.0\n[exec]\nisa = \"mmx\"\n"));
}

#[test]
fn a_file_that_is_no_toml() {
    insta::assert_snapshot!(refused("seed = = 1\n"));
}

#[test]
fn a_directory_that_exists() {
    let directory = tempfile::tempdir().unwrap();
    let there = directory.path().join("run");
    fs::create_dir(&there).unwrap();
    fs::write(there.join("mine"), "precious").unwrap();
    let outcome =
        binary::finish(binary::command(["run", "nano", "--out", "run"]).current_dir(directory.path()));
    assert_eq!(outcome.code, 2, "{outcome}");
    assert_eq!(fs::read_to_string(there.join("mine")).unwrap(), "precious");
    assert_eq!(fs::read_dir(&there).unwrap().count(), 1, "nothing was added");
    insta::assert_snapshot!(outcome.stderr);
}

#[test]
fn a_run_that_exists() {
    let before = tadpole_tests::bits::Bits::of(run());
    let outcome = binary::run(["run", "nano", "--out", run().to_str().unwrap()]);
    assert_eq!(outcome.code, 2, "{outcome}");
    assert!(outcome.stderr.contains("resume"), "{outcome}");
    assert!(before == tadpole_tests::bits::Bits::of(run()), "it was changed");
}

/// Where nothing can be written, as on a medium that is full.
#[cfg(target_os = "linux")]
fn full() -> std::process::Stdio {
    fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_said_changes_no_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let absent = directory.path().join("absent");
    let mut check = binary::command(["check", absent.to_str().unwrap()]);
    let outcome = binary::finish(check.stderr(full()));
    assert_eq!(outcome.code, 2, "{outcome}");
    let mut replay = binary::command(["replay", run().to_str().unwrap()]);
    let outcome = binary::finish(replay.stderr(full())).succeeded();
    assert!(outcome.stdout.contains("every world digest on the way agrees"), "{outcome}");
}
