//! What a candidate needs next, and what the funnel as a whole needs next. Pure functions of the world.

use tadpole_kernel::id::Visit;
use tadpole_kernel::world::{Candidate, Progress, Status, WorldView};
use tadpole_scenarios::schema::Scenario;

/// What the funnel needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Some candidate was generated and not validated.
    Validation,
    /// Some candidate is due a look.
    Look,
    /// Some candidate was looked at as often as the rule wants.
    Judgement,
    /// The batch is not full, and the budget allows more candidates.
    Candidates,
    /// The batch is full, or the budget is spent.
    Nothing,
}

/// What one candidate needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its hidden tests were not run yet.
    Validate,
    /// `sampled` more trajectories, as look `visit`.
    Look {
        /// Which look.
        visit: Visit,
        /// Trajectories of it.
        sampled: u32,
    },
    /// A decision.
    Judge,
    /// Nothing: it left the funnel.
    Gone,
}

/// How many trajectories the looks at a candidate take: all at once, or a pilot and, where it is mixed, the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// Trajectories of a full calibration (N).
    pub samples: u32,
    /// Trajectories of the pilot; 0 for none.
    pub pilot: u32,
}

impl Looks {
    /// The looks of a scenario.
    #[must_use]
    pub fn of(recipe: &Scenario) -> Self {
        Self { samples: recipe.curriculum.samples, pilot: recipe.curriculum.pilot }
    }

    /// What `candidate` needs next.
    #[must_use]
    pub fn stage(self, candidate: &Candidate) -> Stage {
        match candidate.status {
            Status::Generated => Stage::Validate,
            Status::Admitted(_) | Status::Rejected(_) => Stage::Gone,
            Status::Validated if candidate.succeeded_by.is_some() => Stage::Gone,
            Status::Validated => match (candidate.looks.as_slice(), self.pilot) {
                ([], 0) => Stage::Look { visit: Visit(0), sampled: self.samples },
                ([], pilot) => Stage::Look { visit: Visit(0), sampled: pilot },
                (&[(passed, sampled)], pilot) if pilot > 0 && passed > 0 && passed < sampled => {
                    Stage::Look { visit: Visit(1), sampled: self.samples - pilot }
                }
                _ => Stage::Judge,
            },
        }
    }
}

/// What the funnel needs next.
#[must_use]
pub fn need(world: &WorldView<'_>, progress: &Progress, recipe: &Scenario) -> Need {
    let looks = Looks::of(recipe);
    let stages: Vec<Stage> = progress
        .open
        .iter()
        .filter_map(|&id| world.candidate(id))
        .map(|candidate| looks.stage(candidate))
        .collect();
    if stages.contains(&Stage::Validate) {
        Need::Validation
    } else if stages.iter().any(|stage| matches!(stage, Stage::Look { .. })) {
        Need::Look
    } else if stages.contains(&Stage::Judge) {
        Need::Judgement
    } else if progress.batch.len() < recipe.curriculum.batch as usize
        && budget_left(world, progress, recipe) > 0
    {
        Need::Candidates
    } else {
        Need::Nothing
    }
}

/// Candidates that may still be generated in this iteration, refined ones included.
#[must_use]
pub fn budget_left(world: &WorldView<'_>, progress: &Progress, recipe: &Scenario) -> u32 {
    let spent = world.funnel().iterations.get(&progress.iteration.0).map_or(0, |counts| counts.candidates);
    recipe.curriculum.candidates.saturating_sub(spent)
}
