//! Logs that were changed.

use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseError;
use tadpole_kernel::blob::Moments;
use tadpole_kernel::log::{Commit, Cursor};
use tadpole_kernel::storage::Storage;
use tadpole_kernel::storage::faulty::Machine;
use tadpole_kernel::upkeep::{Problem, check_on, salvage_on};

use crate::format::{self, Segment};
use crate::machine::loaded;
use crate::nano::run;

/// One change, at a layer.
#[derive(Clone, Debug)]
enum Change {
    /// Bytes of a stored segment.
    Bytes {
        segment: Index,
        at: Index,
        bytes: Vec<u8>,
    },
    Cut {
        segment: Index,
        at: Index,
    },
    Repeat {
        segment: Index,
        from: Index,
        length: u16,
        at: Index,
    },
    /// Frames, sealed again.
    Header {
        segment: Index,
        at: Index,
        byte: u8,
    },
    Frame {
        segment: Index,
        frame: Index,
        field: u8,
        value: u64,
    },
    Body {
        segment: Index,
        frame: Index,
        at: Index,
        bytes: Vec<u8>,
    },
    Resize {
        segment: Index,
        frame: Index,
        length: u16,
    },
    Drop {
        segment: Index,
        frame: Index,
    },
    Swap {
        segment: Index,
        frame: Index,
        other: Index,
    },
}

/// A log's changes, and whether the chain is made to hold over those of frames.
#[derive(Clone, Debug)]
struct Damage {
    changes: Vec<Change>,
    linked: bool,
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    let bytes = || vec(any::<u8>(), 1..9);
    // Values near a limit break more than others.
    let value = || {
        prop_oneof![
            0..4_u64,
            any::<u64>(),
            (0..4_u64).prop_map(|n| u64::MAX - n),
            (0..64_u32).prop_map(|n| 1 << n)
        ]
    };
    prop_oneof![
        1 => (index(), index(), bytes()).prop_map(|(segment, at, bytes)| Change::Bytes { segment, at, bytes }),
        1 => (index(), index()).prop_map(|(segment, at)| Change::Cut { segment, at }),
        1 => (index(), index(), any::<u16>(), index())
            .prop_map(|(segment, from, length, at)| Change::Repeat { segment, from, length, at }),
        1 => (index(), index(), any::<u8>()).prop_map(|(segment, at, byte)| Change::Header { segment, at, byte }),
        1 => (index(), index(), 0..5_u8, value())
            .prop_map(|(segment, frame, field, value)| Change::Frame { segment, frame, field, value }),
        4 => (index(), index(), index(), bytes())
            .prop_map(|(segment, frame, at, bytes)| Change::Body { segment, frame, at, bytes }),
        1 => (index(), index(), any::<u16>())
            .prop_map(|(segment, frame, length)| Change::Resize { segment, frame, length }),
        1 => (index(), index()).prop_map(|(segment, frame)| Change::Drop { segment, frame }),
        1 => (index(), index(), index()).prop_map(|(segment, frame, other)| Change::Swap { segment, frame, other }),
    ]
}

/// Fuzzes the reader with changed logs of a run of nano.
pub(super) fn fuzz(time: Duration, seed: u64) -> u64 {
    let machine = loaded(run(), |name| name.starts_with("log/"));
    let honest: Vec<Vec<u8>> = machine.content("log").into_values().map(|bytes| bytes.to_vec()).collect();
    let commits: Vec<Commit> = read(&machine).0;
    let strategy =
        (vec(change(), 1..4), any::<bool>()).prop_map(|(changes, linked)| Damage { changes, linked });
    super::until(time, seed, &strategy, |damage| judge(&honest, &commits, &damage))
}

/// Nothing panics; and unless the chain was made to hold, what is read is honest and whatever else is there is found.
fn judge(honest: &[Vec<u8>], commits: &[Commit], damage: &Damage) -> Result<(), TestCaseError> {
    let damaged = damaged(honest, damage);
    let machine = Machine::new();
    for (index, bytes) in damaged.iter().enumerate() {
        machine.put(&format!("log/{index:08}.seg"), bytes.clone()).unwrap();
    }
    let (read, ended_whole) = read(&machine);
    let storage: Arc<dyn Storage> = Arc::new(machine);
    let report = check_on(&storage, Moments::Reset);
    let found = report.problems.iter().any(|problem| matches!(problem, Problem::Log(_) | Problem::Torn(_)));
    prop_assert!(ended_whole || found, "the reader refuses what the check believes");
    let saved =
        salvage_on(&storage, &(Arc::new(Machine::new()) as Arc<dyn Storage>), "saved", Moments::Reset);
    prop_assert!(saved.is_err(), "without its scenario and blobs no run is saved");
    if !damage.linked {
        prop_assert!(
            read.len() <= commits.len() && read == commits[..read.len()],
            "a group was read that never was"
        );
        // A last segment that ends with a commit is that of a run that was interrupted there.
        let shorter =
            damaged.concat().len() < honest.concat().len() && honest.concat().starts_with(&damaged.concat());
        prop_assert!(found || shorter || damaged == honest, "{} groups are believed", read.len());
    }
    Ok(())
}

/// The commits that can be read, and whether reading ended where the log does.
fn read(machine: &Machine) -> (Vec<Commit>, bool) {
    let mut commits = Vec::new();
    let Ok(mut cursor) = Cursor::open(Arc::new(machine.clone())) else { return (commits, false) };
    loop {
        match cursor.next_group() {
            Ok(Some(group)) => {
                // Every event is read, too, or refused.
                let _refused = group.events().filter(Result::is_err).count();
                commits.push(*group.commit());
            }
            Ok(None) => return (commits, cursor.tail().torn.is_none()),
            Err(_) => return (commits, false),
        }
    }
}

fn damaged(honest: &[Vec<u8>], damage: &Damage) -> Vec<Vec<u8>> {
    let mut segments: Vec<Segment> = honest.iter().map(|bytes| Segment::parse(bytes)).collect();
    damage.changes.iter().for_each(|change| change_frames(&mut segments, change));
    if damage.linked {
        format::link(&mut segments);
    }
    let mut stored: Vec<Vec<u8>> = segments.iter().map(Segment::to_bytes).collect();
    damage.changes.iter().for_each(|change| change_bytes(&mut stored, change));
    stored
}

fn change_frames(segments: &mut [Segment], change: &Change) {
    let (Change::Header { segment, .. }
    | Change::Frame { segment, .. }
    | Change::Body { segment, .. }
    | Change::Resize { segment, .. }
    | Change::Drop { segment, .. }
    | Change::Swap { segment, .. }) = change
    else {
        return;
    };
    let Segment { header, frames } = segment.get_mut(segments);
    if frames.is_empty() {
        return;
    }
    match change {
        Change::Header { at, byte, .. } => header[at.index(124)] = *byte,
        Change::Frame { frame, field, value, .. } => {
            let frame = frame.get_mut(frames);
            match field {
                0 => frame.kind = *value as u16,
                1 => frame.schema = *value as u16,
                2 => frame.sequence = *value,
                3 => frame.step = *value as u32,
                _ => frame.lineage = *value as u32,
            }
        }
        Change::Body { frame, at, bytes, .. } => {
            let body = &mut frame.get_mut(frames).body;
            let at = at.index(body.len() + 1);
            let end = (at + bytes.len()).min(body.len());
            body[at..end].copy_from_slice(&bytes[..end - at]);
        }
        Change::Resize { frame, length, .. } => frame.get_mut(frames).body.resize(usize::from(*length), 0),
        Change::Drop { frame, .. } => drop(frames.remove(frame.index(frames.len()))),
        Change::Swap { frame, other, .. } => {
            let count = frames.len();
            frames.swap(frame.index(count), other.index(count));
        }
        Change::Bytes { .. } | Change::Cut { .. } | Change::Repeat { .. } => {}
    }
}

fn change_bytes(stored: &mut [Vec<u8>], change: &Change) {
    match change {
        Change::Bytes { segment, at, bytes } => {
            let segment = segment.get_mut(stored);
            let at = at.index(segment.len() + 1);
            let end = (at + bytes.len()).min(segment.len());
            segment[at..end].copy_from_slice(&bytes[..end - at]);
        }
        Change::Cut { segment, at } => {
            let segment = segment.get_mut(stored);
            segment.truncate(at.index(segment.len() + 1));
        }
        Change::Repeat { segment, from, length, at } => {
            let segment = segment.get_mut(stored);
            let from = from.index(segment.len() + 1);
            let part = segment[from..(from + usize::from(*length)).min(segment.len())].to_vec();
            let at = at.index(segment.len() + 1);
            segment.splice(at..at, part);
        }
        _ => {}
    }
}
