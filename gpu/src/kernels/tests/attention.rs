use super::device::{Device, Failure, holds};
use super::values::{below, plain, spoilt};
use crate::kernels::{Address, Attend, AttendBackward, AttendBackwardKeys, NO_FAULT, Remember};
use crate::shape::ModelShape;
use crate::shape::tests::TINY;
use crate::transformer::attention::{self as reference, BackwardScratch, RowStat};
use crate::transformer::kv::Place;
use crate::transformer::rotate::Heads;
use crate::transformer::{KvCache, Span};
use crate::vector::Isa;

const CODE: u32 = 6;
const PAGE: usize = 16;
const LAYERS: usize = 2;
/// The layer that is tested; the other's part of each page must stay as it is.
const LAYER: usize = 1;
/// Query heads, key-value heads, channels of a head.
const SHAPES: [[usize; 3]; 3] = [[2, 1, 32], [6, 2, 64], [3, 3, 160]];
/// Positions before a batch, and rows in it, slot by slot: whole sequences, ones that end a page or begin one, stretches
/// that continue, single tokens.
const SPANS: [[usize; 2]; 7] = [[0, 1], [0, 16], [0, 33], [15, 1], [16, 2], [40, 1], [7, 20]];

/// Sequences with keys and values, on the processor and in the form that the kernels want.
struct Batch {
    heads: Heads,
    spans: Vec<Span>,
    /// `[rows, width]`: rotated heads.
    rotated: Vec<f32>,
    /// `[rows, keys head_dim]`, rows `values_stride` apart.
    values: Vec<f32>,
    values_stride: usize,
    /// Everything remembered, the rows' own included.
    cache: KvCache,
    /// Pages as the kernels want them, before the rows were remembered.
    pages: Vec<f32>,
    tables: Vec<u32>,
    table_stride: usize,
}

impl Batch {
    fn new(shape: [usize; 3], spans: &[[usize; 2]], values: fn(usize, u64) -> Vec<f32>) -> Self {
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

    fn push(&mut self, slot: usize, before: usize, rows: usize, values: fn(usize, u64) -> Vec<f32>) {
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

    fn rows(&self) -> usize {
        self.spans.iter().map(|span| span.rows).sum()
    }

    fn scale(&self) -> f32 {
        1.0 / (self.heads.head_dim as f32).sqrt()
    }

    fn positions(&self) -> Vec<u32> {
        self.spans.iter().flat_map(|span| span.start as u32..(span.start + span.rows) as u32).collect()
    }

    fn slots(&self) -> Vec<u32> {
        self.spans.iter().flat_map(|span| std::iter::repeat_n(span.slot as u32, span.rows)).collect()
    }

    fn longest(&self) -> usize {
        self.spans.iter().map(|span| span.start + span.rows).max().unwrap_or(0)
    }

    /// What the reference makes of it: results, statistics, and which rows it refuses.
    fn attend(&self) -> (Vec<f32>, Vec<RowStat>, Vec<bool>) {
        let (rows, queries) = (self.rows(), self.heads.queries);
        let mut out = vec![0.0; rows * queries * self.heads.head_dim];
        let mut stats = vec![RowStat::default(); rows * queries];
        let attend = reference::Attend {
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
    fn run(&self, device: &mut Device<'_>) -> Result<Attend, Failure> {
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

fn numbers(stats: &[RowStat]) -> Vec<f32> {
    stats.iter().flat_map(|stat| [stat.largest, stat.sum]).collect()
}

pub(super) fn forward(device: &mut Device<'_>) -> Result<(), Failure> {
    for (case, shape) in SHAPES.into_iter().enumerate() {
        for values in [plain, spoilt] {
            let drawn = below(40, 2 * 4, case as u64);
            let drawn =
                drawn.as_chunks::<2>().0.iter().map(|&[before, rows]| [before as usize, rows as usize + 1]);
            let spans: Vec<[usize; 2]> = SPANS.into_iter().chain(drawn).collect();
            let batch = Batch::new(shape, &spans, values);
            let (out, stats, refused) = batch.attend();
            let launch = batch.run(device)?;
            let faults: Vec<u32> =
                refused.iter().map(|&refused| if refused { CODE } else { NO_FAULT }).collect();
            device.expect("stats", launch.stats, &numbers(&stats))?;
            device.expect("out", launch.out, &out)?;
            device.expect("faults", launch.faults, &faults)?;
            device.expect("halt", launch.halt, &[u32::from(refused.contains(&true))])?;
        }
    }
    Ok(())
}

#[test]
fn attention_has_the_bits_of_the_reference_whether_rows_are_whole_sequences_or_single_tokens() {
    holds(forward);
}

/// Gradients of the rotated heads and of the values, from the reference, sequence by sequence.
fn reference_backward(batch: &Batch, out: &[f32], stats: &[RowStat], dout: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let Heads { queries, head_dim, .. } = batch.heads;
    let (width, query_width) = (batch.heads.width(), queries * head_dim);
    let mut dheads = vec![0.0; batch.rotated.len()];
    let mut dvalues = batch.values.clone();
    for span in &batch.spans {
        let rows = span.first..span.first + span.rows;
        let cut = |stride: usize| rows.start * stride..rows.end * stride;
        let backward = reference::AttendBackward {
            heads: batch.heads,
            layer: LAYER,
            slot: span.slot,
            len: span.rows,
            cache: &batch.cache,
            queries: &batch.rotated[cut(width)],
            out: &out[cut(query_width)],
            stats: &stats[cut(queries)],
            dout: &dout[cut(query_width)],
            scale: batch.scale(),
            scratch: &mut BackwardScratch::default(),
            dheads: &mut dheads[cut(width)],
            dvalues: &mut dvalues[cut(batch.values_stride)],
            dvalue_stride: batch.values_stride,
            dvalue_offset: 0,
        };
        backward.run(Isa::SCALAR);
    }
    (dheads, dvalues)
}

pub(super) fn backward(device: &mut Device<'_>) -> Result<(), Failure> {
    for shape in SHAPES {
        let batch = Batch::new(shape, &[[0, 1], [0, 16], [0, 35], [0, 2], [0, 17]], plain);
        let (out, stats, _) = batch.attend();
        let dout = plain(out.len(), 77);
        let (dheads, dvalues) = reference_backward(&batch, &out, &stats, &dout);
        let ends: Vec<u32> = batch
            .spans
            .iter()
            .flat_map(|span| std::iter::repeat_n((span.first + span.rows) as u32, span.rows))
            .collect();
        let square = batch.rows() * batch.heads.queries * batch.longest();
        let launch = AttendBackward {
            heads: device.put(&batch.rotated),
            values: device.put(&batch.values),
            values_stride: batch.values_stride as u32,
            out: device.put(&out),
            stats: device.put(&numbers(&stats)),
            dout: device.put(&dout),
            positions: device.put(&batch.positions()),
            rows: batch.rows() as u32,
            queries: batch.heads.queries as u32,
            keys: batch.heads.keys as u32,
            head_dim: batch.heads.head_dim as u32,
            scale: batch.scale(),
            longest: batch.longest() as u32,
            weights: device.room(square),
            dscores: device.room(square),
            dheads: device.room(dheads.len()),
        };
        device.run(&launch)?;
        // The values' gradients are written over the values.
        let dvalues_at: Address = launch.values;
        let keys = AttendBackwardKeys {
            heads: launch.heads,
            dout: launch.dout,
            weights: launch.weights,
            dscores: launch.dscores,
            positions: launch.positions,
            ends: device.put(&ends),
            rows: launch.rows,
            queries: launch.queries,
            keys: launch.keys,
            head_dim: launch.head_dim,
            longest: launch.longest,
            dheads: launch.dheads,
            dvalues: dvalues_at,
            dvalues_stride: launch.values_stride,
        };
        device.run(&keys)?;
        device.expect("dheads", launch.dheads, &dheads)?;
        device.expect("dvalues", dvalues_at, &dvalues)?;
    }
    Ok(())
}

#[test]
fn gradients_of_attention_have_the_bits_of_the_reference() {
    holds(backward);
}
