//! Draws the next candidates of an iteration.

use bevy_ecs::prelude::Res;
use tadpole_kernel::decide::{DecideResult, Decision};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::{CandidateGeneratedV1, Event};
use tadpole_kernel::world::WorldView;

use super::stage::budget_left;
use crate::capability::{Judge, Recipe};
use crate::generator::{Answered, Draw, Means, Synthesis};
use crate::ids::Ids;
use crate::parallel;

/// Draws a wave of candidates, as far as the budget allows.
pub fn generate(
    world: WorldView,
    recipe: Res<Recipe>,
    synthesis: Res<Synthesis>,
    judge: Res<Judge>,
    effects: Res<EffectStore>,
) -> DecideResult {
    let (judge, witness) = judge.witnessed(&effects);
    let progress = world.progress();
    let count = recipe.curriculum.wave.min(budget_left(&world, progress, &recipe));
    let draws: Vec<Draw> = (progress.draws..progress.draws + count)
        .map(|index| Draw { seed: progress.seed, iteration: progress.iteration, index })
        .collect();
    let means = Means { judge: &judge, effects: &effects };
    let made = parallel::map(recipe.threads(), &draws, |_, draw| synthesis.generate(*draw, &means))?;
    let mut ids = Ids::after(progress);
    let mut decision = Decision::default();
    for (draw, Answered { answer: made, effects }) in draws.iter().zip(made) {
        decision.draws.add(made.draws);
        decision.events.extend(effects);
        let generated = CandidateGeneratedV1 {
            candidate: ids.next(),
            iteration: progress.iteration,
            draw: draw.index,
            attempt: made.attempt,
            refined: None,
            content: made.into_content(&mut decision),
        };
        decision.push(Event::CandidateGenerated(generated));
    }
    decision.events.extend(witness.events());
    Ok(decision)
}
