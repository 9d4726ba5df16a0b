//! Reading a log from its first group to its last, safe against any bytes and while it is being written.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::commit::{Commit, genesis};
use super::error::{Fault, LogError};
use super::group::{self, Expected, Group};
use super::recovery;
use super::segment::{self, DIR, RunMark, SEGMENT_HEADER, SegmentHeader};
use crate::id::{Digest, Sequence, Step};
use crate::storage::{Buffer, Storage, named};

/// Where the next group continues the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Its step.
    pub step: Step,
    /// Sequence of its first event.
    pub sequence: Sequence,
    /// Chain hash of the group before it.
    pub chain: Digest,
}

/// How the log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The last segment whose header is whole; `None` before the first.
    pub segment: Option<u32>,
    /// Bytes of that segment up to the last commit.
    pub length: u64,
    /// Whether the last commit sealed it, so that the next group opens another.
    pub sealed: bool,
    /// What lies behind the last commit.
    pub torn: Option<Torn>,
}

/// An interrupted write behind the last commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The segment it lies in.
    pub segment: u32,
    /// Where it starts, in bytes; 0 when the segment's own header is torn.
    pub offset: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// Reads groups one after the other; one segment is in memory at a time.
#[derive(Debug)]
pub struct Cursor {
    storage: Arc<dyn Storage>,
    run: Digest,
    segments: u32,
    open: Option<Open>,
    next_segment: u32,
    /// Where a segment ended that no commit sealed; only a fork may go on behind it.
    unsealed: Option<(u32, usize)>,
    position: Position,
    tail: Tail,
    /// Where the last group starts in its segment; 0 where the segment's header is all that was read of it.
    last: u64,
    done: bool,
}

#[derive(Debug)]
struct Open {
    index: u32,
    bytes: Arc<Buffer>,
    at: usize,
    sealed: bool,
}

impl Cursor {
    /// Opens the log of a run directory at its start. The run id is what the first segment says.
    pub fn open(storage: Arc<dyn Storage>) -> Result<Self, LogError> {
        let segments = count(&segment_indices(storage.as_ref())?)?;
        Self::over(storage, segments)
    }

    /// Opens a log that may lack segments, as if it ended where the first is missing.
    pub(crate) fn open_to_gap(storage: Arc<dyn Storage>) -> Result<Self, LogError> {
        let indices = segment_indices(storage.as_ref())?;
        let segments = (0..).zip(&indices).take_while(|(expected, index)| expected == *index).count();
        Self::over(storage, segments as u32)
    }

    fn over(storage: Arc<dyn Storage>, segments: u32) -> Result<Self, LogError> {
        if segments == 0 {
            return Err(LogError::Empty);
        }
        let first = read(storage.as_ref(), 0)?;
        let header = SegmentHeader::from_bytes(&first).map_err(|fault| LogError::Corrupt {
            segment: 0,
            offset: 0,
            step: Step(0),
            fault: fault.into(),
        })?;
        let position = Position { step: Step(0), sequence: Sequence(0), chain: genesis(header.run) };
        let tail = Tail { segment: None, length: 0, sealed: true, torn: None };
        Ok(Self {
            storage,
            run: header.run,
            segments,
            open: None,
            next_segment: 0,
            unsealed: None,
            position,
            tail,
            last: 0,
            done: false,
        })
    }

    /// Opens the log behind `commit`, which is said to end at byte `end` of `segment`; `None` where it does not. What lies
    /// before is not read: whoever goes on from there must know the world that this commit names.
    ///
    /// What follows is read, and judged, as by a cursor that came here from the start: how it goes on depends on position,
    /// run and tail alone, and these are what segment header and commit say.
    pub fn open_behind(
        storage: Arc<dyn Storage>,
        segment: u32,
        end: u64,
        commit: &Commit,
    ) -> Result<Option<Self>, LogError> {
        let segments = count(&segment_indices(storage.as_ref())?)?;
        if segment >= segments {
            return Ok(None);
        }
        let bytes = Arc::new(read(storage.as_ref(), segment)?);
        let Ok(header) = SegmentHeader::from_bytes(&bytes) else { return Ok(None) };
        let Some(at) = usize::try_from(end).ok().filter(|&end| end <= bytes.len()) else { return Ok(None) };
        if header.index != segment || !group::ends_with(&bytes[..at], header.run, commit) {
            return Ok(None);
        }
        let position = Position { step: commit.step.next(), sequence: commit.next(), chain: commit.chain };
        let tail = Tail { segment: Some(segment), length: end, sealed: commit.seals, torn: None };
        Ok(Some(Self {
            storage,
            run: header.run,
            segments,
            open: Some(Open { index: segment, bytes, at, sealed: commit.seals }),
            next_segment: segment + 1,
            unsealed: None,
            position,
            tail,
            last: 0,
            done: false,
        }))
    }

    /// The id of the run that the next group belongs to: along the log of a fork, first that of its first ancestor.
    pub fn run(&self) -> Digest {
        self.run
    }

    /// Where the next group will be.
    pub fn position(&self) -> Position {
        self.position
    }

    /// How many segments there are.
    pub(crate) fn segments(&self) -> u32 {
        self.segments
    }

    /// How the log ends; known once `next_group` returned `None`.
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// The last write that can be read, as bytes of the last whole segment; known when `tail` is.
    pub(super) fn last_write(&self) -> Option<(u32, Range<u64>)> {
        Some((self.tail.segment?, self.last..self.tail.length))
    }

    /// The next committed group; `None` at the end of what is committed.
    pub fn next_group(&mut self) -> Result<Option<Group>, LogError> {
        while !self.done {
            if self.open.is_none() && !self.open_segment()? {
                self.done = true;
                break;
            }
            if let Some(group) = self.read_group()? {
                return Ok(Some(group));
            }
        }
        Ok(None)
    }

    /// Opens the next segment; `false` when there is none (or only a torn header).
    fn open_segment(&mut self) -> Result<bool, LogError> {
        let index = self.next_segment;
        if index >= self.segments {
            return Ok(false);
        }
        let bytes = Arc::new(read(self.storage.as_ref(), index)?);
        let header = match SegmentHeader::from_bytes(&bytes) {
            Ok(header) => header,
            Err(fault) => {
                self.refuse_unsealed()?;
                self.give_up(index, &bytes, 0, fault.into())?;
                return Ok(false);
            }
        };
        if header.forked_from.is_none() {
            self.refuse_unsealed()?;
        }
        if let Some(differs) = self.discontinuity(&header, index) {
            return Err(self.corrupt(index, 0, Fault::Continuity(differs)));
        }
        self.unsealed = None;
        self.run = header.run;
        self.next_segment = index + 1;
        self.tail = Tail { segment: Some(index), length: SEGMENT_HEADER as u64, sealed: false, torn: None };
        self.last = 0;
        self.open = Some(Open { index, bytes, at: SEGMENT_HEADER, sealed: false });
        Ok(true)
    }

    /// A segment that no commit sealed is whole only where a fork left it.
    fn refuse_unsealed(&self) -> Result<(), LogError> {
        let fault = |(index, at)| self.corrupt(index, at, Fault::Unsealed);
        self.unsealed.map_or(Ok(()), |place| Err(fault(place)))
    }

    fn discontinuity(&self, header: &SegmentHeader, index: u32) -> Option<&'static str> {
        let Position { step, sequence, chain } = self.position;
        let SegmentHeader { index: its_index, run, first, step: its_step, chain: its_chain, forked_from } =
            *header;
        let same_line = match forked_from {
            None => run == self.run,
            Some(parent) => run != self.run && parent == RunMark::of(self.run),
        };
        let parts = [
            (its_index == index, "index"),
            (same_line, "run id"),
            (first == sequence, "first sequence"),
            (its_step == step, "first step"),
            (its_chain == chain, "chain"),
        ];
        parts.into_iter().find(|(same, _)| !same).map(|(_, name)| name)
    }

    /// The next group of the open segment; `None` when the segment is used up, which closes it.
    fn read_group(&mut self) -> Result<Option<Group>, LogError> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let (index, at, sealed) = (open.index, open.at, open.sealed);
        let last = index + 1 == self.segments;
        if at == open.bytes.len() {
            self.unsealed = (!sealed && !last).then_some((index, at));
            self.open = None;
            return Ok(None);
        }
        if sealed {
            return Err(self.corrupt(index, at, Fault::BehindSeal));
        }
        let Position { step, sequence, chain } = self.position;
        let expected = Expected { run: self.run, step, sequence, chain, segment: index };
        match group::read(&open.bytes, at, &expected) {
            Ok((group, end)) => {
                let commit = *group.commit();
                (open.at, open.sealed) = (end, commit.seals);
                self.position = Position { step: step.next(), sequence: commit.next(), chain: commit.chain };
                self.tail.length = end as u64;
                self.last = at as u64;
                self.tail.sealed = commit.seals;
                Ok(Some(group))
            }
            Err((offset, fault)) => {
                let bytes = Arc::clone(&open.bytes);
                self.give_up(index, &bytes, offset, fault)?;
                self.open = None;
                self.done = true;
                Ok(None)
            }
        }
    }

    /// Decides between torn (noted in the tail) and corrupt (an error).
    fn give_up(&mut self, index: u32, bytes: &[u8], offset: usize, fault: Fault) -> Result<(), LogError> {
        let last = index + 1 == self.segments;
        let evidence = recovery::Evidence {
            active: last,
            tearable: fault.can_be_torn(),
            later_group: recovery::later_group_behind(bytes, offset, self.run, self.position.step, &fault),
        };
        if recovery::verdict(evidence) == recovery::Verdict::Corrupt {
            return Err(self.corrupt(index, offset, fault));
        }
        let header_torn = matches!(fault, Fault::Segment(_));
        let start = if header_torn { 0 } else { self.tail.length };
        let behind = bytes.len() as u64 - start;
        self.tail.torn = Some(Torn { segment: index, offset: start, bytes: behind, fault });
        Ok(())
    }

    fn corrupt(&self, segment: u32, offset: usize, fault: Fault) -> LogError {
        LogError::Corrupt { segment, offset: offset as u64, step: self.position.step, fault }
    }
}

impl Iterator for Cursor {
    type Item = Result<Group, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_group() {
            Ok(group) => group.map(Ok),
            Err(error) => {
                self.done = true;
                Some(Err(error))
            }
        }
    }
}

/// The header of a segment; `None` where it is not whole.
pub(crate) fn segment_header(storage: &dyn Storage, index: u32) -> Result<Option<SegmentHeader>, LogError> {
    Ok(SegmentHeader::from_bytes(&read(storage, index)?).ok())
}

/// The header and the first group of a segment, which is taken by itself; `None` where they are not whole.
pub(crate) fn first_group(
    storage: &dyn Storage,
    index: u32,
) -> Result<Option<(SegmentHeader, Group)>, LogError> {
    let bytes = Arc::new(read(storage, index)?);
    let Ok(header) = SegmentHeader::from_bytes(&bytes) else { return Ok(None) };
    let SegmentHeader { run, first: sequence, step, chain, .. } = header;
    let expected = Expected { run, step, sequence, chain, segment: index };
    let group = group::read(&bytes, SEGMENT_HEADER, &expected).ok();
    Ok(group.map(|(group, _)| (header, group)))
}

/// The numbers of the segments that there are, ascending.
pub(crate) fn segment_indices(storage: &dyn Storage) -> Result<Vec<u32>, LogError> {
    let mut indices: Vec<u32> =
        storage.list(DIR)?.iter().filter_map(|file| segment::index_of(file)).collect();
    indices.sort_unstable();
    Ok(indices)
}

/// The bytes of a segment. What stands in its place and cannot be read is named.
fn read(storage: &dyn Storage, index: u32) -> io::Result<Buffer> {
    let name = segment::name(index);
    storage.read(&name).map_err(named(&name))
}

/// How many segments there are; they must be numbered without a gap.
fn count(indices: &[u32]) -> Result<u32, LogError> {
    match (0..).zip(indices).find(|(expected, index)| expected != *index) {
        Some((missing, _)) => Err(LogError::MissingSegment(missing)),
        None => Ok(indices.len() as u32),
    }
}
