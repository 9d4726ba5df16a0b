//! Counter-based randomness: a stream is a function of what is drawn for, and carries no state from step to step.
//!
//! `key = blake3-derive-key(domain, seed, purpose, iteration, content, visit, member, turn)`; value `i` of a stream is
//! the little-endian `u64` at byte `8 i` of the key's extendable output. Never arrival order, never a worker's index.

use std::fmt;

use crate::id::{Digest, Iteration, Member, Visit};

/// Changing this string changes every random number of every run.
const DOMAIN: &str = "tadpole 2026 counter-based random stream v1";
const BLOCK: usize = 64;
const WORDS: usize = BLOCK / 8;

/// What a stream draws for. Equal keys under one seed give equal streams, whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamKey {
    /// What the numbers decide, e.g. `rollout` or `generate`.
    pub purpose: &'static str,
    /// The iteration.
    pub iteration: Iteration,
    /// Content digest of the task sampled; zero where there is none.
    pub content: Digest,
    /// The recorded index of the look or update that samples.
    pub visit: Visit,
    /// Place in the group.
    pub member: Member,
    /// Turn of the episode, or any further counter.
    pub turn: u32,
}

impl StreamKey {
    /// A key for `purpose` alone; set further fields with struct update syntax.
    #[must_use]
    pub const fn new(purpose: &'static str) -> Self {
        Self {
            purpose,
            iteration: Iteration(0),
            content: Digest([0; 32]),
            visit: Visit(0),
            member: Member(0),
            turn: 0,
        }
    }
}

/// A stream of random numbers.
#[derive(Clone)]
pub struct Stream {
    output: blake3::OutputReader,
    block: [u8; BLOCK],
    drawn: u64,
}

impl Stream {
    /// The stream of `key` under the run seed `seed`.
    #[must_use]
    pub fn new(seed: u64, key: &StreamKey) -> Self {
        let StreamKey { purpose, iteration, content, visit, member, turn } = key;
        let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
        hasher.update(&seed.to_le_bytes());
        hasher.update(&(purpose.len() as u64).to_le_bytes());
        hasher.update(purpose.as_bytes());
        hasher.update(&iteration.0.to_le_bytes());
        hasher.update(&content.0);
        hasher.update(&visit.0.to_le_bytes());
        hasher.update(&member.0.to_le_bytes());
        hasher.update(&turn.to_le_bytes());
        Self { output: hasher.finalize_xof(), block: [0; BLOCK], drawn: 0 }
    }

    /// The next value, uniform over all `u64`.
    pub fn next_u64(&mut self) -> u64 {
        let word = (self.drawn % WORDS as u64) as usize;
        if word == 0 {
            self.output.fill(&mut self.block);
        }
        self.drawn += 1;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.block[word * 8..word * 8 + 8]);
        u64::from_le_bytes(bytes)
    }

    /// Uniform in `[0, 1)`: the upper 53 bits of one value.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in `0..n` without bias (Lemire, "Fast random integer generation in an interval", 2019).
    /// `below(0)` is 0 and draws nothing.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let rejected = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= rejected {
                return (product >> 64) as u64;
            }
        }
    }

    /// Puts `items` in random order (Fisher and Yates, from the end).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }

    /// How many values were drawn so far.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Stream").field("drawn", &self.drawn).finish_non_exhaustive()
    }
}

/// How much randomness a decision used; recorded with its commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DrawCount {
    /// Streams opened.
    pub streams: u64,
    /// Values drawn from them.
    pub values: u64,
}

impl DrawCount {
    /// Adds one stream and what was drawn from it.
    pub fn count(&mut self, stream: &Stream) {
        self.streams = self.streams.saturating_add(1);
        self.values = self.values.saturating_add(stream.drawn());
    }

    /// Adds the counts of another decider or thread.
    pub fn add(&mut self, other: Self) {
        self.streams = self.streams.saturating_add(other.streams);
        self.values = self.values.saturating_add(other.values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: StreamKey = StreamKey::new("test");

    #[test]
    fn equal_keys_give_equal_streams_and_every_field_matters() {
        let first = |key: &StreamKey, seed| Stream::new(seed, key).next_u64();
        let base = first(&KEY, 7);
        assert_eq!(base, first(&KEY, 7));
        let others = [
            first(&KEY, 8),
            first(&StreamKey { purpose: "tesu", ..KEY }, 7),
            first(&StreamKey { iteration: Iteration(1), ..KEY }, 7),
            first(&StreamKey { content: Digest([1; 32]), ..KEY }, 7),
            first(&StreamKey { visit: Visit(1), ..KEY }, 7),
            first(&StreamKey { member: Member(1), ..KEY }, 7),
            first(&StreamKey { turn: 1, ..KEY }, 7),
        ];
        for (index, other) in others.iter().enumerate() {
            assert_ne!(base, *other, "field {index}");
        }
    }

    #[test]
    fn values_are_frozen() {
        let mut stream = Stream::new(1, &KEY);
        let values: Vec<u64> = (0..10).map(|_| stream.next_u64()).collect();
        insta::assert_debug_snapshot!(values);
    }

    #[test]
    fn below_is_in_range_and_even() {
        let mut stream = Stream::new(3, &KEY);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7) as usize] += 1;
        }
        // Five standard deviations of a binomial with n = 70,000, p = 1/7 are 463.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 463), "{counts:?}");
        assert_eq!(stream.below(1), 0);
        let before = stream.drawn();
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.drawn(), before);
    }

    #[test]
    fn uniform_stays_below_one() {
        let mut stream = Stream::new(3, &KEY);
        let sum: f64 =
            (0..10_000).map(|_| stream.uniform()).inspect(|u| assert!((0.0..1.0).contains(u))).sum();
        assert!((sum / 10_000.0 - 0.5).abs() < 0.015);
    }

    #[test]
    fn shuffle_is_a_permutation() {
        let mut items: Vec<u32> = (0..100).collect();
        Stream::new(3, &KEY).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
