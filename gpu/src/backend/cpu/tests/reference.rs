//! The policy once more, as its equations stand: in double precision, position by position, with nothing shared but
//! the weights.

use super::*;
use crate::math::{self, double};
use crate::weights::LayerTensor;

/// `x W` for a matrix `[in, out]`.
fn times(x: &[f64], matrix: &[f32]) -> Vec<f64> {
    let cols = matrix.len() / x.len();
    (0..cols).map(|n| x.iter().enumerate().map(|(k, x)| x * f64::from(matrix[k * cols + n])).sum()).collect()
}

fn norm(x: &[f64], gain: &[f32], eps: f32) -> Vec<f64> {
    let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
    let root = (mean + f64::from(eps)).sqrt();
    x.iter().zip(gain).map(|(x, &gain)| x / root * f64::from(gain)).collect()
}

/// Turns the pairs `(i, i + half)` of a head by `position * base^(-i / half)`.
fn rotate(head: &mut [f64], position: usize, base: f32) {
    let half = head.len() / 2;
    for i in 0..half {
        let exponent = double::ln(f64::from(base)) * i as f64 / half as f64;
        let (sine, cosine) = math::sin_cos((position as f64 * double::exp(-exponent)) as f32);
        let (a, b) = (head[i], head[i + half]);
        head[i] = a * f64::from(cosine) - b * f64::from(sine);
        head[i + half] = b * f64::from(cosine) + a * f64::from(sine);
    }
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| double::exp(score - largest)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

fn embed(weights: &Weights, tokens: &[u32], position: usize) -> Vec<f64> {
    let width = weights.shape().width as usize;
    let row = |table: &[f32], token: u32| -> Vec<f64> {
        table[token as usize * width..][..width].iter().map(|&value| f64::from(value)).collect()
    };
    let mut x = row(weights.embedding(), tokens[position]);
    for distance in 1..=weights.shape().ngram as usize {
        if position >= distance {
            let previous = row(weights.previous(distance), tokens[position - distance]);
            x.iter_mut().zip(previous).for_each(|(x, previous)| *x += previous);
        }
    }
    x
}

/// Logits at every position.
fn logits(weights: &Weights, tokens: &[u32]) -> Vec<Vec<f64>> {
    let shape = weights.shape();
    let (dim, group) = (shape.head_dim as usize, shape.group());
    let mut stream: Vec<Vec<f64>> = (0..tokens.len()).map(|p| embed(weights, tokens, p)).collect();
    for layer in 0..shape.layers as usize {
        let of = |tensor| weights.layer(layer, tensor);
        let heads = |h: &[f64], matrix, gain, position| -> Vec<Vec<f64>> {
            let flat = times(h, of(matrix));
            let turn = |head: &[f64]| {
                let mut head = norm(head, of(gain), shape.norm_eps);
                rotate(&mut head, position, shape.rope_base);
                head
            };
            flat.chunks(dim).map(turn).collect()
        };
        let mut keys: Vec<Vec<Vec<f64>>> = Vec::new();
        let mut values: Vec<Vec<f64>> = Vec::new();
        for (position, x) in stream.iter_mut().enumerate() {
            let h = norm(x, of(LayerTensor::AttentionNorm), shape.norm_eps);
            let queries = heads(&h, LayerTensor::Query, LayerTensor::QueryNorm, position);
            keys.push(heads(&h, LayerTensor::Key, LayerTensor::KeyNorm, position));
            values.push(times(&h, of(LayerTensor::Value)));
            let mut context = Vec::new();
            for (head, query) in queries.iter().enumerate() {
                let dot = |key: &[f64]| query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>();
                let scores: Vec<f64> =
                    keys.iter().map(|keys| dot(&keys[head / group]) / (dim as f64).sqrt()).collect();
                let weights = softmax(&scores);
                for channel in 0..dim {
                    let at = head / group * dim + channel;
                    context.push(weights.iter().zip(&values).map(|(weight, value)| weight * value[at]).sum());
                }
            }
            let attended = times(&context, of(LayerTensor::Output));
            x.iter_mut().zip(attended).for_each(|(x, part)| *x += part);
            let h = norm(x, of(LayerTensor::FeedForwardNorm), shape.norm_eps);
            let gates = times(&h, of(LayerTensor::Gate));
            let ups = times(&h, of(LayerTensor::Up));
            let act: Vec<f64> =
                gates.iter().zip(ups).map(|(gate, up)| gate / (1.0 + double::exp(-gate)) * up).collect();
            let fed = times(&act, of(LayerTensor::Down));
            x.iter_mut().zip(fed).for_each(|(x, part)| *x += part);
        }
    }
    let width = shape.width as usize;
    let last = |x: &Vec<f64>| -> Vec<f64> {
        let h = norm(x, weights.final_norm(), shape.norm_eps);
        let row = |row: &[f32]| row.iter().zip(&h).map(|(&e, h)| f64::from(e) * h).sum();
        weights.embedding().chunks(width).map(row).collect()
    };
    stream.iter().map(last).collect()
}

#[test]
fn logits_are_those_of_the_equations() {
    for shape in [TINY, OTHER] {
        let (weights, tokens) = (weights_of(&shape, 20), random_tokens(40, 21));
        let policy = CpuBackend::new(1).unwrap().load(&weights).unwrap();
        let mut decoder = policy.decoder(1);
        for (token, expected) in tokens.iter().zip(logits(&weights, &tokens)) {
            let found = decoder.extend(&[(0, std::slice::from_ref(token))]).unwrap();
            for (&found, expected) in found.rows().next().unwrap().iter().zip(expected) {
                assert!((f64::from(found) - expected).abs() < 2e-5, "{found} {expected}");
            }
        }
    }
}
