//! The two precisions in which the rules of DPPO are carried out.

use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::math;

/// Single or double precision, with this crate's own `exp` and `ln`.
pub trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// The nearest value.
    fn from_double(value: f64) -> Self;
    /// The same value; exact.
    fn to_double(self) -> f64;
    /// `e^self`.
    #[must_use]
    fn exp(self) -> Self;
    /// The natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Not a number.
    fn is_nan(self) -> bool;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn from_double(value: f64) -> Self {
        value as f32
    }
    fn to_double(self) -> f64 {
        f64::from(self)
    }
    fn exp(self) -> Self {
        math::exp(self)
    }
    fn ln(self) -> Self {
        math::ln(self)
    }
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    fn is_nan(self) -> bool {
        f32::is_nan(self)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn from_double(value: f64) -> Self {
        value
    }
    fn to_double(self) -> f64 {
        self
    }
    fn exp(self) -> Self {
        math::double::exp(self)
    }
    fn ln(self) -> Self {
        math::double::ln(self)
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
}
