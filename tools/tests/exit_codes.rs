//! The exit codes of the binary: 0 done, 1 failed, 2 usage. That there is a test here makes `cargo test --workspace` build
//! the binary, which the end-to-end tests then find.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::process::Command;

fn code(words: &[&str]) -> Option<i32> {
    Command::new(env!("CARGO_BIN_EXE_tadpole")).args(words).output().unwrap().status.code()
}

#[test]
fn asking_for_help_or_the_version_succeeds() {
    for words in [["--help"], ["--version"]] {
        assert_eq!(code(&words), Some(0), "{words:?}");
    }
    assert_eq!(code(&["run", "--print-defaults"]), Some(0));
}

#[test]
fn what_is_not_understood_is_a_usage_error() {
    for words in [&[] as &[&str], &["runn"], &["run"], &["run", "no-such-scenario"], &["show", "no-such-run"]]
    {
        assert_eq!(code(words), Some(2), "{words:?}");
    }
}

#[test]
fn stepping_without_a_terminal_is_refused_and_points_to_show() {
    let run = tempfile::tempdir().unwrap();
    std::fs::create_dir(run.path().join("log")).unwrap();
    std::fs::write(run.path().join("scenario.toml"), "").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tadpole")).arg("step").arg(run.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("needs a terminal") && said.contains("tadpole show"), "{said}");
}
