//! Appending commit groups. One write and one sync a step; the first failure is the last.

use std::sync::Arc;

use super::commit::Commit;
use super::cursor::{Position, Tail};
use super::error::LogError;
use super::group::{Closing, GroupBuffer};
use super::segment::{self, DIR, SEGMENT_HEADER, SegmentHeader};
use crate::draws::DrawCount;
use crate::id::Digest;
use crate::storage::{Storage, StorageFile};

/// Whether a commit is the last of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sealed {
    Yes,
    No,
}

/// The end of a log, open for writing. There is one a run: the run's lock sees to that.
#[derive(Debug)]
pub(crate) struct Writer {
    storage: Arc<dyn Storage>,
    run: Digest,
    file: Option<Box<dyn StorageFile>>,
    next_segment: u32,
    /// Bytes of the segment written last.
    length: u64,
    position: Position,
    buffer: GroupBuffer,
    poisoned: bool,
}

impl Writer {
    /// Opens a log at its end, whose tail must not be torn (any more). What can be read is made durable first: a process that
    /// was killed may have written its last group without syncing it, and a later group must never outlive an earlier one.
    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        run: Digest,
        position: Position,
        tail: &Tail,
    ) -> Result<Self, LogError> {
        let (file, next_segment) = match tail.segment {
            None => (None, 0),
            Some(index) => {
                let mut file = storage.append(&segment::name(index))?;
                file.sync()?;
                storage.sync_dir(DIR)?;
                ((!tail.sealed).then_some(file), index.checked_add(1).ok_or(LogError::Full)?)
            }
        };
        let buffer = GroupBuffer::default();
        let length = tail.length;
        Ok(Self { storage, run, file, next_segment, length, position, buffer, poisoned: false })
    }

    /// Where the next group will be.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// The segment written last, and how many bytes it has: where the last commit ends.
    pub(crate) fn end(&self) -> (u32, u64) {
        (self.next_segment.saturating_sub(1), self.length)
    }

    /// Appends a group of (schema, body) and makes it durable.
    pub(crate) fn commit<'a>(
        &mut self,
        events: impl Iterator<Item = (u16, &'a [u8])>,
        world: Digest,
        draws: DrawCount,
        sealed: Sealed,
    ) -> Result<Commit, LogError> {
        if self.poisoned {
            return Err(LogError::Poisoned);
        }
        let result = self.try_commit(events, world, draws, sealed);
        self.poisoned = result.is_err();
        result
    }

    fn try_commit<'a>(
        &mut self,
        events: impl Iterator<Item = (u16, &'a [u8])>,
        world: Digest,
        draws: DrawCount,
        sealed: Sealed,
    ) -> Result<Commit, LogError> {
        let Position { step, sequence: first, chain } = self.position;
        if step.0 > u64::from(u32::MAX) {
            return Err(LogError::Full);
        }
        self.buffer.clear();
        for (schema, body) in events {
            self.buffer.push(self.run, step, first, schema, body)?;
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.create_segment()?,
        };
        let closing = Closing { step, first, world, draws, seals: sealed == Sealed::Yes };
        let (commit, bytes) = self.buffer.close(self.run, chain, closing);
        file.write_all(bytes)?;
        file.sync()?;
        self.length += bytes.len() as u64;
        self.position = Position { step: step.next(), sequence: commit.next(), chain: commit.chain };
        self.file = (sealed == Sealed::No).then_some(file);
        Ok(commit)
    }

    /// A segment's header is durable, and its name too, before its first group is written.
    fn create_segment(&mut self) -> Result<Box<dyn StorageFile>, LogError> {
        let Position { step, sequence, chain } = self.position;
        let index = self.next_segment;
        self.next_segment = index.checked_add(1).ok_or(LogError::Full)?;
        self.storage.make_dir(DIR)?;
        let mut file = self.storage.create(&segment::name(index))?;
        let header = SegmentHeader { index, run: self.run, first: sequence, step, chain };
        file.write_all(&header.to_bytes())?;
        file.sync()?;
        self.storage.sync_dir(DIR)?;
        self.length = SEGMENT_HEADER as u64;
        Ok(file)
    }
}
