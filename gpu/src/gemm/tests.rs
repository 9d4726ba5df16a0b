//! Every product has the bits of its reference, whatever the instruction set, the shape and the start; and a product
//! that does not follow the definition is seen.

use super::{Packed, Rows, Scratch, Start, accumulate_transposed, product, reference};
use crate::vector::Isa;
use crate::weights::test_words;

fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut words = test_words(seed);
    (0..len).map(|_| (words() >> 40) as f32 / 8_388_608.0 - 1.0).collect()
}

/// Numbers whose chains round, cancel, underflow and keep the sign of a zero.
fn adversarial(len: usize, seed: u64) -> Vec<f32> {
    let mut words = test_words(seed);
    let mut draw = || {
        let word = words();
        let mantissa = (word >> 40) as f32 / 8_388_608.0 - 1.0;
        match word % 8 {
            0 => 0.0,
            1 => -0.0,
            2 => f32::from_bits((word >> 32) as u32 & 0x807f_ffff),
            3 => mantissa * 1e-22,
            4 => mantissa * 1e15,
            _ => mantissa,
        }
    };
    (0..len).map(|_| draw()).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Rows, inner dimension, columns: around every tile's and block's edges, empty ones, and long chains.
const SIZES: [(usize, usize, usize); 20] = [
    (0, 3, 16),
    (3, 0, 16),
    (3, 5, 0),
    (1, 1, 1),
    (3, 5, 16),
    (8, 96, 48),
    (9, 33, 17),
    (13, 64, 65),
    (64, 32, 100),
    (23, 7, 31),
    (5, 300, 64),
    (130, 40, 20),
    (127, 129, 15),
    (128, 128, 33),
    (257, 3, 47),
    (7, 1, 112),
    (513, 9, 50),
    (3, 2000, 70),
    (2, 40_001, 17),
    (40_001, 2, 17),
];

/// The rows of a matrix with numbers between them that belong to nothing.
struct Spread {
    values: Vec<f32>,
    stride: usize,
}

impl Spread {
    fn new(plain: &[f32], rows: usize, gap: usize) -> Self {
        let width = plain.len().checked_div(rows).unwrap_or(0);
        let mut values = Vec::new();
        for row in 0..rows {
            values.extend_from_slice(&plain[row * width..][..width]);
            values.resize(values.len() + gap, f32::NAN);
        }
        Self { values, stride: width + gap }
    }

    fn rows(&self, first: usize) -> Rows<'_> {
        Rows { values: &self.values[first * self.stride..], stride: self.stride }
    }
}

#[test]
fn products_are_the_reference_bit_for_bit() {
    for draw in [random, adversarial] {
        for (case, (rows, inner, cols)) in SIZES.into_iter().enumerate() {
            let a = draw(rows * inner, case as u64);
            let b = draw(inner * cols, 100 + case as u64);
            let from = draw(rows * cols, 200 + case as u64);
            let mut expected = from.clone();
            reference::product(&a, &b, rows, inner, cols, &mut expected);
            let mut from_zero = vec![0.0; rows * cols];
            reference::product(&a, &b, rows, inner, cols, &mut from_zero);
            let mut packed = Packed::from_rows(inner, &[&b]);
            if inner == 0 {
                packed = Packed::from_columns(cols, &[]);
            }
            for isa in Isa::available() {
                for gap in [0, 3] {
                    let a = Spread::new(&a, rows, gap);
                    let mut out = from.clone();
                    product(isa, a.rows(0), &packed, Start::Output, &mut out);
                    assert_eq!(bits(&out), bits(&expected), "{} {rows}x{inner}x{cols}", isa.name());
                    product(isa, a.rows(0), &packed, Start::Zero, &mut out);
                    assert_eq!(bits(&out), bits(&from_zero), "{} {rows}x{inner}x{cols}", isa.name());
                }
            }
        }
    }
}

#[test]
fn transposed_products_continue_their_chains_bit_for_bit() {
    for draw in [random, adversarial] {
        for (case, (tokens, rows, cols)) in SIZES.into_iter().enumerate() {
            let a = draw(tokens * rows, case as u64);
            let b = draw(tokens * cols, 100 + case as u64);
            let from = draw(rows * cols, 200 + case as u64);
            let mut expected = from.clone();
            reference::accumulate_transposed(&a, &b, tokens, rows, cols, &mut expected);
            let (a, b) = (Spread::new(&a, tokens, 5), Spread::new(&b, tokens, 2));
            for isa in Isa::available() {
                for cut in [0, tokens / 3, tokens] {
                    let mut out = from.clone();
                    let mut scratch = Scratch::default();
                    for (first, last) in [(0, cut), (cut, tokens)] {
                        let (a, b) = (a.rows(first), b.rows(first));
                        accumulate_transposed(isa, a, b, last - first, cols, &mut out, &mut scratch);
                    }
                    assert_eq!(
                        bits(&out),
                        bits(&expected),
                        "{} {tokens}x{rows}x{cols} cut {cut}",
                        isa.name()
                    );
                }
            }
        }
    }
}

#[test]
fn packing_columns_is_packing_the_transpose() {
    let (first, second) = (random(20 * 6, 1), random(20 * 10, 2));
    let packed = Packed::from_columns(20, &[&first, &second]);
    let mut plain = vec![0.0; 16 * 20];
    for n in 0..20 {
        for k in 0..6 {
            plain[k * 20 + n] = first[n * 6 + k];
        }
        for k in 0..10 {
            plain[(6 + k) * 20 + n] = second[n * 10 + k];
        }
    }
    let a = random(3 * 16, 3);
    let (mut found, mut expected) = (vec![0.0; 60], vec![0.0; 60]);
    product(Isa::SCALAR, Rows { values: &a, stride: 16 }, &packed, Start::Zero, &mut found);
    reference::product(&a, &plain, 3, 16, 20, &mut expected);
    assert_eq!(found, expected);
}

/// A product in which each output is computed by `chain` from its row, its column and its start.
fn by(chain: impl Fn(&[f32], &[f32], f32) -> f32, a: &[f32], b: &[f32], inner: usize, out: &mut [f32]) {
    let cols = b.len() / inner;
    for (index, out) in out.iter_mut().enumerate() {
        let column: Vec<f32> = b.iter().skip(index % cols).step_by(cols).copied().collect();
        *out = chain(&a[index / cols * inner..][..inner], &column, *out);
    }
}

fn fused(a: &[f32], b: &[f32], start: f32) -> f32 {
    a.iter().zip(b).fold(start, |sum, (a, b)| a.mul_add(*b, sum))
}

fn unfused(a: &[f32], b: &[f32], start: f32) -> f32 {
    a.iter().zip(b).fold(start, |sum, (a, b)| sum + a * b)
}

fn split(a: &[f32], b: &[f32], start: f32) -> f32 {
    let half = a.len() / 2;
    fused(&a[..half], &b[..half], start) + fused(&a[half..], &b[half..], 0.0)
}

fn descending(a: &[f32], b: &[f32], start: f32) -> f32 {
    a.iter().zip(b).rev().fold(start, |sum, (a, b)| a.mul_add(*b, sum))
}

fn padded(a: &[f32], b: &[f32], start: f32) -> f32 {
    0.0_f32.mul_add(0.0, fused(a, b, start))
}

#[test]
fn a_split_sum_an_unfused_step_another_order_and_a_padded_chain_are_each_seen() {
    let (rows, inner, cols) = (8, 96, 48);
    let (a, b, from) = (random(rows * inner, 1), random(inner * cols, 2), random(rows * cols, 3));
    let mut found = from.clone();
    let packed = Packed::from_rows(inner, &[&b]);
    let isa = Isa::available().pop().unwrap();
    product(isa, Rows { values: &a, stride: inner }, &packed, Start::Output, &mut found);
    let differs_by = |chain: fn(&[f32], &[f32], f32) -> f32| {
        let mut other = from.clone();
        by(chain, &a, &b, inner, &mut other);
        bits(&other).iter().zip(bits(&found)).filter(|&(&other, found)| other != found).count()
    };
    assert_eq!(differs_by(fused), 0, "the definition itself");
    for (name, wrong) in
        [("unfused", unfused as fn(&[f32], &[f32], f32) -> f32), ("split", split), ("descending", descending)]
    {
        assert!(differs_by(wrong) > found.len() / 2, "{name}: {} of {}", differs_by(wrong), found.len());
    }

    // What a padded chain changes is the sign of a zero.
    let (mut kept, mut lost) = (vec![-0.0; 16], vec![-0.0; 16]);
    let (zero, one) = (vec![-0.0], vec![1.0; 16]);
    product(isa, Rows { values: &zero, stride: 1 }, &Packed::from_rows(1, &[&one]), Start::Output, &mut kept);
    by(padded, &zero, &one, 1, &mut lost);
    assert_eq!((bits(&kept), bits(&lost)), (bits(&[-0.0; 16]), bits(&[0.0; 16])));
}
