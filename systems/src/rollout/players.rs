//! Everything that plays episodes needs, as a capability.

use std::collections::BTreeMap;
use std::sync::Arc;

use bevy_ecs::prelude::Resource;
use tadpole_gpu::ArithmeticError;
use tadpole_gpu::backend::Policy;
use tadpole_gpu::sample::SampleError;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{Context, DecideError, Proposal};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::id::{Digest, Iteration, Version};
use tadpole_kernel::world::WorldView;

use super::assignment::{Assignment, Played};
use super::deal::Deal;
use super::guess::Guesses;
use super::lane;
use crate::capability::{Judge, Recipe, Shelf};
use crate::grading::GradeError;
use crate::harness::{Harness, TokenBudget};
use crate::meter::Meter;
use crate::sandbox::{SandboxError, Witness};
use crate::tokenizer::{Tokenizer, TokenizerError};

/// The machine failed while an episode was played. What the policy does wrong is never this.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The arithmetic found something that is not a number.
    #[error(transparent)]
    Arithmetic(#[from] ArithmeticError),
    /// A distribution could not be sampled.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A task cannot be graded by anyone.
    #[error(transparent)]
    Ungradable(#[from] GradeError),
    /// Grading failed for a reason outside the policy.
    #[error("grading failed: {0}")]
    Grading(String),
    /// A text could not be encoded.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// Plays episodes on all cores.
#[derive(Resource, Clone)]
pub struct Players {
    pub(super) recipe: Recipe,
    pub(super) judge: Judge,
    pub(super) harness: Arc<dyn Harness>,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) end_of_turn: u32,
    pub(super) budget: TokenBudget,
    pub(super) meter: Meter,
    pub(super) guesses: Guesses,
    shelf: Shelf,
}

/// Episodes that one core decodes together: enough to amortise the weights, few enough for their keys and values to stay in
/// its caches (about 300 KB an episode of the shipped policy).
pub(super) const SEATS: usize = 16;
/// Episodes of one task that a lane takes at a time at most.
const HAND: usize = 8;
const _: () = assert!(0 < HAND && HAND <= SEATS, "a lane without episodes has the seats for any hand");

impl Players {
    /// Players of `harness`; `end_of_turn` is the token that ends a turn.
    #[must_use]
    pub fn new(
        recipe: Recipe,
        judge: Judge,
        harness: Arc<dyn Harness>,
        (tokenizer, end_of_turn): (Arc<Tokenizer>, u32),
        shelf: Shelf,
    ) -> Self {
        let budget = TokenBudget { context: recipe.harness.context, turn: recipe.harness.turn_tokens };
        Self {
            recipe,
            judge,
            harness,
            tokenizer,
            end_of_turn,
            budget,
            meter: Meter::default(),
            guesses: Guesses::default(),
            shelf,
        }
    }

    /// The same players, counting what they play in `meter`.
    #[must_use]
    pub fn metered(self, meter: &Meter) -> Self {
        Self { meter: meter.clone(), ..self }
    }

    /// The same players under watch: verdicts that depend on the machine are recorded as effects.
    #[must_use]
    pub fn witnessed(&self, effects: &EffectStore) -> (Self, Witness) {
        let (judge, witness) = self.judge.witnessed(effects);
        (Self { judge, ..self.clone() }, witness)
    }

    /// The same players, for whom an episode may turn out to be what `proposal` says of it. What they play is the same;
    /// where the proposal is right, they read an episode at once instead of drawing it token by token.
    #[must_use]
    pub fn guessing(self, proposal: &Proposal) -> Self {
        Self { guesses: Guesses::of(proposal), ..self }
    }

    /// Plays `assignments`, each by its version of the iteration under way; results stand in their order.
    ///
    /// # Errors
    /// Where the machine failed; what a policy does wrong is an outcome.
    pub fn play(
        &self,
        world: &WorldView<'_>,
        blobs: &BlobReader,
        assignments: &[Assignment],
    ) -> Result<Vec<Played>, DecideError> {
        let mut by_version: BTreeMap<Version, Vec<usize>> = BTreeMap::new();
        for (index, assignment) in assignments.iter().enumerate() {
            by_version.entry(assignment.version).or_default().push(index);
        }
        let mut played: Vec<(usize, Played)> = Vec::with_capacity(assignments.len());
        for (version, indices) in by_version {
            let policy = self.shelf.policy(weights_of(world, version)?, blobs)?;
            let batch: Vec<(usize, &Assignment)> =
                indices.into_iter().map(|index| (index, &assignments[index])).collect();
            played.extend(self.play_batch(policy.as_ref(), &batch).context("playing episodes")?);
        }
        Ok(in_order(played))
    }

    /// Plays `assignments` by the policy with these weights, whatever versions they name; results stand in their order.
    ///
    /// # Errors
    /// Where the machine failed; what a policy does wrong is an outcome.
    pub fn play_by(
        &self,
        weights: Digest,
        blobs: &BlobReader,
        assignments: &[Assignment],
    ) -> Result<Vec<Played>, DecideError> {
        let policy = self.shelf.policy(weights, blobs)?;
        let batch: Vec<(usize, &Assignment)> = assignments.iter().enumerate().collect();
        Ok(in_order(self.play_batch(policy.as_ref(), &batch).context("playing episodes")?))
    }

    /// What counts the episodes that they play.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The recipe they play by.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Deals the assignments out to the lanes. Where a lane fails nothing more is dealt, and an error is returned; which one hangs
    /// on who was faster, and is told to people only: nothing of it is recorded.
    fn play_batch(
        &self,
        policy: &dyn Policy,
        assignments: &[(usize, &Assignment)],
    ) -> Result<Vec<(usize, Played)>, PlayError> {
        let _playing = self.meter.playing(assignments.len());
        let deal = Deal::new(assignments, HAND, self.recipe.threads());
        let lanes = deal.lanes();
        let lane = || lane::run(self, policy, &deal);
        if lanes == 1 {
            return lane();
        }
        let results: Vec<_> = std::thread::scope(|scope| {
            let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
            lanes
                .into_iter()
                .map(|lane| lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        results.into_iter().try_fold(Vec::new(), |mut all, played| {
            all.extend(played?);
            Ok(all)
        })
    }
}

/// Episodes in the order of their indices.
fn in_order(mut played: Vec<(usize, Played)>) -> Vec<Played> {
    played.sort_unstable_by_key(|(index, _)| *index);
    played.into_iter().map(|(_, played)| played).collect()
}

/// Weights of a version of the iteration under way.
pub(crate) fn weights_of(world: &WorldView<'_>, version: Version) -> Result<Digest, DecideError> {
    let progress = world.progress();
    let policy = progress.versions.get(version.0 as usize).and_then(|&id| world.policy(id));
    let Iteration(iteration) = progress.iteration;
    policy.map(|policy| policy.weights).ok_or_else(|| {
        DecideError::new(format!(
            "iteration {iteration} has no policy version {version}: was its publication lost?"
        ))
    })
}
