//! The turns between iterations.

use bevy_ecs::prelude::Res;
use tadpole_kernel::decide::{DecideError, DecideResult, Decision};
use tadpole_kernel::event::{Event, IterationFinishedV1, IterationStartedV1, RunFinishedV1};
use tadpole_kernel::world::WorldView;

use crate::capability::Recipe;

/// Ends the iteration under way.
pub fn finish_iteration(world: WorldView) -> DecideResult {
    let event = Event::IterationFinished(IterationFinishedV1 { iteration: world.progress().iteration });
    Ok(Decision { events: vec![event], ..Decision::default() })
}

/// Starts the next iteration with the policy published last, or ends the run.
pub fn turn(world: WorldView, recipe: Res<Recipe>) -> DecideResult {
    let progress = world.progress();
    let policy = progress.policy.ok_or_else(|| DecideError::new("no policy was published"))?;
    let event = if progress.iteration.0 < recipe.iterations {
        Event::IterationStarted(IterationStartedV1 { iteration: progress.iteration.next(), policy })
    } else {
        Event::RunFinished(RunFinishedV1 { policy })
    };
    Ok(Decision { events: vec![event], ..Decision::default() })
}
