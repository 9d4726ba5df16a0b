//! Create, step, resume, replay, read.

use std::fs;

use tadpole_kernel::driver::{Kernel, KernelError};
use tadpole_kernel::event::Event;
use tadpole_kernel::id::{Digest, Step};
use tadpole_kernel::replay::{Replay, ReplayError};
use tadpole_kernel::run::{RunError, RunHeader, RunReader, Timing};

use crate::toy::{self, SCENARIO, header, systems};

#[test]
fn equal_runs_have_equal_bytes() {
    let ((_a, first), (_b, second)) = (toy::finished(), toy::finished());
    toy::assert_same_content(&first, &second);
    assert!(toy::content(&first).len() > 12);
}

#[test]
fn a_toy_run_has_every_kind_of_event_but_refusal() {
    let (_temp, dir) = toy::finished();
    let run = RunReader::open(&dir).unwrap();
    let mut names: Vec<_> = run.events().unwrap().map(|it| it.unwrap().2.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 16, "{names:?}");
}

#[test]
fn a_run_is_never_overwritten() {
    let (_temp, dir) = toy::finished();
    let before = toy::content(&dir);
    let error = Kernel::create(&dir, SCENARIO, header(), systems()).unwrap_err();
    assert!(matches!(error, KernelError::Run(RunError::Exists(_))), "{error}");
    assert_eq!(before, toy::content(&dir));
    fs::create_dir(dir.with_file_name("empty")).unwrap();
    let empty = Kernel::create(dir.with_file_name("empty"), SCENARIO, header(), systems());
    assert!(matches!(empty.unwrap_err(), KernelError::Run(RunError::Exists(_))));
}

#[test]
fn creation_leaves_nothing_beside_the_run() {
    let (temp, dir) = toy::place();
    drop(Kernel::create(&dir, SCENARIO, header(), systems()).unwrap());
    let names: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["run"]);
    assert_eq!(RunReader::open(&dir).unwrap().scenario().unwrap(), SCENARIO);
}

#[test]
fn a_second_writer_is_refused_by_the_name_of_the_first() {
    let (_temp, dir) = toy::place();
    let kernel = Kernel::create(&dir, SCENARIO, header(), systems()).unwrap();
    let error = Kernel::resume(&dir, header(), systems()).unwrap_err();
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(kernel);
    Kernel::resume(&dir, header(), systems()).unwrap();
    assert_eq!(fs::read(dir.join("LOCK")).unwrap(), b"");
}

#[test]
fn resuming_after_every_step_changes_no_byte() {
    let (_temp, whole) = toy::finished();
    let (_other, dir) = toy::place();
    drop(Kernel::create(&dir, SCENARIO, header(), systems()).unwrap());
    loop {
        let mut kernel = Kernel::resume(&dir, header(), systems()).unwrap();
        assert_eq!(kernel.recovered(), None);
        if kernel.step().unwrap().is_none() {
            break;
        }
    }
    toy::assert_same_content(&whole, &dir);
}

#[test]
fn a_run_is_not_resumed_with_another_scenario() {
    let (_temp, dir) = toy::finished();
    let changed = [
        (RunHeader { seed: 8, ..header() }, "seed"),
        (RunHeader { arithmetic: 2, ..header() }, "arithmetic version"),
        (RunHeader { iterations: 3, ..header() }, "number of iterations"),
        (RunHeader { scenario: Digest::of(b"other"), ..header() }, "scenario (digest)"),
    ];
    for (header, name) in changed {
        let error = Kernel::resume(&dir, header, systems()).unwrap_err();
        assert!(
            matches!(&error, KernelError::Run(RunError::ScenarioChanged { field, .. }) if *field == name),
            "{error}"
        );
    }
}

#[test]
fn replay_finds_the_recorded_world_at_every_step() {
    let (_temp, dir) = toy::finished();
    let run = RunReader::open(&dir).unwrap();
    let commits: Vec<_> = run.groups().unwrap().map(|group| *group.unwrap().commit()).collect();
    for commit in &commits {
        let mut replay = Replay::open(&dir).unwrap();
        assert_eq!(replay.to(commit.step).unwrap(), *commit);
    }
    let mut replay = Replay::open(&dir).unwrap();
    let last = replay.finish().unwrap();
    assert_eq!(Some(&last), commits.last());
    let past = replay.to(last.step.next()).unwrap_err();
    assert!(matches!(past, ReplayError::PastEnd { steps, .. } if steps == commits.len() as u64));
}

#[test]
fn a_reader_sees_what_is_committed_while_the_run_is_written() {
    let (_temp, dir) = toy::place();
    let mut kernel = Kernel::create(&dir, SCENARIO, header(), systems()).unwrap();
    let reader = RunReader::open(&dir).unwrap();
    let mut steps = 1;
    loop {
        let totals = reader.totals().unwrap();
        assert_eq!((totals.steps, totals.last.chain), (steps, kernel.chain()));
        if kernel.step().unwrap().is_none() {
            break;
        }
        steps += 1;
    }
}

#[test]
fn segments_are_sealed_where_iterations_end() {
    let (_temp, dir) = toy::finished();
    let run = RunReader::open(&dir).unwrap();
    let mut last_segment = 0;
    for group in run.groups().unwrap() {
        let group = group.unwrap();
        let ends = group.events().any(|event| matches!(event.unwrap(), Event::IterationFinished(_)));
        assert_eq!(group.commit().seals, ends);
        last_segment = group.segment();
    }
    assert_eq!(last_segment, 2);
    assert_eq!(fs::read_dir(dir.join("log")).unwrap().count(), 3);
}

#[test]
fn the_reader_finds_steps_and_events_by_number() {
    let (_temp, dir) = toy::finished();
    let run = RunReader::open(&dir).unwrap();
    for entry in run.events().unwrap() {
        let (commit, sequence, event) = entry.unwrap();
        assert_eq!(run.event(sequence).unwrap(), Some((commit, event)));
        assert_eq!(run.step(commit.step).unwrap().unwrap().commit(), &commit);
    }
    let totals = run.totals().unwrap();
    assert_eq!(run.event(totals.last.next()).unwrap(), None);
    assert!(run.step(totals.last.step.next()).unwrap().is_none());
    assert!(totals.draws.values > 100);
    assert_eq!(totals.tail.torn, None);
}

#[test]
fn timings_lie_beside_the_chain() {
    let (_temp, dir) = toy::place();
    let (_other, plain) = toy::finished();
    let mut kernel = Kernel::create(&dir, SCENARIO, header(), systems()).unwrap();
    while let Some(committed) = kernel.step().unwrap() {
        let timing = Timing { step: committed.commit.step.0, wall_us: 5, cpu_us: 4, peak_bytes: None };
        kernel.note_timing(&timing).unwrap();
    }
    toy::assert_same_content(&dir, &plain);
    let timings = RunReader::open(&dir).unwrap().timings().unwrap();
    assert_eq!(timings[0].step, Step(1).0);
    assert_eq!(timings.len() as u64, kernel.next_step().0 - 1);
}

#[test]
fn what_is_no_run_is_called_so() {
    let temp = tempfile::tempdir().unwrap();
    assert!(matches!(RunReader::open(temp.path()).unwrap_err(), RunError::NotARun(_)));
    let absent = temp.path().join("absent");
    let error = Kernel::resume(&absent, header(), systems()).unwrap_err();
    assert!(matches!(error, KernelError::Run(RunError::NotARun(_))), "{error}");
    assert!(!absent.exists());
}
