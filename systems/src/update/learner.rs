//! The trainer of the iteration under way, as a capability. It is a cache: what it holds follows from the world.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy_ecs::prelude::Resource;
use tadpole_gpu::backend::{Averaging, Backend, Trainer, TrainerConfig};
use tadpole_gpu::dppo::DppoParams;
use tadpole_gpu::optim::{Algorithm, Decay, MuonConfig, OptimiserConfig, Schedule};
use tadpole_gpu::weights::Weights;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{Context, DecideError};
use tadpole_kernel::id::Digest;
use tadpole_kernel::world::{Policy, WorldView};
use tadpole_scenarios::schema::{Divergence, Scenario};

use crate::capability::read_weights;

/// Trains. The trainer of the last update stays at hand, so that the next one need not restore it.
#[derive(Resource, Clone)]
pub struct Learner {
    backend: Arc<dyn Backend>,
    held: Arc<Mutex<Option<Held>>>,
}

struct Held {
    state: Digest,
    trainer: Box<dyn Trainer>,
}

impl Learner {
    /// A learner on `backend`.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, held: Arc::default() }
    }

    /// The trainer as the last version of the iteration left it; a fresh one of the published policy for its first update.
    pub(super) fn trainer(
        &self,
        world: &WorldView<'_>,
        recipe: &Scenario,
        blobs: &BlobReader,
    ) -> Result<Box<dyn Trainer>, DecideError> {
        let last = last_version(world)?;
        let config = trainer_config(recipe);
        let first = world.progress().updates == 0;
        if let (Some(state), false) = (last.state, first) {
            return self.at(state, last, &config, blobs);
        }
        let weights = read_weights(last.weights, blobs)?;
        match previous_state(world).filter(|_| !recipe.update.reset_moments) {
            None => self.backend.trainer(&weights, &config).context("starting a trainer"),
            Some(state) => {
                let mut trainer = self.restore(state, &weights, &config, blobs)?;
                trainer.restart(&weights).context("starting a trainer with older moments")?;
                Ok(trainer)
            }
        }
    }

    /// Keeps a trainer whose state has this digest.
    pub(super) fn keep(&self, state: Digest, trainer: Box<dyn Trainer>) {
        *self.lock() = Some(Held { state, trainer });
    }

    /// The weights to publish after the last version: the mean over the later updates, and how many they were.
    pub(super) fn published(
        &self,
        recipe: &Scenario,
        last: &Policy,
        state: Digest,
        blobs: &BlobReader,
    ) -> Result<(Weights, u32), DecideError> {
        let trainer = self.at(state, last, &trainer_config(recipe), blobs)?;
        let weights = trainer.averaged_weights().context("averaging weights")?;
        let averaged = trainer.averaged_steps() as u32;
        self.keep(state, trainer);
        Ok((weights, averaged.max(1)))
    }

    /// The trainer with this state: the one at hand, or one restored from its blob.
    fn at(
        &self,
        state: Digest,
        policy: &Policy,
        config: &TrainerConfig,
        blobs: &BlobReader,
    ) -> Result<Box<dyn Trainer>, DecideError> {
        match self.lock().take() {
            Some(held) if held.state == state => Ok(held.trainer),
            _ => self.restore(state, &read_weights(policy.weights, blobs)?, config, blobs),
        }
    }

    fn restore(
        &self,
        state: Digest,
        weights: &Weights,
        config: &TrainerConfig,
        blobs: &BlobReader,
    ) -> Result<Box<dyn Trainer>, DecideError> {
        let bytes = blobs.read(state).context("reading optimiser state")?;
        self.backend.restore(&bytes, weights.shape(), config).context("restoring a trainer")
    }

    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest version of the iteration under way.
pub(super) fn last_version<'w>(world: &WorldView<'w>) -> Result<&'w Policy, DecideError> {
    let last = world.progress().versions.last().and_then(|&id| world.policy(id));
    last.ok_or_else(|| DecideError::new("the iteration has no policy"))
}

/// Optimiser state after the last update of any earlier iteration.
fn previous_state(world: &WorldView<'_>) -> Option<Digest> {
    let iteration = world.progress().iteration;
    world
        .policies()
        .rev()
        .filter(|(_, policy)| policy.iteration < iteration)
        .find_map(|(_, policy)| policy.state)
}

/// What a scenario says about the optimiser.
pub(super) fn trainer_config(recipe: &Scenario) -> TrainerConfig {
    let update = &recipe.update;
    let optimiser = OptimiserConfig {
        algorithm: Algorithm::AdamW,
        beta1: update.beta1,
        beta2: update.beta2,
        epsilon: update.epsilon,
        weight_decay: update.weight_decay,
        clip_norm: Some(update.clip),
        muon: MuonConfig::default(),
    };
    // The scenario counts updates from 0, the trainer its steps from 1.
    TrainerConfig { optimiser, averaging: Averaging::From(u64::from(update.averaging_from) + 1) }
}

/// What a scenario says about the objective.
pub(super) fn dppo_params(recipe: &Scenario) -> DppoParams {
    let update = &recipe.update;
    DppoParams {
        delta_low: f64::from(update.delta_low),
        delta_high: f64::from(update.delta_high),
        divergence: match update.divergence {
            Divergence::Tv => tadpole_gpu::dppo::Divergence::Tv,
            Divergence::Kl => tadpole_gpu::dppo::Divergence::Kl,
        },
    }
}

/// The learning rate of an update: warm-up within each iteration, decay from iteration to iteration.
pub(super) fn learning_rate(recipe: &Scenario, iteration: u32, update: u32) -> f32 {
    let schedule = Schedule { warmup: u64::from(recipe.update.warmup), decay: Decay::Constant };
    let decayed = (1..iteration).fold(recipe.update.learning_rate, |rate, _| rate * recipe.update.decay);
    decayed * schedule.factor(u64::from(update))
}
