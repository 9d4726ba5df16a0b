//! What to do with a calibrated candidate, from its recorded looks alone, so that any rule can be replayed and forked.

use std::cmp::Ordering;

use tadpole_kernel::event::{Direction, Rejection};
use tadpole_kernel::world::Candidate;
use tadpole_scenarios::schema::{Admission, Distance, Scenario};

/// What is known of a calibrated candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibrated {
    /// Passes over all looks.
    pub passed: u32,
    /// Trajectories over all looks.
    pub sampled: u32,
    /// Trajectories of a full calibration: a candidate dropped after its pilot has fewer.
    pub wanted: u32,
    /// Refinements between the raw draw and it.
    pub depth: u32,
    /// Which way the last of them went.
    pub came: Option<Direction>,
}

impl Calibrated {
    /// What the world knows of `candidate`, where a full calibration has `wanted` trajectories.
    #[must_use]
    pub fn of(candidate: &Candidate, wanted: u32) -> Self {
        let (passed, sampled) = candidate.looks.iter().fold((0, 0), |(k, n), look| (k + look.0, n + look.1));
        let came = candidate.refined.as_ref().map(|refined| refined.direction);
        Self { passed, sampled, wanted, depth: depth(candidate), came }
    }

    /// Whether it may be refined this way, where a raw draw is refined `refinements_max` times at most. None is turned back:
    /// what comes of it is the task before, or hardly another.
    #[must_use]
    pub fn may_go(&self, direction: Direction, refinements_max: u32) -> bool {
        self.depth < refinements_max && self.came.is_none_or(|came| came == direction)
    }
}

/// Refinements between the raw draw and `candidate`.
pub(super) fn depth(candidate: &Candidate) -> u32 {
    candidate.refined.as_ref().map_or(0, |refined| refined.depth)
}

/// A decision about a calibrated candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It becomes a task.
    Admit,
    /// It is made easier or harder and calibrated again; rejected for `otherwise` where that cannot be done.
    Refine {
        /// Which way its pass rate is to move.
        direction: Direction,
        /// The reason for rejection otherwise.
        otherwise: Rejection,
    },
    /// It leaves the funnel.
    Reject(Rejection),
}

/// A curriculum decides from recorded history alone.
pub trait Curriculum {
    /// What to do with a calibrated candidate.
    fn judge(&self, candidate: Calibrated) -> Judgement;

    /// How far a mixed group is from what the curriculum wants; smaller is nearer. Orders the filling of a batch.
    fn distance(&self, passed: u32, sampled: u32) -> Distance;
}

/// The paper's rule: admit within a band of pass rates, refine towards it.
#[derive(Clone, Debug, PartialEq)]
pub struct Banded {
    /// The band.
    pub admission: Admission,
    /// Refinements a raw draw may go through.
    pub refinements_max: u32,
}

impl Banded {
    /// The rule of `iteration`.
    #[must_use]
    pub fn of(recipe: &Scenario, iteration: u32) -> Self {
        Self {
            admission: recipe.curriculum.admission_at(iteration, recipe.iterations),
            refinements_max: recipe.curriculum.refinements,
        }
    }
}

impl Curriculum for Banded {
    fn judge(&self, candidate: Calibrated) -> Judgement {
        let Calibrated { passed, sampled, wanted, .. } = candidate;
        if sampled >= wanted && self.admission.admits(passed, sampled) {
            return Judgement::Admit;
        }
        let (direction, otherwise) = if passed == 0 || self.admission.side(passed, sampled) == Ordering::Less
        {
            (Direction::Easier, Rejection::TooHard)
        } else {
            (Direction::Harder, Rejection::TooEasy)
        };
        if candidate.may_go(direction, self.refinements_max) {
            Judgement::Refine { direction, otherwise }
        } else {
            Judgement::Reject(otherwise)
        }
    }

    fn distance(&self, passed: u32, sampled: u32) -> Distance {
        self.admission.distance(passed, sampled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refinement_is_never_turned_back() {
        let rule = Banded { admission: "3/8..5/8".parse().unwrap(), refinements_max: 3 };
        let judged =
            |passed, depth, came| rule.judge(Calibrated { passed, sampled: 8, wanted: 8, depth, came });
        let (easier, harder) = (Direction::Easier, Direction::Harder);
        let refine = |direction, otherwise| Judgement::Refine { direction, otherwise };
        assert_eq!(judged(0, 1, Some(easier)), refine(easier, Rejection::TooHard));
        assert_eq!(judged(8, 1, Some(easier)), Judgement::Reject(Rejection::TooEasy));
        assert_eq!(judged(8, 1, Some(harder)), refine(harder, Rejection::TooEasy));
        assert_eq!(judged(0, 1, Some(harder)), Judgement::Reject(Rejection::TooHard));
        assert_eq!(judged(0, 3, Some(easier)), Judgement::Reject(Rejection::TooHard));
        assert_eq!(judged(4, 1, Some(harder)), Judgement::Admit);
    }
}
