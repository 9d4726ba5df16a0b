//! From the last residual stream to logits, log-probabilities and their gradient.

use super::activations::grow;
use super::forward::Fault;
use super::model::Model;
use super::norm::Norm;
use crate::error::Quantity;
use crate::gemm::{Rows, Start, product};
use crate::math::{Lane, exp, ln};
use crate::vector::{Isa, Kernel, LANES, V16, dispatch};
use core::ops::Range;

/// What the head computes for the rows that it is asked for.
#[derive(Default)]
pub(crate) struct HeadState {
    /// `[rows, width]` each.
    pub(super) x: Vec<f32>,
    pub(super) hat: Vec<f32>,
    pub(super) h: Vec<f32>,
    /// `[rows]`.
    pub(super) inverse: Vec<f32>,
    /// `[rows, vocab]`; the backward pass leaves gradients here.
    pub(super) logits: Vec<f32>,
    pub(super) rows: usize,
}

impl HeadState {
    /// Takes the rows that logits are wanted for, out of rows of `width` numbers.
    pub(crate) fn gather(&mut self, x: &[f32], width: usize, rows: impl Iterator<Item = usize>) {
        self.x.clear();
        self.rows = 0;
        for row in rows {
            self.x.extend_from_slice(&x[row * width..][..width]);
            self.rows += 1;
        }
    }

    /// Makes room for rows that are put in place one by one.
    pub(crate) fn begin(&mut self, width: usize, rows: usize) {
        grow(&mut self.x, rows * width);
        self.rows = rows;
    }

    /// Puts a row in place.
    pub(crate) fn put(&mut self, row: usize, x: &[f32]) {
        self.x[row * x.len()..][..x.len()].copy_from_slice(x);
    }

    /// The logits of all rows, without gaps.
    pub(crate) fn logits(&self, vocab: usize) -> &[f32] {
        &self.logits[..self.rows * vocab]
    }

    /// The logits of a row, to be worked on in place.
    pub(crate) fn row_mut(&mut self, row: usize, vocab: usize) -> &mut [f32] {
        &mut self.logits[row * vocab..][..vocab]
    }
}

/// Rows whose logits give the log-probabilities of the tokens at `targets`: each the position before.
pub(crate) fn target_rows(targets: &[Range<u32>]) -> impl Iterator<Item = usize> + '_ {
    targets.iter().flat_map(|span| span.start..span.end).map(|position| position as usize - 1)
}

impl Model {
    /// The last norm and the logits of the gathered rows.
    pub(crate) fn logits(&self, state: &mut HeadState) -> Result<(), Fault> {
        let shape = self.shape();
        let (width, vocab, rows) = (shape.width as usize, shape.vocab as usize, state.rows);
        grow(&mut state.hat, rows * width);
        grow(&mut state.h, rows * width);
        grow(&mut state.inverse, rows);
        grow(&mut state.logits, rows * vocab);
        let norm = Norm {
            x: &state.x,
            gain: self.weights.final_norm(),
            eps: shape.norm_eps,
            hat: &mut state.hat,
            inverse: &mut state.inverse[..rows],
            out: &mut state.h,
        };
        if let Some(row) = norm.run(self.isa) {
            return Err(Fault { quantity: Quantity::Residual, layer: None, row });
        }
        let h = Rows { values: &state.h, stride: width };
        product(self.isa, h, self.forward_head(), Start::Zero, &mut state.logits[..rows * vocab]);
        Ok(())
    }
}

/// What a row of logits says about one token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowSoftmax {
    /// The largest logit over the temperature.
    pub(crate) largest: f32,
    /// Sum of the weights.
    pub(crate) sum: f32,
    /// Its logarithm.
    pub(crate) log_sum: f32,
    /// Entropy in nats, at least 0.
    pub(crate) entropy: f32,
}

impl RowSoftmax {
    /// The log-probability of a token from its logit.
    #[inline]
    pub(crate) fn log_prob(&self, logit: f32, temperature: f32) -> f32 {
        (logit / temperature - self.largest) - self.log_sum
    }
}

/// Turns a row of logits into weights by the definition of [`crate::sample::log_softmax_row`], for a positive
/// temperature. `None` where a logit over the temperature is not finite.
pub(crate) fn softmax_row(isa: Isa, row: &mut [f32], temperature: f32) -> Option<RowSoftmax> {
    dispatch(isa, SoftmaxRow { row, temperature })
}

struct SoftmaxRow<'a> {
    row: &'a mut [f32],
    temperature: f32,
}

impl Kernel for SoftmaxRow<'_> {
    type Output = Option<RowSoftmax>;

    #[inline(always)]
    fn run<V: V16>(self) -> Option<RowSoftmax> {
        let (parts, tail) = self.row.as_chunks_mut::<LANES>();
        let temperature = V::splat(self.temperature);
        let mut largest = V::splat(f32::NEG_INFINITY);
        // 0 where everything is finite, NaN otherwise.
        let mut finite = V::zero();
        for part in &mut *parts {
            let x = V::load(part).div(temperature);
            x.store(part);
            finite = finite.add(x.sub(x));
            largest = x.max(largest);
        }
        let (mut largest, mut finite) = (largest.to_array(), finite.to_array());
        for (lane, x) in tail.iter_mut().enumerate() {
            *x /= self.temperature;
            finite[lane] += *x - *x;
            largest[lane] = if *x > largest[lane] { *x } else { largest[lane] };
        }
        if V::load(&finite).sum() != 0.0 {
            return None;
        }
        let largest = V::load(&largest).largest();

        let shift = V::splat(largest);
        let (mut sums, mut products) = (V::zero(), V::zero());
        for part in parts {
            let below = V::load(part).sub(shift);
            let weight = exp(below);
            weight.store(part);
            sums = sums.add(weight);
            products = weight.fma(below, products);
        }
        let (mut sums, mut products) = (sums.to_array(), products.to_array());
        for (lane, x) in tail.iter_mut().enumerate() {
            let below = *x - largest;
            *x = exp(below);
            sums[lane] += *x;
            products[lane] = x.mul_add(below, products[lane]);
        }
        let (sum, product) = (V::load(&sums).sum(), V::load(&products).sum());
        let log_sum = ln(sum);
        let entropy = log_sum - product / sum;
        Some(RowSoftmax { largest, sum, log_sum, entropy: if entropy > 0.0 { entropy } else { 0.0 } })
    }
}

/// The gradient of one row's logits from that of one token's log-probability.
pub(crate) struct LogitGradient<'a> {
    /// In: weights. Out: `(gradient / temperature) (onehot - weight / sum)`.
    pub(crate) row: &'a mut [f32],
    pub(crate) sum: f32,
    pub(crate) token: usize,
    /// Gradient of the log-probability over the temperature.
    pub(crate) gradient: f32,
}

impl LogitGradient<'_> {
    /// Computes.
    pub(crate) fn run(self, isa: Isa) {
        dispatch(isa, self);
    }
}

impl Kernel for LogitGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: V16>(self) {
        let own = self.gradient * (1.0 - self.row[self.token] / self.sum);
        let (parts, tail) = self.row.as_chunks_mut::<LANES>();
        let (sum, gradient) = (V::splat(self.sum), V::splat(self.gradient));
        for part in parts {
            let probability = V::load(part).div(sum);
            gradient.mul(V::zero().sub(probability)).store(part);
        }
        for x in tail {
            *x = self.gradient * (0.0 - *x / self.sum);
        }
        self.row[self.token] = own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::log_softmax_row;
    use crate::weights::test_words;

    #[test]
    fn rows_are_softened_bit_for_bit_as_sampling_defines_it() {
        let mut words = test_words(5);
        for len in [1, 15, 16, 17, 100, 640] {
            for temperature in [1.0, 0.6, 2.5] {
                let logits: Vec<f32> = (0..len).map(|_| (words() >> 40) as f32 / 400_000.0 - 20.0).collect();
                let (mut log_probs, mut weights) = (vec![0.0; len], vec![0.0; len]);
                let expected = log_softmax_row(&logits, temperature, &mut log_probs, &mut weights).unwrap();
                for isa in Isa::available() {
                    let mut row = logits.clone();
                    let found = softmax_row(isa, &mut row, temperature).unwrap();
                    assert_eq!(found.sum.to_bits(), expected.sum.to_bits());
                    assert_eq!(found.log_sum.to_bits(), expected.log_sum.to_bits());
                    assert_eq!(found.entropy.to_bits(), expected.entropy.to_bits());
                    for token in 0..len {
                        assert_eq!(row[token].to_bits(), weights[token].to_bits());
                        let log_prob = found.log_prob(logits[token], temperature);
                        assert_eq!(log_prob.to_bits(), log_probs[token].to_bits());
                    }
                }
            }
        }
    }

    #[test]
    fn a_logit_that_is_not_finite_is_found_wherever_it_stands() {
        for isa in Isa::available() {
            for place in [0, 7, 16, 33] {
                for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let mut row = vec![1.0; 34];
                    row[place] = bad;
                    assert_eq!(softmax_row(isa, &mut row, 1.0), None, "{} {place} {bad}", isa.name());
                }
            }
        }
    }
}
