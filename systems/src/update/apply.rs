//! Takes one DPPO step.

use bevy_ecs::prelude::Res;
use tadpole_gpu::ArithmeticError;
use tadpole_gpu::backend::{Objective, StepReport, TrainBatch};
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{Context, DecideResult, Decision};
use tadpole_kernel::event::{Event, UpdateAppliedV1, UpdateRefusedV1};
use tadpole_kernel::world::{Progress, WorldView};

use super::group::{self, Grouped};
use super::learner::{Learner, dppo_params, last_version, learning_rate};
use super::next::NextRollouts;
use crate::capability::Recipe;
use crate::ids::Ids;

/// Trains on the groups of the next update. Where that cannot be done honestly the update is refused, and the run ends:
/// it would recur.
pub fn update(
    world: WorldView,
    recipe: Res<Recipe>,
    learner: Res<Learner>,
    blobs: Res<BlobReader>,
    next: NextRollouts,
) -> DecideResult {
    let progress = world.progress();
    let Grouped { groups, sequences, sources: _, trained_on } = group::collect(&world, progress, &recipe)?;
    let mut trainer = learner.trainer(&world, &recipe, &blobs)?;
    let rate = learning_rate(&recipe, progress.iteration.0, progress.updates);
    let batch = TrainBatch { sequences, temperature: recipe.rollout.temperature };
    let report = if batch.sequences.is_empty() {
        // Every group was discarded: nothing to learn from, and no step of the optimiser either.
        StepReport { ratio_max: 1.0, ..StepReport::default() }
    } else {
        let objective = Objective::Dppo(dppo_params(&recipe));
        let prepare = next.preparation(&world, &recipe, &blobs)?;
        match next.ahead.beside(prepare, || trainer.step(&batch, &objective, rate)) {
            Ok(report) => report,
            // The machine's mood is no part of a run: nothing is committed, and the step is decided again on resume.
            Err(error) if error.is_of_the_machine() => return Err(error).context("taking an update"),
            Err(error) => return Ok(refused(progress, &error)),
        }
    };
    let mut decision = Decision::default();
    let state = decision.blob(trainer.state_bytes().context("reading the trainer")?);
    let weights = if batch.sequences.is_empty() {
        last_version(&world)?.weights
    } else {
        decision.blob(trainer.weights().context("reading the new weights")?.canonical_bytes())
    };
    learner.keep(state, trainer);
    let mean = |sum: f64| if report.tokens > 0 { sum / report.tokens as f64 } else { 0.0 };
    decision.push(Event::UpdateApplied(UpdateAppliedV1 {
        policy: Ids::after(progress).next(),
        iteration: progress.iteration,
        update: progress.updates,
        trained_on,
        weights,
        state,
        groups,
        tokens: report.tokens,
        kept: report.kept,
        loss: report.loss,
        gradient_norm: report.gradient_norm as f32,
        learning_rate: rate,
        ratio_max: report.ratio_max as f32,
        kl: mean(report.kl_sum),
        entropy: mean(report.entropy_sum),
    }));
    Ok(decision)
}

fn refused(progress: &Progress, error: &ArithmeticError) -> Decision {
    let event = UpdateRefusedV1 {
        iteration: progress.iteration,
        update: progress.updates,
        reason: error.to_string(),
    };
    Decision { events: vec![Event::UpdateRefused(event)], ..Decision::default() }
}
