//! From a row of logits to log-probabilities, and to a token.
//!
//! [`log_softmax_row`] is the one definition: a rollout's log-probabilities and a trainer's come out of it, so on
//! policy every ratio is exactly 1. With temperature `T`:
//!
//! 1. `x_i = logit_i / T` (at `T = 1`, the logits, bit for bit); `m` is the largest, with -0 made 0;
//! 2. `d_i = x_i - m`, `w_i = exp(d_i)`, `s` the sum of the weights in 16 strided lanes and the tree;
//! 3. log-probability `d_i - ln s`; entropy `ln s - (sum of w_i d_i) / s`, that sum in the same order with fused steps.
//!
//! Terms of weight 0 are left out of the entropy. Logits must be finite, before and after the division. Temperature 0 is
//! the limit: the largest logit, of equal ones the lowest id, has probability 1.
#![expect(clippy::inline_always, reason = "kernels are inlined into functions with a target feature")]

use std::sync::OnceLock;

use thiserror::Error;

use crate::math::{exp, ln};
use crate::vector::{Isa, Kernel, LANES, V16, dispatch, first_not_finite};

/// A drawn token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The token's id.
    pub token: u32,
    /// Its log-probability in the distribution that it was drawn from.
    pub log_prob: f32,
    /// The entropy of that distribution, in nats; at least 0.
    pub entropy: f32,
}

/// What is left of a row beside its log-probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowSums {
    /// Sum of the weights; probability `i` is `weight_i / sum`.
    pub sum: f32,
    /// Its logarithm.
    pub log_sum: f32,
    /// The entropy, in nats; at least 0.
    pub entropy: f32,
}

/// Why a row has no distribution, or no token can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum SampleError {
    /// There are no logits.
    #[error("the row is empty")]
    Empty,
    /// A logit is NaN or infinite, or overflows when divided by the temperature.
    #[error("logit {index} is {value}, which has no probability")]
    Logit {
        /// Its place.
        index: usize,
        /// Its value.
        value: f32,
    },
    /// The temperature is negative or not finite.
    #[error("temperature {0} is not a finite number of at least 0")]
    Temperature(f32),
    /// The draw is not in `[0, 1)`.
    #[error("draw {0} is not in [0, 1)")]
    Draw(f64),
    /// An output does not have one entry a logit.
    #[error("room for {found} values, but the row has {expected}")]
    Length {
        /// Entries there.
        found: usize,
        /// Entries needed.
        expected: usize,
    },
}

/// Draws a token: the first whose cumulative weight exceeds `u` times the total.
///
/// Weights are added up in token order in double precision, once for the total and once for the search, by the same
/// chain. Tokens of weight 0 are never drawn; where rounding leaves no token above the mark, the last one of positive
/// weight is taken. At temperature 0, `u` has no effect.
pub fn sample(logits: &[f32], temperature: f32, u: f64) -> Result<Sampled, SampleError> {
    // Read once a process; a name that is none is refused where a backend is made.
    static ISA: OnceLock<Isa> = OnceLock::new();
    let isa = *ISA.get_or_init(|| Isa::choose().unwrap_or(Isa::SCALAR));
    sample_on(isa, logits, temperature, u)
}

/// [`sample`], on a given instruction set.
pub fn sample_on(isa: Isa, logits: &[f32], temperature: f32, u: f64) -> Result<Sampled, SampleError> {
    if !(0.0..1.0).contains(&u) {
        return Err(SampleError::Draw(u));
    }
    let mut log_probs = vec![0.0; logits.len()];
    let mut weights = vec![0.0; logits.len()];
    let row = log_softmax_row(isa, logits, temperature, &mut log_probs, &mut weights)?;
    let token = draw(&weights, u);
    Ok(Sampled { token: token as u32, log_prob: log_probs[token], entropy: row.entropy })
}

/// The token that `u` in `[0, 1)` draws from these weights, of which at least one is positive.
fn draw(weights: &[f32], u: f64) -> usize {
    // The chain is as long as the row whether it is kept or not; kept, it is not added up again for the search.
    let mut total = 0.0_f64;
    let mut cumulative = Vec::with_capacity(weights.len());
    for &weight in weights {
        total += f64::from(weight);
        cumulative.push(total);
    }
    let mark = u * total;
    // Where the sum first exceeds the mark, it has grown: the weight there is positive.
    let token = cumulative.partition_point(|&sum| sum <= mark);
    if token < weights.len() {
        return token;
    }
    weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0)
}

/// Log-probabilities and unnormalised weights of a row of logits; see the module's definition.
pub fn log_softmax_row(
    isa: Isa,
    logits: &[f32],
    temperature: f32,
    log_probs: &mut [f32],
    weights: &mut [f32],
) -> Result<RowSums, SampleError> {
    let expected = logits.len();
    for found in [log_probs.len(), weights.len()] {
        if found != expected {
            return Err(SampleError::Length { found, expected });
        }
    }
    if expected == 0 {
        return Err(SampleError::Empty);
    }
    if !(temperature.is_finite() && temperature >= 0.0) {
        return Err(SampleError::Temperature(temperature));
    }
    log_probs.copy_from_slice(logits);
    // Dividing by 1 changes no bit.
    if temperature > 0.0 && temperature.to_bits() != 1.0_f32.to_bits() {
        for scaled in log_probs.iter_mut() {
            *scaled /= temperature;
        }
    }
    if let Some(index) = first_not_finite(log_probs) {
        return Err(SampleError::Logit { index, value: logits[index] });
    }
    if temperature > 0.0 {
        Ok(dispatch(isa, LogSoftmax { values: log_probs, weights }))
    } else {
        Ok(greedy_row(log_probs, weights))
    }
}

/// All probability on the largest value, of equal ones on the lowest place.
fn greedy_row(values: &mut [f32], weights: &mut [f32]) -> RowSums {
    let mut best = 0;
    for (index, &value) in values.iter().enumerate() {
        if value > values[best] {
            best = index;
        }
    }
    values.fill(f32::NEG_INFINITY);
    weights.fill(0.0);
    (values[best], weights[best]) = (0.0, 1.0);
    RowSums { sum: 1.0, log_sum: 0.0, entropy: 0.0 }
}

/// Turns finite values into their log-probabilities.
struct LogSoftmax<'a> {
    values: &'a mut [f32],
    weights: &'a mut [f32],
}

impl Kernel for LogSoftmax<'_> {
    type Output = RowSums;

    #[inline(always)]
    fn run<V: V16>(self) -> RowSums {
        let Self { values, weights } = self;
        // Adding 0 makes the two zeros one: which of them a comparison calls the larger has no meaning.
        let largest = largest::<V>(values) + 0.0;
        let (sum, weighted) = weigh::<V>(values, weights, largest);
        let log_sum = ln(sum);
        let (blocks, rest) = values.as_chunks_mut::<LANES>();
        for block in blocks {
            V::load(block).sub(V::splat(log_sum)).store(block);
        }
        for value in rest {
            *value -= log_sum;
        }
        let entropy = log_sum - weighted / sum;
        RowSums { sum, log_sum, entropy: if entropy > 0.0 { entropy } else { 0.0 } }
    }
}

/// The largest of finite values; in whatever order they are compared, it is the same but for the sign of a zero.
#[inline(always)]
fn largest<V: V16>(values: &[f32]) -> f32 {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = V::splat(f32::NEG_INFINITY);
    for block in blocks {
        lanes = lanes.max(V::load(block));
    }
    rest.iter().fold(lanes.largest(), |a, &b| if b > a { b } else { a })
}

/// Shifts the values by the largest and sets the weights; returns their sum and the sum of weight times shifted value.
#[inline(always)]
fn weigh<V: V16>(values: &mut [f32], weights: &mut [f32], largest: f32) -> (f32, f32) {
    let (value_blocks, value_rest) = values.as_chunks_mut::<LANES>();
    let (weight_blocks, weight_rest) = weights.as_chunks_mut::<LANES>();
    let (mut sum, mut weighted) = (V::zero(), V::zero());
    for (values, weights) in value_blocks.iter_mut().zip(weight_blocks) {
        let shifted = V::load(values).sub(V::splat(largest));
        let weight = exp(shifted);
        shifted.store(values);
        weight.store(weights);
        sum = sum.add(weight);
        weighted = V::select(V::zero().less(weight), weight.fma(shifted, weighted), weighted);
    }
    let (mut sum, mut weighted) = (sum.to_array(), weighted.to_array());
    for (lane, (value, weight)) in value_rest.iter_mut().zip(weight_rest).enumerate() {
        *value -= largest;
        *weight = exp(*value);
        sum[lane] += *weight;
        if *weight > 0.0 {
            weighted[lane] = weight.mul_add(*value, weighted[lane]);
        }
    }
    (V::load(&sum).sum(), V::load(&weighted).sum())
}

#[cfg(test)]
mod tests;
