//! The gated unit: `act = silu(gate) * up`, `silu(g) = g / (1 + e^-g)`.

use crate::math::sigmoid;
use crate::vector::{Isa, Kernel, LANES, V16, dispatch};

/// The gated unit over rows of `2 hidden` numbers: gates, then ups.
pub(crate) struct Gated<'a> {
    pub(crate) hidden: usize,
    pub(crate) gate_up: &'a [f32],
    /// Rows of `hidden` numbers.
    pub(crate) act: &'a mut [f32],
}

impl Gated<'_> {
    /// Computes.
    pub(crate) fn run(self, isa: Isa) {
        dispatch(isa, self);
    }
}

impl Kernel for Gated<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: V16>(self) {
        let rows = self.gate_up.chunks_exact(2 * self.hidden).zip(self.act.chunks_exact_mut(self.hidden));
        for (gate_up, act) in rows {
            let (gate, up) = gate_up.split_at(self.hidden);
            let inputs = gate.as_chunks::<LANES>().0.iter().zip(up.as_chunks::<LANES>().0);
            for ((gate, up), act) in inputs.zip(act.as_chunks_mut::<LANES>().0) {
                let gate = V::load(gate);
                gate.mul(sigmoid(gate)).mul(V::load(up)).store(act);
            }
        }
    }
}

/// The gradient of the gated unit; replaces gates and ups by their gradients.
pub(crate) struct GatedBackward<'a> {
    pub(crate) hidden: usize,
    /// Gradient of the result, rows of `hidden` numbers.
    pub(crate) dact: &'a [f32],
    /// In: gates and ups. Out: their gradients.
    pub(crate) gate_up: &'a mut [f32],
}

impl GatedBackward<'_> {
    /// Computes.
    pub(crate) fn run(self, isa: Isa) {
        dispatch(isa, self);
    }
}

impl Kernel for GatedBackward<'_> {
    type Output = ();

    /// With `s = sigmoid(g)`: `dgate = dact * up * s (1 + g (1 - s))`, `dup = dact * g s`.
    #[inline(always)]
    fn run<V: V16>(self) {
        let one = V::splat(1.0);
        let rows = self.gate_up.chunks_exact_mut(2 * self.hidden).zip(self.dact.chunks_exact(self.hidden));
        for (gate_up, dact) in rows {
            let (gate, up) = gate_up.split_at_mut(self.hidden);
            let inputs = gate.as_chunks_mut::<LANES>().0.iter_mut().zip(up.as_chunks_mut::<LANES>().0);
            for ((gate, up), dact) in inputs.zip(dact.as_chunks::<LANES>().0) {
                let (g, u, dact) = (V::load(gate), V::load(up), V::load(dact));
                let s = sigmoid(g);
                let slope = g.fma(one.sub(s), one).mul(s);
                dact.mul(u).mul(slope).store(gate);
                dact.mul(g.mul(s)).store(up);
            }
        }
    }
}
