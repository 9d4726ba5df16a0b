use super::device::{Device, Failure, holds};
use super::values::{Values, below, plain, spoilt, wild};
use crate::kernels::{HeadGain, NO_FAULT, RopeTable, Rotate, RotateBackward};
use crate::shape::ModelShape;
use crate::shape::tests::TINY;
use crate::transformer::rope::{Rope, frequencies};
use crate::transformer::rotate as reference;
use crate::transformer::rotate::{HeadGains, Heads};
use crate::vector::Isa;

const EPS: f32 = 1.0e-6;
const CODE: u32 = 4;
/// Query heads, key heads, channels of a head, rows.
const SHAPES: [[usize; 4]; 4] = [[2, 1, 32, 0], [1, 1, 32, 1], [2, 1, 32, 19], [6, 2, 96, 5]];

fn rope(head_dim: usize) -> (Rope, Vec<f32>) {
    let rope = Rope::new(&ModelShape { head_dim: head_dim as u32, ..TINY });
    let mut table = Vec::new();
    for position in 0..TINY.context as usize {
        let (cosines, sines) = rope.at(position);
        table.extend(cosines.iter().chain(sines).flat_map(|line| line.0));
    }
    (rope, table)
}

#[test]
fn the_table_of_rotations_is_the_processors() {
    holds(|device| {
        for head_dim in [32, 96, 320] {
            let shape = ModelShape { head_dim: head_dim as u32, ..TINY };
            let (_, table) = rope(head_dim);
            let launch = RopeTable {
                frequencies: device.put(&frequencies(&shape)),
                context: shape.context,
                half: head_dim as u32 / 2,
                table: device.room(table.len()),
            };
            device.run(&launch)?;
            device.expect("table", launch.table, &table)?;
        }
        Ok(())
    });
}

fn forward(device: &mut Device<'_>, shape: [usize; 4], values: Values) -> Result<(), Failure> {
    let [queries, keys, head_dim, rows] = shape;
    let heads = Heads { queries, keys, head_dim };
    let (rope, table) = rope(head_dim);
    // Rows begin with the heads; behind them stand values that are no business of this kernel.
    let stride = heads.width() + 16;
    let x = values(rows * stride, 1);
    let (query, key) = (plain(head_dim, 2), plain(head_dim, 3));
    let positions = below(TINY.context, rows, 4);
    let mut hat = vec![0.0; rows * heads.width()];
    let mut out = hat.clone();
    let mut inverse = vec![0.0; rows * (queries + keys)];
    let mut faults = vec![NO_FAULT; rows];
    for row in 0..rows {
        let (width, count) = (heads.width(), queries + keys);
        let rotate = reference::Rotate {
            heads,
            gains: HeadGains { query: &query, key: &key },
            eps: EPS,
            rope: &rope,
            positions: &[positions[row] as usize],
            x: &x[row * stride..][..stride],
            stride,
            hat: &mut hat[row * width..][..width],
            inverse: &mut inverse[row * count..][..count],
            out: &mut out[row * width..][..width],
        };
        if rotate.run(Isa::SCALAR).is_some() {
            faults[row] = CODE;
        }
    }
    let launch = Rotate {
        x: device.put(&x),
        stride: stride as u32,
        query_gain: device.put(&query),
        key_gain: device.put(&key),
        eps: EPS,
        table: device.put(&table),
        positions: device.put(&positions),
        rows: rows as u32,
        queries: queries as u32,
        keys: keys as u32,
        head_dim: head_dim as u32,
        hat: device.room(hat.len()),
        inverse: device.room(inverse.len()),
        out: device.room(out.len()),
        faults: device.put(&vec![NO_FAULT; rows]),
        halt: device.put(&[0_u32]),
        code: CODE,
    };
    device.run(&launch)?;
    device.expect("hat", launch.hat, &hat)?;
    device.expect("inverse", launch.inverse, &inverse)?;
    device.expect("out", launch.out, &out)?;
    device.expect("faults", launch.faults, &faults)?;
    device.expect("halt", launch.halt, &[u32::from(faults.contains(&CODE))])
}

#[test]
fn heads_are_normed_and_rotated_as_by_the_reference() {
    holds(|device| {
        for shape in SHAPES {
            for values in [plain, wild, spoilt] {
                forward(device, shape, values)?;
            }
        }
        Ok(())
    });
}

fn backward(device: &mut Device<'_>, shape: [usize; 4], values: Values) -> Result<(), Failure> {
    let [queries, keys, head_dim, rows] = shape;
    let heads = Heads { queries, keys, head_dim };
    let (count, width) = (queries + keys, heads.width());
    let (rope, table) = rope(head_dim);
    let stride = width + 16;
    let (dheads, hat) = (values(rows * width, 1), values(rows * width, 2));
    let (inverse, before) = (values(rows * count, 3), values(rows * stride, 4));
    let (query, key) = (plain(head_dim, 5), plain(head_dim, 6));
    // Two sequences: the reference's positions begin anew with each.
    let starts = [0, rows / 3, rows];
    let (mut turned, mut dx) = (dheads.clone(), before.clone());
    let mut parts = vec![0.0; 2 * 2 * head_dim];
    for sequence in 0..2 {
        let [first, end] = [starts[sequence], starts[sequence + 1]];
        let (dquery_gain, dkey_gain) =
            parts[sequence * 2 * head_dim..][..2 * head_dim].split_at_mut(head_dim);
        let rotate = reference::RotateBackward {
            heads,
            gains: HeadGains { query: &query, key: &key },
            rope: &rope,
            hat: &hat[first * width..end * width],
            inverse: &inverse[first * count..end * count],
            dout: &mut turned[first * width..end * width],
            dx: &mut dx[first * stride..end * stride],
            stride,
            dquery_gain,
            dkey_gain,
        };
        rotate.run(Isa::SCALAR);
    }
    let positions: Vec<u32> =
        (0..rows).map(|row| (if row < starts[1] { row } else { row - starts[1] }) as u32).collect();
    let launch = RotateBackward {
        dheads: device.put(&dheads),
        hat: device.put(&hat),
        inverse: device.put(&inverse),
        query_gain: device.put(&query),
        key_gain: device.put(&key),
        table: device.put(&table),
        positions: device.put(&positions),
        rows: rows as u32,
        queries: queries as u32,
        keys: keys as u32,
        head_dim: head_dim as u32,
        dx: device.put(&before),
        stride: stride as u32,
    };
    device.run(&launch)?;
    device.expect("dheads", launch.dheads, &turned)?;
    device.expect("dx", launch.dx, &dx)?;

    let found = device.room(parts.len());
    let of_queries = HeadGain {
        dheads: launch.dheads,
        hat: launch.hat,
        starts: device.put(&starts.map(|row| row as u32)),
        sequences: 2,
        heads: count as u32,
        first: 0,
        count: queries as u32,
        head_dim: head_dim as u32,
        parts: found,
        parts_stride: 2 * head_dim as u32,
    };
    device.run(&of_queries)?;
    let (first, count) = (queries as u32, keys as u32);
    device.run(&HeadGain { first, count, parts: found.floats(head_dim), ..of_queries })?;
    device.expect("parts", found, &parts)
}

#[test]
fn gradients_of_heads_and_their_gains_have_the_bits_of_the_reference() {
    holds(|device| {
        for shape in SHAPES {
            for values in [plain, wild] {
                backward(device, shape, values)?;
            }
        }
        Ok(())
    });
}
