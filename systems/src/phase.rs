//! Which system decides next: a pure function of the world and the recipe.

use tadpole_kernel::world::{Phase, WorldView};
use tadpole_scenarios::schema::Scenario;

use crate::curriculum::stage::{self, Need};
use crate::{evaluation, update};

/// The systems by name, in the order in which a run first meets them.
pub mod name {
    /// Publishes the base policy and draws the held-out sets.
    pub const OPEN: &str = "open";
    /// Measures the policy published last on the next held-out set.
    pub const EVALUATE: &str = "evaluate";
    /// Ends an iteration.
    pub const FINISH_ITERATION: &str = "finish_iteration";
    /// Starts the next iteration, or ends the run.
    pub const TURN: &str = "turn";
    /// Draws candidates.
    pub const GENERATE: &str = "generate";
    /// Runs the hidden tests of candidates.
    pub const VALIDATE: &str = "validate";
    /// Looks at candidates: plays trajectories on them.
    pub const CALIBRATE: &str = "calibrate";
    /// Admits, refines or rejects calibrated candidates.
    pub const JUDGE: &str = "judge";
    /// Completes the batch.
    pub const CLOSE: &str = "close";
    /// Plays the trajectories of the next update.
    pub const ROLL_OUT: &str = "roll_out";
    /// Takes an optimiser step.
    pub const UPDATE: &str = "update";
    /// Publishes the iteration's policy.
    pub const PUBLISH: &str = "publish";
}

/// The system that decides next; `None` once the run is over.
#[must_use]
pub fn next(world: &WorldView<'_>, recipe: &Scenario) -> Option<&'static str> {
    let progress = world.progress();
    match progress.phase {
        Phase::Opening => Some(name::OPEN),
        Phase::Evaluating if progress.iteration_finished => Some(name::TURN),
        Phase::Evaluating => Some(match evaluation::plan::next(progress, recipe) {
            Some(_) => name::EVALUATE,
            None => name::FINISH_ITERATION,
        }),
        Phase::Curriculum => Some(match stage::need(world, progress, recipe) {
            Need::Validation => name::VALIDATE,
            Need::Look => name::CALIBRATE,
            Need::Judgement => name::JUDGE,
            Need::Candidates => name::GENERATE,
            Need::Nothing => name::CLOSE,
        }),
        Phase::Training => {
            let planned = update::plan::updates(progress, recipe);
            Some(if progress.updates >= planned {
                name::PUBLISH
            } else if update::plan::to_play(world, progress, recipe).is_empty() {
                name::UPDATE
            } else {
                name::ROLL_OUT
            })
        }
        Phase::Refused | Phase::Finished => None,
    }
}
