//! A damaged log: each of its bits, its lengths, and what the commands make of it.

mod flips;

use std::path::Path;
use std::sync::Arc;

use tadpole_kernel::log::{Commit, Cursor, Group, LogError, SEGMENT_HEADER};
use tadpole_kernel::run::RunReader;
use tadpole_kernel::storage::faulty::Machine;
use tadpole_tests::binary;
use tadpole_tests::bits::{self, Bits};
use tadpole_tests::machine::loaded;
use tadpole_tests::nano::run;

/// A log, group by group.
struct Honest {
    machine: Machine,
    segments: Vec<(String, Vec<u8>)>,
    commits: Vec<Commit>,
    /// Segment and first byte of each group.
    starts: Vec<(usize, usize)>,
    /// Where each ends, in the same segment.
    ends: Vec<usize>,
}

impl Honest {
    fn load() -> Self {
        let machine = loaded(run(), |name| name.starts_with("log/") || name == "scenario.toml");
        let groups = RunReader::open(run()).unwrap().groups().unwrap().map(Result::unwrap);
        let place = |group: &Group| (group.segment() as usize, group.offset() as usize);
        let (commits, (starts, ends)) =
            groups.map(|group| (*group.commit(), (place(&group), group.end() as usize))).unzip();
        let segments = Bits::of(run()).log.into_iter().map(|(name, bytes)| (format!("log/{name}"), bytes));
        Self { machine, segments: segments.collect(), commits, starts, ends }
    }

    /// Ends of the groups of a segment, and of its header.
    fn ends_in(&self, segment: usize) -> Vec<usize> {
        let starts = self.starts.iter().filter(|start| start.0 == segment).map(|start| start.1);
        starts.chain([self.segments[segment].1.len()]).collect()
    }
}

/// How reading a log ended.
#[derive(Debug, PartialEq)]
enum Ending {
    Whole,
    Torn { segment: usize, offset: u64 },
    Corrupt { segment: usize, offset: u64 },
}

/// Reads a log from its first byte. Every group that is yielded must be an honest one.
fn read(machine: &Machine, honest: &Honest) -> (usize, Ending) {
    let mut yielded = 0;
    let mut cursor = match Cursor::open(Arc::new(machine.clone())) {
        Ok(cursor) => cursor,
        Err(error) => return (0, corrupt(error)),
    };
    loop {
        match cursor.next_group() {
            Ok(Some(group)) => {
                assert!(*group.commit() == honest.commits[yielded], "another group was read");
                yielded += 1;
            }
            Ok(None) => break,
            Err(error) => return (yielded, corrupt(error)),
        }
    }
    match &cursor.tail().torn {
        Some(torn) => (yielded, Ending::Torn { segment: torn.segment as usize, offset: torn.offset }),
        None => (yielded, Ending::Whole),
    }
}

fn corrupt(error: LogError) -> Ending {
    match error {
        LogError::Corrupt { segment, offset, .. } => Ending::Corrupt { segment: segment as usize, offset },
        other => panic!("{other}"),
    }
}

#[test]
fn every_length_of_the_last_segment_is_judged_as_the_table_says() {
    let honest = Honest::load();
    let last = honest.segments.len() - 1;
    let (name, bytes) = &honest.segments[last];
    let ends = honest.ends_in(last);
    for length in 0..bytes.len() {
        honest.machine.put(name, bytes[..length].to_vec()).unwrap();
        let whole_groups = ends.iter().filter(|end| **end <= length).count();
        let expected = if length < SEGMENT_HEADER {
            Ending::Torn { segment: last, offset: 0 }
        } else {
            match ends[whole_groups - 1] {
                end if end == length => Ending::Whole,
                end => Ending::Torn { segment: last, offset: end as u64 },
            }
        };
        let before = honest.starts.partition_point(|start| start.0 < last);
        let yielded = before + whole_groups.saturating_sub(1);
        assert_eq!(read(&honest.machine, &honest), (yielded, expected), "length {length}");
    }
}

#[test]
fn no_shorter_sealed_segment_is_believed() {
    let honest = Honest::load();
    for (segment, (name, bytes)) in honest.segments.iter().enumerate().rev().skip(1) {
        for length in (0..bytes.len()).step_by(5) {
            honest.machine.put(name, bytes[..length].to_vec()).unwrap();
            let (_, ending) = read(&honest.machine, &honest);
            assert!(
                matches!(ending, Ending::Corrupt { segment: found, offset } if found == segment && offset <= length as u64),
                "{name} of {length} bytes: {ending:?}"
            );
        }
        honest.machine.put(name, bytes.clone()).unwrap();
    }
}

fn damaged(directory: &Path, file: &str, at: usize) {
    bits::copy(run(), directory);
    let path = directory.join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[at] ^= 4;
    // What was linked is replaced, not written to.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn the_commands_find_save_and_restore_what_is_damaged() {
    let parent = tempfile::tempdir().unwrap();
    let (run_dir, saved) = (parent.path().join("run"), parent.path().join("saved"));
    let (name, saved_name) = (run_dir.to_str().unwrap(), saved.to_str().unwrap());
    let whole = binary::run(["check", run().to_str().unwrap(), "--json"]).succeeded().json();
    assert_eq!(whole["whole"], true);
    damaged(&run_dir, "log/00000001.seg", 4_000);
    let before = Bits::of(&run_dir);
    let found = binary::run(["check", name]);
    assert_eq!(found.code, 1, "{found}");
    for part in ["00000001.seg", "byte", "tadpole salvage"] {
        assert!(found.stderr.contains(part), "{part}: {found}");
    }
    let _report = binary::run(["salvage", name, "--out", saved_name]).succeeded();
    assert!(before == Bits::of(&run_dir), "the damaged run was touched");
    let _report = binary::run(["check", saved_name]).succeeded();
    let _summary = binary::run(["resume", saved_name]).succeeded();
    bits::assert_same("salvaged and resumed", run(), &saved);
    let blob = Bits::of(&saved).blobs.into_iter().next().unwrap();
    damaged(&parent.path().join("blob"), &format!("blobs/{blob}"), 100);
    let found = binary::run(["check", parent.path().join("blob").to_str().unwrap()]);
    assert_eq!(found.code, 1, "{found}");
    assert!(found.stderr.contains(&blob), "{found}");
    let collected = binary::run(["gc", saved_name, "--json"]).succeeded().json();
    assert_eq!(collected["bytes"], 0, "{collected}");
    bits::assert_same("collected", run(), &saved);
}
