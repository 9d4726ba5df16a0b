//! Plays a policy on a held-out set and counts what it solved.

use bevy_ecs::prelude::Res;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{DecideError, DecideResult, Decision, Proposal};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::{EvaluationFinishedV1, Event, Grade, PassAt, Purpose};
use tadpole_kernel::id::{Iteration, Member, StableId, Version, Visit};
use tadpole_kernel::world::{TaskSource, WorldView};

use super::plan::{self, Measurement};
use super::statistics::{pass_at, wilson};
use crate::capability::Recipe;
use crate::ids::Ids;
use crate::rollout::{Assignment, Played, Players};
use crate::subject;

/// Measures the policy published last as the plan says.
pub fn evaluate(
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
    let measurement =
        plan::next(progress, &recipe).ok_or_else(|| DecideError::new("no evaluation is due"))?;
    let tasks = held_out(&world, &measurement.set.name);
    let mut assignments = Vec::with_capacity(tasks.len() * measurement.samples as usize);
    for &task in &tasks {
        let subject = subject::load(&world, &blobs, task)?;
        assignments.extend((0..measurement.samples).map(|member| Assignment {
            subject: subject.clone(),
            purpose: Purpose::Evaluation,
            iteration: progress.iteration,
            version: Version(0),
            visit: Visit(measurement.index),
            member: Member(member),
            temperature: measurement.temperature,
        }));
    }
    let played = players.play(&world, &blobs, &assignments)?;
    let result = tally(progress.iteration, &measurement, tasks.len() as u32, &played);
    let mut ids = Ids::after(progress);
    let mut decision = Decision::default();
    for played in played {
        played.record(&mut ids, &mut decision);
    }
    decision.push(Event::EvaluationFinished(result));
    decision.events.extend(witness.events());
    Ok(decision)
}

/// The tasks of a held-out set, by id.
pub(crate) fn held_out(world: &WorldView, name: &str) -> Vec<StableId> {
    world
        .tasks()
        .filter(|(_, task)| matches!(&task.source, TaskSource::HeldOut { set } if set == name))
        .map(|(id, _)| id)
        .collect()
}

/// What the trajectories of a measurement, `samples` a task, came to.
pub(crate) fn tally(
    iteration: Iteration,
    measurement: &Measurement<'_>,
    tasks: u32,
    played: &[Played],
) -> EvaluationFinishedV1 {
    let samples = measurement.samples;
    let solved =
        |group: &[Played]| group.iter().filter(|played| played.facts.grade == Grade::Resolved).count() as u32;
    let by_task: Vec<u32> = played.chunks(samples.max(1) as usize).map(solved).collect();
    let total: u32 = by_task.iter().sum();
    let pass_at = measurement
        .set
        .pass_at
        .iter()
        .filter(|&&k| k <= samples && tasks > 0)
        .map(|&k| {
            let sum: f64 = by_task.iter().filter_map(|&passed| pass_at(k, passed, samples)).sum();
            PassAt { k, value: sum / f64::from(tasks) }
        })
        .collect();
    let (low, high) = wilson(u64::from(total), u64::from(tasks) * u64::from(samples));
    let tokens: u64 = played.iter().map(|played| u64::from(played.sampled_tokens())).sum();
    let nats: f64 =
        played.iter().map(|played| f64::from(played.entropy) * f64::from(played.sampled_tokens())).sum();
    EvaluationFinishedV1 {
        iteration,
        set: measurement.set.name.clone(),
        temperature: measurement.temperature,
        tasks,
        samples,
        solved: total,
        pass_at,
        low,
        high,
        entropy: if tokens > 0 { nats / tokens as f64 } else { 0.0 },
        tokens_mean: if played.is_empty() { 0.0 } else { tokens as f64 / played.len() as f64 },
    }
}
