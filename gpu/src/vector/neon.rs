//! Sixteen lanes in four 128-bit registers.

#![expect(unsafe_code, reason = "vendor intrinsics; each block says why it is sound")]

use super::{LANES, V16};
use crate::math::Lane;
use core::arch::aarch64::{
    float32x4_t, int32x4_t, uint32x4_t, vaddq_f32, vaddq_s32, vandq_s32, vbslq_f32, vceqq_f32, vcltq_f32,
    vdivq_f32, vdupq_n_f32, vdupq_n_s32, veorq_s32, vfmaq_f32, vld1q_f32, vmulq_f32, vreinterpretq_f32_s32,
    vreinterpretq_s32_f32, vshlq_s32, vsqrtq_f32, vst1q_f32, vsubq_f32, vsubq_s32,
};

// SAFETY (all blocks of this file): `Neon` is private to `vector` and named only by the NEON entry of `isa`, which runs
// after the processor has been found to have NEON; every intrinsic here needs that set and no other.

/// Registers of a vector.
const PARTS: usize = 4;
/// Lanes of a register.
const PART: usize = LANES / PARTS;

/// Sixteen lanes of an AArch64 processor: lanes 0 to 3, 4 to 7, 8 to 11, 12 to 15.
#[derive(Clone, Copy)]
pub(super) struct Neon([float32x4_t; PARTS]);

#[inline(always)]
fn each(a: Neon, operation: impl Fn(float32x4_t) -> float32x4_t) -> Neon {
    Neon([operation(a.0[0]), operation(a.0[1]), operation(a.0[2]), operation(a.0[3])])
}

#[inline(always)]
fn pairs<A: Copy, B>(a: [A; PARTS], b: [A; PARTS], operation: impl Fn(A, A) -> B) -> [B; PARTS] {
    [operation(a[0], b[0]), operation(a[1], b[1]), operation(a[2], b[2]), operation(a[3], b[3])]
}

impl Lane for Neon {
    type Bits = [int32x4_t; PARTS];
    type Mask = [uint32x4_t; PARTS];

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: see the head of the file.
        Self([unsafe { vdupq_n_f32(value) }; PARTS])
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(pairs(self.0, other.0, |a, b| unsafe { vaddq_f32(a, b) }))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(pairs(self.0, other.0, |a, b| unsafe { vsubq_f32(a, b) }))
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(pairs(self.0, other.0, |a, b| unsafe { vmulq_f32(a, b) }))
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(pairs(self.0, other.0, |a, b| unsafe { vdivq_f32(a, b) }))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: see the head of the file.
        each(self, |a| unsafe { vsqrtq_f32(a) })
    }
    #[inline(always)]
    fn fma(self, factor: Self, addend: Self) -> Self {
        let mut out = addend;
        for part in 0..PARTS {
            // SAFETY: see the head of the file. The instruction is `addend + self * factor`, rounded once.
            out.0[part] = unsafe { vfmaq_f32(addend.0[part], self.0[part], factor.0[part]) };
        }
        out
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see the head of the file.
        pairs(self.0, other.0, |a, b| unsafe { vcltq_f32(a, b) })
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        // SAFETY: see the head of the file.
        pairs(self.0, other.0, |a, b| unsafe { vceqq_f32(a, b) })
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        let mut out = no;
        for part in 0..PARTS {
            // SAFETY: see the head of the file.
            out.0[part] = unsafe { vbslq_f32(mask[part], yes.0[part], no.0[part]) };
        }
        out
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        // SAFETY: see the head of the file.
        self.0.map(|a| unsafe { vreinterpretq_s32_f32(a) })
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        // SAFETY: see the head of the file.
        Self(bits.map(|a| unsafe { vreinterpretq_f32_s32(a) }))
    }
    #[inline(always)]
    fn bits_splat(bits: i32) -> Self::Bits {
        // SAFETY: see the head of the file.
        [unsafe { vdupq_n_s32(bits) }; PARTS]
    }
    #[inline(always)]
    fn bits_add(a: Self::Bits, b: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file.
        pairs(a, b, |a, b| unsafe { vaddq_s32(a, b) })
    }
    #[inline(always)]
    fn bits_sub(a: Self::Bits, b: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file.
        pairs(a, b, |a, b| unsafe { vsubq_s32(a, b) })
    }
    #[inline(always)]
    fn bits_and(a: Self::Bits, b: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file.
        pairs(a, b, |a, b| unsafe { vandq_s32(a, b) })
    }
    #[inline(always)]
    fn bits_xor(a: Self::Bits, b: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file.
        pairs(a, b, |a, b| unsafe { veorq_s32(a, b) })
    }
    #[inline(always)]
    fn bits_shl<const BY: u32>(a: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file.
        a.map(|a| unsafe { vshlq_s32(a, vdupq_n_s32(BY as i32)) })
    }
    #[inline(always)]
    fn bits_sar<const BY: u32>(a: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file. A negative count shifts right and copies the sign.
        a.map(|a| unsafe { vshlq_s32(a, vdupq_n_s32(-(BY as i32))) })
    }
}

impl V16 for Neon {
    const TILE_ROWS: usize = 6;
    const TILE_COLS: usize = 1;

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        let mut out = Self::zero();
        for (part, values) in out.0.iter_mut().zip(from.as_chunks::<PART>().0) {
            // SAFETY: see the head of the file; the pointer is to four readable values and needs no alignment.
            *part = unsafe { vld1q_f32(values.as_ptr()) };
        }
        out
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        for (part, values) in self.0.into_iter().zip(to.as_chunks_mut::<PART>().0) {
            // SAFETY: see the head of the file; the pointer is to four writable values and needs no alignment.
            unsafe { vst1q_f32(values.as_mut_ptr(), part) }
        }
    }
}
