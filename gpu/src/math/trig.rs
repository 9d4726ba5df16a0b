//! Sine and cosine of moderate arguments.

use super::lane::{Lane, horner, round_scaled};

/// `2 / pi`.
const TWO_OVER_PI: f32 = core::f32::consts::FRAC_2_PI;
/// `pi / 2` in three parts of 24 bits.
const HALF_PI_HIGH: f32 = core::f32::consts::FRAC_PI_2;
const HALF_PI_MIDDLE: f32 = -4.371_139e-8;
const HALF_PI_LOW: f32 = -1.715_124_5e-15;
/// `(sin r - r) / r^3` in `r^2` for `|r| <= pi/4`, highest power first; relative error `2^-27.9`.
const SINE: [f32; 3] = [-0.000_195_178_97, 0.008_332_187, -0.166_666_55];
/// `(cos r - 1 + r^2/2) / r^4` in `r^2` for `|r| <= pi/4`, highest power first; relative error `2^-33`.
const COSINE: [f32; 3] = [2.443_232_7e-5, -0.001_388_731, 0.041_666_646];

/// The sine of `x` radians, good for `|x| <= 1e5`; an odd function, bit by bit.
#[inline(always)]
pub fn sin<L: Lane>(x: L) -> L {
    sin_cos(x).0
}

/// The cosine of `x` radians, good for `|x| <= 1e5`; an even function, bit by bit.
#[inline(always)]
pub fn cos<L: Lane>(x: L) -> L {
    sin_cos(x).1
}

/// Sine and cosine of `x` radians, good for `|x| <= 1e5`; beyond, defined but not accurate; NaN for infinities.
///
/// `|x| = k pi/2 + r`; the quadrant `k mod 4` says which polynomial of `r` is taken, with which sign.
#[inline(always)]
pub fn sin_cos<L: Lane>(x: L) -> (L, L) {
    let sign = L::bits_and(x.to_bits(), L::bits_splat(i32::MIN));
    let size = L::from_bits(L::bits_xor(x.to_bits(), sign));
    let (k, quadrant) = round_scaled(size, TWO_OVER_PI);
    let r = k.fma(L::splat(-HALF_PI_HIGH), size);
    let r = k.fma(L::splat(-HALF_PI_MIDDLE), r);
    let r = k.fma(L::splat(-HALF_PI_LOW), r);
    let square = r.mul(r);
    let sine = horner(square, SINE).mul(square).fma(r, r).to_bits();
    let one = L::splat(1.0);
    let cosine = horner(square, COSINE).fma(square, L::splat(-0.5)).fma(square, one).to_bits();

    // All ones in odd quadrants, where sine and cosine change places.
    let odd = L::bits_sar::<31>(L::bits_shl::<31>(quadrant));
    let exchange = L::bits_and(L::bits_xor(sine, cosine), odd);
    // The sine is negative in quadrants 2 and 3, the cosine in 1 and 2.
    let second = L::bits_splat(2);
    let sine_sign = L::bits_shl::<30>(L::bits_and(quadrant, second));
    let next = L::bits_add(quadrant, L::bits_splat(1));
    let cosine_sign = L::bits_shl::<30>(L::bits_and(next, second));
    let sine = L::bits_xor(L::bits_xor(L::bits_xor(sine, exchange), sine_sign), sign);
    let cosine = L::bits_xor(L::bits_xor(cosine, exchange), cosine_sign);
    (L::from_bits(sine), L::from_bits(cosine))
}
