//! Queries and keys: the norm of each head, then its rotation by position.

use super::norm::ROWS;
use super::{Address, LaunchShape};

/// Threads of a block; in kernels a head at a time, sixteen lanes a head.
const THREADS: u32 = 128;

kernel! {
    /// `table[p] = cos(p f), then sin(p f)` for every frequency `f`.
    pub struct RopeTable = "rotate.cu"::"rope_table" {
        /// f32 `[half]`.
        frequencies: Address,
        /// Positions.
        context: u32,
        /// Half of `head_dim`.
        half: u32,
        /// f32 `[context, 2 half]`, written: cosines, then sines.
        table: Address,
    }
    shape(launch) { LaunchShape::plane(launch.context, launch.half.div_ceil(THREADS), THREADS) }
}

kernel! {
    /// Norm and rotation of all heads of rows.
    pub struct Rotate = "rotate.cu"::"rotate" {
        /// f32, rows `stride` apart that begin with the query heads, then the key heads.
        x: Address,
        /// From a row of `x` to the next.
        stride: u32,
        /// f32 `[head_dim]`.
        query_gain: Address,
        /// f32 `[head_dim]`.
        key_gain: Address,
        /// Added to the mean square.
        eps: f32,
        /// f32 `[context, head_dim]` of [`RopeTable`].
        table: Address,
        /// u32 `[rows]`: each row's position.
        positions: Address,
        /// Rows.
        rows: u32,
        /// Query heads.
        queries: u32,
        /// Key heads.
        keys: u32,
        /// Channels of a head; a multiple of 32.
        head_dim: u32,
        /// f32 `[rows, (queries + keys) head_dim]`, written: heads over their root mean squares.
        hat: Address,
        /// f32 `[rows, queries + keys]`, written.
        inverse: Address,
        /// f32 `[rows, (queries + keys) head_dim]`, written: rotated heads.
        out: Address,
        /// u32 `[rows]`: where a head's mean square is not finite, the smaller of what stands there and `code`.
        faults: Address,
        /// u32: 1 after any fault.
        halt: Address,
        /// What this launch writes into `faults`.
        code: u32,
    }
    shape(launch) {
        LaunchShape::line((launch.rows * (launch.queries + launch.keys)).div_ceil(ROWS), THREADS)
    }
}

kernel! {
    /// The gradient of norm and rotation.
    pub struct RotateBackward = "rotate.cu"::"rotate_backward" {
        /// f32 `[rows, (queries + keys) head_dim]`: gradient of the rotated heads; left turned back.
        dheads: Address,
        /// f32 `[rows, (queries + keys) head_dim]`, of the forward pass.
        hat: Address,
        /// f32 `[rows, queries + keys]`, of the forward pass.
        inverse: Address,
        /// f32 `[head_dim]`.
        query_gain: Address,
        /// f32 `[head_dim]`.
        key_gain: Address,
        /// f32 `[context, head_dim]` of [`RopeTable`].
        table: Address,
        /// u32 `[rows]`: each row's position.
        positions: Address,
        /// Rows.
        rows: u32,
        /// Query heads.
        queries: u32,
        /// Key heads.
        keys: u32,
        /// Channels of a head; a multiple of 32.
        head_dim: u32,
        /// f32, rows `stride` apart: their first `(queries + keys) head_dim` numbers are written.
        dx: Address,
        /// From a row of `dx` to the next.
        stride: u32,
    }
    shape(launch) {
        LaunchShape::line((launch.rows * (launch.queries + launch.keys)).div_ceil(ROWS), THREADS)
    }
}

kernel! {
    /// The gradient of the gain of queries or of keys, sequence by sequence: a chain from 0 over the rows of the sequence
    /// and, within a row, over heads `first .. first + count`. Runs after [`RotateBackward`].
    pub struct HeadGain = "rotate.cu"::"head_gain" {
        /// f32 `[rows, heads head_dim]`: gradients turned back.
        dheads: Address,
        /// f32 `[rows, heads head_dim]`, of the forward pass.
        hat: Address,
        /// u32 `[sequences + 1]`: the first row of each sequence, then the number of rows.
        starts: Address,
        /// Sequences.
        sequences: u32,
        /// Query heads and key heads together.
        heads: u32,
        /// The first head that has this gain.
        first: u32,
        /// How many heads have it.
        count: u32,
        /// Channels of a head.
        head_dim: u32,
        /// f32, rows `parts_stride` apart: `head_dim` of each written. To be summed by `gain_sum`.
        parts: Address,
        /// From a sequence's parts to the next one's.
        parts_stride: u32,
    }
    shape(launch) { LaunchShape::plane(launch.sequences, launch.head_dim.div_ceil(THREADS), THREADS) }
}
