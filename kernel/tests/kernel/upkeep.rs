//! Check, salvage, collect: what a run directory is worth, without deciding anything.

use std::fs;
use std::path::{Path, PathBuf};

use tadpole_kernel::blob::Moments;
use tadpole_kernel::decide::Keep;
use tadpole_kernel::driver::Kernel;
use tadpole_kernel::event::Event;
use tadpole_kernel::id::Digest;
use tadpole_kernel::log::LogError;
use tadpole_kernel::replay::ReplayError;
use tadpole_kernel::run::{RunError, RunReader};
use tadpole_kernel::upkeep::{Collection, GcError, Problem, SalvageError, check, gc, salvage};

use crate::toy::{self, SCENARIO, header, systems, systems_that_keep};

fn problems(dir: &Path) -> Vec<Problem> {
    check(dir, Moments::Carried).problems
}

fn only(dir: &Path) -> Problem {
    let mut found = problems(dir);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn blob_path(dir: &Path, digest: Digest) -> PathBuf {
    let hex = digest.to_hex();
    dir.join("blobs").join(&hex[..2]).join(&hex[2..])
}

fn segment(dir: &Path, index: u32) -> PathBuf {
    dir.join(format!("log/{index:08}.seg"))
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// The first blob that a finished run still has and that an event of the given kind names.
fn a_blob_of(dir: &Path, kind: &str) -> Digest {
    let run = RunReader::open(dir).unwrap();
    let events = run.events().unwrap().map(|entry| entry.unwrap().2);
    let named = events.filter(|event| event.name() == kind).flat_map(|event| event.blobs());
    named.into_iter().find(|&digest| blob_path(dir, digest).exists()).unwrap()
}

#[test]
fn a_finished_run_is_whole_and_so_is_one_at_every_step() {
    let (_temp, dir) = toy::place();
    let mut kernel = Kernel::create(&dir, SCENARIO, header(), systems()).unwrap();
    loop {
        let report = check(&dir, Moments::Carried);
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        assert_eq!(report.last.unwrap().chain, kernel.chain());
        assert_eq!(report.blobs.unnamed + report.answers.unnamed, 0);
        if kernel.step().unwrap().is_none() {
            assert!(report.over && report.blobs.dropped > 0 && report.answers.whole > 0);
            break;
        }
        assert!(!report.over);
    }
}

#[test]
fn a_damaged_blob_is_named_and_so_is_a_missing_one() {
    let (_temp, dir) = toy::finished();
    let digest = a_blob_of(&dir, "TaskHeldOut");
    flip(&blob_path(&dir, digest), 7);
    let problem = only(&dir);
    assert!(matches!(problem, Problem::CorruptBlob { digest: it, .. } if it == digest), "{problem}");
    assert_eq!(dir.join(problem.place().0), blob_path(&dir, digest));
    fs::remove_file(blob_path(&dir, digest)).unwrap();
    let problem = only(&dir);
    assert!(
        matches!(problem, Problem::MissingBlob { digest: it, step } if it == digest && step.0 == 1),
        "{problem}"
    );
}

#[test]
fn a_damaged_missing_or_exchanged_answer_is_named() {
    let (_temp, dir) = toy::finished();
    let answers: Vec<_> =
        toy::content(&dir).into_iter().filter(|(name, _)| name.starts_with("effects/")).collect();
    let [(first, honest), (_, other), ..] = answers.as_slice() else { panic!("two answers") };
    let path = dir.join(first);
    flip(&path, honest.len() - 1);
    assert!(matches!(only(&dir), Problem::CorruptAnswer { .. }));
    fs::write(&path, other).unwrap();
    assert!(matches!(only(&dir), Problem::CorruptAnswer { .. }), "an answer stands under its own key alone");
    fs::remove_file(&path).unwrap();
    assert!(matches!(only(&dir), Problem::MissingAnswer { .. }));
}

#[test]
fn damage_to_the_log_is_named_and_what_lies_before_it_still_counts() {
    let (_temp, dir) = toy::finished();
    let whole = check(&dir, Moments::Carried);
    flip(&segment(&dir, 1), 1000);
    let problem = only(&dir);
    let (place, byte) = problem.place();
    assert_eq!(place, "log/00000001.seg");
    assert!(byte.unwrap() <= 1000, "{problem}");
    let report = check(&dir, Moments::Carried);
    assert!(report.steps > 3 && report.steps < whole.steps);
    assert_eq!(report.blobs.whole, whole.blobs.whole);
    fs::remove_file(segment(&dir, 1)).unwrap();
    assert!(matches!(only(&dir), Problem::Log(ReplayError::Run(RunError::Log(LogError::MissingSegment(1))))));
}

#[test]
fn a_torn_tail_is_a_problem_unless_somebody_is_writing_it() {
    let (_temp, dir) = toy::place();
    let mut kernel = Kernel::create(&dir, SCENARIO, header(), systems()).unwrap();
    kernel.step().unwrap();
    let bytes = fs::read(segment(&dir, 0)).unwrap();
    fs::write(segment(&dir, 0), &bytes[..bytes.len() - 9]).unwrap();
    let report = check(&dir, Moments::Carried);
    assert!(report.live && report.problems.is_empty(), "{:?}", report.problems);
    drop(kernel);
    assert!(matches!(only(&dir), Problem::Torn(_)));
}

#[test]
fn what_is_no_run_is_not_whole() {
    let temp = tempfile::tempdir().unwrap();
    assert!(problems(temp.path()).len() >= 2, "no scenario, no log");
}

/// Goes on with a salvaged run, and requires what the damaged one was before.
fn assert_goes_on(out: &Path, whole: &Path) {
    Kernel::resume(out, header(), systems()).unwrap().run(|_| {}).unwrap();
    toy::assert_same_content(out, whole);
}

#[test]
fn what_is_salvaged_goes_on_to_the_same_bytes_wherever_the_damage_is() {
    let (_temp, whole) = toy::finished();
    let lengths: Vec<usize> = (0..3).map(|index| fs::read(segment(&whole, index)).unwrap().len()).collect();
    for (index, length) in (0..).zip(lengths) {
        for at in (0..length).step_by(length / 6 + 1) {
            let (temp, dir) = toy::finished();
            flip(&segment(&dir, index), at);
            let before = toy::content(&dir);
            let out = temp.path().join("out");
            match salvage(&dir, &out, Moments::Carried) {
                Err(SalvageError::Nothing(_)) => {
                    assert!(index == 0 && at < 600, "segment {index}, byte {at}");
                }
                Err(error) => panic!("segment {index}, byte {at}: {error}"),
                Ok(saved) => {
                    assert!(!saved.cut.is_empty());
                    assert!(saved.last.step <= saved.last_seen);
                    assert!(fs::read_to_string(out.join("recovery.log")).unwrap().starts_with("salvaged "));
                    assert!(problems(&out).is_empty());
                    assert_goes_on(&out, &whole);
                }
            }
            assert_eq!(before, toy::content(&dir), "the damaged run is not touched");
        }
    }
}

#[test]
fn a_run_without_a_segment_is_salvaged_up_to_the_gap() {
    let (temp, dir) = toy::finished();
    let (_other, whole) = toy::finished();
    let last = RunReader::open(&dir).unwrap().totals().unwrap().last;
    fs::remove_file(segment(&dir, 1)).unwrap();
    let saved = salvage(&dir, temp.path().join("out"), Moments::Carried).unwrap();
    assert!(saved.last.seals, "all of the first iteration is there");
    assert_eq!(saved.last_seen, last.step);
    assert!(saved.cut.iter().any(|problem| problem.to_string().contains("00000001.seg is missing")));
    assert!(check(temp.path().join("out"), Moments::Carried).problems.is_empty());
    assert_goes_on(&temp.path().join("out"), &whole);
}

#[test]
fn the_last_optimiser_state_is_needed_only_where_an_iteration_goes_on_from_it() {
    let (_temp, dir) = toy::finished();
    let updates = RunReader::open(&dir).unwrap().events().unwrap().map(|entry| entry.unwrap().2);
    let states: Vec<Digest> = updates
        .filter_map(|event| match event {
            Event::UpdateApplied(update) => Some(update.state),
            _ => None,
        })
        .collect();
    fs::remove_file(blob_path(&dir, *states.last().unwrap())).unwrap();
    assert!(matches!(only(&dir), Problem::MissingBlob { .. }));
    assert!(check(&dir, Moments::Reset).problems.is_empty());
}

#[test]
fn a_run_that_keeps_everything_misses_what_others_drop() {
    let (temp, dir) = toy::place();
    Kernel::create(&dir, SCENARIO, header(), systems_that_keep(Keep::All)).unwrap().run(|_| {}).unwrap();
    assert!(check(&dir, Moments::Kept).problems.is_empty());
    let dropped = gc(&dir, Keep::Iterations, Collection::Rehearsed).unwrap().superseded;
    let lost = *dropped.first().unwrap();
    fs::remove_file(blob_path(&dir, lost)).unwrap();
    assert!(check(&dir, Moments::Carried).problems.is_empty(), "it is superseded");
    let problems = check(&dir, Moments::Kept).problems;
    assert!(
        matches!(problems.as_slice(), [Problem::MissingBlob { digest, .. }] if *digest == lost),
        "{problems:?}"
    );
    let (out, whole) = (temp.path().join("out"), temp.path().join("whole"));
    Kernel::create(&whole, SCENARIO, header(), systems_that_keep(Keep::All)).unwrap().run(|_| {}).unwrap();
    let saved = salvage(&dir, &out, Moments::Kept).unwrap();
    assert!(!saved.cut.is_empty());
    Kernel::resume(&out, header(), systems_that_keep(Keep::All)).unwrap().run(|_| {}).unwrap();
    toy::assert_same_content(&out, &whole);
}

#[test]
fn a_lost_blob_costs_the_steps_from_the_one_that_names_it() {
    let (temp, dir) = toy::finished();
    let (_other, whole) = toy::finished();
    let digest = a_blob_of(&dir, "CandidateGenerated");
    let (step, _) = toy::find(&dir, |event| event.blobs().contains(&digest));
    fs::remove_file(blob_path(&dir, digest)).unwrap();
    let saved = salvage(&dir, temp.path().join("out"), Moments::Carried).unwrap();
    assert!(saved.last.step < step);
    assert!(
        saved
            .cut
            .iter()
            .any(|problem| matches!(problem, Problem::MissingBlob { digest: it, .. } if *it == digest))
    );
    assert_goes_on(&temp.path().join("out"), &whole);
}

#[test]
fn salvage_overwrites_nothing_and_a_whole_run_loses_nothing() {
    let (temp, dir) = toy::finished();
    let out = temp.path().join("out");
    let saved = salvage(&dir, &out, Moments::Carried).unwrap();
    assert!(saved.cut.is_empty());
    toy::assert_same_content(&dir, &out);
    assert!(!out.join("recovery.log").exists());
    let again = salvage(&dir, &out, Moments::Carried).unwrap_err();
    assert!(matches!(again, SalvageError::Run(RunError::Exists(_))), "{again}");
}

fn write_blob(dir: &Path, bytes: &[u8]) -> Digest {
    let digest = Digest::of(bytes);
    let path = blob_path(dir, digest);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    digest
}

#[test]
fn collecting_removes_what_nothing_needs_and_nothing_else() {
    let (_temp, dir) = toy::finished();
    let honest = toy::content(&dir);
    let digest = write_blob(&dir, b"nobody names this");
    let leftover = format!("{}.tmp", blob_path(&dir, digest).display());
    fs::write(&leftover, b"half").unwrap();
    fs::remove_file(dir.join("LOCK")).unwrap();
    let rehearsed = gc(&dir, Keep::Iterations, Collection::Rehearsed).unwrap();
    assert!(!dir.join("LOCK").exists(), "a rehearsal writes nothing");
    assert_eq!(rehearsed.unnamed, [digest].into());
    assert!(rehearsed.superseded.is_empty());
    assert_eq!(rehearsed.leftovers.len(), 1);
    assert_eq!(rehearsed.bytes, 17 + 4);
    assert!(fs::exists(&leftover).unwrap());
    assert_eq!(gc(&dir, Keep::Iterations, Collection::Done).unwrap(), rehearsed);
    assert_eq!(toy::content(&dir), honest);
    assert!(problems(&dir).is_empty());
}

#[test]
fn collecting_heeds_what_the_scenario_keeps() {
    let (_temp, dir) = toy::place();
    Kernel::create(&dir, SCENARIO, header(), systems_that_keep(Keep::All)).unwrap().run(|_| {}).unwrap();
    let (_other, some) = toy::finished();
    let kept = gc(&dir, Keep::All, Collection::Done).unwrap();
    assert_eq!((kept.bytes, kept.unnamed.len(), kept.superseded.len()), (0, 0, 0));
    let collected = gc(&dir, Keep::Iterations, Collection::Done).unwrap();
    assert!(collected.superseded.len() > 4 && collected.bytes > 0);
    toy::assert_same_content(&dir, &some);
}

#[test]
fn nothing_is_collected_from_a_run_that_is_held_or_not_whole() {
    let (_temp, dir) = toy::place();
    let mut kernel = Kernel::create(&dir, SCENARIO, header(), systems()).unwrap();
    kernel.step().unwrap();
    let held = gc(&dir, Keep::Iterations, Collection::Done).unwrap_err();
    assert!(matches!(held, GcError::Run(RunError::Locked { .. })), "{held}");
    let held = gc(&dir, Keep::Iterations, Collection::Rehearsed).unwrap_err();
    assert!(matches!(held, GcError::Run(RunError::Locked { .. })), "{held}");
    drop(kernel);
    let length = fs::read(segment(&dir, 0)).unwrap().len();
    flip(&segment(&dir, 0), length - 1);
    let honest = toy::content(&dir);
    let torn = gc(&dir, Keep::Iterations, Collection::Done).unwrap_err();
    assert!(matches!(torn, GcError::Unsound(_)), "{torn}");
    assert_eq!(honest, toy::content(&dir));
}

#[test]
fn an_event_that_no_longer_leads_to_its_world_is_named() {
    use tadpole_kernel::forge::{Worlds, forge};
    let (_temp, dir) = toy::finished();
    let place = toy::find(&dir, |event| matches!(event, Event::TaskAdmitted(_)));
    forge(&dir, place.0, place.1, Worlds::AsRecorded, |event| {
        if let Event::TaskAdmitted(event) = event {
            event.in_band = !event.in_band;
        }
    })
    .unwrap();
    let problem = only(&dir);
    assert!(matches!(problem, Problem::Log(ReplayError::World { step, .. }) if step == place.0), "{problem}");
}
