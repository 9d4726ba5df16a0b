//! Shadow curricula on nano's calibrations.

use std::collections::BTreeSet;

use tadpole_kernel::event::Event;
use tadpole_kernel::id::StableId;
use tadpole_scenarios::schema::Admission;
use tadpole_systems::analysis::shadow::{Calibrations, Ending, Fate};
use tadpole_systems::curriculum::rule::Banded;
use tadpole_tests::nano::nano;

fn calibrations() -> Calibrations {
    let mut calibrations = Calibrations::new(&nano().scenario);
    for (commit, event) in &nano().events {
        calibrations.add(commit.step, event);
    }
    calibrations
}

fn band(rule: &str) -> Banded {
    Banded {
        admission: rule.parse::<Admission>().unwrap(),
        refinements_max: nano().scenario.curriculum.refinements,
    }
}

#[test]
fn the_recorded_rule_reproduces_the_recorded_run() {
    let calibrations = calibrations();
    assert_eq!(calibrations.iterations.len(), 3);
    let recorded: Vec<_> = calibrations.recorded().collect();
    let again: Vec<_> = calibrations.under(|iteration| Banded::of(&nano().scenario, iteration)).collect();
    assert_eq!(again, recorded);
    let admitted: Vec<(StableId, bool)> = nano()
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::TaskAdmitted(it) => Some((it.candidate, it.in_band)),
            _ => None,
        })
        .collect();
    let shadowed = again.iter().flat_map(|shadow| {
        shadow.tasks.iter().map(|id| (*id, shadow.fates.get(id) == Some(&Fate::Admitted)))
    });
    assert_eq!(shadowed.collect::<Vec<_>>(), admitted);
    assert!(again.iter().all(|shadow| shadow.tally().certain));
}

#[test]
fn every_recorded_candidate_is_accounted_for_under_any_rule() {
    let calibrations = calibrations();
    for rule in ["p = 0.5", "0 < p <= 0.5", "0 < p < 1", "0..1", "p = 0", "p = 1", "1/4..3/8"] {
        for (shadow, record) in calibrations.under(|_| band(rule)).zip(calibrations.recorded()) {
            let known: BTreeSet<_> = record.fates.keys().collect();
            assert!(shadow.fates.keys().all(|id| known.contains(id)), "{rule}: nothing is made up");
            let tally = shadow.tally();
            let rejected: u32 = tally.rejected.values().sum();
            let on = |fate: &&Fate| matches!(fate, Fate::Refined(_) | Fate::Unknown(_));
            let refined = shadow.fates.values().filter(on).count() as u32;
            let tasks = tally.admitted + tally.filled;
            assert_eq!(tally.candidates, tasks + rejected + refined, "{rule}");
            assert_eq!((tally.candidates + tally.not_made) as usize, known.len(), "{rule}");
            assert!(tasks <= nano().scenario.curriculum.batch, "{rule}");
            assert!(tally.looks_wasted + tasks <= tally.looks, "{rule}: a task was looked at");
            assert_eq!(tally.task_rates.iter().sum::<u32>(), tasks, "{rule}");
        }
    }
}

#[test]
fn a_rule_that_takes_everything_needs_the_first_draws_alone() {
    let batch = nano().scenario.curriculum.batch;
    for shadow in calibrations().under(|_| band("0..1")) {
        let tally = shadow.tally();
        assert_eq!((tally.admitted, tally.unknown, tally.certain), (batch, 0, true));
        assert_eq!(shadow.ending, Ending::BatchFull);
    }
}

#[test]
fn a_refinement_that_was_not_recorded_is_unknown_and_said_to_be() {
    let unknown: Vec<_> = calibrations()
        .under(|_| band("p = 0"))
        .map(|shadow| shadow.tally())
        .filter(|tally| tally.unknown > 0)
        .collect();
    assert!(!unknown.is_empty(), "nano admits what this rule would make harder");
    assert!(unknown.iter().all(|tally| !tally.certain));
}

#[test]
fn shadows_of_nano_are_the_recorded_ones() {
    let calibrations = calibrations();
    let rules = ["p = 0", "0 < p < 1", "p = 1"];
    let tallies = |rule: &str| -> Vec<_> {
        let shadows = calibrations.under(|_| band(rule));
        shadows.map(|shadow| serde_json::to_string(&shadow.tally()).unwrap()).collect()
    };
    let text: Vec<String> =
        rules.iter().map(|rule| format!("{rule}\n{}", tallies(rule).join("\n"))).collect();
    insta::assert_snapshot!(text.join("\n\n"));
}
