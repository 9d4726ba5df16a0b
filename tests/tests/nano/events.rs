//! Everything happens in a run of nano, and in few bytes.

use std::collections::BTreeSet;

use tadpole_kernel::event::{Event, Grade, Purpose};
use tadpole_tests::bits::Bits;
use tadpole_tests::nano::{nano, run};

/// What no run of nano shows, and why.
const ABSENT: [(&str, &str); 2] = [
    ("UpdateRefused", "it ends a run with a failure; `verify` has a run of its own that is refused"),
    (
        "EffectRecorded",
        "nano asks nobody outside: its generator is the embedded world, and no watchdog fires",
    ),
];

#[test]
fn every_kind_of_event_happens() {
    let seen: BTreeSet<&str> = nano().events.iter().map(|(_, event)| event.name()).collect();
    let absent: BTreeSet<&str> = Event::NAMES.iter().copied().filter(|name| !seen.contains(name)).collect();
    assert_eq!(absent, ABSENT.map(|(name, _)| name).into(), "kinds that did not happen");
}

#[test]
fn three_iterations_take_at_most_128_kib_of_log() {
    let bytes = Bits::of(run()).log_bytes();
    assert!(bytes <= 128 * 1024, "{bytes} bytes");
    let iterations =
        nano().events.iter().filter(|(_, event)| matches!(event, Event::IterationFinished(_))).count();
    assert_eq!(iterations, 4, "the base and three");
}

#[test]
fn candidates_are_refined_and_admitted_in_band() {
    let events = || nano().events.iter().map(|(_, event)| event);
    let refined =
        events().filter(|event| matches!(event, Event::CandidateGenerated(it) if it.refined.is_some()));
    assert!(refined.count() > 0, "none was refined");
    let in_band = events().filter(|event| matches!(event, Event::TaskAdmitted(it) if it.in_band));
    assert!(in_band.count() > 0, "none was admitted in band");
}

#[test]
fn every_purpose_is_played_and_some_episode_succeeds() {
    let played = || {
        nano().events.iter().filter_map(|(_, event)| match event {
            Event::TrajectoryFinished(played) => Some(played),
            _ => None,
        })
    };
    let purposes: BTreeSet<Purpose> = played().map(|played| played.purpose).collect();
    assert_eq!(purposes, BTreeSet::from([Purpose::Calibration, Purpose::Rollout, Purpose::Evaluation]));
    assert!(played().any(|played| played.facts.grade == Grade::Resolved));
    assert!(
        played().all(|played| !matches!(played.facts.grade, Grade::Infra | Grade::Watchdog | Grade::Aborted))
    );
}

#[test]
fn some_group_is_mixed_and_trains() {
    let trained = nano().events.iter().any(|(_, event)| match event {
        Event::UpdateApplied(update) => update.groups.iter().any(|group| !group.discarded) && update.kept > 0,
        _ => false,
    });
    assert!(trained, "no update had a mixed group: nothing was trained");
}
