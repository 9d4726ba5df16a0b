//! Any step from the nearest keyframe: the same world, and never one that a keyframe made up.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tadpole_kernel::driver::Kernel;
use tadpole_kernel::id::Step;
use tadpole_kernel::keyframe::{self, Spacing};
use tadpole_kernel::replay::Replay;
use tadpole_kernel::run::RunReader;
use tadpole_kernel::storage::Disk;

use crate::toy::{self, SCENARIO, header, systems};

/// A finished run with a keyframe after every step.
fn with_keyframes() -> (tempfile::TempDir, PathBuf) {
    let (temp, dir) = toy::finished();
    let made = keyframe::build(&dir, Spacing::events(1), |_| {}).unwrap();
    assert_eq!(made, RunReader::open(&dir).unwrap().totals().unwrap().steps);
    (temp, dir)
}

fn file(dir: &Path, step: Step) -> PathBuf {
    dir.join(format!("keyframes/{:010}.key", step.0))
}

/// Leaves the keyframe of `step` alone in its directory.
fn keep_only(dir: &Path, step: Step) {
    for at in keyframe::list(&Disk::new(dir)).unwrap().into_iter().filter(|&at| at != step) {
        fs::remove_file(file(dir, at)).unwrap();
    }
}

/// Requires that two replays stand in equal worlds: digest, every component, index.
fn assert_same_world(left: &Replay, right: &Replay) {
    assert_eq!(left.last(), right.last());
    assert_eq!(left.world().difference(right.world()), None);
    let (one, other) = (left.world().view(), right.world().view());
    assert!(one.index().iter().map(|(id, _)| id).eq(other.index().iter().map(|(id, _)| id)));
    for (id, _) in one.index().iter() {
        assert!(one.played_on(id).eq(other.played_on(id)));
    }
}

#[test]
fn every_keyframe_and_the_rest_equal_the_fold_from_the_first_step() {
    let (_temp, dir) = toy::finished();
    let last = RunReader::open(&dir).unwrap().totals().unwrap().last.step;
    for step in 0..last.0 {
        keyframe::build(&dir, Spacing::events(1), |_| {}).unwrap();
        keep_only(&dir, Step(step));
        let mut sought = Replay::seek(&dir, Step(step + 1)).unwrap();
        assert_eq!(sought.keyframe(), Some(Step(step)));
        let mut folded = Replay::open(&dir).unwrap();
        folded.to(Step(step + 1)).unwrap();
        assert_same_world(&sought, &folded);
        sought.finish().unwrap();
        folded.finish().unwrap();
        assert_same_world(&sought, &folded);
    }
}

#[test]
fn seeking_gives_the_step_with_its_group_with_and_without_keyframes() {
    let (_temp, dir) = with_keyframes();
    let reader = RunReader::open(&dir).unwrap();
    let commits: Vec<_> = reader.groups().unwrap().map(|group| *group.unwrap().commit()).collect();
    for bare in [false, true] {
        for commit in &commits {
            let sought = Replay::seek(&dir, commit.step).unwrap();
            assert_eq!(sought.last(), Some(commit));
            assert_eq!(sought.group().unwrap().commit(), commit);
            assert_eq!(sought.keyframe().is_none(), bare || commit.step == Step(0));
        }
        let past = commits.last().unwrap().step.next();
        assert!(Replay::seek(&dir, past).unwrap_err().to_string().contains("there is no step"));
        if !bare {
            fs::remove_dir_all(dir.join("keyframes")).unwrap();
        }
    }
}

#[test]
fn keyframes_written_by_a_run_are_those_made_afterwards() {
    for spacing in [Spacing::events(1), Spacing::events(16), Spacing::default()] {
        let (_temp, whole) = toy::finished();
        keyframe::build(&whole, spacing, |_| {}).unwrap();
        let (_other, dir) = toy::place();
        drop(Kernel::create(&dir, SCENARIO, header(), systems()).unwrap());
        // Step 0 was committed before anyone could ask for keyframes.
        loop {
            let mut kernel = Kernel::resume(&dir, header(), systems()).unwrap();
            kernel.keep_keyframes(spacing);
            if kernel.step().unwrap().is_none() {
                break;
            }
        }
        toy::assert_same_content(&whole, &dir);
        let steps = keyframe::list(&Disk::new(&dir)).unwrap();
        let made = keyframe::list(&Disk::new(&whole)).unwrap();
        assert!(steps.iter().eq(made.iter().filter(|step| step.0 > 0)));
        assert!(steps.len() >= 2, "at least where segments end");
        for step in steps {
            assert!(fs::read(file(&dir, step)).unwrap() == fs::read(file(&whole, step)).unwrap());
        }
    }
}

#[test]
fn keyframes_are_at_most_a_spacing_and_a_step_apart() {
    let (_temp, dir) = toy::finished();
    let spacing = 16;
    keyframe::build(&dir, Spacing::events(spacing), |_| {}).unwrap();
    let steps = keyframe::list(&Disk::new(&dir)).unwrap();
    let mut since = 0;
    for group in RunReader::open(&dir).unwrap().groups().unwrap() {
        let commit = *group.unwrap().commit();
        assert!(since < spacing);
        since = if steps.contains(&commit.step) { 0 } else { since + u64::from(commit.count) };
    }
}

#[test]
fn a_keyframe_of_another_run_is_passed_over() {
    let (_temp, dir) = with_keyframes();
    let (_other, foreign) = toy::place();
    let other = tadpole_kernel::run::RunHeader { seed: 29, ..header() };
    Kernel::create(&foreign, SCENARIO, other, systems()).unwrap().run(|_| {}).unwrap();
    keyframe::build(&foreign, Spacing::events(1), |_| {}).unwrap();
    for step in 0..5 {
        fs::copy(file(&foreign, Step(step)), file(&dir, Step(step))).unwrap();
        // Nor is one of this run under another step's name.
        fs::copy(file(&dir, Step(7)), file(&dir, Step(step + 5))).unwrap();
    }
    let sought = Replay::seek(&dir, Step(7)).unwrap();
    assert_eq!(sought.keyframe(), None);
    assert_eq!(sought.last().unwrap().step, Step(7));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Whatever becomes of a keyframe, seeking gives the world that folding gives.
    #[test]
    fn a_damaged_keyframe_never_changes_a_result(
        step in 1_u64..12,
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
        cut in any::<bool>(),
    ) {
        use std::sync::OnceLock;
        static RUN: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
        let (_, dir) = RUN.get_or_init(with_keyframes);
        let path = file(dir, Step(step));
        let sound = fs::read(&path).unwrap();
        let mut bytes = sound.clone();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
        fs::write(&path, bytes).unwrap();
        let sought = Replay::seek(dir, Step(step + 1));
        fs::write(&path, sound).unwrap();
        let sought = sought.unwrap();
        prop_assert_eq!(sought.keyframe(), Some(Step(step - 1)), "the damaged one is passed over");
        let mut folded = Replay::open(dir).unwrap();
        folded.to(Step(step + 1)).unwrap();
        assert_same_world(&sought, &folded);
    }
}
