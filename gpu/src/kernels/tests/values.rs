//! Numbers to test with.

use crate::weights::test_words;

/// Makes so many numbers from a seed.
pub(super) type Values = fn(usize, u64) -> Vec<f32>;

/// Even over -1..1.
pub(super) fn plain(len: usize, seed: u64) -> Vec<f32> {
    let mut words = test_words(seed);
    (0..len).map(|_| (words() >> 40) as f32 / 8_388_608.0 - 1.0).collect()
}

/// Finite, of all sizes, with zeros of both signs and subnormals among them; so large that sums of products overflow now
/// and then.
pub(super) fn wild(len: usize, seed: u64) -> Vec<f32> {
    let mut words = test_words(seed);
    let mut value = move || {
        let word = words();
        let plain = (word >> 40) as f32 / 8_388_608.0 - 1.0;
        match word % 16 {
            0 => 0.0,
            1 => -0.0,
            2 => f32::from_bits((word >> 32) as u32 & 0x807f_ffff),
            3 => plain * 1.0e-20,
            4 => plain * 1.0e18,
            5 => plain * 2.0e19,
            _ => plain,
        }
    };
    (0..len).map(|_| value()).collect()
}

/// Zeros of both signs.
pub(super) fn zeros(len: usize, seed: u64) -> Vec<f32> {
    let mut words = test_words(seed);
    (0..len).map(|_| if words() >> 63 == 0 { 0.0 } else { -0.0 }).collect()
}

/// As [`plain`], but that one number is not finite or overflows when squared.
pub(super) fn spoilt(len: usize, seed: u64) -> Vec<f32> {
    let mut values = plain(len, seed);
    let mut words = test_words(seed ^ 0x5eed);
    if len > 0 {
        let kinds = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0e30];
        values[words() as usize % len] = kinds[words() as usize % kinds.len()];
    }
    values
}

/// Whole numbers below a bound.
pub(super) fn below(bound: u32, len: usize, seed: u64) -> Vec<u32> {
    let mut words = test_words(seed);
    (0..len).map(|_| (words() % u64::from(bound)) as u32).collect()
}

/// So many shapes: each number at most its bound, and a multiple of its step.
pub(super) fn shapes<const N: usize>(count: usize, bounds: [[usize; 2]; N], seed: u64) -> Vec<[usize; N]> {
    let mut words = test_words(seed);
    let mut draw = move |[most, step]: [usize; 2]| (1 + words() as usize % (most / step)) * step;
    (0..count).map(|_| bounds.map(&mut draw)).collect()
}
