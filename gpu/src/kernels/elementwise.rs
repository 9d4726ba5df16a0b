//! The gated unit, and sums of two vectors.

use super::{Address, LaunchShape};

/// Threads of a block; one element each.
const THREADS: u32 = 256;

kernel! {
    /// `act = silu(gate) up`.
    pub struct Gated = "elementwise.cu"::"gated" {
        /// f32 `[rows, 2 hidden]`: gates, then ups.
        gate_up: Address,
        /// Rows.
        rows: u32,
        /// Channels.
        hidden: u32,
        /// f32 `[rows, hidden]`, written.
        act: Address,
    }
    shape(launch) { LaunchShape::plane(launch.rows, launch.hidden.div_ceil(THREADS), THREADS) }
}

kernel! {
    /// The gradient of the gated unit; gates and ups are replaced by their gradients.
    pub struct GatedBackward = "elementwise.cu"::"gated_backward" {
        /// f32 `[rows, hidden]`.
        dact: Address,
        /// f32 `[rows, 2 hidden]`: gates, then ups; their gradients are written over them.
        gate_up: Address,
        /// Rows.
        rows: u32,
        /// Channels.
        hidden: u32,
    }
    shape(launch) { LaunchShape::plane(launch.rows, launch.hidden.div_ceil(THREADS), THREADS) }
}

kernel! {
    /// `out[i] += from[i]`.
    pub struct Add = "elementwise.cu"::"add" {
        /// f32 `[count]`.
        from: Address,
        /// Numbers.
        count: u64,
        /// f32 `[count]`, added to.
        out: Address,
    }
    shape(launch) { LaunchShape::line(launch.count.div_ceil(u64::from(THREADS)) as u32, THREADS) }
}
