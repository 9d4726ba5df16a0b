//! Groups of trajectories and their advantages. A group is formed by the id of its task, never by position.

use std::collections::BTreeMap;

use tadpole_gpu::backend::TrainSequence;
use tadpole_gpu::dppo::{self, DppoError, Spread};
use tadpole_kernel::event::{Exit, Group, Purpose};
use tadpole_kernel::id::{StableId, Version, Visit};
use tadpole_kernel::world::{Progress, Trajectory, WorldView};
use tadpole_scenarios::schema::Scenario;

/// The groups of one update, with what each teaches.
pub(super) struct Grouped {
    /// As the event names them, by task.
    pub(super) groups: Vec<Group>,
    /// What is trained on, by task and member.
    pub(super) sequences: Vec<TrainSequence>,
    /// The version that played them.
    pub(super) trained_on: Version,
}

/// Collects the groups of update `progress.updates`.
pub(super) fn collect(world: &WorldView, progress: &Progress, recipe: &Scenario) -> Result<Grouped, DppoError> {
    let mut grouped = Grouped {
        groups: Vec::new(),
        sequences: Vec::new(),
        trained_on: if recipe.curriculum.train_on_calibration {
            Version(0)
        } else {
            super::plan::playing_version(recipe, progress.updates)
        },
    };
    for (task, members) in members(world, progress, recipe) {
        let discarded = !teach(world, &members, recipe, &mut grouped.sequences)?;
        let trajectories = members.iter().map(|(id, _)| *id).collect();
        grouped.groups.push(Group { task, trajectories, discarded });
    }
    Ok(grouped)
}

/// The trajectories of the update by task; each group in order of id.
fn members<'a>(
    world: &'a WorldView,
    progress: &Progress,
    recipe: &Scenario,
) -> BTreeMap<StableId, Vec<(StableId, &'a Trajectory)>> {
    let tasks = super::plan::tasks(progress, recipe, progress.updates);
    // A task of the batch was a candidate: calibration trajectories name the candidate, rollouts the task.
    let by_subject: BTreeMap<StableId, StableId> = tasks
        .iter()
        .map(|&task| match (recipe.curriculum.train_on_calibration, world.admitted_from(task)) {
            (true, Some(candidate)) => (candidate, task),
            _ => (task, task),
        })
        .collect();
    let wanted = |trajectory: &Trajectory| match trajectory.purpose {
        Purpose::Calibration => recipe.curriculum.train_on_calibration,
        Purpose::Rollout => !recipe.curriculum.train_on_calibration && trajectory.visit == Visit(progress.updates),
        Purpose::Evaluation => false,
    };
    let mut groups: BTreeMap<StableId, Vec<(StableId, &Trajectory)>> = BTreeMap::new();
    for (id, trajectory) in world.trajectories_of(progress.iteration) {
        if let Some(&task) = by_subject.get(&trajectory.subject).filter(|_| wanted(trajectory)) {
            groups.entry(task).or_default().push((id, trajectory));
        }
    }
    groups
}

/// Adds the sequences of a group; `false` where all its raw rewards are equal, so that it teaches nothing.
///
/// Trajectories that the infrastructure failed are excluded before anything is computed: they enter no baseline.
fn teach(
    world: &WorldView,
    members: &[(StableId, &Trajectory)],
    recipe: &Scenario,
    sequences: &mut Vec<TrainSequence>,
) -> Result<bool, DppoError> {
    let counted: Vec<_> = members.iter().filter(|(_, trajectory)| trajectory.exit != Exit::Infra).collect();
    let raw: Vec<f32> = counted.iter().map(|(_, trajectory)| trajectory.raw_reward).collect();
    if dppo::all_equal(&raw)? {
        return Ok(false);
    }
    let rewards: Vec<f32> = counted.iter().map(|(_, trajectory)| trajectory.reward).collect();
    let advantages = dppo::advantages(&rewards, Spread::from(recipe.update.std))?;
    for ((id, _), advantage) in counted.iter().zip(advantages) {
        let Some(history) = world.history(*id) else { continue };
        for segment in history.segments.iter() {
            sequences.push(TrainSequence {
                tokens: segment.tokens.unpack(),
                spans: segment.sampled.iter().map(|span| span.start..span.end).collect(),
                rollout_log_probs: segment.log_probs.clone(),
                advantage,
            });
        }
    }
    Ok(true)
}
