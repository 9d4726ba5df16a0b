//! From the last residual stream to logits, log-probabilities and their gradient.

use super::activations::grow;
use super::forward::Fault;
use super::model::Model;
use super::norm::Norm;
use crate::error::Quantity;
use crate::gemm::{Rows, Start, product};
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
