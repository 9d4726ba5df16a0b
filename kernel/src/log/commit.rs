//! The commit that closes a group: position, chain, world digest, draw counts.
//!
//! ```text
//!  0      8       16      20      24       56      88        96       104
//!  +------+-------+-------+-------+--------+-------+---------+--------+
//!  | step | first | count | flags | chain  | world | streams | values |
//!  +------+-------+-------+-------+--------+-------+---------+--------+
//! ```

use super::frame::{digest_at, u32_at, u64_at};
use crate::draws::DrawCount;
use crate::id::{Digest, Sequence, Step};

/// Bytes of a commit's body.
pub const COMMIT_BODY: usize = 104;

const CHAIN_DOMAIN: &str = "tadpole 2026 log chain v1";
const SEALS: u32 = 1;

/// What a commit says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Commit {
    /// Which group it closes.
    pub step: Step,
    /// Sequence of the group's first event.
    pub first: Sequence,
    /// Events in the group.
    pub count: u32,
    /// Whether it is the last of its segment.
    pub seals: bool,
    /// Hash over everything up to and with this group.
    pub chain: Digest,
    /// Digest of the world after the group was applied.
    pub world: Digest,
    /// Randomness that the decision used.
    pub draws: DrawCount,
}

impl Commit {
    /// Sequence of the event that follows.
    #[must_use]
    pub fn next(&self) -> Sequence {
        Sequence(self.first.0.saturating_add(u64::from(self.count)))
    }

    /// Sets `chain` to what it must be after `previous`, over the group's event frames.
    pub(crate) fn link(&mut self, previous: Digest, frames: &[u8]) {
        self.chain = self.expected_chain(previous, frames);
    }

    /// `blake3(domain, previous chain, event frames as stored, this body with a zero chain)`.
    pub(crate) fn expected_chain(&self, previous: Digest, frames: &[u8]) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key(CHAIN_DOMAIN);
        hasher.update(&previous.0);
        hasher.update(&(frames.len() as u64).to_le_bytes());
        hasher.update(frames);
        hasher.update(&Self { chain: Digest::default(), ..*self }.to_bytes());
        Digest(*hasher.finalize().as_bytes())
    }

    pub(crate) fn to_bytes(self) -> [u8; COMMIT_BODY] {
        let Self { step, first, count, seals, chain, world, draws: DrawCount { streams, values } } = self;
        let mut body = [0; COMMIT_BODY];
        body[0..8].copy_from_slice(&step.0.to_le_bytes());
        body[8..16].copy_from_slice(&first.0.to_le_bytes());
        body[16..20].copy_from_slice(&count.to_le_bytes());
        body[20..24].copy_from_slice(&(if seals { SEALS } else { 0 }).to_le_bytes());
        body[24..56].copy_from_slice(&chain.0);
        body[56..88].copy_from_slice(&world.0);
        body[88..96].copy_from_slice(&streams.to_le_bytes());
        body[96..104].copy_from_slice(&values.to_le_bytes());
        body
    }

    /// Reads a body; `None` when it is not exactly what `to_bytes` writes.
    pub(crate) fn from_bytes(body: &[u8]) -> Option<Self> {
        let commit = Self {
            step: Step(u64_at(body, 0)),
            first: Sequence(u64_at(body, 8)),
            count: u32_at(body, 16),
            seals: u32_at(body, 20) == SEALS,
            chain: digest_at(body, 24),
            world: digest_at(body, 56),
            draws: DrawCount { streams: u64_at(body, 88), values: u64_at(body, 96) },
        };
        (commit.to_bytes().as_slice() == body).then_some(commit)
    }
}

/// The chain before the first group: it binds the log to its run.
#[must_use]
pub fn genesis(run: Digest) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key(CHAIN_DOMAIN);
    hasher.update(&run.0);
    Digest(*hasher.finalize().as_bytes())
}
