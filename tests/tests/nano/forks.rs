//! Forks of nano: what another rule of admission would have made of its last iteration.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tadpole_kernel::event::Event;
use tadpole_kernel::id::Step;
use tadpole_tests::binary;
use tadpole_tests::bits::Bits;
use tadpole_tests::nano::{nano, run};

/// The last step of iteration `of`.
fn end(of: u32) -> Step {
    let ends = |event: &Event| matches!(event, Event::IterationFinished(it) if it.iteration.0 == of);
    nano().events.iter().find(|(_, event)| ends(event)).unwrap().0.step
}

fn fork(parent: &Path, at: Step, set: &[&str], child: &Path) -> binary::Outcome {
    let at = at.to_string();
    let mut arguments = vec!["fork", parent.to_str().unwrap(), "--at", &at];
    arguments.extend(set.iter().flat_map(|set| ["--set", *set]));
    arguments.extend(["--out", child.to_str().unwrap(), "--json"]);
    binary::run(arguments)
}

fn go_on(child: &Path) {
    let _summary = binary::run(["resume", child.to_str().unwrap(), "--threads", "2", "--json"]).succeeded();
}

fn diff(left: &Path, right: &Path) -> Value {
    binary::run(["diff", left.to_str().unwrap(), right.to_str().unwrap(), "--json"]).succeeded().json()
}

fn verified(run: &Path) -> Value {
    binary::run(["verify", run.to_str().unwrap(), "--threads", "2", "--json"]).succeeded().json()
}

#[test]
fn another_rule_from_iteration_three_on_diverges_there_and_nowhere_before() {
    let parent = tempfile::tempdir().unwrap();
    let (child, grandchild) = (parent.path().join("child"), parent.path().join("grandchild"));
    let before = Bits::of(run());
    let at = end(2);
    let forked = fork(run(), at, &["curriculum.admission_last=0..1"], &child).succeeded().json();
    assert_eq!(forked["changes"][0]["key"], "curriculum.admission_last");
    go_on(&child);

    // The bytes are the parent's up to the step, and so is everything that happened before a rule was asked.
    let compared = diff(run(), &child);
    let comparison = &compared["comparison"];
    assert_eq!(comparison["same_steps"], at.0 + 1);
    assert_eq!(comparison["right"]["ancestors"][0]["step"], at.0);
    let divergence = &comparison["divergence"];
    assert_eq!((&divergence["left"]["iteration"], &divergence["right"]["iteration"]), (&3.into(), &3.into()));
    let step = divergence["left"]["step"].as_u64().unwrap();
    assert_eq!(divergence["right"]["step"], step + 1, "the fork's own step lies between");
    let of_step = |wanted: u64| {
        nano().events.iter().filter(move |(commit, _)| commit.step.0 == wanted).map(|(_, event)| event)
    };
    assert!(
        of_step(step).all(|event| matches!(
            event,
            Event::TaskAdmitted(_) | Event::CandidateRejected(_) | Event::CandidateGenerated(_)
        )),
        "it is a judgement that differs"
    );
    for iteration in 0..3 {
        assert_eq!(compared["iterations"]["left"][iteration], compared["iterations"]["right"][iteration]);
    }

    // The whole of it holds: the past under the parent's scenario, the rest under its own.
    let report = verified(&child);
    assert_eq!(report["differences"], Value::Array(Vec::new()));
    assert_eq!((&report["executed"], &report["complete"]), (&report["steps"], &true.into()));

    // And so does that of a fork of the fork.
    let more = ["iterations=4", "curriculum.samples=4", "name=longer"];
    let last = comparison["right"]["steps"].as_u64().unwrap() - 1;
    let _child = fork(&child, Step(last - 1), &more, &grandchild).succeeded();
    go_on(&grandchild);
    assert_eq!(verified(&grandchild)["differences"], Value::Array(Vec::new()));
    assert!(before == Bits::of(run()), "the parent was written");
}

#[test]
fn an_unchanged_scenario_makes_the_same_facts_again() {
    let parent = tempfile::tempdir().unwrap();
    let child = parent.path().join("child");
    let _child = fork(run(), end(2), &[], &child).succeeded();
    go_on(&child);
    let comparison = diff(run(), &child)["comparison"].clone();
    assert_eq!(comparison["divergence"], Value::Null);
    assert_eq!(comparison["left"]["decisions"], comparison["same_decisions"]);
}

#[test]
fn what_would_contradict_the_past_is_refused_with_the_reason() {
    let parent = tempfile::tempdir().unwrap();
    let child = parent.path().join("child");
    let within = Step(end(2).0 - 3);
    for (at, set, part) in [
        (end(2), "seed=15", "every random number so far followed from it"),
        (end(2), "harness.max_turns=9", "every trajectory so far was played under it"),
        (end(2), "evaluation.sets.0.tasks=3", "the held-out sets were drawn when the run began"),
        (end(2), "iterations=1", "iteration 2 has begun"),
        (within, "update.clip=0.5", "between iterations only"),
        (end(2), "update.clap=0.5", "unknown key"),
        (Step(9_999), "name=other", "there is no step 9999"),
    ] {
        let refused = fork(run(), at, &[set], &child);
        assert_eq!(refused.code, 2, "{set}: {refused}");
        assert!(refused.stderr.contains(part), "{set}: {refused}");
    }
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_run_and_itself_do_not_part() {
    let run = run().to_str().unwrap();
    let told = binary::run(["diff", run, run]).succeeded();
    assert!(told.stdout.contains("the logs are the same bytes\nthe same happened in both\n"), "{told}");
}
