//! One update down to each token: its probabilities, advantage and fate, computed again from the log.

use serde::Serialize;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::event::{Event, UpdateAppliedV1};
use tadpole_kernel::id::{Digest, Step};
use tadpole_kernel::replay::Replay;
use tadpole_kernel::run::RunReader;
use tadpole_scenarios::schema::Scenario;

use super::StoryError;
use crate::assembly::Assembly;
use crate::update::{Extent, InspectedGroup, inspect};

/// An update with its tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UpdateStory {
    /// The step that committed it.
    pub step: Step,
    /// The event, as it was.
    pub update: UpdateAppliedV1,
    /// Weights that it started from.
    pub weights: Digest,
    /// Whether those weights are still there. Without them there is no `p`, ratio or fate of a token.
    pub recomputed: bool,
    /// Its groups, by task.
    pub groups: Vec<InspectedGroup>,
}

impl UpdateStory {
    /// Collects the story of update `update` (from 0) of `iteration`; `None` where there is none.
    ///
    /// Probabilities are computed anew by the weights that the update started from, with the bits that training saw.
    pub fn read(
        run: &RunReader,
        scenario: &Scenario,
        assembly: &Assembly,
        (iteration, update): (u32, u32),
    ) -> Result<Option<Self>, StoryError> {
        let Some((step, event)) = find(run, iteration, update)? else { return Ok(None) };
        let means = Means { run, scenario, assembly };
        let Some(again) = Again::before(&means, step, Extent::Whole)? else { return Ok(None) };
        let Again { weights, recomputed, groups } = again;
        Ok(Some(Self { step, update: event, weights, recomputed, groups }))
    }
}

/// What an update is computed again with.
pub(super) struct Means<'a> {
    pub(super) run: &'a RunReader,
    pub(super) scenario: &'a Scenario,
    pub(super) assembly: &'a Assembly,
}

/// The groups of an update, computed again.
pub(super) struct Again {
    pub(super) weights: Digest,
    pub(super) recomputed: bool,
    pub(super) groups: Vec<InspectedGroup>,
}

impl Again {
    /// Of the update that `step` committed; `None` where no policy was there to be updated.
    pub(super) fn before(means: &Means<'_>, step: Step, extent: Extent) -> Result<Option<Self>, StoryError> {
        let Means { run, scenario, assembly } = means;
        let replay = Replay::seek(run.dir(), Step(step.0.saturating_sub(1)))?;
        let view = replay.world().view();
        let blobs: BlobReader = run.blobs();
        let Some(weights) = crate::update::current_weights(&view) else { return Ok(None) };
        let recomputed = blobs.contains(weights)?;
        let policy = if recomputed { Some(assembly.shelf.policy(weights, &blobs)?) } else { None };
        let groups = inspect(&view, scenario, extent, policy.as_deref(), &assembly.tokenizer)?;
        Ok(Some(Self { weights, recomputed, groups }))
    }
}

fn find(run: &RunReader, iteration: u32, update: u32) -> Result<Option<(Step, UpdateAppliedV1)>, StoryError> {
    for entry in run.events()? {
        let (commit, _, event) = entry?;
        if let Event::UpdateApplied(applied) = event
            && (applied.iteration.0, applied.update) == (iteration, update)
        {
            return Ok(Some((commit.step, applied)));
        }
    }
    Ok(None)
}
