//! The instructions that only compute: what each takes, gives and does.
//!
//! Floats are rounded to nearest, ties to even, and subnormal numbers are kept, as `.rn` without `.ftz` means; Rust's
//! operators and `mul_add` are that. A NaN that arithmetic on `.f32` gives is the one that devices give; moving a number
//! keeps its bits.

use super::types::{Type, Width};

/// An instruction's operands and its meaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) result: Type,
    pub(super) operands: &'static [Type],
    pub(super) meaning: Meaning,
}

/// Values are as in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    One(fn(u64) -> u64),
    Two(fn(u64, u64) -> u64),
    /// Not defined for all second operands.
    Quotient(fn(u64, u64) -> Option<u64>),
    Three(fn(u64, u64, u64) -> u64),
}

/// A value of a register.
trait Value: Sized {
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
struct B32(u32);
/// `.b64`.
struct B64(u64);
/// A float that is moved: its bits stay as they are.
struct Moved32(u32);
/// The same of `.f64`.
struct Moved64(u64);

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

/// `form!(|a: u32, b: u32| -> u32 { ... })`: types and meaning from one closure.
macro_rules! form {
    (|$a:tt: $A:ty| -> $R:ty $body:block) => {
        Form {
            result: <$R as Value>::TYPE,
            operands: &[<$A as Value>::TYPE],
            meaning: Meaning::One(|a| {
                let $a = <$A as Value>::of(a);
                let result: $R = $body;
                result.bits()
            }),
        }
    };
    (|$a:tt: $A:ty, $b:tt: $B:ty| -> Option<$R:ty> $body:block) => {
        Form {
            result: <$R as Value>::TYPE,
            operands: &[<$A as Value>::TYPE, <$B as Value>::TYPE],
            meaning: Meaning::Quotient(|a, b| {
                let ($a, $b) = (<$A as Value>::of(a), <$B as Value>::of(b));
                let result: Option<$R> = $body;
                result.map(Value::bits)
            }),
        }
    };
    (|$a:tt: $A:ty, $b:tt: $B:ty| -> $R:ty $body:block) => {
        Form {
            result: <$R as Value>::TYPE,
            operands: &[<$A as Value>::TYPE, <$B as Value>::TYPE],
            meaning: Meaning::Two(|a, b| {
                let ($a, $b) = (<$A as Value>::of(a), <$B as Value>::of(b));
                let result: $R = $body;
                result.bits()
            }),
        }
    };
    (|$a:tt: $A:ty, $b:tt: $B:ty, $c:tt: $C:ty| -> $R:ty $body:block) => {
        Form {
            result: <$R as Value>::TYPE,
            operands: &[<$A as Value>::TYPE, <$B as Value>::TYPE, <$C as Value>::TYPE],
            meaning: Meaning::Three(|a, b, c| {
                let ($a, $b, $c) = (<$A as Value>::of(a), <$B as Value>::of(b), <$C as Value>::of(c));
                let result: $R = $body;
                result.bits()
            }),
        }
    };
}

/// What an instruction means; `None` where it is not among what is replayed.
pub(super) fn form(opcode: &str) -> Option<Form> {
    moved(opcode)
        .or_else(|| integers(opcode))
        .or_else(|| bits(opcode))
        .or_else(|| floats(opcode))
        .or_else(|| converted(opcode))
        .or_else(|| compared(opcode))
}

/// Moves and selections.
fn moved(opcode: &str) -> Option<Form> {
    Some(match opcode {
        "mov.b32" => form!(|a: B32| -> B32 { a }),
        "mov.u32" => form!(|a: u32| -> u32 { a }),
        "mov.f32" => form!(|a: Moved32| -> Moved32 { a }),
        "mov.b64" => form!(|a: B64| -> B64 { a }),
        "mov.u64" => form!(|a: u64| -> u64 { a }),
        "mov.f64" => form!(|a: Moved64| -> Moved64 { a }),
        // Global memory has the same addresses in both spaces.
        "cvta.to.global.u64" => form!(|a: u64| -> u64 { a }),
        "selp.b32" => form!(|a: B32, b: B32, c: bool| -> B32 { if c { a } else { b } }),
        "selp.u32" => form!(|a: u32, b: u32, c: bool| -> u32 { if c { a } else { b } }),
        "selp.f32" => form!(|a: Moved32, b: Moved32, c: bool| -> Moved32 { if c { a } else { b } }),
        "selp.b64" => form!(|a: B64, b: B64, c: bool| -> B64 { if c { a } else { b } }),
        _ => return None,
    })
}

/// Arithmetic on whole numbers, which wraps.
fn integers(opcode: &str) -> Option<Form> {
    Some(match opcode {
        "add.s32" => form!(|a: u32, b: u32| -> u32 { a.wrapping_add(b) }),
        "add.s64" => form!(|a: u64, b: u64| -> u64 { a.wrapping_add(b) }),
        "sub.s32" => form!(|a: u32, b: u32| -> u32 { a.wrapping_sub(b) }),
        "sub.s64" => form!(|a: u64, b: u64| -> u64 { a.wrapping_sub(b) }),
        "neg.s32" => form!(|a: u32| -> u32 { a.wrapping_neg() }),
        "mul.lo.s32" => form!(|a: u32, b: u32| -> u32 { a.wrapping_mul(b) }),
        "mul.lo.s64" => form!(|a: u64, b: u64| -> u64 { a.wrapping_mul(b) }),
        "mul.wide.u32" => form!(|a: u32, b: u32| -> u64 { u64::from(a) * u64::from(b) }),
        "mad.lo.s32" => form!(|a: u32, b: u32, c: u32| -> u32 { a.wrapping_mul(b).wrapping_add(c) }),
        "div.u32" => form!(|a: u32, b: u32| -> Option<u32> { a.checked_div(b) }),
        "rem.u32" => form!(|a: u32, b: u32| -> Option<u32> { a.checked_rem(b) }),
        "min.u32" => form!(|a: u32, b: u32| -> u32 { a.min(b) }),
        "max.u32" => form!(|a: u32, b: u32| -> u32 { a.max(b) }),
        "min.u64" => form!(|a: u64, b: u64| -> u64 { a.min(b) }),
        "max.u64" => form!(|a: u64, b: u64| -> u64 { a.max(b) }),
        _ => return None,
    })
}

/// Logic and shifts; a shift by more than the width is one by the width.
fn bits(opcode: &str) -> Option<Form> {
    Some(match opcode {
        "and.b32" => form!(|a: B32, b: B32| -> B32 { B32(a.0 & b.0) }),
        "and.b64" => form!(|a: B64, b: B64| -> B64 { B64(a.0 & b.0) }),
        "and.pred" => form!(|a: bool, b: bool| -> bool { a && b }),
        "or.b32" => form!(|a: B32, b: B32| -> B32 { B32(a.0 | b.0) }),
        "or.pred" => form!(|a: bool, b: bool| -> bool { a || b }),
        "xor.b32" => form!(|a: B32, b: B32| -> B32 { B32(a.0 ^ b.0) }),
        "not.b32" => form!(|a: B32| -> B32 { B32(!a.0) }),
        "not.b64" => form!(|a: B64| -> B64 { B64(!a.0) }),
        "not.pred" => form!(|a: bool| -> bool { !a }),
        "shl.b32" => form!(|a: B32, b: u32| -> B32 { B32(a.0.checked_shl(b).unwrap_or(0)) }),
        "shl.b64" => form!(|a: B64, b: u32| -> B64 { B64(a.0.checked_shl(b).unwrap_or(0)) }),
        "shr.u32" => form!(|a: u32, b: u32| -> u32 { a.checked_shr(b).unwrap_or(0) }),
        "shr.u64" => form!(|a: u64, b: u32| -> u64 { a.checked_shr(b).unwrap_or(0) }),
        "shr.s32" => form!(|a: i32, b: u32| -> i32 { a >> b.min(31) }),
        _ => return None,
    })
}

/// Arithmetic on floats: each result is the exact one, rounded once.
fn floats(opcode: &str) -> Option<Form> {
    Some(match opcode {
        "add.rn.f32" => form!(|a: f32, b: f32| -> f32 { a + b }),
        "sub.rn.f32" => form!(|a: f32, b: f32| -> f32 { a - b }),
        "mul.rn.f32" => form!(|a: f32, b: f32| -> f32 { a * b }),
        "fma.rn.f32" => form!(|a: f32, b: f32, c: f32| -> f32 { a.mul_add(b, c) }),
        "div.rn.f32" => form!(|a: f32, b: f32| -> f32 { a / b }),
        "rcp.rn.f32" => form!(|a: f32| -> f32 { 1.0 / a }),
        "sqrt.rn.f32" => form!(|a: f32| -> f32 { a.sqrt() }),
        "neg.f32" => form!(|a: f32| -> f32 { -a }),
        "max.f32" => form!(|a: f32, b: f32| -> f32 { larger(a, b) }),
        "add.rn.f64" => form!(|a: f64, b: f64| -> f64 { a + b }),
        "mul.rn.f64" => form!(|a: f64, b: f64| -> f64 { a * b }),
        "div.rn.f64" => form!(|a: f64, b: f64| -> f64 { a / b }),
        "sqrt.rn.f64" => form!(|a: f64| -> f64 { a.sqrt() }),
        _ => return None,
    })
}

/// The larger number; of a number and a NaN the number, of zeros the positive one.
fn larger(a: f32, b: f32) -> f32 {
    if a.is_nan() || a < b || (a == b && a.is_sign_negative()) { b } else { a }
}

/// Conversions.
fn converted(opcode: &str) -> Option<Form> {
    Some(match opcode {
        "cvt.u16.u32" => form!(|a: u32| -> u16 { a as u16 }),
        "cvt.u32.u64" => form!(|a: u64| -> u32 { a as u32 }),
        "cvt.u64.u32" => form!(|a: u32| -> u64 { u64::from(a) }),
        "cvt.rn.f32.u32" => form!(|a: u32| -> f32 { a as f32 }),
        "cvt.rn.f32.f64" => form!(|a: f64| -> f32 { a as f32 }),
        "cvt.f64.f32" => form!(|a: f32| -> f64 { f64::from(a) }),
        _ => return None,
    })
}

/// Comparisons. Of floats, those that end with `u` hold where one is a NaN; the others do not.
fn compared(opcode: &str) -> Option<Form> {
    Some(match opcode {
        "setp.eq.b32" => form!(|a: B32, b: B32| -> bool { a.0 == b.0 }),
        "setp.eq.s16" => form!(|a: i16, b: i16| -> bool { a == b }),
        "setp.lt.s16" => form!(|a: i16, b: i16| -> bool { a < b }),
        "setp.eq.s32" => form!(|a: u32, b: u32| -> bool { a == b }),
        "setp.ne.s32" => form!(|a: u32, b: u32| -> bool { a != b }),
        "setp.lt.u32" => form!(|a: u32, b: u32| -> bool { a < b }),
        "setp.le.u32" => form!(|a: u32, b: u32| -> bool { a <= b }),
        "setp.gt.u32" => form!(|a: u32, b: u32| -> bool { b < a }),
        "setp.ge.u32" => form!(|a: u32, b: u32| -> bool { b <= a }),
        "setp.gt.u64" => form!(|a: u64, b: u64| -> bool { b < a }),
        "setp.ge.u64" => form!(|a: u64, b: u64| -> bool { b <= a }),
        "setp.eq.f32" => form!(|a: f32, b: f32| -> bool { a == b }),
        "setp.neu.f32" => form!(|a: f32, b: f32| -> bool { a != b }),
        "setp.lt.f32" => form!(|a: f32, b: f32| -> bool { a < b }),
        "setp.gt.f32" => form!(|a: f32, b: f32| -> bool { b < a }),
        "setp.leu.f32" => form!(|a: f32, b: f32| -> bool { a <= b || a.is_nan() || b.is_nan() }),
        "setp.leu.f64" => form!(|a: f64, b: f64| -> bool { a <= b || a.is_nan() || b.is_nan() }),
        _ => return None,
    })
}

/// What an atomic operation on a type leaves in memory, from what was there and its operand.
pub(super) fn atomic(operation: &str, kind: &str) -> Option<fn(u64, u64) -> u64> {
    match (operation, kind) {
        ("or", "b32") => Some(|old, operand| old | operand),
        ("min", "u32" | "u64") => Some(u64::min),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies an instruction to bits.
    fn apply(opcode: &str, operands: &[u64]) -> Option<u64> {
        match (form(opcode)?.meaning, operands) {
            (Meaning::One(apply), &[a]) => Some(apply(a)),
            (Meaning::Two(apply), &[a, b]) => Some(apply(a, b)),
            (Meaning::Quotient(apply), &[a, b]) => apply(a, b),
            (Meaning::Three(apply), &[a, b, c]) => Some(apply(a, b, c)),
            _ => None,
        }
    }

    fn float(value: f32) -> u64 {
        u64::from(value.to_bits())
    }

    #[test]
    fn a_fused_step_is_rounded_once_and_two_operations_twice() {
        let (a, b) = (float(1.0 + f32::EPSILON), float(1.0 - f32::EPSILON));
        let product = apply("mul.rn.f32", &[a, b]).unwrap();
        assert_eq!(apply("add.rn.f32", &[product, float(-1.0)]), Some(float(0.0)));
        let exact = float(-f32::EPSILON * f32::EPSILON);
        assert_eq!(apply("fma.rn.f32", &[a, b, float(-1.0)]), Some(exact));
    }

    #[test]
    fn subnormal_numbers_are_kept() {
        let small = float(f32::MIN_POSITIVE);
        assert_eq!(apply("mul.rn.f32", &[small, float(0.5)]), Some(0x0040_0000));
        assert_eq!(apply("add.rn.f32", &[1, 1]), Some(2));
        assert_eq!(apply("cvt.rn.f32.f64", &[1.0e-45_f64.to_bits()]), Some(1));
    }

    #[test]
    fn arithmetic_gives_the_devices_nan_and_moves_keep_theirs() {
        let nan = 0xffc0_0001;
        assert_eq!(apply("add.rn.f32", &[nan, float(1.0)]), Some(0x7fff_ffff));
        assert_eq!(apply("sqrt.rn.f32", &[float(-1.0)]), Some(0x7fff_ffff));
        assert_eq!(apply("mov.f32", &[nan]), Some(nan));
        assert_eq!(apply("selp.f32", &[nan, 0, 1]), Some(nan));
    }

    #[test]
    fn the_larger_of_a_number_and_a_nan_is_the_number_and_of_zeros_the_positive_one() {
        let (nan, zero, negative) = (0x7fc0_0000, float(0.0), float(-0.0));
        for (a, b, larger) in [
            (nan, float(1.0), float(1.0)),
            (float(1.0), nan, float(1.0)),
            (nan, nan, 0x7fff_ffff),
            (negative, zero, zero),
            (zero, negative, zero),
            (float(-1.0), float(-2.0), float(-1.0)),
        ] {
            assert_eq!(apply("max.f32", &[a, b]), Some(larger), "{a:#x} {b:#x}");
        }
    }

    #[test]
    fn an_unordered_comparison_holds_for_a_nan_and_an_ordered_one_does_not() {
        let (nan, one) = (0x7fc0_0000, float(1.0));
        for (opcode, held) in [
            ("setp.eq.f32", 0),
            ("setp.lt.f32", 0),
            ("setp.gt.f32", 0),
            ("setp.neu.f32", 1),
            ("setp.leu.f32", 1),
        ] {
            assert_eq!(apply(opcode, &[nan, one]), Some(held), "{opcode}");
            assert_eq!(apply(opcode, &[one, nan]), Some(held), "{opcode}");
        }
        assert_eq!(apply("setp.eq.f32", &[float(0.0), float(-0.0)]), Some(1));
    }

    #[test]
    fn whole_numbers_wrap_and_shifts_beyond_the_width_clear_or_copy_the_sign() {
        assert_eq!(apply("add.s32", &[0xffff_ffff, 2]), Some(1));
        assert_eq!(apply("sub.s64", &[0, 1]), Some(u64::MAX));
        assert_eq!(apply("mul.wide.u32", &[0xffff_ffff, 0xffff_ffff]), Some(0xffff_fffe_0000_0001));
        assert_eq!(apply("mad.lo.s32", &[0x8000_0000, 2, 7]), Some(7));
        assert_eq!(apply("shl.b32", &[1, 32]), Some(0));
        assert_eq!(apply("shr.s32", &[0x8000_0000, 40]), Some(0xffff_ffff));
        assert_eq!(apply("setp.lt.s16", &[0x8000, 0]), Some(1));
    }

    #[test]
    fn a_quotient_by_zero_is_not_defined() {
        assert_eq!(apply("div.u32", &[7, 2]), Some(3));
        assert_eq!(apply("rem.u32", &[7, 2]), Some(1));
        assert_eq!(apply("div.u32", &[7, 0]), None);
        assert_eq!(apply("rem.u32", &[7, 0]), None);
    }

    #[test]
    fn conversions_round_to_even() {
        assert_eq!(apply("cvt.rn.f32.u32", &[0x0100_0001]), Some(float(16_777_216.0)));
        assert_eq!(apply("cvt.rn.f32.u32", &[0x0100_0003]), Some(float(16_777_220.0)));
        assert_eq!(apply("cvt.u16.u32", &[0x1234_5678]), Some(0x5678));
        assert_eq!(apply("cvt.f64.f32", &[float(0.1)]), Some(f64::from(0.1_f32).to_bits()));
    }

    #[test]
    fn an_instruction_or_modifier_outside_of_the_subset_has_no_meaning() {
        let opcodes = [
            "add.f32",
            "add.rn.ftz.f32",
            "add.rz.f32",
            "mul.rn.sat.f32",
            "fma.rn.f16",
            "ex2.approx.f32",
            "div.full.f32",
            "sqrt.approx.f32",
            "add.sat.s32",
            "cvt.rni.f32.f32",
            "setp.ltu.f32",
            "min.NaN.f32",
        ];
        for opcode in opcodes {
            assert!(form(opcode).is_none(), "{opcode}");
        }
    }
}
