//! Sixteen lanes in two 256-bit registers.

#![expect(unsafe_code, reason = "vendor intrinsics; each block says why it is sound")]

use super::{LANES, V16};
use crate::math::Lane;
use core::arch::x86_64::{
    __m256, __m256i, _CMP_EQ_OQ, _CMP_LT_OQ, _mm256_add_epi32, _mm256_add_ps, _mm256_and_si256,
    _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_div_ps,
    _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_mul_ps, _mm256_set1_epi32, _mm256_set1_ps,
    _mm256_sqrt_ps, _mm256_storeu_ps, _mm256_sub_epi32, _mm256_sub_ps, _mm256_xor_si256,
};

// SAFETY (all blocks of this file): `Avx2` is private to `vector` and named only by the AVX2 entry of `isa`, which runs
// after the processor has been found to have AVX2 and FMA; every intrinsic here needs those sets and no other.

/// Sixteen lanes of a processor with AVX2 and FMA: lanes 0 to 7, lanes 8 to 15.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256, __m256);

impl Lane for Avx2 {
    type Bits = (__m256i, __m256i);
    type Mask = (__m256, __m256);

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: see the head of the file.
        let half = unsafe { _mm256_set1_ps(value) };
        Self(half, half)
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        unsafe { Self(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1)) }
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        unsafe { Self(_mm256_sub_ps(self.0, other.0), _mm256_sub_ps(self.1, other.1)) }
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        unsafe { Self(_mm256_mul_ps(self.0, other.0), _mm256_mul_ps(self.1, other.1)) }
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        unsafe { Self(_mm256_div_ps(self.0, other.0), _mm256_div_ps(self.1, other.1)) }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: see the head of the file.
        unsafe { Self(_mm256_sqrt_ps(self.0), _mm256_sqrt_ps(self.1)) }
    }
    #[inline(always)]
    fn fma(self, factor: Self, addend: Self) -> Self {
        // SAFETY: see the head of the file.
        unsafe {
            Self(_mm256_fmadd_ps(self.0, factor.0, addend.0), _mm256_fmadd_ps(self.1, factor.1, addend.1))
        }
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see the head of the file.
        unsafe {
            (_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0), _mm256_cmp_ps::<_CMP_LT_OQ>(self.1, other.1))
        }
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        // SAFETY: see the head of the file.
        unsafe {
            (_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, other.0), _mm256_cmp_ps::<_CMP_EQ_OQ>(self.1, other.1))
        }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see the head of the file.
        unsafe { Self(_mm256_blendv_ps(no.0, yes.0, mask.0), _mm256_blendv_ps(no.1, yes.1, mask.1)) }
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        // SAFETY: see the head of the file.
        unsafe { (_mm256_castps_si256(self.0), _mm256_castps_si256(self.1)) }
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        // SAFETY: see the head of the file.
        unsafe { Self(_mm256_castsi256_ps(bits.0), _mm256_castsi256_ps(bits.1)) }
    }
    #[inline(always)]
    fn bits_splat(bits: i32) -> Self::Bits {
        // SAFETY: see the head of the file.
        let half = unsafe { _mm256_set1_epi32(bits) };
        (half, half)
    }
    #[inline(always)]
    fn bits_add(a: Self::Bits, b: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file.
        unsafe { (_mm256_add_epi32(a.0, b.0), _mm256_add_epi32(a.1, b.1)) }
    }
    #[inline(always)]
    fn bits_sub(a: Self::Bits, b: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file.
        unsafe { (_mm256_sub_epi32(a.0, b.0), _mm256_sub_epi32(a.1, b.1)) }
    }
    #[inline(always)]
    fn bits_and(a: Self::Bits, b: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file.
        unsafe { (_mm256_and_si256(a.0, b.0), _mm256_and_si256(a.1, b.1)) }
    }
    #[inline(always)]
    fn bits_xor(a: Self::Bits, b: Self::Bits) -> Self::Bits {
        // SAFETY: see the head of the file.
        unsafe { (_mm256_xor_si256(a.0, b.0), _mm256_xor_si256(a.1, b.1)) }
    }
    #[inline(always)]
    fn bits_shl<const BY: u32>(a: Self::Bits) -> Self::Bits {
        shift_left(a, BY)
    }
    #[inline(always)]
    fn bits_sar<const BY: u32>(a: Self::Bits) -> Self::Bits {
        shift_right(a, BY)
    }
}

/// Left shift of every word; the count is a constant once inlined.
#[inline(always)]
fn shift_left(a: (__m256i, __m256i), by: u32) -> (__m256i, __m256i) {
    use core::arch::x86_64::{_mm_cvtsi32_si128, _mm256_sll_epi32};
    // SAFETY: see the head of the file.
    unsafe {
        let count = _mm_cvtsi32_si128(by as i32);
        (_mm256_sll_epi32(a.0, count), _mm256_sll_epi32(a.1, count))
    }
}

/// Arithmetic right shift of every word; the count is a constant once inlined.
#[inline(always)]
fn shift_right(a: (__m256i, __m256i), by: u32) -> (__m256i, __m256i) {
    use core::arch::x86_64::{_mm_cvtsi32_si128, _mm256_sra_epi32};
    // SAFETY: see the head of the file.
    unsafe {
        let count = _mm_cvtsi32_si128(by as i32);
        (_mm256_sra_epi32(a.0, count), _mm256_sra_epi32(a.1, count))
    }
}

impl V16 for Avx2 {
    const TILE_ROWS: usize = 6;
    const TILE_COLS: usize = 1;

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        let ([low, high], []) = from.as_chunks::<8>() else { return Self::zero() };
        // SAFETY: see the head of the file; each pointer is to eight readable values and needs no alignment.
        unsafe { Self(_mm256_loadu_ps(low.as_ptr()), _mm256_loadu_ps(high.as_ptr())) }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        if let ([low, high], []) = to.as_chunks_mut::<8>() {
            // SAFETY: see the head of the file; each pointer is to eight writable values and needs no alignment.
            unsafe {
                _mm256_storeu_ps(low.as_mut_ptr(), self.0);
                _mm256_storeu_ps(high.as_mut_ptr(), self.1);
            }
        }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: see the head of the file. The instruction is `self > other ? self : other` by definition.
        unsafe { Self(_mm256_max_ps(self.0, other.0), _mm256_max_ps(self.1, other.1)) }
    }
}
