//! The log format, written from `docs/log-format.md` alone: what reads here as the kernel reads shows that the page is right,
//! and what is sealed again here gets past the checksums, to what lies behind them.

/// Bytes of a segment's header.
pub const SEGMENT_HEADER: usize = 128;
/// Bytes of a frame's header.
pub const FRAME_HEADER: usize = 32;

const CHAIN_DOMAIN: &str = "tadpole 2026 log chain v1";
const EVENT: u16 = 1;
const COMMIT: u16 = 2;

/// One frame, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// 1 for an event, 2 for a commit.
    pub kind: u16,
    /// Of an event's payload.
    pub schema: u16,
    /// Its own, or that of the next event.
    pub sequence: u64,
    /// Its group.
    pub step: u32,
    /// First bytes of the run id.
    pub lineage: u32,
    /// Without padding.
    pub body: Vec<u8>,
}

/// A segment, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The header, as stored.
    pub header: [u8; SEGMENT_HEADER],
    /// The frames.
    pub frames: Vec<Frame>,
}

impl Frame {
    /// The frame as stored, with checksums that hold.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut stored = self.body.clone();
        stored.resize(self.body.len().next_multiple_of(16), 0);
        let mut bytes = Vec::with_capacity(FRAME_HEADER + stored.len());
        bytes.extend((self.body.len() as u32).to_le_bytes());
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(self.schema.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.step.to_le_bytes());
        bytes.extend(self.lineage.to_le_bytes());
        bytes.extend(crc32fast::hash(&stored).to_le_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes.extend(stored);
        bytes
    }
}

impl Segment {
    /// Takes apart a sound segment.
    ///
    /// # Panics
    /// Where it is not as the page says.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let header: [u8; SEGMENT_HEADER] = bytes[..SEGMENT_HEADER].try_into().unwrap();
        assert_eq!(&header[..8], b"TADPOLE\n");
        assert_eq!(number(&header[8..12]), 1, "the format");
        assert!(header[96..124].iter().all(|byte| *byte == 0), "reserved");
        assert_eq!(number(&header[124..]), u64::from(crc32fast::hash(&header[..124])));
        let mut frames = Vec::new();
        let mut at = SEGMENT_HEADER;
        while at < bytes.len() {
            let head = &bytes[at..at + FRAME_HEADER];
            let length = number(&head[0..4]) as usize;
            let body = bytes[at + FRAME_HEADER..at + FRAME_HEADER + length].to_vec();
            let frame = Frame {
                kind: number(&head[4..6]) as u16,
                schema: number(&head[6..8]) as u16,
                sequence: number(&head[8..16]),
                step: number(&head[16..20]) as u32,
                lineage: number(&head[20..24]) as u32,
                body,
            };
            let stored = frame.to_bytes();
            assert!(stored == bytes[at..at + stored.len()], "the frame at byte {at}");
            at += stored.len();
            frames.push(frame);
        }
        Self { header, frames }
    }

    /// The segment as stored, with the checksum of its header made to hold.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.to_vec();
        let crc = crc32fast::hash(&bytes[..124]);
        bytes[124..].copy_from_slice(&crc.to_le_bytes());
        self.frames.iter().for_each(|frame| bytes.extend(frame.to_bytes()));
        bytes
    }
}

/// Makes the chain of a log hold, whatever its frames say: in every commit, and in every header that follows one.
pub fn link(segments: &mut [Segment]) {
    let Some(first) = segments.first() else { return };
    let mut chain = derived(&[&first.header[16..48]]);
    for segment in segments {
        segment.header[64..96].copy_from_slice(&chain);
        let mut events = Vec::new();
        for frame in &mut segment.frames {
            if frame.kind != COMMIT || frame.body.len() < 56 {
                events.extend(frame.to_bytes());
                continue;
            }
            frame.body[24..56].fill(0);
            chain = derived(&[&chain, &(events.len() as u64).to_le_bytes(), &events, &frame.body]);
            frame.body[24..56].copy_from_slice(&chain);
            events.clear();
        }
    }
}

/// Whether a frame is an event's.
#[must_use]
pub fn is_event(frame: &Frame) -> bool {
    frame.kind == EVENT
}

fn derived(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(CHAIN_DOMAIN);
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
