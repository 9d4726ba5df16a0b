//! Shadows of a made-up iteration in which everything happens.

use tadpole_kernel::event::{
    BatchClosedV1, Bulk, CandidateCalibratedV1, CandidateGeneratedV1, CandidateRejectedV1, Direction, Event,
    IterationStartedV1, Origin, Refinement, Rejection, TaskAdmittedV1, TaskContent,
};
use tadpole_kernel::id::{Digest, Iteration, StableId, Step, Visit};
use tadpole_scenarios::schema::Scenario;

use super::*;
use crate::curriculum::rule::Banded;

const TERMS: &str = "
[curriculum]
admission = \"3/8..5/8\"
batch = 2
candidates = 6
wave = 2
samples = 8
pilot = 4
refinements = 1

[update]
groups = 2
";

fn generated(candidate: u64, draw: u32, refined: Option<(u64, Direction)>) -> Event {
    let origin = Origin {
        generator: "made up".into(),
        seed: 0,
        stratum: "s".into(),
        level: 0,
        operators: Vec::new(),
        templates: Vec::new(),
        faults: Vec::new(),
        functions: 1,
        modules: 1,
    };
    let nothing = || Bulk::Inline(Vec::new());
    let content = TaskContent {
        digest: Digest::default(),
        origin,
        statement: String::new(),
        snapshot: nothing(),
        gold: nothing(),
        tests: nothing(),
    };
    let refined =
        refined.map(|(parent, direction)| Refinement { parent: StableId(parent), direction, depth: 1 });
    let candidate = StableId(candidate);
    Event::CandidateGenerated(CandidateGeneratedV1 {
        candidate,
        iteration: Iteration(1),
        draw,
        attempt: 0,
        refined,
        content,
    })
}

fn looked(candidate: u64, look: u32, passed: u32) -> Event {
    let (candidate, look) = (StableId(candidate), Visit(look));
    Event::CandidateCalibrated(CandidateCalibratedV1 { candidate, look, passed, sampled: 4 })
}

fn rejected(candidate: u64, reason: Rejection) -> Event {
    Event::CandidateRejected(CandidateRejectedV1 { candidate: StableId(candidate), reason })
}

fn admitted(candidate: u64, passed: u32) -> Event {
    let (task, candidate) = (StableId(candidate + 100), StableId(candidate));
    Event::TaskAdmitted(TaskAdmittedV1 { task, candidate, passed, sampled: 8, in_band: true })
}

/// Draw 0 is too hard and made easier with success; draw 1 is too easy and cannot be made harder; draw 2 is right, which
/// fills the batch; draw 3 is not needed.
fn recorded() -> Calibrations {
    let steps = [
        vec![Event::IterationStarted(IterationStartedV1 { iteration: Iteration(1), policy: StableId(50) })],
        vec![generated(1, 0, None), generated(2, 1, None)],
        vec![looked(1, 0, 0), looked(2, 0, 2)],
        vec![looked(2, 1, 4)],
        vec![generated(3, 0, Some((1, Direction::Easier))), rejected(2, Rejection::TooEasy)],
        vec![looked(3, 0, 2), looked(3, 1, 2)],
        vec![admitted(3, 4)],
        vec![generated(4, 2, None), generated(5, 3, None)],
        vec![looked(4, 0, 2), looked(5, 0, 3)],
        vec![looked(4, 1, 1), looked(5, 1, 4)],
        vec![admitted(4, 3), rejected(5, Rejection::NotNeeded)],
        vec![Event::BatchClosed(BatchClosedV1 {
            iteration: Iteration(1),
            tasks: vec![StableId(104), StableId(103)],
            budget_spent: false,
        })],
    ];
    let scenario = Scenario::parse(TERMS, "terms").unwrap();
    let mut calibrations = Calibrations::new(&scenario);
    for (step, events) in steps.iter().enumerate() {
        for event in events {
            calibrations.add(Step(step as u64), event);
        }
    }
    calibrations
}

fn under<'r>(calibrations: &'r Calibrations, rule: &str) -> Shadow<'r> {
    let admission = rule.parse().unwrap();
    calibrations.iterations[0].under(&Banded { admission, refinements_max: 1 })
}

fn fates(shadow: &Shadow<'_>) -> Vec<(u64, Fate)> {
    shadow.fates.iter().map(|(id, fate)| (id.0, *fate)).collect()
}

#[test]
fn the_recorded_rule_leads_to_what_was_recorded() {
    let calibrations = recorded();
    assert_eq!(under(&calibrations, "3/8..5/8"), calibrations.recorded().next().unwrap());
}

#[test]
fn a_wider_rule_needs_fewer_draws() {
    let calibrations = recorded();
    let shadow = under(&calibrations, "0 < p < 1");
    let expected = [(1, Fate::Refined(StableId(3))), (2, Fate::Admitted), (3, Fate::Admitted)];
    assert_eq!((fates(&shadow), shadow.ending), (expected.to_vec(), Ending::BatchFull));
    let tally = shadow.tally();
    assert!(tally.certain);
    assert_eq!((tally.candidates, tally.not_made, tally.shared), (3, 2, 1));
    assert_eq!((tally.looks, tally.looks_wasted), (5, 1), "the pilot of the draw that was made easier");
    assert_eq!((tally.trajectories, tally.trajectories_wasted), (20, 4));
    assert_eq!(tally.p_hat_mean, Some(0.625));
}

#[test]
fn what_the_pilot_decided_no_rule_admits_and_what_is_not_recorded_is_unknown() {
    let calibrations = recorded();
    let shadow = under(&calibrations, "p = 0");
    // Candidate 1 passed none of its pilot: it is within the band, but was not calibrated in full, so it is made easier as it
    // was. Candidate 2 was found impossible to make harder. One candidate of the budget is left for 4, none for 5; both are
    // nearest to the band of what may fill the batch, of 1 and 3, which are of one draw, 3 alone.
    let expected = [
        (1, Fate::Refined(StableId(3))),
        (2, Fate::Rejected(Rejection::TooEasy)),
        (3, Fate::Filled),
        (4, Fate::Filled),
        (5, Fate::Rejected(Rejection::TooEasy)),
    ];
    assert_eq!((fates(&shadow), shadow.ending), (expected.to_vec(), Ending::BudgetSpent));
    assert_eq!(shadow.unknown.into_iter().collect::<Vec<_>>(), [(StableId(4), Direction::Harder)]);
    let tally = under(&calibrations, "p = 0").tally();
    assert_eq!((tally.certain, tally.unknown, tally.missing), (false, 1, 0));
}

#[test]
fn a_rule_that_asks_for_more_draws_than_there_are_says_what_is_missing() {
    let mut calibrations = recorded();
    calibrations.iterations[0].terms.candidates = 100;
    let shadow = under(&calibrations, "7/8..1");
    let tally = shadow.tally();
    assert_eq!((shadow.ending, tally.missing, tally.certain), (Ending::RecordEnds, 1, false));
    assert_eq!(tally.admitted, 1, "draw 3");
    assert_eq!(shadow.unknown.get(&StableId(4)), Some(&Direction::Easier));
    assert_eq!(shadow.unknown.get(&StableId(2)), Some(&Direction::Easier), "6/8 is too hard for this rule");
}

#[test]
fn a_refinement_the_other_way_is_unknown_though_one_was_recorded() {
    let mut calibrations = recorded();
    // As if candidate 1 had been made harder.
    for (_, direction) in
        calibrations.iterations[0].candidates.values_mut().filter_map(|it| it.successor.as_mut())
    {
        *direction = Direction::Harder;
    }
    let shadow = under(&calibrations, "3/8..5/8");
    assert_eq!(shadow.unknown.get(&StableId(1)), Some(&Direction::Easier));
    assert!(!shadow.fates.contains_key(&StableId(3)), "it would not have been made");
}
