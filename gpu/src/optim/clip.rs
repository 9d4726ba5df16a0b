//! The global norm of a gradient, and clipping by it.

use crate::vector::LANES;

/// The norm of a gradient, and what it is to be multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientNorm {
    /// The root of the sum of squares over all tensors.
    pub norm: f64,
    /// 1, or what brings a larger norm down to the bound.
    pub scale: f32,
}

/// The global norm: in double precision, squares of a tensor in 16 strided lanes and the tree, tensors in order.
pub fn gradient_norm<'a>(tensors: impl Iterator<Item = &'a [f32]>, norm_max: Option<f32>) -> GradientNorm {
    let squares = tensors.fold(0.0, |sum, tensor| sum + sum_of_squares(tensor));
    let norm = squares.sqrt();
    let scale = match norm_max {
        Some(norm_max) if norm > f64::from(norm_max) => (f64::from(norm_max) / norm) as f32,
        _ => 1.0,
    };
    GradientNorm { norm, scale }
}

/// The sum of the squares of `values` in double precision, where each square is exact.
///
/// Lane `l` of 16 starts at 0 and takes the elements `l, l + 16, l + 32, ...` in this order; then each lane takes the one
/// 8 above it, then 4, 2 and 1 above.
pub(super) fn sum_of_squares(values: &[f32]) -> f64 {
    let mut lanes = [0.0_f64; LANES];
    for block in values.chunks(LANES) {
        for (lane, &value) in lanes.iter_mut().zip(block) {
            *lane += f64::from(value) * f64::from(value);
        }
    }
    for distance in [8, 4, 2, 1] {
        for lane in 0..distance {
            lanes[lane] += lanes[lane + distance];
        }
    }
    lanes[0]
}
