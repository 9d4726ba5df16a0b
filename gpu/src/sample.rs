//! From a row of logits to log-probabilities, and to a token.
//!
//! [`log_softmax_row`] is the one definition: a rollout's log-probabilities and a trainer's come out of it, so on
//! policy every ratio is exactly 1. With temperature `T`:
//!
//! 1. `x_i = logit_i / T` (at `T = 1`, the logits, bit for bit); `m` is the largest, with -0 made 0;
//! 2. `d_i = x_i - m`, `w_i = exp(d_i)`, `s` the sum of the weights in the written order ([`reduce`]);
//! 3. log-probability `d_i - ln s`; entropy `ln s - (sum of w_i d_i) / s`, that sum with fused steps.
//!
//! Temperature 0 is the limit: the largest logit, of equal ones the lowest id, has probability 1.

use thiserror::Error;

use crate::math::reduce::{self, LANES};
use crate::math::{exp, ln};

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
/// weight is taken. At temperature 0, `u` is not used.
pub fn sample(logits: &[f32], temperature: f32, u: f64) -> Result<Sampled, SampleError> {
    if !(0.0..1.0).contains(&u) {
        return Err(SampleError::Draw(u));
    }
    let mut log_probs = vec![0.0; logits.len()];
    let mut weights = vec![0.0; logits.len()];
    let row = log_softmax_row(logits, temperature, &mut log_probs, &mut weights)?;
    let token = draw(&weights, u);
    Ok(Sampled { token: token as u32, log_prob: log_probs[token], entropy: row.entropy })
}

/// The token that `u` in `[0, 1)` draws from these weights, of which at least one is positive.
pub fn draw(weights: &[f32], u: f64) -> usize {
    let total = weights.iter().fold(0.0_f64, |sum, &weight| sum + f64::from(weight));
    let mark = u * total;
    let mut cumulative = 0.0_f64;
    let mut last = 0;
    for (token, &weight) in weights.iter().enumerate() {
        if weight > 0.0 {
            cumulative += f64::from(weight);
            last = token;
            if cumulative > mark {
                break;
            }
        }
    }
    last
}

/// Log-probabilities and unnormalised weights of a row of logits; see the module's definition.
pub fn log_softmax_row(
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
    if temperature == 0.0 {
        return greedy_row(logits, log_probs, weights);
    }
    for (scaled, &logit) in log_probs.iter_mut().zip(logits) {
        *scaled = logit / temperature;
    }
    if let Some(index) = log_probs.iter().position(|scaled| !scaled.is_finite()) {
        return Err(SampleError::Logit { index, value: logits[index] });
    }
    // Adding 0 makes the two zeros one: which of them a comparison calls the larger has no meaning.
    let largest = largest(log_probs) + 0.0;
    for (shifted, weight) in log_probs.iter_mut().zip(weights.iter_mut()) {
        *shifted -= largest;
        *weight = exp(*shifted);
    }
    let sum = reduce::sum(weights);
    let log_sum = ln(sum);
    let entropy = log_sum - weighted_sum(weights, log_probs) / sum;
    for log_prob in log_probs.iter_mut() {
        *log_prob -= log_sum;
    }
    Ok(RowSums { sum, log_sum, entropy: if entropy > 0.0 { entropy } else { 0.0 } })
}

/// All probability on the largest logit, of equal ones on the lowest id.
fn greedy_row(logits: &[f32], log_probs: &mut [f32], weights: &mut [f32]) -> Result<RowSums, SampleError> {
    let mut best = 0;
    for (index, &value) in logits.iter().enumerate() {
        if !value.is_finite() {
            return Err(SampleError::Logit { index, value });
        }
        if value > logits[best] {
            best = index;
        }
    }
    log_probs.fill(f32::NEG_INFINITY);
    weights.fill(0.0);
    log_probs[best] = 0.0;
    weights[best] = 1.0;
    Ok(RowSums { sum: 1.0, log_sum: 0.0, entropy: 0.0 })
}

/// The largest of finite values; in whatever order they are compared, it is the same but for the sign of a zero.
fn largest(values: &[f32]) -> f32 {
    values.iter().fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a })
}

/// The sum of `a_i b_i`: fused steps in 16 strided lanes from 0, then the tree.
fn weighted_sum(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
            *lane = a.mul_add(b, *lane);
        }
    }
    reduce::tree(lanes)
}
