//! A minute of fuzzing where everything must be checked, seconds elsewhere; `--bin fuzz` goes on for longer.

use std::time::Duration;

use tadpole_tests::binary::is_ci;
use tadpole_tests::fuzz::Target;

/// What each of the three targets gets.
fn share() -> Duration {
    Duration::from_secs(if is_ci() { 20 } else { 3 })
}

#[test]
fn no_changed_log_is_believed_or_ends_the_program() {
    assert!(Target::Log.fuzz(share(), 1) > 0);
}

#[test]
fn no_changed_blob_is_believed_or_ends_the_program() {
    assert!(Target::Blobs.fuzz(share(), 1) > 0);
}

#[test]
fn no_changed_scenario_ends_the_program() {
    assert!(Target::Scenario.fuzz(share(), 1) > 0);
}
