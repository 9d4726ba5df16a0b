//! What rows of logits promise.
#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::math::double;

/// The definition again, element by element.
fn reference(logits: &[f32], temperature: f32) -> (Vec<f32>, f32) {
    let tree = |mut lanes: [f32; 16]| {
        for distance in [8, 4, 2, 1] {
            for lane in 0..distance {
                lanes[lane] += lanes[lane + distance];
            }
        }
        lanes[0]
    };
    let scaled: Vec<f32> = logits.iter().map(|logit| logit / temperature).collect();
    let largest = scaled.iter().copied().fold(f32::NEG_INFINITY, f32::max) + 0.0;
    let (mut sum, mut weighted) = ([0.0_f32; 16], [0.0_f32; 16]);
    for (index, value) in scaled.iter().enumerate() {
        let shifted = value - largest;
        sum[index % 16] += exp(shifted);
        if exp(shifted) > 0.0 {
            weighted[index % 16] = exp(shifted).mul_add(shifted, weighted[index % 16]);
        }
    }
    let log_sum = ln(tree(sum));
    let entropy = log_sum - tree(weighted) / tree(sum);
    (scaled.iter().map(|value| value - largest - log_sum).collect(), entropy.max(0.0))
}

fn row(isa: Isa, logits: &[f32], temperature: f32) -> (Vec<f32>, Vec<f32>, RowSums) {
    let (mut log_probs, mut weights) = (vec![0.0; logits.len()], vec![0.0; logits.len()]);
    let sums = log_softmax_row(isa, logits, temperature, &mut log_probs, &mut weights).unwrap();
    (log_probs, weights, sums)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #[test]
    fn every_instruction_set_has_the_bits_of_the_definition(
        logits in prop::collection::vec(prop_oneof![-30.0..30.0_f32, Just(0.0), Just(-0.0), Just(-200.0), Just(f32::MIN / 4.0), Just(f32::MAX / 4.0)], 1..70),
        temperature in prop::sample::select(vec![1.0_f32, 0.6, 2.0]),
    ) {
        let (log_probs, entropy) = reference(&logits, temperature);
        for isa in Isa::available() {
            let (found, _, sums) = row(isa, &logits, temperature);
            prop_assert_eq!(bits(&found), bits(&log_probs), "{}", isa.name());
            prop_assert_eq!(sums.entropy.to_bits(), entropy.to_bits(), "{}", isa.name());
        }
    }

    #[test]
    fn a_drawn_token_has_the_log_probability_of_its_row(
        logits in prop::collection::vec(-30.0..30.0_f32, 1..70),
        temperature in prop::sample::select(vec![0.0_f32, 0.6, 1.0]),
        u in 0.0..1.0_f64,
    ) {
        let (log_probs, _, sums) = row(Isa::SCALAR, &logits, temperature);
        let sampled = sample(&logits, temperature, u).unwrap();
        prop_assert_eq!(sampled.log_prob.to_bits(), log_probs[sampled.token as usize].to_bits());
        prop_assert_eq!(sampled.entropy.to_bits(), sums.entropy.to_bits());
    }

    #[test]
    fn entropy_and_log_probabilities_agree_with_double_precision(
        logits in prop::collection::vec(-20.0..20.0_f32, 1..200),
    ) {
        let exact: Vec<f64> = logits.iter().map(|&logit| double::exp(f64::from(logit))).collect();
        let total: f64 = exact.iter().sum();
        let entropy: f64 = exact.iter().map(|weight| -weight / total * double::ln(weight / total)).sum();
        let (log_probs, _, sums) = row(Isa::SCALAR, &logits, 1.0);
        prop_assert!((f64::from(sums.entropy) - entropy).abs() < 1e-5);
        for (found, weight) in log_probs.iter().zip(exact) {
            prop_assert!((f64::from(*found) - double::ln(weight / total)).abs() < 1e-5);
        }
    }
}

#[test]
fn temperature_is_part_of_the_log_probability() {
    let logits = [0.3, -1.2, 2.5, 0.0];
    let scaled: Vec<f32> = logits.iter().map(|logit| logit / 0.6).collect();
    assert_eq!(bits(&row(Isa::SCALAR, &logits, 0.6).0), bits(&row(Isa::SCALAR, &scaled, 1.0).0));
    assert_ne!(bits(&row(Isa::SCALAR, &logits, 0.6).0), bits(&row(Isa::SCALAR, &logits, 1.0).0));
}

#[test]
fn tokens_are_drawn_as_often_as_they_are_probable() {
    let logits = [0.0, 1.0, -1.0, 2.0, -2.0];
    let (log_probs, _, _) = row(Isa::SCALAR, &logits, 1.0);
    let draws = 100_000;
    let mut counts = [0_u32; 5];
    for draw in 0..draws {
        let sampled = sample(&logits, 1.0, (f64::from(draw) + 0.5) / f64::from(draws)).unwrap();
        counts[sampled.token as usize] += 1;
    }
    for (count, log_prob) in counts.into_iter().zip(log_probs) {
        let expected = double::exp(f64::from(log_prob)) * f64::from(draws);
        assert!((f64::from(count) - expected).abs() <= 1.0, "{count} {expected}");
    }
}

#[test]
fn the_extreme_draws_give_tokens_that_have_a_probability() {
    let last_draw = 1.0 - f64::EPSILON / 2.0;
    let logits = [-300.0, 0.0, 1.0, -300.0];
    assert_eq!(sample(&logits, 1.0, 0.0).unwrap().token, 1);
    assert_eq!(sample(&logits, 1.0, last_draw).unwrap().token, 2);
    assert_eq!(draw(&[0.0, 0.1, 0.7, 0.0], 1.0), 2);
    assert_eq!(sample(&[4.0], 1.0, last_draw).unwrap(), Sampled { token: 0, log_prob: 0.0, entropy: 0.0 });
}

#[test]
fn at_temperature_zero_the_lowest_of_equal_tokens_is_certain() {
    let sampled = sample(&[1.0, 3.0, -2.0, 3.0], 0.0, 0.99).unwrap();
    assert_eq!(sampled, Sampled { token: 1, log_prob: 0.0, entropy: 0.0 });
    assert_eq!(sample(&[-0.0, 0.0], 0.0, 0.5).unwrap().token, 0);
    assert_eq!(row(Isa::SCALAR, &[1.0, 3.0], 0.0).0, [f32::NEG_INFINITY, 0.0]);
}

#[test]
fn what_has_no_distribution_is_refused() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for temperature in [0.0, 1.0] {
            let found = sample(&[0.0, bad], temperature, 0.5);
            assert!(matches!(found, Err(SampleError::Logit { index: 1, .. })), "{found:?}");
        }
    }
    assert_eq!(sample(&[1.0, 3e38], 0.5, 0.5), Err(SampleError::Logit { index: 1, value: 3e38 }));
    assert_eq!(sample(&[], 1.0, 0.5), Err(SampleError::Empty));
    assert_eq!(sample(&[1.0], -1.0, 0.5), Err(SampleError::Temperature(-1.0)));
    assert!(matches!(sample(&[1.0], f32::NAN, 0.5), Err(SampleError::Temperature(_))));
    assert_eq!(sample(&[1.0], 1.0, 1.0), Err(SampleError::Draw(1.0)));
    assert!(matches!(sample(&[1.0], 1.0, f64::NAN), Err(SampleError::Draw(_))));
    let found = log_softmax_row(Isa::SCALAR, &[1.0, 2.0], 1.0, &mut [0.0], &mut [0.0; 2]);
    assert_eq!(found, Err(SampleError::Length { found: 1, expected: 2 }));
}
