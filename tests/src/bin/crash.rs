//! Kills Tadpole at random instants, for as long as one likes: `cargo run -p tadpole-tests --release --bin crash -- --kills N`.
#![allow(clippy::unwrap_used, reason = "a test: it fails by panicking")]

use clap::Parser;
use tadpole_tests::crash::{Campaign, place};

/// Kills runs at random instants, resumes them, and requires the bytes of a run that nothing happened to.
#[derive(Debug, Parser)]
struct Arguments {
    /// Processes to kill.
    #[arg(long, default_value_t = 100)]
    kills: u64,
    /// The scenario: nano or smoke.
    #[arg(long, default_value = "nano")]
    scenario: String,
    /// What the instants are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads of each process.
    #[arg(long, default_value_t = 2)]
    threads: u32,
}

fn main() {
    let Arguments { kills, scenario, seed, threads } = Arguments::parse();
    let directory = place();
    let campaign = Campaign { scenario, kills, seed, threads };
    let tally = campaign.carry_out(&directory, |tally| {
        if tally.runs.is_multiple_of(10) {
            println!("{tally:?}");
        }
    });
    std::fs::remove_dir_all(&directory).unwrap();
    println!("{tally:?}: every run ended with the bytes of the uninterrupted one");
}
