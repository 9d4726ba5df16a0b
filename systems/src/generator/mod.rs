//! Where candidate tasks come from.

mod made;
mod mutation;
mod process;

use std::sync::Arc;

use bevy_ecs::prelude::Resource;
use tadpole_kernel::decide::DecideError;
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::{Direction, Event, Origin};
use tadpole_kernel::id::Iteration;

pub use made::Made;
pub use mutation::Mutation;
pub use process::{KIND as GENERATOR_EFFECT, Process, ProcessError};

use crate::capability::Judge;

/// Which raw draw of a run a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The run seed.
    pub seed: u64,
    /// The iteration it is made for.
    pub iteration: Iteration,
    /// Its index among the raw draws of the iteration.
    pub index: u32,
}

/// What a generator may use.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Runs code.
    pub judge: &'a Judge,
    /// Records answers from outside.
    pub effects: &'a EffectStore,
}

/// What a generator answers, with the answers from outside that it rests on: they stand in the decision whatever it makes of
/// them, a refusal included.
#[derive(Clone, Debug)]
pub struct Answered<T> {
    /// The answer.
    pub answer: T,
    /// The effects, in the order in which they were used.
    pub effects: Vec<Event>,
}

impl<T> Answered<T> {
    /// An answer for which nobody outside was asked.
    pub fn alone(answer: T) -> Self {
        Self { answer, effects: Vec::new() }
    }
}

/// Makes tasks. Whether a task is sound is not its word: validation runs the tests again.
pub trait Generator: Send + Sync {
    /// A task of the raw distribution; the same draw gives the same task.
    fn generate(&self, draw: Draw, means: &Means<'_>) -> Result<Answered<Made>, DecideError>;

    /// The same fault, easier or harder to find; `None` where nothing is left to move.
    fn refine(
        &self,
        origin: &Origin,
        direction: Direction,
        means: &Means<'_>,
    ) -> Result<Answered<Option<Made>>, DecideError>;
}

/// The generator of a run, as a capability.
#[derive(Resource, Clone)]
pub struct Synthesis(Arc<dyn Generator>);

impl Synthesis {
    /// Tasks of `generator`.
    #[must_use]
    pub fn new(generator: Arc<dyn Generator>) -> Self {
        Self(generator)
    }
}

impl std::ops::Deref for Synthesis {
    type Target = dyn Generator;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}
