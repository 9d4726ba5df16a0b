//! Times the kernels of the CUDA device that there is against its roofline, and an optimiser step.
//!
//! ```text
//! cargo run --release -p tadpole-gpu --example device_check
//! ```
//!
//! `tools/device_check.sh` runs it beside the checks of bits, on machines that have a device and no Rust.
#![allow(clippy::disallowed_methods, reason = "it measures")]

use std::time::Instant;

use tadpole_gpu::ArithmeticError;
use tadpole_gpu::backend::{Backend, Objective, Sequence, TrainBatch, TrainSequence, Trainer, TrainerConfig};
use tadpole_gpu::cuda::{CudaBackend, Timing};
use tadpole_gpu::dppo::DppoParams;
use tadpole_gpu::optim::OptimiserConfig;
use tadpole_gpu::shape::ModelShape;
use tadpole_gpu::weights::{Initial, Weights};

/// Of an H200: single precision, computed; copies, measured.
const PEAK_OPERATIONS: f64 = 66.9e12;
const PEAK_BYTES: f64 = 4.3e12;

/// The policy that ships, and one of the size of a small language model, each with how many sequences its update takes.
const SHAPES: [(&str, ModelShape, usize); 2] =
    [("shipped shape", SHIPPED, 128), ("width 896, 12 layers", LARGER, 16)];

const SHIPPED: ModelShape = ModelShape {
    vocab: 640,
    width: 96,
    layers: 4,
    heads: 3,
    kv_heads: 1,
    head_dim: 32,
    hidden: 192,
    context: 1024,
    ngram: 2,
    rope_base: 10_000.0,
    norm_eps: 1e-6,
};

const LARGER: ModelShape = ModelShape {
    vocab: 32_768,
    width: 896,
    layers: 12,
    heads: 14,
    kv_heads: 2,
    head_dim: 64,
    hidden: 3584,
    ..SHIPPED
};

fn main() -> Result<(), ArithmeticError> {
    let device = CudaBackend::new()?;
    println!("{}", device.describe());
    println!("{:<44} {:>10} {:>9} {:>8} {:>9}", "kernel", "median ms", "TFLOP/s", "GB/s", "of roof");
    for Timing { what, median_ms, operations, bytes } in device.timings()? {
        let seconds = f64::from(median_ms) / 1e3;
        let floor = (operations / PEAK_OPERATIONS).max(bytes / PEAK_BYTES);
        let (rate, traffic, share) =
            (operations / seconds / 1e12, bytes / seconds / 1e9, floor / seconds * 100.0);
        println!("{what:<44} {median_ms:>10.3} {rate:>9.2} {traffic:>8.0} {share:>8.1}%");
    }
    for (name, shape, sequences) in SHAPES {
        let (median_ms, tokens) = update(&device, &shape, sequences)?;
        println!("update, {name}: {tokens} tokens in {median_ms:.1} ms (median of 5, report included)");
    }
    Ok(())
}

/// Median time of an optimiser step, and its tokens.
fn update(
    device: &CudaBackend,
    shape: &ModelShape,
    sequences: usize,
) -> Result<(f64, usize), ArithmeticError> {
    let mut state = 1_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    let weights = Weights::init(shape, Initial::default(), &mut draw)?;
    let config = TrainerConfig::plain(OptimiserConfig::default());
    let mut trainer: Box<dyn Trainer> = device.trainer(&weights, &config)?;
    let mut one = || TrainSequence {
        sequence: Sequence {
            tokens: (0..512).map(|_| (draw() >> 33) as u32 % shape.vocab).collect(),
            targets: std::iter::once(256..512).collect(),
        },
        advantages: vec![1.0; 256],
        rollout_log_probs: vec![-7.0; 256],
        weight: 1.0,
    };
    let batch = TrainBatch { sequences: (0..sequences).map(|_| one()).collect(), temperature: 1.0 };
    let objective = Objective::Dppo(DppoParams::default());
    let mut times = Vec::new();
    for _ in 0..6 {
        let began = Instant::now();
        trainer.step(&batch, &objective, 1e-5)?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    // The first one allocates.
    times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], sequences * 512))
}
