use super::device::{Device, Failure, holds};
use super::values::{below, plain, spoilt, wild};
use crate::dppo::{Divergence, DppoParams, Tally, Tokens, token_gradients};
use crate::kernels::{Address, LogSoftmax, LogitGradient, NO_FAULT, ObjectiveCode, TokenGradient};
use crate::sample::log_softmax_row;
use crate::transformer::head as reference;
use crate::vector::Isa;

const CODE: u32 = 9;
/// Rows and logits of a row: one, less than a vector, whole vectors, a vocabulary, more than a tile.
const SHAPES: [[usize; 2]; 6] = [[0, 4], [3, 1], [2, 13], [2, 64], [3, 640], [2, 2061]];

/// What the reference makes of rows of logits.
#[derive(Default)]
struct Expected {
    weights: Vec<f32>,
    log_probs: Vec<f32>,
    entropies: Vec<f32>,
    sums: Vec<f32>,
    refused: Vec<bool>,
}

fn expected(logits: &[f32], vocab: usize, tokens: &[u32], temperature: f32) -> Expected {
    let mut expected = Expected::default();
    for (row, &token) in logits.chunks_exact(vocab).zip(tokens) {
        let (mut log_probs, mut weights) = (vec![0.0; vocab], vec![0.0; vocab]);
        let found = log_softmax_row(Isa::SCALAR, row, temperature, &mut log_probs, &mut weights);
        expected.refused.push(found.is_err());
        if let Ok(sums) = found {
            expected.log_probs.push(log_probs[token as usize]);
            expected.entropies.push(sums.entropy);
            expected.sums.push(sums.sum);
            expected.weights.extend_from_slice(&weights);
        }
    }
    expected
}

fn launch(
    device: &mut Device<'_>,
    logits: &[f32],
    vocab: usize,
    tokens: &[u32],
    temperature: f32,
) -> LogSoftmax {
    let rows = tokens.len();
    LogSoftmax {
        logits: device.put(logits),
        vocab: vocab as u32,
        rows: rows as u32,
        tokens: device.put(tokens),
        temperature,
        log_probs: device.room(rows),
        entropies: device.room(rows),
        sums: device.room(rows),
        faults: device.put(&vec![NO_FAULT; rows]),
        halt: device.put(&[0_u32]),
        code: CODE,
    }
}

/// Logits as they come: narrow, wide, with equal largest ones and zeros of both signs.
fn logits(rows: usize, vocab: usize, kind: usize) -> Vec<f32> {
    let seed = (rows * vocab + kind) as u64;
    match kind {
        0 => plain(rows * vocab, seed).iter().map(|x| x * 8.0).collect(),
        1 => wild(rows * vocab, seed).iter().map(|x| x.clamp(-200.0, 200.0)).collect(),
        _ => below(3, rows * vocab, seed).iter().map(|&x| [-0.0, 0.0, -1.0][x as usize]).collect(),
    }
}

pub(super) fn log_softmax(device: &mut Device<'_>) -> Result<(), Failure> {
    for [rows, vocab] in SHAPES {
        for kind in 0..3 {
            let (logits, tokens) = (logits(rows, vocab, kind), below(vocab as u32, rows, 3));
            for temperature in [1.0, 0.6, 0.0] {
                let expected = expected(&logits, vocab, &tokens, temperature);
                let launch = launch(device, &logits, vocab, &tokens, temperature);
                device.run(&launch)?;
                device.expect("log_probs", launch.log_probs, &expected.log_probs)?;
                device.expect("entropies", launch.entropies, &expected.entropies)?;
                device.expect("sums", launch.sums, &expected.sums)?;
                device.expect("weights", launch.logits, &expected.weights)?;
                device.expect("faults", launch.faults, &vec![NO_FAULT; rows])?;
                device.expect("halt", launch.halt, &[0_u32])?;
            }
        }
    }
    Ok(())
}

#[test]
fn log_probabilities_entropies_and_weights_have_the_bits_of_the_reference() {
    holds(log_softmax);
}

#[test]
fn a_row_with_a_logit_that_is_not_finite_is_noted_and_no_other() {
    holds(|device| {
        let vocab = 640;
        for seed in 0..4 {
            let mut logits = plain(4 * vocab, 1);
            logits[2 * vocab..3 * vocab].copy_from_slice(&spoilt(vocab, seed));
            let tokens = below(vocab as u32, 4, 2);
            // 1e30 is finite until it is divided by a small temperature.
            let launch = launch(device, &logits, vocab, &tokens, 1.0e-9);
            let expected = expected(&logits, vocab, &tokens, 1.0e-9);
            assert_eq!(expected.refused, [false, false, true, false]);
            device.run(&launch)?;
            device.expect("faults", launch.faults, &[NO_FAULT, NO_FAULT, CODE, NO_FAULT])?;
            device.expect("halt", launch.halt, &[1_u32])?;
        }
        Ok(())
    });
}

#[test]
fn gradients_of_logits_have_the_bits_of_the_reference_and_dropped_tokens_none() {
    holds(|device| {
        for [rows, vocab] in SHAPES {
            let (tokens, temperature) = (below(vocab as u32, rows, 3), 0.7);
            let before = expected(&logits(rows, vocab, 0), vocab, &tokens, temperature);
            let mut gradients = plain(rows, 4);
            if let Some(first) = gradients.first_mut() {
                *first = -0.0;
            }
            let mut rows_expected = before.weights.clone();
            for (index, row) in rows_expected.chunks_exact_mut(vocab).enumerate() {
                if gradients[index] == 0.0 {
                    row.fill(0.0);
                    continue;
                }
                let (sum, token) = (before.sums[index], tokens[index] as usize);
                let gradient = gradients[index] / temperature;
                reference::LogitGradient { row, sum, token, gradient }.run(Isa::SCALAR);
            }
            let launch = LogitGradient {
                logits: device.put(&before.weights),
                vocab: vocab as u32,
                rows: rows as u32,
                tokens: device.put(&tokens),
                sums: device.put(&before.sums),
                gradients: device.put(&gradients),
                temperature,
            };
            device.run(&launch)?;
            device.expect("gradients", launch.logits, &rows_expected)?;
        }
        Ok(())
    });
}

/// Tokens side by side.
struct Columns {
    log_probs: Vec<f32>,
    rollout: Vec<f32>,
    advantages: Vec<f32>,
    weights: Vec<f32>,
}

impl Columns {
    /// Tokens of all kinds that can be trained on: near both thresholds, equal, impossible now, log-probabilities that
    /// rounding put above 0, advantages of 0.
    fn new(len: usize) -> Self {
        let mut columns = Self {
            log_probs: plain(len, 1).iter().map(|x| 1.5 * x - 1.5).collect(),
            rollout: plain(len, 2).iter().map(|x| 1.5 * x - 1.5).collect(),
            advantages: plain(len, 3),
            weights: plain(len, 4).iter().map(|x| x.abs()).collect(),
        };
        for i in 0..len {
            match i % 11 {
                0 => columns.log_probs[i] = columns.rollout[i],
                1 => columns.log_probs[i] = f32::NEG_INFINITY,
                2 => columns.log_probs[i] = 5.0e-7,
                3 => columns.rollout[i] = 1.0e-7,
                4 => columns.advantages[i] = -0.0,
                5 => columns.weights[i] = 1.0,
                6 => columns.rollout[i] = -80.0,
                // p = q + 0.2 and p = q - 0.2, more or less.
                7 => (columns.log_probs[i], columns.rollout[i]) = (-0.356_675, -0.693_147_2),
                8 => (columns.rollout[i], columns.log_probs[i]) = (-0.356_675, -0.693_147_2),
                _ => {}
            }
        }
        columns
    }

    fn launch(
        &self,
        device: &mut Device<'_>,
        objective: ObjectiveCode,
        params: &DppoParams,
    ) -> TokenGradient {
        let count = self.log_probs.len();
        TokenGradient {
            log_probs: device.put(&self.log_probs),
            rollout_log_probs: device.put(&self.rollout),
            advantages: device.put(&self.advantages),
            weights: device.put(&self.weights),
            count: count as u32,
            objective: objective as u32,
            divisor: 1000.0,
            delta_low: params.delta_low as f32,
            delta_high: params.delta_high as f32,
            gradients: device.room(count),
            keep: device.put(&vec![7_u32; count]),
            halt: device.put(&[0_u32]),
        }
    }
}

fn params(divergence: Divergence) -> DppoParams {
    DppoParams { divergence, delta_low: 0.15, ..DppoParams::default() }
}

#[test]
fn tokens_are_kept_and_weighed_as_by_the_rules_of_dppo() {
    holds(|device| {
        let objectives = [(Divergence::Tv, ObjectiveCode::DppoTv), (Divergence::Kl, ObjectiveCode::DppoKl)];
        for (divergence, objective) in objectives {
            for len in [0, 1, 127, 1000] {
                let (columns, params) = (Columns::new(len), params(divergence));
                let tokens = Tokens {
                    new_lp: &columns.log_probs,
                    rollout_lp: &columns.rollout,
                    advantages: &columns.advantages,
                    mask: None,
                };
                let found = tokens.gradients(1000, &params, &mut Tally::default()).unwrap();
                let gradients: Vec<f32> = found
                    .grad
                    .iter()
                    .zip(&columns.weights)
                    .map(|(gradient, weight)| gradient * weight)
                    .collect();
                let keep: Vec<u32> = found.keep.iter().map(|&keep| u32::from(keep)).collect();
                if len == 1000 {
                    assert!(keep.contains(&0) && keep.contains(&1));
                }
                let launch = columns.launch(device, objective, &params);
                device.run(&launch)?;
                device.expect("gradients", launch.gradients, &gradients)?;
                device.expect("keep", launch.keep, &keep)?;
                device.expect("halt", launch.halt, &[0_u32])?;
            }
        }
        Ok(())
    });
}

#[test]
fn cross_entropy_keeps_every_token_and_looks_at_its_weight_alone() {
    holds(|device| {
        let columns = Columns::new(300);
        let gradients: Vec<f32> = columns.weights.iter().map(|weight| -(weight / 1000.0)).collect();
        let mut launch = columns.launch(device, ObjectiveCode::CrossEntropy, &DppoParams::default());
        (launch.rollout_log_probs, launch.advantages) = (Address(0), Address(0));
        device.run(&launch)?;
        device.expect("gradients", launch.gradients, &gradients)?;
        device.expect("keep", launch.keep, &[1_u32; 300])?;
        device.expect("halt", launch.halt, &[0_u32])
    });
}

/// New log-probability, rollout log-probability and advantage that cannot be trained on.
const REFUSED: [[f32; 3]; 12] = [
    [f32::NAN, -1.0, 1.0],
    [-1.0, f32::NAN, 1.0],
    [-1.0, -1.0, f32::NAN],
    [-1.0, -1.0, f32::INFINITY],
    [-1.0, -1.0, f32::NEG_INFINITY],
    [2.0e-6, -1.0, 1.0],
    [-1.0, 2.0e-6, 1.0],
    [f32::INFINITY, -1.0, 1.0],
    [-1.0, f32::NEG_INFINITY, 1.0],
    [-1.0, -120.0, 1.0],
    [-0.1, -99.0, -1.0],
    [-0.1, -80.0, -1.0e30],
];

#[test]
fn a_token_that_the_rules_refuse_halts_the_step() {
    holds(|device| {
        let objectives = [(Divergence::Tv, ObjectiveCode::DppoTv), (Divergence::Kl, ObjectiveCode::DppoKl)];
        for (divergence, objective) in objectives {
            let params = params(divergence);
            for [log_prob, rollout, advantage] in REFUSED {
                let found = token_gradients(&[log_prob], &[rollout], &[advantage], 1000, &params);
                assert!(found.is_err(), "{log_prob} {rollout} {advantage}");
                let mut columns = Columns::new(40);
                columns.log_probs[33] = log_prob;
                columns.rollout[33] = rollout;
                columns.advantages[33] = advantage;
                let launch = columns.launch(device, objective, &params);
                device.run(&launch)?;
                device.expect("halt", launch.halt, &[1_u32])?;
            }
        }
        Ok(())
    });
}
