//! The global norm of a gradient, and clipping by it.

use crate::math::reduce::sum_of_squares;

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
