//! Attention, backward, for one sequence that begins at position 0.
//!
//! With weights `p = exp(s scale - largest) / sum` and `D = dout . out`:
//! `ds = p (dout . value - D) scale`; `dquery = sum over keys of ds key`; `dkey = sum over virtual rows of ds query`;
//! `dvalue = sum over virtual rows of p dout`. Every sum is one chain: over keys in order of position, over virtual rows
//! in order of position and then of head.

use super::super::kv::{BLOCK, KvCache};
use super::super::rotate::Heads;
use super::forward::{POSITIONS, RowStat};
use super::tiles::{Keys, Packed, Scores, VirtualRows, Weighting, weighted_tile};
use crate::gemm::{RowTiles, Rows, over_columns, over_rows, transposed_chain};
use crate::math::exp;
use crate::vector::{Isa, Kernel, LANES, Line, V16, dispatch, pad_lines};

/// The gradient of attention.
pub(crate) struct AttendBackward<'a> {
    pub(crate) heads: Heads,
    pub(crate) layer: usize,
    pub(crate) slot: usize,
    /// Positions of the sequence.
    pub(crate) len: usize,
    pub(crate) cache: &'a KvCache,
    /// Rotated heads, as the forward pass had them.
    pub(crate) queries: &'a [f32],
    /// What the forward pass wrote.
    pub(crate) out: &'a [f32],
    /// What the forward pass wrote.
    pub(crate) stats: &'a [RowStat],
    /// Gradient of the result.
    pub(crate) dout: &'a [f32],
    pub(crate) scale: f32,
    pub(crate) scratch: &'a mut BackwardScratch,
    /// Receives the gradient of the rotated heads: queries, then keys; rows without gaps.
    pub(crate) dheads: &'a mut [f32],
    /// Rows of `dvalue_stride` numbers; at `dvalue_offset` they receive the gradient of the values.
    pub(crate) dvalues: &'a mut [f32],
    pub(crate) dvalue_stride: usize,
    pub(crate) dvalue_offset: usize,
}

/// Memory of the backward pass.
#[derive(Default)]
pub(crate) struct BackwardScratch {
    weights: Vec<f32>,
    dscores: Vec<f32>,
    /// Keys position by position, as values stand in the cache.
    key_rows: Vec<Line>,
    /// Values channel by channel, as keys stand in the cache.
    value_columns: Vec<Line>,
    queries: Vec<Line>,
    douts: Vec<Line>,
    dkeys: Vec<f32>,
    dvalues: Vec<f32>,
}

impl AttendBackward<'_> {
    /// Computes.
    pub(crate) fn run(self, isa: Isa) {
        dispatch(isa, self);
    }
}

impl Kernel for AttendBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: V16>(mut self) {
        let dim = self.heads.head_dim;
        for head in 0..self.heads.keys {
            self.turn_cache(head);
            for sums in [&mut self.scratch.dkeys, &mut self.scratch.dvalues] {
                sums.clear();
                sums.resize(self.len * dim, 0.0);
            }
            for start in (0..self.len).step_by(POSITIONS) {
                let count = POSITIONS.min(self.len - start);
                self.block::<V>(QueryBlock { head, start, count });
            }
            self.give_back(head);
        }
    }
}

/// Consecutive positions and a key-value head.
#[derive(Clone, Copy)]
struct QueryBlock {
    head: usize,
    start: usize,
    count: usize,
}

impl AttendBackward<'_> {
    /// Keys by rows and values by columns, from the cache that has them the other way.
    #[inline(always)]
    fn turn_cache(&mut self, head: usize) {
        let dim = self.heads.head_dim;
        let blocks = self.len.div_ceil(BLOCK);
        let view = self.cache.view(self.slot, self.layer, head);
        pad_lines(&mut self.scratch.key_rows, blocks * dim);
        pad_lines(&mut self.scratch.value_columns, blocks * dim);
        for block in 0..blocks {
            let (keys, values) = (view.keys(block), view.values(block));
            let rows = &mut self.scratch.key_rows[block * dim..][..dim];
            let columns = &mut self.scratch.value_columns[block * dim..][..dim];
            for panel in 0..dim / LANES {
                for position in 0..BLOCK {
                    for lane in 0..LANES {
                        let channel = panel * LANES + lane;
                        rows[panel * BLOCK + position].0[lane] = keys[channel].0[position];
                        columns[channel].0[position] = values[panel * BLOCK + position].0[lane];
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn block<V: V16>(&mut self, block: QueryBlock) {
        let (dim, heads) = (self.heads.head_dim, self.heads);
        let group = heads.queries / heads.keys;
        let rows = block.count * group;
        let key_blocks = (block.start + block.count).div_ceil(BLOCK);
        let stride = key_blocks * BLOCK;
        let offset = block.head * group * dim;
        let (width, out_width) = (heads.width(), heads.queries * dim);
        let virtual_rows = |values, stride| VirtualRows { values, stride, offset, group, head_dim: dim };
        let queries = virtual_rows(&self.queries[block.start * width..], width);
        let douts = virtual_rows(&self.dout[block.start * out_width..], out_width);
        let outs = virtual_rows(&self.out[block.start * out_width..], out_width);
        let view = self.cache.view(self.slot, self.layer, block.head);
        let scratch = &mut *self.scratch;
        for buffer in [&mut scratch.weights, &mut scratch.dscores] {
            if buffer.len() < rows * stride {
                buffer.resize(rows * stride, 0.0);
            }
        }

        let mut scores = Scores { queries, rows, blocks: Keys(view), stride, out: &mut scratch.weights };
        over_columns::<V, _>(key_blocks, &mut scores);
        let columns = Packed { lines: &scratch.value_columns, head_dim: dim };
        let mut scores = Scores { queries: douts, rows, blocks: columns, stride, out: &mut scratch.dscores };
        over_columns::<V, _>(key_blocks, &mut scores);

        for v in 0..rows {
            let position = block.start + v / group;
            let stat = self.stats[position * heads.queries + block.head * group + v % group];
            let used = (position + 1).div_ceil(LANES) * LANES;
            let weights = &mut scratch.weights[v * stride..][..used];
            let dscores = &mut scratch.dscores[v * stride..][..used];
            score_gradients::<V>(weights, dscores, douts.row(v), outs.row(v), stat, self.scale);
        }

        let weights = Weighting { values: &scratch.dscores, stride, first_len: block.start + 1, group };
        let mut gather = QueryGradients {
            weights,
            keys: Packed { lines: &scratch.key_rows, head_dim: dim },
            place: virtual_rows(&[], width),
            out: &mut self.dheads[block.start * width..],
        };
        over_rows::<V, _>(rows, &mut gather);

        pack_rows(queries, rows, &mut scratch.queries);
        pack_rows(douts, rows, &mut scratch.douts);
        let triangle = Triangle { start: block.start, group, rows, stride, dim };
        let products = [
            (&scratch.dscores, &scratch.queries, &mut scratch.dkeys),
            (&scratch.weights, &scratch.douts, &mut scratch.dvalues),
        ];
        for (left, right, out) in products {
            let mut sums = KeySums { triangle, left, right, out };
            over_rows::<V, _>(block.start + block.count, &mut sums);
        }
    }

    /// Puts the sums over keys and values where they belong.
    #[inline(always)]
    fn give_back(&mut self, head: usize) {
        let (dim, width) = (self.heads.head_dim, self.heads.width());
        let key_offset = (self.heads.queries + head) * dim;
        for position in 0..self.len {
            let from = position * dim..(position + 1) * dim;
            let dkey = &mut self.dheads[position * width + key_offset..][..dim];
            dkey.copy_from_slice(&self.scratch.dkeys[from.clone()]);
            let at = position * self.dvalue_stride + self.dvalue_offset + head * dim;
            self.dvalues[at..][..dim].copy_from_slice(&self.scratch.dvalues[from]);
        }
    }
}

/// Scores become weights, products of `dout` and values become gradients of the scores.
#[inline(always)]
fn score_gradients<V: V16>(
    weights: &mut [f32],
    dscores: &mut [f32],
    dout: &[f32],
    out: &[f32],
    stat: RowStat,
    scale: f32,
) {
    let mut lanes = V::zero();
    for (dout, out) in dout.as_chunks::<LANES>().0.iter().zip(out.as_chunks::<LANES>().0) {
        lanes = V::load(dout).fma(V::load(out), lanes);
    }
    let mean = V::splat(lanes.sum());
    let (largest, sum, scale) = (V::splat(stat.largest), V::splat(stat.sum), V::splat(scale));
    let pairs = weights.as_chunks_mut::<LANES>().0.iter_mut().zip(dscores.as_chunks_mut::<LANES>().0);
    for (weight, dscore) in pairs {
        let p = exp(V::load(weight).mul(scale).sub(largest)).div(sum);
        p.store(weight);
        V::load(dscore).sub(mean).mul(p).mul(scale).store(dscore);
    }
}

/// Virtual rows as panels of sixteen channels.
#[inline(always)]
fn pack_rows(from: VirtualRows<'_>, rows: usize, lines: &mut Vec<Line>) {
    let panels = from.head_dim / LANES;
    pad_lines(lines, rows * panels);
    for v in 0..rows {
        for (panel, part) in from.row(v).as_chunks::<LANES>().0.iter().enumerate() {
            lines[panel * rows + v].0 = *part;
        }
    }
}

/// Gradients of queries: weighted sums of keys.
struct QueryGradients<'a> {
    weights: Weighting<'a>,
    keys: Packed<'a>,
    place: VirtualRows<'a>,
    out: &'a mut [f32],
}

impl QueryGradients<'_> {
    #[inline(always)]
    fn panels<V: V16, const R: usize, const C: usize>(&mut self, first: usize, panel: usize) {
        let acc: [[V; C]; R] = weighted_tile(self.weights, first, self.keys, panel);
        for r in 0..R {
            let out = &mut self.out[self.place.place(first + r) + panel * LANES..][..C * LANES];
            for (vector, to) in acc[r].iter().zip(out.as_chunks_mut::<LANES>().0) {
                vector.store(to);
            }
        }
    }
}

impl RowTiles for QueryGradients<'_> {
    #[inline(always)]
    fn rows<V: V16, const R: usize>(&mut self, first: usize) {
        for panel in (0..self.place.head_dim / LANES).step_by(2) {
            if V::TILE_COLS >= 2 {
                self.panels::<V, R, 2>(first, panel);
            } else {
                self.panels::<V, R, 1>(first, panel);
                self.panels::<V, R, 1>(first, panel + 1);
            }
        }
    }
}

/// Which virtual rows of a block see which positions.
#[derive(Clone, Copy)]
struct Triangle {
    start: usize,
    group: usize,
    rows: usize,
    stride: usize,
    dim: usize,
}

impl Triangle {
    /// The first virtual row that sees a position.
    #[inline(always)]
    fn first_row(self, position: usize) -> usize {
        position.saturating_sub(self.start) * self.group
    }
}

/// Sums over virtual rows for each position: `out[j] += left[v][j] right[v]`.
struct KeySums<'a> {
    triangle: Triangle,
    left: &'a [f32],
    right: &'a [Line],
    out: &'a mut [f32],
}

impl KeySums<'_> {
    #[inline(always)]
    fn panels<V: V16, const R: usize, const C: usize>(&mut self, first: usize, panel: usize) {
        let Triangle { rows, stride, dim, .. } = self.triangle;
        let common = self.triangle.first_row(first + R - 1);
        let mut lead = [[V::zero(); C]; R];
        for r in 0..R {
            let sums = &self.out[(first + r) * dim + panel * LANES..][..C * LANES];
            for (vector, from) in lead[r].iter_mut().zip(sums.as_chunks::<LANES>().0) {
                *vector = V::load(from);
            }
            for v in self.triangle.first_row(first + r)..common {
                let left = V::splat(self.left[v * stride + first + r]);
                for c in 0..C {
                    lead[r][c] = left.fma(V::load(&self.right[(panel + c) * rows + v].0), lead[r][c]);
                }
            }
        }
        let mut panels: [&[Line]; C] = [&[]; C];
        for (c, lines) in panels.iter_mut().enumerate() {
            *lines = &self.right[(panel + c) * rows..][common..rows];
        }
        let left = Rows { values: &self.left[common * stride + first..], stride };
        let acc = transposed_chain(left, panels, lead);
        for r in 0..R {
            let sums = &mut self.out[(first + r) * dim + panel * LANES..][..C * LANES];
            for (vector, to) in acc[r].iter().zip(sums.as_chunks_mut::<LANES>().0) {
                vector.store(to);
            }
        }
    }
}

impl RowTiles for KeySums<'_> {
    #[inline(always)]
    fn rows<V: V16, const R: usize>(&mut self, first: usize) {
        for panel in (0..self.triangle.dim / LANES).step_by(2) {
            if V::TILE_COLS >= 2 {
                self.panels::<V, R, 2>(first, panel);
            } else {
                self.panels::<V, R, 1>(first, panel);
                self.panels::<V, R, 1>(first, panel + 1);
            }
        }
    }
}
