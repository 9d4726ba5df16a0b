//! The elementary functions stay within their stated errors, measured against double precision.

use tadpole_gpu::math;

/// Every 4,093rd bit pattern (a prime, so that all exponents and trailing digits are met).
const STRIDE: usize = 4093;

/// The error of `value` in units of the last place that a correctly rounded single-precision `reference` would have.
fn ulps(value: f32, reference: f64) -> f64 {
    let nearest = reference as f32;
    if nearest.is_infinite() || value.is_infinite() {
        return if value == nearest { 0.0 } else { f64::INFINITY };
    }
    let exponent = ((nearest.abs().to_bits() >> 23) as i32).max(1) - 127 - 23;
    let unit = f64::from_bits(((exponent + 1023) as u64) << 52);
    ((f64::from(value) - reference) / unit).abs()
}

fn worst(stride: usize, function: fn(f32) -> f32, reference: fn(f64) -> f64) -> (f64, f32) {
    let mut worst = (0.0, 0.0);
    for bits in (0..=u32::MAX).step_by(stride) {
        let x = f32::from_bits(bits);
        let value = function(x);
        let expected = reference(f64::from(x));
        assert_eq!(value.is_nan(), expected.is_nan(), "{x:e}: {value:e}, expected {expected:e}");
        if !value.is_nan() {
            let error = ulps(value, expected);
            if error > worst.0 {
                worst = (error, x);
            }
        }
    }
    worst
}

#[test]
fn exp_is_within_its_stated_error() {
    let (error, at) = worst(STRIDE, math::exp::<f32>, f64::exp);
    println!("exp {error} at {at:e}");
    assert!(error <= 0.93, "{error} ulp at {at:e}");
}

#[test]
fn ln_is_within_its_stated_error() {
    let (error, at) = worst(STRIDE, math::ln::<f32>, f64::ln);
    println!("ln {error} at {at:e}");
    assert!(error <= 0.93, "{error} ulp at {at:e}");
}
#[test]
fn trig() {
    let mut worst = (0.0f64, 0.0);
    for bits in (0..=u32::MAX).step_by(STRIDE) {
        let x = f32::from_bits(bits);
        if x.abs() <= 1e5 {
            let (s, c) = math::sin_cos(x);
            let e = (f64::from(s) - f64::from(x).sin()).abs().max((f64::from(c) - f64::from(x).cos()).abs());
            if e > worst.0 {
                worst = (e, x);
            }
        }
    }
    println!("trig {worst:?}");
    assert!(worst.0 <= 8e-8);
}
