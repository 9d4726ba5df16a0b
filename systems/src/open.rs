//! The first decision of a run: the base policy, and the held-out sets.

use std::collections::BTreeSet;
use std::sync::Arc;

use bevy_ecs::prelude::{Res, Resource};
use tadpole_gpu::weights::Weights;
use tadpole_kernel::decide::{Context, DecideError, DecideResult, Decision};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::{Event, PolicyPublishedV1, TaskHeldOutV1};
use tadpole_kernel::id::{Digest, Iteration, StableId};
use tadpole_kernel::world::WorldView;
use tadpole_scenarios::draws::SeedDraws;
use tadpole_scenarios::schema::HeldOutSet;
use tadpole_scenarios::world::Blueprint;

use crate::capability::{Judge, Recipe};
use crate::curriculum::{Soundness, examine};
use crate::generator::{Made, Mutation};
use crate::ids::Ids;
use crate::parallel;

/// Draws per task wanted, before a world is taken to have no more tasks of a split.
const DRAWS_PER_TASK_MAX: usize = 20;

/// The weights that a run starts from.
#[derive(Resource, Clone)]
pub struct Base(pub Arc<Weights>);

/// Publishes the base policy and draws the held-out sets.
pub fn open(
    world: WorldView,
    recipe: Res<Recipe>,
    base: Res<Base>,
    judge: Res<Judge>,
    effects: Res<EffectStore>,
) -> DecideResult {
    let (judge, witness) = judge.witnessed(&effects);
    let mut ids = Ids::after(world.progress());
    let mut decision = Decision::default();
    let policy = ids.next();
    let weights = decision.blob(base.0.canonical_bytes());
    decision.push(Event::PolicyPublished(PolicyPublishedV1 {
        policy,
        iteration: Iteration(0),
        weights,
        averaged: 1,
    }));
    let mut known = BTreeSet::new();
    for set in &recipe.evaluation.sets {
        for (made, soundness) in draw_set(set, &recipe, &judge, &mut known)? {
            let Soundness { fail_to_pass, pass_to_pass } = soundness;
            let content = made.into_content(&mut decision);
            let (task, set) = (ids.next(), set.name.clone());
            decision.push(Event::TaskHeldOut(TaskHeldOutV1 {
                task,
                set,
                content,
                fail_to_pass,
                pass_to_pass,
            }));
        }
    }
    decision.events.extend(witness.events());
    Ok(decision)
}

/// Sound tasks of a set, none of which is in `known`, until there are as many as the scenario wants.
pub(crate) fn draw_set(
    set: &HeldOutSet,
    recipe: &Recipe,
    judge: &Judge,
    known: &mut BTreeSet<Digest>,
) -> Result<Vec<(Made, Soundness)>, DecideError> {
    let generator = Mutation::new(recipe.world.clone(), recipe.generator.attempts);
    let mut draws = SeedDraws::new(set.seed, "held-out set");
    let wanted = set.tasks as usize;
    let mut left = wanted * DRAWS_PER_TASK_MAX;
    let mut found = Vec::with_capacity(wanted);
    while found.len() < wanted {
        let wave = (wanted - found.len()).min(left);
        if wave == 0 {
            let reason = format!(
                "held-out set {}: the world has no {wanted} different sound tasks of that split",
                set.name
            );
            return Err(DecideError::new(reason));
        }
        left -= wave;
        let blueprints: Vec<Blueprint> =
            (0..wave).map(|_| Blueprint::draw(&recipe.world, set.split, &mut draws)).collect();
        let examined = parallel::map(recipe.threads(), &blueprints, |_, blueprint| {
            let made = generator.task(blueprint, judge)?;
            let soundness =
                examine(&made.to_subject(StableId(0)), judge).context("validating a held-out task")?;
            Ok::<_, DecideError>((made, soundness))
        })?;
        let sound = examined.into_iter().filter_map(|(made, soundness)| Some((made, soundness.ok()?)));
        found.extend(sound.filter(|(made, _)| known.insert(made.digest())));
    }
    Ok(found)
}
