//! The specification: sixteen lanes as a plain array.

use super::{LANES, V16};
use crate::math::Lane;

/// Sixteen values; each operation is the scalar one, lane by lane.
#[derive(Clone, Copy)]
pub(super) struct Lanes([f32; LANES]);

#[inline(always)]
fn lanewise(a: Lanes, b: Lanes, operation: impl Fn(f32, f32) -> f32) -> Lanes {
    let mut out = a;
    for lane in 0..LANES {
        out.0[lane] = operation(a.0[lane], b.0[lane]);
    }
    out
}

#[inline(always)]
fn bitwise(a: [i32; LANES], b: [i32; LANES], operation: impl Fn(i32, i32) -> i32) -> [i32; LANES] {
    let mut out = a;
    for lane in 0..LANES {
        out[lane] = operation(a[lane], b[lane]);
    }
    out
}

impl Lane for Lanes {
    type Bits = [i32; LANES];
    type Mask = [bool; LANES];

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; LANES])
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        lanewise(self, other, <f32 as Lane>::add)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        lanewise(self, other, <f32 as Lane>::sub)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        lanewise(self, other, <f32 as Lane>::mul)
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        lanewise(self, other, <f32 as Lane>::div)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(<f32 as Lane>::sqrt))
    }
    #[inline(always)]
    fn fma(self, factor: Self, addend: Self) -> Self {
        let mut out = self;
        for lane in 0..LANES {
            out.0[lane] = f32::mul_add(self.0[lane], factor.0[lane], addend.0[lane]);
        }
        out
    }
    #[inline(always)]
    fn less(self, other: Self) -> [bool; LANES] {
        let mut out = [false; LANES];
        for lane in 0..LANES {
            out[lane] = self.0[lane] < other.0[lane];
        }
        out
    }
    #[inline(always)]
    fn equal(self, other: Self) -> [bool; LANES] {
        let mut out = [false; LANES];
        for lane in 0..LANES {
            out[lane] = Lane::equal(self.0[lane], other.0[lane]);
        }
        out
    }
    #[inline(always)]
    fn select(mask: [bool; LANES], yes: Self, no: Self) -> Self {
        let mut out = no;
        for lane in 0..LANES {
            if mask[lane] {
                out.0[lane] = yes.0[lane];
            }
        }
        out
    }
    #[inline(always)]
    fn to_bits(self) -> [i32; LANES] {
        self.0.map(<f32 as Lane>::to_bits)
    }
    #[inline(always)]
    fn from_bits(bits: [i32; LANES]) -> Self {
        Self(bits.map(<f32 as Lane>::from_bits))
    }
    #[inline(always)]
    fn bits_splat(bits: i32) -> [i32; LANES] {
        [bits; LANES]
    }
    #[inline(always)]
    fn bits_add(a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        bitwise(a, b, i32::wrapping_add)
    }
    #[inline(always)]
    fn bits_sub(a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        bitwise(a, b, i32::wrapping_sub)
    }
    #[inline(always)]
    fn bits_and(a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        bitwise(a, b, |a, b| a & b)
    }
    #[inline(always)]
    fn bits_xor(a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        bitwise(a, b, |a, b| a ^ b)
    }
    #[inline(always)]
    fn bits_shl<const BY: u32>(a: [i32; LANES]) -> [i32; LANES] {
        a.map(|word| word << BY)
    }
    #[inline(always)]
    fn bits_sar<const BY: u32>(a: [i32; LANES]) -> [i32; LANES] {
        a.map(|word| word >> BY)
    }
}

impl V16 for Lanes {
    const TILE_ROWS: usize = 1;
    const TILE_COLS: usize = 1;

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        Self(*from)
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        *to = self.0;
    }
}
