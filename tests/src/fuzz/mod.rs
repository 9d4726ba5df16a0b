//! Fuzzing what reads bytes that others wrote: the log reader, the blob store, the scenario parser.
//!
//! Inputs are valid ones, changed. A log is changed at a layer of its own - bytes, frames, bodies, chain - and what lies
//! above is sealed again, so that every layer is reached. What fails is shrunk and printed, with the seed that leads to it.

mod blobs;
mod log;
mod scenario;

use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Cases between two looks at the clock.
const BATCH: u32 = 64;

/// What is fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The log reader, the fold behind it, and the check.
    Log,
    /// The blob store.
    Blobs,
    /// The scenario parser.
    Scenario,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Log, Self::Blobs, Self::Scenario];

    /// Fuzzes for `time`; returns how many inputs that were.
    ///
    /// # Panics
    /// Where an input does what it must not.
    pub fn fuzz(self, time: Duration, seed: u64) -> u64 {
        match self {
            Self::Log => log::fuzz(time, seed),
            Self::Blobs => blobs::fuzz(time, seed),
            Self::Scenario => scenario::fuzz(time, seed),
        }
    }
}

/// Draws inputs until `time` has passed and requires that `test` accepts each.
fn until<S: Strategy>(
    time: Duration,
    seed: u64,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) -> u64 {
    let end = now() + time;
    let mut cases = 0;
    for batch in 0_u64.. {
        let key: Vec<u8> = [seed, batch, 0, 0].iter().flat_map(|part| part.to_le_bytes()).collect();
        let config = Config { cases: BATCH, failure_persistence: None, ..Config::default() };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &key);
        let outcome = TestRunner::new_with_rng(config, rng).run(strategy, &test);
        outcome.unwrap_or_else(|error| panic!("seed {seed}, batch {batch}: {error}"));
        cases += u64::from(BATCH);
        if now() >= end {
            break;
        }
    }
    cases
}

#[expect(clippy::disallowed_methods, reason = "when to stop")]
fn now() -> Instant {
    Instant::now()
}
