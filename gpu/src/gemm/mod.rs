//! Matrix products with one definition.
//!
//! Every output is one chain: `acc = fma(a[m][k], b[k][n], acc)`, `k` ascending, from 0 or from what stands in the
//! output. Tiles, packing and the order in which outputs are computed are choices of speed; [`mod@reference`] is the
//! definition.
//!
//! The right factor is packed once into panels of sixteen columns ([`Packed`]); the left one is read in place.

mod pack;
mod product;
pub mod reference;
mod tile;
mod transposed;

pub use pack::Packed;
pub use product::{Start, product};
pub(crate) use tile::{ColumnTiles, RowTiles, chain, over_columns, over_rows};
pub(crate) use transposed::transposed_chain;
pub use transposed::{Scratch, accumulate_transposed};

/// Rows of numbers in one slice, `stride` apart.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The numbers.
    pub values: &'a [f32],
    /// From the start of a row to the start of the next.
    pub stride: usize,
}

#[cfg(test)]
mod tests;
