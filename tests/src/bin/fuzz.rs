//! Fuzzes the readers of foreign bytes, for as long as one likes:
//! `cargo run -p tadpole-tests --release --bin fuzz -- --seconds N`.

use std::time::Duration;

use clap::{Parser, ValueEnum};
use tadpole_tests::fuzz::Target;

/// Fuzzes the log reader, the blob store and the scenario parser, each for a third of the time.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long, in all.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// What inputs are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One of them alone.
    #[arg(long)]
    only: Option<Only>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Only {
    Log,
    Blobs,
    Scenario,
}

fn main() {
    let Arguments { seconds, seed, only } = Arguments::parse();
    let targets = match only {
        None => Target::ALL.to_vec(),
        Some(Only::Log) => vec![Target::Log],
        Some(Only::Blobs) => vec![Target::Blobs],
        Some(Only::Scenario) => vec![Target::Scenario],
    };
    let share = Duration::from_secs(seconds) / targets.len() as u32;
    for target in targets {
        println!("{target:?}: {} inputs, none of which did what it must not", target.fuzz(share, seed));
    }
}
