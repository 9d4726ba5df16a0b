//! Tables of tokens: rows gathered, gradients scattered in the order of tokens, rows moved.

use super::{Address, LaunchShape};

/// In `inputs` and `index`: no token, no row.
pub const NO_TOKEN: u32 = u32::MAX;

/// Threads of a block; they share the channels of a row.
const THREADS: u32 = 128;

kernel! {
    /// `x = E[t] (+ E1[t-1] + E2[t-2])`.
    pub struct Embed = "embedding.cu"::"embed" {
        /// u32 `[rows, 3]`: the token, the one before it, the one before that; [`NO_TOKEN`] where there is none.
        inputs: Address,
        /// f32 `[1 + ngram, vocab, width]`: the token embedding and, directly behind it, the look-up tables.
        tables: Address,
        /// Rows of a table.
        vocab: u32,
        /// Look-up tables of previous tokens: 0, 1 or 2.
        ngram: u32,
        /// Rows of `x`.
        rows: u32,
        /// Channels.
        width: u32,
        /// f32 `[rows, width]`, written.
        x: Address,
    }
    shape(launch) { LaunchShape::line(launch.rows, THREADS) }
}

kernel! {
    /// Adds rows of gradients to a table's, those of one token in the order of the list.
    pub struct EmbedGradient = "embedding.cu"::"embed_gradient" {
        /// u32 `[vocab + 1]`: where each token's part of `order` begins; the last entry is its length.
        starts: Address,
        /// u32: rows of `dx` sorted by token, of equal tokens in ascending order.
        order: Address,
        /// f32 `[.., width]`: gradients of embedded rows.
        dx: Address,
        /// Rows of the table.
        vocab: u32,
        /// Channels.
        width: u32,
        /// f32 `[vocab, width]`, added to.
        out: Address,
    }
    shape(launch) { LaunchShape::line(launch.vocab, THREADS) }
}

kernel! {
    /// `out[r] = from[index[r]]`, or a row of zeros where there is no row.
    pub struct TakeRows = "embedding.cu"::"take_rows" {
        /// f32 `[.., width]`.
        from: Address,
        /// u32 `[rows]`: a row of `from`, or [`NO_TOKEN`].
        index: Address,
        /// Rows of `out`.
        rows: u32,
        /// Channels.
        width: u32,
        /// f32 `[rows, width]`, written.
        out: Address,
    }
    shape(launch) { LaunchShape::line(launch.rows, THREADS) }
}
