//! Elementary functions over slices.

use super::{Isa, Kernel, LANES, V16, dispatch};
use crate::math::exp;

/// Replaces every value by its exponential, [`exp()`] of it bit for bit.
pub fn exp_all(isa: Isa, values: &mut [f32]) {
    dispatch(isa, ExpAll(values));
}

struct ExpAll<'a>(&'a mut [f32]);

impl Kernel for ExpAll<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: V16>(self) {
        let (blocks, rest) = self.0.as_chunks_mut::<LANES>();
        for block in blocks {
            exp(V::load(block)).store(block);
        }
        for value in rest {
            *value = exp(*value);
        }
    }
}
