//! Checkpoints in half the size: f32 to bf16 and back.

use super::{Address, LaunchShape};

/// Threads of a block; one element each.
const THREADS: u32 = 256;

kernel! {
    /// f32 to bf16: round to nearest, ties to even; NaN stays NaN.
    pub struct ToBf16 = "convert.cu"::"to_bf16" {
        /// f32 `[count]`.
        values: Address,
        /// Numbers.
        count: u64,
        /// u16 `[count]`, written.
        out: Address,
    }
    shape(launch) { LaunchShape::line(launch.count.div_ceil(u64::from(THREADS)) as u32, THREADS) }
}

kernel! {
    /// bf16 to f32, exactly.
    pub struct FromBf16 = "convert.cu"::"from_bf16" {
        /// u16 `[count]`.
        values: Address,
        /// Numbers.
        count: u64,
        /// f32 `[count]`, written.
        out: Address,
    }
    shape(launch) { LaunchShape::line(launch.count.div_ceil(u64::from(THREADS)) as u32, THREADS) }
}
