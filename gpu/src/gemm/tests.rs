//! Every product has the bits of its reference, whatever the instruction set, the shape and the start.

use super::{Packed, Rows, Scratch, Start, accumulate_transposed, product, reference};
use crate::vector::Isa;
use crate::weights::test_words;

fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut words = test_words(seed);
    (0..len).map(|_| (words() >> 40) as f32 / 8_388_608.0 - 1.0).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

const SIZES: [(usize, usize, usize); 9] = [
    (1, 1, 1),
    (3, 5, 16),
    (8, 96, 48),
    (9, 33, 17),
    (13, 64, 65),
    (64, 32, 100),
    (23, 7, 31),
    (5, 300, 64),
    (130, 40, 20),
];

#[test]
fn products_are_the_reference_bit_for_bit() {
    for (case, (rows, inner, cols)) in SIZES.into_iter().enumerate() {
        let a = random(rows * inner, case as u64);
        let b = random(inner * cols, 100 + case as u64);
        let from = random(rows * cols, 200 + case as u64);
        let mut expected = from.clone();
        reference::product(&a, &b, rows, inner, cols, &mut expected);
        let mut from_zero = vec![0.0; rows * cols];
        reference::product(&a, &b, rows, inner, cols, &mut from_zero);
        let packed = Packed::from_rows(inner, &[&b]);
        for isa in Isa::available() {
            let a = Rows { values: &a, stride: inner };
            let mut out = from.clone();
            product(isa, a, &packed, Start::Output, &mut out);
            assert_eq!(bits(&out), bits(&expected), "{} {rows}x{inner}x{cols}", isa.name());
            product(isa, a, &packed, Start::Zero, &mut out);
            assert_eq!(bits(&out), bits(&from_zero), "{} {rows}x{inner}x{cols}", isa.name());
        }
    }
}

#[test]
fn transposed_products_continue_their_chains_bit_for_bit() {
    for (case, (tokens, rows, cols)) in SIZES.into_iter().enumerate() {
        let a = random(tokens * rows, case as u64);
        let b = random(tokens * cols, 100 + case as u64);
        let from = random(rows * cols, 200 + case as u64);
        let mut expected = from.clone();
        reference::accumulate_transposed(&a, &b, tokens, rows, cols, &mut expected);
        for isa in Isa::available() {
            for cut in [0, tokens / 3, tokens] {
                let mut out = from.clone();
                let mut scratch = Scratch::default();
                for (first, last) in [(0, cut), (cut, tokens)] {
                    let a = Rows { values: &a[first * rows..], stride: rows };
                    let b = Rows { values: &b[first * cols..], stride: cols };
                    accumulate_transposed(isa, a, b, last - first, cols, &mut out, &mut scratch);
                }
                assert_eq!(bits(&out), bits(&expected), "{} {tokens}x{rows}x{cols} cut {cut}", isa.name());
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
