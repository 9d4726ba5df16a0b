//! The canonical bytes of weights: what their digest is taken over.
//!
//! | offset | size | content |
//! | --- | --- | --- |
//! | 0 | 8 | `TADPOLE\0` |
//! | 8 | 4 | version of this layout, 1 |
//! | 12 | 36 | the whole numbers of the shape, in the order of its fields (u32 each) |
//! | 48 | 8 | its two real numbers (f32 each) |
//! | 56 | 4 n | the values, in canonical order (f32 each) |
//!
//! All numbers are little-endian.

use super::{Weights, WeightsError};
use crate::shape::ModelShape;

const MAGIC: [u8; 8] = *b"TADPOLE\0";
const VERSION: u32 = 1;
const HEADER: usize = 56;

fn fields(shape: &ModelShape) -> [u32; 12] {
    let ModelShape {
        vocab,
        width,
        layers,
        heads,
        kv_heads,
        head_dim,
        hidden,
        context,
        ngram,
        rope_base,
        norm_eps,
    } = *shape;
    [
        VERSION,
        vocab,
        width,
        layers,
        heads,
        kv_heads,
        head_dim,
        hidden,
        context,
        ngram,
        rope_base.to_bits(),
        norm_eps.to_bits(),
    ]
}

/// Little-endian bytes of numbers.
pub(crate) fn floats_to_bytes(values: &[f32], into: &mut Vec<u8>) {
    into.reserve(values.len() * 4);
    for value in values {
        into.extend_from_slice(&value.to_bits().to_le_bytes());
    }
}

/// The numbers that little-endian bytes stand for; bytes beyond a multiple of four are ignored.
pub(crate) fn floats_from_bytes(bytes: &[u8]) -> Vec<f32> {
    let (words, _rest) = bytes.as_chunks::<4>();
    words.iter().map(|&word| f32::from_bits(u32::from_le_bytes(word))).collect()
}

impl Weights {
    /// The canonical bytes: equal for equal weights of equal shape, on any machine.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + 4 * self.values.len());
        bytes.extend_from_slice(&MAGIC);
        for field in fields(&self.shape) {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        floats_to_bytes(&self.values, &mut bytes);
        bytes
    }

    /// Reads what [`Weights::canonical_bytes`] wrote; refuses anything else, and values that are not finite.
    pub fn from_canonical(bytes: &[u8]) -> Result<Self, WeightsError> {
        let Some((header, body)) = bytes.split_at_checked(HEADER) else {
            return Err(WeightsError::Canonical("shorter than its header"));
        };
        if header[..8] != MAGIC {
            return Err(WeightsError::Canonical("no magic number"));
        }
        let mut words = [0u32; 12];
        for (word, &bytes) in words.iter_mut().zip(header[8..].as_chunks::<4>().0) {
            *word = u32::from_le_bytes(bytes);
        }
        let [version, vocab, width, layers, heads, kv_heads, head_dim, hidden, context, ngram, base, eps] =
            words;
        if version != VERSION {
            return Err(WeightsError::Canonical("unknown version"));
        }
        let (rope_base, norm_eps) = (f32::from_bits(base), f32::from_bits(eps));
        let shape = ModelShape {
            vocab,
            width,
            layers,
            heads,
            kv_heads,
            head_dim,
            hidden,
            context,
            ngram,
            rope_base,
            norm_eps,
        };
        shape.validate()?;
        if body.len() as u64 != 4 * shape.parameters() {
            return Err(WeightsError::Canonical("not as long as its shape says"));
        }
        let weights = Self::from_values(&shape, floats_from_bytes(body))?;
        weights.check_finite()?;
        Ok(weights)
    }

    /// The blake3 digest of the canonical bytes: the version of a policy.
    pub fn digest(&self) -> [u8; 32] {
        *blake3::hash(&self.canonical_bytes()).as_bytes()
    }
}
