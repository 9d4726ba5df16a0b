//! Decides about every calibrated candidate: admit while there is room, refine while the budget lasts, or reject.

use bevy_ecs::prelude::Res;
use tadpole_kernel::decide::{DecideError, DecideResult, Decision};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::{
    CandidateGeneratedV1, CandidateRejectedV1, Event, Refinement, Rejection, TaskAdmittedV1,
};
use tadpole_kernel::id::StableId;
use tadpole_kernel::world::{Candidate, Content, Progress, WorldView};

use super::round::{self, Left, Round, Settled};
use super::rule::{Banded, Calibrated, depth};
use super::stage::{Looks, Stage, budget_left};
use crate::capability::{Judge, Recipe};
use crate::generator::{Answered, Means, Synthesis};
use crate::ids::Ids;
use crate::parallel;

/// Admits, refines or rejects every calibrated candidate, in order of id.
pub fn judge(
    world: WorldView,
    recipe: Res<Recipe>,
    synthesis: Res<Synthesis>,
    judge: Res<Judge>,
    effects: Res<EffectStore>,
) -> DecideResult {
    let (judge, witness) = judge.witnessed(&effects);
    let progress = world.progress();
    let rule = Banded::of(&recipe, progress.iteration.0);
    let left = Left {
        room: (recipe.curriculum.batch as usize).saturating_sub(progress.batch.len()),
        budget: budget_left(&world, progress, &recipe),
    };
    let samples = recipe.curriculum.samples;
    let candidates = calibrated(&world, progress, Looks::of(&recipe));
    let round = round::judge(&rule, left, candidates.map(|(id, it)| (id, Calibrated::of(it, samples))));
    let mut ids = Ids::after(progress);
    let mut decision = Decision::default();
    for &(candidate, settled) in &round.settled {
        decision.push(match settled {
            Settled::Rejected(reason) => rejected(candidate, reason),
            Settled::Admitted(Calibrated { passed, sampled, .. }) => {
                let task = ids.next();
                Event::TaskAdmitted(TaskAdmittedV1 { task, candidate, passed, sampled, in_band: true })
            }
        });
    }
    let means = Means { judge: &judge, effects: &effects };
    refine(&world, &mut decision, &mut ids, &round, (&synthesis, &means), &recipe)?;
    decision.events.extend(witness.events());
    Ok(decision)
}

/// Makes the successors, as far as the budget allows; the rest is rejected.
fn refine(
    world: &WorldView,
    decision: &mut Decision,
    ids: &mut Ids,
    round: &Round,
    (synthesis, means): (&Synthesis, &Means<'_>),
    recipe: &Recipe,
) -> Result<(), DecideError> {
    let made = parallel::map(recipe.threads(), &round.wanted, |index, (parent, wanted)| {
        let Some(Content { content, .. }) = world.content(*parent) else {
            return Ok(Answered::alone(None));
        };
        if index >= round.allowed {
            return Ok(Answered::alone(None));
        }
        synthesis.refine(&content.origin, wanted.direction, means)
    })?;
    for (&(id, wanted), Answered { answer, effects }) in round.wanted.iter().zip(made) {
        decision.events.extend(effects);
        let parent = world.candidate(id);
        match (answer, parent) {
            (Some(made), Some(parent)) => {
                let depth = depth(parent) + 1;
                let generated = CandidateGeneratedV1 {
                    candidate: ids.next(),
                    iteration: parent.iteration,
                    draw: parent.draw,
                    attempt: made.attempt,
                    refined: Some(Refinement { parent: id, direction: wanted.direction, depth }),
                    content: made.into_content(decision),
                };
                decision.push(Event::CandidateGenerated(generated));
            }
            _ => decision.push(rejected(id, wanted.otherwise)),
        }
    }
    Ok(())
}

fn calibrated<'a>(
    world: &'a WorldView,
    progress: &'a Progress,
    looks: Looks,
) -> impl Iterator<Item = (StableId, &'a Candidate)> {
    progress
        .open
        .iter()
        .filter_map(|&id| world.candidate(id).map(|candidate| (id, candidate)))
        .filter(move |(_, candidate)| looks.stage(candidate) == Stage::Judge)
}

fn rejected(candidate: StableId, reason: Rejection) -> Event {
    Event::CandidateRejected(CandidateRejectedV1 { candidate, reason })
}
