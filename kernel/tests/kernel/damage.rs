//! Torn or corrupt, over real logs: what was durable is never dropped silently, what was not is cut off and noted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;
use tadpole_kernel::driver::{Kernel, KernelError};
use tadpole_kernel::log::{Fault, FrameFault, LogError, SEGMENT_HEADER};
use tadpole_kernel::replay::ReplayError;
use tadpole_kernel::run::{RunError, RunReader};

use crate::toy::{self, SCENARIO, header, systems};

fn segment(dir: &Path, index: u32) -> PathBuf {
    dir.join(format!("log/{index:08}.seg"))
}

/// A run of twelve steps: one segment, active.
fn interrupted() -> (tempfile::TempDir, PathBuf) {
    let (temp, dir) = toy::place();
    let mut kernel = Kernel::create(&dir, SCENARIO, header(), systems()).unwrap();
    for _ in 0..11 {
        kernel.step().unwrap();
    }
    (temp, dir)
}

/// Where each group of segment `index` starts, and where the last ends.
fn bounds(dir: &Path, index: u32) -> Vec<usize> {
    let run = RunReader::open(dir).unwrap();
    let groups = run.groups().unwrap().map(Result::unwrap).filter(|group| group.segment() == index);
    let mut bounds: Vec<_> = groups.map(|group| group.offset() as usize).collect();
    bounds.push(fs::read(segment(dir, index)).unwrap().len());
    bounds
}

fn corrupt(error: KernelError) -> (u32, u64, Fault) {
    let log = match error {
        KernelError::Replay(ReplayError::Run(RunError::Log(log))) | KernelError::Log(log) => log,
        other => panic!("not corrupt: {other}"),
    };
    match log {
        LogError::Corrupt { segment, offset, fault, .. } => (segment, offset, fault),
        other => panic!("not corrupt: {other}"),
    }
}

fn resume(dir: &Path) -> Result<Kernel, KernelError> {
    Kernel::resume(dir, header(), systems())
}

/// Changes a segment, lets `check` look at what resuming makes of it, and puts the log back.
fn with_change(
    dir: &Path,
    index: u32,
    change: impl FnOnce(&mut Vec<u8>),
    check: impl FnOnce(Result<Kernel, KernelError>),
) {
    let path = segment(dir, index);
    let honest = fs::read(&path).unwrap();
    let mut bytes = honest.clone();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    check(resume(dir));
    fs::write(&path, honest).unwrap();
}

#[test]
fn a_tail_cut_at_any_length_is_torn_and_resumes_to_the_same_bytes() {
    let (_temp, dir) = interrupted();
    let bounds = bounds(&dir, 0);
    let (last, end) = (bounds[bounds.len() - 2], bounds[bounds.len() - 1]);
    for length in (last..end).step_by(7) {
        with_change(
            &dir,
            0,
            |bytes| bytes.truncate(length),
            |resumed| {
                let mut kernel = resumed.unwrap();
                assert_eq!(kernel.recovered().is_some(), length > last, "length {length}");
                assert_eq!(kernel.next_step().0, 11);
                kernel.step().unwrap();
                let again = fs::read(segment(&dir, 0)).unwrap();
                assert_eq!(again.len(), end);
            },
        );
    }
    let notes = fs::read_to_string(dir.join("recovery.log")).unwrap();
    assert!(notes.starts_with("log/00000000.seg: cut off "), "{notes}");
    assert!(notes.lines().all(|line| line.contains(&format!("at byte {last}, behind 11 committed steps"))));
}

#[test]
fn damage_within_an_earlier_group_of_the_active_segment_is_corrupt() {
    let (_temp, dir) = interrupted();
    let bounds = bounds(&dir, 0);
    let last = bounds[bounds.len() - 2];
    for at in (SEGMENT_HEADER..last).step_by(97) {
        with_change(
            &dir,
            0,
            |bytes| bytes[at] ^= 0x10,
            |resumed| {
                let (_, offset, _) = corrupt(resumed.unwrap_err());
                let group = bounds.partition_point(|&start| start <= at) - 1;
                let within = bounds[group] as u64..=at as u64;
                assert!(within.contains(&offset), "byte {at} changed, byte {offset} blamed");
            },
        );
    }
    assert!(!dir.join("recovery.log").exists());
}

#[test]
fn damage_within_the_last_group_is_torn() {
    let (_temp, dir) = interrupted();
    let bounds = bounds(&dir, 0);
    let (last, end) = (bounds[bounds.len() - 2], bounds[bounds.len() - 1]);
    for at in (last..end).step_by(61) {
        with_change(
            &dir,
            0,
            |bytes| bytes[at] ^= 0x10,
            |resumed| {
                assert_eq!(resumed.unwrap().next_step().0, 11);
            },
        );
    }
}

#[test]
fn junk_behind_the_last_commit_is_torn() {
    let (_temp, dir) = interrupted();
    for junk in [vec![0; 4096], vec![0xFF; 33], b"not a frame at all".to_vec(), vec![1]] {
        with_change(
            &dir,
            0,
            |bytes| bytes.extend_from_slice(&junk),
            |resumed| {
                let kernel = resumed.unwrap();
                assert_eq!(kernel.next_step().0, 12);
                assert!(kernel.recovered().unwrap().contains(&format!("cut off {} bytes", junk.len())));
            },
        );
    }
}

#[test]
fn any_byte_of_a_sealed_segment_is_guarded() {
    let (_temp, dir) = toy::finished();
    let length = fs::read(segment(&dir, 1)).unwrap().len();
    for at in (0..length).step_by(173).chain(0..SEGMENT_HEADER) {
        with_change(
            &dir,
            1,
            |bytes| bytes[at] ^= 1,
            |resumed| {
                let (segment, offset, _) = corrupt(resumed.unwrap_err());
                assert_eq!(segment, 1);
                assert!(offset <= at as u64);
            },
        );
    }
    with_change(
        &dir,
        1,
        |bytes| bytes.truncate(length - 16),
        |resumed| {
            assert_eq!(corrupt(resumed.unwrap_err()).0, 1);
        },
    );
    with_change(
        &dir,
        1,
        |bytes| bytes.extend_from_slice(&[0; 16]),
        |resumed| {
            assert_eq!(corrupt(resumed.unwrap_err()).2, Fault::BehindSeal);
        },
    );
}

#[test]
fn a_whole_last_group_taken_away_from_a_sealed_segment_is_corrupt() {
    let (_temp, dir) = toy::finished();
    let bounds = bounds(&dir, 0);
    with_change(
        &dir,
        0,
        |bytes| bytes.truncate(bounds[bounds.len() - 2]),
        |resumed| {
            assert_eq!(corrupt(resumed.unwrap_err()).2, Fault::Unsealed);
        },
    );
}

#[test]
fn a_torn_segment_header_is_cut_off_with_its_file() {
    let (_temp, whole) = toy::finished();
    for kept in [0, 1, 64, 127] {
        let (_other, dir) = toy::finished();
        let file = fs::OpenOptions::new().write(true).open(segment(&dir, 2)).unwrap();
        file.set_len(kept).unwrap();
        let mut kernel = resume(&dir).unwrap();
        assert!(kernel.recovered().is_some());
        kernel.run(|_| {}).unwrap();
        toy::assert_same_content(&whole, &dir);
    }
}

#[test]
fn a_bad_header_with_groups_behind_it_is_corrupt() {
    let (_temp, dir) = toy::finished();
    with_change(
        &dir,
        2,
        |bytes| bytes[20] ^= 1,
        |resumed| {
            assert!(matches!(corrupt(resumed.unwrap_err()), (2, 0, Fault::Segment(_))));
        },
    );
}

#[test]
fn a_missing_segment_is_named() {
    let (_temp, dir) = toy::finished();
    fs::remove_file(segment(&dir, 1)).unwrap();
    let error = RunReader::open(&dir).unwrap_err();
    assert!(matches!(error, RunError::Log(LogError::MissingSegment(1))), "{error}");
}

#[test]
fn groups_out_of_place_are_corrupt_though_every_checksum_holds() {
    let (_temp, dir) = interrupted();
    let bounds = bounds(&dir, 0);
    let [first, second, third] = [bounds[3], bounds[4], bounds[5]];
    with_change(
        &dir,
        0,
        |bytes| {
            let group = bytes[first..second].to_vec();
            bytes.splice(third..third, group);
        },
        |resumed| assert_eq!(corrupt(resumed.unwrap_err()).2, Fault::Order("step")),
    );
    with_change(
        &dir,
        0,
        |bytes| {
            bytes.drain(first..second);
        },
        |resumed| assert_eq!(corrupt(resumed.unwrap_err()).2, Fault::Order("step")),
    );
}

#[test]
fn a_frame_of_another_run_is_corrupt() {
    let (_temp, dir) = interrupted();
    let (_other, stranger) = toy::place();
    let other = tadpole_kernel::run::RunHeader { arithmetic: 9, ..header() };
    drop(Kernel::create(&stranger, SCENARIO, other, systems()).unwrap());
    let foreign = fs::read(segment(&stranger, 0)).unwrap()[SEGMENT_HEADER..].to_vec();
    with_change(
        &dir,
        0,
        |bytes| bytes.extend_from_slice(&foreign),
        |resumed| {
            assert_eq!(corrupt(resumed.unwrap_err()).2, Fault::Foreign);
        },
    );
}

#[test]
fn a_zero_header_is_no_frame() {
    let (_temp, dir) = interrupted();
    with_change(
        &dir,
        0,
        |bytes| bytes.extend_from_slice(&[0; 32]),
        |resumed| {
            let kernel = resumed.unwrap();
            assert!(kernel.recovered().unwrap().contains(&FrameFault::HeaderCrc.to_string()));
        },
    );
}

/// The honest log of a finished run, in one directory for all cases.
fn honest() -> &'static (tempfile::TempDir, PathBuf) {
    static RUN: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    RUN.get_or_init(toy::finished)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever happens to the bytes, reading ends without a panic, and every group it yields is an honest one.
    #[test]
    fn a_reader_yields_honest_groups_or_errors(
        which in 0_u32..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        repeat in any::<bool>(),
    ) {
        let (_temp, dir) = honest();
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("log")).unwrap();
        for index in 0..3 {
            let mut bytes = fs::read(segment(dir, index)).unwrap();
            if index == which {
                for (at, byte) in &changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
                if let Some(cut) = &cut {
                    bytes.truncate(cut.index(bytes.len()));
                }
                if repeat {
                    bytes.extend_from_within(..);
                }
            }
            fs::write(segment(temp.path(), index), bytes).unwrap();
        }
        let groups = RunReader::open(dir).unwrap().groups().unwrap();
        let chains: Vec<_> = groups.map(|group| *group.unwrap().commit()).collect();
        if let Ok(run) = RunReader::open(temp.path()) {
            for (group, honest) in run.groups().unwrap().zip(chains) {
                let Ok(group) = group else { break };
                prop_assert_eq!(*group.commit(), honest);
            }
        }
    }
}
