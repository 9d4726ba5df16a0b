//! Sixteen lanes in one 512-bit register.

#![expect(unsafe_code, reason = "vendor intrinsics; each block says why it is sound")]

use super::{LANES, V16};
use crate::math::Lane;
use core::arch::x86_64::{
    __m512, __m512i, __mmask16, _CMP_EQ_OQ, _CMP_LT_OQ, _mm512_add_epi32, _mm512_add_ps, _mm512_and_si512,
    _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_div_ps, _mm512_fmadd_ps,
    _mm512_loadu_ps, _mm512_mask_blend_ps, _mm512_max_ps, _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_ps,
    _mm512_slli_epi32, _mm512_sqrt_ps, _mm512_srai_epi32, _mm512_storeu_ps, _mm512_sub_epi32, _mm512_sub_ps,
    _mm512_xor_si512,
};

// SAFETY (all blocks of this file): `Avx512` is private to `vector` and named only by the AVX-512 entry of `isa`, which
// runs after the processor has been found to have AVX-512F; every intrinsic here needs that set and no other.

/// Sixteen lanes of a processor with AVX-512F.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512);

impl Lane for Avx512 {
    type Bits = __m512i;
    type Mask = __mmask16;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: see the head of the file.
        Self(unsafe { _mm512_set1_ps(value) })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(unsafe { _mm512_add_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(unsafe { _mm512_sub_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(unsafe { _mm512_mul_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(unsafe { _mm512_div_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: see the head of the file.
        Self(unsafe { _mm512_sqrt_ps(self.0) })
    }
    #[inline(always)]
    fn fma(self, factor: Self, addend: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(unsafe { _mm512_fmadd_ps(self.0, factor.0, addend.0) })
    }
    #[inline(always)]
    fn less(self, other: Self) -> __mmask16 {
        // SAFETY: see the head of the file.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn equal(self, other: Self) -> __mmask16 {
        // SAFETY: see the head of the file.
        unsafe { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn select(mask: __mmask16, yes: Self, no: Self) -> Self {
        // SAFETY: see the head of the file.
        Self(unsafe { _mm512_mask_blend_ps(mask, no.0, yes.0) })
    }
    #[inline(always)]
    fn to_bits(self) -> __m512i {
        // SAFETY: see the head of the file.
        unsafe { _mm512_castps_si512(self.0) }
    }
    #[inline(always)]
    fn from_bits(bits: __m512i) -> Self {
        // SAFETY: see the head of the file.
        Self(unsafe { _mm512_castsi512_ps(bits) })
    }
    #[inline(always)]
    fn bits_splat(bits: i32) -> __m512i {
        // SAFETY: see the head of the file.
        unsafe { _mm512_set1_epi32(bits) }
    }
    #[inline(always)]
    fn bits_add(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the head of the file.
        unsafe { _mm512_add_epi32(a, b) }
    }
    #[inline(always)]
    fn bits_sub(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the head of the file.
        unsafe { _mm512_sub_epi32(a, b) }
    }
    #[inline(always)]
    fn bits_and(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the head of the file.
        unsafe { _mm512_and_si512(a, b) }
    }
    #[inline(always)]
    fn bits_xor(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the head of the file.
        unsafe { _mm512_xor_si512(a, b) }
    }
    #[inline(always)]
    fn bits_shl<const BY: u32>(a: __m512i) -> __m512i {
        // SAFETY: see the head of the file.
        unsafe { _mm512_slli_epi32::<BY>(a) }
    }
    #[inline(always)]
    fn bits_sar<const BY: u32>(a: __m512i) -> __m512i {
        // SAFETY: see the head of the file.
        unsafe { _mm512_srai_epi32::<BY>(a) }
    }
}

impl V16 for Avx512 {
    const TILE_ROWS: usize = 8;
    const TILE_COLS: usize = 3;

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        // SAFETY: see the head of the file; the pointer is to sixteen readable values and needs no alignment.
        Self(unsafe { _mm512_loadu_ps(from.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        // SAFETY: see the head of the file; the pointer is to sixteen writable values and needs no alignment.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: see the head of the file. The instruction is `self > other ? self : other` by definition.
        Self(unsafe { _mm512_max_ps(self.0, other.0) })
    }
}
