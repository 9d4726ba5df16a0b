//! Completes the batch of an iteration: fills it where the budget was spent, and fixes the order of visits.

use bevy_ecs::prelude::Res;
use tadpole_kernel::decide::{DecideResult, Decision};
use tadpole_kernel::draws::{Stream, StreamKey};
use tadpole_kernel::event::{BatchClosedV1, Event, TaskAdmittedV1};
use tadpole_kernel::world::{Progress, Status, WorldView};

use super::round::{Filler, nearest};
use super::rule::{Banded, Calibrated};
use crate::capability::Recipe;
use crate::ids::Ids;

/// Fills the batch with the nearest mixed groups, where the scenario says so, and closes it.
pub fn close(world: WorldView, recipe: Res<Recipe>) -> DecideResult {
    let progress = world.progress();
    let mut decision = Decision::default();
    let mut tasks = progress.batch.clone();
    let missing = (recipe.curriculum.batch as usize).saturating_sub(tasks.len());
    if recipe.curriculum.fill_nearest {
        let mut ids = Ids::after(progress);
        let rule = Banded::of(&recipe, progress.iteration.0);
        let candidates = fillers(&world, progress, recipe.curriculum.samples);
        for (candidate, Calibrated { passed, sampled, .. }) in nearest(&rule, candidates, missing) {
            let task = ids.next();
            tasks.push(task);
            decision.push(Event::TaskAdmitted(TaskAdmittedV1 {
                task,
                candidate,
                passed,
                sampled,
                in_band: false,
            }));
        }
    }
    let mut stream = Stream::new(
        progress.seed,
        &StreamKey { iteration: progress.iteration, ..StreamKey::new("batch order") },
    );
    stream.shuffle(&mut tasks);
    decision.count(&stream);
    decision.push(Event::BatchClosed(BatchClosedV1 {
        iteration: progress.iteration,
        tasks,
        budget_spent: missing > 0,
    }));
    Ok(decision)
}

/// The candidates of the iteration, as they may fill its batch.
fn fillers(world: &WorldView, progress: &Progress, samples: u32) -> impl Iterator<Item = Filler> {
    world.candidates().filter(|(_, candidate)| candidate.iteration == progress.iteration).map(
        move |(id, candidate)| Filler {
            id,
            draw: candidate.draw,
            admitted: matches!(candidate.status, Status::Admitted(_)),
            calibrated: Calibrated::of(candidate, samples),
        },
    )
}
