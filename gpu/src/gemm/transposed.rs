//! The transpose of activations times gradients: what a weight's gradient is.

use super::Rows;
use super::tile::{ColumnTiles, RowTiles, load_cut, over_columns, over_rows, store_cut};
use crate::vector::{Isa, Kernel, LANES, Line, V16, dispatch, pad_lines};

/// Tokens whose packed gradients stay in the second-level cache while all rows of the output pass.
const TOKENS: usize = 512;

/// `out[m][n] += chain over t of a[t][m] b[t][n]`, `t` ascending from 0 to `tokens`, chains from what stands in `out`.
///
/// `out` has rows of `cols` numbers without gaps, as many as it holds: that many numbers of each row of `a` and `cols`
/// of each row of `b` are used. `scratch` keeps its memory for the next call.
pub fn accumulate_transposed(
    isa: Isa,
    a: Rows<'_>,
    b: Rows<'_>,
    tokens: usize,
    cols: usize,
    out: &mut [f32],
    scratch: &mut Scratch,
) {
    if cols == 0 {
        return;
    }
    for first in (0..tokens).step_by(TOKENS) {
        let count = TOKENS.min(tokens - first);
        let a = Rows { values: &a.values[first * a.stride..], stride: a.stride };
        let b = Rows { values: &b.values[first * b.stride..], stride: b.stride };
        dispatch(isa, Accumulate { a, b, tokens: count, cols, out, scratch });
    }
}

/// Memory that [`accumulate_transposed`] packs into.
#[derive(Clone, Debug, Default)]
pub struct Scratch(Vec<Line>);

struct Accumulate<'a> {
    a: Rows<'a>,
    b: Rows<'a>,
    tokens: usize,
    cols: usize,
    out: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl Kernel for Accumulate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: V16>(self) {
        let vectors = self.cols.div_ceil(LANES);
        over_columns::<V, _>(vectors, &mut Columns(self));
    }
}

struct Columns<'a>(Accumulate<'a>);

impl ColumnTiles for Columns<'_> {
    #[inline(always)]
    fn columns<V: V16, const C: usize>(&mut self, first: usize) {
        let Accumulate { a, b, tokens, cols, ref mut out, ref mut scratch } = self.0;
        pad_lines(&mut scratch.0, C * tokens);
        let mut rest = &mut scratch.0[..];
        let mut panels: [&[Line]; C] = [&[]; C];
        for (c, panel) in panels.iter_mut().enumerate() {
            let (lines, others) = rest.split_at_mut(tokens);
            pack(b, (first + c) * LANES, cols, lines);
            *panel = lines;
            rest = others;
        }
        let mut block = Block { a, panels, first, cols, out };
        over_rows::<V, _>(block.out.len() / cols, &mut block);
    }
}

/// A panel: the sixteen columns from `first` of every row, of which there are `cols`.
#[inline(always)]
fn pack(b: Rows<'_>, first: usize, cols: usize, lines: &mut [Line]) {
    let used = LANES.min(cols - first);
    for (token, line) in lines.iter_mut().enumerate() {
        let row = &b.values[token * b.stride + first..][..used];
        if let Ok(full) = <&[f32; LANES]>::try_from(row) {
            line.0 = *full;
        } else {
            line.0[..used].copy_from_slice(row);
            line.0[used..].fill(0.0);
        }
    }
}

struct Block<'a, const C: usize> {
    a: Rows<'a>,
    panels: [&'a [Line]; C],
    first: usize,
    cols: usize,
    out: &'a mut [f32],
}

impl<const C: usize> RowTiles for Block<'_, C> {
    #[inline(always)]
    fn rows<V: V16, const R: usize>(&mut self, first: usize) {
        let mut acc = [[V::zero(); C]; R];
        for r in 0..R {
            let row = &self.out[(first + r) * self.cols..][..self.cols];
            for c in 0..C {
                acc[r][c] = load_cut(row, (self.first + c) * LANES);
            }
        }
        let acc = transposed_chain(
            Rows { values: &self.a.values[first..], stride: self.a.stride },
            self.panels,
            acc,
        );
        for r in 0..R {
            let row = &mut self.out[(first + r) * self.cols..][..self.cols];
            for c in 0..C {
                store_cut(row, (self.first + c) * LANES, acc[r][c]);
            }
        }
    }
}

/// Continues the chains of a tile whose left factor runs down the rows of `a`: `a[t][r]` times line `t` of panel `c`.
#[inline(always)]
pub(crate) fn transposed_chain<V: V16, const R: usize, const C: usize>(
    a: Rows<'_>,
    b: [&[Line]; C],
    mut acc: [[V; C]; R],
) -> [[V; C]; R] {
    let tokens = b[0].len();
    let mut panels = b;
    for panel in &mut panels {
        *panel = &panel[..tokens];
    }
    let Some(last) = tokens.checked_sub(1) else { return acc };
    // Where a check within the loop could fail and the sums be wanted behind it, the compiler would keep them in memory. Rows of one
    // length need none; the last one may be cut.
    assert!(R <= a.stride || last == 0, "rows of the left factor do not overlap");
    let (whole, end) = a.values.split_at(last * a.stride);
    for (t, row) in (0..last).zip(whole.chunks_exact(a.stride.max(1))) {
        acc = with_token(&row[..R], panels, t, acc);
    }
    acc = with_token(&end[..R], panels, last, acc);
    acc
}

/// One link of each chain.
#[inline(always)]
fn with_token<V: V16, const R: usize, const C: usize>(
    left: &[f32],
    panels: [&[Line]; C],
    t: usize,
    mut acc: [[V; C]; R],
) -> [[V; C]; R] {
    let mut right = [V::zero(); C];
    for c in 0..C {
        right[c] = V::load(&panels[c][t].0);
    }
    for r in 0..R {
        let left = V::splat(left[r]);
        for c in 0..C {
            acc[r][c] = left.fma(right[c], acc[r][c]);
        }
    }
    acc
}
