//! A minute of fuzzing; `--bin fuzz` goes on for longer.

use std::time::Duration;

use tadpole_tests::fuzz::Target;

/// What each of the three targets gets.
const SHARE: Duration = Duration::from_secs(20);

#[test]
fn no_changed_log_is_believed_or_ends_the_program() {
    assert!(Target::Log.fuzz(SHARE, 1) > 0);
}

#[test]
fn no_changed_blob_is_believed_or_ends_the_program() {
    assert!(Target::Blobs.fuzz(SHARE, 1) > 0);
}

#[test]
fn no_changed_scenario_ends_the_program() {
    assert!(Target::Scenario.fuzz(SHARE, 1) > 0);
}
