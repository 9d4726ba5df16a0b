//! Measures training, decoding and scoring of the shipped shape: `cargo run --release -p tadpole-gpu --example speed`.
//!
//! With one thread, figures are by processor time. Arguments: threads (1), seconds a measurement (1). `TADPOLE_ISA` chooses the instruction set.

#![allow(clippy::unwrap_used, reason = "a failed measurement may stop the program")]
#![allow(clippy::single_range_in_vec_init, reason = "a list of one span is meant")]

use std::time::{Duration, Instant};
use tadpole_gpu::backend::{
    Backend, CpuBackend, Objective, Sequence, TrainBatch, TrainSequence, TrainerConfig,
};
use tadpole_gpu::optim::OptimiserConfig;
use tadpole_gpu::sample::sample;
use tadpole_gpu::shape::ModelShape;
use tadpole_gpu::weights::{Initial, Weights};

const SHAPE: ModelShape = ModelShape {
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

/// Processor time of the main thread, where the system tells it: a busy machine then does not show in the figures.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// Repeats `work`, which returns how many tokens it has handled, for about this long; returns tokens a second.
#[expect(clippy::disallowed_methods, reason = "it measures time")]
fn measure(threads: usize, limit: Duration, mut work: impl FnMut() -> usize) -> f64 {
    work();
    let start = Instant::now();
    let first = processor_time();
    let mut tokens = 0;
    while start.elapsed() < limit {
        tokens += work();
    }
    let elapsed = match (first, processor_time()) {
        (Some(first), Some(last)) if threads == 1 => last.saturating_sub(first),
        _ => start.elapsed(),
    };
    tokens as f64 / elapsed.as_secs_f64()
}

fn sequence(len: usize, word: &mut impl FnMut() -> u64) -> Sequence {
    let tokens = (0..len).map(|_| (word() % 640) as u32).collect();
    Sequence { tokens, targets: vec![len as u32 * 2 / 3..len as u32] }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let threads = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let limit = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let limit = Duration::from_secs_f64(limit);
    let mut word = words(1);
    let weights = Weights::init(&SHAPE, Initial::default(), &mut word).unwrap();
    let backend = CpuBackend::new(threads).unwrap();
    println!("{}", backend.describe());

    let mut batch = TrainBatch { sequences: Vec::new(), temperature: 1.0 };
    for index in 0..64 {
        let sequence = sequence(120 + index * 4, &mut word);
        batch.sequences.push(TrainSequence { sequence, weight: 1.0, ..TrainSequence::default() });
    }
    let mut trainer = backend.trainer(&weights, &TrainerConfig::plain(OptimiserConfig::default())).unwrap();
    let tokens: usize = batch.sequences.iter().map(|one| one.sequence.tokens.len()).sum();
    let training = measure(threads, limit, || {
        trainer.step(&batch, &Objective::CrossEntropy, 1e-4).unwrap();
        tokens
    });
    println!(
        "training  {training:>9.0} tokens/s ({} sequences, {tokens} tokens a step)",
        batch.sequences.len()
    );

    let policy = backend.load(&weights).unwrap();
    let sequences: Vec<Sequence> = batch.sequences.into_iter().map(|one| one.sequence).collect();
    let scoring = measure(threads, limit, || {
        policy.score(&sequences, 1.0).unwrap();
        tokens
    });
    println!("scoring   {scoring:>9.0} tokens/s");

    for (slots, prompt, sampled) in [(64, 150, true), (64, 150, false), (256, 150, true), (8, 150, true)] {
        let mut decoder = policy.decoder(slots);
        let prompts: Vec<Vec<u32>> = (0..slots).map(|_| sequence(prompt, &mut word).tokens).collect();
        let mut pending: Vec<u32> = vec![0; slots];
        let mut step = 200;
        let speed = measure(threads, limit, || {
            if step == 200 {
                step = 0;
                for slot in 0..slots {
                    decoder.reset(slot).unwrap();
                }
                let work: Vec<(usize, &[u32])> =
                    prompts.iter().enumerate().map(|(slot, tokens)| (slot, tokens.as_slice())).collect();
                decoder.extend(&work).unwrap();
                return 0;
            }
            step += 1;
            let work: Vec<(usize, &[u32])> =
                pending.iter().enumerate().map(|(slot, token)| (slot, std::slice::from_ref(token))).collect();
            let logits = decoder.extend(&work).unwrap();
            let mut next = Vec::new();
            for row in logits.rows() {
                let u = (word() >> 11) as f64 / 9_007_199_254_740_992.0;
                next.push(if sampled { sample(row, 1.0, u).unwrap().token } else { (word() % 640) as u32 });
            }
            pending = next;
            slots
        });
        let how = if sampled { "with sampling" } else { "logits only" };
        println!("decoding  {speed:>9.0} tokens/s ({slots} slots, {how}, prefill of {prompt} each included)");
    }
}
