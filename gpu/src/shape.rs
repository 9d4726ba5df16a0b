//! The shape of a policy: every number that fixes the size and the meaning of its weights.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Lanes of the one vector type; widths are multiples of it.
const LANES: u32 = 16;
/// Head sizes are multiples of this, so that each half that a rotation pairs fills whole vectors.
const HEAD_STEP: u32 = 32;
/// No dimension is larger than this; it bounds what a forged file can make us allocate.
const LARGEST_DIMENSION: u32 = 1 << 24;
/// No policy has more parameters than this.
const LARGEST_POLICY: u64 = 1 << 36;

/// The shape of a decoder-only transformer (Qwen3 form), in elements unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelShape {
    /// Token ids are `0..vocab`.
    pub vocab: u32,
    /// Width of the residual stream; a multiple of 16.
    pub width: u32,
    /// Transformer blocks.
    pub layers: u32,
    /// Query heads; a multiple of `kv_heads`.
    pub heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// Size of one head; a multiple of 32.
    pub head_dim: u32,
    /// Width of the gated feed-forward layer; a multiple of 16.
    pub hidden: u32,
    /// Most positions of one sequence.
    pub context: u32,
    /// How many previous tokens have a look-up table of their own that is added to the input embedding: 0, 1 or 2.
    pub ngram: u32,
    /// Base of the rotary frequencies.
    pub rope_base: f32,
    /// Added to a mean square before its root is taken.
    pub norm_eps: f32,
}

/// Why a shape is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// A number is 0 or beyond what is supported.
    #[error("{name} = {value} is outside 1..={LARGEST_DIMENSION}")]
    Range {
        /// The field.
        name: &'static str,
        /// Its value.
        value: u32,
    },
    /// A number is not a multiple of what the kernels need.
    #[error("{name} = {value} is not a multiple of {of}")]
    Multiple {
        /// The field.
        name: &'static str,
        /// Its value.
        value: u32,
        /// The divisor.
        of: u32,
    },
    /// More look-up tables than there are definitions for.
    #[error("ngram = {0} is not 0, 1 or 2")]
    Ngram(u32),
    /// `rope_base` or `norm_eps` is not a usable number.
    #[error("{name} is not a positive finite number")]
    Positive {
        /// The field.
        name: &'static str,
    },
    /// The weights would not fit.
    #[error("{0} parameters are more than a policy may have")]
    TooLarge(u64),
}

impl ModelShape {
    /// Refuses what the kernels do not define.
    pub fn validate(&self) -> Result<(), ShapeError> {
        let dimensions = [
            ("vocab", self.vocab),
            ("width", self.width),
            ("layers", self.layers),
            ("heads", self.heads),
            ("kv_heads", self.kv_heads),
            ("head_dim", self.head_dim),
            ("hidden", self.hidden),
            ("context", self.context),
        ];
        for (name, value) in dimensions {
            if value == 0 || value > LARGEST_DIMENSION {
                return Err(ShapeError::Range { name, value });
            }
        }
        let multiples = [
            ("width", self.width, LANES),
            ("hidden", self.hidden, LANES),
            ("head_dim", self.head_dim, HEAD_STEP),
            ("heads", self.heads, self.kv_heads),
        ];
        for (name, value, of) in multiples {
            if !value.is_multiple_of(of) {
                return Err(ShapeError::Multiple { name, value, of });
            }
        }
        if self.ngram > 2 {
            return Err(ShapeError::Ngram(self.ngram));
        }
        for (name, value) in [("rope_base", self.rope_base), ("norm_eps", self.norm_eps)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(ShapeError::Positive { name });
            }
        }
        let parameters = self.parameters_wide();
        if parameters > u128::from(LARGEST_POLICY) {
            return Err(ShapeError::TooLarge(u64::try_from(parameters).unwrap_or(u64::MAX)));
        }
        Ok(())
    }

    /// Number of parameters of a validated shape.
    pub fn parameters(&self) -> u64 {
        self.parameters_wide() as u64
    }

    fn parameters_wide(&self) -> u128 {
        let wide = |value: u32| u128::from(value);
        let width = wide(self.width);
        let query = wide(self.heads) * wide(self.head_dim);
        let kv = wide(self.kv_heads) * wide(self.head_dim);
        let attention = width * (2 * query + 2 * kv) + 2 * wide(self.head_dim);
        let feed_forward = 3 * width * wide(self.hidden);
        let layer = attention + feed_forward + 2 * width;
        (1 + wide(self.ngram)) * wide(self.vocab) * width + wide(self.layers) * layer + width
    }

    /// Elements of all query heads together.
    pub fn query_width(&self) -> usize {
        (self.heads * self.head_dim) as usize
    }

    /// Elements of all key heads together; as many as of all value heads.
    pub fn kv_width(&self) -> usize {
        (self.kv_heads * self.head_dim) as usize
    }

    /// Query heads that share one key and value head.
    pub fn group(&self) -> usize {
        (self.heads / self.kv_heads) as usize
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A shape small enough for any test that still has two layers, grouped heads and both look-up tables.
    pub(crate) const TINY: ModelShape = ModelShape {
        vocab: 23,
        width: 32,
        layers: 2,
        heads: 2,
        kv_heads: 1,
        head_dim: 32,
        hidden: 48,
        context: 64,
        ngram: 2,
        rope_base: 10_000.0,
        norm_eps: 1e-6,
    };

    #[test]
    fn a_shape_that_the_kernels_do_not_define_is_refused() {
        assert_eq!(TINY.validate(), Ok(()));
        let refused = [
            ModelShape { vocab: 0, ..TINY },
            ModelShape { width: 24, ..TINY },
            ModelShape { heads: 3, kv_heads: 2, ..TINY },
            ModelShape { head_dim: 16, ..TINY },
            ModelShape { ngram: 3, ..TINY },
            ModelShape { rope_base: f32::NAN, ..TINY },
            ModelShape { norm_eps: 0.0, ..TINY },
            ModelShape { vocab: LARGEST_DIMENSION, width: LARGEST_DIMENSION, ..TINY },
        ];
        for shape in refused {
            assert!(shape.validate().is_err(), "{shape:?}");
        }
    }
}
