//! Which tasks an update visits, and which policy version plays them.

use tadpole_kernel::event::Purpose;
use tadpole_kernel::id::{StableId, Version, Visit};
use tadpole_kernel::world::{Progress, Trajectory, WorldView};
use tadpole_scenarios::schema::Scenario;

/// Updates of the iteration under way: none where its batch is empty.
#[must_use]
pub fn updates(progress: &Progress, recipe: &Scenario) -> u32 {
    if progress.batch.is_empty() { 0 } else { recipe.update.updates }
}

/// Tasks whose trajectories are to be played before the next update; none where it can be taken.
///
/// The batch is walked through in its order, again and again. No task stands twice in one update; a batch that is smaller than
/// an update gives a smaller update. With `refill`, tasks that taught nothing are made up for by the next ones.
#[must_use]
pub fn to_play(world: &WorldView<'_>, progress: &Progress, recipe: &Scenario) -> Vec<StableId> {
    if recipe.curriculum.train_on_calibration {
        return Vec::new();
    }
    let played = played(world, progress, recipe);
    let wanted = recipe.update.groups as usize;
    let missing = match played.len() {
        0 => wanted,
        _ if recipe.update.refill => {
            let teaching = played.iter().filter(|&&task| teaches(world, progress, task)).count();
            wanted.saturating_sub(teaching)
        }
        _ => 0,
    };
    order(progress, recipe, progress.updates).skip(played.len()).take(missing).collect()
}

/// The tasks that are played first for the update behind the next one, where their trajectories do not hang on that: with a lag,
/// an older version plays them.
#[must_use]
pub fn playable_ahead(progress: &Progress, recipe: &Scenario) -> Vec<StableId> {
    let update = progress.updates + 1;
    let known = playing_version(recipe, update) <= Version(progress.updates);
    if recipe.curriculum.train_on_calibration || update >= updates(progress, recipe) || !known {
        return Vec::new();
    }
    order(progress, recipe, update).take(recipe.update.groups as usize).collect()
}

/// Tasks that the next update trains on, in the order of their visits.
#[must_use]
pub fn tasks(world: &WorldView<'_>, progress: &Progress, recipe: &Scenario) -> Vec<StableId> {
    if recipe.curriculum.train_on_calibration {
        order(progress, recipe, progress.updates).take(recipe.update.groups as usize).collect()
    } else {
        played(world, progress, recipe)
    }
}

/// The version that plays the trajectories of update `update`: `max(0, update - lag)`.
#[must_use]
pub fn playing_version(recipe: &Scenario, update: u32) -> Version {
    Version(update.saturating_sub(recipe.rollout.lag))
}

/// The trajectories of `task` that were played for the next update.
pub(super) fn rollouts<'w>(
    world: &WorldView<'w>,
    progress: &Progress,
    task: StableId,
) -> impl Iterator<Item = (StableId, &'w Trajectory)> + use<'w> {
    let visit = Visit(progress.updates);
    world.played_on(task).filter(move |(_, it)| it.purpose == Purpose::Rollout && it.visit == visit)
}

/// The whole batch, from the task that an update visits first.
fn order<'a>(
    progress: &'a Progress,
    recipe: &Scenario,
    update: u32,
) -> impl Iterator<Item = StableId> + use<'a> {
    let batch = &progress.batch;
    let groups = (recipe.update.groups as usize).min(batch.len());
    let first = if batch.is_empty() { 0 } else { update as usize * groups % batch.len() };
    batch[first..].iter().chain(&batch[..first]).copied()
}

/// Tasks played for the next update so far: they are the first ones of the order.
fn played(world: &WorldView<'_>, progress: &Progress, recipe: &Scenario) -> Vec<StableId> {
    order(progress, recipe, progress.updates)
        .take_while(|&task| rollouts(world, progress, task).next().is_some())
        .collect()
}

/// Whether the group of `task` has rewards that differ.
fn teaches(world: &WorldView<'_>, progress: &Progress, task: StableId) -> bool {
    let mut rewards = rollouts(world, progress, task).map(|(_, it)| it.raw_reward);
    let first = rewards.next();
    rewards.any(|reward| Some(reward) != first)
}
