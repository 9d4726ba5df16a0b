//! Commit groups, as read and as written.

use std::ops::Range;
use std::sync::Arc;

use super::commit::{COMMIT_BODY, Commit};
use super::error::{Fault, LogError};
use super::frame::{self, FRAME_HEADER, FrameHeader, FrameKind};
use crate::draws::DrawCount;
use crate::event::{DecodeError, Event};
use crate::id::{Digest, Sequence, Step};
use crate::storage::Buffer;

/// A committed group, read in place: its bytes are those of the segment.
#[derive(Clone, Debug)]
pub struct Group {
    segment: Arc<Buffer>,
    bodies: Vec<(u16, Range<usize>)>,
    commit: Commit,
    segment_index: u32,
    offset: usize,
    end: usize,
}

impl Group {
    /// What the commit says.
    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Which segment it lies in.
    pub fn segment(&self) -> u32 {
        self.segment_index
    }

    /// Where in the segment it starts, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset as u64
    }

    /// Where in the segment it ends, in bytes.
    pub fn end(&self) -> u64 {
        self.end as u64
    }

    /// How many events it has.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Schema and body of each event, in order.
    pub fn bodies(&self) -> impl ExactSizeIterator<Item = (u16, &[u8])> + '_ {
        self.bodies.iter().map(|(schema, range)| (*schema, &self.segment[range.clone()]))
    }

    /// The events, in order, decoded.
    pub fn events(&self) -> impl ExactSizeIterator<Item = Result<Event, DecodeError>> + '_ {
        self.bodies().map(|(schema, body)| Event::decode(schema, body))
    }
}

/// Where a group is expected to continue the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) run: Digest,
    pub(super) step: Step,
    pub(super) sequence: Sequence,
    pub(super) chain: Digest,
    pub(super) segment: u32,
}

/// Reads the group that starts at byte `start`; on failure, what is wrong and where.
pub(super) fn read(
    segment: &Arc<Buffer>,
    start: usize,
    expected: &Expected,
) -> Result<(Group, usize), (usize, Fault)> {
    let lineage = frame::lineage(expected.run);
    let mut bodies = Vec::new();
    let mut sequence = expected.sequence;
    let mut at = start;
    while at < segment.len() {
        let fault = |fault: Fault| (at, fault);
        let frame = frame::read(&segment[at..]).map_err(|error| fault(error.into()))?;
        let header = frame.header;
        check(header.lineage == lineage, Fault::Foreign).map_err(fault)?;
        check(header.step == expected.step.0 as u32, Fault::Order("step")).map_err(fault)?;
        check(header.sequence == sequence, Fault::Order("sequence")).map_err(fault)?;
        match header.kind {
            FrameKind::Event => {
                let body = at + FRAME_HEADER;
                bodies.push((header.schema, body..body + header.length as usize));
                sequence = sequence.next();
                at += frame.size;
            }
            FrameKind::Commit => {
                let commit = read_commit(&header, frame.body, expected, bodies.len()).map_err(fault)?;
                let chain = commit.expected_chain(expected.chain, &segment[start..at]);
                check(commit.chain == chain, Fault::Commit("chain")).map_err(fault)?;
                let end = at + frame.size;
                let segment = Arc::clone(segment);
                let group =
                    Group { segment, bodies, commit, segment_index: expected.segment, offset: start, end };
                return Ok((group, end));
            }
        }
    }
    Err((start, Fault::Uncommitted))
}

/// Whether `bytes` end with the frame of `commit`, of a run of this id.
pub(super) fn ends_with(bytes: &[u8], run: Digest, commit: &Commit) -> bool {
    let size = FRAME_HEADER + frame::padded(COMMIT_BODY);
    let Some(start) = bytes.len().checked_sub(size) else { return false };
    frame::read(&bytes[start..]).is_ok_and(|frame| {
        frame.header.kind == FrameKind::Commit
            && frame.header.lineage == frame::lineage(run)
            && frame.body == commit.to_bytes()
    })
}

fn read_commit(
    header: &FrameHeader,
    body: &[u8],
    expected: &Expected,
    count: usize,
) -> Result<Commit, Fault> {
    check(header.schema == 0, Fault::Commit("schema"))?;
    let commit = Commit::from_bytes(body).ok_or(Fault::Commit("layout"))?;
    check(commit.step == expected.step, Fault::Commit("step"))?;
    check(commit.first == expected.sequence, Fault::Commit("first sequence"))?;
    check(commit.count as usize == count && count > 0, Fault::Commit("event count"))?;
    Ok(commit)
}

fn check(holds: bool, fault: Fault) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(fault) }
}

/// A group being put together.
#[derive(Debug, Default)]
pub(crate) struct GroupBuffer {
    bytes: Vec<u8>,
    count: u32,
}

impl GroupBuffer {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// Adds an event's frame.
    pub(crate) fn push(
        &mut self,
        run: Digest,
        step: Step,
        first: Sequence,
        schema: u16,
        body: &[u8],
    ) -> Result<(), LogError> {
        let length = u32::try_from(body.len()).map_err(|_| LogError::TooLarge(body.len()))?;
        let header = FrameHeader {
            length,
            kind: FrameKind::Event,
            schema,
            sequence: Sequence(first.0.saturating_add(u64::from(self.count))),
            step: step.0 as u32,
            lineage: frame::lineage(run),
        };
        frame::write(&header, body, &mut self.bytes);
        self.count = self.count.checked_add(1).ok_or(LogError::Full)?;
        Ok(())
    }

    /// Closes the group with its commit; returns it and the bytes to append.
    pub(crate) fn close(&mut self, run: Digest, previous: Digest, closing: Closing) -> (Commit, &[u8]) {
        let Closing { step, first, world, draws, seals } = closing;
        let mut commit =
            Commit { step, first, count: self.count, seals, chain: Digest::default(), world, draws };
        commit.link(previous, &self.bytes);
        let body = commit.to_bytes();
        let header = FrameHeader {
            length: body.len() as u32,
            kind: FrameKind::Commit,
            schema: 0,
            sequence: commit.next(),
            step: step.0 as u32,
            lineage: frame::lineage(run),
        };
        frame::write(&header, &body, &mut self.bytes);
        (commit, &self.bytes)
    }
}

/// What a commit says beside what follows from its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    pub(crate) step: Step,
    pub(crate) first: Sequence,
    pub(crate) world: Digest,
    pub(crate) draws: DrawCount,
    pub(crate) seals: bool,
}
