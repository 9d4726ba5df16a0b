//! Every vector type is the scalar specification, lane by lane.

use super::{Isa, Kernel, LANES, V16, dispatch, environment_is_exact, exp_all, first_not_finite};
use crate::math;
use std::env::VarError;

/// All functions of three vectors that kernels use, one after the other.
struct Everything {
    a: [f32; LANES],
    b: [f32; LANES],
    c: [f32; LANES],
}

impl Kernel for Everything {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run<V: V16>(self) -> Vec<u32> {
        let (a, b, c) = (V::load(&self.a), V::load(&self.b), V::load(&self.c));
        let (sine, cosine) = math::sin_cos(a);
        let vectors = [
            a.add(b),
            a.sub(b),
            a.mul(b),
            a.div(b),
            a.sqrt(),
            a.fma(b, c),
            a.max(b),
            V::select(a.less(b), a, c),
            V::select(a.equal(b), a, c),
            V::splat(self.a[3]),
            V::zero(),
            math::exp(a),
            math::ln(a),
            math::sigmoid(a),
            math::rsqrt(a),
            sine,
            cosine,
            V::splat(a.sum()),
            V::splat(a.largest()),
        ];
        let mut bits = Vec::new();
        for vector in vectors {
            for lane in vector.to_array() {
                bits.push(if lane.is_nan() { f32::NAN.to_bits() } else { lane.to_bits() });
            }
        }
        bits
    }
}

/// Values of every class: both zeros, subnormals, ordinary numbers, infinities, NaN.
fn value(word: u64) -> f32 {
    match word % 16 {
        0 => 0.0,
        1 => -0.0,
        2 => f32::from_bits((word >> 32) as u32 & 0x807f_ffff),
        3 => f32::from_bits((word >> 32) as u32),
        4 => f32::INFINITY,
        5 => f32::NEG_INFINITY,
        6 => f32::NAN,
        _ => f32::from_bits(((word >> 32) as u32 & 0x87ff_ffff) | 0x3800_0000),
    }
}

#[test]
fn every_instruction_set_has_the_bits_of_the_specification() {
    let mut words = crate::weights::test_words(3);
    for round in 0..20_000 {
        let mut draw = || core::array::from_fn::<f32, LANES, _>(|_| value(words()));
        let (a, b, c) = (draw(), draw(), draw());
        let expected = dispatch(Isa::SCALAR, Everything { a, b, c });
        for isa in Isa::available() {
            let found = dispatch(isa, Everything { a, b, c });
            assert_eq!(found, expected, "{} round {round}: {a:?} {b:?} {c:?}", isa.name());
        }
    }
}

#[test]
fn lanes_are_reduced_by_the_fixed_tree() {
    struct Sum([f32; LANES]);
    impl Kernel for Sum {
        type Output = (f32, f32);
        #[inline(always)]
        fn run<V: V16>(self) -> (f32, f32) {
            (V::load(&self.0).sum(), V::load(&self.0).largest())
        }
    }
    let lanes: [f32; LANES] = core::array::from_fn(|lane| 0.1 + lane as f32 * 1.7);
    let pair = |l: usize| lanes[l] + lanes[l + 8];
    let four = |l: usize| pair(l) + pair(l + 4);
    let expected = (four(0) + four(2)) + (four(1) + four(3));
    for isa in Isa::available() {
        assert_eq!(dispatch(isa, Sum(lanes)), (expected, lanes[15]), "{}", isa.name());
    }
}

#[test]
fn an_unknown_instruction_set_is_refused_by_name() {
    let error = Isa::by_name("sse9").unwrap_err();
    assert_eq!(error.to_string(), "unknown instruction set \"sse9\": scalar, neon, avx2, avx512 are known");
    assert_eq!(Isa::by_name("scalar"), Ok(Isa::SCALAR));
}

#[test]
fn an_instruction_set_of_another_processor_is_refused_with_those_of_this_one() {
    let foreign = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    let message = Isa::by_name(foreign).unwrap_err().to_string();
    assert!(
        message.starts_with(&format!("this processor does not have {foreign}; it has scalar")),
        "{message}"
    );
}

#[test]
fn the_environment_chooses_the_instruction_set_and_a_wrong_choice_names_the_variable() {
    let widest = Isa::available().pop().unwrap();
    assert_eq!(Isa::chosen(Err(VarError::NotPresent)), Ok(widest));
    assert_eq!(Isa::chosen(Ok("scalar".to_owned())), Ok(Isa::SCALAR));
    for wrong in ["", "AVX2", "sse9"] {
        let message = Isa::chosen(Ok(wrong.to_owned())).unwrap_err().to_string();
        assert!(
            message.starts_with("the environment variable TADPOLE_ISA: unknown instruction set"),
            "{message}"
        );
    }
}

#[test]
fn the_first_number_that_is_not_finite_is_found_wherever_it_is() {
    for len in [1, 255, 256, 257, 1000] {
        let mut values = vec![1.0_f32; len];
        assert_eq!(first_not_finite(&values), None);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for place in [0, len / 2, len - 1] {
                values[place] = bad;
                values[len - 1] = bad;
                assert_eq!(first_not_finite(&values), Some(place));
                values.fill(1.0);
            }
        }
    }
}

#[test]
fn this_thread_keeps_subnormals_and_rounds_to_nearest() {
    assert!(environment_is_exact());
}

#[test]
fn exponentials_over_a_slice_are_the_scalar_ones_at_every_length() {
    let mut words = crate::weights::test_words(8);
    for len in [0, 1, 15, 16, 17, 640] {
        let values: Vec<f32> = (0..len).map(|_| value(words())).collect();
        let expected: Vec<f32> = values.iter().map(|&value| math::exp(value)).collect();
        for isa in Isa::available() {
            let mut found = values.clone();
            exp_all(isa, &mut found);
            for (found, expected) in found.iter().zip(&expected) {
                let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                assert!(same, "{} {found} {expected}", isa.name());
            }
        }
    }
}
