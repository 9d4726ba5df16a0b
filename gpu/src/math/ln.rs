//! The natural logarithm.

use super::lane::{Lane, horner, integer_to_float};

/// `ln(2)`.
const LN2: f32 = core::f32::consts::LN_2;
/// The least normal number, and the power of two that makes every subnormal normal.
const LEAST_NORMAL: f32 = f32::MIN_POSITIVE;
const LIFT: f32 = 8_388_608.0;
const LIFT_EXPONENT: f32 = 23.0;
/// The bits of 2/3: mantissas are taken from 2/3 up to 4/3.
const TWO_THIRDS_BITS: i32 = 0x3f2a_aaab;
/// `(ln(1 + f) - f + f^2/2) / f^3` for `|f| <= 1/3`, highest power first; minimax in relative error of the logarithm:
/// `2^-30`.
const TAIL: [f32; 9] = [
    0.119_500_24,
    -0.128_369_21,
    0.107_716_84,
    -0.121_977_79,
    0.143_025_44,
    -0.166_794_21,
    0.199_996_86,
    -0.249_998_24,
    0.333_333_34,
];

/// The natural logarithm: `-inf` at both zeros, NaN below them, `inf` at `inf`; subnormal arguments are exact.
///
/// `x = 2^e (1 + f)` with `1 + f` in `[2/3, 4/3)`; `ln x = e ln 2 + ln(1 + f)`.
#[inline(always)]
pub fn ln<L: Lane>(x: L) -> L {
    let zero = L::splat(0.0);
    let subnormal = x.less(L::splat(LEAST_NORMAL));
    let lifted = L::select(subnormal, x.mul(L::splat(LIFT)), x).to_bits();
    let lift = L::select(subnormal, L::splat(LIFT_EXPONENT), zero);

    let exponent = L::bits_sar::<23>(L::bits_sub(lifted, L::bits_splat(TWO_THIRDS_BITS)));
    let mantissa = L::from_bits(L::bits_sub(lifted, L::bits_shl::<23>(exponent)));
    let f = mantissa.sub(L::splat(1.0));
    let e = integer_to_float::<L>(exponent).sub(lift);

    let tail = horner(f, TAIL).fma(f, L::splat(-0.5));
    let log_mantissa = tail.fma(f.mul(f), f);
    let finite = e.fma(L::splat(LN2), log_mantissa);

    let infinity = L::splat(f32::INFINITY);
    let positive = L::select(x.less(infinity), finite, infinity);
    let rest = L::select(x.equal(zero), L::splat(f32::NEG_INFINITY), L::splat(f32::NAN));
    L::select(zero.less(x), positive, rest)
}
