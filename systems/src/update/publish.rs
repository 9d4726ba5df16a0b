//! Publishes the policy of an iteration: the mean over its later updates.

use bevy_ecs::prelude::Res;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{DecideResult, Decision};
use tadpole_kernel::event::{Event, PolicyPublishedV1};
use tadpole_kernel::world::WorldView;

use super::learner::{Learner, last_version};
use crate::capability::Recipe;
use crate::ids::Ids;

/// Publishes what the iteration learnt; the policy it started from where its batch taught nothing.
pub fn publish(
    world: WorldView,
    recipe: Res<Recipe>,
    learner: Res<Learner>,
    blobs: Res<BlobReader>,
) -> DecideResult {
    let progress = world.progress();
    let mut decision = Decision::default();
    let last = last_version(&world)?;
    let (weights, averaged) = match last.state.filter(|_| progress.updates > 0) {
        Some(state) => {
            let (weights, averaged) = learner.published(&recipe, last, state, &blobs)?;
            (decision.blob(weights.canonical_bytes()), averaged)
        }
        None => (last.weights, 1),
    };
    let policy = Ids::after(progress).next();
    decision.push(Event::PolicyPublished(PolicyPublishedV1 {
        policy,
        iteration: progress.iteration,
        weights,
        averaged,
    }));
    Ok(decision)
}
