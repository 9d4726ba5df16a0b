//! What a number type must do for the elementary functions to be written over it.
#![expect(clippy::return_self_not_must_use, reason = "operators: their results are their only effect")]

/// One `f32`, or several side by side that are treated alike.
///
/// Every operation acts on each element by itself and is exactly the IEEE operation (round to nearest, ties to
/// even, subnormals kept) or the 32-bit integer operation that its name says. Integer arithmetic wraps.
pub trait Lane: Copy {
    /// The same elements as 32-bit patterns.
    type Bits: Copy;
    /// One truth value an element.
    type Mask: Copy;

    /// `value` in every element.
    fn splat(value: f32) -> Self;
    /// `self + other`.
    fn add(self, other: Self) -> Self;
    /// `self - other`.
    fn sub(self, other: Self) -> Self;
    /// `self * other`.
    fn mul(self, other: Self) -> Self;
    /// `self / other`.
    fn div(self, other: Self) -> Self;
    /// The correctly rounded square root.
    fn sqrt(self) -> Self;
    /// `self * factor + addend`, rounded once.
    fn fma(self, factor: Self, addend: Self) -> Self;
    /// Whether `self < other`; false where either is NaN.
    fn less(self, other: Self) -> Self::Mask;
    /// Whether `self == other`; false where either is NaN.
    fn equal(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is true, `no` elsewhere.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// The bit patterns of the elements.
    fn to_bits(self) -> Self::Bits;
    /// The elements with these bit patterns.
    fn from_bits(bits: Self::Bits) -> Self;
    /// `bits` in every element.
    fn bits_splat(bits: i32) -> Self::Bits;
    /// Wrapping sum.
    fn bits_add(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Wrapping difference.
    fn bits_sub(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise and.
    fn bits_and(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise exclusive or.
    fn bits_xor(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Left shift by a constant in `0..32`.
    fn bits_shl<const BY: u32>(a: Self::Bits) -> Self::Bits;
    /// Arithmetic (sign-copying) right shift by a constant in `0..32`.
    fn bits_sar<const BY: u32>(a: Self::Bits) -> Self::Bits;
}

/// The specification: one element, plain Rust.
impl Lane for f32 {
    type Bits = i32;
    type Mask = bool;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self - other
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self * other
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self / other
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn fma(self, factor: Self, addend: Self) -> Self {
        f32::mul_add(self, factor, addend)
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self < other
    }
    #[inline(always)]
    #[expect(clippy::float_cmp, reason = "exact comparison is the operation")]
    fn equal(self, other: Self) -> bool {
        self == other
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn to_bits(self) -> i32 {
        f32::to_bits(self) as i32
    }
    #[inline(always)]
    fn from_bits(bits: i32) -> Self {
        f32::from_bits(bits as u32)
    }
    #[inline(always)]
    fn bits_splat(bits: i32) -> i32 {
        bits
    }
    #[inline(always)]
    fn bits_add(a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn bits_sub(a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
    #[inline(always)]
    fn bits_and(a: i32, b: i32) -> i32 {
        a & b
    }
    #[inline(always)]
    fn bits_xor(a: i32, b: i32) -> i32 {
        a ^ b
    }
    #[inline(always)]
    fn bits_shl<const BY: u32>(a: i32) -> i32 {
        a << BY
    }
    #[inline(always)]
    fn bits_sar<const BY: u32>(a: i32) -> i32 {
        a >> BY
    }
}

/// `1.5 * 2^23`: adding it rounds a number below `2^22` in size to an integer (ties to even), which then stands in
/// the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;
const ROUNDER_BITS: i32 = 0x4b40_0000;

/// `x * scale` rounded to the nearest integer, as number and as integer. Exact for results below `2^22` in size.
#[inline(always)]
pub(super) fn round_scaled<L: Lane>(x: L, scale: f32) -> (L, L::Bits) {
    let shifted = x.fma(L::splat(scale), L::splat(ROUNDER));
    (shifted.sub(L::splat(ROUNDER)), L::bits_sub(shifted.to_bits(), L::bits_splat(ROUNDER_BITS)))
}

/// An integer below `2^22` in size as a number, exactly.
#[inline(always)]
pub(super) fn integer_to_float<L: Lane>(n: L::Bits) -> L {
    L::from_bits(L::bits_add(n, L::bits_splat(ROUNDER_BITS))).sub(L::splat(ROUNDER))
}

/// `2^n` for `n` in `-126..=127`.
#[inline(always)]
pub(super) fn power_of_two<L: Lane>(n: L::Bits) -> L {
    L::from_bits(L::bits_shl::<23>(L::bits_add(n, L::bits_splat(127))))
}

/// The polynomial with these coefficients, highest power first, by Horner's rule.
#[inline(always)]
pub(super) fn horner<L: Lane, const N: usize>(x: L, coefficients: [f32; N]) -> L {
    let mut value = L::splat(coefficients[0]);
    for &coefficient in &coefficients[1..] {
        value = value.fma(x, L::splat(coefficient));
    }
    value
}
