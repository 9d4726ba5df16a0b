//! What a run of smoke must show. It takes a minute; it is made once and cached until scenario or binary change.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use tadpole_kernel::event::Event;
use tadpole_systems::analysis::Curriculum;
use tadpole_tests::programs::assert_disjoint;
use tadpole_tests::{binary, bits, events, smoke};

#[test]
fn its_curriculum_is_the_recorded_one() {
    let events = events(smoke::run());
    insta::assert_snapshot!(Curriculum::from_events(events.iter().map(|(_, event)| event)));
}

#[test]
fn no_normalised_source_of_a_candidate_is_one_of_a_held_out_task() {
    assert_disjoint(smoke::run());
}

#[test]
fn the_policy_gets_better_on_a_held_out_set_and_no_watchdog_fires() {
    let events = events(smoke::run());
    let rates: Vec<f64> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::EvaluationFinished(it) if it.set == "final" && it.temperature > 0.0 => {
                Some(f64::from(it.solved) / f64::from(it.tasks * it.samples))
            }
            _ => None,
        })
        .collect();
    let [base, trained] = rates.as_slice() else { panic!("measured at both ends: {rates:?}") };
    assert!(trained > base, "{base} to {trained}");
    assert!(
        !events.iter().any(|(_, event)| matches!(event, Event::EffectRecorded(_))),
        "an effect was recorded"
    );
}

#[test]
fn one_thread_elsewhere_gives_the_bits_of_two_here() {
    let parent = tempfile::tempdir().unwrap();
    let elsewhere = parent.path().join("a directory with spaces");
    std::fs::create_dir(&elsewhere).unwrap();
    let directory = elsewhere.join("run");
    let _table =
        binary::finish(binary::elsewhere(&mut smoke::command(&directory, 1), &elsewhere)).succeeded();
    bits::assert_same("smoke on one thread, elsewhere", smoke::run(), &directory);
}
