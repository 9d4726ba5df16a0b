//! What `show` prints of a fixed run.

use tadpole_kernel::event::{Event, Purpose};
use tadpole_tests::nano::nano;

use super::*;

fn text(subject: &Subject) -> String {
    show(&nano().run, subject).unwrap().text
}

/// The first trajectory that was played for a purpose.
fn played_for(purpose: Purpose) -> u64 {
    let found = nano().events.iter().find_map(|(_, event)| match event {
        Event::TrajectoryFinished(it) if it.purpose == purpose => Some(it.trajectory.0),
        _ => None,
    });
    found.expect("nano plays for every purpose")
}

fn first_update() -> (u64, u64) {
    let found = nano().events.iter().find_map(|(commit, event)| match event {
        Event::UpdateApplied(it) => Some((commit.step.0, it.policy.0)),
        _ => None,
    });
    found.expect("nano trains")
}

#[test]
fn a_step() {
    insta::assert_snapshot!(text(&Subject::Step(first_update().0 - 1)));
}

#[test]
fn the_world_after_a_step() {
    insta::assert_snapshot!(text(&Subject::World(Some(first_update().0))));
}

#[test]
fn a_policy_that_an_update_made() {
    insta::assert_snapshot!(text(&Subject::Policy(first_update().1)));
}

#[test]
fn a_policy_that_was_published() {
    let found = nano().events.iter().rev().find_map(|(_, event)| match event {
        Event::PolicyPublished(it) => Some(it.policy.0),
        _ => None,
    });
    insta::assert_snapshot!(text(&Subject::Policy(found.unwrap())));
}

#[test]
fn a_trajectory_that_trained_down_to_its_tokens() {
    insta::assert_snapshot!(text(&Subject::Trajectory { id: played_for(Purpose::Rollout), tokens: true }));
}

#[test]
fn a_trajectory_that_taught_nothing_says_why() {
    for (purpose, why) in [
        (Purpose::Calibration, "taught     nothing: it was played to calibrate a candidate"),
        (Purpose::Evaluation, "taught     nothing: it was played to measure a policy"),
    ] {
        let text = text(&Subject::Trajectory { id: played_for(purpose), tokens: true });
        assert!(text.contains(why) && text.contains("tokens as they were sampled"), "{text}");
    }
}

#[test]
fn json_has_every_token_with_its_probabilities_advantage_and_fate() {
    let id = played_for(Purpose::Rollout);
    let json = show(&nano().run, &Subject::Trajectory { id, tokens: false }).unwrap().json;
    let lesson = &json["lessons"][0];
    assert!(lesson["advantage"].is_number(), "{lesson}");
    let tokens = lesson["tokens"].as_array().unwrap();
    assert_eq!(json["sampled"], tokens.len());
    for token in tokens {
        let number = |key: &str| token[key].as_f64().unwrap_or_else(|| panic!("{key} of {token}"));
        assert!(number("p") > 0.0 && number("q") > 0.0 && number("ratio") > 0.0);
        assert_eq!(token["kept"], true);
        assert!(token["dropped"].is_null());
    }
}

#[test]
fn what_is_not_there_is_a_usage_error() {
    for subject in [
        Subject::World(Some(9_999)),
        Subject::Policy(9_999),
        Subject::Trajectory { id: 9_999, tokens: false },
        Subject::Step(9_999),
    ] {
        let failure = show(&nano().run, &subject).expect_err("absent");
        assert_eq!(failure.kind(), crate::failure::Kind::Usage, "{failure}");
        assert!(failure.to_string().contains("there is no"), "{failure}");
    }
}
