//! What a log says about one policy.

use std::collections::BTreeMap;

use serde::Serialize;
use tadpole_kernel::event::{Event, Purpose, UpdateAppliedV1};
use tadpole_kernel::id::{Digest, Iteration, StableId, Step, Version};
use tadpole_kernel::run::RunReader;

use super::{EvaluationSummary, StoryError};

/// A policy: how it was made, what it played, how it was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyStory {
    /// Its id.
    pub policy: StableId,
    /// The iteration that made it; 0 for the base.
    pub iteration: Iteration,
    /// The step that made it.
    pub step: Step,
    /// Digest of its canonical tensors.
    pub weights: Digest,
    /// Whether they are still there: `log.keep` says which are.
    pub kept: bool,
    /// The update that made it, where one did.
    pub update: Option<UpdateAppliedV1>,
    /// Update versions that were averaged into it, where it was published.
    pub averaged: Option<u32>,
    /// Trajectories that it played, by iteration, version and purpose.
    pub played: Vec<Played>,
    /// How it did on the held-out sets.
    pub evaluations: Vec<EvaluationSummary>,
}

/// Trajectories of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Played {
    /// In which iteration.
    pub iteration: Iteration,
    /// As which version of it.
    pub version: Version,
    /// What for.
    pub purpose: Purpose,
    /// How many.
    pub trajectories: u64,
}

impl PolicyStory {
    /// Collects the story of the policy `id`; `None` where there is none.
    pub fn read(run: &RunReader, id: StableId) -> Result<Option<Self>, StoryError> {
        let mut story: Option<Self> = None;
        let mut versions: Vec<StableId> = Vec::new();
        let mut played: BTreeMap<(Iteration, Version, Purpose), u64> = BTreeMap::new();
        for entry in run.events()? {
            let (commit, _, event) = entry?;
            match event {
                Event::PolicyPublished(it) => {
                    versions = vec![it.policy];
                    if it.policy == id {
                        let made = Self::made(id, it.iteration, commit.step, it.weights);
                        story = Some(Self { averaged: Some(it.averaged), ..made });
                    }
                }
                Event::IterationStarted(it) => versions = vec![it.policy],
                Event::UpdateApplied(it) => {
                    versions.push(it.policy);
                    if it.policy == id {
                        let made = Self::made(id, it.iteration, commit.step, it.weights);
                        story = Some(Self { update: Some(it), ..made });
                    }
                }
                Event::TrajectoryFinished(it) if versions.get(it.version.0 as usize) == Some(&id) => {
                    *played.entry((it.iteration, it.version, it.purpose)).or_default() += 1;
                }
                Event::EvaluationFinished(it) if versions.first() == Some(&id) => {
                    if let Some(story) = &mut story {
                        story.evaluations.push(EvaluationSummary::from(&it));
                    }
                }
                _ => {}
            }
        }
        let Some(mut story) = story else { return Ok(None) };
        let of = |((iteration, version, purpose), trajectories)| Played {
            iteration,
            version,
            purpose,
            trajectories,
        };
        story.played = played.into_iter().map(of).collect();
        story.kept = run.blobs().contains(story.weights)?;
        Ok(Some(story))
    }

    fn made(policy: StableId, iteration: Iteration, step: Step, weights: Digest) -> Self {
        Self {
            policy,
            iteration,
            step,
            weights,
            kept: false,
            update: None,
            averaged: None,
            played: Vec::new(),
            evaluations: Vec::new(),
        }
    }
}
