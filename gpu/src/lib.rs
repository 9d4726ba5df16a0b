//! gpu

pub mod dppo;
mod error;
pub mod gemm;
pub mod math;
mod pool;
pub mod sample;
pub mod shape;
mod transformer;
pub mod vector;
pub mod weights;

pub use error::{ArithmeticError, Quantity};
