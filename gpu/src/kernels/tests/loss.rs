use super::device::{Device, Failure, holds};
use super::values::{below, plain, shapes, spoilt, wild};
use crate::kernels::{LogSoftmax, LogitGradient, NO_FAULT};
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
    for [rows, vocab] in [SHAPES.to_vec(), shapes(6, [[3, 1], [1700, 1]], 1)].concat() {
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

pub(super) fn refusals(device: &mut Device<'_>) -> Result<(), Failure> {
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
}

#[test]
fn a_row_with_a_logit_that_is_not_finite_is_noted_and_no_other() {
    holds(refusals);
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
