use super::device::{Device, Failure, holds};
use super::values::{plain, shapes, spoilt, wild};
use crate::kernels::{GainSum, NO_FAULT, Norm, NormBackward, NormGain};
use crate::transformer::norm as reference;
use crate::vector::Isa;

const EPS: f32 = 1.0e-6;
/// Rows and channels: no row, a block's rows and one more, one vector, more channels than threads.
const SHAPES: [[usize; 2]; 6] = [[0, 16], [1, 16], [3, 48], [8, 32], [9, 96], [17, 144]];
/// [`SHAPES`] and some drawn ones.
fn every_shape() -> Vec<[usize; 2]> {
    [SHAPES.to_vec(), shapes(8, [[40, 1], [320, 16]], 1)].concat()
}

/// What stands in `faults` before, and what the launch writes.
const EARLIER: u32 = 3;
const CODE: u32 = 5;

/// What the reference makes of rows.
struct Forward {
    hat: Vec<f32>,
    inverse: Vec<f32>,
    out: Vec<f32>,
    /// Rows that it refuses.
    refused: Vec<bool>,
}

fn forward(x: &[f32], gain: &[f32]) -> Forward {
    let rows = x.len() / gain.len();
    let mut found = Forward {
        hat: vec![0.0; x.len()],
        inverse: vec![0.0; rows],
        out: vec![0.0; x.len()],
        refused: Vec::new(),
    };
    for row in 0..rows {
        let place = row * gain.len()..(row + 1) * gain.len();
        let norm = reference::Norm {
            x: &x[place.clone()],
            gain,
            eps: EPS,
            hat: &mut found.hat[place.clone()],
            inverse: &mut found.inverse[row..=row],
            out: &mut found.out[place],
        };
        found.refused.push(norm.run(Isa::SCALAR).is_some());
    }
    found
}

pub(super) fn norm(device: &mut Device<'_>) -> Result<(), Failure> {
    for (case, [rows, width]) in every_shape().into_iter().enumerate() {
        for values in [plain, wild, spoilt] {
            let (x, gain) = (values(rows * width, case as u64), plain(width, 50));
            let expected = forward(&x, &gain);
            let mut faults = vec![NO_FAULT; rows];
            if let Some(first) = faults.first_mut() {
                *first = EARLIER;
            }
            let noted: Vec<u32> = (0..rows)
                .map(|row| if expected.refused[row] { CODE.min(faults[row]) } else { faults[row] })
                .collect();
            let launch = Norm {
                x: device.put(&x),
                gain: device.put(&gain),
                eps: EPS,
                rows: rows as u32,
                width: width as u32,
                hat: device.room(x.len()),
                inverse: device.room(rows),
                out: device.room(x.len()),
                faults: device.put(&faults),
                halt: device.put(&[0_u32]),
                code: CODE,
            };
            device.run(&launch)?;
            device.expect("hat", launch.hat, &expected.hat)?;
            device.expect("inverse", launch.inverse, &expected.inverse)?;
            device.expect("out", launch.out, &expected.out)?;
            device.expect("faults", launch.faults, &noted)?;
            device.expect("halt", launch.halt, &[u32::from(expected.refused.contains(&true))])?;
        }
    }
    Ok(())
}

#[test]
fn a_norm_has_the_bits_of_the_reference_and_notes_what_is_not_finite() {
    holds(norm);
}

#[test]
fn the_gradient_of_a_norm_has_the_bits_of_the_reference() {
    holds(|device| {
        for (case, [rows, width]) in every_shape().into_iter().enumerate() {
            for values in [plain, wild] {
                let seed = case as u64;
                let (dout, hat) = (values(rows * width, seed), values(rows * width, seed + 10));
                let (inverse, gain) = (values(rows, seed + 20), plain(width, seed + 30));
                let before = values(rows * width, seed + 40);
                let mut dx = before.clone();
                let backward = reference::NormBackward {
                    dout: &dout,
                    hat: &hat,
                    inverse: &inverse,
                    gain: &gain,
                    dx: &mut dx,
                    dgain: &mut vec![0.0; width],
                };
                backward.run(Isa::SCALAR);
                let launch = NormBackward {
                    dout: device.put(&dout),
                    hat: device.put(&hat),
                    inverse: device.put(&inverse),
                    gain: device.put(&gain),
                    rows: rows as u32,
                    width: width as u32,
                    dx: device.put(&before),
                };
                device.run(&launch)?;
                device.expect("dx", launch.dx, &dx)?;
            }
        }
        Ok(())
    });
}

#[test]
fn the_gradient_of_a_gain_is_summed_sequence_by_sequence() {
    holds(|device| {
        // A sequence without rows, as one without targets is in front of the last norm.
        let starts = [0_u32, 4, 4, 5, 21];
        let (sequences, rows, stride) = (4, 21, 200);
        for width in [16, 144] {
            let (dout, hat, gain) = (wild(rows * width, 1), wild(rows * width, 2), plain(width, 3));
            let before = wild(width, 4);
            let (mut parts, mut sums) = (vec![-2.5; sequences * stride], before.clone());
            for sequence in 0..sequences {
                let [first, end] = [starts[sequence], starts[sequence + 1]].map(|row| row as usize);
                let place = first * width..end * width;
                let part = &mut parts[sequence * stride..][..width];
                part.fill(0.0);
                let backward = reference::NormBackward {
                    dout: &dout[place.clone()],
                    hat: &hat[place.clone()],
                    inverse: &vec![1.0; end - first],
                    gain: &gain,
                    dx: &mut vec![0.0; place.len()],
                    dgain: part,
                };
                backward.run(Isa::SCALAR);
                for (sum, part) in sums.iter_mut().zip(&parts[sequence * stride..]) {
                    *sum += part;
                }
            }
            let launch = NormGain {
                dout: device.put(&dout),
                hat: device.put(&hat),
                starts: device.put(&starts),
                sequences: sequences as u32,
                width: width as u32,
                parts: device.put(&vec![-2.5_f32; sequences * stride]),
                parts_stride: stride as u32,
            };
            device.run(&launch)?;
            device.expect("parts", launch.parts, &parts)?;
            let NormGain { parts, parts_stride, sequences, width, .. } = launch;
            let out = device.put(&before);
            device.run(&GainSum { parts, parts_stride, sequences, width, out })?;
            device.expect("sums", out, &sums)?;
        }
        Ok(())
    });
}
