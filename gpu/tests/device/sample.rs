//! A small policy and sequences for it, made up from a seed.

use std::path::Path;

use tadpole_emulator::Machine;
use tadpole_gpu::backend::{Sequence, TrainBatch, TrainSequence};
use tadpole_gpu::cuda::CudaBackend;
use tadpole_gpu::shape::ModelShape;
use tadpole_gpu::weights::{Initial, Weights};

/// Two layers, grouped heads, both look-up tables; no size is a multiple of a tile's.
pub(crate) const SHAPE: ModelShape = ModelShape {
    vocab: 37,
    width: 48,
    layers: 2,
    heads: 3,
    kv_heads: 1,
    head_dim: 32,
    hidden: 80,
    context: 64,
    ngram: 2,
    rope_base: 10_000.0,
    norm_eps: 1e-6,
};

/// Set where there is a real device, which is then the one that is tested.
const REAL_DEVICE: &str = "TADPOLE_REAL_DEVICE";

/// Runs `body` where there is a device: in a process that finds the emulated one, whose threads run in shuffled order.
pub(crate) fn on_device(test: &str, body: impl FnOnce(&CudaBackend)) {
    let body = || body(&CudaBackend::new().unwrap_or_else(|error| panic!("{error}")));
    if std::env::var_os(REAL_DEVICE).is_some() {
        return body();
    }
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let machine = Machine::with_device(&kernels).unwrap_or_else(|error| panic!("{error}"));
    machine.set("order=2 seed=5").run(test, body).unwrap_or_else(|error| panic!("{error}"));
}

/// A stream of words (splitmix64).
pub(crate) fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// Fresh weights.
pub(crate) fn weights(seed: u64) -> Weights {
    let initial = Initial { embedding_std: 0.4, ..Initial::default() };
    Weights::init(&SHAPE, initial, &mut words(seed)).unwrap()
}

/// Tokens of the vocabulary.
pub(crate) fn tokens(seed: u64, count: usize) -> Vec<u32> {
    let mut words = words(seed);
    (0..count).map(|_| (words() % u64::from(SHAPE.vocab)) as u32).collect()
}

/// Sequences of several lengths: pages that are full and pages that are not, several spans of targets, none at all.
pub(crate) fn sequences() -> Vec<Sequence> {
    let sequence = |seed, count, targets: &[(u32, u32)]| Sequence {
        tokens: tokens(seed, count),
        targets: targets.iter().map(|&(start, end)| start..end).collect(),
    };
    vec![
        sequence(1, 33, &[(4, 9), (20, 33)]),
        sequence(2, 5, &[(1, 5)]),
        sequence(3, 16, &[]),
        sequence(4, 48, &[(1, 2), (17, 40)]),
    ]
}

/// A batch with both signs of advantages, and rollout log-probabilities around those of the policy; some say that a token
/// was far likelier, which drops it where the advantage is negative.
pub(crate) fn batch(log_probs: &[Vec<f32>]) -> TrainBatch {
    let mut words = words(9);
    let mut train = Vec::new();
    for (index, (sequence, log_probs)) in sequences().into_iter().zip(log_probs).enumerate() {
        let mut moved = |log_prob: &f32| {
            let step = (words() % 1000) as f32 / 1000.0 - 0.5;
            if words().is_multiple_of(5) { -0.5 } else { (log_prob + 0.5 * step).min(0.0) }
        };
        let advantage = if index % 2 == 0 { 1.25 } else { -0.75 };
        train.push(TrainSequence {
            advantages: vec![advantage; log_probs.len()],
            rollout_log_probs: log_probs.iter().map(&mut moved).collect(),
            sequence,
            weight: 1.0 + index as f32 * 0.25,
        });
    }
    TrainBatch { sequences: train, temperature: 0.9 }
}
