//! Sequences at attention, on both sides.

use super::super::device::{Device, Failure};
use super::super::values::{Values, plain};
use super::{CODE, LAYER};
use crate::kernels::{Attend, NO_FAULT, Remember};
use crate::shape::ModelShape;
use crate::shape::tests::TINY;
use crate::transformer::attention::{Attend as Reference, RowStat};
use crate::transformer::kv::Place;
use crate::transformer::rotate::Heads;
use crate::transformer::{KvCache, Span};
use crate::vector::Isa;

const PAGE: usize = 16;
const LAYERS: usize = 2;

/// Sequences with keys and values, on the processor and in the form that the kernels want.
pub(super) struct Batch {
    pub(super) heads: Heads,
    pub(super) spans: Vec<Span>,
    /// `[rows, width]`: rotated heads.
    pub(super) rotated: Vec<f32>,
    /// `[rows, keys head_dim]`, rows `values_stride` apart.
    pub(super) values: Vec<f32>,
    pub(super) values_stride: usize,
    /// Everything remembered, the rows' own included.
    pub(super) cache: KvCache,
    /// Pages as the kernels want them, before the rows were remembered.
    pages: Vec<f32>,
    tables: Vec<u32>,
    table_stride: usize,
}

impl Batch {
    pub(super) fn new(shape: [usize; 3], spans: &[[usize; 2]], values: Values) -> Self {
        let [queries, keys, head_dim] = shape;
        let heads = Heads { queries, keys, head_dim };
        let shape = ModelShape {
            layers: LAYERS as u32,
            heads: queries as u32,
            kv_heads: keys as u32,
            head_dim: head_dim as u32,
            ..TINY
        };
        let table_stride =
            spans.iter().map(|[before, rows]| (before + rows).div_ceil(PAGE)).max().unwrap_or(0);
        // Pages are handed out from the last to the first.
        let count = spans.len() * table_stride;
        let tables: Vec<u32> = (0..count as u32).rev().collect();
        let mut batch = Self {
            heads,
            spans: Vec::new(),
            rotated: Vec::new(),
            values: Vec::new(),
            values_stride: keys * head_dim + 24,
            cache: KvCache::new(&shape, spans.len()),
            pages: vec![f32::NAN; count * LAYERS * keys * 2 * PAGE * head_dim],
            tables,
            table_stride,
        };
        for (slot, &[before, rows]) in spans.iter().enumerate() {
            batch.push(slot, before, rows, values);
        }
        batch
    }

    fn push(&mut self, slot: usize, before: usize, rows: usize, values: Values) {
        let Heads { queries, keys, head_dim } = self.heads;
        let first = self.spans.last().map_or(0, |span| span.first + span.rows);
        self.spans.push(Span { slot, first, rows, start: before });
        self.cache.reserve(slot, before + rows);
        for position in 0..before + rows {
            let seed = (100 * slot + position) as u64;
            let mut row = plain(self.heads.width(), seed);
            let mut value = plain(self.values_stride, seed + 5000);
            if position == before + rows / 2 {
                // One row of each span may be spoilt.
                row = values(row.len(), seed);
                value[..keys * head_dim].copy_from_slice(&plain(keys * head_dim, seed + 9000));
            }
            for head in 0..keys {
                let key = &row[(queries + head) * head_dim..][..head_dim];
                let value = &value[head * head_dim..][..head_dim];
                self.cache.write(Place { slot, layer: LAYER, head, position }, key, value);
                if position < before {
                    let page = self.tables[slot * self.table_stride + position / PAGE] as usize;
                    write_page(&mut self.pages, self.heads, page, head, position % PAGE, key, value);
                }
            }
            if position >= before {
                self.rotated.extend_from_slice(&row);
                self.values.extend_from_slice(&value);
            }
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.spans.iter().map(|span| span.rows).sum()
    }

    pub(super) fn scale(&self) -> f32 {
        1.0 / (self.heads.head_dim as f32).sqrt()
    }

    pub(super) fn positions(&self) -> Vec<u32> {
        self.spans.iter().flat_map(|span| span.start as u32..(span.start + span.rows) as u32).collect()
    }

    fn slots(&self) -> Vec<u32> {
        self.spans.iter().flat_map(|span| std::iter::repeat_n(span.slot as u32, span.rows)).collect()
    }

    pub(super) fn longest(&self) -> usize {
        self.spans.iter().map(|span| span.start + span.rows).max().unwrap_or(0)
    }

    /// What the reference makes of it: results, statistics, and which rows it refuses.
    pub(super) fn attend(&self) -> (Vec<f32>, Vec<RowStat>, Vec<bool>) {
        let (rows, queries) = (self.rows(), self.heads.queries);
        let mut out = vec![0.0; rows * queries * self.heads.head_dim];
        let mut stats = vec![RowStat::default(); rows * queries];
        let attend = Reference {
            heads: self.heads,
            layer: LAYER,
            spans: &self.spans,
            cache: &self.cache,
            queries: &self.rotated,
            scale: self.scale(),
            scores: &mut Vec::new(),
            out: &mut out,
            stats: &mut stats,
        };
        let first = attend.run(Isa::SCALAR);
        let refused: Vec<bool> =
            stats.chunks_exact(queries).map(|row| row.iter().any(|stat| !stat.sum.is_finite())).collect();
        assert_eq!(first, refused.iter().position(|&refused| refused));
        (out, stats, refused)
    }

    /// Remembers the rows and attends; returns where results and statistics lie.
    pub(super) fn run(&self, device: &mut Device<'_>) -> Result<Attend, Failure> {
        let Heads { queries, keys, head_dim } = self.heads;
        let page_stride = (LAYERS * keys * 2 * PAGE * head_dim) as u32;
        let launch = Remember {
            heads: device.put(&self.rotated),
            values: device.put(&self.values),
            values_stride: self.values_stride as u32,
            positions: device.put(&self.positions()),
            slots: device.put(&self.slots()),
            tables: device.put(&self.tables),
            table_stride: self.table_stride as u32,
            rows: self.rows() as u32,
            queries: queries as u32,
            keys: keys as u32,
            head_dim: head_dim as u32,
            cache: device.put(&self.pages),
            page_stride,
            layer_offset: page_stride / LAYERS as u32 * LAYER as u32,
        };
        device.run(&launch)?;
        device.expect("cache", launch.cache, &self.remembered())?;
        let Remember { heads, positions, slots, tables, table_stride, rows, cache, layer_offset, .. } =
            launch;
        let attend = Attend {
            heads,
            cache,
            page_stride,
            layer_offset,
            positions,
            slots,
            tables,
            table_stride,
            rows,
            queries: launch.queries,
            keys: launch.keys,
            head_dim: launch.head_dim,
            scale: self.scale(),
            longest: self.longest() as u32,
            out: device.room(self.rows() * queries * head_dim),
            stats: device.room(self.rows() * queries * 2),
            faults: device.put(&vec![NO_FAULT; self.rows()]),
            halt: device.put(&[0_u32]),
            code: CODE,
        };
        device.run(&attend)?;
        Ok(attend)
    }

    /// The pages with the rows in them.
    fn remembered(&self) -> Vec<f32> {
        let Heads { queries, keys, head_dim } = self.heads;
        let mut pages = self.pages.clone();
        for (row, (slot, position)) in self.slots().into_iter().zip(self.positions()).enumerate() {
            let (slot, position) = (slot as usize, position as usize);
            let page = self.tables[slot * self.table_stride + position / PAGE] as usize;
            for head in 0..keys {
                let key = &self.rotated[row * self.heads.width() + (queries + head) * head_dim..][..head_dim];
                let value = &self.values[row * self.values_stride + head * head_dim..][..head_dim];
                write_page(&mut pages, self.heads, page, head, position % PAGE, key, value);
            }
        }
        pages
    }
}

fn write_page(
    pages: &mut [f32],
    heads: Heads,
    page: usize,
    head: usize,
    lane: usize,
    key: &[f32],
    value: &[f32],
) {
    let dim = heads.head_dim;
    let first = ((page * LAYERS + LAYER) * heads.keys + head) * 2 * PAGE * dim;
    for (channel, &number) in key.iter().enumerate() {
        pages[first + channel * PAGE + lane] = number;
    }
    pages[first + PAGE * dim + lane * dim..][..dim].copy_from_slice(value);
}

/// Statistics as they lie in device memory.
pub(super) fn numbers(stats: &[RowStat]) -> Vec<f32> {
    stats.iter().flat_map(|stat| [stat.largest, stat.sum]).collect()
}
