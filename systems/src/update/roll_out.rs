//! Plays the trajectories of the next update.

use bevy_ecs::prelude::Res;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{DecideResult, Decision, Proposal};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::Purpose;
use tadpole_kernel::id::{Member, Visit};
use tadpole_kernel::world::WorldView;

use super::plan;
use crate::capability::Recipe;
use crate::ids::Ids;
use crate::rollout::{Assignment, Players};
use crate::subject;

/// Plays a group of trajectories on each task of the next update, by the version that the lag asks for.
pub fn roll_out(
    world: WorldView,
    recipe: Res<Recipe>,
    players: Res<Players>,
    effects: Res<EffectStore>,
    proposal: Res<Proposal>,
    blobs: Res<BlobReader>,
) -> DecideResult {
    let (players, witness) = players.witnessed(&effects);
    let players = players.guessing(&proposal);
    let progress = world.progress();
    let update = progress.updates;
    let version = plan::playing_version(&recipe, update);
    let mut assignments = Vec::new();
    for task in plan::to_play(&world, progress, &recipe) {
        let subject = subject::load(&world, &blobs, task)?;
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
    let mut ids = Ids::after(progress);
    let mut decision = Decision::default();
    for played in players.play(&world, &blobs, &assignments)? {
        played.record(&mut ids, &mut decision);
    }
    decision.events.extend(witness.events());
    Ok(decision)
}
