//! Rotary positions: the table of cosines and sines.

use crate::math;
use crate::shape::ModelShape;
use crate::vector::{LANES, Line};

/// `cos` and `sin` of every position and frequency.
pub(crate) struct Rope {
    /// Vectors of one half of a head.
    half: usize,
    /// For each position: cosines, then sines.
    lines: Vec<Line>,
}

impl Rope {
    /// The table of a shape. The angle of channel `i` at position `p` is `p` times its frequency, one product.
    pub(crate) fn new(shape: &ModelShape) -> Self {
        let half = shape.head_dim as usize / 2 / LANES;
        let frequencies = frequencies(shape);
        let mut lines = Vec::with_capacity(shape.context as usize * 2 * half);
        for position in 0..shape.context {
            let angle = |i: usize| position as f32 * frequencies[i];
            for vector in 0..half {
                lines.push(Line(core::array::from_fn(|lane| math::cos(angle(vector * LANES + lane)))));
            }
            for vector in 0..half {
                lines.push(Line(core::array::from_fn(|lane| math::sin(angle(vector * LANES + lane)))));
            }
        }
        Self { half, lines }
    }

    /// Cosines and sines of a position: as many vectors each as half a head has.
    #[inline(always)]
    pub(crate) fn at(&self, position: usize) -> (&[Line], &[Line]) {
        self.lines[position * 2 * self.half..][..2 * self.half].split_at(self.half)
    }
}

/// The frequency `base^(-2i/head_dim)` of each pair of channels, computed in double precision by roots and products alone
/// and rounded once.
pub(crate) fn frequencies(shape: &ModelShape) -> Vec<f32> {
    let channels = shape.head_dim as usize / 2;
    let frequency = |i| (1.0 / power(f64::from(shape.rope_base), i as f64 / channels as f64)) as f32;
    (0..channels).map(frequency).collect()
}

/// `base^exponent` for an exponent in `0..1`: for every binary digit of the exponent, the root that it stands for.
fn power(base: f64, exponent: f64) -> f64 {
    let (mut root, mut rest, mut product) = (base, exponent, 1.0);
    while rest > 0.0 {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            rest -= 1.0;
            product *= root;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::tests::TINY;

    #[test]
    fn powers_are_powers() {
        for (exponent, expected) in [(0.0, 1.0), (0.5, 100.0), (0.25, 10.0), (0.75, 1000.0)] {
            assert!((power(10_000.0, exponent) / expected - 1.0).abs() < 1e-15, "{exponent}");
        }
        let third = power(10_000.0, 1.0 / 3.0);
        assert!((third * third * third / 10_000.0 - 1.0).abs() < 1e-13);
    }

    #[test]
    fn every_entry_is_on_the_unit_circle_and_position_0_does_not_turn() {
        let rope = Rope::new(&TINY);
        let (cosines, sines) = rope.at(0);
        assert_eq!((cosines[0], sines[0]), (Line([1.0; 16]), Line::ZERO));
        for position in 0..TINY.context as usize {
            let (cosines, sines) = rope.at(position);
            for lane in 0..16 {
                let (c, s) = (cosines[0].0[lane], sines[0].0[lane]);
                assert!((c * c + s * s - 1.0).abs() < 1e-6);
            }
        }
    }
}
