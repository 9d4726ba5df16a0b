//! The root-mean-square norm and its gradients.

use super::{Address, LaunchShape};

/// Threads of a block.
const THREADS: u32 = 128;
/// Rows of a block: sixteen lanes each.
pub(super) const ROWS: u32 = THREADS / 16;

kernel! {
    /// `hat = x / sqrt(mean(x^2) + eps)`, `out = hat gain`.
    pub struct Norm = "norm.cu"::"rms_norm" {
        /// f32 `[rows, width]`.
        x: Address,
        /// f32 `[width]`.
        gain: Address,
        /// Added to the mean square.
        eps: f32,
        /// Rows.
        rows: u32,
        /// Channels; a multiple of 16.
        width: u32,
        /// f32 `[rows, width]`, written.
        hat: Address,
        /// f32 `[rows]`, written: one over the root mean square.
        inverse: Address,
        /// f32 `[rows, width]`, written.
        out: Address,
        /// u32 `[rows]`: where a row's mean square is not finite, the smaller of what stands there and `code`.
        faults: Address,
        /// u32: 1 after any fault.
        halt: Address,
        /// What this launch writes into `faults`.
        code: u32,
    }
    shape(launch) { LaunchShape::line(launch.rows.div_ceil(ROWS), THREADS) }
}

kernel! {
    /// With `g = dout gain` and `m = mean(g hat)`: `dx += inverse (g - m hat)`.
    pub struct NormBackward = "norm.cu"::"norm_backward" {
        /// f32 `[rows, width]`.
        dout: Address,
        /// f32 `[rows, width]`, of the forward pass.
        hat: Address,
        /// f32 `[rows]`, of the forward pass.
        inverse: Address,
        /// f32 `[width]`.
        gain: Address,
        /// Rows.
        rows: u32,
        /// Channels; a multiple of 16.
        width: u32,
        /// f32 `[rows, width]`, added to.
        dx: Address,
    }
    shape(launch) { LaunchShape::line(launch.rows.div_ceil(ROWS), THREADS) }
}

kernel! {
    /// The gain's gradient, sequence by sequence: `parts[s][c] = chain over the rows of s of dout hat`, from 0.
    pub struct NormGain = "norm.cu"::"norm_gain" {
        /// f32 `[rows, width]`.
        dout: Address,
        /// f32 `[rows, width]`, of the forward pass.
        hat: Address,
        /// u32 `[sequences + 1]`: the first row of each sequence, then the number of rows.
        starts: Address,
        /// Sequences.
        sequences: u32,
        /// Channels.
        width: u32,
        /// f32, rows `parts_stride` apart: `width` of each written.
        parts: Address,
        /// From a sequence's parts to the next one's.
        parts_stride: u32,
    }
    shape(launch) { LaunchShape::plane(launch.sequences, launch.width.div_ceil(THREADS), THREADS) }
}

kernel! {
    /// `out[c] += parts[s][c]`, sequences in order.
    pub struct GainSum = "norm.cu"::"gain_sum" {
        /// f32, rows `parts_stride` apart.
        parts: Address,
        /// From a sequence's parts to the next one's.
        parts_stride: u32,
        /// Sequences.
        sequences: u32,
        /// Channels.
        width: u32,
        /// f32 `[width]`, added to.
        out: Address,
    }
    shape(launch) { LaunchShape::line(launch.width.div_ceil(THREADS), THREADS) }
}
