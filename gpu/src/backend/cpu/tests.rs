//! What a backend promises: equal bits however work is cut, right gradients, typed refusals.

#![allow(clippy::single_range_in_vec_init, reason = "a list of one span is meant")]

mod reference;

use super::trainer::CpuTrainer;
use super::*;
use crate::backend::{Averaging, Objective, Scores, Sequence, StepReport, TrainBatch, TrainSequence};
use crate::dppo::DppoParams;
use crate::error::Quantity;
use crate::optim::{Algorithm, OptimiserConfig};
use crate::sample::{log_softmax_row, sample};
use crate::shape::tests::TINY;
use crate::weights::{Initial, Role, test_words};

/// Several key-value heads, wider heads, a vocabulary that fills whole vectors, no look-up tables.
const OTHER: ModelShape =
    ModelShape { vocab: 32, layers: 1, heads: 6, kv_heads: 2, head_dim: 64, ngram: 0, ..TINY };

fn policy_weights(seed: u64) -> Weights {
    weights_of(&TINY, seed)
}

fn weights_of(shape: &ModelShape, seed: u64) -> Weights {
    let mut words = test_words(seed);
    let mut weights =
        Weights::init(shape, Initial { embedding_std: 0.3, ..Initial::default() }, &mut words).unwrap();
    // Gains that are not all alike.
    for tensor in weights.tensors_mut() {
        if tensor.spec.role == Role::Norm {
            for value in tensor.values {
                *value *= 0.5 + (words() >> 40) as f32 / 16_777_216.0;
            }
        }
    }
    weights
}

fn random_tokens(len: usize, seed: u64) -> Vec<u32> {
    let mut words = test_words(seed);
    (0..len).map(|_| (words() % u64::from(TINY.vocab)) as u32).collect()
}

fn backends() -> Vec<CpuBackend> {
    let mut backends = Vec::new();
    for isa in Isa::available() {
        for threads in [1, 2, 3, 8] {
            backends.push(CpuBackend::with_isa(threads, isa).unwrap());
        }
    }
    backends
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn config() -> TrainerConfig {
    TrainerConfig::plain(OptimiserConfig::default())
}

/// Sequences of several lengths, among them one of a single token and one that ends a block of positions.
fn sequences() -> Vec<Sequence> {
    let mut sequences = Vec::new();
    for (index, len) in [33_u32, 1, 16, 50, 17, 2, 64].into_iter().enumerate() {
        let tokens = random_tokens(len as usize, 40 + index as u64);
        let targets = match len {
            1 => vec![],
            2 => vec![1..2],
            16..=17 => vec![1..5, 8..len],
            _ => vec![1..2, 10..20, 20..len],
        };
        sequences.push(Sequence { tokens, targets });
    }
    sequences
}

fn batch(temperature: f32) -> TrainBatch {
    let mut words = test_words(9);
    let mut unit = move || (words() >> 40) as f32 / 8_388_608.0 - 1.0;
    let mut batch = TrainBatch { sequences: Vec::new(), temperature };
    for sequence in sequences() {
        let advantages = (0..sequence.target_count()).map(|_| unit()).collect();
        let rollout_log_probs = (0..sequence.target_count()).map(|_| unit() - 3.0).collect();
        batch.sequences.push(TrainSequence { sequence, advantages, rollout_log_probs, weight: 1.0 });
    }
    batch
}

/// The logits behind every prefix of `tokens`, one token at a time.
fn decode_one_by_one(backend: CpuBackend, weights: &Weights, tokens: &[u32]) -> Vec<Vec<u32>> {
    let policy = backend.load(weights).unwrap();
    let mut decoder = policy.decoder(1);
    let step = |token: &u32| {
        let logits = decoder.extend(&[(0, std::slice::from_ref(token))]).unwrap();
        bits(logits.rows().next().unwrap())
    };
    tokens.iter().map(step).collect()
}

#[test]
fn decoding_has_the_bits_of_prefilling_whatever_else_is_in_the_batch() {
    for shape in [TINY, OTHER] {
        check_decoding(&weights_of(&shape, 1));
    }
}

fn check_decoding(weights: &Weights) {
    let sequences: Vec<Vec<u32>> = sequences().into_iter().map(|sequence| sequence.tokens).collect();
    let scalar = CpuBackend::with_isa(1, Isa::SCALAR).unwrap();
    let expected: Vec<Vec<Vec<u32>>> =
        sequences.iter().map(|tokens| decode_one_by_one(scalar, weights, tokens)).collect();
    for backend in backends() {
        let policy = backend.load(weights).unwrap();
        let mut decoder = policy.decoder(sequences.len());
        let mut words = test_words(77);
        let mut done = vec![0; sequences.len()];
        // Every call appends a random stretch to a random choice of slots, in a random order.
        while done.iter().zip(&sequences).any(|(&done, tokens)| done < tokens.len()) {
            let mut work: Vec<(usize, &[u32])> = Vec::new();
            for (slot, tokens) in sequences.iter().enumerate() {
                let left = &tokens[done[slot]..];
                if left.is_empty() || words().is_multiple_of(3) {
                    continue;
                }
                let most = if words().is_multiple_of(2) { 1 } else { 40 };
                let len = 1 + words() as usize % left.len().min(most);
                let place = words() as usize % (work.len() + 1);
                work.insert(place, (slot, &left[..len]));
            }
            let logits = decoder.extend(&work).unwrap();
            for (&(slot, tokens), row) in work.iter().zip(logits.rows()) {
                done[slot] += tokens.len();
                assert_eq!(bits(row), expected[slot][done[slot] - 1], "{} slot {slot}", backend.describe());
            }
        }
    }
}

#[test]
fn a_forked_sequence_goes_on_as_if_it_had_been_read_anew() {
    let weights = policy_weights(2);
    let (prompt, first, second) = (random_tokens(37, 1), random_tokens(9, 2), random_tokens(9, 3));
    let backend = CpuBackend::new(1).unwrap();
    let policy = backend.load(&weights).unwrap();
    let mut decoder = policy.decoder(3);
    decoder.extend(&[(2, &prompt)]).unwrap();
    decoder.fork(2, 0).unwrap();
    decoder.fork(2, 1).unwrap();
    decoder.reset(2).unwrap();
    let logits = decoder.extend(&[(1, &second), (0, &first)]).unwrap();
    let found: Vec<Vec<u32>> = logits.rows().map(bits).collect();
    for (found, tail) in found.iter().zip([&second, &first]) {
        let whole = [prompt.as_slice(), tail].concat();
        let mut anew = policy.decoder(1);
        let expected = anew.extend(&[(0, &whole)]).unwrap();
        assert_eq!(*found, bits(expected.rows().next().unwrap()));
    }
    assert_eq!((decoder.len(0), decoder.len(1), decoder.len(2)), (46, 46, 0));
}

#[test]
fn reading_a_known_history_has_the_bits_of_decoding_it() {
    let weights = policy_weights(4);
    let tokens = random_tokens(60, 5);
    let expected = decode_one_by_one(CpuBackend::with_isa(1, Isa::SCALAR).unwrap(), &weights, &tokens);
    let mut words = test_words(78);
    for backend in backends() {
        let policy = backend.load(&weights).unwrap();
        let (mut decoder, mut logits) = (policy.decoder(2), Vec::new());
        let mut from = 0;
        while from < tokens.len() {
            let part = &tokens[from..][..=(words() as usize % (tokens.len() - from))];
            let wanted: Vec<usize> = (0..part.len()).filter(|_| words().is_multiple_of(2)).collect();
            decoder.read(1, part, &wanted, &mut logits).unwrap();
            let rows: Vec<Vec<u32>> = logits.chunks(weights.shape().vocab as usize).map(bits).collect();
            let expected: Vec<Vec<u32>> = wanted.iter().map(|place| expected[from + place].clone()).collect();
            assert_eq!(rows, expected, "{} from {from}", backend.describe());
            from += part.len();
        }
        assert_eq!((decoder.len(0), decoder.len(1)), (0, tokens.len()));
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    let policy = CpuBackend::new(1).unwrap().load(&policy_weights(4)).unwrap();
    let (mut decoder, mut logits) = (policy.decoder(1), Vec::new());
    for (tokens, wanted) in [(&[][..], &[][..]), (&[1, 2], &[2]), (&[1, 2], &[1, 1]), (&[1, 2], &[1, 0])] {
        let refused = decoder.read(0, tokens, wanted, &mut logits);
        assert!(matches!(refused, Err(ArithmeticError::Sequence { .. })), "{tokens:?} {wanted:?}");
    }
    assert!(matches!(decoder.read(0, &[1, 23], &[], &mut logits), Err(ArithmeticError::Token { .. })));
    assert!(matches!(decoder.read(1, &[1], &[], &mut logits), Err(ArithmeticError::Slot { .. })));
    assert_eq!(decoder.len(0), 0);
}

#[test]
fn decoder_scorer_and_trainer_agree_on_every_log_probability() {
    let weights = policy_weights(3);
    for temperature in [1.0, 0.6] {
        let mut expected: Option<Vec<Scores>> = None;
        for backend in backends() {
            let policy = backend.load(&weights).unwrap();
            let scores = policy.score(&sequences(), temperature).unwrap();
            let expected = expected.get_or_insert_with(|| scores.clone());
            assert_eq!(scores, *expected, "{}", backend.describe());
            let mut trainer = backend.trainer(&weights, &config()).unwrap();
            let report = trainer.step(&batch(temperature), &Objective::CrossEntropy, 0.0).unwrap();
            for (found, scores) in report.sequences.iter().zip(&scores) {
                assert_eq!(bits(&found.log_probs), bits(&scores.log_probs));
                assert_eq!(bits(&found.entropies), bits(&scores.entropies));
            }
            for (sequence, scores) in sequences().iter().zip(&scores) {
                let mut decoder = policy.decoder(1);
                let mut next = scores.log_probs.iter();
                for (position, &token) in sequence.tokens.iter().enumerate() {
                    if sequence.targets.iter().any(|span| span.contains(&(position as u32))) {
                        let mut rows = [vec![0.0; 23], vec![0.0; 23]];
                        let before = &sequence.tokens[..position];
                        decoder.reset(0).unwrap();
                        let logits = decoder.extend(&[(0, before)]).unwrap();
                        let [log_probs, scratch] = &mut rows;
                        let logits = logits.rows().next().unwrap();
                        log_softmax_row(Isa::SCALAR, logits, temperature, log_probs, scratch).unwrap();
                        assert_eq!(log_probs[token as usize].to_bits(), next.next().unwrap().to_bits());
                    }
                }
            }
        }
    }
}

#[test]
fn on_the_policy_that_sampled_every_ratio_is_exactly_1() {
    let weights = policy_weights(4);
    let backend = CpuBackend::new(2).unwrap();
    let policy = backend.load(&weights).unwrap();
    let mut decoder = policy.decoder(5);
    let prompts: Vec<Vec<u32>> = (0..5).map(|index| random_tokens(3 + 5 * index, index as u64)).collect();
    let mut words = test_words(12);
    let mut batch = TrainBatch { sequences: Vec::new(), temperature: 0.8 };
    for prompt in &prompts {
        let start = prompt.len() as u32;
        let sequence = Sequence { tokens: prompt.clone(), targets: vec![start..start + 20] };
        batch.sequences.push(TrainSequence { sequence, weight: 1.0, ..TrainSequence::default() });
    }
    let mut pending: Vec<Vec<u32>> = prompts;
    for _ in 0..20 {
        let work: Vec<(usize, &[u32])> =
            pending.iter().enumerate().map(|(slot, tokens)| (slot, tokens.as_slice())).collect();
        let logits = decoder.extend(&work).unwrap();
        let mut drawn = Vec::new();
        for (row, sequence) in logits.rows().zip(&mut batch.sequences) {
            let u = (words() >> 11) as f64 / 9_007_199_254_740_992.0;
            let sampled = sample(row, 0.8, u).unwrap();
            sequence.sequence.tokens.push(sampled.token);
            sequence.rollout_log_probs.push(sampled.log_prob);
            sequence.advantages.push(1.0);
            drawn.push(vec![sampled.token]);
        }
        pending = drawn;
    }
    let mut trainer = backend.trainer(&weights, &config()).unwrap();
    let report = trainer.step(&batch, &Objective::Dppo(DppoParams::default()), 1e-3).unwrap();
    assert_eq!((report.tokens, report.kept, report.ratio_max, report.kl_sum), (100, 100, 1.0, 0.0));
    assert_eq!(report.loss, -1.0);
}

fn gradients_of(trainer: &mut CpuTrainer, batch: &TrainBatch, objective: &Objective) -> Weights {
    trainer.gradients(batch, objective).unwrap().0
}

#[test]
fn gradients_have_one_set_of_bits_over_instruction_sets_threads_and_sequences_under_way() {
    let objective = Objective::Dppo(DppoParams::default());
    for shape in [TINY, OTHER] {
        let weights = weights_of(&shape, 5);
        let mut expected = None;
        for isa in Isa::available() {
            for (threads, window) in [(1, 1), (2, 1), (2, 2), (8, 3), (1, 100), (3, 3), (8, 100)] {
                let mut trainer =
                    CpuTrainer::new(weights.clone(), isa, Pool::new(threads), &config()).unwrap();
                trainer.window = window;
                let digest = gradients_of(&mut trainer, &batch(1.0), &objective).digest();
                let expected = *expected.get_or_insert(digest);
                assert_eq!(digest, expected, "{} {threads} {window}", isa.name());
            }
        }
    }
}

#[test]
fn the_bits_of_this_arithmetic_version_stay() {
    let optimiser = OptimiserConfig { algorithm: Algorithm::Muon, ..OptimiserConfig::default() };
    let backend = CpuBackend::new(2).unwrap();
    let mut trainer = backend.trainer(&weights_of(&TINY, 11), &TrainerConfig::plain(optimiser)).unwrap();
    for objective in [Objective::CrossEntropy, Objective::Dppo(DppoParams::default())] {
        trainer.step(&batch(0.7), &objective, 1e-2).unwrap();
    }
    let digest = trainer.weights().unwrap().digest();
    let digest = u64::from_be_bytes(*digest.first_chunk().unwrap());
    assert_eq!((crate::ARITHMETIC_VERSION, digest), (1, 0x607e_9c2e_b733_3008));
}

/// The loss of a batch, added up in double precision from log-probabilities.
fn loss(weights: &Weights, batch: &TrainBatch, objective: &Objective) -> f64 {
    let mut trainer =
        CpuTrainer::new(weights.clone(), Isa::available().pop().unwrap(), Pool::new(2), &config()).unwrap();
    let (_, _, tally) = trainer.gradients(batch, objective).unwrap();
    tally.loss(tally.tokens)
}

/// One direction in weight space within one tensor.
#[derive(Clone, Copy, Debug)]
enum Direction {
    /// Along the gradient, each part by a random factor: the slope is far above rounding.
    Gradient,
    /// Any.
    Random,
}

/// The slope along a direction by central differences and by the gradient, and the gradient's usual slope.
fn slopes(shape: &ModelShape, index: usize, along: Direction, objective: &Objective) -> [f64; 3] {
    let (weights, batch) = (weights_of(shape, 6), batch(1.0));
    let isa = Isa::available().pop().unwrap();
    let mut trainer = CpuTrainer::new(weights.clone(), isa, Pool::new(1), &config()).unwrap();
    let gradients = gradients_of(&mut trainer, &batch, objective);
    let gradient = gradients.tensors()[index].values;
    let mut words = test_words(100 + index as u64);
    let mut unit = || f64::from((words() >> 40) as f32 / 8_388_608.0 - 1.0);
    let direction: Vec<f64> = match along {
        Direction::Gradient => {
            gradient.iter().map(|&value| f64::from(value) * (1.0 + 0.5 * unit())).collect()
        }
        Direction::Random => gradient.iter().map(|_| unit()).collect(),
    };
    let norm = direction.iter().map(|value| value * value).sum::<f64>().sqrt();
    let step = 4e-3;
    let moved = |by: f64| {
        let mut weights = weights.clone();
        for (value, &along) in weights.tensors_mut()[index].values.iter_mut().zip(&direction) {
            *value += (by * along / norm) as f32;
        }
        loss(&weights, &batch, objective)
    };
    let measured = (moved(step) - moved(-step)) / (2.0 * step);
    let predicted = gradient.iter().zip(&direction).map(|(&g, &d)| f64::from(g) * d / norm).sum();
    let size = gradient.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>().sqrt();
    [measured, predicted, size / (gradient.len() as f64).sqrt()]
}

#[test]
fn gradients_are_the_slopes_of_the_loss_in_every_tensor() {
    let params = DppoParams { delta_low: 1.0, delta_high: 1.0, ..DppoParams::default() };
    let dppo = Objective::Dppo(params);
    for (shape, objective) in
        [(TINY, Objective::CrossEntropy), (TINY, dppo), (OTHER, Objective::CrossEntropy)]
    {
        for (index, spec) in weights_of(&shape, 6).specs().iter().enumerate() {
            for along in [Direction::Gradient, Direction::Random] {
                let [measured, predicted, usual] = slopes(&shape, index, along, &objective);
                let allowed = 0.02 * predicted.abs() + 0.05 * usual + 2e-5;
                let name = &spec.name;
                assert!(
                    (measured - predicted).abs() < allowed,
                    "{name} {along:?}: measured {measured}, gradient {predicted}, usual {usual}"
                );
            }
        }
    }
}

fn overfit(algorithm: Algorithm, rate: f32) -> (StepReport, StepReport) {
    let optimiser = OptimiserConfig { algorithm, ..OptimiserConfig::default() };
    let backend = CpuBackend::new(2).unwrap();
    let mut trainer = backend.trainer(&policy_weights(7), &TrainerConfig::plain(optimiser)).unwrap();
    let mut reports = Vec::new();
    for _ in 0..60 {
        reports.push(trainer.step(&batch(1.0), &Objective::CrossEntropy, rate).unwrap());
    }
    (reports[0].clone(), reports[59].clone())
}

#[test]
fn a_trainer_learns_a_few_sequences_by_heart() {
    for (algorithm, rate) in [(Algorithm::AdamW, 1e-2), (Algorithm::Muon, 4e-3)] {
        let (first, last) = overfit(algorithm, rate);
        assert!(first.loss > 2.5 && last.loss < 0.3, "{algorithm:?}: {} to {}", first.loss, last.loss);
    }
}

#[test]
fn a_restored_trainer_goes_on_with_the_bits_of_one_that_was_never_stopped() {
    let config = TrainerConfig { averaging: Averaging::From(2), ..config() };
    let backend = CpuBackend::new(1).unwrap();
    let step = |trainer: &mut Box<dyn Trainer>| {
        trainer.step(&batch(1.0), &Objective::CrossEntropy, 3e-3).unwrap();
    };
    let mut whole = backend.trainer(&policy_weights(8), &config).unwrap();
    let mut broken = backend.trainer(&policy_weights(8), &config).unwrap();
    for _ in 0..3 {
        step(&mut whole);
        step(&mut broken);
        broken = backend.restore(&broken.state_bytes().unwrap(), &TINY, &config).unwrap();
    }
    assert_eq!(whole.state_bytes().unwrap(), broken.state_bytes().unwrap());
    assert_eq!(broken.steps(), 3);
    assert_ne!(whole.averaged_weights().unwrap(), *whole.weights().unwrap());
    let bytes = whole.state_bytes().unwrap();
    assert!(backend.restore(&bytes[..bytes.len() - 1], &TINY, &config).is_err());
    assert!(backend.restore(&bytes, &ModelShape { layers: 1, ..TINY }, &config).is_err());
    whole.reset_optimiser().unwrap();
    assert_eq!((whole.steps(), whole.averaged_weights().unwrap()), (0, whole.weights().unwrap().clone()));
}

#[test]
fn an_overflow_is_named_where_it_arises() {
    let mut weights = policy_weights(9);
    for tensor in weights.tensors_mut() {
        if tensor.spec.name == "model.layers.1.mlp.up_proj.weight" {
            tensor.values.fill(1e38);
        }
    }
    let backend = CpuBackend::new(2).unwrap();
    let policy = backend.load(&weights).unwrap();
    let expected =
        ArithmeticError::NotFinite { quantity: Quantity::Residual, layer: None, sequence: 0, position: 0 };
    assert_eq!(policy.score(&sequences(), 1.0).unwrap_err().to_string(), expected.to_string());
    let mut decoder = policy.decoder(2);
    assert!(matches!(decoder.extend(&[(1, &[3, 4])]), Err(ArithmeticError::NotFinite { sequence: 0, .. })));
    let mut trainer = backend.trainer(&weights, &config()).unwrap();
    let before = trainer.state_bytes().unwrap();
    assert!(trainer.step(&batch(1.0), &Objective::CrossEntropy, 1e-3).is_err());
    assert_eq!(trainer.state_bytes().unwrap(), before);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let backend = CpuBackend::new(1).unwrap();
    let policy = backend.load(&policy_weights(10)).unwrap();
    let mut decoder = policy.decoder(2);
    let long = vec![1; 65];
    assert!(matches!(decoder.extend(&[(2, &[1])]), Err(ArithmeticError::Slot { slot: 2, .. })));
    assert!(matches!(decoder.extend(&[(0, &[1]), (0, &[1])]), Err(ArithmeticError::Slot { slot: 0, .. })));
    assert!(matches!(decoder.extend(&[(0, &[])]), Err(ArithmeticError::Sequence { .. })));
    assert!(matches!(decoder.extend(&[(0, &[1, 23])]), Err(ArithmeticError::Token { position: 1, .. })));
    assert!(matches!(decoder.extend(&[(0, &long)]), Err(ArithmeticError::Context { needed: 65, .. })));
    assert!(decoder.extend(&[]).unwrap().is_empty());
    for targets in [vec![0..2], vec![1..3, 2..4], vec![3..9]] {
        let sequence = Sequence { tokens: vec![1; 5], targets };
        assert!(matches!(policy.score(&[sequence], 1.0), Err(ArithmeticError::Sequence { .. })));
    }
    assert!(matches!(policy.score(&[], f32::NAN), Err(ArithmeticError::Parameter { .. })));
    let mut trainer = backend.trainer(&policy_weights(10), &config()).unwrap();
    let mut short = batch(1.0);
    short.sequences[3].advantages.pop();
    let refused = trainer.step(&short, &Objective::Dppo(DppoParams::default()), 1e-3);
    assert!(matches!(refused, Err(ArithmeticError::Sequence { sequence: 3, .. })));
    let mut impossible = batch(1.0);
    impossible.sequences[3].rollout_log_probs[4] = f32::NEG_INFINITY;
    let refused = trainer.step(&impossible, &Objective::Dppo(DppoParams::default()), 1e-3);
    assert!(matches!(refused, Err(ArithmeticError::Dppo { sequence: 3, .. })));
    assert!(trainer.step(&TrainBatch::default(), &Objective::CrossEntropy, 1e-3).is_err());
}
