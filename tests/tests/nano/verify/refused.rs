//! An update that cannot be computed honestly is refused, and the run ends with it.

use std::path::Path;

use tadpole_kernel::driver::Kernel;
use tadpole_kernel::event::{Event, Purpose};
use tadpole_kernel::forge::{Worlds, forge};
use tadpole_kernel::id::Step;
use tadpole_kernel::verify::{Difference, VerifyOptions, verify};
use tadpole_systems::assembly::Assembly;
use tadpole_tests::nano::nano;
use tadpole_tests::{binary, drive, events};

/// A log-probability whose probability is 0: no token that was sampled has it.
const IMPOSSIBLE: f32 = -1e4;

/// Runs nano up to the first update with a mixed group, and claims of one of its tokens that it was impossible.
fn poisoned(directory: &Path) -> (Step, usize) {
    let mixed = nano().events.iter().find_map(|(commit, event)| match event {
        Event::UpdateApplied(update) => {
            let group = update.groups.iter().find(|group| !group.discarded)?;
            Some((commit.step, group.trajectories[0]))
        }
        _ => None,
    });
    let (update, victim) = mixed.expect("nano has a mixed group");
    let mut kernel = drive::start(&nano().scenario, directory, &drive::on_threads(2));
    while kernel.next_step() < update {
        kernel.step().unwrap();
    }
    drop(kernel);
    let played = events(directory);
    let is_victim = |event: &Event| matches!(event, Event::TrajectoryFinished(it) if it.trajectory == victim);
    let at = played.iter().position(|(_, event)| is_victim(event)).unwrap();
    let step = played[at].0.step;
    let index = at - played.iter().position(|(commit, _)| commit.step == step).unwrap();
    forge(directory, step, index, Worlds::Recomputed, |event| {
        let Event::TrajectoryFinished(event) = event else { panic!("a trajectory") };
        assert_eq!(event.purpose, Purpose::Rollout);
        event.segments[0].log_probs[0] = IMPOSSIBLE;
    })
    .unwrap();
    (step, index)
}

#[test]
fn an_update_on_an_impossible_token_is_refused_and_ends_the_run() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let place = poisoned(&directory);
    let mut kernel: Kernel = drive::reopen(&nano().scenario, &directory, &drive::on_threads(2));
    let refused = kernel.step().unwrap().expect("an update is due");
    let [Event::UpdateRefused(refusal)] = refused.events.as_slice() else { panic!("{:?}", refused.events) };
    assert!(!refusal.reason.is_empty());
    assert_eq!(kernel.step().unwrap(), None, "the run is over");
    drop(kernel);
    let mut again = drive::reopen(&nano().scenario, &directory, &drive::on_threads(2));
    assert_eq!(again.step().unwrap(), None, "and stays so");
    drop(again);

    let name = directory.to_str().unwrap();
    for words in [["resume", name], ["show", name]] {
        let outcome = binary::run(words);
        assert_eq!(outcome.code, 1, "{outcome}");
        assert!(outcome.stderr.contains(&refusal.reason), "{outcome}");
    }
    the_refusal_is_confirmed_and_the_token_is_not(&directory, place);
}

fn the_refusal_is_confirmed_and_the_token_is_not(directory: &Path, place: (Step, usize)) {
    let Assembly { systems, header, .. } = drive::assembled(&nano().scenario, &drive::on_threads(2));
    let report = verify(directory, &header, &systems, &VerifyOptions::default(), |_| {}).unwrap();
    let [Difference::Event { step, index, fields, .. }] = report.differences.as_slice() else {
        panic!("{:?}", report.differences)
    };
    assert_eq!((*step, *index), place);
    assert_eq!(fields[0].path, "segments[0].log_probs[0]");
}
