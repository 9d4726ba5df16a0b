//! The two products of attention: scores, and weighted sums whose rows end at different lengths.

use super::super::kv::{BLOCK, HeadView};
use crate::gemm::{ColumnTiles, RowTiles, chain, over_rows};
use crate::vector::{LANES, Line, V16, prefetch};

/// Rows of the query side: `head_dim` numbers for each virtual row.
#[derive(Clone, Copy)]
pub(super) struct VirtualRows<'a> {
    /// Rows of activations, `stride` numbers a position.
    pub(super) values: &'a [f32],
    pub(super) stride: usize,
    /// Where the first head of the group begins in a row.
    pub(super) offset: usize,
    pub(super) group: usize,
    pub(super) head_dim: usize,
}

impl<'a> VirtualRows<'a> {
    /// Where a virtual row begins.
    #[inline(always)]
    pub(super) fn place(&self, row: usize) -> usize {
        row / self.group * self.stride + self.offset + row % self.group * self.head_dim
    }

    /// One virtual row.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &'a [f32] {
        &self.values[self.place(row)..][..self.head_dim]
    }
}

/// Blocks of sixteen positions, each with panels of lines.
pub(super) trait Blocks: Copy {
    /// The lines of a block.
    fn lines(&self, block: usize) -> &[Line];

    /// Begins to load what will be wanted a while after this block's lines: when one row a sequence is decoded, the
    /// arithmetic is less than the time that a cache takes to come from memory.
    #[inline(always)]
    fn prefetch_ahead(&self, _block: usize) {}
}

/// The keys of a cached head. Its values are wanted next.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a>(pub(super) HeadView<'a>);

impl Blocks for Keys<'_> {
    #[inline(always)]
    fn lines(&self, block: usize) -> &[Line] {
        self.0.keys(block)
    }

    #[inline(always)]
    fn prefetch_ahead(&self, block: usize) {
        prefetch(self.0.values(block));
    }
}

/// The values of a cached head. The keys of the next head are wanted next.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) head: HeadView<'a>,
    pub(super) next: Option<HeadView<'a>>,
}

impl Blocks for Values<'_> {
    #[inline(always)]
    fn lines(&self, block: usize) -> &[Line] {
        self.head.values(block)
    }

    #[inline(always)]
    fn prefetch_ahead(&self, block: usize) {
        if let Some(next) = self.next {
            next.prefetch_keys(block);
        }
    }
}

/// Blocks one after the other.
#[derive(Clone, Copy)]
pub(super) struct Packed<'a> {
    pub(super) lines: &'a [Line],
    pub(super) head_dim: usize,
}

impl Blocks for Packed<'_> {
    #[inline(always)]
    fn lines(&self, block: usize) -> &[Line] {
        &self.lines[block * self.head_dim..][..self.head_dim]
    }
}

/// `out[v][j] = chain over channels of query[v][d] key[j][d]` for all positions `j` of the blocks, as a
/// [`ColumnTiles`] over blocks. What stands at positions that the query may not see is not part of any result.
pub(super) struct Scores<'a, B> {
    pub(super) queries: VirtualRows<'a>,
    pub(super) rows: usize,
    pub(super) blocks: B,
    pub(super) stride: usize,
    pub(super) out: &'a mut [f32],
}

impl<B: Blocks> ColumnTiles for Scores<'_, B> {
    #[inline(always)]
    fn columns<V: V16, const C: usize>(&mut self, first: usize) {
        let blocks = self.blocks;
        let mut panels: [&[Line]; C] = [&[]; C];
        for (c, panel) in panels.iter_mut().enumerate() {
            blocks.prefetch_ahead(first + c);
            *panel = blocks.lines(first + c);
        }
        let (queries, stride) = (self.queries, self.stride);
        let mut block = ScoreBlock { queries, panels, first, stride, out: self.out };
        over_rows::<V, _>(self.rows, &mut block);
    }
}

struct ScoreBlock<'a, const C: usize> {
    queries: VirtualRows<'a>,
    panels: [&'a [Line]; C],
    first: usize,
    stride: usize,
    out: &'a mut [f32],
}

impl<const C: usize> RowTiles for ScoreBlock<'_, C> {
    #[inline(always)]
    fn rows<V: V16, const R: usize>(&mut self, first: usize) {
        let mut rows: [&[f32]; R] = [&[]; R];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = self.queries.row(first + r);
        }
        let acc = chain(rows, self.panels, [[V::zero(); C]; R]);
        for r in 0..R {
            let out = &mut self.out[(first + r) * self.stride + self.first * LANES..][..C * LANES];
            for (vector, to) in acc[r].iter().zip(out.as_chunks_mut::<LANES>().0) {
                vector.store(to);
            }
        }
    }
}

/// Rows of weights over positions: row `v` sees the positions before `lens(v)`.
#[derive(Clone, Copy)]
pub(super) struct Weighting<'a> {
    pub(super) values: &'a [f32],
    pub(super) stride: usize,
    /// Positions that the first virtual row sees.
    pub(super) first_len: usize,
    pub(super) group: usize,
}

impl<'a> Weighting<'a> {
    /// Positions that a virtual row sees.
    #[inline(always)]
    pub(super) fn len(&self, row: usize) -> usize {
        self.first_len + row / self.group
    }

    #[inline(always)]
    fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.stride..][..self.stride]
    }
}

/// The tile `chain over positions j of weight[v][j] line[j]` of `R` rows and `C` panels, each row over exactly the
/// positions that it sees.
#[inline(always)]
pub(super) fn weighted_tile<V: V16, B: Blocks, const R: usize, const C: usize>(
    weights: Weighting<'_>,
    first: usize,
    blocks: B,
    panel: usize,
) -> [[V; C]; R] {
    let common = weights.len(first);
    let mut rows: [&[f32]; R] = [&[]; R];
    for (r, row) in rows.iter_mut().enumerate() {
        *row = weights.row(first + r);
    }
    let mut acc = [[V::zero(); C]; R];
    for block in 0..common.div_ceil(BLOCK) {
        let count = BLOCK.min(common - block * BLOCK);
        if first == 0 && panel == 0 {
            blocks.prefetch_ahead(block);
        }
        let lines = blocks.lines(block);
        let mut panels: [&[Line]; C] = [&[]; C];
        for (c, lane) in panels.iter_mut().enumerate() {
            *lane = &lines[(panel + c) * BLOCK..][..count];
        }
        let mut parts: [&[f32]; R] = [&[]; R];
        for r in 0..R {
            parts[r] = &rows[r][block * BLOCK..][..count];
        }
        acc = chain(parts, panels, acc);
    }
    // The last rows of the tile see a few positions more. A copy, so that the loop above keeps registers.
    let mut rest = acc;
    for r in 1..R {
        for j in common..weights.len(first + r) {
            let weight = V::splat(rows[r][j]);
            let lines = blocks.lines(j / BLOCK);
            for c in 0..C {
                let line = V::load(&lines[(panel + c) * BLOCK + j % BLOCK].0);
                rest[r][c] = weight.fma(line, rest[r][c]);
            }
        }
    }
    rest
}
