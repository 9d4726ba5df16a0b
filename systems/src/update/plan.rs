//! Which tasks an update visits, and which policy version plays them.

use tadpole_kernel::event::Purpose;
use tadpole_kernel::id::{StableId, Version, Visit};
use tadpole_kernel::world::{Progress, WorldView};
use tadpole_scenarios::schema::Scenario;

/// Updates of the iteration under way: none where its batch is empty.
#[must_use]
pub fn updates(progress: &Progress, recipe: &Scenario) -> u32 {
    if progress.batch.is_empty() { 0 } else { recipe.update.updates }
}

/// Whether the trajectories of the next update are still to be played.
#[must_use]
pub fn needs_rollouts(world: &WorldView<'_>, progress: &Progress, recipe: &Scenario) -> bool {
    let played = |task: StableId| {
        let wanted = Visit(progress.updates);
        world.played_on(task).any(|(_, it)| it.purpose == Purpose::Rollout && it.visit == wanted)
    };
    !recipe.curriculum.train_on_calibration
        && !tasks(progress, recipe, progress.updates).into_iter().any(played)
}

/// The tasks of update `update`: the batch is walked through in its order, again and again.
///
/// No task stands twice in one update; a batch that is smaller than an update gives a smaller update.
#[must_use]
pub fn tasks(progress: &Progress, recipe: &Scenario, update: u32) -> Vec<StableId> {
    let batch = &progress.batch;
    let groups = (recipe.update.groups as usize).min(batch.len());
    (0..groups).map(|offset| batch[(update as usize * groups + offset) % batch.len()]).collect()
}

/// The version that plays the trajectories of update `update`: `max(0, update - lag)`.
#[must_use]
pub fn playing_version(recipe: &Scenario, update: u32) -> Version {
    Version(update.saturating_sub(recipe.rollout.lag))
}
