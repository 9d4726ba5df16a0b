//! The arithmetic of Tadpole: every result has one definition, and every backend gives its bits.
//!
//! ```text
//! backend      load, decode, score, train: the traits, and the CPU's implementation
//! cuda         the same on a CUDA device, if there is one
//! relay        sequences side by side, gradients in order
//! transformer  the policy, forward and backward, over ragged batches and a paged cache
//! gemm         matrix products: one fused chain an output
//! vector       sixteen lanes over four instruction sets; with cuda, the only unsafe code
//! math         exp, ln, sin, cos: written once over a lane trait, the f32 instance is the specification
//! sample       from logits to log-probabilities and tokens
//! dppo         which tokens are trained on, and with which gradient
//! optim        AdamW, Muon, clipping, schedules, weight averaging
//! kernels      how the CUDA kernels are called
//! weights      tensors in canonical order; digests; safetensors
//! ```
//!
//! The rules that make results equal everywhere:
//!
//! - `f32` and IEEE operations only: `+ - * /`, `sqrt`, explicit fused multiply-add. Nothing is flushed or contracted.
//! - A matrix product's output is one chain, `acc = fma(a[m][k], b[k][n], acc)`, `k` ascending, never padded.
//! - Every other reduction runs in 16 strided lanes and then down a fixed tree.
//! - Threads share out outputs and never sum across each other.
//! - What is not finite is an error, named where it arises.

#![expect(
    clippy::inline_always,
    reason = "code that is not inlined into a kernel's entry lacks its instruction set"
)]
#![expect(clippy::needless_range_loop, reason = "kernels index as their equations do")]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp, reason = "tests compare exactly")
)]

pub mod backend;
pub mod cuda;
pub mod dppo;
mod error;
pub mod gemm;
pub mod kernels;
pub mod math;
pub mod optim;
mod pool;
mod relay;
pub mod sample;
pub mod shape;
mod transformer;
pub mod vector;
pub mod weights;

pub use error::{ArithmeticError, Quantity};

/// The version of the definitions of this crate: a change of any result's bits is a change of this number.
pub const ARITHMETIC_VERSION: u32 = 1;
