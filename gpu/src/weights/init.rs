//! Fresh weights from a stream of random words.

use super::{Role, Weights, WeightsError};
use crate::shape::ModelShape;

/// What fresh weights are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Initial {
    /// Standard deviation of embeddings and look-up tables.
    pub embedding_std: f32,
    /// The gain of the norms of queries and keys: above 1, attention starts sharper.
    pub qk_gain: f32,
}

impl Default for Initial {
    fn default() -> Self {
        Self { embedding_std: 0.05, qk_gain: 1.5 }
    }
}

/// One value from `-1..1`, from the upper 24 bits of a word; exact.
fn unit(word: u64) -> f32 {
    let steps = (word >> 40) as i32 - (1 << 23);
    steps as f32 / 8_388_608.0
}

impl Weights {
    /// Fresh weights: one word of `draw` a value of every table and matrix, in canonical order.
    ///
    /// Tables and matrices are uniform around 0. A matrix has standard deviation `1 / sqrt(inputs)`; the two that
    /// write into the residual stream have `1 / sqrt(2 layers)` of that. Gains are 1, those of queries and keys
    /// [`Initial::qk_gain`].
    pub fn init(
        shape: &ModelShape,
        initial: Initial,
        draw: &mut dyn FnMut() -> u64,
    ) -> Result<Self, WeightsError> {
        let mut weights = Self::zeros(shape)?;
        let residual = 1.0 / (2.0 * shape.layers as f32).sqrt();
        let root_three = 3.0_f32.sqrt();
        for tensor in weights.tensors_mut() {
            let name = tensor.spec.name.as_str();
            let std = match tensor.spec.role {
                Role::Norm => {
                    let of_heads = name.ends_with("q_norm.weight") || name.ends_with("k_norm.weight");
                    tensor.values.fill(if of_heads { initial.qk_gain } else { 1.0 });
                    continue;
                }
                Role::Embedding => initial.embedding_std,
                Role::Matrix => {
                    let std = 1.0 / (tensor.spec.rows as f32).sqrt();
                    let writes = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
                    if writes { std * residual } else { std }
                }
            };
            for value in tensor.values {
                *value = unit(draw()) * (std * root_three);
            }
        }
        weights.check_finite()?;
        Ok(weights)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A small generator of words for tests (`splitmix64`).
    pub(crate) fn words(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = state;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        }
    }

    #[test]
    fn units_fill_their_interval_exactly() {
        assert_eq!(unit(0), -1.0);
        assert_eq!(unit(u64::MAX), 1.0 - 1.0 / 8_388_608.0);
        assert_eq!(unit(1 << 63), 0.0);
    }
}
