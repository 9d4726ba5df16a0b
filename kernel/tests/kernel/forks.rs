//! A fork goes on from a step of another run; what lies before is shared, and the parent is never written.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tadpole_kernel::decide::{Keep, Systems};
use tadpole_kernel::diff::{self, Comparison};
use tadpole_kernel::driver::{Kernel, KernelError};
use tadpole_kernel::event::Event;
use tadpole_kernel::fork::{Fork, ForkError, Forked, Prefix, fork};
use tadpole_kernel::id::{Digest, Step};
use tadpole_kernel::keyframe::{self, Spacing};
use tadpole_kernel::replay::Replay;
use tadpole_kernel::run::{RunError, RunHeader, RunReader};
use tadpole_kernel::verify::{Era, Report, VerifyOptions, verify_lineage};

use crate::toy::{self, header, systems, systems_that_keep};

const CHANGED: &str = "name = \"toy\"\nrule = \"generous\"\n";

/// The toy under another rule of admission: see `toy::generous`.
pub(crate) fn changed() -> RunHeader {
    RunHeader { scenario: Digest::of(CHANGED.as_bytes()), ..header() }
}

pub(crate) fn make(parent: &Path, at: Step, dir: &Path, header: RunHeader) -> Result<Forked, ForkError> {
    fork(Prefix::read(parent, at)?, &Fork { dir, scenario: CHANGED, header })
}

/// A finished run that kept every blob, so that it can be forked anywhere.
pub(crate) fn parent() -> (tempfile::TempDir, PathBuf) {
    let (temp, dir) = toy::place();
    let mut kernel = Kernel::create(&dir, toy::SCENARIO, header(), systems_that_keep(Keep::All)).unwrap();
    kernel.run(|_| {}).unwrap();
    (temp, dir)
}

/// The last step of iteration 1.
pub(crate) fn boundary(dir: &Path) -> Step {
    let ends = |event: &Event| matches!(event, Event::IterationFinished(it) if it.iteration.0 == 1);
    toy::find(dir, ends).0
}

fn last(dir: &Path) -> Step {
    RunReader::open(dir).unwrap().totals().unwrap().last.step
}

pub(crate) fn run_on(dir: &Path, header: RunHeader, systems: Systems) {
    Kernel::resume(dir, header, systems).unwrap().run(|_| {}).unwrap();
}

/// Everything that happened, without what says which run it is.
fn facts(dir: &Path) -> Vec<Event> {
    let events = RunReader::open(dir).unwrap().events().unwrap().map(|it| it.unwrap().2);
    events.filter(|event| !event.is_identity()).collect()
}

fn check(dir: &Path, forks: &[(RunHeader, Systems)]) -> Report {
    let forks: Vec<_> = forks.iter().map(|(header, systems)| Era { header, systems }).collect();
    let first = Era { header: &header(), systems: &systems_that_keep(Keep::All) };
    verify_lineage(dir, first, &forks, &VerifyOptions::default(), |_| {}).unwrap()
}

fn compare(left: &Path, right: &Path) -> Comparison {
    diff::compare(&RunReader::open(left).unwrap(), &RunReader::open(right).unwrap()).unwrap()
}

#[test]
fn from_any_step_an_unchanged_scenario_leads_to_the_same_facts() {
    let (temp, dir) = parent();
    let before = toy::content(&dir);
    for step in 0..last(&dir).0 {
        let child = temp.path().join(format!("child-{step}"));
        let forked = make(&dir, Step(step), &child, header()).unwrap();
        run_on(&child, header(), systems_that_keep(Keep::All));
        assert_eq!(facts(&child), facts(&dir), "forked at step {step}");
        let report = check(&child, &[(header(), systems_that_keep(Keep::All))]);
        assert_eq!((report.differences.as_slice(), report.complete), (&[][..], true), "step {step}");
        assert_eq!(report.executed, report.steps, "the parent's steps are decided again as well");
        let compared = compare(&dir, &child);
        assert_eq!((compared.same_steps, compared.divergence.clone()), (step + 1, None));
        assert_eq!(compared.right.ancestors[0].run, forked.parent);
        assert_ne!(forked.run, forked.parent);
    }
    assert_eq!(toy::content(&dir), before, "the parent is never written");
}

/// Every file of a run that forks may share, set to a date of its own; returns their paths.
fn dated(dir: &Path, date: SystemTime) -> Vec<PathBuf> {
    let shared: Vec<PathBuf> = toy::content(dir).into_keys().map(|name| dir.join(name)).collect();
    for path in &shared {
        File::options().write(true).open(path).unwrap().set_modified(date).unwrap();
    }
    shared
}

/// A run that is opened writes its last group again, as it is: in a fork that must not reach a file of the parent.
#[test]
fn opening_a_fork_and_going_on_with_it_writes_to_no_file_of_the_parent() {
    let (temp, dir) = parent();
    let at = boundary(&dir);
    for (name, step) in [("sealed", at), ("partial", Step(at.0 - 1))] {
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(step.0 + 1);
        let child = temp.path().join(name);
        let shared = dated(&dir, date);
        make(&dir, step, &child, header()).unwrap();
        drop(Kernel::resume(&child, header(), systems()).unwrap());
        run_on(&child, header(), systems());
        for path in shared {
            assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), date, "{name}: {}", path.display());
        }
    }
}

#[test]
fn another_rule_diverges_where_it_is_first_applied() {
    let (temp, dir) = parent();
    let (at, child) = (boundary(&dir), temp.path().join("child"));
    make(&dir, at, &child, changed()).unwrap();
    run_on(&child, changed(), toy::generous());
    let compared = compare(&dir, &child);
    assert_eq!(compared.same_steps, at.0 + 1, "the bytes are the parent's up to the step");
    let divergence = compared.divergence.unwrap();
    let (left, right) = (divergence.left.unwrap(), divergence.right.unwrap());
    let (first, _) = toy::find(
        &dir,
        |event| matches!(event, Event::TaskAdmitted(it) if it.task.0 > 0 && is_later(&dir, it, at)),
    );
    assert_eq!(
        (left.step, right.step),
        (first, first.next()),
        "the fork's own step moves the child's by one"
    );
    assert_eq!((left.iteration.0, right.iteration.0), (2, 2));
    assert_eq!(divergence.events.len(), 1);
    assert_eq!(divergence.events[0].fields[0].path, "in_band");
    let world: Vec<_> = divergence.world.iter().map(|it| (it.component, it.field.path.as_str())).collect();
    assert!(
        world.contains(&("Progress", "run")) && world.contains(&("Task", "source.Admitted.in_band")),
        "{world:?}"
    );
    assert!(check(&child, &[(changed(), toy::generous())]).holds());
    // Under the parent's rule alone the child does not hold, and the first thing blamed is the fork itself.
    let report = check(&child, &[(header(), systems())]);
    assert_eq!(report.differences[0].step(), at.next());
}

fn is_later(dir: &Path, task: &tadpole_kernel::event::TaskAdmittedV1, at: Step) -> bool {
    let own = |event: &Event| matches!(event, Event::TaskAdmitted(it) if it.task == task.task);
    toy::find(dir, own).0 > at
}

#[test]
fn a_fork_of_a_fork_verifies_under_all_three_scenarios() {
    let (temp, dir) = parent();
    let (child, grandchild) = (temp.path().join("child"), temp.path().join("grandchild"));
    let longer = RunHeader { iterations: 3, ..changed() };
    make(&dir, boundary(&dir), &child, changed()).unwrap();
    run_on(&child, changed(), toy::generous());
    // One step before `RunFinished`, with an iteration more.
    let at = Step(last(&child).0 - 1);
    make(&child, at, &grandchild, longer).unwrap();
    run_on(&grandchild, longer, toy::generous());
    let reader = RunReader::open(&grandchild).unwrap();
    let lineage = reader.lineage();
    assert_eq!(lineage.ancestors().count(), 2);
    assert_eq!(lineage.ancestors().next(), Some(header().run()));
    assert_eq!(lineage.header(), longer);
    for ancestor in lineage.ancestors() {
        assert!(reader.scenario_of(ancestor).unwrap().starts_with("name"));
    }
    let replay = {
        let mut replay = Replay::open(&grandchild).unwrap();
        replay.finish().unwrap();
        replay
    };
    assert_eq!(replay.world().view().progress().run, reader.run());
    assert_eq!(replay.world().view().progress().iteration.0, 3);
    let report = check(&grandchild, &[(changed(), toy::generous()), (longer, toy::generous())]);
    assert_eq!(report.differences, []);
    assert_eq!(compare(&child, &grandchild).same_steps, at.0 + 1);
}

#[test]
fn interrupted_forks_go_on_as_runs_do() {
    let (temp, dir) = parent();
    let (whole, child) = (temp.path().join("whole"), temp.path().join("child"));
    make(&dir, Step(5), &whole, header()).unwrap();
    run_on(&whole, header(), systems());
    make(&dir, Step(5), &child, header()).unwrap();
    while Kernel::resume(&child, header(), systems()).unwrap().step().unwrap().is_some() {}
    toy::assert_same_content(&whole, &child);
}

#[test]
fn sealed_segments_and_blobs_are_shared_and_the_rest_is_the_childs() {
    use std::os::unix::fs::MetadataExt;
    let (temp, dir) = parent();
    keyframe::build(&dir, Spacing::events(16), |_| {}).unwrap();
    let child = temp.path().join("child");
    let at = Step(boundary(&dir).0 + 3);
    let forked = make(&dir, at, &child, header()).unwrap();
    let inode = |dir: &Path, name: &str| fs::metadata(dir.join(name)).unwrap().ino();
    let segments: Vec<_> = (0..3).map(|index| format!("log/{index:08}.seg")).collect();
    for name in &segments[..1] {
        assert_eq!(inode(&dir, name), inode(&child, name), "{name} is sealed");
    }
    assert_ne!(inode(&dir, &segments[1]), inode(&child, &segments[1]));
    let (partial, whole) =
        (fs::read(child.join(&segments[1])).unwrap(), fs::read(dir.join(&segments[1])).unwrap());
    assert!(whole.starts_with(&partial) && partial.len() < whole.len());
    assert!(child.join(&segments[2]).exists() && !child.join("LOCK").exists());
    assert_eq!(fs::read_to_string(child.join("scenario.toml")).unwrap(), CHANGED);
    let blobs = RunReader::open(&child).unwrap().blob_store().list().unwrap();
    assert!(!blobs.is_empty() && forked.linked > blobs.len() as u64);
    for digest in blobs {
        let name = format!("blobs/{}/{}", &digest.to_hex()[..2], &digest.to_hex()[2..]);
        assert_eq!(inode(&dir, &name), inode(&child, &name));
    }
    // Shared keyframes serve the child.
    assert!(Replay::seek(&child, at.next()).unwrap().keyframe().is_some());
    let names: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing is left beside the runs: {names:?}");
}

#[test]
fn what_contradicts_the_past_is_refused_and_leaves_nothing() {
    let (temp, dir) = parent();
    let child = temp.path().join("child");
    let (at, end) = (Step(boundary(&dir).0 + 2), last(&dir));
    for (at, header, message) in [
        (
            at,
            RunHeader { seed: 29, ..header() },
            "seed = 29 contradicts the past: every number drawn so far follows from seed 28",
        ),
        (
            at,
            RunHeader { iterations: 1, ..header() },
            "iterations = 1 contradicts the past: iteration 2 has begun",
        ),
        (
            at,
            RunHeader { arithmetic: 2, ..header() },
            "arithmetic version = 2 contradicts the past: everything so far was computed by version 1",
        ),
        (end, header(), "the run is over at step"),
        (end.next(), header(), "there is no step"),
    ] {
        let error = make(&dir, at, &child, header).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let error = make(&dir, at, &dir, header()).unwrap_err();
    assert!(matches!(error, ForkError::Run(RunError::Exists(_))), "{error}");
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn a_step_whose_blobs_were_dropped_is_refused_by_the_step_that_can_be_forked() {
    let (temp, dir) = toy::finished();
    let updated = |event: &Event| matches!(event, Event::UpdateApplied(it) if it.iteration.0 == 2);
    let (at, _) = toy::find(&dir, updated);
    let error = make(&dir, at, &temp.path().join("child"), header()).unwrap_err();
    let ends = boundary(&dir);
    assert!(matches!(&error, ForkError::Dropped { boundary: Some(at), .. } if *at == ends), "{error}");
    make(&dir, ends, &temp.path().join("child"), header()).unwrap();
}

#[test]
fn a_fork_is_not_resumed_as_its_parent() {
    let (temp, dir) = parent();
    let child = temp.path().join("child");
    make(&dir, boundary(&dir), &child, changed()).unwrap();
    let error = Kernel::resume(&child, header(), systems()).unwrap_err();
    assert!(matches!(&error, KernelError::Run(RunError::ScenarioChanged { .. })), "{error}");
}

/// Whatever bit of a fork's log is changed, before or behind the fork, the reader says so.
#[test]
fn damage_to_a_fork_is_found() {
    let (temp, dir) = parent();
    let child = temp.path().join("child");
    make(&dir, Step(boundary(&dir).0 + 3), &child, header()).unwrap();
    let whole = RunReader::open(&child).unwrap().totals().unwrap();
    for index in [0, 1, 2] {
        let path = child.join(format!("log/{index:08}.seg"));
        let sound = fs::read(&path).unwrap();
        // Not through the link: the parent has the same file.
        fs::remove_file(&path).unwrap();
        for at in (0..sound.len()).step_by(37).chain(0..128) {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            let totals = RunReader::open(&child).and_then(|reader| reader.totals());
            // The last group is the fork's own: damage to it alone looks like an interrupted write, and is said to be one.
            let found = totals.as_ref().map_or(true, |it| it.tail.torn.is_some() && it.steps < whole.steps);
            assert!(found, "segment {index}, byte {at}: {totals:?}");
        }
        for length in [0, 64, 128, sound.len() - 16] {
            fs::write(&path, &sound[..length]).unwrap();
            let totals = RunReader::open(&child).and_then(|reader| reader.totals());
            let found = totals.as_ref().map_or(true, |it| it.steps < whole.steps);
            assert!(found, "segment {index} cut to {length}: {totals:?}");
            assert!(index == 2 || totals.is_err(), "a segment before the fork's own is never torn");
        }
        fs::write(&path, sound).unwrap();
    }
}
