//! Scenarios that were edited after their run began: no command takes them for what the log was made with.

use std::fs;
use std::path::Path;

use tadpole_tests::binary::{self, Outcome};
use tadpole_tests::bits::{self, Bits};
use tadpole_tests::nano::run;

/// Replaces `was` in a file, which may be shared with other runs: it is made anew.
fn edit(path: &Path, was: &str, becomes: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(was), "{was} is not in {text}");
    fs::remove_file(path).unwrap();
    fs::write(path, text.replace(was, becomes)).unwrap();
}

/// A copy of nano's run whose scenario was edited.
fn edited(parent: &Path) -> String {
    let directory = parent.join("run");
    bits::copy(run(), &directory);
    edit(&directory.join("scenario.toml"), "learning_rate = ", "learning_rate = 0.0001 # ");
    directory.to_str().unwrap().to_owned()
}

fn failed(outcome: &Outcome, parts: &[&str]) {
    assert_eq!(outcome.code, 1, "{outcome}");
    for part in parts {
        assert!(outcome.stderr.contains(part), "{part}: {outcome}");
    }
}

#[test]
fn an_edited_scenario_is_refused_by_whatever_relies_on_it() {
    let parent = tempfile::tempdir().unwrap();
    let directory = edited(parent.path());
    let out = parent.path().join("out");
    let out = out.to_str().unwrap();
    let before = Bits::of(Path::new(&directory));
    let parts = ["the run was started with", "restore scenario.toml"];
    failed(&binary::run(["check", &directory]), &parts);
    failed(&binary::run(["salvage", &directory, "--out", out]), &parts);
    failed(&binary::run(["gc", &directory]), &parts);
    failed(&binary::run(["fork", &directory, "--at", "3", "--out", out]), &parts);
    failed(&binary::run(["resume", &directory]), &parts);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "nothing was made");
    assert!(before == Bits::of(Path::new(&directory)), "nothing was changed");
}

#[test]
fn an_edited_scenario_of_an_ancestor_is_found() {
    let parent = tempfile::tempdir().unwrap();
    let child = parent.path().join("child");
    let name = child.to_str().unwrap();
    let forked = binary::run(["fork", run().to_str().unwrap(), "--at", "3", "--out", name, "--json"]);
    let ancestor = forked.succeeded().json()["parent"].as_str().unwrap().to_owned();
    let _report = binary::run(["check", name]).succeeded();
    let file = format!("lineage/{ancestor}.toml");
    edit(&child.join(&file), "learning_rate = ", "learning_rate = 0.0001 # ");
    failed(&binary::run(["check", name]), &[&file, "the run was started with"]);
    edit(&child.join(&file), "learning_rate = ", "learning_rate = = ");
    failed(&binary::run(["check", name]), &[&file, "restore"]);
}

#[test]
fn what_lies_in_the_place_of_a_file_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    bits::copy(run(), &directory);
    let name = directory.to_str().unwrap();
    fs::write(directory.join("blobs/a"), "not of two digits: nobody's business").unwrap();
    let _report = binary::run(["gc", name]).succeeded();
    let free = (0..=255).map(|shelf| format!("blobs/{shelf:02x}"));
    let stray = free.into_iter().find(|shelf| !directory.join(shelf).exists()).unwrap();
    fs::write(directory.join(&stray), "a file where a directory belongs").unwrap();
    failed(&binary::run(["gc", name]), &[&stray, "move away"]);
    fs::remove_file(directory.join(&stray)).unwrap();
    let segment = "log/00000001.seg";
    fs::remove_file(directory.join(segment)).unwrap();
    fs::create_dir(directory.join(segment)).unwrap();
    failed(&binary::run(["check", name]), &[segment, "directory"]);
}

#[test]
fn a_lost_blob_is_told_from_a_log_that_was_changed() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    bits::copy(run(), &directory);
    let blob = Bits::of(&directory).blobs.into_iter().next().unwrap();
    fs::remove_file(directory.join("blobs").join(blob)).unwrap();
    let name = directory.to_str().unwrap();
    failed(&binary::run(["verify", name, "--sample", "0.01"]), &["is missing", "tadpole check"]);
}

#[test]
fn what_is_lost_for_good_is_said_and_what_can_be_restored() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    bits::copy(run(), &directory);
    let out = parent.path().join("out");
    let (name, out) = (directory.to_str().unwrap(), out.to_str().unwrap());
    fs::remove_file(directory.join("scenario.toml")).unwrap();
    failed(&binary::run(["salvage", name, "--out", out]), &[name, "restore scenario.toml"]);
    fs::remove_dir_all(directory.join("log")).unwrap();
    fs::create_dir(directory.join("log")).unwrap();
    failed(&binary::run(["check", name]), &["no committed step", "made again from its scenario"]);
    fs::copy(run().join("scenario.toml"), directory.join("scenario.toml")).unwrap();
    let outcome = binary::run(["resume", name]);
    assert_eq!(outcome.code, 2, "{outcome}");
    assert!(outcome.stderr.contains("its log holds no committed step"), "{outcome}");
}
