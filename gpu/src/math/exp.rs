//! The exponential.

use super::lane::{Lane, horner, power_of_two, round_scaled};

/// `log2(e)`.
const LOG2_E: f32 = core::f32::consts::LOG2_E;
/// `ln(2)` cut after 16 bits, so that its product with a small integer is exact, and the rest.
const LN2_HIGH: f32 = 0.693_145_75;
const LN2_LOW: f32 = 1.428_606_8e-6;
/// `(e^r - 1 - r) / r^2` for `|r| <= ln(2)/2`, highest power first; minimax in relative error of `e^r`: `2^-28.2`.
const TAIL: [f32; 5] = [0.001_384_043, 0.008_369_35, 0.041_668_084, 0.166_665_15, 0.499_999_94];
/// Beyond these, the result is 0 or infinite.
const LOWEST: f32 = -104.0;
const HIGHEST: f32 = 89.0;

/// `e^x`; 0 for `-inf`, `inf` for arguments above 88.72, subnormal results rounded once.
///
/// `x = n ln 2 + r`; `e^x = 2^n e^r`. The power of two is applied in two factors, of which the first is exact.
#[inline(always)]
pub fn exp<L: Lane>(x: L) -> L {
    let x = L::select(x.less(L::splat(LOWEST)), L::splat(LOWEST), x);
    let x = L::select(L::splat(HIGHEST).less(x), L::splat(HIGHEST), x);
    let (n, n_bits) = round_scaled(x, LOG2_E);
    let r = n.fma(L::splat(-LN2_HIGH), x);
    let r = n.fma(L::splat(-LN2_LOW), r);
    let one = L::splat(1.0);
    let slope = horner(r, TAIL).fma(r, one);
    let mantissa = slope.fma(r, one);
    let half = L::bits_sar::<1>(n_bits);
    let rest = L::bits_sub(n_bits, half);
    mantissa.mul(power_of_two(half)).mul(power_of_two(rest))
}

/// The logistic function `1 / (1 + e^-x)`.
#[inline(always)]
pub fn sigmoid<L: Lane>(x: L) -> L {
    let one = L::splat(1.0);
    let negated = L::from_bits(L::bits_xor(x.to_bits(), L::bits_splat(i32::MIN)));
    one.div(one.add(exp(negated)))
}
