//! Publishes the policy of an iteration: the mean over its later updates.

use bevy_ecs::prelude::Res;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{DecideResult, Decision};
use tadpole_kernel::event::{Event, PolicyPublishedV1};
use tadpole_kernel::world::WorldView;

use super::Learner;
use crate::capability::Recipe;
use crate::ids::Ids;

/// Publishes what the iteration learnt; the policy it started from where its batch taught nothing.
pub fn publish(world: WorldView, recipe: Res<Recipe>, learner: Res<Learner>, blobs: Res<BlobReader>) -> DecideResult {
    let progress = world.progress();
    let mut decision = Decision::default();
    let last = world.last_version(progress)?;
    let (weights, averaged) = match last.state {
        Some(state) => {
            let (bytes, averaged) = learner.averaged(&recipe, last.weights, state, &blobs)?;
            (decision.blob(bytes), averaged)
        }
        None => (last.weights, 1),
    };
    let policy = Ids::after(progress).next();
    decision.push(Event::PolicyPublished(PolicyPublishedV1 { policy, iteration: progress.iteration, weights, averaged }));
    Ok(decision)
}
