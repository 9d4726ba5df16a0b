//! Elementary functions with one result everywhere.
//!
//! Every function is a straight line of IEEE single-precision operations (`+ - * /`, `sqrt`, explicit fused
//! multiply-add), comparisons, selections and 32-bit integer operations: no tables, no branches, no library
//! calls. It is written once, over the [`Lane`] trait. The `f32` instance is the specification; a vector type that
//! implements [`Lane`] element by element has the same bits by construction.
//!
//! NaN comes out where NaN goes in, but which NaN is not part of the definition: compare it as a class.
//!
//! | function | domain | error at worst |
//! | --- | --- | --- |
//! | [`exp()`] | all, subnormal results included | 0.90 ulp |
//! | [`ln()`] | all, subnormal arguments included | 0.91 ulp |
//! | [`sin`], [`cos`] | `|x| <= 1e5` | 8e-8 absolute |
//! | [`rsqrt`] | all | two correctly rounded operations |
//! | [`sigmoid`] | all | 9e-8 absolute |
//!
//! The errors were measured at all 2^32 arguments, where the bits were also found equal to those of the same source in C.
//! `examples/math_exhaustive.rs` measures again and compares with the source of the CUDA kernels, `kernels/math.cuh`, which
//! the tests compare at a million arguments of each function.
//!
//! [`double`] holds `exp` and `ln` in double precision, for reference values and reported figures.
#![expect(
    clippy::inline_always,
    reason = "vector instances are inlined into functions with a target feature"
)]

pub mod double;
mod exp;
mod lane;
mod ln;
mod root;
mod trig;

pub use exp::{exp, sigmoid};
pub use lane::Lane;
pub use ln::ln;
pub use root::rsqrt;
pub use trig::{cos, sin, sin_cos};
