use super::device::{Device, Failure, holds};
use super::values::{shapes, spoilt, wild};
use crate::kernels::{Add, FromBf16, Gated, GatedBackward, ToBf16};
use crate::transformer::feed_forward as reference;
use crate::vector::Isa;
use half::bf16;

/// Rows and channels: no row, one vector, channels below, at and above the threads of a block.
const SHAPES: [[usize; 2]; 5] = [[0, 16], [1, 16], [3, 48], [2, 256], [4, 272]];

#[test]
fn the_gated_unit_and_its_gradient_have_the_bits_of_the_reference() {
    holds(|device| {
        for [rows, hidden] in [SHAPES.to_vec(), shapes(8, [[9, 1], [640, 16]], 1)].concat() {
            for values in [wild, spoilt] {
                let gate_up: Vec<f32> = values(rows * 2 * hidden, 1).into_iter().map(|x| x * 4.0).collect();
                let dact = values(rows * hidden, 2);
                let mut act = vec![0.0; rows * hidden];
                reference::Gated { hidden, gate_up: &gate_up, act: &mut act }.run(Isa::SCALAR);
                let mut gradients = gate_up.clone();
                let backward = reference::GatedBackward { hidden, dact: &dact, gate_up: &mut gradients };
                backward.run(Isa::SCALAR);

                let (gate_up, dact) = (device.put(&gate_up), device.put(&dact));
                let (rows, hidden, found) = (rows as u32, hidden as u32, device.room(act.len()));
                device.run(&Gated { gate_up, rows, hidden, act: found })?;
                device.expect("act", found, &act)?;
                device.run(&GatedBackward { dact, gate_up, rows, hidden })?;
                device.expect("gradients", gate_up, &gradients)?;
            }
        }
        Ok(())
    });
}

pub(super) fn add(device: &mut Device<'_>) -> Result<(), Failure> {
    for len in [0, 1, 255, 257] {
        let (from, before) = (wild(len, 1), wild(len, 2));
        let expected: Vec<f32> = before.iter().zip(&from).map(|(a, b)| a + b).collect();
        let (from, out) = (device.put(&from), device.put(&before));
        device.run(&Add { from, count: len as u64, out })?;
        device.expect("out", out, &expected)?;
    }
    Ok(())
}

#[test]
fn vectors_are_added_number_by_number() {
    holds(add);
}

#[test]
fn bf16_is_rounded_as_on_the_host_and_read_back_exactly() {
    holds(|device| {
        // Every upper half with lower halves around the middle, so every tie, NaN and infinity.
        let mut values = Vec::new();
        for upper in (0..=u16::MAX).step_by(61) {
            for lower in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                values.push(f32::from_bits(u32::from(upper) << 16 | lower));
            }
        }
        values.extend(wild(1000, 1));
        let short: Vec<u16> = values.iter().map(|&value| bf16::from_f32(value).to_bits()).collect();
        let long: Vec<f32> = short.iter().map(|&bits| bf16::from_bits(bits).to_f32()).collect();
        let (count, at) = (values.len() as u64, device.put(&values));
        let (found, back) = (device.put(&vec![0_u16; values.len()]), device.room(values.len()));
        device.run(&ToBf16 { values: at, count, out: found })?;
        device.expect("bf16", found, &short)?;
        device.run(&FromBf16 { values: found, count, out: back })?;
        device.expect("f32", back, &long)
    });
}
