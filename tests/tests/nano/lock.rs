//! One writer a run, whatever process it is in.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use tadpole_tests::bits::assert_same;
use tadpole_tests::nano::{nano, run};
use tadpole_tests::{binary, drive};

#[test]
fn a_process_is_refused_by_the_name_of_this_one() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let kernel = drive::start(&nano().scenario, &directory, &drive::on_threads(1));
    let log = fs::read(directory.join("log/00000000.seg")).unwrap();
    for command in ["resume", "gc"] {
        let refused = binary::run([command, directory.to_str().unwrap()]);
        assert_eq!(refused.code, 1, "{refused}");
        assert!(refused.stderr.contains(&format!("held by process {}", std::process::id())), "{refused}");
    }
    assert_eq!(fs::read(directory.join("log/00000000.seg")).unwrap(), log);
    drop(kernel);
    let _summary = binary::run(["resume", directory.to_str().unwrap()]).succeeded();
    assert_same("resumed once it was free", run(), &directory);
}

#[test]
fn of_two_processes_the_second_is_refused_by_the_name_of_the_first() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let name = directory.to_str().unwrap();
    let start = ["run", "nano", "--out", name, "--set", "exec.progress=none"];
    let mut first = binary::command(start).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Once it has stopped, it holds the lock for as long as this takes.
    while !fs::read_to_string(directory.join("LOCK")).is_ok_and(|text| !text.is_empty()) {
        assert!(first.try_wait().unwrap().is_none(), "it ended before it was seen");
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(first.id(), "STOP");
    let refused = binary::run(["resume", name]);
    signal(first.id(), "CONT");
    assert!(first.wait().unwrap().success());
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains(&format!("held by process {}", first.id())), "{refused}");
    assert_same("the first was not disturbed", run(), &directory);
}

fn signal(process: u32, name: &str) {
    let sent = std::process::Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(sent.unwrap().success());
}
