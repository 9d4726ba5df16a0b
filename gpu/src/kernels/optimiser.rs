//! Norm and clipping of the gradient, `AdamW`, the running mean of weights.

use super::{Address, LaunchShape};

/// Threads of a block.
const THREADS: u32 = 256;

/// An element a thread.
fn elements(count: u64) -> LaunchShape {
    LaunchShape::line(count.div_ceil(u64::from(THREADS)) as u32, THREADS)
}

kernel! {
    /// The place of the first number that is not finite.
    pub struct FirstNotFinite = "optimiser.cu"::"first_not_finite" {
        /// f32 `[count]`.
        values: Address,
        /// Numbers.
        count: u64,
        /// u64: the smaller of what stands there and the place; start it at the largest number.
        place: Address,
        /// u32: 1 after any such number.
        halt: Address,
    }
    shape(launch) { elements(launch.count) }
}

kernel! {
    /// The sum of the squares of each tensor, in double precision.
    pub struct Squares = "optimiser.cu"::"squares" {
        /// f32: the tensors, one after the other.
        values: Address,
        /// u64 `[tensors + 1]`: where each tensor begins; the last entry is where they end.
        starts: Address,
        /// Tensors.
        tensors: u32,
        /// f64 `[tensors]`, written.
        sums: Address,
    }
    shape(launch) { LaunchShape::line(launch.tensors, THREADS) }
}

kernel! {
    /// The global norm, and what brings it down to the bound.
    pub struct Clip = "optimiser.cu"::"clip" {
        /// f64 `[tensors]` of [`Squares`].
        sums: Address,
        /// Tensors.
        tensors: u32,
        /// The largest norm; infinite for no bound.
        bound: f32,
        /// f64, written: the norm.
        norm: Address,
        /// f32, written: what the gradient is to be multiplied by.
        scale: Address,
    }
    shape(_launch) { LaunchShape::line(1, 32) }
}

kernel! {
    /// `AdamW` for all tensors; nothing is changed where `halt` is set.
    pub struct AdamW = "optimiser.cu"::"adamw" {
        /// f32 `[count]`, updated.
        values: Address,
        /// f32 `[count]`.
        gradients: Address,
        /// f32 `[count]`, updated: first moments.
        first: Address,
        /// f32 `[count]`, updated: second moments.
        second: Address,
        /// u8 `[count / 16]`: 1 for each sixteen values that decay.
        decays: Address,
        /// Values; a multiple of 16.
        count: u64,
        /// f32 of [`Clip`].
        scale: Address,
        /// What is left of a value that decays.
        decay: f32,
        /// Share of the first moment that is kept.
        beta1: f32,
        /// Share of the second moment that is kept.
        beta2: f32,
        /// Learning rate over the first bias correction.
        step_size: f32,
        /// Root of the second bias correction.
        root_correction: f32,
        /// Added to the root of the second moment.
        epsilon: f32,
        /// u32: not 0 where the step is refused.
        halt: Address,
    }
    shape(launch) { elements(launch.count) }
}

kernel! {
    /// `mean += (value - mean) / steps`; nothing is changed where `halt` is set.
    pub struct Average = "optimiser.cu"::"average" {
        /// f32 `[count]`.
        values: Address,
        /// f32 `[count]`, updated.
        mean: Address,
        /// Values.
        count: u64,
        /// Steps in the mean, this one included.
        steps: f32,
        /// u32: not 0 where the step is refused.
        halt: Address,
    }
    shape(launch) { elements(launch.count) }
}
