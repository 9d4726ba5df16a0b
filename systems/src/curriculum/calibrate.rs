//! Looks at candidates: plays trajectories of the iteration's policy on them and counts the passes.

use bevy_ecs::prelude::Res;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{DecideResult, Decision, Proposal};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::{CandidateCalibratedV1, Event, Grade, Purpose};
use tadpole_kernel::id::{Member, StableId, Version, Visit};
use tadpole_kernel::world::WorldView;

use super::stage::{Looks, Stage};
use crate::capability::Recipe;
use crate::ids::Ids;
use crate::rollout::{Assignment, Players};
use crate::subject;

/// Gives every candidate that is due one its next look, in order of id.
pub fn calibrate(
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
    let looks = Looks::of(&recipe);
    let due: Vec<(StableId, Visit, u32)> = progress
        .open
        .iter()
        .filter_map(|&id| match looks.stage(world.candidate(id)?) {
            Stage::Look { visit, sampled } => Some((id, visit, sampled)),
            _ => None,
        })
        .collect();
    let mut assignments = Vec::new();
    for &(candidate, visit, sampled) in &due {
        let subject = subject::load(&world, &blobs, candidate)?;
        assignments.extend((0..sampled).map(|member| Assignment {
            subject: subject.clone(),
            purpose: Purpose::Calibration,
            iteration: progress.iteration,
            version: Version(0),
            visit,
            member: Member(member),
            temperature: recipe.rollout.temperature,
        }));
    }
    let mut played = players.play(&world, &blobs, &assignments)?.into_iter();
    let mut ids = Ids::after(progress);
    let mut decision = Decision::default();
    for (candidate, look, sampled) in due {
        let mut passed = 0;
        for played in played.by_ref().take(sampled as usize) {
            passed += u32::from(played.facts.grade == Grade::Resolved);
            played.record(&mut ids, &mut decision);
        }
        decision.push(Event::CandidateCalibrated(CandidateCalibratedV1 { candidate, look, passed, sampled }));
    }
    decision.events.extend(witness.events());
    Ok(decision)
}
