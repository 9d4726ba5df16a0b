//! Replay: the log alone leads to every world that was ever committed.

use tadpole_kernel::id::Step;
use tadpole_kernel::replay::Replay;
use tadpole_tests::nano::run;
use tadpole_tests::{binary, commits};

#[test]
fn replay_to_any_step_gives_the_digest_that_its_commit_recorded() {
    for commit in commits(run()) {
        let mut replay = Replay::open(run()).unwrap();
        assert_eq!(replay.to(commit.step).unwrap(), commit);
    }
}

#[test]
fn the_command_prints_the_digest_of_every_step() {
    let directory = run().to_str().unwrap();
    let mut events = 0;
    for commit in commits(run()) {
        let step = commit.step.to_string();
        let replayed = binary::run(["replay", directory, "--to", &step, "--json"]).succeeded().json();
        events += u64::from(commit.count);
        assert_eq!(replayed["world"], commit.world.to_string(), "step {step}");
        assert_eq!(replayed["chain"], commit.chain.to_string(), "step {step}");
        assert_eq!(replayed["step"], commit.step.0);
        assert_eq!(replayed["events"], events);
    }
}

#[test]
fn a_step_that_is_not_there_is_refused() {
    let Step(past) = commits(run()).last().unwrap().step.next();
    let refused = binary::run(["replay", run().to_str().unwrap(), "--to", &past.to_string(), "--json"]);
    assert_ne!(refused.code, 0, "{refused}");
    assert!(refused.stderr.contains(&past.to_string()), "{refused}");
}
