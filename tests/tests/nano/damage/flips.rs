//! Every bit of a log, flipped.
//!
//! Checking the log from its start for each bit would take minutes, and nearly all of that would be spent on groups before the
//! bit, which are as they were. So each flip is read from the group it lies in, by the reader that `check` reads with. That says
//! what `check` would say, because
//!
//! - `check` looks into a group only once its reader yielded it, and it ends where its reader refuses;
//! - opened behind a group, the reader is where one is that came there from the start: the first test compares the two behind
//!   every group of the log;
//! - and the third test compares what both say, over flips in every part of the log.

use std::fmt;
use std::sync::Arc;
use std::thread;

use tadpole_kernel::blob::Moments;
use tadpole_kernel::log::{Commit, Cursor, LogError, SEGMENT_HEADER, Tail};
use tadpole_kernel::replay::ReplayError;
use tadpole_kernel::run::RunError;
use tadpole_kernel::storage::Storage;
use tadpole_kernel::storage::faulty::Machine;
use tadpole_kernel::upkeep::{Problem, check_on};

use super::Honest;

const THREADS: usize = 2;

impl Honest {
    /// How many groups end at or before byte `at` of a segment.
    fn groups_before(&self, segment: usize, at: usize) -> usize {
        self.starts
            .iter()
            .zip(&self.ends)
            .take_while(|(start, end)| (start.0, **end) <= (segment, at))
            .count()
    }

    /// A reader of `machine` that has read `groups` groups of this log.
    fn open_behind(&self, groups: usize, machine: &Machine) -> Result<Cursor, LogError> {
        let storage: Arc<dyn Storage> = Arc::new(machine.clone());
        let Some(last) = groups.checked_sub(1) else { return Cursor::open(storage) };
        let (segment, end) = (self.starts[last].0 as u32, self.ends[last] as u64);
        Ok(Cursor::open_behind(storage, segment, end, &self.commits[last])?.expect("an undamaged group"))
    }

    /// A bit of each of the bytes that `wanted` says, flipped, one after the other, spread over threads.
    fn flip(&self, wanted: impl Fn(usize) -> bool + Sync, judge: impl Fn(&Machine, Flip) + Sync) {
        let part = |thread: usize| {
            let machine = self.machine.copy();
            for (segment, (name, sound)) in self.segments.iter().enumerate() {
                for at in (0..sound.len()).filter(|at| wanted(*at)).skip(thread).step_by(THREADS) {
                    for bit in 0..8 {
                        let mut damaged = sound.clone();
                        damaged[at] ^= 1 << bit;
                        machine.put(name, damaged).unwrap();
                        judge(&machine, Flip { segment, at, bit });
                    }
                }
                machine.put(name, sound.clone()).unwrap();
            }
        };
        thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || part(thread));
            }
        });
    }

    /// What reading from the flipped group says is wrong with it.
    fn problem(&self, machine: &Machine, flip: Flip) -> Problem {
        let mut cursor = match self.open_behind(self.groups_before(flip.segment, flip.at), machine) {
            Ok(cursor) => cursor,
            Err(error) => return problem(error),
        };
        match cursor.next_group() {
            Ok(Some(group)) => panic!("{flip}: step {} was read", group.commit().step),
            Ok(None) => {
                Problem::Torn(cursor.tail().torn.clone().unwrap_or_else(|| panic!("{flip}: not seen")))
            }
            Err(error) => problem(error),
        }
    }
}

/// A bit of a segment.
#[derive(Clone, Copy)]
struct Flip {
    segment: usize,
    at: usize,
    bit: u32,
}

impl fmt::Display for Flip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segment, at, bit } = self;
        write!(f, "segment {segment}, byte {at}, bit {bit}")
    }
}

/// As `check` reports what its reader says.
fn problem(error: LogError) -> Problem {
    Problem::Log(ReplayError::Run(RunError::Log(error)))
}

/// What is wrong with the log, by `check`.
fn checked(machine: &Machine) -> Option<Problem> {
    let storage: Arc<dyn Storage> = Arc::new(machine.clone());
    let mut problems = check_on(&storage, Moments::Reset).problems.into_iter();
    problems.find(|problem| matches!(problem, Problem::Log(_) | Problem::Torn(_)))
}

/// Everything that a reader still says: each commit with its place, then how the log ends.
fn rest(mut cursor: Cursor) -> (Vec<(Commit, u32, u64, u64)>, Tail) {
    let mut groups = Vec::new();
    while let Some(group) = cursor.next_group().unwrap() {
        groups.push((*group.commit(), group.segment(), group.offset(), group.end()));
    }
    (groups, cursor.tail().clone())
}

#[test]
fn a_log_that_is_opened_behind_a_group_reads_on_as_from_its_start() {
    let honest = Honest::load();
    let mut walked = honest.open_behind(0, &honest.machine).unwrap();
    for groups in 0..=honest.commits.len() {
        let opened = honest.open_behind(groups, &honest.machine).unwrap();
        assert_eq!(
            (opened.run(), opened.position(), opened.tail()),
            (walked.run(), walked.position(), walked.tail())
        );
        let mut from_start = honest.open_behind(0, &honest.machine).unwrap();
        for _ in 0..groups {
            let _group = from_start.next_group().unwrap();
        }
        assert_eq!(rest(opened), rest(from_start), "behind {groups} groups");
        let _group = walked.next_group().unwrap();
    }
}

#[test]
fn no_bit_of_a_log_can_flip_unseen() {
    let honest = Honest::load();
    honest.flip(
        |_| true,
        |machine, flip| {
            let found = honest.problem(machine, flip);
            let (file, byte) = found.place();
            let before = honest.groups_before(flip.segment, flip.at);
            let group =
                honest.starts.get(before).filter(|start| flip.at >= start.1).map_or(0, |start| start.1);
            let place = (group as u64)..=(flip.at as u64);
            assert!(file == honest.segments[flip.segment].0, "{flip}: {found}");
            assert!(byte.is_some_and(|byte| place.contains(&byte)), "{flip}: {found}");
        },
    );
}

#[test]
fn check_says_of_a_flipped_bit_what_reading_from_its_group_says() {
    let honest = Honest::load();
    assert!(checked(&honest.machine).is_none());
    let sample = |at: usize| at.is_multiple_of(97) || (at < SEGMENT_HEADER && at.is_multiple_of(5));
    honest.flip(sample, |machine, flip| {
        let found = checked(machine).unwrap_or_else(|| panic!("{flip}: not seen"));
        assert_eq!(format!("{found:?}"), format!("{:?}", honest.problem(machine, flip)), "{flip}");
    });
}
