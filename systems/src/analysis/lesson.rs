//! What a trajectory taught: its tokens in the updates that trained on it.

use serde::Serialize;
use tadpole_kernel::event::{Event, UpdateAppliedV1};
use tadpole_kernel::id::{Digest, Iteration, StableId, Step, Version};
use tadpole_kernel::run::RunReader;
use tadpole_scenarios::schema::Scenario;

use super::StoryError;
use super::update::{Again, Means};
use crate::assembly::Assembly;
use crate::update::{Extent, InspectedToken};

/// One trajectory in one update.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lesson {
    /// The step that committed the update.
    pub step: Step,
    /// Its iteration.
    pub iteration: Iteration,
    /// Which update of the iteration, from 0.
    pub update: u32,
    /// The version whose trajectories it trained on.
    pub trained_on: Version,
    /// Weights that it started from: those that give `p`.
    pub weights: Digest,
    /// Whether those weights are still there. Without them there is no `p`, ratio or fate of a token.
    pub recomputed: bool,
    /// The task of its group.
    pub task: StableId,
    /// Whether all raw rewards of the group were equal, so that it taught nothing.
    pub discarded: bool,
    /// Its advantage; `None` where it taught nothing.
    pub advantage: Option<f32>,
    /// Its trainable tokens; none where it taught nothing.
    pub tokens: Vec<InspectedToken>,
}

/// The updates that trained on the trajectory `id`, or discarded its group: at most one, unless calibration trajectories train.
pub fn updates_on(run: &RunReader, id: StableId) -> Result<Vec<(Step, UpdateAppliedV1)>, StoryError> {
    let mut found = Vec::new();
    for entry in run.events()? {
        let (commit, _, event) = entry?;
        if let Event::UpdateApplied(applied) = event
            && applied.groups.iter().any(|group| group.trajectories.contains(&id))
        {
            found.push((commit.step, applied));
        }
    }
    Ok(found)
}

impl Lesson {
    /// Computes again what the trajectory `id` taught in an update that [`updates_on`] found, with the bits that training saw.
    /// `None` where it is not in that update.
    pub fn read(
        run: &RunReader,
        scenario: &Scenario,
        assembly: &Assembly,
        (step, applied): &(Step, UpdateAppliedV1),
        id: StableId,
    ) -> Result<Option<Self>, StoryError> {
        let means = Means { run, scenario, assembly };
        let again = Again::before(&means, *step, Extent::Trajectory(id))?;
        let Some(Again { weights, recomputed, groups }) = again else { return Ok(None) };
        let Some(group) = groups.into_iter().next() else { return Ok(None) };
        let member = group.members.into_iter().find(|member| member.trajectory == id);
        Ok(member.map(|member| Self {
            step: *step,
            iteration: applied.iteration,
            update: applied.update,
            trained_on: applied.trained_on,
            weights,
            recomputed,
            task: group.task,
            discarded: group.discarded,
            advantage: member.advantage,
            tokens: member.tokens,
        }))
    }
}
