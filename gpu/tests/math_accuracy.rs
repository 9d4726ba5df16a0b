//! The elementary functions stay within their stated errors, and take the extremes as they should.
#![allow(clippy::disallowed_methods, reason = "the standard library's functions are the reference here")]
#![allow(clippy::float_cmp, reason = "exact results are promised")]

mod ulp;

use tadpole_gpu::math;

/// A prime: all exponents and all trailing digits are met.
const STRIDE: usize = 4093;

#[test]
fn every_function_is_within_its_stated_error() {
    for reference in ulp::REFERENCES {
        let (error, at) = reference.worst(STRIDE);
        assert!(error <= reference.stated, "{}: {error} {} at {at:e}", reference.name, reference.unit());
    }
}

#[test]
fn exp_takes_the_extremes() {
    assert_eq!(math::exp(f32::NEG_INFINITY), 0.0);
    assert_eq!(math::exp(f32::INFINITY), f32::INFINITY);
    assert!(math::exp(f32::NAN).is_nan());
    assert_eq!(math::exp(0.0_f32), 1.0);
    assert_eq!(math::exp(-0.0_f32), 1.0);
    assert_eq!(math::exp(88.722_84_f32), f32::INFINITY);
    assert!(math::exp(88.722_83_f32).is_finite());
    assert_eq!(math::exp(-103.0_f32), f32::from_bits(1));
    assert_eq!(math::exp(-103.98_f32), 0.0);
}

#[test]
fn ln_takes_the_extremes() {
    assert_eq!(math::ln(0.0_f32), f32::NEG_INFINITY);
    assert_eq!(math::ln(-0.0_f32), f32::NEG_INFINITY);
    assert_eq!(math::ln(f32::INFINITY), f32::INFINITY);
    assert!(math::ln(-1.0_f32).is_nan());
    assert!(math::ln(f32::NEG_INFINITY).is_nan());
    assert!(math::ln(f32::NAN).is_nan());
    assert_eq!(math::ln(1.0_f32).to_bits(), 0);
    assert_eq!(math::ln(f32::from_bits(1)), -103.278_93);
}

#[test]
fn sine_is_odd_and_cosine_even_bit_by_bit() {
    assert_eq!(math::sin(-0.0_f32).to_bits(), (-0.0_f32).to_bits());
    for bits in (0..=0x7f7f_ffff_u32).step_by(9973) {
        let x = f32::from_bits(bits);
        assert_eq!(math::sin(-x).to_bits(), (-math::sin(x)).to_bits());
        assert_eq!(math::cos(-x).to_bits(), math::cos(x).to_bits());
    }
    assert!(math::sin(f32::INFINITY).is_nan());
    assert!(math::cos(f32::NEG_INFINITY).is_nan());
}
