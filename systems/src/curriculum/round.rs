//! Candidates that were calibrated together are judged together: a pure function of a rule and what is left to spend.

use std::collections::BTreeSet;

use tadpole_kernel::event::{Direction, Rejection};
use tadpole_kernel::id::StableId;
use tadpole_scenarios::schema::Distance;

use super::rule::{Calibrated, Curriculum, Judgement};

/// What an iteration has left when candidates are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Tasks that the batch still lacks.
    pub room: usize,
    /// Candidates that may still be generated.
    pub budget: u32,
}

/// A decision that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It becomes a task, for what is known of it.
    Admitted(Calibrated),
    /// It leaves the funnel.
    Rejected(Rejection),
}

/// A refinement that the rule asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which way the pass rate is to move.
    pub direction: Direction,
    /// The reason for rejection where it cannot be made.
    pub otherwise: Rejection,
}

/// How candidates were judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// What stands, in order.
    pub settled: Vec<(StableId, Settled)>,
    /// What is to be refined, in order.
    pub wanted: Vec<(StableId, Wanted)>,
    /// How many of those may be tried, the first ones: none once the batch is full.
    pub allowed: usize,
}

/// Judges `candidates`, which come in order of id: admits while there is room, and asks for refinements while the budget lasts.
pub fn judge(
    rule: &dyn Curriculum,
    left: Left,
    candidates: impl IntoIterator<Item = (StableId, Calibrated)>,
) -> Round {
    let mut room = left.room;
    let (mut settled, mut wanted) = (Vec::new(), Vec::new());
    for (id, candidate) in candidates {
        if room == 0 {
            settled.push((id, Settled::Rejected(Rejection::NotNeeded)));
            continue;
        }
        match rule.judge(candidate) {
            Judgement::Admit => {
                room -= 1;
                settled.push((id, Settled::Admitted(candidate)));
            }
            Judgement::Refine { direction, otherwise } => wanted.push((id, Wanted { direction, otherwise })),
            Judgement::Reject(reason) => settled.push((id, Settled::Rejected(reason))),
        }
    }
    let allowed = if room == 0 { 0 } else { left.budget as usize };
    Round { settled, wanted, allowed }
}

/// A candidate that may fill a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filler {
    /// Its id.
    pub id: StableId,
    /// Index of its raw draw; a batch has at most one task of a draw.
    pub draw: u32,
    /// Whether it is a task already.
    pub admitted: bool,
    /// What is known of it.
    pub calibrated: Calibrated,
}

/// The fully calibrated mixed candidates that were not admitted, nearest to what the rule wants first, at most one a raw draw.
pub fn nearest(
    rule: &dyn Curriculum,
    candidates: impl IntoIterator<Item = Filler>,
    count: usize,
) -> Vec<(StableId, Calibrated)> {
    let candidates: Vec<Filler> = candidates.into_iter().collect();
    let mut taken: BTreeSet<u32> = candidates.iter().filter(|it| it.admitted).map(|it| it.draw).collect();
    let mut mixed: Vec<(Distance, StableId, &Filler)> = candidates
        .iter()
        .filter(|it| !it.admitted && is_mixed(it.calibrated))
        .map(|it| (rule.distance(it.calibrated.passed, it.calibrated.sampled), it.id, it))
        .collect();
    mixed.sort_unstable_by_key(|&(distance, id, _)| (distance, id));
    mixed.retain(|(_, _, it)| taken.insert(it.draw));
    mixed.into_iter().take(count).map(|(_, id, it)| (id, it.calibrated)).collect()
}

/// Whether some but not all trajectories of a full calibration passed.
fn is_mixed(candidate: Calibrated) -> bool {
    let Calibrated { passed, sampled, wanted, .. } = candidate;
    sampled >= wanted && passed > 0 && passed < sampled
}

#[cfg(test)]
mod tests {
    use super::super::rule::Banded;
    use super::*;

    fn calibrated(passed: u32, depth: u32) -> Calibrated {
        Calibrated { passed, sampled: 8, wanted: 8, depth, came: None }
    }

    fn rule() -> Banded {
        Banded { admission: "3/8..5/8".parse().unwrap(), refinements_max: 1 }
    }

    #[test]
    fn once_the_batch_is_full_nothing_is_needed_and_nothing_refined() {
        let candidates = [(1, 0), (2, 4), (3, 5)].map(|(id, k)| (StableId(id), calibrated(k, 0)));
        let round = judge(&rule(), Left { room: 1, budget: 9 }, candidates);
        let not_needed = Settled::Rejected(Rejection::NotNeeded);
        assert_eq!(
            round.settled,
            [(StableId(2), Settled::Admitted(calibrated(4, 0))), (StableId(3), not_needed)]
        );
        assert_eq!((round.wanted.len(), round.allowed), (1, 0));
    }

    #[test]
    fn refinements_are_asked_for_up_to_their_depth_and_tried_while_the_budget_lasts() {
        let candidates = [(1, 0, 0), (2, 8, 0), (3, 1, 1)].map(|(id, k, d)| (StableId(id), calibrated(k, d)));
        let round = judge(&rule(), Left { room: 4, budget: 1 }, candidates);
        assert_eq!(round.settled, [(StableId(3), Settled::Rejected(Rejection::TooHard))]);
        let ways: Vec<Direction> = round.wanted.iter().map(|(_, wanted)| wanted.direction).collect();
        assert_eq!((ways, round.allowed), (vec![Direction::Easier, Direction::Harder], 1));
    }

    #[test]
    fn a_batch_is_filled_with_the_nearest_mixed_candidates_one_a_draw() {
        let filler = |id, draw, passed, admitted| Filler {
            id: StableId(id),
            draw,
            admitted,
            calibrated: calibrated(passed, 0),
        };
        let candidates = [
            filler(1, 0, 4, true),
            filler(2, 0, 2, false),
            filler(3, 1, 7, false),
            filler(4, 1, 6, false),
            filler(5, 2, 8, false),
            filler(6, 3, 2, false),
        ];
        let ids = |count| -> Vec<u64> {
            nearest(&rule(), candidates, count).into_iter().map(|(id, _)| id.0).collect()
        };
        assert_eq!(ids(9), [4, 6], "one distance from the band: in order of id");
        assert_eq!(ids(1), [4]);
    }
}
