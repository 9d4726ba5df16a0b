//! Plays the trajectories of the next update.

use bevy_ecs::prelude::Res;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{DecideError, DecideResult, Decision, Proposal};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::Purpose;
use tadpole_kernel::id::{Digest, Member, StableId, Visit};
use tadpole_kernel::world::WorldView;

use super::plan;
use crate::capability::Recipe;
use crate::ids::Ids;
use crate::rollout::{Ahead, Assignment, Players, Prepared, weights_of};
use crate::subject;

/// Plays a group of trajectories on each task of the next update, by the version that the lag asks for.
pub fn roll_out(
    world: WorldView,
    recipe: Res<Recipe>,
    players: Res<Players>,
    effects: Res<EffectStore>,
    proposal: Res<Proposal>,
    blobs: Res<BlobReader>,
    ahead: Res<Ahead>,
) -> DecideResult {
    let progress = world.progress();
    let tasks = plan::to_play(&world, progress, &recipe);
    let (weights, assignments) = assigned(&world, &recipe, &blobs, (progress.updates, &tasks))?;
    let prepared = match ahead.take(weights, &assignments) {
        Some(prepared) => {
            players.meter().ahead(prepared.played.len());
            prepared
        }
        None => play(&players, &effects, &proposal, &blobs, (weights, &assignments))?,
    };
    let mut ids = Ids::after(progress);
    let mut decision = Decision::default();
    for played in prepared.played {
        played.record(&mut ids, &mut decision);
    }
    decision.events.extend(prepared.effects);
    Ok(decision)
}

/// The assignments of a group on each task for `update`, and the weights that play them.
pub(super) fn assigned(
    world: &WorldView<'_>,
    recipe: &Recipe,
    blobs: &BlobReader,
    (update, tasks): (u32, &[StableId]),
) -> Result<(Digest, Vec<Assignment>), DecideError> {
    let progress = world.progress();
    let version = plan::playing_version(recipe, update);
    let mut assignments = Vec::new();
    for &task in tasks {
        let subject = subject::load(world, blobs, task)?;
        assignments.extend((0..recipe.rollout.group).map(|member| Assignment {
            subject: subject.clone(),
            purpose: Purpose::Rollout,
            iteration: progress.iteration,
            version,
            visit: Visit(update),
            member: Member(member),
            temperature: recipe.rollout.temperature,
        }));
    }
    Ok((weights_of(world, version)?, assignments))
}

/// Plays assignments by the policy with these weights.
pub(super) fn play(
    players: &Players,
    effects: &EffectStore,
    proposal: &Proposal,
    blobs: &BlobReader,
    (weights, assignments): (Digest, &[Assignment]),
) -> Result<Prepared, DecideError> {
    let (players, witness) = players.witnessed(effects);
    let played = players.guessing(proposal).play_by(weights, blobs, assignments)?;
    Ok(Prepared { weights, played, effects: witness.events() })
}
