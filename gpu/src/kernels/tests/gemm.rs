use super::device::{Device, Failure, holds};
use super::values::{Values, plain, shapes, wild, zeros};
use crate::gemm::reference;
use crate::kernels::{Address, GemmNn, GemmNt, GemmTn};

/// Rows, columns, length of the chains: nothing, one, odd, whole tiles, one beyond a tile, long.
const SHAPES: [[usize; 3]; 12] = [
    [0, 5, 3],
    [1, 1, 0],
    [1, 1, 1],
    [3, 5, 16],
    [7, 2, 31],
    [64, 64, 16],
    [65, 63, 17],
    [13, 100, 33],
    [130, 40, 20],
    [1, 129, 1],
    [16, 17, 300],
    [2, 3, 2049],
];

/// Rows `gap` further apart than they are long; what lies between them is to stay.
fn spread(values: &[f32], cols: usize, gap: usize) -> Vec<f32> {
    let mut spread = Vec::new();
    for row in values.chunks_exact(cols.max(1)) {
        spread.extend_from_slice(row);
        spread.extend(std::iter::repeat_n(7.5, gap));
    }
    spread
}

fn turned(values: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..rows * cols).map(|i| values[i % rows * cols + i / rows]).collect()
}

/// Which factor lies turned.
#[derive(Clone, Copy, PartialEq)]
enum Orientation {
    Nn,
    Nt,
    Tn,
}

/// Two factors `[m, k]` and `[k, n]`, and what the output held.
struct Factors {
    shape: [usize; 3],
    a: Vec<f32>,
    b: Vec<f32>,
    before: Vec<f32>,
}

impl Factors {
    fn check(
        &self,
        device: &mut Device<'_>,
        orientation: Orientation,
        from_output: bool,
        gap: usize,
    ) -> Result<(), Failure> {
        let [m, n, k] = self.shape;
        let mut expected = if from_output { self.before.clone() } else { vec![0.0; m * n] };
        reference::product(&self.a, &self.b, m, k, n, &mut expected);

        let (a, a_cols) =
            if orientation == Orientation::Tn { (turned(&self.a, m, k), m) } else { (self.a.clone(), k) };
        let (b, b_cols) =
            if orientation == Orientation::Nt { (turned(&self.b, k, n), k) } else { (self.b.clone(), n) };
        let a = device.put(&spread(&a, a_cols, gap));
        let b = device.put(&spread(&b, b_cols, 2 * gap));
        let c = device.put(&spread(&self.before, n, 3 * gap));
        let [a_stride, b_stride, c_stride] = [a_cols + gap, b_cols + 2 * gap, n + 3 * gap].map(|x| x as u32);
        let [m, n, k] = self.shape.map(|x| x as u32);
        let start = u32::from(from_output);
        match orientation {
            Orientation::Nn => device.run(&GemmNn { a, a_stride, b, b_stride, c, c_stride, m, n, k, start }),
            Orientation::Nt => device.run(&GemmNt { a, a_stride, b, b_stride, c, c_stride, m, n, k, start }),
            Orientation::Tn => device.run(&GemmTn { a, a_stride, b, b_stride, c, c_stride, m, n, k, start }),
        }?;
        device.expect("c", c, &spread(&expected, n as usize, 3 * gap))
    }
}

/// All shapes and some drawn ones, from 0 and from the output, with and without gaps between rows.
fn every_shape(device: &mut Device<'_>, orientation: Orientation) -> Result<(), Failure> {
    let drawn = shapes(12, [[150, 1], [150, 1], [100, 1]], 5);
    for (case, [m, n, k]) in SHAPES.into_iter().chain(drawn).enumerate() {
        let (shape, seed) = ([m, n, k], 10 * case as u64);
        let ways: [(Values, bool, usize); 3] = [(plain, false, 0), (wild, true, 3), (zeros, true, 0)];
        for (values, from_output, gap) in ways {
            let (a, b) = (values(m * k, seed), values(k * n, seed + 1));
            let factors = Factors { shape, a, b, before: values(m * n, seed + 2) };
            factors.check(device, orientation, from_output, gap)?;
        }
    }
    Ok(())
}

pub(super) fn nn(device: &mut Device<'_>) -> Result<(), Failure> {
    every_shape(device, Orientation::Nn)
}

pub(super) fn nt(device: &mut Device<'_>) -> Result<(), Failure> {
    every_shape(device, Orientation::Nt)
}

pub(super) fn tn(device: &mut Device<'_>) -> Result<(), Failure> {
    every_shape(device, Orientation::Tn)
}

#[test]
fn activations_times_a_matrix_are_the_chains_of_the_reference() {
    holds(nn);
}

#[test]
fn gradients_times_a_turned_matrix_are_the_chains_of_the_reference() {
    holds(nt);
}

#[test]
fn gradients_of_matrices_are_the_chains_of_the_reference() {
    holds(tn);
}

#[test]
fn a_chain_cut_into_launches_goes_on_where_it_stood() {
    holds(|device| {
        let (m, n, k) = (9, 21, 50);
        let (a, b) = (plain(m * k, 1), plain(k * n, 2));
        let mut expected = vec![0.0; m * n];
        reference::product(&a, &b, m, k, n, &mut expected);
        let (a, b, c) = (device.put(&a), device.put(&b), device.room(m * n));
        for (first, count) in [(0, 20), (20, 1), (21, 29)] {
            let (a, b): (Address, Address) = (a.floats(first), b.floats(first * n));
            let start = u32::from(first > 0);
            device.run(&GemmNn {
                a,
                a_stride: k as u32,
                b,
                b_stride: n as u32,
                c,
                c_stride: n as u32,
                m: m as u32,
                n: n as u32,
                k: count,
                start,
            })?;
        }
        device.expect("c", c, &expected)
    });
}
