//! The instructions that only compute: what each takes, gives and does.
//!
//! Floats are rounded to nearest, ties to even, and subnormal numbers are kept, as `.rn` without `.ftz` means; Rust's
//! operators and `mul_add` are that. A NaN that arithmetic on `.f32` gives is the one that devices give; moving a number
//! keeps its bits.
#![expect(clippy::float_cmp, reason = "the instructions compare exactly")]

mod value;

use super::types::Type;
use value::{B32, B64, Moved32, Moved64, Value};

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
mod tests;
