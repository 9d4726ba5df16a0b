//! What can be wrong with a log, and where.

use std::io;

use super::frame::FrameFault;
use super::segment::SegmentFault;
use crate::id::Step;

/// What is wrong at a place of a segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The segment's header.
    #[error(transparent)]
    Segment(#[from] SegmentFault),
    /// The segment's header is whole but does not follow from the segments before it.
    #[error("the segment header does not continue the log: {0} differs")]
    Continuity(&'static str),
    /// A frame.
    #[error(transparent)]
    Frame(#[from] FrameFault),
    /// The bytes end before the group's commit.
    #[error("the group has no commit")]
    Uncommitted,
    /// A frame of another run.
    #[error("the frame belongs to another run")]
    Foreign,
    /// A frame of another group or out of sequence.
    #[error("the frame is out of order: {0} differs")]
    Order(&'static str),
    /// The commit does not fit its group.
    #[error("the commit does not match its group: {0} differs")]
    Commit(&'static str),
    /// Bytes behind the commit that sealed the segment.
    #[error("there are bytes behind the commit that seals the segment")]
    BehindSeal,
    /// The segment ends without a sealing commit although another follows it.
    #[error("the segment is not sealed, but another follows it")]
    Unsealed,
}

impl Fault {
    /// Whether an interrupted write can have left it.
    pub(crate) fn can_be_torn(&self) -> bool {
        match self {
            Self::Uncommitted
            | Self::Segment(SegmentFault::Cut | SegmentFault::Magic | SegmentFault::Crc) => true,
            Self::Frame(fault) => match fault {
                FrameFault::HeaderCut | FrameFault::HeaderCrc | FrameFault::BodyCut | FrameFault::BodyCrc => {
                    true
                }
                // Under a checksum that holds, these were written so.
                FrameFault::Kind | FrameFault::Padding => false,
            },
            Self::Segment(SegmentFault::Format(_))
            | Self::Continuity(_)
            | Self::Foreign
            | Self::Order(_)
            | Self::Commit(_)
            | Self::BehindSeal
            | Self::Unsealed => false,
        }
    }
}

/// Why a log could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Data that was once durable is damaged. Nothing was changed.
    #[error("log/{segment:08}.seg is corrupt at byte {offset} (step {step}): {fault}")]
    Corrupt {
        /// Segment index.
        segment: u32,
        /// Byte within the segment.
        offset: u64,
        /// The group being read.
        step: Step,
        /// What is wrong.
        fault: Fault,
    },
    /// A segment is not there although a later one is.
    #[error("log/{0:08}.seg is missing")]
    MissingSegment(u32),
    /// There is no log, or nothing was ever committed to it.
    #[error("the run has no committed step")]
    Empty,
    /// The medium failed.
    #[error("log: {0}")]
    Io(#[from] io::Error),
    /// An earlier write or sync failed: what is durable is unknown, so nothing more is written.
    #[error("the log is poisoned by an earlier failure to write; open the run again")]
    Poisoned,
    /// The log has as many steps or segments as its format can count.
    #[error("the log is full")]
    Full,
    /// A group may hold this many bytes at most.
    #[error("an event body of {0} bytes is too large for a frame")]
    TooLarge(usize),
}
