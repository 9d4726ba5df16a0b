//! Measures training, scoring and decoding: `cargo run --release -p tadpole-gpu --example speed [THREADS [SECONDS [WORD]]]`.
//!
//! Two shapes: the shipped policy's, and 128 wide with 4 layers. THREADS (1), SECONDS a measurement (1); with a WORD,
//! only measurements whose name contains it. With one thread, figures are by processor time, so that a busy machine shows
//! less. `TADPOLE_ISA` chooses the instruction set.

#![allow(clippy::unwrap_used, reason = "a failed measurement may stop the program")]
#![allow(clippy::single_range_in_vec_init, reason = "a list of one span is meant")]

use std::time::{Duration, Instant};
use tadpole_gpu::backend::{
    Backend, CpuBackend, Objective, Policy, Sequence, TrainBatch, TrainSequence, TrainerConfig,
};
use tadpole_gpu::optim::OptimiserConfig;
use tadpole_gpu::sample::sample;
use tadpole_gpu::shape::ModelShape;
use tadpole_gpu::weights::{Initial, Weights};

const SHIPPED: ModelShape = ModelShape {
    vocab: 640,
    width: 96,
    layers: 4,
    heads: 3,
    kv_heads: 1,
    head_dim: 32,
    hidden: 192,
    context: 512,
    ngram: 2,
    rope_base: 10_000.0,
    norm_eps: 1e-6,
};

const WIDE: ModelShape = ModelShape { vocab: 1024, width: 128, heads: 4, hidden: 512, ngram: 0, ..SHIPPED };

/// Tokens of a prompt, and tokens that are then decoded one by one.
const PROMPT: usize = 150;
const DECODED: usize = 200;

/// A small generator of words (`splitmix64`).
fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// Processor time of the main thread, where the system tells it.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// What is measured, and for how long.
struct Bench {
    backend: CpuBackend,
    threads: usize,
    limit: Duration,
    only: String,
}

impl Bench {
    /// Repeats `work`, which returns how many tokens it has handled, and prints tokens a second.
    #[expect(clippy::disallowed_methods, reason = "it measures time")]
    fn measure(&self, name: &str, mut work: impl FnMut() -> usize) {
        if !name.contains(&self.only) {
            return;
        }
        work();
        let start = Instant::now();
        let first = processor_time();
        let mut tokens = 0;
        while start.elapsed() < self.limit {
            tokens += work();
        }
        let elapsed = match (first, processor_time()) {
            (Some(first), Some(last)) if self.threads == 1 => last.saturating_sub(first),
            _ => start.elapsed(),
        };
        println!("{:>9.0} tokens/s  {name}", tokens as f64 / elapsed.as_secs_f64());
    }

    fn shape(&self, name: &str, shape: &ModelShape) {
        let mut word = words(1);
        let weights = Weights::init(shape, Initial::default(), &mut word).unwrap();
        let batch = batch(shape);
        let tokens: usize = batch.sequences.iter().map(|one| one.sequence.tokens.len()).sum();
        let mut trainer =
            self.backend.trainer(&weights, &TrainerConfig::plain(OptimiserConfig::default())).unwrap();
        self.measure(&format!("{name}: training, {tokens} tokens a step"), || {
            trainer.step(&batch, &Objective::CrossEntropy, 1e-4).unwrap();
            tokens
        });
        let policy = self.backend.load(&weights).unwrap();
        let sequences: Vec<Sequence> = batch.sequences.into_iter().map(|one| one.sequence).collect();
        self.measure(&format!("{name}: scoring"), || {
            policy.score(&sequences, 1.0).unwrap();
            tokens
        });
        for (slots, group) in [(64, 1), (64, 8), (8, 8), (256, 1)] {
            let what = format!("{name}: decoding, {slots} slots, {group} to a prompt of {PROMPT}, sampled");
            self.decoding(&what, policy.as_ref(), slots, group);
        }
    }

    /// Prompts are read once a group and forked; then every slot is decoded token by token.
    fn decoding(&self, name: &str, policy: &dyn Policy, slots: usize, group: usize) {
        let mut word = words(2);
        let vocab = policy.shape().vocab;
        let mut decoder = policy.decoder(slots);
        let prompts: Vec<Vec<u32>> =
            (0..slots / group).map(|_| sequence(vocab, PROMPT, &mut word).tokens).collect();
        let mut pending: Vec<u32> = vec![0; slots];
        let mut step = DECODED;
        self.measure(name, || {
            if step == DECODED {
                step = 0;
                for slot in 0..slots {
                    decoder.reset(slot).unwrap();
                }
                let heads = (0..slots).step_by(group);
                let work: Vec<(usize, &[u32])> = heads.zip(prompts.iter().map(Vec::as_slice)).collect();
                decoder.extend(&work).unwrap();
                for slot in 0..slots {
                    decoder.fork(slot / group * group, slot).unwrap();
                }
                return 0;
            }
            step += 1;
            let work: Vec<(usize, &[u32])> =
                pending.iter().enumerate().map(|(slot, token)| (slot, std::slice::from_ref(token))).collect();
            let logits = decoder.extend(&work).unwrap();
            let mut next = Vec::new();
            for row in logits.rows() {
                let u = (word() >> 11) as f64 / 9_007_199_254_740_992.0;
                next.push(sample(row, 1.0, u).unwrap().token);
            }
            pending = next;
            slots
        });
    }
}

/// Sequences of the lengths of trajectories, the last third of each trainable.
fn batch(shape: &ModelShape) -> TrainBatch {
    let mut word = words(3);
    let mut batch = TrainBatch { sequences: Vec::new(), temperature: 1.0 };
    for index in 0..64 {
        let sequence = sequence(shape.vocab, 120 + index * 4, &mut word);
        batch.sequences.push(TrainSequence { sequence, weight: 1.0, ..TrainSequence::default() });
    }
    batch
}

fn sequence(vocab: u32, len: usize, word: &mut impl FnMut() -> u64) -> Sequence {
    let tokens = (0..len).map(|_| (word() % u64::from(vocab)) as u32).collect();
    Sequence { tokens, targets: vec![len as u32 * 2 / 3..len as u32] }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let threads = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let limit = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let backend = CpuBackend::new(threads).unwrap();
    println!("{}", backend.describe());
    let only = arguments.next().unwrap_or_default();
    let bench = Bench { backend, threads, limit: Duration::from_secs_f64(limit), only };
    bench.shape("shipped", &SHIPPED);
    bench.shape("d=128", &WIDE);
}
