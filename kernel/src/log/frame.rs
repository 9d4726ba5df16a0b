//! Frames: one event or one commit each, 16-aligned, header and body under a checksum of their own.
//!
//! ```text
//!  0       4     6        8         16    20       24        28          32
//!  +-------+-----+--------+---------+-----+--------+---------+-----------+------ ... ---+---- ... ----+
//!  | length| kind| schema | sequence| step| lineage| body CRC| header CRC| body         | zeros to 16 |
//!  +-------+-----+--------+---------+-----+--------+---------+-----------+------ ... ---+---- ... ----+
//! ```

use crate::id::{Digest, Sequence};

/// Every frame starts at, and is padded to, a multiple of this.
pub const ALIGNMENT: usize = 16;
/// Bytes of a frame header.
pub const FRAME_HEADER: usize = 32;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// An event's body.
    Event,
    /// The commit that closes a group.
    Commit,
}

impl FrameKind {
    const fn code(self) -> u16 {
        match self {
            Self::Event => 1,
            Self::Commit => 2,
        }
    }

    fn of(code: u16) -> Option<Self> {
        match code {
            1 => Some(Self::Event),
            2 => Some(Self::Commit),
            _ => None,
        }
    }
}

/// A frame's header, without its checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Exact length of the body in bytes, without padding.
    pub length: u32,
    /// What the body is.
    pub kind: FrameKind,
    /// Schema of an event's payload; 0 for a commit.
    pub schema: u16,
    /// Of an event: its own. Of a commit: that of the next event.
    pub sequence: Sequence,
    /// The group it belongs to.
    pub step: u32,
    /// First four bytes of the run id: frames of another run are never taken for this one's.
    pub lineage: u32,
}

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    /// Fewer bytes than a header are left.
    #[error("the header is cut off")]
    HeaderCut,
    /// The header does not match its checksum.
    #[error("the header does not match its CRC")]
    HeaderCrc,
    /// The kind is neither event nor commit.
    #[error("the frame kind is unknown")]
    Kind,
    /// The body reaches past the end of the segment.
    #[error("the body is cut off")]
    BodyCut,
    /// The body or its padding does not match its checksum.
    #[error("the body does not match its CRC")]
    BodyCrc,
    /// The padding is not zero.
    #[error("the padding is not zero")]
    Padding,
}

/// The four bytes by which a run's frames know it.
pub(crate) fn lineage(run: Digest) -> u32 {
    let [a, b, c, d, ..] = run.0;
    u32::from_le_bytes([a, b, c, d])
}

/// Length of `body` bytes with padding.
pub(crate) const fn padded(body: usize) -> usize {
    body.next_multiple_of(ALIGNMENT)
}

/// Appends a frame to `out`, whose length must be a multiple of the alignment.
pub(crate) fn write(header: &FrameHeader, body: &[u8], out: &mut Vec<u8>) {
    debug_assert!(out.len().is_multiple_of(ALIGNMENT), "frames are aligned");
    debug_assert_eq!(header.length as usize, body.len(), "the header tells the body's length");
    let start = out.len();
    out.resize(start + FRAME_HEADER, 0);
    out.extend_from_slice(body);
    out.resize(start + FRAME_HEADER + padded(body.len()), 0);
    let body_crc = crc32fast::hash(&out[start + FRAME_HEADER..]);
    let head = &mut out[start..start + FRAME_HEADER];
    head[0..4].copy_from_slice(&header.length.to_le_bytes());
    head[4..6].copy_from_slice(&header.kind.code().to_le_bytes());
    head[6..8].copy_from_slice(&header.schema.to_le_bytes());
    head[8..16].copy_from_slice(&header.sequence.0.to_le_bytes());
    head[16..20].copy_from_slice(&header.step.to_le_bytes());
    head[20..24].copy_from_slice(&header.lineage.to_le_bytes());
    head[24..28].copy_from_slice(&body_crc.to_le_bytes());
    let header_crc = crc32fast::hash(&head[..28]);
    head[28..32].copy_from_slice(&header_crc.to_le_bytes());
}

/// A frame found whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) header: FrameHeader,
    pub(crate) body: &'a [u8],
    /// Bytes of the whole frame, header and padding included.
    pub(crate) size: usize,
}

/// Reads the frame at the start of `bytes`. Safe against any bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<Frame<'_>, FrameFault> {
    let (header, body_crc) = read_header(bytes)?;
    let length = header.length as usize;
    let rest = &bytes[FRAME_HEADER..];
    let stored = rest.get(..padded(length)).ok_or(FrameFault::BodyCut)?;
    if crc32fast::hash(stored) != body_crc {
        return Err(FrameFault::BodyCrc);
    }
    let (body, padding) = stored.split_at(length);
    if padding.iter().any(|&byte| byte != 0) {
        return Err(FrameFault::Padding);
    }
    Ok(Frame { header, body, size: FRAME_HEADER + stored.len() })
}

fn read_header(bytes: &[u8]) -> Result<(FrameHeader, u32), FrameFault> {
    let head = bytes.first_chunk::<FRAME_HEADER>().ok_or(FrameFault::HeaderCut)?;
    if crc32fast::hash(&head[..28]) != u32_at(head, 28) {
        return Err(FrameFault::HeaderCrc);
    }
    let kind = FrameKind::of(u16::from_le_bytes([head[4], head[5]])).ok_or(FrameFault::Kind)?;
    let header = FrameHeader {
        length: u32_at(head, 0),
        kind,
        schema: u16::from_le_bytes([head[6], head[7]]),
        sequence: Sequence(u64_at(head, 8)),
        step: u32_at(head, 16),
        lineage: u32_at(head, 20),
    };
    Ok((header, u32_at(head, 24)))
}

/// The little-endian `u32` at `at`; 0 past the end.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().map_or(0, u32::from_le_bytes)
}

/// The little-endian `u64` at `at`; 0 past the end.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().map_or(0, u64::from_le_bytes)
}

/// The digest at `at`; zero past the end.
pub(super) fn digest_at(bytes: &[u8], at: usize) -> Digest {
    Digest(bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default())
}
