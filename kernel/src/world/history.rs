//! Token histories: most of a world, so they are digested once, when they come.

use std::sync::Arc;

use bevy_ecs::prelude::Component;
use serde::{Deserialize, Serialize};

use crate::event::{Segment, Span, Tokens};
use crate::id::Digest;

/// A trajectory's token histories. Leaves the world when its iteration ends, and is never kept for evaluations.
#[derive(Component, Clone, Debug, PartialEq)]
pub struct History {
    /// The segments.
    pub segments: Arc<Vec<Segment>>,
    digest: Digest,
}

impl History {
    pub(super) fn new(segments: Vec<Segment>) -> Self {
        let digest = Digest::of(&canonical(&segments));
        Self { segments: Arc::new(segments), digest }
    }

    /// Digest over the canonical bytes of the segments.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// The segments for people; their digest, computed once, as canonical bytes: tokens are most of a world.
impl Serialize for History {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.segments.serialize(serializer)
        } else {
            self.digest.serialize(serializer)
        }
    }
}

/// What a keyframe holds of it: the segments.
impl<'de> Deserialize<'de> for History {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::new)
    }
}

/// What `canonical::write` makes of segments, array by array: number by number it took a sixth of a fold.
fn canonical(segments: &[Segment]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + segments.iter().map(canonical_size).sum::<usize>());
    push_length(&mut out, segments.len());
    for Segment { tokens, sampled, log_probs } in segments {
        match tokens {
            Tokens::Narrow(ids) => {
                out.extend_from_slice(&0_u32.to_le_bytes());
                push_array(&mut out, ids, |id| id.to_le_bytes());
            }
            Tokens::Wide(ids) => {
                out.extend_from_slice(&1_u32.to_le_bytes());
                push_array(&mut out, ids, |id| id.to_le_bytes());
            }
        }
        push_array(&mut out, sampled, |&Span { start, end }| {
            (u64::from(start) | u64::from(end) << 32).to_le_bytes()
        });
        push_array(&mut out, log_probs, |log_prob| log_prob.to_bits().to_le_bytes());
    }
    out
}

/// Bytes of a segment: a variant, three lengths, the arrays.
fn canonical_size(segment: &Segment) -> usize {
    let tokens = match &segment.tokens {
        Tokens::Narrow(ids) => 2 * ids.len(),
        Tokens::Wide(ids) => 4 * ids.len(),
    };
    4 + 3 * 8 + tokens + 8 * segment.sampled.len() + 4 * segment.log_probs.len()
}

fn push_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&(length as u64).to_le_bytes());
}

fn push_array<T, const SIZE: usize>(out: &mut Vec<u8>, items: &[T], bytes: impl Fn(&T) -> [u8; SIZE]) {
    push_length(out, items.len());
    let start = out.len();
    out.resize(start + SIZE * items.len(), 0);
    let (slots, _) = out[start..].as_chunks_mut();
    for (slot, item) in slots.iter_mut().zip(items) {
        *slot = bytes(item);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn tokens() -> impl Strategy<Value = Tokens> {
        let narrow = proptest::collection::vec(any::<u16>(), 0..40).prop_map(Tokens::Narrow);
        prop_oneof![narrow, proptest::collection::vec(any::<u32>(), 0..40).prop_map(Tokens::Wide)]
    }

    prop_compose! {
        fn segment()(
            tokens in tokens(),
            sampled in proptest::collection::vec(any::<(u32, u32)>(), 0..4),
            log_probs in proptest::collection::vec(any::<f32>(), 0..40),
        ) -> Segment {
            let sampled = sampled.into_iter().map(|(start, end)| Span { start, end }).collect();
            Segment { tokens, sampled, log_probs }
        }
    }

    proptest! {
        #[test]
        fn bytes_are_those_of_any_value(segments in proptest::collection::vec(segment(), 0..4)) {
            let mut expected = Vec::new();
            crate::canonical::write(&segments, &mut expected).unwrap();
            let found = canonical(&segments);
            prop_assert_eq!(found.len(), 8 + segments.iter().map(canonical_size).sum::<usize>());
            prop_assert_eq!(found, expected);
        }
    }
}
