//! A share of what `--bin crash` does: the real process killed at random instants.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use tadpole_tests::crash::{Campaign, place};

#[test]
fn nano_killed_at_random_instants_ends_with_the_bytes_of_the_uninterrupted_run() {
    let directory = place();
    let campaign = Campaign { scenario: "nano".to_owned(), kills: 24, seed: 1, threads: 2 };
    let tally = campaign.carry_out(&directory, |_| {});
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(tally.kills, 24);
}
