//! What a run is, as data: enough to name it and to know whether a scenario still matches it.

use super::error::RunError;
use super::lineage::{ForkPoint, Lineage};
use crate::event::{Event, RunForkedV1, RunStartedV1};
use crate::id::Digest;
use crate::log::FORMAT;

const RUN_DOMAIN: &str = "tadpole 2026 run id v1";
const FORK_DOMAIN: &str = "tadpole 2026 run id of a fork v1";

/// What the first event of a run says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RunHeader {
    /// Digest of the canonical semantic scenario, without `[exec]`.
    pub scenario: Digest,
    /// Version of the exact arithmetic.
    pub arithmetic: u32,
    /// The run seed.
    pub seed: u64,
    /// Number of training iterations.
    pub iterations: u32,
}

impl RunHeader {
    /// The run's id: digest of semantic scenario, log format and arithmetic version.
    #[must_use]
    pub fn run(&self) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key(RUN_DOMAIN);
        hasher.update(&self.scenario.0);
        hasher.update(&FORMAT.to_le_bytes());
        hasher.update(&self.arithmetic.to_le_bytes());
        Digest(*hasher.finalize().as_bytes())
    }

    /// The event that starts the run.
    #[must_use]
    pub fn event(&self) -> Event {
        let &Self { scenario, arithmetic, seed, iterations } = self;
        Event::RunStarted(RunStartedV1 { run: self.run(), scenario, arithmetic, seed, iterations })
    }

    /// The id of the run that goes on from `point` under this scenario. Other than that of a run which has the scenario from
    /// the start: their logs differ.
    #[must_use]
    pub fn forked(&self, point: &ForkPoint) -> Digest {
        let ForkPoint { parent, step, chain } = point;
        let mut hasher = blake3::Hasher::new_derive_key(FORK_DOMAIN);
        hasher.update(&self.run().0);
        hasher.update(&parent.0);
        hasher.update(&step.0.to_le_bytes());
        hasher.update(&chain.0);
        Digest(*hasher.finalize().as_bytes())
    }

    /// The event with which that run begins.
    #[must_use]
    pub fn fork_event(&self, point: &ForkPoint) -> Event {
        let &Self { scenario, arithmetic, seed: _, iterations } = self;
        let &ForkPoint { parent, step, chain } = point;
        let run = self.forked(point);
        Event::RunForked(RunForkedV1 { run, scenario, arithmetic, iterations, parent, step, chain })
    }

    /// The header that an event states.
    #[must_use]
    pub fn of(event: &RunStartedV1) -> Self {
        let &RunStartedV1 { run: _, scenario, arithmetic, seed, iterations } = event;
        Self { scenario, arithmetic, seed, iterations }
    }

    /// Refuses a run that was started (or, a fork, went on) with something else.
    pub(crate) fn check(&self, lineage: &Lineage) -> Result<(), RunError> {
        let given = *self;
        let was = lineage.header();
        let changed = |field, recorded: String, given: String| {
            Err(RunError::ScenarioChanged { field, recorded, given })
        };
        if was.arithmetic != given.arithmetic {
            return changed("arithmetic version", was.arithmetic.to_string(), given.arithmetic.to_string());
        }
        if was.seed != given.seed {
            return changed("seed", was.seed.to_string(), given.seed.to_string());
        }
        if was.iterations != given.iterations {
            return changed("number of iterations", was.iterations.to_string(), given.iterations.to_string());
        }
        if was.scenario != given.scenario {
            return changed("scenario (digest)", was.scenario.to_string(), given.scenario.to_string());
        }
        let run = lineage.point().map_or_else(|| given.run(), |point| given.forked(&point));
        if lineage.run() != run {
            return changed("run id", lineage.run().to_string(), run.to_string());
        }
        Ok(())
    }
}
