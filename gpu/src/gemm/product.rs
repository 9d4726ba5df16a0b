//! Activations times a packed matrix.

use super::tile::{ColumnTiles, RowTiles, chain, load_cut, over_columns, over_rows, store_cut};
use super::{Packed, Rows};
use crate::vector::{Isa, Kernel, LANES, Line, V16, dispatch};

/// Where the chains of a product start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At 0.
    Zero,
    /// At what stands in the output.
    Output,
}

/// Rows that all columns pass over before the next ones are read: with their results they stay in the second-level cache.
const ROWS: usize = 256;

/// `out[m] = a[m] b`, chains from `start`; `out` has rows of `b.cols()` numbers without gaps, as many as it holds.
///
/// `a` must have as many rows, each of at least `b.inner()` numbers; with less, this panics.
pub fn product(isa: Isa, a: Rows<'_>, b: &Packed, start: Start, out: &mut [f32]) {
    if b.cols() == 0 {
        return;
    }
    for (block, out) in out.chunks_mut(ROWS * b.cols()).enumerate() {
        let a = Rows { values: &a.values[block * ROWS * a.stride..], stride: a.stride };
        dispatch(isa, Product { a, b, start, out });
    }
}

struct Product<'a> {
    a: Rows<'a>,
    b: &'a Packed,
    start: Start,
    out: &'a mut [f32],
}

impl Kernel for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: V16>(self) {
        let rows = self.out.len() / self.b.cols();
        over_columns::<V, _>(self.b.panels(), &mut Columns { product: self, rows });
    }
}

/// The columns of the output, in blocks of panels: a block stays in the nearest cache while all rows pass.
struct Columns<'a> {
    product: Product<'a>,
    rows: usize,
}

impl ColumnTiles for Columns<'_> {
    #[inline(always)]
    fn columns<V: V16, const C: usize>(&mut self, first: usize) {
        let mut panels: [&[Line]; C] = [&[]; C];
        for (c, panel) in panels.iter_mut().enumerate() {
            *panel = self.product.b.panel(first + c);
        }
        let Product { a, b, start, ref mut out } = self.product;
        let mut block = Block { a, panels, first, cols: b.cols(), start, out };
        over_rows::<V, _>(self.rows, &mut block);
    }
}

/// All rows of a block of panels.
struct Block<'a, const C: usize> {
    a: Rows<'a>,
    panels: [&'a [Line]; C],
    first: usize,
    cols: usize,
    start: Start,
    out: &'a mut [f32],
}

impl<const C: usize> RowTiles for Block<'_, C> {
    #[inline(always)]
    fn rows<V: V16, const R: usize>(&mut self, first: usize) {
        let mut rows: [&[f32]; R] = [&[]; R];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = &self.a.values[(first + r) * self.a.stride..];
        }
        let mut acc = [[V::zero(); C]; R];
        if self.start == Start::Output {
            for r in 0..R {
                let row = &self.out[(first + r) * self.cols..][..self.cols];
                for c in 0..C {
                    acc[r][c] = load_cut(row, (self.first + c) * LANES);
                }
            }
        }
        let acc = chain(rows, self.panels, acc);
        for r in 0..R {
            let row = &mut self.out[(first + r) * self.cols..][..self.cols];
            for c in 0..C {
                store_cut(row, (self.first + c) * LANES, acc[r][c]);
            }
        }
    }
}
