//! Attention, forward over a paged cache and backward over rows.
//!
//! A page holds sixteen positions of every layer and key-value head:
//! `f32 [layers, kv_heads, 2, 16 head_dim]`, keys as `[head_dim][16]`, values as `[16][head_dim]`. `page_stride` is
//! `layers kv_heads 32 head_dim`; `layer_offset` is `layer kv_heads 32 head_dim`. Page `b` of slot `s` is
//! `tables[s][b]`.

use super::{Address, LaunchShape};

/// Threads of a block.
const THREADS: u32 = 128;

/// Blocks of one row and one head, with this many numbers of shared memory.
fn row_and_head(rows: u32, heads: u32, numbers: u32) -> LaunchShape {
    let mut shape = LaunchShape::plane(rows, heads, THREADS);
    shape.shared_bytes = numbers * size_of::<f32>() as u32;
    shape
}

kernel! {
    /// Writes the keys and values of rows into the cache.
    pub struct Remember = "attention.cu"::"remember" {
        /// f32 `[rows, (queries + keys) head_dim]`: rotated heads.
        heads: Address,
        /// f32: the rows' values, `keys head_dim` each, rows `values_stride` apart (inside `qkv`, behind the heads).
        values: Address,
        /// From a row's values to the next one's.
        values_stride: u32,
        /// u32 `[rows]`: each row's position in its sequence.
        positions: Address,
        /// u32 `[rows]`: each row's slot.
        slots: Address,
        /// u32 `[slots, table_stride]`: the pages of each slot.
        tables: Address,
        /// From a slot's pages to the next one's.
        table_stride: u32,
        /// Rows.
        rows: u32,
        /// Query heads.
        queries: u32,
        /// Key-value heads.
        keys: u32,
        /// Channels of a head; a multiple of 32.
        head_dim: u32,
        /// f32: the first page.
        cache: Address,
        /// Numbers from a page to the next.
        page_stride: u32,
        /// Numbers from the start of a page to those of the layer.
        layer_offset: u32,
    }
    shape(launch) { LaunchShape::line(launch.rows, THREADS) }
}

kernel! {
    /// Attention of rows to everything in the cache up to their own positions.
    pub struct Attend = "attention.cu"::"attend" {
        /// f32 `[rows, (queries + keys) head_dim]`: rotated heads.
        heads: Address,
        /// f32: the first page; the rows' own keys and values included.
        cache: Address,
        /// Numbers from a page to the next.
        page_stride: u32,
        /// Numbers from the start of a page to those of the layer.
        layer_offset: u32,
        /// u32 `[rows]`: each row's position in its sequence.
        positions: Address,
        /// u32 `[rows]`: each row's slot.
        slots: Address,
        /// u32 `[slots, table_stride]`: the pages of each slot.
        tables: Address,
        /// From a slot's pages to the next one's.
        table_stride: u32,
        /// Rows.
        rows: u32,
        /// Query heads; at most 65,535.
        queries: u32,
        /// Key-value heads.
        keys: u32,
        /// Channels of a head; a multiple of 32.
        head_dim: u32,
        /// Scores are multiplied by this.
        scale: f32,
        /// The largest position of the rows, plus 1: numbers of shared memory for scores.
        longest: u32,
        /// f32 `[rows, queries head_dim]`, written.
        out: Address,
        /// f32 `[rows, queries, 2]`, written: the largest score and the sum of the weights.
        stats: Address,
        /// u32 `[rows]`: where a sum is not finite, the smaller of what stands there and `code`.
        faults: Address,
        /// u32: 1 after any fault.
        halt: Address,
        /// What this launch writes into `faults`.
        code: u32,
    }
    shape(launch) { row_and_head(launch.rows, launch.queries, launch.longest + launch.head_dim) }
}

kernel! {
    /// Backward, a query head of a row at a time: weights, gradients of scores, gradient of the query.
    pub struct AttendBackward = "attention.cu"::"attend_backward" {
        /// f32 `[rows, (queries + keys) head_dim]`: rotated heads, of the forward pass.
        heads: Address,
        /// f32: the rows' values, `keys head_dim` each, rows `values_stride` apart.
        values: Address,
        /// From a row's values to the next one's.
        values_stride: u32,
        /// f32 `[rows, queries head_dim]`, of the forward pass.
        out: Address,
        /// f32 `[rows, queries, 2]`, of the forward pass.
        stats: Address,
        /// f32 `[rows, queries head_dim]`: gradient of `out`.
        dout: Address,
        /// u32 `[rows]`: each row's position in its sequence; the sequence's rows are consecutive from position 0.
        positions: Address,
        /// Rows.
        rows: u32,
        /// Query heads; at most 65,535.
        queries: u32,
        /// Key-value heads.
        keys: u32,
        /// Channels of a head; a multiple of 32.
        head_dim: u32,
        /// Scores are multiplied by this.
        scale: f32,
        /// The length of the longest sequence.
        longest: u32,
        /// f32 `[rows, queries, longest]`, written up to each row's own position: weights over their sums.
        weights: Address,
        /// f32 `[rows, queries, longest]`, written likewise: gradients of the scores.
        dscores: Address,
        /// f32 `[rows, (queries + keys) head_dim]`: the query heads' part is written.
        dheads: Address,
    }
    shape(launch) { row_and_head(launch.rows, launch.queries, launch.longest + 2 * launch.head_dim) }
}

kernel! {
    /// Backward, a key-value head of a row at a time: gradients of the key and of the value. Runs after
    /// [`AttendBackward`].
    pub struct AttendBackwardKeys = "attention.cu"::"attend_backward_keys" {
        /// f32 `[rows, (queries + keys) head_dim]`: rotated heads, of the forward pass.
        heads: Address,
        /// f32 `[rows, queries head_dim]`: gradient of attention's result.
        dout: Address,
        /// f32 `[rows, queries, longest]` of [`AttendBackward`].
        weights: Address,
        /// f32 `[rows, queries, longest]` of [`AttendBackward`].
        dscores: Address,
        /// u32 `[rows]`: each row's position in its sequence.
        positions: Address,
        /// u32 `[rows]`: the row behind the last one of each row's sequence.
        ends: Address,
        /// Rows.
        rows: u32,
        /// Query heads.
        queries: u32,
        /// Key-value heads; at most 65,535.
        keys: u32,
        /// Channels of a head; a multiple of 32.
        head_dim: u32,
        /// The length of the longest sequence.
        longest: u32,
        /// f32 `[rows, (queries + keys) head_dim]`: the key heads' part is written.
        dheads: Address,
        /// f32: `keys head_dim` numbers a row are written, rows `dvalues_stride` apart; may be the values themselves.
        dvalues: Address,
        /// From a row of `dvalues` to the next.
        dvalues_stride: u32,
    }
    shape(launch) { LaunchShape::plane(launch.rows, launch.keys, THREADS) }
}
