//! Decoding, scoring and training: the bits of the processor, and its errors.

use tadpole_gpu::ArithmeticError;
use tadpole_gpu::backend::{
    Averaging, Backend, CpuBackend, Decoder, Objective, Sequence, StepReport, TrainBatch, Trainer,
    TrainerConfig,
};
use tadpole_gpu::cuda::{CudaBackend, DeviceError};
use tadpole_gpu::dppo::{Divergence, DppoParams};
use tadpole_gpu::optim::{Algorithm, OptimiserConfig};
use tadpole_gpu::weights::Weights;

use crate::sample::{SHAPE, batch, on_device, sequences, tokens, weights};

/// Runs `body` where there is a device.
fn on_both(test: &str, body: impl FnOnce(&CpuBackend, &CudaBackend)) {
    on_device(test, |device| body(&CpuBackend::new(1).unwrap(), device));
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Everything a decoder says while slots are filled, forked, extended one by one and together, and emptied.
fn decoded(backend: &dyn Backend) -> Vec<Vec<u32>> {
    let policy = backend.load(&weights(1)).unwrap();
    let mut decoder = policy.decoder(4);
    let mut said = Vec::new();
    let mut extend = |decoder: &mut dyn Decoder, work: &[(usize, &[u32])]| {
        said.extend(decoder.extend(work).unwrap().rows().map(bits));
    };
    let long = tokens(5, 40);
    extend(decoder.as_mut(), &[(0, &long[..21]), (2, &long[..3])]);
    decoder.fork(0, 1).unwrap();
    decoder.fork(2, 3).unwrap();
    for &token in &long[21..24] {
        let token = [token];
        extend(decoder.as_mut(), &[(1, &token), (3, &[7]), (0, &[1]), (2, &token)]);
    }
    decoder.reset(3).unwrap();
    extend(decoder.as_mut(), &[(3, &long)]);
    assert_eq!((decoder.len(0), decoder.len(3), decoder.slots()), (24, 40, 4));
    said
}

#[test]
fn a_decoder_says_the_same() {
    on_both("computing::a_decoder_says_the_same", |cpu, device| assert_eq!(decoded(cpu), decoded(device)));
}

#[test]
fn scores_are_the_same_at_any_temperature() {
    on_both("computing::scores_are_the_same_at_any_temperature", |cpu, device| {
        for temperature in [1.0, 0.6, 0.0] {
            let scored = |backend: &dyn Backend| {
                let scores = backend.load(&weights(2)).unwrap().score(&sequences(), temperature).unwrap();
                let bits = |scores: &tadpole_gpu::backend::Scores| {
                    (bits(&scores.log_probs), bits(&scores.entropies))
                };
                scores.iter().map(bits).collect::<Vec<_>>()
            };
            assert_eq!(scored(cpu), scored(device), "at temperature {temperature}");
        }
    });
}

/// What the policy with these weights gives as log-probabilities.
fn log_probs(backend: &dyn Backend, weights: &Weights) -> Vec<Vec<f32>> {
    let scores = backend.load(weights).unwrap().score(&sequences(), 0.9).unwrap();
    scores.into_iter().map(|scores| scores.log_probs).collect()
}

fn config() -> TrainerConfig {
    let optimiser =
        OptimiserConfig { weight_decay: 0.01, clip_norm: Some(0.05), ..OptimiserConfig::default() };
    TrainerConfig { optimiser, averaging: Averaging::From(2) }
}

fn dppo(divergence: Divergence) -> Objective {
    Objective::Dppo(DppoParams { divergence, ..DppoParams::default() })
}

/// Three steps, the last by a trainer that was restored; reports, states and weights.
fn trained(backend: &dyn Backend, batch: &TrainBatch) -> (Vec<StepReport>, Vec<Vec<u8>>, Vec<[u8; 32]>) {
    let start = weights(3);
    let mut trainer: Box<dyn Trainer> = backend.trainer(&start, &config()).unwrap();
    let (mut reports, mut states): (Vec<StepReport>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    let objectives = [dppo(Divergence::Tv), Objective::CrossEntropy, dppo(Divergence::Kl)];
    for (step, objective) in objectives.iter().enumerate() {
        if step == 2 {
            trainer = backend.restore(states.last().unwrap(), &SHAPE, &config()).unwrap();
        }
        reports.push(trainer.step(batch, objective, 1e-3).unwrap());
        states.push(trainer.state_bytes().unwrap());
    }
    let mut digests = vec![trainer.weights().unwrap().digest(), trainer.averaged_weights().unwrap().digest()];
    assert_eq!((trainer.steps(), trainer.averaged_steps()), (3, 2));
    trainer.restart(&start).unwrap();
    trainer.reset_optimiser().unwrap();
    digests.push(trainer.averaged_weights().unwrap().digest());
    states.push(trainer.state_bytes().unwrap());
    (reports, states, digests)
}

#[test]
fn training_leaves_the_same_weights_moments_mean_and_reports() {
    on_both("computing::training_leaves_the_same_weights_moments_mean_and_reports", |cpu, device| {
        let batch = batch(&log_probs(cpu, &weights(3)));
        let (reports, states, digests) = trained(cpu, &batch);
        let dropped = reports[0].tokens - reports[0].kept;
        assert!(dropped > 0 && dropped < reports[0].tokens, "{dropped} of {} dropped", reports[0].tokens);
        assert!(reports[0].gradient_scale < 1.0, "clipped");
        let there = trained(device, &batch);
        assert_eq!(reports, there.0);
        assert!(states == there.1, "states differ");
        assert_eq!(digests, there.2);
    });
}

#[test]
fn what_is_not_finite_is_named_as_the_processor_names_it() {
    on_both("computing::what_is_not_finite_is_named_as_the_processor_names_it", |cpu, device| {
        // From large to huge: it overflows in another place each time.
        let mut named = std::collections::BTreeSet::new();
        for scale in [1e15, 1e20, 1e36] {
            // A whole tensor, or the embedding of a token that stands late or in a late sequence.
            let width = SHAPE.width as usize;
            let row = |token: u32| token as usize * width..(token as usize + 1) * width;
            let late = [tokens(1, 33)[30], tokens(2, 5)[3], tokens(4, 48)[45]].map(|token| (0, row(token)));
            for (tensor, values) in [0, 4, 14].map(|tensor| (tensor, 0..usize::MAX)).into_iter().chain(late) {
                let mut weights = weights(4);
                if let Some(tensor) = weights.tensors_mut().into_iter().nth(tensor) {
                    let spoilt = values.start..values.end.min(tensor.values.len());
                    tensor.values[spoilt].iter_mut().step_by(3).for_each(|value| *value *= scale);
                }
                let all = |backend: &dyn Backend| errors(backend, &weights);
                let here = all(cpu);
                assert_eq!(here, all(device), "tensor {tensor}, {values:?} times {scale}");
                named.extend(here.into_iter().flatten());
            }
        }
        assert!(named.len() > 4, "too few errors to mean anything: {named:?}");
    });
}

/// What decoding, scoring and training say about these weights, where they refuse.
fn errors(backend: &dyn Backend, weights: &Weights) -> Vec<Option<String>> {
    let text = |error: ArithmeticError| error.to_string();
    let policy = backend.load(weights).unwrap();
    let mut decoder = policy.decoder(2);
    let long = tokens(6, 30);
    let decoded = decoder.extend(&[(1, &long[..4]), (0, &long)]).err().map(text);
    let scored = policy.score(&sequences(), 1.0).err().map(text);
    let mut trainer = backend.trainer(weights, &config()).unwrap();
    let before = trainer.state_bytes().unwrap();
    let rollout: Vec<Vec<f32>> =
        sequences().iter().map(|sequence: &Sequence| vec![-1.0; sequence.target_count()]).collect();
    let trained = trainer.step(&batch(&rollout), &dppo(Divergence::Tv), 1e-3).err();
    if trained.as_ref().is_some_and(|error| !matches!(error, ArithmeticError::Step(_))) {
        assert_eq!(trainer.state_bytes().unwrap(), before, "a refused step changed something");
    }
    vec![decoded, scored, trained.map(text)]
}

#[test]
fn a_token_that_cannot_be_trained_on_is_named_and_changes_nothing() {
    on_both("computing::a_token_that_cannot_be_trained_on_is_named_and_changes_nothing", |cpu, device| {
        let mut batch = batch(&log_probs(cpu, &weights(3)));
        batch.sequences[3].rollout_log_probs[5] = f32::NEG_INFINITY;
        batch.sequences[1].rollout_log_probs[2] = f32::NAN;
        let refused = |backend: &dyn Backend| {
            let mut trainer = backend.trainer(&weights(3), &config()).unwrap();
            let before = trainer.state_bytes().unwrap();
            let error = trainer.step(&batch, &dppo(Divergence::Tv), 1e-3).unwrap_err();
            assert_eq!(trainer.state_bytes().unwrap(), before);
            error.to_string()
        };
        assert_eq!(refused(cpu), refused(device));
    });
}

#[test]
fn what_a_device_cannot_do_is_refused_by_name() {
    on_both("computing::what_a_device_cannot_do_is_refused_by_name", |_, device| {
        let optimiser = OptimiserConfig { algorithm: Algorithm::Muon, ..OptimiserConfig::default() };
        let refused = device.trainer(&weights(3), &TrainerConfig::plain(optimiser)).err();
        let expected = DeviceError::Unsupported("the optimiser Muon");
        assert_eq!(refused, Some(ArithmeticError::Device(expected)));
    });
}
