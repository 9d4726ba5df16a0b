//! Root-mean-square norm: `hat = x / sqrt(mean(x^2) + eps)`, `out = hat * gain`.

use crate::vector::{Isa, Kernel, LANES, V16, dispatch};

/// The norm of rows of `gain.len()` numbers.
pub(crate) struct Norm<'a> {
    /// Rows without gaps.
    pub(crate) x: &'a [f32],
    /// One a channel; a multiple of sixteen.
    pub(crate) gain: &'a [f32],
    /// Added to the mean square.
    pub(crate) eps: f32,
    /// Receives the rows divided by their root mean square.
    pub(crate) hat: &'a mut [f32],
    /// Receives one over each row's root mean square.
    pub(crate) inverse: &'a mut [f32],
    /// Receives the result.
    pub(crate) out: &'a mut [f32],
}

impl Norm<'_> {
    /// Computes; returns the first row that is not finite.
    pub(crate) fn run(self, isa: Isa) -> Option<usize> {
        dispatch(isa, self)
    }
}

impl Kernel for Norm<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<V: V16>(self) -> Option<usize> {
        let width = self.gain.len();
        let mut refused = None;
        for (row, inverse) in self.inverse.iter_mut().enumerate() {
            let x = &self.x[row * width..][..width];
            let mean = mean_square::<V>(x);
            if !mean.is_finite() && refused.is_none() {
                refused = Some(row);
            }
            *inverse = 1.0 / (mean + self.eps).sqrt();
            let hat = &mut self.hat[row * width..][..width];
            let out = &mut self.out[row * width..][..width];
            normalise_row::<V>(x, self.gain, *inverse, hat, out);
        }
        refused
    }
}

/// The mean of the squares: fused steps in sixteen strided lanes, the tree, one division.
#[inline(always)]
pub(super) fn mean_square<V: V16>(x: &[f32]) -> f32 {
    let mut lanes = V::zero();
    for part in x.as_chunks::<LANES>().0 {
        let part = V::load(part);
        lanes = part.fma(part, lanes);
    }
    lanes.sum() / x.len() as f32
}

/// `hat = x * inverse`, `out = hat * gain`.
#[inline(always)]
pub(super) fn normalise_row<V: V16>(x: &[f32], gain: &[f32], inverse: f32, hat: &mut [f32], out: &mut [f32]) {
    let inverse = V::splat(inverse);
    let parts = x.as_chunks::<LANES>().0.iter().zip(gain.as_chunks::<LANES>().0);
    let results = hat.as_chunks_mut::<LANES>().0.iter_mut().zip(out.as_chunks_mut::<LANES>().0);
    for ((x, gain), (hat, out)) in parts.zip(results) {
        let normal = V::load(x).mul(inverse);
        normal.store(hat);
        normal.mul(V::load(gain)).store(out);
    }
}

/// The gradient of the norm.
pub(crate) struct NormBackward<'a> {
    /// Gradient of the result, rows without gaps.
    pub(crate) dout: &'a [f32],
    /// What the forward pass wrote.
    pub(crate) hat: &'a [f32],
    /// What the forward pass wrote.
    pub(crate) inverse: &'a [f32],
    /// The gain.
    pub(crate) gain: &'a [f32],
    /// The gradient of the input is added here.
    pub(crate) dx: &'a mut [f32],
    /// Continues one chain a channel over the rows.
    pub(crate) dgain: &'a mut [f32],
}

impl NormBackward<'_> {
    /// Computes.
    pub(crate) fn run(self, isa: Isa) {
        dispatch(isa, self);
    }
}

impl Kernel for NormBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: V16>(self) {
        let width = self.gain.len();
        for (row, &inverse) in self.inverse.iter().enumerate() {
            let dout = &self.dout[row * width..][..width];
            let hat = &self.hat[row * width..][..width];
            let dx = &mut self.dx[row * width..][..width];
            norm_row_backward::<V>(dout, hat, inverse, self.gain, dx, self.dgain);
        }
    }
}

/// With `g = dout * gain` and `m = mean(g * hat)`: `dx += inverse (g - m hat)`, `dgain += dout * hat`.
#[inline(always)]
pub(super) fn norm_row_backward<V: V16>(
    dout: &[f32],
    hat: &[f32],
    inverse: f32,
    gain: &[f32],
    dx: &mut [f32],
    dgain: &mut [f32],
) {
    let douts = dout.as_chunks::<LANES>().0;
    let hats = hat.as_chunks::<LANES>().0;
    let gains = gain.as_chunks::<LANES>().0;
    let mut lanes = V::zero();
    for ((dout, hat), gain) in douts.iter().zip(hats).zip(gains) {
        lanes = V::load(dout).mul(V::load(gain)).fma(V::load(hat), lanes);
    }
    let minus_mean = V::splat(-(lanes.sum() / dout.len() as f32));
    let inverse = V::splat(inverse);
    let dxs = dx.as_chunks_mut::<LANES>().0.iter_mut();
    let dgains = dgain.as_chunks_mut::<LANES>().0.iter_mut();
    for ((((dout, hat), gain), dx), dgain) in douts.iter().zip(hats).zip(gains).zip(dxs).zip(dgains) {
        let (dout, hat) = (V::load(dout), V::load(hat));
        let inner = hat.fma(minus_mean, dout.mul(V::load(gain)));
        inner.fma(inverse, V::load(dx)).store(dx);
        dout.fma(hat, V::load(dgain)).store(dgain);
    }
}
