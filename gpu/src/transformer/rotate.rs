//! Queries and keys: the norm of each head, then its rotation by position.

use super::norm::{mean_square, norm_row_backward, normalise_row};
use super::rope::Rope;
use crate::vector::{Isa, Kernel, LANES, Line, V16, dispatch};

/// Heads of a row: queries, then keys, each of `head_dim` channels.
#[derive(Clone, Copy)]
pub(crate) struct Heads {
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) head_dim: usize,
}

impl Heads {
    fn count(self) -> usize {
        self.queries + self.keys
    }

    /// Channels of all heads.
    pub(crate) fn width(self) -> usize {
        self.count() * self.head_dim
    }
}

/// The gains of queries and of keys.
#[derive(Clone, Copy)]
pub(crate) struct HeadGains<'a> {
    pub(crate) query: &'a [f32],
    pub(crate) key: &'a [f32],
}

impl<'a> HeadGains<'a> {
    #[inline(always)]
    fn of(self, head: usize, heads: Heads) -> &'a [f32] {
        if head < heads.queries { self.query } else { self.key }
    }
}

/// Norm and rotation of all heads of rows.
pub(crate) struct Rotate<'a> {
    pub(crate) heads: Heads,
    pub(crate) gains: HeadGains<'a>,
    pub(crate) eps: f32,
    pub(crate) rope: &'a Rope,
    /// Each row's position.
    pub(crate) positions: &'a [usize],
    /// Rows of `stride` numbers that begin with the heads.
    pub(crate) x: &'a [f32],
    pub(crate) stride: usize,
    /// Receives the heads divided by their root mean square, rows without gaps.
    pub(crate) hat: &'a mut [f32],
    /// Receives one over each head's root mean square.
    pub(crate) inverse: &'a mut [f32],
    /// Receives the rotated heads, rows without gaps.
    pub(crate) out: &'a mut [f32],
}

impl Rotate<'_> {
    /// Computes; returns the first row that is not finite.
    pub(crate) fn run(self, isa: Isa) -> Option<usize> {
        dispatch(isa, self)
    }
}

impl Kernel for Rotate<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<V: V16>(self) -> Option<usize> {
        let (heads, dim) = (self.heads, self.heads.head_dim);
        let mut refused = None;
        for (row, &position) in self.positions.iter().enumerate() {
            let (cosines, sines) = self.rope.at(position);
            for head in 0..heads.count() {
                let x = &self.x[row * self.stride + head * dim..][..dim];
                let at = row * heads.count() + head;
                let hat = &mut self.hat[at * dim..][..dim];
                let out = &mut self.out[at * dim..][..dim];
                let mean = mean_square::<V>(x);
                if !mean.is_finite() && refused.is_none() {
                    refused = Some(row);
                }
                let inverse = 1.0 / (mean + self.eps).sqrt();
                self.inverse[at] = inverse;
                normalise_row::<V>(x, self.gains.of(head, heads), inverse, hat, out);
                turn::<V>(out, cosines, sines);
            }
        }
        refused
    }
}

/// Turns the pairs `(first half, second half)` of a head: `(a cos - b sin, b cos + a sin)`.
#[inline(always)]
fn turn<V: V16>(head: &mut [f32], cosines: &[Line], sines: &[Line]) {
    let (first, second) = head.split_at_mut(head.len() / 2);
    let halves = first.as_chunks_mut::<LANES>().0.iter_mut().zip(second.as_chunks_mut::<LANES>().0);
    for ((first, second), (cosine, sine)) in halves.zip(cosines.iter().zip(sines)) {
        let (a, b) = (V::load(first), V::load(second));
        let (cosine, sine) = (V::load(&cosine.0), V::load(&sine.0));
        a.mul(cosine).sub(b.mul(sine)).store(first);
        b.mul(cosine).add(a.mul(sine)).store(second);
    }
}

/// Turns the pairs of a head back.
#[inline(always)]
fn turn_back<V: V16>(head: &mut [f32], cosines: &[Line], sines: &[Line]) {
    let (first, second) = head.split_at_mut(head.len() / 2);
    let halves = first.as_chunks_mut::<LANES>().0.iter_mut().zip(second.as_chunks_mut::<LANES>().0);
    for ((first, second), (cosine, sine)) in halves.zip(cosines.iter().zip(sines)) {
        let (a, b) = (V::load(first), V::load(second));
        let (cosine, sine) = (V::load(&cosine.0), V::load(&sine.0));
        a.mul(cosine).add(b.mul(sine)).store(first);
        b.mul(cosine).sub(a.mul(sine)).store(second);
    }
}

/// The gradient of norm and rotation; positions are `0, 1, 2, ...`.
pub(crate) struct RotateBackward<'a> {
    pub(crate) heads: Heads,
    pub(crate) gains: HeadGains<'a>,
    pub(crate) rope: &'a Rope,
    /// What the forward pass wrote.
    pub(crate) hat: &'a [f32],
    /// What the forward pass wrote.
    pub(crate) inverse: &'a [f32],
    /// Gradient of the rotated heads, rows without gaps; left turned back.
    pub(crate) dout: &'a mut [f32],
    /// Rows of `stride` numbers whose beginning receives the gradient of the heads.
    pub(crate) dx: &'a mut [f32],
    pub(crate) stride: usize,
    /// Continues one chain a channel over rows and, within a row, over query heads.
    pub(crate) dquery_gain: &'a mut [f32],
    /// The same for key heads.
    pub(crate) dkey_gain: &'a mut [f32],
}

impl RotateBackward<'_> {
    /// Computes.
    pub(crate) fn run(self, isa: Isa) {
        dispatch(isa, self);
    }
}

impl Kernel for RotateBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: V16>(self) {
        let (heads, dim) = (self.heads, self.heads.head_dim);
        for (row, dx) in self.dx.chunks_exact_mut(self.stride).enumerate() {
            let (cosines, sines) = self.rope.at(row);
            for head in 0..heads.count() {
                let at = row * heads.count() + head;
                let dout = &mut self.dout[at * dim..][..dim];
                turn_back::<V>(dout, cosines, sines);
                let dx = &mut dx[head * dim..][..dim];
                dx.fill(0.0);
                let hat = &self.hat[at * dim..][..dim];
                let gain = self.gains.of(head, heads);
                let dgain = if head < heads.queries { &mut *self.dquery_gain } else { &mut *self.dkey_gain };
                norm_row_backward::<V>(dout, hat, self.inverse[at], gain, dx, dgain);
            }
        }
    }
}
