//! What registers hold, as Rust's types.

use super::super::types::{Type, Width};

/// A value of a register.
pub(super) trait Value: Sized {
    const TYPE: Type;
    /// From the low bits.
    fn of(bits: u64) -> Self;
    /// To the low bits, the others 0.
    fn bits(self) -> u64;
}

macro_rules! value {
    ($type:ty, $kind:expr, |$bits:ident| $of:expr, |$value:ident| $to:expr) => {
        impl Value for $type {
            const TYPE: Type = $kind;
            fn of($bits: u64) -> Self {
                $of
            }
            fn bits(self) -> u64 {
                let $value = self;
                $to
            }
        }
    };
}

/// Bits of no type: `.b32`.
pub(super) struct B32(pub(super) u32);
/// `.b64`.
pub(super) struct B64(pub(super) u64);
/// A float that is moved: its bits stay as they are.
pub(super) struct Moved32(pub(super) u32);
/// The same of `.f64`.
pub(super) struct Moved64(pub(super) u64);

value!(bool, Type::Predicate, |bits| bits == 1, |value| u64::from(value));
value!(u16, Type::Integer(Width::Two), |bits| bits as u16, |value| u64::from(value));
value!(i16, Type::Integer(Width::Two), |bits| bits as i16, |value| u64::from(value as u16));
value!(u32, Type::Integer(Width::Four), |bits| bits as u32, |value| u64::from(value));
value!(i32, Type::Integer(Width::Four), |bits| bits as i32, |value| u64::from(value as u32));
value!(u64, Type::Integer(Width::Eight), |bits| bits, |value| value);
value!(B32, Type::Bits(Width::Four), |bits| Self(bits as u32), |value| u64::from(value.0));
value!(B64, Type::Bits(Width::Eight), |bits| Self(bits), |value| value.0);
value!(Moved32, Type::Float(Width::Four), |bits| Self(bits as u32), |value| u64::from(value.0));
value!(Moved64, Type::Float(Width::Eight), |bits| Self(bits), |value| value.0);
value!(f32, Type::Float(Width::Four), |bits| Self::from_bits(bits as u32), |value| {
    u64::from(if value.is_nan() { 0x7fff_ffff } else { value.to_bits() })
});
value!(f64, Type::Float(Width::Eight), |bits| Self::from_bits(bits), |value| value.to_bits());
