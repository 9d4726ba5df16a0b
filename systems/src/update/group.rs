//! Groups of trajectories and their advantages. A group is formed by the id of its task, never by position.

use tadpole_gpu::backend::{Sequence, TrainSequence};
use tadpole_gpu::dppo::{self, Row};
use tadpole_kernel::decide::{Context, DecideError};
use tadpole_kernel::event::{Exit, Group};
use tadpole_kernel::id::{StableId, Version};
use tadpole_kernel::world::{Progress, TaskSource, Trajectory, WorldView};
use tadpole_scenarios::schema::{Deviation, Scenario};

use super::plan;

/// The groups of one update, with what each teaches.
pub(super) struct Grouped {
    /// As the event names them, by task.
    pub(super) groups: Vec<Group>,
    /// What is trained on, by task and member.
    pub(super) sequences: Vec<TrainSequence>,
    /// The trajectory of each sequence.
    pub(super) sources: Vec<StableId>,
    /// The version that played them.
    pub(super) trained_on: Version,
}

/// Collects the groups of the next update, and the advantage of each of their trajectories.
pub(super) fn collect(
    world: &WorldView,
    progress: &Progress,
    recipe: &Scenario,
) -> Result<Grouped, DecideError> {
    let reuse = recipe.curriculum.train_on_calibration;
    let trained_on = if reuse { Version(0) } else { plan::playing_version(recipe, progress.updates) };
    let mut grouped = Grouped { groups: Vec::new(), sequences: Vec::new(), sources: Vec::new(), trained_on };
    let mut tasks = plan::tasks(world, progress, recipe);
    tasks.sort_unstable();
    for task in tasks {
        let members: Vec<_> = if reuse {
            candidate_of(world, task).map(|it| world.played_on(it).collect()).unwrap_or_default()
        } else {
            plan::rollouts(world, progress, task).collect()
        };
        let discarded = !teach(world, task, &members, recipe, &mut grouped)?;
        let trajectories = members.iter().map(|(id, _)| *id).collect();
        grouped.groups.push(Group { task, trajectories, discarded });
    }
    Ok(grouped)
}

/// The candidate that an admitted task was.
fn candidate_of(world: &WorldView, task: StableId) -> Option<StableId> {
    match &world.task(task)?.source {
        TaskSource::Admitted { candidate, .. } => Some(*candidate),
        TaskSource::HeldOut { .. } => None,
    }
}

/// Adds the sequences of a group; `false` where all its raw rewards are equal, so that it teaches nothing.
fn teach(
    world: &WorldView,
    task: StableId,
    members: &[(StableId, &Trajectory)],
    recipe: &Scenario,
    grouped: &mut Grouped,
) -> Result<bool, DecideError> {
    let row = |(place, (_, trajectory)): (usize, &(StableId, &Trajectory))| Row {
        group: task.0,
        member: place as u32,
        raw: f64::from(trajectory.raw_reward),
        shaped: f64::from(trajectory.reward),
        excluded: trajectory.exit == Exit::Infra,
    };
    let rows: Vec<Row> = members.iter().enumerate().map(row).collect();
    let advantages = dppo::group_advantages(&rows, deviation(recipe)).context("computing advantages")?;
    let mut taught = false;
    for ((id, _), advantage) in members.iter().zip(&advantages.by_row) {
        let (Some(advantage), Some(history)) = (advantage, world.history(*id)) else { continue };
        taught = true;
        for segment in history.segments.iter() {
            let targets = segment.sampled.iter().map(|span| span.start..span.end).collect();
            grouped.sources.push(*id);
            grouped.sequences.push(TrainSequence {
                sequence: Sequence { tokens: segment.tokens.unpack(), targets },
                advantages: vec![*advantage as f32; segment.log_probs.len()],
                rollout_log_probs: segment.log_probs.clone(),
                weight: 1.0,
            });
        }
    }
    Ok(taught)
}

fn deviation(recipe: &Scenario) -> dppo::Deviation {
    match recipe.update.std {
        Deviation::Sample => dppo::Deviation::Sample,
        Deviation::Population => dppo::Deviation::Population,
    }
}
