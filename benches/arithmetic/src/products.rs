//! Matrix products in the three orientations of training, and those of decoding, against three libraries.

use crate::contest::{Contender, contender, contest};
use faer::{Accum, MatMut, MatRef, Par};
use tadpole_gpu::gemm::{Packed, Rows, Scratch, Start, accumulate_transposed, product};
use tadpole_gpu::vector::Isa;

/// How the two factors are stored.
#[derive(Clone, Copy, PartialEq)]
pub enum Orientation {
    /// `a[m][k] b[k][n]`: activations times weights. The weights are packed beforehand, once a step of the optimiser.
    Plain,
    /// `a[m][k] b[n][k]`: gradients times transposed weights, packed beforehand.
    TransposedRight,
    /// `a[k][m] b[k][n]`, added to what is there: the gradient of weights. Nothing is packed beforehand.
    TransposedLeft,
}

/// A product to measure: `[m, k]` times `[k, n]`.
#[derive(Clone, Copy)]
pub struct Case {
    /// How factors are stored.
    pub orientation: Orientation,
    /// Rows of the result.
    pub m: usize,
    /// Length of the chains.
    pub k: usize,
    /// Columns of the result.
    pub n: usize,
}

/// From one row to the next, and from one column to the next.
type Strides = (isize, isize);

impl Case {
    /// Strides of the left and of the right factor.
    fn strides(self) -> (Strides, Strides) {
        let (m, k, n) = (self.m as isize, self.k as isize, self.n as isize);
        match self.orientation {
            Orientation::Plain => ((k, 1), (n, 1)),
            Orientation::TransposedRight => ((k, 1), (1, k)),
            Orientation::TransposedLeft => ((1, m), (n, 1)),
        }
    }

    /// Names and speeds in GFLOP/s, the exact kernel's first.
    pub fn measure(self, isa: Isa) -> Vec<(&'static str, f64)> {
        let Self { m, k, n, .. } = self;
        let (a, b) = (noise(m * k, 1), noise(k * n, 2));
        let mut results = vec![vec![0.0_f32; m * n]; 4];
        let [ours, by_gemm, by_faer, by_matrixmultiply] = results.as_mut_slice() else { return Vec::new() };
        let mut contenders = [
            self.exact(isa, &a, &b, ours),
            contender("gemm", || gemm_crate(self, &a, &b, by_gemm)),
            contender("faer", || faer(self, &a, &b, by_faer)),
            contender("matrixmultiply", || matrixmultiply(self, &a, &b, by_matrixmultiply)),
        ];
        for one in &mut contenders {
            (one.work)();
        }
        let names = contenders.each_ref().map(|one| one.name);
        let seconds = contest(&mut contenders);
        drop(contenders);
        self.check(&a, &b, &mut results);
        let flops = 2.0 * (m * k * n) as f64;
        names.into_iter().zip(seconds.into_iter().map(|seconds| flops / seconds / 1e9)).collect()
    }

    fn exact<'a>(self, isa: Isa, a: &'a [f32], b: &'a [f32], out: &'a mut [f32]) -> Contender<'a> {
        let name = "exact";
        let packed = match self.orientation {
            Orientation::Plain => Packed::from_rows(self.k, &[b]),
            Orientation::TransposedRight => Packed::from_columns(self.n, &[b]),
            Orientation::TransposedLeft => {
                let (a, b) = (Rows { values: a, stride: self.m }, Rows { values: b, stride: self.n });
                let mut scratch = Scratch::default();
                return contender(name, move || {
                    accumulate_transposed(isa, a, b, self.k, self.n, out, &mut scratch);
                });
            }
        };
        let a = Rows { values: a, stride: self.k };
        contender(name, move || product(isa, a, &packed, Start::Zero, out))
    }

    /// All contenders compute the product: each once more, from zero, compared within rounding.
    fn check(self, a: &[f32], b: &[f32], results: &mut [Vec<f32>]) {
        let isa = Isa::SCALAR;
        results.iter_mut().for_each(|result| result.fill(0.0));
        let [expected, by_gemm, by_faer, by_matrixmultiply] = results else { return };
        (self.exact(isa, a, b, expected).work)();
        gemm_crate(self, a, b, by_gemm);
        faer(self, a, b, by_faer);
        matrixmultiply(self, a, b, by_matrixmultiply);
        for found in [by_gemm, by_faer, by_matrixmultiply] {
            for (found, expected) in found.iter().zip(expected.iter()) {
                let allowed = 1e-5 * (self.k as f32).sqrt() + 1e-5 * expected.abs();
                assert!((found - expected).abs() <= allowed, "{found} instead of {expected}");
            }
        }
    }

    /// Whether the result is added to what is there.
    fn accumulates(self) -> bool {
        self.orientation == Orientation::TransposedLeft
    }
}

#[expect(unsafe_code, reason = "the library takes pointers")]
fn gemm_crate(case: Case, a: &[f32], b: &[f32], out: &mut [f32]) {
    let Case { m, k, n, .. } = case;
    let ((a_row, a_col), (b_row, b_col)) = case.strides();
    let adds = case.accumulates();
    // SAFETY: the strides and sizes describe `a`, `b` and `out`, which hold as many numbers.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n as isize,
            adds,
            a.as_ptr(),
            a_col,
            a_row,
            b.as_ptr(),
            b_col,
            b_row,
            if adds { 1.0 } else { 0.0 },
            1.0_f32,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

fn faer(case: Case, a: &[f32], b: &[f32], out: &mut [f32]) {
    let Case { m, k, n, orientation } = case;
    let a = match orientation {
        Orientation::TransposedLeft => MatRef::from_row_major_slice(a, k, m).transpose(),
        _ => MatRef::from_row_major_slice(a, m, k),
    };
    let b = match orientation {
        Orientation::TransposedRight => MatRef::from_row_major_slice(b, n, k).transpose(),
        _ => MatRef::from_row_major_slice(b, k, n),
    };
    let out = MatMut::from_row_major_slice_mut(out, m, n);
    let start = if case.accumulates() { Accum::Add } else { Accum::Replace };
    faer::linalg::matmul::matmul(out, start, a, b, 1.0_f32, Par::Seq);
}

#[expect(unsafe_code, reason = "the library takes pointers")]
fn matrixmultiply(case: Case, a: &[f32], b: &[f32], out: &mut [f32]) {
    let Case { m, k, n, .. } = case;
    let ((a_row, a_col), (b_row, b_col)) = case.strides();
    let start = if case.accumulates() { 1.0 } else { 0.0 };
    let (a, b, to) = (a.as_ptr(), b.as_ptr(), out.as_mut_ptr());
    // SAFETY: the strides and sizes describe `a`, `b` and `out`, which hold as many numbers.
    unsafe { matrixmultiply::sgemm(m, k, n, 1.0, a, a_row, a_col, b, b_row, b_col, start, to, n as isize, 1) }
}

/// Numbers of `-1..1` that look random.
fn noise(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as i32 as f32 / i32::MAX as f32
    };
    (0..len).map(|_| next()).collect()
}
