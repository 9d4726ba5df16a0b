//! A keyframe's file.
//!
//! ```text
//!  0       8        12       16     24             128
//!  +-------+--------+--------+------+--------------+-------- ... ---------+
//!  | magic | format | segment| end  | commit body  | world, as a snapshot |
//!  +-------+--------+--------+------+--------------+-------- ... ---------+
//! ```
//!
//! It has no checksum of its own: the commit must be the one that ends at byte `end` of the segment, and the world must have
//! the digest that this commit names.

use std::io;
use std::sync::Arc;

use super::DIR;
use crate::id::{Digest, Step};
use crate::log::{COMMIT_BODY, Commit, Cursor, LogError};
use crate::storage::Storage;
use crate::world::{SnapshotFault, World};

const MAGIC: [u8; 8] = *b"TADPOLEK";
const FORMAT: u32 = 1;
const HEADER: usize = 24 + COMMIT_BODY;

/// What a keyframe says of its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keyframe {
    pub(super) segment: u32,
    /// Where the commit ends in its segment, in bytes.
    pub(super) end: u64,
    pub(super) commit: Commit,
}

/// Why a keyframe is passed over.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyframeFault {
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("it is no keyframe of this format")]
    Header,
    #[error("it is named after another step")]
    Name,
    #[error("the log cannot be read there: {0}")]
    Log(#[from] LogError),
    #[error("the log has no such commit there")]
    Commit,
    #[error("its world cannot be read: {0}")]
    World(#[from] SnapshotFault),
    #[error("its world has digest {found}, the commit recorded {recorded}")]
    Digest { recorded: Digest, found: Digest },
}

impl Keyframe {
    pub(super) fn to_bytes(self, world: &World) -> Vec<u8> {
        let Self { segment, end, commit } = self;
        let mut bytes = Vec::with_capacity(1 << 20);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&segment.to_le_bytes());
        bytes.extend_from_slice(&end.to_le_bytes());
        bytes.extend_from_slice(&commit.to_bytes());
        debug_assert_eq!(bytes.len(), HEADER, "the header is as documented");
        world.snapshot(&mut bytes);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, world) = bytes.split_first_chunk::<HEADER>()?;
        let (magic, head) = head.split_first_chunk::<8>()?;
        let (format, head) = head.split_first_chunk()?;
        let (segment, head) = head.split_first_chunk()?;
        let (end, commit) = head.split_first_chunk()?;
        if *magic != MAGIC || u32::from_le_bytes(*format) != FORMAT {
            return None;
        }
        let (segment, end) = (u32::from_le_bytes(*segment), u64::from_le_bytes(*end));
        Some((Self { segment, end, commit: Commit::from_bytes(commit)? }, world))
    }
}

/// Reads the keyframe after `step` and checks it against the log.
pub(super) fn load(storage: &Arc<dyn Storage>, step: Step) -> Result<(World, Cursor, Commit), KeyframeFault> {
    let bytes = storage.read(&name(step))?;
    let (Keyframe { segment, end, commit }, world) =
        Keyframe::from_bytes(&bytes).ok_or(KeyframeFault::Header)?;
    if commit.step != step {
        return Err(KeyframeFault::Name);
    }
    let cursor =
        Cursor::open_behind(Arc::clone(storage), segment, end, &commit)?.ok_or(KeyframeFault::Commit)?;
    let mut world = World::restored(world)?;
    let found = world.digest();
    if found != commit.world {
        return Err(KeyframeFault::Digest { recorded: commit.world, found });
    }
    Ok((world, cursor, commit))
}

/// The file of the keyframe after `step`.
pub(crate) fn name(step: Step) -> String {
    format!("{DIR}/{:010}.key", step.0)
}

/// The step in a file name of `keyframes/`.
pub(super) fn step_of(file: &str) -> Option<Step> {
    let digits = file.strip_suffix(".key")?;
    let step = digits.parse().ok().map(Step)?;
    (name(step) == format!("{DIR}/{file}")).then_some(step)
}
