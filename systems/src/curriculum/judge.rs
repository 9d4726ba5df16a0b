//! Decides about every calibrated candidate: admit while there is room, refine while the budget lasts, or reject.

use bevy_ecs::prelude::Res;
use tadpole_kernel::decide::{DecideResult, Decision};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::{
    CandidateGeneratedV1, CandidateRejectedV1, Event, Refinement, Rejection, TaskAdmittedV1,
};
use tadpole_kernel::id::StableId;
use tadpole_kernel::world::{Candidate, Content, Progress, WorldView};

use super::rule::{Banded, Calibrated, Curriculum, Judgement};
use super::stage::{Looks, Stage, budget_left};
use crate::capability::{Judge, Recipe};
use crate::generator::{Answered, Means, Synthesis};
use crate::ids::Ids;
use crate::parallel;

/// A candidate to refine, with what makes the successor.
struct Wanted {
    parent: StableId,
    refinement: Refinement,
    otherwise: Rejection,
}

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
    let mut ids = Ids::after(progress);
    let mut decision = Decision::default();
    let mut room = (recipe.curriculum.batch as usize).saturating_sub(progress.batch.len());
    let mut refining = Vec::new();
    for (id, candidate) in calibrated(&world, progress, Looks::of(&recipe)) {
        let state = state_of(candidate, recipe.curriculum.samples);
        if room == 0 {
            decision.push(rejected(id, Rejection::NotNeeded));
            continue;
        }
        match rule.judge(state) {
            Judgement::Admit => {
                room -= 1;
                let (passed, sampled) = (state.passed, state.sampled);
                let task = ids.next();
                decision.push(Event::TaskAdmitted(TaskAdmittedV1 {
                    task,
                    candidate: id,
                    passed,
                    sampled,
                    in_band: true,
                }));
            }
            Judgement::Refine { direction, otherwise } => {
                let refinement = Refinement { parent: id, direction, depth: state.depth + 1 };
                refining.push(Wanted { parent: id, refinement, otherwise });
            }
            Judgement::Reject(reason) => decision.push(rejected(id, reason)),
        }
    }
    let allowed = if room == 0 { 0 } else { budget_left(&world, progress, &recipe) as usize };
    refine(
        &world,
        &mut decision,
        &mut ids,
        &refining,
        allowed,
        (&synthesis, &Means { judge: &judge, effects: &effects }),
        &recipe,
    )?;
    decision.events.extend(witness.events());
    Ok(decision)
}

/// Makes the successors, as far as the budget allows; the rest is rejected.
fn refine(
    world: &WorldView,
    decision: &mut Decision,
    ids: &mut Ids,
    wanted: &[Wanted],
    allowed: usize,
    (synthesis, means): (&Synthesis, &Means<'_>),
    recipe: &Recipe,
) -> Result<(), tadpole_kernel::decide::DecideError> {
    let made = parallel::map(recipe.threads(), wanted, |index, wanted| {
        let Some(Content { content, .. }) = world.content(wanted.parent) else {
            return Ok(Answered::alone(None));
        };
        if index >= allowed {
            return Ok(Answered::alone(None));
        }
        synthesis.refine(&content.origin, wanted.refinement.direction, means)
    })?;
    for (wanted, Answered { answer, effects }) in wanted.iter().zip(made) {
        decision.events.extend(effects);
        let parent = world.candidate(wanted.parent);
        match (answer, parent) {
            (Some(made), Some(parent)) => {
                let generated = CandidateGeneratedV1 {
                    candidate: ids.next(),
                    iteration: parent.iteration,
                    draw: parent.draw,
                    attempt: made.attempt,
                    refined: Some(wanted.refinement.clone()),
                    content: made.into_content(decision),
                };
                decision.push(Event::CandidateGenerated(generated));
            }
            _ => decision.push(rejected(wanted.parent, wanted.otherwise)),
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

fn state_of(candidate: &Candidate, wanted: u32) -> Calibrated {
    let (passed, sampled) = candidate.looks.iter().fold((0, 0), |(k, n), look| (k + look.0, n + look.1));
    let depth = candidate.refined.as_ref().map_or(0, |refined| refined.depth);
    Calibrated { passed, sampled, wanted, depth }
}

fn rejected(candidate: StableId, reason: Rejection) -> Event {
    Event::CandidateRejected(CandidateRejectedV1 { candidate, reason })
}
