//! Every vector type is the scalar specification, lane by lane.

use super::{Isa, Kernel, LANES, V16, dispatch, environment_is_exact};
use crate::math;

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
    assert!(Isa::by_name("sse9").is_err());
    assert_eq!(Isa::by_name("scalar"), Ok(Isa::SCALAR));
}

#[test]
fn this_thread_keeps_subnormals_and_rounds_to_nearest() {
    assert!(environment_is_exact());
}
