//! Activations times a packed matrix.

use super::tile::{ColumnTiles, RowTiles, chain, load_cut, over_columns, over_rows, store_cut};
use super::{Packed, Rows};
use crate::vector::{Isa, Kernel, LANES, Line, V16, dispatch};
use std::ops::Range;

/// Where the chains of a product start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At 0.
    Zero,
    /// At what stands in the output.
    Output,
}

/// Lines of panels that all rows pass over before the next ones are read: they stay in the second-level cache.
const NEAR: usize = 8192;

/// `out[m] = a[m] b`, chains from `start`; `out` has rows of `b.cols()` numbers without gaps, as many as it holds.
///
/// `a` must have as many rows, each of at least `b.inner()` numbers; with less, this panics.
pub fn product(isa: Isa, a: Rows<'_>, b: &Packed, start: Start, out: &mut [f32]) {
    if b.cols() == 0 {
        return;
    }
    dispatch(isa, Product { a, b, start, out });
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
    fn run<V: V16>(mut self) {
        let rows = self.out.len() / self.b.cols();
        let tiles = (NEAR / (self.b.inner().max(1) * V::TILE_COLS)).max(1);
        let all = self.b.panels();
        for first in (0..all).step_by(tiles * V::TILE_COLS) {
            let panels = first..all.min(first + tiles * V::TILE_COLS);
            over_rows::<V, _>(rows, &mut Columns { product: &mut self, panels });
        }
    }
}

/// Some columns of the output, a range of panels.
struct Columns<'p, 'a> {
    product: &'p mut Product<'a>,
    panels: Range<usize>,
}

impl RowTiles for Columns<'_, '_> {
    #[inline(always)]
    fn rows<V: V16, const R: usize>(&mut self, first: usize) {
        let Product { a, b, start, ref mut out } = *self.product;
        let mut rows: [&[f32]; R] = [&[]; R];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = &a.values[(first + r) * a.stride..];
        }
        let out = &mut out[first * b.cols()..][..R * b.cols()];
        let mut block = Block { rows, b, first: self.panels.start, start, out };
        over_columns::<V, _>(self.panels.len(), &mut block);
    }
}

/// Those columns of a block of rows, which stays in the nearest cache while all panels pass.
struct Block<'a, const R: usize> {
    rows: [&'a [f32]; R],
    b: &'a Packed,
    first: usize,
    start: Start,
    out: &'a mut [f32],
}

impl<const R: usize> ColumnTiles for Block<'_, R> {
    #[inline(always)]
    fn columns<V: V16, const C: usize>(&mut self, first: usize) {
        let first = self.first + first;
        let mut panels: [&[Line]; C] = [&[]; C];
        for (c, panel) in panels.iter_mut().enumerate() {
            *panel = self.b.panel(first + c);
        }
        let cols = self.b.cols();
        let mut acc = [[V::zero(); C]; R];
        if self.start == Start::Output {
            for r in 0..R {
                let row = &self.out[r * cols..][..cols];
                for c in 0..C {
                    acc[r][c] = load_cut(row, (first + c) * LANES);
                }
            }
        }
        let acc = chain(self.rows, panels, acc);
        for r in 0..R {
            let row = &mut self.out[r * cols..][..cols];
            for c in 0..C {
                store_cut(row, (first + c) * LANES, acc[r][c]);
            }
        }
    }
}
