//! Segments: files `log/NNNNNNNN.seg`, sealed at iteration boundaries.
//!
//! ```text
//!  0       8        12      16      48             56          64               96         124          128
//!  +-------+--------+-------+-------+--------------+-----------+----------------+----------+------------+
//!  | magic | format | index | run id| first sequence| first step| previous chain | fork of  | header CRC |
//!  +-------+--------+-------+-------+--------------+-----------+----------------+----------+------------+
//! ```

use super::frame::{digest_at, u32_at, u64_at};
use crate::id::{Digest, Sequence, Step};

/// First bytes of every segment.
pub const MAGIC: [u8; 8] = *b"TADPOLE\n";
/// Version of the log format; part of a run's id.
pub const FORMAT: u32 = 1;
/// Bytes of a segment header.
pub const SEGMENT_HEADER: usize = 128;
/// Where segments lie.
pub(crate) const DIR: &str = "log";

/// A segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Which segment, from 0.
    pub index: u32,
    /// The run's id.
    pub run: Digest,
    /// Sequence of its first event.
    pub first: Sequence,
    /// Step of its first group.
    pub step: Step,
    /// Chain hash of the last commit before it.
    pub chain: Digest,
    /// In the first segment of a fork: the run that the segments before it belong to. First step and chain say where in it.
    pub forked_from: Option<RunMark>,
}

/// The first 28 bytes of a run's id; as many as a segment header has room for. The whole id is in the segment before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunMark([u8; 28]);

impl RunMark {
    /// The mark of a run.
    #[must_use]
    pub fn of(run: Digest) -> Self {
        let [mark @ .., _, _, _, _] = run.0;
        Self(mark)
    }

    /// The mark in a header; zero bytes are none.
    fn read(bytes: &[u8; SEGMENT_HEADER]) -> Option<Self> {
        let mark = bytes[96..124].first_chunk().copied().unwrap_or_default();
        (mark != [0; 28]).then_some(Self(mark))
    }
}

/// Why bytes are no segment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentFault {
    /// Fewer bytes than a header.
    #[error("the segment header is cut off")]
    Cut,
    /// Not a segment at all.
    #[error("the segment has no magic")]
    Magic,
    /// Its checksum does not match.
    #[error("the segment header does not match its CRC")]
    Crc,
    /// Written by another version of the format.
    #[error("the log has format {0}, this program reads {FORMAT}")]
    Format(u32),
}

impl SegmentHeader {
    pub(crate) fn to_bytes(self) -> [u8; SEGMENT_HEADER] {
        let Self { index, run, first, step, chain, forked_from } = self;
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..16].copy_from_slice(&index.to_le_bytes());
        bytes[16..48].copy_from_slice(&run.0);
        bytes[48..56].copy_from_slice(&first.0.to_le_bytes());
        bytes[56..64].copy_from_slice(&step.0.to_le_bytes());
        bytes[64..96].copy_from_slice(&chain.0);
        if let Some(RunMark(mark)) = forked_from {
            bytes[96..124].copy_from_slice(&mark);
        }
        let crc = crc32fast::hash(&bytes[..124]);
        bytes[124..128].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, SegmentFault> {
        let head = bytes.first_chunk::<SEGMENT_HEADER>().ok_or(SegmentFault::Cut)?;
        if head[0..8] != MAGIC {
            return Err(SegmentFault::Magic);
        }
        if crc32fast::hash(&head[..124]) != u32_at(head, 124) {
            return Err(SegmentFault::Crc);
        }
        match u32_at(head, 8) {
            FORMAT => {}
            other => return Err(SegmentFault::Format(other)),
        }
        Ok(Self {
            index: u32_at(head, 12),
            run: digest_at(head, 16),
            first: Sequence(u64_at(head, 48)),
            step: Step(u64_at(head, 56)),
            chain: digest_at(head, 64),
            forked_from: RunMark::read(head),
        })
    }
}

/// The file of segment `index`.
pub(crate) fn name(index: u32) -> String {
    format!("{DIR}/{index:08}.seg")
}

/// The index in a file name of `log/`.
pub(crate) fn index_of(file: &str) -> Option<u32> {
    let digits = file.strip_suffix(".seg")?;
    if digits.len() < 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}
