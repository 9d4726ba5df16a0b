//! Completes the batch of an iteration: fills it where the budget was spent, and fixes the order of visits.

use bevy_ecs::prelude::Res;
use tadpole_kernel::decide::{DecideResult, Decision};
use tadpole_kernel::draws::{Stream, StreamKey};
use tadpole_kernel::event::{BatchClosedV1, Event, TaskAdmittedV1};
use tadpole_kernel::id::StableId;
use tadpole_kernel::world::{Candidate, Progress, Status, WorldView};

use super::rule::{Banded, Curriculum};
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
        for (candidate, passed, sampled) in
            nearest(&world, progress, &rule, recipe.curriculum.samples, missing)
        {
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

/// The fully calibrated mixed candidates that were not admitted, nearest first, at most one a raw draw.
fn nearest(
    world: &WorldView,
    progress: &Progress,
    rule: &Banded,
    samples: u32,
    count: usize,
) -> Vec<(StableId, u32, u32)> {
    let of_iteration =
        || world.candidates().filter(|(_, candidate)| candidate.iteration == progress.iteration);
    let mut taken: std::collections::BTreeSet<u32> = of_iteration()
        .filter(|(_, candidate)| matches!(candidate.status, Status::Admitted(_)))
        .map(|(_, c)| c.draw)
        .collect();
    let mut mixed: Vec<_> = of_iteration()
        .filter_map(|(id, candidate)| {
            mixed(candidate, samples).map(|(k, n)| (rule.distance(k, n), id, candidate.draw, k, n))
        })
        .collect();
    mixed.sort_unstable();
    mixed.retain(|&(_, _, draw, _, _)| taken.insert(draw));
    mixed.into_iter().take(count).map(|(_, id, _, passed, sampled)| (id, passed, sampled)).collect()
}

/// Passes and trajectories of a candidate whose group is mixed after a full calibration.
fn mixed(candidate: &Candidate, samples: u32) -> Option<(u32, u32)> {
    let (passed, sampled) = candidate.looks.iter().fold((0, 0), |(k, n), look| (k + look.0, n + look.1));
    let admitted = matches!(candidate.status, Status::Admitted(_));
    (!admitted && sampled >= samples && passed > 0 && passed < sampled).then_some((passed, sampled))
}
