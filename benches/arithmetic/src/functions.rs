//! The exponential and rows of log-probabilities, against the same loops over the standard library's functions.

use crate::contest::{contender, contest};
use tadpole_gpu::sample::log_softmax_row;
use tadpole_gpu::vector::{Isa, exp_all};

/// How many times as fast as the standard library the exponential of `len` values is, and nanoseconds a value.
pub fn exponential(isa: Isa, len: usize) -> (f64, f64) {
    let values = logits(len);
    let (mut ours, mut theirs) = (values.clone(), values.clone());
    let mut contenders = [
        contender("exact", || {
            ours.copy_from_slice(&values);
            exp_all(isa, &mut ours);
        }),
        contender("std", || {
            for (to, value) in theirs.iter_mut().zip(&values) {
                *to = value.exp();
            }
        }),
    ];
    let seconds = contest(&mut contenders);
    (seconds[1] / seconds[0], seconds[0] * 1e9 / len as f64)
}

/// The same for the log-probabilities of a row of `len` logits, and nanoseconds a row.
pub fn log_softmax(isa: Isa, len: usize) -> (f64, f64) {
    let values = logits(len);
    let [mut log_probs, mut weights] = [vec![0.0; len], vec![0.0; len]];
    let [mut log_probs_std, mut weights_std] = [vec![0.0; len], vec![0.0; len]];
    let mut contenders = [
        contender("exact", || {
            let row = log_softmax_row(isa, &values, 1.0, &mut log_probs, &mut weights);
            assert!(row.is_ok(), "the logits are finite");
        }),
        contender("std", || log_softmax_std(&values, &mut log_probs_std, &mut weights_std)),
    ];
    let seconds = contest(&mut contenders);
    (seconds[1] / seconds[0], seconds[0] * 1e9)
}

/// What the exact kernel computes, entropy aside, as one would write it.
fn log_softmax_std(logits: &[f32], log_probs: &mut [f32], weights: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for ((logit, shifted), weight) in logits.iter().zip(log_probs.iter_mut()).zip(weights) {
        *shifted = logit - largest;
        *weight = shifted.exp();
        sum += *weight;
    }
    let log_sum = sum.ln();
    for value in log_probs {
        *value -= log_sum;
    }
}

fn logits(len: usize) -> Vec<f32> {
    (0..len).map(|index| (index * 7919 % 1000) as f32 / 50.0 - 10.0).collect()
}
