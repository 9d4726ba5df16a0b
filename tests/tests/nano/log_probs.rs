//! A rollout's log-probabilities are the trainer's, bit for bit, whatever else is in the batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use tadpole_gpu::backend::{
    Backend, CpuBackend, Objective, Policy, Sequence, TrainBatch, TrainSequence, TrainerConfig,
};
use tadpole_gpu::dppo::DppoParams;
use tadpole_gpu::optim::OptimiserConfig;
use tadpole_gpu::weights::Weights;
use tadpole_kernel::event::{Event, Purpose, TrajectoryFinishedV1};
use tadpole_kernel::id::{Digest, Version};
use tadpole_kernel::run::RunReader;
use tadpole_tests::nano::{nano, run};

/// A trajectory with the weights and the temperature that played it.
struct Played<'a> {
    weights: Digest,
    temperature: f32,
    trajectory: &'a TrajectoryFinishedV1,
}

/// Every trajectory that a published policy played: those of later versions are played by weights that are not kept.
fn played() -> Vec<Played<'static>> {
    let recipe = &nano().scenario;
    let mut published = Digest::default();
    let (mut found, mut evaluated) = (Vec::new(), Vec::new());
    for (_, event) in &nano().events {
        match event {
            Event::PolicyPublished(policy) => published = policy.weights,
            Event::TrajectoryFinished(trajectory) if trajectory.purpose == Purpose::Evaluation => {
                evaluated.push(trajectory);
            }
            Event::TrajectoryFinished(trajectory) if trajectory.version == Version(0) => {
                found.push(Played {
                    weights: published,
                    temperature: recipe.rollout.temperature,
                    trajectory,
                });
            }
            Event::EvaluationFinished(evaluation) => {
                let temperature = evaluation.temperature;
                let played = evaluated.drain(..).map(|trajectory| Played {
                    weights: published,
                    temperature,
                    trajectory,
                });
                found.extend(played);
            }
            _ => {}
        }
    }
    found
}

fn sequence(trajectory: &TrajectoryFinishedV1) -> (Sequence, &[f32]) {
    let [segment] = trajectory.segments.as_slice() else {
        panic!("one segment each: nothing compacts in nano")
    };
    let targets = segment.sampled.iter().map(|span| span.start..span.end).collect();
    (Sequence { tokens: segment.tokens.unpack(), targets }, &segment.log_probs)
}

fn weights(digest: Digest) -> Weights {
    let bytes = RunReader::open(run()).unwrap().blobs().read(digest).unwrap();
    Weights::from_canonical(&bytes).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn scored_all_at_once_or_one_by_one_they_are_those_of_the_rollout() {
    let backend = CpuBackend::new(2).unwrap();
    let mut batches: BTreeMap<(Digest, u32), Vec<Played<'_>>> = BTreeMap::new();
    for one in played() {
        batches.entry((one.weights, one.temperature.to_bits())).or_default().push(one);
    }
    assert!(batches.len() > 3, "several policies played: {}", batches.len());
    for ((digest, temperature), batch) in batches {
        let temperature = f32::from_bits(temperature);
        let policy = backend.load(&weights(digest)).unwrap();
        check(policy.as_ref(), &batch, temperature);
        for one in batch.chunks(1).take(2) {
            check(policy.as_ref(), one, temperature);
        }
    }
}

/// Scores trajectories together and compares log-probabilities and mean entropy with what the log says.
fn check(policy: &dyn Policy, batch: &[Played<'_>], temperature: f32) {
    let sequences: Vec<Sequence> = batch.iter().map(|one| sequence(one.trajectory).0).collect();
    let scores = policy.score(&sequences, temperature).unwrap();
    for (one, scores) in batch.iter().zip(scores) {
        let (id, (_, recorded)) = (one.trajectory.trajectory, sequence(one.trajectory));
        assert_eq!(bits(&scores.log_probs), bits(recorded), "trajectory {id}");
        let nats: f64 = scores.entropies.iter().copied().map(f64::from).sum();
        let mean = if recorded.is_empty() { 0.0 } else { (nats / recorded.len() as f64) as f32 };
        assert_eq!(mean.to_bits(), one.trajectory.entropy.to_bits(), "entropy of trajectory {id}");
    }
}

#[test]
fn the_trainer_finds_them_again_and_every_ratio_is_one() {
    let backend: Arc<dyn Backend> = Arc::new(CpuBackend::new(2).unwrap());
    let rollouts: Vec<_> =
        played().into_iter().filter(|one| one.trajectory.purpose == Purpose::Rollout).collect();
    let digest = rollouts.first().expect("some rollout").weights;
    let batch: Vec<_> =
        rollouts.iter().filter(|one| one.weights == digest).map(|one| sequence(one.trajectory)).collect();
    let sequences = batch.iter().map(|(sequence, log_probs)| TrainSequence {
        sequence: sequence.clone(),
        advantages: vec![1.0; log_probs.len()],
        rollout_log_probs: log_probs.to_vec(),
        weight: 1.0,
    });
    let train =
        TrainBatch { sequences: sequences.collect(), temperature: nano().scenario.rollout.temperature };
    let config = TrainerConfig::plain(OptimiserConfig::default());
    let mut trainer = backend.trainer(&weights(digest), &config).unwrap();
    let report = trainer.step(&train, &Objective::Dppo(DppoParams::default()), 1e-4).unwrap();
    for ((_, recorded), found) in batch.iter().zip(&report.sequences) {
        assert_eq!(bits(&found.log_probs), bits(recorded));
        assert!(found.keep.iter().all(|keep| *keep), "on policy the mask drops nothing");
    }
    assert_eq!(report.ratio_max.to_bits(), 1.0_f64.to_bits());
    assert_eq!(report.kl_sum.to_bits(), 0.0_f64.to_bits());
}
