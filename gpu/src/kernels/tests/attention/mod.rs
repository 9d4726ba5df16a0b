mod batch;

use super::device::{Device, Failure, holds};
use super::values::{below, plain, spoilt};
use crate::kernels::{Address, AttendBackward, AttendBackwardKeys, NO_FAULT};
use crate::transformer::attention::{self as reference, BackwardScratch, RowStat};
use crate::transformer::rotate::Heads;
use crate::vector::Isa;
use batch::{Batch, numbers};

/// What the launch writes into `faults`.
const CODE: u32 = 6;
/// The layer that is tested; the other's part of each page must stay as it is.
const LAYER: usize = 1;
/// Query heads, key-value heads, channels of a head.
const SHAPES: [[usize; 3]; 3] = [[2, 1, 32], [6, 2, 64], [3, 3, 160]];
/// Positions before a batch, and rows in it, slot by slot: whole sequences, ones that end a page or begin one, stretches
/// that continue, single tokens.
const SPANS: [[usize; 2]; 7] = [[0, 1], [0, 16], [0, 33], [15, 1], [16, 2], [40, 1], [7, 20]];

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
