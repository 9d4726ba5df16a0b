//! `exp` and `ln` in double precision, for the reference instance of the loss and for reported figures.
//!
//! Both are computed in double-double arithmetic (about 100 bits) and rounded at the end: a normal result is the
//! correctly rounded one unless the true value lies within about `2^-45` ulp of the middle between two doubles.
//! Made for trust, not for speed.

/// `log2(e)`.
const LOG2_E: f64 = core::f64::consts::LOG2_E;
/// `ln(2)` in three parts; the first has 32 bits, so that its product with an exponent is exact.
const LN2_PARTS: [f64; 3] =
    [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10, 1.161_222_722_936_253_2e-26];
/// `1.5 * 2^52`: adding it rounds to an integer.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Terms of the exponential series for `|r| <= ln(2)/2`: the next one is below `2^-120`.
const EXP_TERMS: u32 = 26;
/// Terms of the series of the inverse hyperbolic tangent for `|s| <= 0.172`: the next one is below `2^-120`.
const ATANH_TERMS: u32 = 24;
/// Beyond these, the exponential is infinite or 0.
const HIGHEST: f64 = 709.8;
const LOWEST: f64 = -745.2;
/// The power of two that makes every subnormal normal.
const LIFT: f64 = 18_014_398_509_481_984.0;
const LIFT_EXPONENT: f64 = 54.0;
/// The bits of `sqrt(1/2)`, rounded up.
const ROOT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;

/// An unevaluated sum `high + low` where `low` is at most half a unit in the last place of `high`.
#[derive(Clone, Copy)]
struct Pair {
    high: f64,
    low: f64,
}

impl Pair {
    const ONE: Self = Self { high: 1.0, low: 0.0 };

    /// `a + b`, exactly.
    fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let b_part = high - a;
        Self { high, low: (a - (high - b_part)) + (b - b_part) }
    }

    /// `a * b`, exactly.
    fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    fn add(self, other: Self) -> Self {
        let high = Self::sum(self.high, other.high);
        let low = Self::sum(self.low, other.low);
        let partial = Self::sum(high.high, high.low + low.high);
        Self::sum(partial.high, partial.low + low.low)
    }

    fn mul(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        let cross = self.high.mul_add(other.low, self.low * other.high);
        Self::sum(product.high, product.low + cross)
    }

    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self.add(other.mul(Self { high: -first, low: 0.0 }));
        let second = rest.high / other.high;
        let rest = rest.add(other.mul(Self { high: -second, low: 0.0 }));
        Self::sum(first, second).add(Self { high: rest.high / other.high, low: 0.0 })
    }

    fn of(value: f64) -> Self {
        Self { high: value, low: 0.0 }
    }

    /// `n ln(2)` for an integer `n` below `2^20` in size.
    fn ln2_times(n: f64) -> Self {
        let [high, middle, low] = LN2_PARTS;
        Self::of(n * high).add(Self::product(n, middle)).add(Self::of(n * low))
    }
}

/// `2^n` for `n` in `-1022..=1023`.
fn power_of_two(n: i64) -> f64 {
    f64::from_bits(((n + 1023) << 52) as u64)
}

/// `e^x`; a subnormal result is rounded twice.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > HIGHEST {
        return f64::INFINITY;
    }
    if x < LOWEST {
        return 0.0;
    }
    let n = x.mul_add(LOG2_E, ROUNDER) - ROUNDER;
    let r = Pair::of(x).add(Pair::ln2_times(-n));
    let mut series = Pair::ONE;
    for k in (1..=EXP_TERMS).rev() {
        series = Pair::ONE.add(r.mul(series).div(Pair::of(f64::from(k))));
    }
    let n = n as i64;
    let half = n >> 1;
    series.high * power_of_two(half) * power_of_two(n - half)
}

/// The natural logarithm: `-inf` at both zeros, NaN below them.
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < 0.0 {
        return f64::NAN;
    }
    let (lifted, lift) = if x < f64::MIN_POSITIVE { (x * LIFT, LIFT_EXPONENT) } else { (x, 0.0) };
    let exponent = (lifted.to_bits().wrapping_sub(ROOT_HALF_BITS) as i64) >> 52;
    let mantissa = f64::from_bits(lifted.to_bits().wrapping_sub((exponent << 52) as u64));
    // ln m = 2 atanh(s) with s = (m - 1) / (m + 1).
    let s = Pair::of(mantissa - 1.0).div(Pair::sum(mantissa, 1.0));
    let square = s.mul(s);
    let mut series = Pair::of(0.0);
    for k in (0..ATANH_TERMS).rev() {
        let term = Pair::ONE.div(Pair::of(f64::from(2 * k + 1)));
        series = term.add(square.mul(series));
    }
    let log_mantissa = Pair::of(2.0).mul(s).mul(series);
    Pair::ln2_times(exponent as f64 - lift).add(log_mantissa).high
}
