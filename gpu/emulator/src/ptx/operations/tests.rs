//! Each operation against what the PTX manual says of it.

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
    for (opcode, held) in
        [("setp.eq.f32", 0), ("setp.lt.f32", 0), ("setp.gt.f32", 0), ("setp.neu.f32", 1), ("setp.leu.f32", 1)]
    {
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
