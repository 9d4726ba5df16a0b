//! Muon: momentum whose direction is made orthogonal by Newton-Schulz steps.
//!
//! Keller Jordan, "Muon: an optimizer for hidden layers in neural networks" (2024), with its quintic coefficients and
//! Nesterov momentum.

use super::clip::sum_of_squares;
use super::config::OptimiserConfig;
use crate::gemm::{Packed, Rows, Start, product};
use crate::vector::Isa;

/// The quintic: it sends all singular values of `(0, 1]` near 1.
const QUINTIC: [f32; 3] = [3.4445, -4.7750, 2.0315];
/// Added to the norm before it divides.
const NORM_FLOOR: f32 = 1e-7;

/// One step of Muon on one matrix.
pub(super) struct Muon<'a> {
    pub(super) config: &'a OptimiserConfig,
    /// Learning rate of the tensors under `AdamW`.
    pub(super) rate: f32,
    /// What gradients are multiplied by.
    pub(super) scale: f32,
    /// What runs the matrix products.
    pub(super) isa: Isa,
}

impl Muon<'_> {
    /// Updates a matrix `[rows, cols] = [in, out]` and its momentum.
    pub(super) fn update(
        &self,
        values: &mut [f32],
        gradients: &[f32],
        momentum: &mut [f32],
        size: [usize; 2],
    ) {
        let kept = self.config.muon.momentum;
        let new = 1.0 - kept;
        let mut direction = Vec::with_capacity(gradients.len());
        for (&gradient, momentum) in gradients.iter().zip(momentum) {
            let part = gradient * self.scale * new;
            *momentum = *momentum * kept + part;
            direction.push(*momentum * kept + part);
        }
        let direction = orthogonalise(&direction, size, self.config.muon.newton_steps, self.isa);
        let rate = self.rate * self.config.muon.rate_ratio;
        let decay = 1.0 - rate * self.config.weight_decay;
        let step = rate * shape_factor(size);
        for (value, direction) in values.iter_mut().zip(direction) {
            *value = *value * decay - step * direction;
        }
    }
}

/// `sqrt(max(1, out / in))`: gives updates of wide outputs the same effect on each of them.
fn shape_factor([rows, cols]: [usize; 2]) -> f32 {
    let ratio = cols as f32 / rows as f32;
    if ratio > 1.0 { ratio.sqrt() } else { 1.0 }
}

/// The matrix `[rows, cols]` with its singular values brought near 1 (between 0.7 and 1.2, unless very small).
///
/// With `X` the matrix over its norm, laid so that it has no more rows than columns, each step is
/// `A = X X^T`, `B = b A + (c A) A`, `X = a X + B X`; every product is a strict chain from the term added to it.
pub fn orthogonalise(matrix: &[f32], [rows, cols]: [usize; 2], steps: u32, isa: Isa) -> Vec<f32> {
    let norm = sum_of_squares(matrix).sqrt() as f32 + NORM_FLOOR;
    let scaled: Vec<f32> = matrix.iter().map(|value| value / norm).collect();
    if rows > cols {
        let turned = transposed(&scaled, rows, cols);
        return transposed(&newton_schulz(turned, cols, rows, steps, isa), cols, rows);
    }
    newton_schulz(scaled, rows, cols, steps, isa)
}

fn newton_schulz(mut x: Vec<f32>, rows: usize, cols: usize, steps: u32, isa: Isa) -> Vec<f32> {
    let [linear, cubic, quintic] = QUINTIC;
    for _ in 0..steps {
        let mut gram = vec![0.0; rows * rows];
        let turned = Packed::from_columns(rows, &[&x]);
        product(isa, Rows { values: &x, stride: cols }, &turned, Start::Zero, &mut gram);
        let left: Vec<f32> = gram.iter().map(|value| quintic * value).collect();
        let mut polynomial: Vec<f32> = gram.iter().map(|value| cubic * value).collect();
        let right = Packed::from_rows(rows, &[&gram]);
        product(isa, Rows { values: &left, stride: rows }, &right, Start::Output, &mut polynomial);
        let mut next: Vec<f32> = x.iter().map(|value| linear * value).collect();
        let right = Packed::from_rows(rows, &[&x]);
        product(isa, Rows { values: &polynomial, stride: rows }, &right, Start::Output, &mut next);
        x = next;
    }
    x
}

/// `[rows, cols]` turned into `[cols, rows]`.
fn transposed(matrix: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let mut turned = Vec::with_capacity(matrix.len());
    for col in 0..cols {
        for row in 0..rows {
            turned.push(matrix[row * cols + col]);
        }
    }
    turned
}
