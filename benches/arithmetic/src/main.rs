//! The exact kernels against tuned libraries: `cargo run --release` in this folder.
//!
//! One thread, processor time, contenders in turns, medians. Figures of one run may be compared with one another, not
//! with those of another run. `TADPOLE_ISA` chooses the exact kernels' instruction set; the libraries choose their own.

mod contest;
mod functions;
mod products;

use products::Orientation::{Plain, TransposedLeft, TransposedRight};
use products::{Case, Orientation};
use tadpole_gpu::vector::Isa;

/// Products of training: those of a policy 128 wide, then those of the shipped one.
const TRAINING: [(Orientation, &str, [usize; 3]); 11] = [
    (Plain, "NN", [4096, 128, 512]),
    (Plain, "NN", [4096, 512, 128]),
    (Plain, "NN", [2048, 96, 384]),
    (Plain, "NN", [2048, 192, 96]),
    (Plain, "NN", [2048, 96, 640]),
    (TransposedRight, "NT", [4096, 512, 128]),
    (TransposedRight, "NT", [2048, 384, 96]),
    (TransposedLeft, "TN", [512, 4096, 128]),
    (TransposedLeft, "TN", [128, 32_768, 512]),
    (TransposedLeft, "TN", [96, 2048, 384]),
    (TransposedLeft, "TN", [192, 2048, 96]),
];

/// Products of weights that no second-level cache holds.
const LARGE: [(Orientation, &str, [usize; 3]); 2] =
    [(Plain, "NN", [512, 1024, 4096]), (Plain, "NN", [512, 4096, 1024])];

/// Products of decoding: one row a sequence.
const DECODING: [(Orientation, &str, [usize; 3]); 4] = [
    (Plain, "decode", [64, 128, 512]),
    (Plain, "decode", [64, 96, 384]),
    (Plain, "decode", [64, 96, 640]),
    (Plain, "decode", [8, 96, 384]),
];

fn main() -> Result<(), tadpole_gpu::vector::IsaError> {
    let isa = Isa::choose()?;
    println!("exact kernels on {}; GFLOP/s, one thread\n", isa.name());
    println!("| m x k x n | exact | gemm | faer | matrixmultiply | of the best |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let training = table(isa, &TRAINING);
    let large = table(isa, &LARGE);
    let decoding = table(isa, &DECODING);
    println!("\ntraining: {}", summary(&training));
    println!("large: {}", summary(&large));
    println!("decoding: {}\n", summary(&decoding));
    for len in [640, 16_384] {
        let (ratio, nanoseconds) = functions::exponential(isa, len);
        println!("exp of {len} values: {ratio:.1} times std, {nanoseconds:.2} ns a value");
    }
    for len in [640, 1024] {
        let (ratio, nanoseconds) = functions::log_softmax(isa, len);
        println!("log-softmax of {len} logits: {ratio:.1} times std, {nanoseconds:.0} ns a row");
    }
    Ok(())
}

/// Prints a line a product; returns the exact kernel's speed over the best library's.
fn table(isa: Isa, cases: &[(Orientation, &str, [usize; 3])]) -> Vec<f64> {
    let mut ratios = Vec::new();
    for &(orientation, name, [m, k, n]) in cases {
        let speeds = Case { orientation, m, k, n }.measure(isa);
        let best = speeds[1..].iter().map(|&(_, speed)| speed).fold(0.0, f64::max);
        let columns: Vec<String> = speeds.iter().map(|&(_, speed)| format!("{speed:.0}")).collect();
        let ratio = speeds[0].1 / best;
        println!("| {name} {m}x{k}x{n} | {} | {ratio:.2} |", columns.join(" | "));
        ratios.push(ratio);
    }
    ratios
}

fn summary(ratios: &[f64]) -> String {
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    format!("mean {mean:.2} of the best library, least {least:.2}")
}
