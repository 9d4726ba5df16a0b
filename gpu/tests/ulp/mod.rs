//! Measures the errors of the elementary functions against the standard library in double precision.

use tadpole_gpu::math;

/// One function, the true one, and the error that its documentation states.
pub(crate) struct Reference {
    pub(crate) name: &'static str,
    function: fn(f32) -> f32,
    truth: fn(f64) -> f64,
    /// Arguments above this size are not promised.
    size_max: f32,
    /// Errors are absolute, not in units of the last place.
    absolute: bool,
    pub(crate) stated: f64,
}

pub(crate) const REFERENCES: [Reference; 6] = [
    Reference::relative("exp", math::exp::<f32>, f64::exp, 0.90),
    Reference::relative("ln", math::ln::<f32>, f64::ln, 0.91),
    Reference::relative("rsqrt", math::rsqrt::<f32>, |x| 1.0 / x.sqrt(), 1.5),
    Reference::absolute("sigmoid", math::sigmoid::<f32>, |x| 1.0 / (1.0 + (-x).exp()), f32::INFINITY, 9e-8),
    Reference::absolute("sin", math::sin::<f32>, f64::sin, 1e5, 8e-8),
    Reference::absolute("cos", math::cos::<f32>, f64::cos, 1e5, 8e-8),
];

impl Reference {
    const fn relative(
        name: &'static str,
        function: fn(f32) -> f32,
        truth: fn(f64) -> f64,
        stated: f64,
    ) -> Self {
        Self { name, function, truth, size_max: f32::INFINITY, absolute: false, stated }
    }

    const fn absolute(
        name: &'static str,
        function: fn(f32) -> f32,
        truth: fn(f64) -> f64,
        size_max: f32,
        stated: f64,
    ) -> Self {
        Self { name, function, truth, size_max, absolute: true, stated }
    }

    pub(crate) fn unit(&self) -> &'static str {
        if self.absolute { "absolute" } else { "ulp" }
    }

    /// The worst error over every `stride`-th bit pattern, and where it is. NaN must meet NaN.
    pub(crate) fn worst(&self, stride: usize) -> (f64, f32) {
        let mut worst = (0.0, 0.0);
        for bits in (0..=u32::MAX).step_by(stride) {
            let x = f32::from_bits(bits);
            if x.abs() > self.size_max {
                continue;
            }
            let value = (self.function)(x);
            let expected = (self.truth)(f64::from(x));
            assert_eq!(value.is_nan(), expected.is_nan(), "{} at {x:e}: {value:e}, {expected:e}", self.name);
            if !value.is_nan() {
                let error = self.error(value, expected);
                if error > worst.0 {
                    worst = (error, x);
                }
            }
        }
        worst
    }

    fn error(&self, value: f32, expected: f64) -> f64 {
        let nearest = expected as f32;
        if nearest.is_infinite() || value.is_infinite() {
            return if value.to_bits() == nearest.to_bits() { 0.0 } else { f64::INFINITY };
        }
        let difference = (f64::from(value) - expected).abs();
        if self.absolute { difference } else { difference / unit_in_the_last_place(nearest) }
    }
}

/// The distance between the neighbours of `value` in single precision.
fn unit_in_the_last_place(value: f32) -> f64 {
    let exponent = ((value.abs().to_bits() >> 23) as i32).max(1) - 127 - 23;
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
