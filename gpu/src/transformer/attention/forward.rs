//! Attention, forward: all scores of a block of positions, their weights, the weighted values.

use super::super::forward::Span;
use super::super::kv::{BLOCK, HeadView, KvCache};
use super::super::rotate::Heads;
use super::tiles::{Keys, Scores, Values, VirtualRows, Weighting, weighted_tile};
use crate::gemm::{RowTiles, over_columns, over_rows};
use crate::math::exp;
use crate::vector::{Isa, Kernel, LANES, V16, dispatch};

/// Positions that are taken together.
pub(super) const POSITIONS: usize = 16;

/// What a softmax needs to be computed again: the largest score and the sum of the weights.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowStat {
    pub(crate) largest: f32,
    pub(crate) sum: f32,
}

/// Attention of the rows of spans to everything up to their own positions.
pub(crate) struct Attend<'a> {
    pub(crate) heads: Heads,
    pub(crate) layer: usize,
    pub(crate) spans: &'a [Span],
    /// Keys and values, those of the rows themselves included.
    pub(crate) cache: &'a KvCache,
    /// Rotated heads: queries, then keys; rows without gaps.
    pub(crate) queries: &'a [f32],
    /// Scores are multiplied by this.
    pub(crate) scale: f32,
    /// Memory for scores.
    pub(crate) scores: &'a mut Vec<f32>,
    /// Receives a row of all query heads' results.
    pub(crate) out: &'a mut [f32],
    /// Receives what a row's softmax was, a query head each.
    pub(crate) stats: &'a mut [RowStat],
}

impl Attend<'_> {
    /// Computes; returns the first row that is not finite.
    pub(crate) fn run(self, isa: Isa) -> Option<usize> {
        dispatch(isa, self)
    }
}

impl Kernel for Attend<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<V: V16>(mut self) -> Option<usize> {
        let mut refused = None;
        for (index, span) in self.spans.iter().enumerate() {
            for head in 0..self.heads.keys {
                let view = self.cache.view(span.slot, self.layer, head);
                let next = self.head_after(index, head);
                for first in (0..span.rows).step_by(POSITIONS) {
                    let count = POSITIONS.min(span.rows - first);
                    let row = span.first + first;
                    let block = QueryBlock { head, row, count, start: span.start + first };
                    let is_last = first + count == span.rows;
                    let values = Values { head: view, next: next.filter(|_| is_last) };
                    if let Some(row) = self.block::<V>(values, block)
                        && refused.is_none_or(|earlier| row < earlier)
                    {
                        refused = Some(row);
                    }
                }
            }
        }
        refused
    }
}

/// Consecutive positions of a sequence and a key-value head.
#[derive(Clone, Copy)]
struct QueryBlock {
    head: usize,
    /// The first position's row.
    row: usize,
    count: usize,
    /// The first position.
    start: usize,
}

impl<'a> Attend<'a> {
    /// The head that is attended to behind this one.
    #[inline(always)]
    fn head_after(&self, span: usize, head: usize) -> Option<HeadView<'a>> {
        if head + 1 < self.heads.keys {
            return Some(self.cache.view(self.spans[span].slot, self.layer, head + 1));
        }
        let next = self.spans.get(span + 1)?;
        Some(self.cache.view(next.slot, self.layer, 0))
    }

    #[inline(always)]
    fn block<V: V16>(&mut self, values: Values<'_>, block: QueryBlock) -> Option<usize> {
        let dim = self.heads.head_dim;
        let group = self.heads.queries / self.heads.keys;
        let rows = block.count * group;
        let key_blocks = (block.start + block.count).div_ceil(BLOCK);
        let stride = key_blocks * BLOCK;
        if self.scores.len() < rows * stride {
            self.scores.resize(rows * stride, 0.0);
        }
        let width = self.heads.width();
        let rows_from = &self.queries[block.row * width..];
        let queries = VirtualRows {
            values: rows_from,
            stride: width,
            offset: block.head * group * dim,
            group,
            head_dim: dim,
        };
        let scores = &mut self.scores[..rows * stride];
        let keys = Keys(values.head);
        let mut tiles = Scores { queries, rows, blocks: keys, stride, out: scores };
        over_columns::<V, _>(key_blocks, &mut tiles);

        let mut refused = None;
        for v in 0..rows {
            let len = block.start + v / group + 1;
            let scores = &mut self.scores[v * stride..][..len.div_ceil(LANES) * LANES];
            let stat = soften::<V>(scores, len, self.scale);
            if !stat.sum.is_finite() && refused.is_none() {
                refused = Some(block.row + v / group);
            }
            self.stats[self.stat_place(block, v, group)] = stat;
        }

        let weights =
            Weighting { values: &self.scores[..rows * stride], stride, first_len: block.start + 1, group };
        let out_width = self.heads.queries * dim;
        let mut gather = Gather {
            weights,
            values,
            out: &mut self.out[block.row * out_width..],
            out_rows: VirtualRows {
                values: &[],
                stride: out_width,
                offset: queries.offset,
                group,
                head_dim: dim,
            },
            stats: &self.stats[block.row * self.heads.queries..],
            stat_stride: self.heads.queries,
            stat_offset: block.head * group,
        };
        over_rows::<V, _>(rows, &mut gather);
        refused
    }

    #[inline(always)]
    fn stat_place(&self, block: QueryBlock, v: usize, group: usize) -> usize {
        (block.row + v / group) * self.heads.queries + block.head * group + v % group
    }
}

/// Turns the first `len` scores into weights `exp(score scale - largest)`; those behind become 0.
#[inline(always)]
fn soften<V: V16>(scores: &mut [f32], len: usize, scale: f32) -> RowStat {
    scores[len..].fill(f32::NEG_INFINITY);
    let scale = V::splat(scale);
    let mut largest = V::splat(f32::NEG_INFINITY);
    for part in scores.as_chunks_mut::<LANES>().0 {
        let scaled = V::load(part).mul(scale);
        scaled.store(part);
        largest = scaled.max(largest);
    }
    let largest = largest.largest();
    let shift = V::splat(largest);
    let mut sums = V::zero();
    for part in scores.as_chunks_mut::<LANES>().0 {
        let weight = exp(V::load(part).sub(shift));
        weight.store(part);
        sums = sums.add(weight);
    }
    RowStat { largest, sum: sums.sum() }
}

/// Weighted values divided by the sum of the weights, into the output's rows.
struct Gather<'a> {
    weights: Weighting<'a>,
    values: Values<'a>,
    out: &'a mut [f32],
    out_rows: VirtualRows<'a>,
    stats: &'a [RowStat],
    stat_stride: usize,
    stat_offset: usize,
}

impl Gather<'_> {
    #[inline(always)]
    fn panels<V: V16, const R: usize, const C: usize>(&mut self, first: usize, panel: usize) {
        let acc: [[V; C]; R] = weighted_tile(self.weights, first, self.values, panel);
        for r in 0..R {
            let v = first + r;
            let group = self.weights.group;
            let sum = self.stats[v / group * self.stat_stride + self.stat_offset + v % group].sum;
            let sum = V::splat(sum);
            let out = &mut self.out[self.out_rows.place(v) + panel * LANES..][..C * LANES];
            for (vector, to) in acc[r].iter().zip(out.as_chunks_mut::<LANES>().0) {
                vector.div(sum).store(to);
            }
        }
    }
}

impl RowTiles for Gather<'_> {
    #[inline(always)]
    fn rows<V: V16, const R: usize>(&mut self, first: usize) {
        // Heads have an even number of vectors.
        for panel in (0..self.out_rows.head_dim / LANES).step_by(2) {
            if V::TILE_COLS >= 2 {
                self.panels::<V, R, 2>(first, panel);
            } else {
                self.panels::<V, R, 1>(first, panel);
                self.panels::<V, R, 1>(first, panel + 1);
            }
        }
    }
}
