//! Scripted experts: they play training tasks through the real harness and sandbox, and make mistakes on purpose.
//!
//! An expert localises like a person, from the statement and from failing tests, and knows the right fix from the gold patch.

mod drill;
mod edit;
mod episode;
mod expert;
mod mistake;
mod script;

use std::ops::Range;
use std::sync::Arc;

use tadpole_kernel::decide::DecideError;
use tadpole_scenarios::draws::Draws;
use tadpole_scenarios::schema::Demonstrations;
use tadpole_scenarios::world::{Blueprint, MutationError, Split, WorldError, WorldSpec};

use crate::capability::Judge;
use crate::codec::Codec;
use crate::generator::Mutation;
use crate::harness::Harness;
use crate::sandbox::{Limits, SandboxError};

pub use script::Script;

/// What a policy learns from: a whole history, and which of its tokens the expert wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demonstration {
    /// Every token.
    pub tokens: Vec<u32>,
    /// The expert's, ascending and disjoint.
    pub spans: Vec<Range<u32>>,
}

/// How imperfect an expert is: chances, each drawn once an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// A first edit that is wrong, seen to be wrong by its tests, and mended.
    pub wrong_edit: f64,
    /// After a wrong first edit: an answer at once, without a test, that leaves the task unsolved.
    pub hasty: f64,
    /// A mistyped `old_string`, answered with an error.
    pub typo: f64,
    /// A path that does not exist, answered with an error.
    pub bad_path: f64,
    /// An edit that changes nothing, answered with an error.
    pub no_change: f64,
}

impl Noise {
    /// The noise of the next demonstration of a stage.
    pub fn draw(stage: &Demonstrations, draws: &mut dyn Draws) -> Self {
        if !draws.chance(stage.noisy) {
            return Self::default();
        }
        let &Demonstrations { noisy: _, wrong_edit, hasty, typo, bad_path, no_change } = stage;
        Self { wrong_edit, hasty, typo, bad_path, no_change }
    }
}

/// Why there is no demonstration.
#[derive(Debug, thiserror::Error)]
pub enum DemonstrationError {
    /// The task could not be made.
    #[error(transparent)]
    Task(#[from] DecideError),
    /// The project could not be laid out.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A source could not be mutated.
    #[error(transparent)]
    Mutation(#[from] MutationError),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// Plays demonstrations.
#[derive(Clone)]
pub struct Demonstrator {
    harness: Arc<dyn Harness>,
    codec: Arc<dyn Codec>,
    judge: Judge,
    spec: WorldSpec,
    generator: Mutation,
}

/// Faults tried for a task of a demonstration.
const ATTEMPTS: u32 = 8;

/// Fuel that a call of a task's function may use. What the templates do takes far less, and a fault that never ends is no task:
/// it should not cost more than it takes to see that.
const FUEL: u64 = 200;

impl Demonstrator {
    /// Demonstrations of `harness` on training projects of `spec`.
    #[must_use]
    pub fn new(harness: Arc<dyn Harness>, codec: Arc<dyn Codec>, judge: Judge, spec: WorldSpec) -> Self {
        let generator = Mutation::new(spec.clone(), ATTEMPTS);
        let limits = Limits { fuel: judge.limits.fuel.min(FUEL), ..judge.limits };
        let judge = Judge { limits, ..judge };
        Self { harness, codec, judge, spec, generator }
    }

    /// An episode on a task of the raw distribution. `None` where the expert could not get through it: the file is too long
    /// to be shown, or the harness ended the episode.
    pub fn episode(
        &self,
        noise: &Noise,
        draws: &mut dyn Draws,
    ) -> Result<Option<Script>, DemonstrationError> {
        let blueprint = Blueprint::draw(&self.spec, Split::Train, draws);
        let made = self.generator.task(&blueprint, &self.judge)?;
        expert::play(self, &made, noise, draws)
    }

    /// A drill: a module in which every function is faulty, and mended in turn.
    pub fn drill(&self, noise: &Noise, draws: &mut dyn Draws) -> Result<Option<Script>, DemonstrationError> {
        drill::play(self, noise, draws)
    }
}

#[cfg(test)]
mod tests;
