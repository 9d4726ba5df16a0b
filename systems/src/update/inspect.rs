//! What an update does to each token, for people: computed again, never recorded.

use std::collections::BTreeMap;

use serde::Serialize;
use tadpole_gpu::backend::{Policy, Scores, Sequence};
use tadpole_gpu::dppo;
use tadpole_kernel::decide::{Context, DecideError};
use tadpole_kernel::id::{Digest, StableId};
use tadpole_kernel::world::{Trajectory, WorldView};
use tadpole_scenarios::schema::Scenario;

use super::group::{self, Grouped};
use super::learner::{dppo_params, last_version};
use crate::tokenizer::Tokenizer;

/// A group of an update.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectedGroup {
    /// The task.
    pub task: StableId,
    /// Whether all raw rewards were equal, so that it taught nothing.
    pub discarded: bool,
    /// Its trajectories, by member.
    pub members: Vec<InspectedMember>,
}

/// A trajectory of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectedMember {
    /// The trajectory.
    pub trajectory: StableId,
    /// Before the length term.
    pub raw_reward: f32,
    /// After it.
    pub reward: f32,
    /// Its advantage; `None` where it teaches nothing.
    pub advantage: Option<f32>,
    /// Its trainable tokens; none where it teaches nothing.
    pub tokens: Vec<InspectedToken>,
}

/// A trainable token.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectedToken {
    /// Its position in the history.
    pub position: u32,
    /// Its id.
    pub id: u32,
    /// What it spells.
    pub text: String,
    /// Probability when it was sampled.
    pub q: f32,
    /// Probability before the step; `None` where the weights were dropped.
    pub p: Option<f32>,
    /// `p / q`.
    pub ratio: Option<f32>,
    /// Whether it was trained on.
    pub kept: Option<bool>,
}

/// The weights that the next update starts from.
#[must_use]
pub fn current_weights(world: &WorldView<'_>) -> Option<Digest> {
    last_version(world).ok().map(|version| version.weights)
}

/// The groups of the next update in `world`, with every token; `policy` holds the weights that it starts from.
pub fn inspect(
    world: &WorldView<'_>,
    recipe: &Scenario,
    policy: Option<&dyn Policy>,
    tokenizer: &Tokenizer,
) -> Result<Vec<InspectedGroup>, DecideError> {
    let Grouped { groups, sequences, sources, trained_on: _ } =
        group::collect(world, world.progress(), recipe)?;
    let histories: Vec<Sequence> = sequences.iter().map(|one| one.sequence.clone()).collect();
    let scores = policy.map(|policy| policy.score(&histories, recipe.rollout.temperature)).transpose();
    let scores = scores.context("scoring the trajectories of an update")?;
    let params = dppo_params(recipe);
    let mut taught: BTreeMap<StableId, (f32, Vec<InspectedToken>)> = BTreeMap::new();
    for (index, (one, source)) in sequences.iter().zip(sources).enumerate() {
        let advantage = one.advantages.first().copied().unwrap_or(0.0);
        let scored = scores.as_ref().and_then(|scores| scores.get(index));
        let tokens = tokens(&one.sequence, &one.rollout_log_probs, advantage, scored, (&params, tokenizer))?;
        taught.entry(source).or_insert((advantage, Vec::new())).1.extend(tokens);
    }
    let mut member = |trajectory: StableId| {
        let (advantage, tokens) =
            taught.remove(&trajectory).map_or((None, Vec::new()), |(a, t)| (Some(a), t));
        let known = world.trajectory(trajectory);
        let reward = |of: fn(&Trajectory) -> f32| known.map_or(0.0, of);
        let (raw_reward, reward) = (reward(|known| known.raw_reward), reward(|known| known.reward));
        InspectedMember { trajectory, raw_reward, reward, advantage, tokens }
    };
    let inspected = groups.into_iter().map(|group| InspectedGroup {
        task: group.task,
        discarded: group.discarded,
        members: group.trajectories.into_iter().map(&mut member).collect(),
    });
    Ok(inspected.collect())
}

fn tokens(
    sequence: &Sequence,
    rollout: &[f32],
    advantage: f32,
    scores: Option<&Scores>,
    (params, tokenizer): (&dppo::DppoParams, &Tokenizer),
) -> Result<Vec<InspectedToken>, DecideError> {
    let positions = sequence.targets.iter().cloned().flatten();
    positions
        .zip(rollout)
        .enumerate()
        .map(|(index, (position, &rollout))| {
            let id = sequence.tokens.get(position as usize).copied().unwrap_or(0);
            let new = scores.and_then(|scores| scores.log_probs.get(index)).copied();
            let judged =
                dppo::judge(new.unwrap_or(rollout), rollout, advantage, params).context("judging a token")?;
            Ok(InspectedToken {
                position,
                id,
                text: tokenizer.decode(&[id]),
                q: judged.q,
                p: new.map(|_| judged.p),
                ratio: new.map(|_| judged.ratio),
                kept: new.map(|_| judged.keep),
            })
        })
        .collect()
}
